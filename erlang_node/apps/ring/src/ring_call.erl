%%% @doc One command of a client to a service of its own on the ring ({@link ring_vnode}): executed
%%% once at most, by the index that gives the key's partition its number.
%%%
%%% The command is sent again only if the index has answered that it did not execute it (it has
%%% moved, or does not serve yet), or if it has not left this node. Without an answer the outcome is
%%% unknown.
-module(ring_call).

-export([new/4]).
-export([handle/2]).

%% `timeout': in milliseconds. `retry': until an index that does not serve is asked again.
-type options() :: #{timeout => pos_integer(), retry => pos_integer()}.
-type event() ::
    {answer, call, ring_state:index(), ring_seat:answer()}
    | {unreachable, call, ring_state:index()}
    | {lost, ring_state:member()}
    | {retry, ring_view:t()}
    | deadline.
%% `unavailable': not executed. `timeout': the outcome is unknown.
-type result() :: {ok, Reply :: term()} | {error, unavailable | timeout}.
-type effect() ::
    {command, call, ring_state:index(), ring_state:member(), ring_view:partition(), term()}
    | {start_timer, retry | deadline, Milliseconds :: pos_integer()}
    | {done, result()}.

-export_type([options/0, event/0, result/0, effect/0]).

-record(call, {
    partition :: ring_view:partition(),
    command :: term(),
    retry :: pos_integer(),
    % The incarnation that was asked, to ask only later ones.
    holder :: {ring_state:incarnation() | none, ring_state:member()},
    is_pending = false :: boolean()
}).

-opaque t() :: #call{}.

-export_type([t/0]).

-define(TIMEOUT_MS, 10000).
-define(RETRY_MS, 50).

%% @doc Begins a call.
-spec new(ring_view:partition(), Command :: term(), ring_view:t(), options()) -> {t(), [effect()]}.
new(Partition, Command, View, Options) ->
    Retry = maps:get(retry, Options, ?RETRY_MS),
    {Asked, Ask} = ask(#call{
        partition = Partition, command = Command, retry = Retry, holder = holder(Partition, View)
    }),
    Deadline = maps:get(timeout, Options, ?TIMEOUT_MS),
    {Asked, [{start_timer, deadline, Deadline}, {start_timer, retry, Retry} | Ask]}.

%% @doc Handles an event. After the effect `done' there must be no more.
-spec handle(event(), t()) -> {t(), [effect()]}.
handle({answer, call, _Index, {vote, _, _, _, Reply}}, #call{is_pending = true} = Call) ->
    {Call, [{done, {ok, Reply}}]};
handle({answer, call, _Index, {moved, _, Holder}}, #call{is_pending = true} = Call) ->
    case is_later(Holder, Call) of
        true -> ask(Call#call{holder = Holder});
        false -> {Call#call{is_pending = false}, []}
    end;
handle({answer, call, _Index, {not_serving, _}}, Call) ->
    {Call#call{is_pending = false}, []};
handle({unreachable, call, _Index}, Call) ->
    {Call#call{is_pending = false}, []};
handle({lost, Node}, #call{holder = {_, Node}, is_pending = true} = Call) ->
    {Call, [{done, {error, timeout}}]};
handle({retry, View}, #call{partition = Partition, retry = Retry} = Call) ->
    Holder = holder(Partition, View),
    Newest =
        case is_later(Holder, Call) of
            true -> Call#call{holder = Holder};
            false -> Call
        end,
    {Next, Ask} =
        case Call of
            #call{is_pending = true} -> {Call, []};
            #call{is_pending = false} -> ask(Newest)
        end,
    {Next, [{start_timer, retry, Retry} | Ask]};
handle(deadline, #call{is_pending = true} = Call) ->
    {Call, [{done, {error, timeout}}]};
handle(deadline, #call{is_pending = false} = Call) ->
    {Call, [{done, {error, unavailable}}]};
handle(_Late, Call) ->
    {Call, []}.

%% Internals.

ask(#call{partition = P, command = Command, holder = {_, Node}} = Call) ->
    {Call#call{is_pending = true}, [{command, call, P, Node, P, Command}]}.

is_later({Incarnation, _}, #call{holder = {Before, _}}) ->
    Before =:= none orelse Incarnation > Before.

holder(Partition, View) ->
    case ring_view:holder(Partition, View) of
        {ok, Holder} -> Holder;
        none -> {none, ring_view:owner(Partition, View)}
    end.

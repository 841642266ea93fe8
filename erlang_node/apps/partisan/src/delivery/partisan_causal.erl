%%% @doc Causal order of point-to-point messages, across any path.
%%%
%%% Raynal, Schiper, Toueg, "The causal ordering abstraction and a simple way to implement it",
%%% Information Processing Letters 39 (1991). Every message carries its sender's knowledge of the
%%% messages sent before it: `{From, To} => count'. A receiver delivers a message once it has
%%% delivered as many from each sender as the message says were sent to it. So after A -> C, A -> B,
%%% B -> C, node C delivers A's message first, however late it comes.
%%%
%%% Two additions keep the state bounded in a long-running cluster:
%%% <ul>
%%% <li>Counts are per incarnation: names here are `{Name, Incarnation}'. Entries about a previous
%%%     incarnation of the receiver hold nothing up, since its deliveries are over.</li>
%%% <li>An entry is dropped when the receiver's own messages show that it has delivered it (its
%%%     deliveries travel with what it sends). `forget/2' drops all entries of an ended incarnation,
%%%     and releases messages whose predecessors died with their sender.</li>
%%% </ul>
%%% The matrix needs reliable channels: the layer below is acknowledged delivery.
-module(partisan_causal).

-compile({no_auto_import, [size/1]}).

-export([new/1]).
-export([send/2]).
-export([receive_message/4]).
-export([forget/2]).
-export([waiting/1]).
-export([size/1]).
-export([is_empty/1]).
-export([is_stamp/1]).

%% An incarnation of a node.
-type instance() :: {partisan_peer:name(), partisan_peer:incarnation()}.
-type counts() :: #{instance() => pos_integer()}.
-type matrix() :: #{{From :: instance(), To :: instance()} => pos_integer()}.
%% Travels with a message: sent before it, and delivered by its sender so far.
-type stamp() :: {matrix(), counts()}.

-export_type([instance/0, stamp/0]).

-record(causal, {
    self :: instance(),
    % Messages this node has ever sent, by receiver; and the contents of stamps, which are pruned.
    numbered = #{} :: counts(),
    sent = #{} :: matrix(),
    delivered = #{} :: counts(),
    % Arrived, not deliverable yet, in order of arrival.
    waiting = [] :: [{From :: instance(), stamp(), Message :: term()}],
    % The newest ended incarnation of each name.
    gone = #{} :: #{partisan_peer:name() => partisan_peer:incarnation()}
}).

-opaque t() :: #causal{}.
-export_type([t/0]).

%% @doc The order of an instance that has neither sent nor received.
-spec new(instance()) -> t().
new(Self) ->
    #causal{self = Self}.

%% @doc The stamp that the next message to this peer must carry.
-spec send(To :: instance(), t()) -> {stamp(), t()}.
send(To, #causal{self = Self, numbered = Numbered, sent = Sent, delivered = Delivered} = C) ->
    Count = maps:get(To, Numbered, 0) + 1,
    {
        {Sent, Delivered},
        C#causal{numbered = Numbered#{To => Count}, sent = Sent#{{Self, To} => Count}}
    }.

%% @doc Handles a message. Returns the messages that may be delivered now, in order.
-spec receive_message(From :: instance(), stamp(), Message, t()) -> {[Message], t()} when
    Message :: term().
receive_message(From, Stamp, Message, #causal{waiting = Waiting} = C) ->
    release(C#causal{waiting = Waiting ++ [{From, Stamp, Message}]}, []).

%% @doc An incarnation of a node and those before it have ended: nothing more comes from them, and
%% messages to them no longer matter.
-spec forget(instance(), t()) -> {[Message :: term()], t()}.
forget({Name, Incarnation}, #causal{gone = Gone0} = C) ->
    Gone = maps:update_with(Name, fun(I) -> max(I, Incarnation) end, Incarnation, Gone0),
    Over = fun(Instance, _) -> not is_gone(Instance, Gone) end,
    release(
        C#causal{
            numbered = maps:filter(Over, C#causal.numbered),
            delivered = maps:filter(Over, C#causal.delivered),
            sent = drop_gone(C#causal.sent, Gone),
            gone = Gone
        },
        []
    ).

%% @doc Number of messages waiting for a predecessor.
-spec waiting(t()) -> non_neg_integer().
waiting(#causal{waiting = Waiting}) ->
    length(Waiting).

%% @doc Number of entries in the next stamp.
-spec size(t()) -> non_neg_integer().
size(#causal{sent = Sent, delivered = Delivered}) ->
    map_size(Sent) + map_size(Delivered).

%% @doc Whether the order can be dropped: all nodes it concerns have ended.
-spec is_empty(t()) -> boolean().
is_empty(#causal{numbered = Numbered, waiting = Waiting} = C) ->
    map_size(Numbered) =:= 0 andalso Waiting =:= [] andalso size(C) =:= 0.

%% @doc Whether this may be a stamp. One of another shape would fail later, and with it what waits
%% for it.
-spec is_stamp(term()) -> boolean().
is_stamp({Sent, Delivered}) when is_map(Sent), is_map(Delivered) ->
    lists:all(fun is_cell/1, maps:to_list(Sent)) andalso
        lists:all(fun is_count/1, maps:to_list(Delivered));
is_stamp(_) ->
    false.

%% Internals.

is_cell({{From, To}, Count}) -> is_count({From, Count}) andalso is_count({To, Count});
is_cell(_) -> false.

is_count({{Name, Incarnation}, Count}) ->
    is_binary(Name) andalso is_integer(Incarnation) andalso is_integer(Count);
is_count(_) ->
    false.

%% Each delivery may make an earlier arrival deliverable: start over.
release(#causal{waiting = Waiting} = C0, Released) ->
    case lists:splitwith(fun(Entry) -> not deliverable(Entry, C0) end, Waiting) of
        {_, []} ->
            {lists:reverse(Released), C0};
        {Before, [{From, Stamp, Message} | After]} ->
            C = deliver(From, Stamp, C0#causal{waiting = Before ++ After}),
            release(C, [Message | Released])
    end.

deliverable({_From, {Sent, _}, _Message}, #causal{self = Self} = C) ->
    #causal{delivered = Delivered, gone = Gone} = C,
    maps:fold(
        fun
            ({From, To}, Count, Ok) when To =:= Self ->
                Ok andalso (is_gone(From, Gone) orelse maps:get(From, Delivered, 0) >= Count);
            (_, _, Ok) ->
                Ok
        end,
        true,
        Sent
    ).

deliver(From, {TheirSent, TheirDelivered}, #causal{self = Self} = C) ->
    #causal{sent = Sent0, delivered = Delivered0, gone = Gone} = C,
    Count = maps:get(From, Delivered0, 0) + 1,
    Delivered = Delivered0#{From => Count},
    Sent1 = maps:merge_with(fun(_, A, B) -> max(A, B) end, Sent0, TheirSent),
    % What its receiver is known to have delivered orders nothing any more.
    Sent = maps:filter(
        fun
            ({Who, To}, N) when To =:= From -> N > maps:get(Who, TheirDelivered, 0);
            ({Who, To}, N) when To =:= Self -> N > maps:get(Who, Delivered, 0);
            (_, _) -> true
        end,
        drop_gone(Sent1, Gone)
    ),
    C#causal{sent = Sent, delivered = Delivered}.

drop_gone(Sent, Gone) ->
    maps:filter(fun({From, To}, _) -> not (is_gone(From, Gone) orelse is_gone(To, Gone)) end, Sent).

is_gone({Name, Incarnation}, Gone) ->
    Incarnation =< maps:get(Name, Gone, -1).

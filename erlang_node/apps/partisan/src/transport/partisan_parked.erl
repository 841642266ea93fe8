%%% @doc Messages to a member whose route is not known yet, kept while it is searched for, so that
%%% their senders do not wait: a search takes seconds if no node of that name answers.
%%%
%%% A process for each such member keeps the messages in order. Once there is a route, another one
%%% sends them; without a route they are dropped and counted. Until that is done, also after the
%%% member has become a neighbour, its other messages are kept behind them or wait: so a sender's
%%% messages stay in order.
%%%
%%% == Bounds ==
%%% 64 members; for each, 1,000 messages and 1 MiB while the search lasts. Beyond these a message
%%% waits, or is refused, as at a full lane.
-module(partisan_parked).

-behaviour(gen_server).

-export([setup/0]).
-export([is_any/0]).
-export([is_parked/1]).
-export([park/3]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% `{Member :: name(), pid()}'.
-define(PARKED, ?MODULE).
-define(MAX_MEMBERS, 64).
-define(MAX_MESSAGES, 1000).
-define(MAX_BYTES, 1048576).

%% Sends a message for which there is a route, or gives it up.
-type message() :: fun((send | no_route) -> ok).
-export_type([message/0]).

-record(state, {
    member :: partisan_peer:name(),
    % The process that searches, then the one that sends.
    work :: {pid(), reference()},
    phase = search :: search | send,
    % The last one first.
    messages = [] :: [message()],
    count = 0 :: non_neg_integer(),
    bytes = 0 :: non_neg_integer()
}).

%% @doc Creates the table of members, owned by the caller. Idempotent.
-spec setup() -> ok.
setup() ->
    Options = [named_table, public, set, {read_concurrency, true}],
    _ = ets:whereis(?PARKED) =:= undefined andalso ets:new(?PARKED, Options),
    % Not anew at each start: processes of the previous one count on it.
    case persistent_term:get(?MODULE, none) of
        none -> persistent_term:put(?MODULE, counters:new(1, []));
        _ -> ok
    end.

%% @doc Whether any messages are kept. Every message asks this first; mostly there are none.
-spec is_any() -> boolean().
is_any() ->
    counters:get(persistent_term:get(?MODULE), 1) > 0.

%% @doc Whether messages to this member are kept.
-spec is_parked(partisan_peer:name()) -> boolean().
is_parked(Member) ->
    is_any() andalso ets:member(?PARKED, Member).

%% @doc Keeps a message of that many bytes. `again': the member is no longer parked; `full': it may
%% not wait for that; `timeout': it has waited for as long as its options allow; `refused': too many
%% members are parked, or this node leaves.
-spec park(partisan_peer:name(), {message(), Bytes :: non_neg_integer()}, map()) ->
    ok | again | full | timeout | refused.
park(Member, {Message, Bytes}, Options) ->
    MayWait = maps:get(on_busy, Options, block) =:= block,
    case keeper(Member) of
        {ok, Keeper} ->
            try gen_server:call(Keeper, {park, Message, Bytes, MayWait}, infinity) of
                full when MayWait -> await(Keeper, maps:get(timeout, Options, infinity));
                Result -> Result
            catch
                exit:_Ended ->
                    % Killed, perhaps.
                    true = ets:delete_object(?PARKED, {Member, Keeper}),
                    again
            end;
        refused ->
            refused
    end.

%% gen_server.

%% @private
-spec init(partisan_peer:name()) -> {ok, #state{}} | ignore | {stop, {shutdown, left}}.
init(Member) ->
    % The end of the sender's application is not that of other senders' messages.
    {group_leader, Leader} = process_info(whereis(partisan_manager), group_leader),
    true = group_leader(Leader, self()),
    case partisan_manager:is_seeking() of
        true -> begin_search(Member);
        false -> {stop, {shutdown, left}}
    end.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({park, _Message, _Bytes, true}, _From, #state{phase = send} = State) ->
    % The end is near, and must not be put off.
    {reply, full, State};
handle_call({park, Message, Bytes, _MayWait}, _From, State) ->
    #state{messages = Messages, count = Count, bytes = Before} = State,
    case Count < ?MAX_MESSAGES andalso Before + Bytes =< ?MAX_BYTES of
        true ->
            {reply, ok, State#state{
                messages = [Message | Messages], count = Count + 1, bytes = Before + Bytes
            }};
        false ->
            {reply, full, State}
    end;
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, normal, #state{}}.
handle_info({'DOWN', Monitor, process, Pid, Outcome}, #state{work = {Pid, Monitor}} = State) ->
    case State of
        #state{messages = []} ->
            ended(State);
        #state{phase = search, messages = Messages} when Outcome =/= {?MODULE, send} ->
            ok = each(no_route, Messages),
            ended(State);
        #state{} ->
            {noreply, send(State)}
    end;
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals: senders.

keeper(Member) ->
    case ets:lookup(?PARKED, Member) of
        [{_, Keeper}] ->
            {ok, Keeper};
        [] ->
            HasRoom = ets:info(?PARKED, size) < ?MAX_MEMBERS,
            case HasRoom andalso gen_server:start(?MODULE, Member, []) of
                {ok, Keeper} -> {ok, Keeper};
                % Another sender was faster.
                ignore -> keeper(Member);
                _ -> refused
            end
    end.

await(Keeper, Timeout) ->
    Monitor = monitor(process, Keeper),
    receive
        {'DOWN', Monitor, process, Keeper, _} -> again
    after Timeout ->
        true = demonitor(Monitor, [flush]),
        timeout
    end.

%% Internals: the process of a member.

-dialyzer({no_return, begin_search/1}).
begin_search(Member) ->
    case ets:insert_new(?PARKED, {Member, self()}) of
        true ->
            ok = counters:add(persistent_term:get(?MODULE), 1, 1),
            {ok, #state{member = Member, work = spawn_monitor(fun() -> search(Member) end)}};
        false ->
            ignore
    end.

-spec search(partisan_peer:name()) -> no_return().
search(Member) ->
    case partisan_manager:route(Member) of
        {ok, _Neighbour} -> exit({?MODULE, send});
        {error, no_route} -> exit({?MODULE, no_route})
    end.

%% In another process, since it may wait for room.
send(#state{messages = Messages} = State) ->
    Work = spawn_monitor(fun() -> each(send, Messages) end),
    State#state{work = Work, phase = send, messages = [], count = 0, bytes = 0}.

each(Outcome, Messages) ->
    lists:foreach(fun(Message) -> Message(Outcome) end, lists:reverse(Messages)).

ended(#state{member = Member} = State) ->
    ok = counters:sub(persistent_term:get(?MODULE), 1, 1),
    % The runtime may have been stopped meanwhile, or started again.
    _ = ets:whereis(?PARKED) =/= undefined andalso ets:delete_object(?PARKED, {Member, self()}),
    {stop, normal, State}.

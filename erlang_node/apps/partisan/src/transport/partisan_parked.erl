%%% @doc Messages to a member whose route is not known yet, kept while it is searched for, so that
%%% their senders do not wait: a search takes seconds if no node of that name answers.
%%%
%%% A process for each such member keeps the messages in order. Once there is a route, another one
%%% sends them; without a route they are dropped and counted. Until that is done, also after the
%%% member has become a neighbour, its other messages are kept behind them or wait: so a sender's
%%% messages stay in order.
%%%
%%% == Why none overtakes them ==
%%% Let a message have been kept, and its sender, or a process that it has informed, send another
%%% of the same key while the first one is kept. The member was in the table before the first one
%%% was kept, and leaves it only after all have been sent. The second one
%%% - is relayed only by {@link partisan_relay}, which reads the table;
%%% - is sent to a neighbour only on a lane. The manager alone enters members here and lanes there.
%%%   In the step that enters a member it marks the lanes that there are, and later each one that
%%%   it adds before the member has left the table. So the second one finds a marked lane or none,
%%%   and reads the table.
%%% If a route appears after a sender has read that there is none, the manager knows it, enters
%%% nothing, and the message is sent.
%%%
%%% The marks are removed after the member has left the table, by the manager, which reads the table
%%% again: a member that has been entered anew meanwhile keeps them. A mark without a member means
%%% nothing. A restarted manager begins without lanes.
%%%
%%% == Bounds ==
%%% 64 members; for each, 1,000 messages and 1 MiB until all have been sent. Beyond these a message
%%% waits, or is refused, as at a full lane.
-module(partisan_parked).

-behaviour(gen_server).

-export([setup/0]).
-export([is_parked/1]).
-export([park/3]).
%% For the manager.
-export([enter/2]).
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
    % Of all that have been kept.
    count = 0 :: non_neg_integer(),
    bytes = 0 :: non_neg_integer()
}).

%% @doc Creates the table of members, owned by the caller. Idempotent.
-spec setup() -> ok.
setup() ->
    Options = [named_table, public, set, {read_concurrency, true}],
    _ = ets:whereis(?PARKED) =:= undefined andalso ets:new(?PARKED, Options),
    ok.

%% @doc Whether messages to this member are kept.
-spec is_parked(partisan_peer:name()) -> boolean().
is_parked(Member) ->
    ets:member(?PARKED, Member).

%% @doc Keeps a message of that many bytes. `again': the member is no longer parked, or has a route;
%% `full': it may not wait for that; `timeout': it has waited for as long as its options allow;
%% `refused': too many members are parked, or this node leaves.
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
                    ok = leave(Member, Keeper),
                    again
            end;
        Other ->
            Other
    end.

%% @doc Enters a member, whose messages that process keeps. `false': another one does.
-spec enter(partisan_peer:name(), Keeper :: pid()) -> boolean().
enter(Member, Keeper) ->
    ets:insert_new(?PARKED, {Member, Keeper}).

%% gen_server.

-dialyzer({no_return, init/1}).
%% @private
-spec init(partisan_peer:name()) ->
    {ok, #state{}} | {stop, {shutdown, routed | parked | left}}.
init(Member) ->
    % The end of the sender's application is not that of other senders' messages.
    {group_leader, Leader} = process_info(whereis(partisan_manager), group_leader),
    true = group_leader(Leader, self()),
    case partisan_manager:park(Member) of
        ok -> {ok, #state{member = Member, work = spawn_monitor(fun() -> search(Member) end)}};
        Other -> {stop, {shutdown, Other}}
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
                {error, {shutdown, routed}} -> again;
                % Another sender was faster.
                {error, {shutdown, parked}} -> keeper(Member);
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

-spec search(partisan_peer:name()) -> no_return().
search(Member) ->
    case partisan_manager:route(Member) of
        {ok, _Neighbour} -> exit({?MODULE, send});
        {error, no_route} -> exit({?MODULE, no_route})
    end.

%% In another process, since it may wait for room.
send(#state{messages = Messages} = State) ->
    Work = spawn_monitor(fun() -> each(send, Messages) end),
    State#state{work = Work, phase = send, messages = []}.

each(Outcome, Messages) ->
    lists:foreach(fun(Message) -> Message(Outcome) end, lists:reverse(Messages)).

ended(#state{member = Member} = State) ->
    ok = leave(Member, self()),
    {stop, normal, State}.

leave(Member, Keeper) ->
    % The runtime may have been stopped meanwhile, or started again.
    _ = ets:whereis(?PARKED) =/= undefined andalso ets:delete_object(?PARKED, {Member, Keeper}),
    partisan_manager:unparked(Member).

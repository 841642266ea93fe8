%%% @doc The process of {@link partisan_global} on a node: carries out the effects of {@link
%%% partisan_registry}, and keeps the table in which callers look names up.
-module(partisan_global_server).
-behaviour(gen_server).

-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).
%% The process of a resolve method.
-export([choose/2]).

%% The registered name, and the table: `{{name, Name}, Reference}'.
-define(NAME, partisan_global).
-define(SERVER, {?MODULE, ?NAME}).
%% Milliseconds until a home that does not answer is not asked any more.
-define(ASK_TIMEOUT, 60000).

-record(state, {
    registry :: partisan_registry:t(),
    % This node's processes that have had names.
    processes = #{} :: #{pid() => {Monitor :: reference(), partisan_ref:t()}},
    % The events at the end of the processes that were started for them.
    pending = #{} :: #{reference() => fun((Reason :: term()) -> partisan_registry:event())},
    watched = [] :: [partisan_peer:name()],
    % Shows that a request comes from this node: a method is never taken from another one.
    here = partisan_reach:here() :: reference() | none,
    % The monitor of the runtime, and the timer of the next comparison.
    runtime :: reference(),
    timer :: reference()
}).

%% gen_server.

%% @private
-spec init([]) -> {ok, #state{}}.
init([]) ->
    Runtime = partisan_replication:monitor_runtime(),
    ?NAME = ets:new(?NAME, [named_table, protected, {read_concurrency, true}]),
    Count = partisan_replication:new_count(),
    Registry = partisan_registry:new(partisan:node(), partisan:incarnation(), Count),
    ok = partisan_replication:broadcast(?SERVER, partisan_replica:announcement(replica(Registry))),
    Timer = partisan_replication:compare_later(),
    State = #state{registry = Registry, runtime = Runtime, timer = Timer},
    {ok, compare(State)}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) ->
    {reply, term(), #state{}} | {noreply, #state{}}.
handle_call({register, Here, Name, Pid, Method, Mode}, From, #state{here = Here} = State) ->
    {Reference, Known} = reference(Pid, State),
    {noreply, event({register, From, Name, Reference, Method, Mode}, Known)};
handle_call({unregister, Name}, _From, State) ->
    {reply, ok, event({unregister, Name}, State)};
handle_call({ask, Node, Name, Reference, Mode}, From, State) when Mode =:= new; Mode =:= replace ->
    {noreply, event({ask, From, Node, Name, Reference, Mode}, State)};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, term(), #state{}}.
handle_info(Message, #state{registry = Registry} = State) when
    is_tuple(Message), element(1, Message) =:= ?MODULE
->
    try partisan_registry:handle({message, erlang:delete_element(1, Message)}, Registry) of
        Handled -> {noreply, interpret(Handled, State)}
    catch
        % From a faulty member.
        error:_ ->
            ok = partisan_stray:message(Message),
            {noreply, State}
    end;
handle_info({timeout, Timer, compare}, #state{timer = Timer} = State) ->
    {noreply, compare(State#state{timer = partisan_replication:compare_later()})};
handle_info({nodedown, Node}, #state{watched = Watched} = State) ->
    case partisan_remote:is_running() of
        true ->
            {noreply, event({lost, Node}, State#state{watched = lists:delete(Node, Watched)})};
        false ->
            % Its `DOWN' comes next. Other nodes must not learn that one is lost which is not.
            {noreply, State}
    end;
handle_info({'DOWN', Runtime, process, _, _}, #state{runtime = Runtime} = State) ->
    % The runtime becomes another incarnation, for which no reference here is valid.
    {stop, {shutdown, runtime_restarted}, State};
handle_info({'DOWN', Monitor, process, Pid, Reason}, #state{pending = Pending0} = State) ->
    case maps:take(Monitor, Pending0) of
        {Event, Pending} -> {noreply, event(Event(Reason), State#state{pending = Pending})};
        error -> {noreply, ended(Monitor, Pid, State)}
    end;
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% @private Ends with the choice as its reason.
-spec choose(partisan_registry:method(), [term()]) -> no_return().
choose(Method, Arguments) ->
    exit({winner, apply(Method, Arguments)}).

%% Internals.

reference(Pid, #state{processes = Processes} = State) ->
    case Processes of
        #{Pid := {_, Reference}} ->
            {Reference, State};
        #{} ->
            Reference = partisan:ref(Pid),
            Known = Processes#{Pid => {erlang:monitor(process, Pid), Reference}},
            {Reference, State#state{processes = Known}}
    end.

ended(Monitor, Pid, #state{processes = Processes0} = State) ->
    case maps:take(Pid, Processes0) of
        {{Monitor, Reference}, Processes} ->
            event({ended, Reference}, State#state{processes = Processes});
        _ ->
            State
    end.

compare(#state{registry = Registry} = State) ->
    IsAlone = partisan:joined() andalso partisan:neighbours() =:= [],
    ok = partisan_replication:compare(?SERVER, replica(Registry)),
    event({round, IsAlone}, State).

event(Event, #state{registry = Registry} = State) ->
    interpret(partisan_registry:handle(Event, Registry), State).

interpret({Effects, Registry}, #state{registry = Before} = State0) ->
    ok = tabulate(index(Before), index(Registry)),
    State = watch(State0#state{registry = Registry}),
    lists:foldl(fun effect/2, State, Effects).

effect({reply, From, Answer}, State) ->
    ok = gen_server:reply(From, Answer),
    State;
effect({ask, Tag, Home, Name, Reference, Mode}, State) ->
    Request = {ask, partisan:node(), Name, Reference, Mode},
    {_, Monitor} = partisan_call:start({?NAME, Home}, Request, ?ASK_TIMEOUT, #{}),
    await(Monitor, fun(Reason) -> {answered, Tag, answer(Reason)} end, State);
effect({send, Node, Message}, State) ->
    ok = partisan_replication:send(?SERVER, Node, Message),
    State;
effect({broadcast, Message}, State) ->
    ok = partisan_replication:broadcast(?SERVER, Message),
    State;
effect({resolve, Name, Method, {{_, One}, {_, Other}} = Pair}, State) ->
    {_, Monitor} = spawn_monitor(?MODULE, choose, [Method, [Name, One, Other]]),
    await(Monitor, fun(Reason) -> {resolved, Name, Pair, winner(Reason)} end, State);
effect({dropped, Name, Reference, Method, {conflict, Other}}, State) ->
    {ok, Pid} = partisan_ref:to_local(Reference),
    ok = conflict(Method, Name, Pid, Other),
    State;
effect({dropped, _Name, _Reference, _Method, _Why}, State) ->
    State.

await(Monitor, Event, #state{pending = Pending} = State) ->
    State#state{pending = Pending#{Monitor => Event}}.

answer({partisan_call, Answer}) when Answer =:= yes; Answer =:= no -> Answer;
answer(_) -> failed.

winner({winner, Reference}) -> Reference;
winner(_) -> none.

conflict(Method, Name, Pid, Other) ->
    logger:warning("partisan_global: ~tp has lost the name ~tp to ~tp", [Pid, Name, Other]),
    Methods = [
        {fun partisan_global:random_exit_name/3, fun() -> exit(Pid, kill) end},
        {fun partisan_global:random_notify_name/3, fun() -> Pid ! {global_name_conflict, Name} end},
        {fun partisan_global:notify_all_name/3, fun() ->
            Pid ! {global_name_conflict, Name, Other}
        end}
    ],
    _ = [Act() || {M, Act} <- Methods, M =:= Method],
    ok.

tabulate(Index, Index) ->
    ok;
tabulate(Before, After) ->
    _ = [
        ets:insert(?NAME, {{name, Name}, Reference})
     || {Name, [{_, Reference} | _] = Registrations} <- maps:to_list(After),
        maps:get(Name, Before, []) =/= Registrations
    ],
    Removed = maps:without(maps:keys(After), Before),
    lists:foreach(fun(Name) -> ets:delete(?NAME, {name, Name}) end, maps:keys(Removed)).

watch(#state{registry = Registry, watched = Watched} = State) ->
    Wanted = partisan_names:watched(partisan_registry:names(Registry)),
    _ = [partisan:monitor_node(Node) || Node <- Wanted -- Watched],
    _ = [partisan:demonitor_node(Node) || Node <- Watched -- Wanted],
    State#state{watched = Wanted}.

replica(Registry) ->
    partisan_names:replica(partisan_registry:names(Registry)).

index(Registry) ->
    partisan_names:index(partisan_registry:names(Registry)).

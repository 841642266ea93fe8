%%% @doc Notifies processes of nodes and channels that come and go; {@link partisan_events} decides.
%%%
%%% Before the first subscription it does nothing. Subscriptions end with their process, or when
%%% the runtime ends: then all nodes that were up are reported down, unless this process is killed.
%%% Functions run in processes of their own.
-module(partisan_events_server).

-behaviour(gen_server).

-export([start_link/0]).
-export([subscribe/1]).
-export([unsubscribe/1]).
%% For lanes.
-export([connected/2]).
-export([disconnected/0]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).
-export([terminate/2]).

-record(state, {
    % None before the first subscription.
    events = none :: none | partisan_events:t(),
    % Monitors of subscribers and of connected lanes.
    monitors = #{} :: #{pid() => reference()}
}).

%% @doc Starts the process.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], [{hibernate_after, 1000}]).

%% @doc Adds a subscription of the caller.
-spec subscribe(partisan_events:key()) -> ok.
subscribe(Key) ->
    gen_server:call(?MODULE, {subscribe, self(), Key}, infinity).

%% @doc Ends all equal subscriptions of the caller.
-spec unsubscribe(partisan_events:key()) -> ok.
unsubscribe(Key) ->
    gen_server:call(?MODULE, {unsubscribe, self(), Key}, infinity).

%% @doc The calling lane has a connection.
-spec connected(partisan_peer:name(), Channel :: atom()) -> ok.
connected(Node, Channel) ->
    gen_server:cast(?MODULE, {connected, self(), {Node, Channel}}).

%% @doc The calling lane has lost its connection.
-spec disconnected() -> ok.
disconnected() ->
    gen_server:cast(?MODULE, {disconnected, self()}).

%% @private
-spec init([]) -> {ok, #state{}}.
init([]) ->
    % For terminate/2. It is linked with its supervisor alone.
    process_flag(trap_exit, true),
    {ok, #state{}}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({subscribe, Pid, Key}, _From, State0) ->
    #state{events = Events} = State = watched(Pid, started(State0)),
    {reply, ok, State#state{events = partisan_events:subscribe(Pid, Key, Events)}};
handle_call({unsubscribe, _Pid, _Key}, _From, #state{events = none} = State) ->
    {reply, ok, State};
handle_call({unsubscribe, Pid, Key}, _From, #state{events = Events} = State) ->
    {reply, ok, State#state{events = partisan_events:unsubscribe(Pid, Key, Events)}};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast({connected, _Lane, _Key}, #state{events = none} = State) ->
    {noreply, State};
handle_cast({connected, Lane, Key}, #state{events = Events} = State) ->
    {noreply, done(partisan_events:lane_up(Lane, Key, Events), watched(Lane, State))};
handle_cast({disconnected, _Lane}, #state{events = none} = State) ->
    {noreply, State};
handle_cast({disconnected, Lane}, #state{events = Events} = State) ->
    {noreply, done(partisan_events:lane_down(Lane, Events), State)};
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info({partisan, {neighbour_up, Name}}, #state{events = Events} = State) ->
    {noreply, up(Name, partisan_events:node_up(Name, Events), State)};
handle_info({partisan, _}, State) ->
    % A node that is no neighbour any more may well be up.
    {noreply, State};
handle_info({nodedown, Name}, #state{events = Events} = State0) ->
    State = done(partisan_events:node_down(Name, lost, Events), State0),
    % Its next incarnation may be here already.
    case lists:member(Name, partisan:neighbours()) of
        true -> {noreply, up(Name, partisan_events:node_up(Name, State#state.events), State)};
        false -> {noreply, State}
    end;
handle_info({'DOWN', _, process, Pid, _}, #state{events = Events, monitors = Monitors} = State) ->
    {Effects, Left} = partisan_events:lane_down(Pid, Events),
    Ended = State#state{monitors = maps:remove(Pid, Monitors)},
    {noreply, done({Effects, partisan_events:forget(Pid, Left)}, Ended)};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% @private
-spec terminate(Reason :: term(), #state{}) -> ok.
terminate(_Reason, #state{events = none}) ->
    ok;
terminate(_Reason, #state{events = Events} = State) ->
    _ = lists:foldl(
        fun(Name, S) -> done(partisan_events:node_down(Name, lost, S#state.events), S) end,
        State,
        partisan_events:up(Events)
    ),
    ok.

%% Internals.

%% What is up already is no event.
started(#state{events = none} = State) ->
    Nodes = partisan:neighbours(),
    Lanes = [{Pid, Key} || {Pid, Key} <- partisan_channel_stats:connected()],
    {_, Events0} = lists:foldl(
        fun(Name, {_, E}) -> partisan_events:node_up(Name, E) end,
        {[], partisan_events:new()},
        Nodes
    ),
    {_, Events} = lists:foldl(
        fun({Pid, Key}, {_, E}) -> partisan_events:lane_up(Pid, Key, E) end, {[], Events0}, Lanes
    ),
    ok = partisan_manager:subscribe(self()),
    lists:foreach(fun(Name) -> ok = partisan_remote:monitor_node(Name, self()) end, Nodes),
    Started = State#state{events = Events},
    lists:foldl(fun({Pid, _}, S) -> watched(Pid, S) end, Started, Lanes);
started(State) ->
    State.

up(_Name, {[], Events}, #state{events = Events} = State) ->
    State;
up(Name, Result, State) ->
    ok = partisan_remote:monitor_node(Name, self()),
    done(Result, State).

watched(Pid, #state{monitors = Monitors} = State) when is_map_key(Pid, Monitors) ->
    State;
watched(Pid, #state{monitors = Monitors} = State) ->
    State#state{monitors = Monitors#{Pid => monitor(process, Pid)}}.

done({Effects, Events}, State) ->
    lists:foreach(fun effect/1, Effects),
    State#state{events = Events}.

effect({send, Pid, Message}) ->
    Pid ! Message,
    ok;
effect({run, Fun, Name}) ->
    _ = spawn(fun() -> Fun(Name) end),
    ok.

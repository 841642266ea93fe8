%%% @doc Monitors of processes and nodes elsewhere, and the entry point for remote calls.
%%%
%%% One process per node. Nodes inform one another which remote processes they monitor, and which of
%%% these have ended. None of these messages is sent reliably: a node that watches another ({@link
%%% partisan_failure_detector}) asks for its incarnation every `heartbeat_interval', and in that
%%% exchange both send digests of their monitors on each other. If the digests differ, all monitors
%%% are sent again, so a lost message costs one interval. When a node is lost or restarts, its
%%% processes are `DOWN' with `noconnection'. When this process ends, all that wait for other nodes
%%% are notified as if these were lost, unless it is killed.
%%%
%%% == Bounds ==
%%% 100,000 monitors held by this node and as many held here by others; 10,000 concurrent calls from
%%% other nodes, but at most a quarter of the processes that the emulator allows. Beyond that,
%%% monitors and calls fail with `system_limit'. A call occupies its place until the server answers
%%% or ends, its caller ends or stops waiting, or its node is lost.
%%%
%%% Longer than 300 lines: one process, with the API that calls it.
-module(partisan_remote).

-behaviour(gen_server).

-compile({no_auto_import, [monitor/2, demonitor/1]}).

-export([start_link/0]).
-export([monitor/2]).
-export([monitor_options/1]).
-export([demonitor/1]).
-export([send_alias/2]).
-export([send_after/4]).
-export([monitor_node/2]).
-export([demonitor_node/2]).
-export([is_running/0]).
-export([counts/0]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).
-export([terminate/2]).

%% Milliseconds for the connections of a lost node to deliver what they have received.
-define(FINISH, 1000).
%% Milliseconds before another attempt when a message found no route.
-define(RETRY, 200).

-type name() :: partisan_peer:name().
-type id() :: partisan_held:id().
%% `reference': of the monitor, a new one by default. The notification is `{Tag, Reference, process,
%% Object, Reason}' to the receiver: by default `DOWN', the target, and the owner, by default the
%% caller. `first': messages to the owner that come before it, once the monitor exists.
-type monitor_options() :: #{
    owner => pid(),
    first => [term()],
    reference => reference(),
    receiver => partisan_wanted:receiver(),
    tag => term(),
    object => term()
}.
-type monitor_option() ::
    {alias, explicit_unalias | demonitor | reply_demonitor} | {tag, Tag :: term()}.
-export_type([monitor_options/0, monitor_option/0]).

-type body() ::
    {monitor, id(), partisan_ref:destination()}
    | {demonitor, id()}
    | {down, id(), Reason :: term()}
    % All monitors that the sender holds here.
    | {monitors, #{id() => partisan_ref:destination()}}
    | tell_monitors
    % A heartbeat with the digest of the sender's monitors here, and whether to answer.
    | {alive, Digest :: non_neg_integer(), Answer :: boolean()}
    | {call, partisan_call:request()}
    % The call with that answer is cancelled.
    | {cancel, partisan_ref:t()}.

-record(state, {
    self :: {name(), partisan_peer:incarnation()},
    wanted = partisan_wanted:new() :: partisan_wanted:t(),
    held = partisan_held:new() :: partisan_held:t(),
    served = partisan_served:new() :: partisan_served:t(),
    watch :: partisan_failure_detector:t(),
    retries = #{} :: #{name() => true}
}).

%% API.

%% @doc Starts the process.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Monitors a process for the caller.
-spec monitor(partisan_ref:target(), monitor_options()) -> reference().
monitor(Target, Options) ->
    Reference = maps:get(reference, Options, make_ref()),
    Owner = maps:get(owner, Options, self()),
    Notice = {
        maps:get(receiver, Options, Owner),
        maps:get(tag, Options, 'DOWN'),
        maps:get(object, Options, object(Target))
    },
    First = maps:get(first, Options, []),
    Request = {monitor, Owner, partisan_ref:address(Target), Reference, Notice, First},
    case gen_server:call(?MODULE, Request, infinity) of
        ok -> Reference;
        {error, Reason} -> error(Reason)
    end.

%% As in OTP: a name of this node, too, is reported with its node.
object(Name) when is_atom(Name) -> {Name, partisan:node()};
object(Target) -> Target.

%% @doc The options of a monitor of the caller, from those of `erlang:monitor/3'. An alias is
%% created. Fails with `badarg' for others.
-spec monitor_options([monitor_option()]) -> monitor_options().
monitor_options(Options) when is_list(Options) ->
    lists:foldr(fun(Option, Monitor) -> maps:merge(Monitor, option(Option)) end, #{}, Options);
monitor_options(_) ->
    error(badarg).

option({tag, Tag}) -> #{tag => Tag};
option({alias, explicit_unalias}) -> #{reference => erlang:alias()};
option({alias, demonitor}) -> #{reference => erlang:alias(), receiver => alias};
option({alias, reply_demonitor}) -> #{reference => erlang:alias([reply]), receiver => reply};
option(_) -> error(badarg).

%% @doc Ends a monitor of the caller, and removes its notification from the mailbox. Returns whether
%% it had still been active.
-spec demonitor(reference()) -> boolean().
demonitor(Monitor) ->
    Receiver = gen_server:call(?MODULE, {demonitor, self(), Monitor}, infinity),
    case Receiver of
        {ok, Alias} when Alias =:= alias; Alias =:= reply -> _ = erlang:unalias(Monitor);
        _ -> ok
    end,
    receive
        {_, Monitor, process, _, _} -> false
    after 0 -> Receiver =/= error
    end.

%% @doc Sends a message to an alias of this node.
-spec send_alias(reference(), Message :: term()) -> ok.
send_alias(Alias, Message) ->
    Alias ! Message,
    gen_server:cast(?MODULE, {replied, Alias}).

%% @doc Forwards a message of the caller after a time in milliseconds ({@link erlang:send_after/4}).
-spec send_after(integer(), partisan_ref:target(), Message :: term(), [{abs, boolean()}]) ->
    reference().
send_after(Time, Target, Message, Options) ->
    % Fails here for what is no target, and not when the time has come.
    _ = partisan_ref:address(Target),
    Later = {?MODULE, forward, self(), Target, Message},
    erlang:send_after(Time, ?MODULE, Later, Options).

%% @doc Monitors a node for a process.
-spec monitor_node(name(), pid()) -> ok.
monitor_node(Node, Pid) when is_binary(Node) ->
    gen_server:call(?MODULE, {monitor_node, Pid, Node}, infinity).

%% @doc Ends the monitoring of a node by a process.
-spec demonitor_node(name(), pid()) -> ok.
demonitor_node(Node, Pid) when is_binary(Node) ->
    gen_server:call(?MODULE, {demonitor_node, Pid, Node}, infinity).

%% @doc Whether this process runs and is not ending. After a `nodedown': whether the node is lost,
%% and not the runtime of this node.
-spec is_running() -> boolean().
is_running() ->
    try counts() of
        #{} -> true
    catch
        exit:_ -> false
    end.

%% @doc The sizes of all bounded collections.
-spec counts() -> #{
    monitors | node_monitors | owners | held | calls | watched => non_neg_integer()
}.
counts() ->
    gen_server:call(?MODULE, counts, infinity).

%% gen_server.

%% @private
-spec init([]) -> {ok, #state{}}.
init([]) ->
    % For terminate/2. It is linked with its supervisor alone.
    process_flag(trap_exit, true),
    process_flag(message_queue_data, off_heap),
    Interval = partisan_config:get(heartbeat_interval),
    ok = partisan_manager:subscribe(self()),
    _ = erlang:send_after(Interval, self(), tick),
    {ok, #state{
        self = {partisan_config:get(name), partisan_config:get(incarnation)},
        watch = partisan_failure_detector:new(Interval)
    }}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({monitor, Owner, {Node, Destination}, Reference, Notice, First}, _From, State) ->
    #state{wanted = Wanted0} = State,
    case partisan_wanted:add(Owner, Node, Destination, Reference, Notice, Wanted0) of
        {ok, Id, Wanted} ->
            lists:foreach(fun(Message) -> Owner ! Message end, First),
            Watched = watch(Node, State#state{wanted = Wanted}),
            {reply, ok, say(Node, {monitor, Id, Destination}, Watched)};
        full ->
            {reply, {error, system_limit}, State}
    end;
handle_call({demonitor, Owner, Reference}, _From, #state{wanted = Wanted} = State) ->
    case partisan_wanted:receiver(Owner, Reference, Wanted) of
        {ok, Receiver} -> {reply, {ok, Receiver}, drop_monitor(Reference, State)};
        error -> {reply, error, State}
    end;
handle_call({monitor_node, Pid, Node}, _From, #state{wanted = Wanted} = State) ->
    Added = State#state{wanted = partisan_wanted:add_node(Pid, Node, Wanted)},
    {reply, ok, watch(Node, Added)};
handle_call({demonitor_node, Pid, Node}, _From, State) ->
    {reply, ok, drop_node_monitor(Pid, Node, State)};
handle_call(counts, _From, State) ->
    Counts = (partisan_wanted:counts(State#state.wanted))#{
        held => partisan_held:size(State#state.held),
        calls => partisan_served:size(State#state.served),
        watched => partisan_failure_detector:size(State#state.watch)
    },
    {reply, Counts, State};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast({replied, Alias}, #state{wanted = Wanted} = State) ->
    case partisan_wanted:expects_reply(Alias, Wanted) of
        true -> {noreply, drop_monitor(Alias, State)};
        false -> {noreply, State}
    end;
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info({?MODULE, Node, Incarnation, Body}, State0) when
    is_binary(Node), is_integer(Incarnation)
->
    #state{watch = Watch0} = State0,
    {Watch, Actions} = partisan_failure_detector:heard(Node, Incarnation, now_ms(), Watch0),
    State = act(Actions, State0#state{watch = Watch}),
    {noreply, said(Body, Node, Incarnation, State)};
handle_info({?MODULE, forward, Sender, Target, Message}, State) ->
    % It may wait for room.
    Options = #{partition_key => Sender, timeout => partisan_call:delivery_timeout(infinity)},
    _ = spawn(fun() -> partisan:forward(Target, Message, Options) end),
    {noreply, State};
handle_info({'DOWN', Monitor, process, Pid, Reason}, State) ->
    {noreply, ended(Monitor, Pid, Reason, State)};
handle_info({partisan, {acknowledged, partisan_call, _}}, State) ->
    % A refused call: its caller knows by now, or has timed out.
    {noreply, State};
handle_info({partisan, {_UpOrDown, Node}}, #state{watch = Watch0} = State) ->
    {Watch, Actions} = partisan_failure_detector:suspect(Node, now_ms(), Watch0),
    % After a timeout it must not have to wait for the next tick.
    Interval = partisan_config:get(heartbeat_interval),
    _ = [erlang:send_after(Interval, self(), look) || Actions =/= []],
    {noreply, act(Actions, State#state{watch = Watch})};
handle_info(tick, State) ->
    _ = erlang:send_after(partisan_config:get(heartbeat_interval), self(), tick),
    {noreply, look(State)};
handle_info(look, State) ->
    {noreply, look(State)};
handle_info({retry, Node}, #state{watch = Watch, retries = Retries} = State0) ->
    State = State0#state{retries = maps:remove(Node, Retries)},
    case partisan_failure_detector:is_watched(Node, Watch) of
        true -> {noreply, ask(Node, State)};
        false -> {noreply, State}
    end;
handle_info({partisan, dissolved}, State) ->
    {noreply, State};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% @private The next incarnation of this node knows nothing of what they wait for. They may be many,
%% so that the state stays as it is.
-spec terminate(Reason :: term(), #state{}) -> ok.
terminate(_Reason, #state{wanted = Wanted}) ->
    {Monitors, Watchers} = partisan_wanted:all(Wanted),
    lists:foreach(fun({Monitor, Notice}) -> notify(Monitor, Notice, noconnection) end, Monitors),
    lists:foreach(fun({Pid, Node}) -> Pid ! {nodedown, Node} end, Watchers).

%% Internals: messages of other nodes.

-spec said(body(), name(), partisan_peer:incarnation(), #state{}) -> #state{}.
said({call, Request}, Node, Incarnation, #state{served = Served0} = State) ->
    case partisan_call:is_request(Request) andalso partisan_served:add(Request, Node, Served0) of
        {ok, Served} -> watch_present(Node, Incarnation, State#state{served = Served});
        _FullOrNone -> State
    end;
said({cancel, Id}, Node, _Incarnation, #state{served = Served} = State) ->
    ok = partisan_served:cancel(Node, Id, Served),
    State;
said({monitor, Id, Destination}, Node, Incarnation, #state{held = Held0} = State) ->
    case partisan_held:add(Node, Incarnation, Id, Destination, Held0) of
        {ok, Held} -> watch_present(Node, Incarnation, State#state{held = Held});
        full -> say(Node, {down, Id, system_limit}, State)
    end;
said({monitors, Wanted}, Node, Incarnation, #state{held = Held0} = State) when is_map(Wanted) ->
    {Refused, Held} = partisan_held:replace(Node, Incarnation, Wanted, Held0),
    Answered = lists:foldl(
        fun(Id, S) -> say(Node, {down, Id, system_limit}, S) end, State#state{held = Held}, Refused
    ),
    unwatch(Node, watch_present(Node, Incarnation, Answered));
said({demonitor, Id}, Node, Incarnation, #state{held = Held} = State) ->
    unwatch(Node, State#state{held = partisan_held:remove(Node, Incarnation, Id, Held)});
said({down, Id, Reason}, Node, _Incarnation, #state{wanted = Wanted} = State) ->
    case partisan_wanted:find(Node, Id, Wanted) of
        {ok, Reference} -> tell_down(Reference, Reason, State);
        error -> State
    end;
said(tell_monitors, Node, _Incarnation, #state{wanted = Wanted} = State) ->
    There = partisan_wanted:at(Node, Wanted),
    Mine = maps:map(fun(_Id, {_, Destination}) -> Destination end, There),
    say(Node, {monitors, Mine}, State);
said({alive, Digest, Answer}, Node, Incarnation, #state{held = Held} = State0) when
    is_boolean(Answer)
->
    State =
        case Answer of
            true -> say(Node, {alive, digest_at(Node, State0), false}, State0);
            false -> State0
        end,
    case partisan_held:digest(Node, Incarnation, Held) of
        Digest -> State;
        _ -> say(Node, tell_monitors, State)
    end;
said(_Unknown, _Node, _Incarnation, State) ->
    State.

%% Internals: local processes that end.

ended(Monitor, Pid, Reason, #state{served = Served0, held = Held0, wanted = Wanted} = State) ->
    case {partisan_served:ended(Monitor, Served0), partisan_held:down(Monitor, Held0)} of
        {{Node, Served}, _} ->
            unwatch(Node, State#state{served = Served});
        {error, {{Node, Id}, Held}} ->
            % On the lane of the messages that the process has sent, and behind them.
            unwatch(Node, say(Node, {down, Id, Reason}, Pid, State#state{held = Held}));
        {error, error} ->
            % The process was the only one to notify.
            lists:foldl(
                fun
                    ({node, Node}, S) -> drop_node_monitor(Pid, Node, S);
                    ({monitor, Reference}, S) -> drop_monitor(Reference, S)
                end,
                State,
                partisan_wanted:wishes(Pid, Wanted)
            )
    end.

%% Internals: the monitors of this node's processes.

tell_down(Reference, Reason, #state{wanted = Wanted0} = State) ->
    {{Notice, _Node, _Id}, Wanted} = partisan_wanted:remove(Reference, Wanted0),
    ok = notify(Reference, Notice, Reason),
    State#state{wanted = Wanted}.

notify(Reference, {Receiver, Tag, Object}, Reason) ->
    Notification = {Tag, Reference, process, Object, Reason},
    _ = case Receiver of
        _ when is_pid(Receiver) -> Receiver ! Notification;
        _Alias -> Reference ! Notification
    end,
    ok.

drop_monitor(Reference, #state{wanted = Wanted0} = State) ->
    {{_Notice, Node, Id}, Wanted} = partisan_wanted:remove(Reference, Wanted0),
    unwatch(Node, say(Node, {demonitor, Id}, State#state{wanted = Wanted})).

drop_node_monitor(Pid, Node, #state{wanted = Wanted} = State) ->
    unwatch(Node, State#state{wanted = partisan_wanted:remove_node(Pid, Node, Wanted)}).

%% Internals: watching nodes.

look(#state{watch = Watch0} = State) ->
    {Watch, Actions} = partisan_failure_detector:tick(now_ms(), partisan:neighbours(), Watch0),
    act(Actions, State#state{watch = Watch}).

act(Actions, State) ->
    lists:foldl(
        fun
            ({ask, Node}, S) -> ask(Node, S);
            ({lost, Node, Before}, S) -> lost(Node, Before, S)
        end,
        State,
        Actions
    ).

ask(Node, State) ->
    say(Node, {alive, digest_at(Node, State), true}, State).

lost(Node, Before, #state{wanted = Wanted, held = Held, served = Served} = State0) ->
    % Messages that have arrived from there come before the news of its loss.
    ok = partisan_inbound:finish(partisan_listener:of_peer(Node, Before), ?FINISH),
    ok = partisan_acks:end_previous(Node, Before),
    ok = partisan_served:lost(Node, Served),
    State1 = lists:foldl(
        fun({Reference, _}, S) -> tell_down(Reference, noconnection, S) end,
        State0#state{held = partisan_held:forget(Node, Held)},
        maps:values(partisan_wanted:at(Node, Wanted))
    ),
    lists:foldl(
        fun(Pid, S) ->
            Pid ! {nodedown, Node},
            drop_node_monitor(Pid, Node, S)
        end,
        State1,
        partisan_wanted:watchers(Node, Wanted)
    ).

watch(Node, #state{self = {Node, _}} = State) ->
    % A node does not watch itself.
    State;
watch(Node, #state{watch = Watch0} = State) ->
    {Watch, Actions} = partisan_failure_detector:watch(Node, now_ms(), Watch0),
    act(Actions, State#state{watch = Watch}).

%% Just heard of, so there is no need to ask.
watch_present(Node, _Incarnation, #state{self = {Node, _}} = State) ->
    State;
watch_present(Node, Incarnation, #state{watch = Watch} = State) ->
    State#state{watch = partisan_failure_detector:present(Node, Incarnation, now_ms(), Watch)}.

%% Stops watching the node unless something still depends on it.
unwatch(Node, #state{watch = Watch, wanted = Wanted, served = Served, held = Held} = State) ->
    Matters =
        partisan_wanted:is_wanted(Node, Wanted) orelse partisan_held:is_holder(Node, Held) orelse
            partisan_served:is_caller(Node, Served),
    case Matters of
        true -> State;
        false -> State#state{watch = partisan_failure_detector:unwatch(Node, Watch)}
    end.

digest_at(Node, #state{wanted = Wanted}) ->
    partisan_held:digest(maps:keys(partisan_wanted:at(Node, Wanted))).

%% Internals: sending to the same process elsewhere, without blocking on one node.

say(Node, Body, State) ->
    say(Node, Body, ?MODULE, State).

say(Node, Body, _Key, #state{self = {Node, Incarnation}} = State) ->
    self() ! {?MODULE, Node, Incarnation, Body},
    State;
say(Node, Body, Key, #state{self = {Name, Incarnation}, retries = Retries} = State) ->
    Options = #{on_busy => drop, await_route => false, partition_key => Key, ack => false},
    case partisan:transmit(Node, ?MODULE, {?MODULE, Name, Incarnation, Body}, Options) of
        {error, _} when not is_map_key(Node, Retries) ->
            % A loss shows in the digests.
            _ = erlang:send_after(?RETRY, self(), {retry, Node}),
            State#state{retries = Retries#{Node => true}};
        _ ->
            State
    end.

now_ms() ->
    erlang:monotonic_time(millisecond).

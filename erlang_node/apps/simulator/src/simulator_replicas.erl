%%% @doc The replicas of one value in virtual time, without the overlay below them.
%%%
%%% Every node runs the production protocol ({@link lasp_sync}), with its effects interpreted as by
%%% {@link lasp_store}, on a network with unlimited bandwidth and processors: a message takes the
%%% latency of its link. The caller determines the neighbours: a fixed graph, the trace of an
%%% overlay under faults, or an overlay simulated alongside.
%%%
%%% A workload updates the replicas. It is a module with this behaviour, and its state, for all
%%% nodes, is kept here ({@link state/1}): every step is a function from replicas to replicas.
%%%
%%% A stopped node loses everything that it has not sent. It may start again, as another incarnation
%%% with an empty replica.
-module(simulator_replicas).

-export([new/1]).
-export([start/2]).
-export([stop/2]).
-export([deliver/3]).
-export([schedule/4]).
-export([later/3]).
-export([cut/2]).
-export([heal/1]).
-export([advance/2]).
-export([await/4]).
-export([now/1]).
-export([state/1]).
-export([put_state/2]).
-export([starts/2]).
-export([names/1]).
-export([value/2]).
-export([values/1]).
-export([sent/2]).
-export([frames/1]).

-type milliseconds() :: simulator_clock:milliseconds().
-type name() :: lasp_sync:name().
%% Treatment of a message without room: see {@link lasp_sync}.
-type class() :: latest | each | blocking.

-type options() :: #{
    mode := lasp_sync:mode(),
    type := lasp_lattice:type(),
    scope := binary(),
    % Milliseconds between two propagations.
    interval := pos_integer(),
    % From one node to another, constant, so that messages of a pair stay in order.
    latency := fun((From :: name(), To :: name()) -> milliseconds()),
    % The module, and its initial state.
    workload := {module(), State :: term()}
}.

%% A starting node: its incarnation, and the seed of the protocol's random choices.
-type identity() :: #{
    name := name(),
    incarnation := partisan_peer:incarnation(),
    seed := {integer(), integer(), integer()},
    _ => _
}.

-record(node, {
    % The number of this start.
    incarnation :: pos_integer(),
    sync :: term(),
    % The newest start of each timer of the protocol; events of older ones are stale.
    timers = #{} :: #{term() => pos_integer()},
    changed = false :: boolean()
}).

-record(replicas, {
    options :: options(),
    protocol :: module(),
    workload :: module(),
    state :: term(),
    clock = simulator_clock:new() :: simulator_clock:t(),
    nodes = #{} :: #{name() => #node{}},
    starts = #{} :: #{name() => pos_integer()},
    side = fun(_) -> true end :: fun((name()) -> term()),
    serial = 0 :: non_neg_integer(),
    sent = #{} :: #{lasp_sync:kind() => non_neg_integer()},
    frames = #{} :: #{class() => {Messages :: pos_integer(), Bytes :: pos_integer()}}
}).

-opaque t() :: #replicas{}.
-export_type([t/0, options/0, identity/0, class/0]).

%% An event that the workload has scheduled for a node is due.
-callback due(name(), Event :: term(), t()) -> t().
%% The replica of a node has grown.
-callback changed(name(), t()) -> t().

%% @doc No nodes.
-spec new(options()) -> t().
new(#{mode := Mode, workload := {Workload, State}} = Options) ->
    #replicas{
        options = Options,
        protocol = lasp_sync:protocol(Mode),
        workload = Workload,
        state = State
    }.

%% @doc Starts a node, for the first time or again.
-spec start(identity(), t()) -> t().
start(#{name := Name} = Identity, #replicas{protocol = Protocol, options = Options} = R) ->
    {Sync, Effects} = Protocol:init(
        maps:merge(
            maps:with([name, incarnation, seed], Identity),
            maps:with([type, scope, interval], Options)
        )
    ),
    Incarnation = starts(Name, R) + 1,
    Begun = R#replicas{starts = (R#replicas.starts)#{Name => Incarnation}},
    interpret(Name, #node{incarnation = Incarnation, sync = Sync}, Effects, Begun).

%% @doc Stops a living node at once.
-spec stop(name(), t()) -> t().
stop(Name, #replicas{nodes = Nodes} = R) ->
    {#node{}, Others} = maps:take(Name, Nodes),
    R#replicas{nodes = Others}.

%% @doc Passes an event to a node, which may be dead.
-spec deliver(name(), lasp_sync:event(), t()) -> t().
deliver(Name, Event, #replicas{nodes = Nodes} = R) ->
    case is_map_key(Name, Nodes) of
        true -> step(Name, Event, R);
        false -> R
    end.

%% @doc Schedules an event of the workload for a living node. It is void once the node stops.
-spec schedule(Delay :: milliseconds(), name(), Event :: term(), t()) -> t().
schedule(Delay, Name, Event, #replicas{nodes = Nodes} = R) ->
    #{Name := #node{incarnation = Incarnation}} = Nodes,
    enqueue(Delay, {due, {Name, Incarnation}, Event}, R).

%% @doc Schedules an action.
-spec later(Delay :: milliseconds(), fun((t()) -> t()), t()) -> t().
later(Delay, Action, R) ->
    enqueue(Delay, {act, Action}, R).

%% @doc Partitions the network: nodes with different results of the function cannot reach each
%% other.
-spec cut(fun((name()) -> term()), t()) -> t().
cut(Side, R) ->
    R#replicas{side = Side}.

%% @doc Heals the partition.
-spec heal(t()) -> t().
heal(R) ->
    R#replicas{side = fun(_) -> true end}.

%% @doc Advances time to this moment.
-spec advance(Until :: milliseconds(), t()) -> t().
advance(Until, #replicas{clock = Clock} = R) ->
    case simulator_clock:due(Until, Clock) of
        {due, Due, Later} ->
            advance(Until, lists:foldl(fun occur/2, R#replicas{clock = Later}, Due));
        {elapsed, Elapsed} ->
            R#replicas{clock = Elapsed}
    end.

%% @doc Advances time until a condition holds, checked once per period. Fails with
%% `{does_not_hold_until, Until}' if it does not hold by then.
-spec await(fun((t()) -> boolean()), Period :: pos_integer(), Until :: milliseconds(), t()) -> t().
await(Holds, Period, Until, R) ->
    Now = now(R),
    case Holds(R) of
        true -> R;
        false when Now < Until -> await(Holds, Period, Until, advance(Now + Period, R));
        false -> error({does_not_hold_until, Until})
    end.

%% @doc The virtual time.
-spec now(t()) -> milliseconds().
now(#replicas{clock = Clock}) ->
    simulator_clock:now(Clock).

%% @doc The workload's state.
-spec state(t()) -> term().
state(#replicas{state = State}) ->
    State.

%% @doc Replaces the workload's state.
-spec put_state(State :: term(), t()) -> t().
put_state(State, R) ->
    R#replicas{state = State}.

%% @doc The number of a node's starts.
-spec starts(name(), t()) -> non_neg_integer().
starts(Name, #replicas{starts = Starts}) ->
    maps:get(Name, Starts, 0).

%% @doc The living nodes.
-spec names(t()) -> [name()].
names(#replicas{nodes = Nodes}) ->
    maps:keys(Nodes).

%% @doc The replica of a living node.
-spec value(name(), t()) -> Value :: term().
value(Name, #replicas{protocol = Protocol, nodes = Nodes}) ->
    #{Name := #node{sync = Sync}} = Nodes,
    Protocol:value(Sync).

%% @doc The replicas of all living nodes.
-spec values(t()) -> [Value :: term()].
values(#replicas{protocol = Protocol, nodes = Nodes}) ->
    [Protocol:value(Sync) || #node{sync = Sync} <- maps:values(Nodes)].

%% @doc Bytes of these kinds sent by all nodes.
-spec sent([lasp_sync:kind()], t()) -> non_neg_integer().
sent(Kinds, #replicas{sent = Sent}) ->
    lists:sum([maps:get(Kind, Sent, 0) || Kind <- Kinds]).

%% @doc Messages and bytes of frames sent by all nodes, by class.
-spec frames(t()) -> #{class() => {Messages :: pos_integer(), Bytes :: pos_integer()}}.
frames(#replicas{frames = Frames}) ->
    Frames.

%% Internals: time.

enqueue(Delay, Event, #replicas{clock = Clock} = R) ->
    R#replicas{clock = simulator_clock:schedule(Delay, Event, Clock)}.

occur({act, Action}, R) ->
    Action(R);
occur({due, {Name, Incarnation}, Event}, #replicas{nodes = Nodes, workload = Workload} = R) ->
    case Nodes of
        #{Name := #node{incarnation = Incarnation}} -> Workload:due(Name, Event, R);
        #{} -> R
    end;
occur({timer, Name, Timer, Serial}, #replicas{nodes = Nodes} = R) ->
    case Nodes of
        #{Name := #node{timers = #{Timer := Serial}}} -> step(Name, {timer, Timer}, R);
        #{} -> R
    end;
%% A message reaches only the incarnation it was sent to, and is dropped once its sender has
%% restarted.
occur({message, {From, FromIncarnation}, {To, ToIncarnation}, Message}, R) ->
    #replicas{nodes = Nodes, starts = Starts, side = Side} = R,
    case {Nodes, Starts} of
        {#{To := #node{incarnation = ToIncarnation}}, #{From := FromIncarnation}} ->
            case Side(From) =:= Side(To) of
                true -> step(To, {message, From, Message}, R);
                false -> R
            end;
        _ ->
            R
    end.

%% Internals: nodes.

step(Name, Event, #replicas{protocol = Protocol, nodes = Nodes} = R) ->
    #{Name := #node{sync = Sync} = Node} = Nodes,
    {Next, Effects} = Protocol:handle(Event, Sync),
    observed(Name, interpret(Name, Node#node{sync = Next}, Effects, R)).

%% Once per event, after all its effects.
observed(Name, #replicas{nodes = Nodes, workload = Workload} = R) ->
    case Nodes of
        #{Name := #node{changed = true} = Node} ->
            Workload:changed(Name, R#replicas{nodes = Nodes#{Name := Node#node{changed = false}}});
        #{} ->
            R
    end.

interpret(Name, Node, Effects, #replicas{nodes = Nodes} = R) ->
    lists:foldl(
        fun(Effect, Acc) -> effect(Effect, Name, Acc) end,
        R#replicas{nodes = Nodes#{Name => Node}},
        Effects
    ).

effect({send, To, Class, Message}, Name, R) ->
    #replicas{starts = #{Name := Incarnation} = Starts, options = #{latency := Latency}} = R,
    {Bytes, _} = partisan_frame:message(lasp_store, {lasp_sync, Name, Message}),
    % A neighbour that has not started yet gets it in its first incarnation.
    Arrival = {message, {Name, Incarnation}, {To, maps:get(To, Starts, 1)}, Message},
    enqueue(Latency(Name, To), Arrival, frame(Class, Bytes, R));
effect({start_timer, Timer, Delay}, Name, #replicas{nodes = Nodes, serial = Before} = R) ->
    #{Name := #node{timers = Timers} = Node} = Nodes,
    Serial = Before + 1,
    Started = Node#node{timers = Timers#{Timer => Serial}},
    enqueue(Delay, {timer, Name, Timer, Serial}, R#replicas{
        nodes = Nodes#{Name := Started}, serial = Serial
    });
effect(changed, Name, #replicas{nodes = Nodes} = R) ->
    #{Name := Node} = Nodes,
    R#replicas{nodes = Nodes#{Name := Node#node{changed = true}}};
effect({count, Kind, sent, Bytes}, _Name, #replicas{sent = Sent} = R) ->
    R#replicas{sent = Sent#{Kind => maps:get(Kind, Sent, 0) + Bytes}};
effect({count, _Kind, received, _Bytes}, _Name, R) ->
    R;
effect({handed_over, _Names}, _Name, R) ->
    R.

frame(Class, Bytes, #replicas{frames = Frames} = R) ->
    {Messages, Before} = maps:get(Class, Frames, {0, 0}),
    R#replicas{frames = Frames#{Class => {Messages + 1, Before + Bytes}}}.

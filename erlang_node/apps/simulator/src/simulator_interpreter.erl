%%% @doc Executes the effects of the simulated stacks in virtual time.
%%%
%%% It interprets the effects of {@link partisan_stack} as `partisan_manager' does, on a simulated
%%% network ({@link simulator_network}): dead and partitioned nodes refuse; the loss of a node is
%%% noticed by those with a pinned link to it. Optionally it is a datagram network, which loses
%%% messages silently.
%%%
%%% Longer than 300 lines: one value, which all effects and faults change.
-module(simulator_interpreter).

-export([new/1]).
-export([set/2]).
-export([start/2]).
-export([stop/2]).
-export([step/3]).
-export([cut/2]).
-export([heal/1]).
-export([inject/2]).
-export([advance/2]).
-export([now/1]).
-export([round_trip/3]).
-export([nodes/1]).
-export([routes/1]).
-export([monitor/1]).
-export([watch/3]).

-import(simulator_peer, [index/1, name/1]).

-type index() :: simulator_peer:index().
-type milliseconds() :: simulator_clock:milliseconds().

-record(sim, {
    options :: simulator:options(),
    events = simulator_clock:new() :: simulator_clock:t(),
    nodes = simulator_nodes:new() :: simulator_nodes:t(),
    network :: simulator_network:t(),
    faults = none :: none | simulator_faults:t(),
    routes = simulator_routes:new() :: simulator_routes:t(),
    monitor = simulator_monitor:new() :: simulator_monitor:t()
}).

-opaque t() :: #sim{}.
-export_type([t/0]).

%% @doc A cluster without nodes; all options are set.
-spec new(simulator:options()) -> t().
new(Options) ->
    #sim{options = Options, network = simulator_network:new(Options)}.

%% @doc Changes options.
-spec set(map(), t()) -> t().
set(Changes, #sim{options = Options0, network = Network} = Sim) ->
    Options = maps:merge(Options0, Changes),
    Sim#sim{options = Options, network = simulator_network:set(Options, Network)}.

%% @doc Starts the next incarnation of a node.
-spec start(index(), t()) -> t().
start(Index, #sim{nodes = Nodes, options = Options} = Sim) ->
    Incarnation = simulator_nodes:incarnation(Index, Nodes) + 1,
    Peer = simulator_peer:new(Index, Incarnation),
    {Stack, Effects} = partisan_stack:init((maps:get(stack, Options))#{
        self => Peer,
        seed => {maps:get(seed, Options), Index, Incarnation},
        overlay => overlay(Index, maps:get(overlay, Options)),
        seeds => [simulator_peer:new(I, 0) || I <- lists:seq(1, maps:get(seeds, Options))]
    }),
    interpret(Index, Effects, Sim#sim{nodes = simulator_nodes:start(Peer, Stack, Nodes)}).

%% @doc Removes a node silently.
-spec stop(index(), t()) -> t().
stop(Index, #sim{nodes = Nodes, network = Network0} = Sim0) ->
    {Losing, Network} = simulator_network:remove(Index, Network0),
    Sim1 = Sim0#sim{nodes = simulator_nodes:stop(Index, Nodes), network = Network},
    lists:foldl(fun(Who, Sim) -> lose(Who, Index, Sim) end, Sim1, Losing).

%% @doc Passes an event to a living node, and executes its effects, unless the node crashes first.
-spec step(index(), partisan_stack:event(), t()) -> t().
step(Index, Event, #sim{faults = none} = Sim) ->
    handle(Index, Event, Sim);
step(Index, Event, #sim{faults = Faults} = Sim) ->
    case simulator_faults:step(name(Index), now(Sim), Faults) of
        {true, Counted} -> handle(Index, Event, Sim#sim{faults = Counted});
        {false, Counted} -> stop(Index, Sim#sim{faults = Counted})
    end.

handle(Index, Event, #sim{nodes = Nodes, monitor = Monitor} = Sim) ->
    {Stack, Effects} = partisan_stack:handle(Event, simulator_nodes:stack(Index, Nodes)),
    interpret(Index, Effects, Sim#sim{
        nodes = simulator_nodes:put_stack(Index, Stack, Nodes),
        monitor = simulator_monitor:event(Index, Event, Effects, Monitor)
    }).

%% @doc Partitions the network; nodes notice broken links.
-spec cut(fun((index()) -> term()), t()) -> t().
cut(Side, #sim{network = Network0} = Sim0) ->
    {Broken, Network} = simulator_network:cut(Side, Network0),
    break(Broken, Sim0#sim{network = Network}).

%% @doc Ends the cut.
-spec heal(t()) -> t().
heal(#sim{network = Network} = Sim) ->
    Sim#sim{network = simulator_network:heal(Network)}.

%% @doc Replaces the rules of injected faults. Nodes notice links that a partition breaks now; one
%% that begins later they notice by their next message.
-spec inject([partisan_fault:rule()], t()) -> t().
inject([], Sim) ->
    Sim#sim{faults = none};
inject(Rules, #sim{network = Network} = Sim0) ->
    Sim = Sim0#sim{faults = simulator_faults:new(Rules, now(Sim0))},
    break([{A, B} || {A, B} <- simulator_network:pinned(Network), is_apart(A, B, Sim)], Sim).

%% @doc Advances time to this moment.
-spec advance(Until :: milliseconds(), t()) -> t().
advance(Until, #sim{events = Events} = Sim) ->
    case simulator_clock:due(Until, Events) of
        {due, Due, Later} -> advance(Until, lists:foldl(fun occur/2, Sim#sim{events = Later}, Due));
        {elapsed, Elapsed} -> Sim#sim{events = Elapsed}
    end.

%% @doc The virtual time.
-spec now(t()) -> milliseconds().
now(#sim{events = Events}) ->
    simulator_clock:now(Events).

%% @doc The round trip of a message and its answer.
-spec round_trip(index(), index(), t()) -> milliseconds().
round_trip(A, B, Sim) ->
    latency(A, B, Sim) + latency(B, A, Sim).

%% @doc The nodes.
-spec nodes(t()) -> simulator_nodes:t().
nodes(#sim{nodes = Nodes}) ->
    Nodes.

%% @doc The routes that nodes have found.
-spec routes(t()) -> simulator_routes:t().
routes(#sim{routes = Routes}) ->
    Routes.

%% @doc The record of the simulation.
-spec monitor(t()) -> simulator_monitor:t().
monitor(#sim{monitor = Monitor}) ->
    Monitor.

%% @doc Installs a function that sees every event from now on.
-spec watch(simulator_monitor:watcher(), Acc :: term(), t()) -> t().
watch(Watcher, Acc, #sim{monitor = Monitor} = Sim) ->
    Sim#sim{monitor = simulator_monitor:watch(Watcher, Acc, Monitor)}.

%% Internals: time.

schedule(Delay, Index, Event, #sim{events = Events, nodes = Nodes} = Sim) ->
    Entry = {Index, simulator_nodes:incarnation(Index, Nodes), Event},
    Sim#sim{events = simulator_clock:schedule(Delay, Entry, Events)}.

%% An event of a previous incarnation dies with it, except for a message, which goes to the next
%% one; if there is none, it is answered as by a closed socket.
occur({Index, Incarnation, Event}, #sim{nodes = Nodes} = Sim) ->
    IsTaken =
        simulator_nodes:is_alive(Index, Nodes) andalso
            (element(1, Event) =:= message orelse
                simulator_nodes:incarnation(Index, Nodes) =:= Incarnation),
    case IsTaken of
        true -> deliver(Event, Index, Sim);
        false -> undeliverable(Event, Index, Sim)
    end.

deliver({timer, Name, Serial}, Index, #sim{nodes = Nodes} = Sim) ->
    case simulator_nodes:is_running(Index, Name, Serial, Nodes) of
        true -> step(Index, {timer, Name}, Sim);
        false -> Sim
    end;
deliver({dialled, To}, Index, #sim{network = Network, nodes = Nodes} = Sim) ->
    case simulator_network:is_pinned(Index, To, Network) andalso reachable(Index, To, Sim) of
        true -> step(Index, {peer_up, simulator_nodes:peer(To, Nodes)}, Sim);
        false -> lost_if_pinned(Index, To, Sim)
    end;
deliver({lost, To}, Index, Sim) ->
    lost_if_pinned(Index, To, Sim);
deliver({failed, To}, Index, Sim) ->
    lost(Index, To, Sim);
deliver({measured, To}, Index, Sim) ->
    case reachable(Index, To, Sim) of
        true -> step(Index, {cost, name(To), 1000 * round_trip(Index, To, Sim)}, Sim);
        false -> lost(Index, To, Sim)
    end;
deliver({message, From, Msg}, Index, #sim{network = Network} = Sim) ->
    Sender = index(From),
    IsOpen = not simulator_network:is_cut(Network) andalso not is_apart(Index, Sender, Sim),
    case IsOpen orelse reachable(Index, Sender, Sim) of
        true -> step(Index, {message, From, Msg}, Sim);
        false -> undeliverable({message, From, Msg}, Index, Sim)
    end.

undeliverable({message, From, _Msg}, Index, #sim{options = #{detection := Detection}} = Sim0) ->
    Sender = index(From),
    Sim = count(lost, Sim0),
    case Detection =/= infinity andalso simulator_nodes:is_alive(Sender, Sim#sim.nodes) of
        true -> schedule(latency(Index, Sender, Sim), Sender, {failed, Index}, Sim);
        false -> Sim
    end;
undeliverable(_Event, _Index, Sim) ->
    Sim.

%% Internals: nodes.

interpret(Index, Effects, Sim) ->
    lists:foldl(fun(Effect, Acc) -> effect(Effect, Index, Acc) end, Sim, Effects).

effect({send, Peer, Msg}, Index, #sim{nodes = Nodes, network = Network} = Sim0) ->
    To = index(Peer),
    {Number, Monitor} = simulator_monitor:sent(Sim0#sim.monitor),
    Sim = Sim0#sim{monitor = Monitor},
    case simulator_network:vanishes(Number, Network) of
        true ->
            count(lost, Sim);
        false ->
            Self = simulator_nodes:peer(Index, Nodes),
            transmit(Self, To, Msg, latency(Index, To, Sim), Sim)
    end;
effect({measure, Peer}, Index, Sim) ->
    To = index(Peer),
    schedule(round_trip(Index, To, Sim), Index, {measured, To}, Sim);
effect({connect, #{incarnation := Incarnation} = Peer}, Index, #sim{network = Network0} = Sim) ->
    To = index(Peer),
    case simulator_network:pin(Index, To, Incarnation, Network0) of
        known ->
            Sim;
        {pinned, Network} ->
            Delay = 2 * latency(Index, To, Sim),
            schedule(Delay, Index, {dialled, To}, Sim#sim{network = Network})
    end;
effect({disconnect, Name}, Index, Sim) ->
    unpin(Index, index(Name), Sim);
effect({start_timer, Name, Delay}, Index, #sim{nodes = Before} = Sim) ->
    {Serial, Nodes} = simulator_nodes:start_timer(Index, Name, Before),
    schedule(Delay, Index, {timer, Name, Serial}, Sim#sim{nodes = Nodes});
effect({deliver, Payload}, Index, #sim{nodes = Nodes, monitor = Monitor} = Sim) ->
    Where = {Index, simulator_nodes:incarnation(Index, Nodes)},
    Sim#sim{monitor = simulator_monitor:delivered(Payload, Where, Monitor)};
effect({route, Name, Via}, Index, #sim{routes = Routes} = Sim) ->
    Sim#sim{routes = simulator_routes:learn(Index, index(Name), index(Via), Routes)};
effect({no_route, Name}, Index, #sim{routes = Routes} = Sim) ->
    Sim#sim{routes = simulator_routes:forget(Index, index(Name), Routes)};
effect(dissolved, _Index, Sim) ->
    count(dissolved, Sim);
effect({count, What}, _Index, Sim) ->
    count(What, Sim);
effect({neighbour_up, _}, _Index, Sim) ->
    count(neighbour_up, Sim);
effect({neighbour_down, _}, _Index, Sim) ->
    count(neighbour_down, Sim).

break(Links, Sim) ->
    lists:foldl(fun({From, To}, Acc) -> lose(From, To, Acc) end, Sim, Links).

lose(_Index, _To, #sim{options = #{detection := infinity}} = Sim) ->
    Sim;
lose(Index, To, #sim{options = #{detection := Detection}} = Sim) ->
    schedule(Detection, Index, {lost, To}, Sim).

lost_if_pinned(Index, To, #sim{network = Network} = Sim) ->
    case simulator_network:is_pinned(Index, To, Network) of
        true -> lost(Index, To, Sim);
        false -> Sim
    end.

lost(Index, To, Sim) ->
    step(Index, {peer_down, name(To), unreachable}, unpin(Index, To, Sim)).

unpin(Index, To, #sim{network = Network} = Sim) ->
    Sim#sim{network = simulator_network:unpin(Index, To, Network)}.

%% Internals: the network.

transmit(Self, To, Msg, Latency, #sim{faults = none} = Sim) ->
    schedule(Latency, To, {message, Self, Msg}, Sim);
transmit(#{name := From} = Self, To, Msg, Latency, #sim{faults = Faults} = Sim) ->
    case simulator_faults:sent(From, name(To), Msg, now(Sim), Faults) of
        {[], Counted} ->
            count(lost, Sim#sim{faults = Counted});
        {Copies, Counted} ->
            Schedule = fun({Delay, Copy}, Acc) ->
                schedule(Latency + Delay, To, {message, Self, Copy}, Acc)
            end,
            lists:foldl(Schedule, Sim#sim{faults = Counted}, Copies)
    end.

reachable(From, To, #sim{nodes = Nodes, network = Network} = Sim) ->
    simulator_nodes:is_alive(To, Nodes) andalso
        simulator_network:same_side(From, To, Network) andalso not is_apart(From, To, Sim).

is_apart(_From, _To, #sim{faults = none}) ->
    false;
is_apart(From, To, #sim{faults = Faults} = Sim) ->
    simulator_faults:is_apart(name(From), name(To), now(Sim), Faults).

latency(From, To, #sim{network = Network}) ->
    simulator_network:latency(From, To, Network).

count(What, #sim{monitor = Monitor} = Sim) ->
    Sim#sim{monitor = simulator_monitor:count(What, Monitor)}.

overlay(Index, {Kind, Parameters}) when is_function(Parameters) ->
    {Kind, Parameters(Index)};
overlay(_Index, Overlay) ->
    Overlay.

%%% @doc What the stacks of a simulation want done, done in virtual time.
%%%
%%% It interprets the effects of {@link partisan_stack} as `partisan_manager' does, with a network
%%% of its own making ({@link partisan_sim_network}): dead and cut-off nodes refuse; the loss of a
%%% node is noticed by those who pinned a link to it. On request it is a network of datagrams
%%% instead, which loses messages and tells nobody.
-module(partisan_sim_interpreter).

-export([new/1]).
-export([set/2]).
-export([start/2]).
-export([stop/2]).
-export([step/3]).
-export([cut/2]).
-export([heal/1]).
-export([advance/2]).
-export([now/1]).
-export([round_trip/3]).
-export([nodes/1]).
-export([routes/1]).
-export([monitor/1]).
-export([watch/3]).

-import(partisan_sim_peer, [index/1, name/1]).

-type index() :: partisan_sim_peer:index().
-type milliseconds() :: partisan_sim_events:milliseconds().

-record(sim, {
    options :: partisan_sim:options(),
    events = partisan_sim_events:new() :: partisan_sim_events:t(),
    nodes = partisan_sim_nodes:new() :: partisan_sim_nodes:t(),
    network :: partisan_sim_network:t(),
    routes = partisan_sim_routes:new() :: partisan_sim_routes:t(),
    monitor = partisan_sim_monitor:new() :: partisan_sim_monitor:t()
}).

-opaque t() :: #sim{}.
-export_type([t/0]).

%% @doc A cluster without nodes; all options are there.
-spec new(partisan_sim:options()) -> t().
new(Options) ->
    #sim{options = Options, network = partisan_sim_network:new(Options)}.

%% @doc Changes options.
-spec set(map(), t()) -> t().
set(Changes, #sim{options = Options0, network = Network} = Sim) ->
    Options = maps:merge(Options0, Changes),
    Sim#sim{options = Options, network = partisan_sim_network:set(Options, Network)}.

%% @doc The next life of a node begins.
-spec start(index(), t()) -> t().
start(Index, #sim{nodes = Nodes, options = Options} = Sim) ->
    Life = partisan_sim_nodes:life(Index, Nodes) + 1,
    Peer = partisan_sim_peer:new(Index, Life),
    {Stack, Effects} = partisan_stack:init((maps:get(stack, Options))#{
        self => Peer,
        seed => {maps:get(seed, Options), Index, Life},
        overlay => overlay(Index, maps:get(overlay, Options)),
        seeds => [partisan_sim_peer:new(I, 0) || I <- lists:seq(1, maps:get(seeds, Options))]
    }),
    interpret(Index, Effects, Sim#sim{nodes = partisan_sim_nodes:start(Peer, Stack, Nodes)}).

%% @doc A node is gone, without a word.
-spec stop(index(), t()) -> t().
stop(Index, #sim{nodes = Nodes, network = Network0} = Sim0) ->
    {Losing, Network} = partisan_sim_network:remove(Index, Network0),
    Sim1 = Sim0#sim{nodes = partisan_sim_nodes:stop(Index, Nodes), network = Network},
    lists:foldl(fun(Who, Sim) -> lose(Who, Index, Sim) end, Sim1, Losing).

%% @doc A living node takes an event, and what it makes of it is done.
-spec step(index(), partisan_stack:event(), t()) -> t().
step(Index, Event, #sim{nodes = Nodes, monitor = Monitor} = Sim) ->
    {Stack, Effects} = partisan_stack:handle(Event, partisan_sim_nodes:stack(Index, Nodes)),
    interpret(Index, Effects, Sim#sim{
        nodes = partisan_sim_nodes:put_stack(Index, Stack, Nodes),
        monitor = partisan_sim_monitor:event(Index, Event, Effects, Monitor)
    }).

%% @doc Cuts the network, which those notice whose links it breaks.
-spec cut(fun((index()) -> term()), t()) -> t().
cut(Side, #sim{network = Network0} = Sim0) ->
    {Broken, Network} = partisan_sim_network:cut(Side, Network0),
    Sim1 = Sim0#sim{network = Network},
    lists:foldl(fun({From, To}, Sim) -> lose(From, To, Sim) end, Sim1, Broken).

-spec heal(t()) -> t().
heal(#sim{network = Network} = Sim) ->
    Sim#sim{network = partisan_sim_network:heal(Network)}.

%% @doc Lets time pass to this moment.
-spec advance(Until :: milliseconds(), t()) -> t().
advance(Until, #sim{events = Events} = Sim) ->
    case partisan_sim_events:due(Until, Events) of
        {due, Due, Later} -> advance(Until, lists:foldl(fun occur/2, Sim#sim{events = Later}, Due));
        {elapsed, Elapsed} -> Sim#sim{events = Elapsed}
    end.

-spec now(t()) -> milliseconds().
now(#sim{events = Events}) ->
    partisan_sim_events:now(Events).

%% @doc How long a message and its answer take.
-spec round_trip(index(), index(), t()) -> milliseconds().
round_trip(A, B, Sim) ->
    latency(A, B, Sim) + latency(B, A, Sim).

-spec nodes(t()) -> partisan_sim_nodes:t().
nodes(#sim{nodes = Nodes}) ->
    Nodes.

-spec routes(t()) -> partisan_sim_routes:t().
routes(#sim{routes = Routes}) ->
    Routes.

-spec monitor(t()) -> partisan_sim_monitor:t().
monitor(#sim{monitor = Monitor}) ->
    Monitor.

%% @doc Has a function see every event from now on.
-spec watch(partisan_sim_monitor:watcher(), Acc :: term(), t()) -> t().
watch(Watcher, Acc, #sim{monitor = Monitor} = Sim) ->
    Sim#sim{monitor = partisan_sim_monitor:watch(Watcher, Acc, Monitor)}.

%% Internals: time.

schedule(Delay, Index, Event, #sim{events = Events, nodes = Nodes} = Sim) ->
    Entry = {Index, partisan_sim_nodes:life(Index, Nodes), Event},
    Sim#sim{events = partisan_sim_events:schedule(Delay, Entry, Events)}.

%% An event for a former life of a node dies with it, but for a message, which its successor gets;
%% where there is none, it is answered as a closed socket would.
occur({Index, Life, Event}, #sim{nodes = Nodes} = Sim) ->
    IsTaken =
        partisan_sim_nodes:is_alive(Index, Nodes) andalso
            (element(1, Event) =:= message orelse partisan_sim_nodes:life(Index, Nodes) =:= Life),
    case IsTaken of
        true -> deliver(Event, Index, Sim);
        false -> undeliverable(Event, Index, Sim)
    end.

deliver({timer, Name, Serial}, Index, #sim{nodes = Nodes} = Sim) ->
    case partisan_sim_nodes:is_running(Index, Name, Serial, Nodes) of
        true -> step(Index, {timer, Name}, Sim);
        false -> Sim
    end;
deliver({dialled, To}, Index, #sim{network = Network, nodes = Nodes} = Sim) ->
    case partisan_sim_network:is_pinned(Index, To, Network) andalso reachable(Index, To, Sim) of
        true -> step(Index, {peer_up, partisan_sim_nodes:peer(To, Nodes)}, Sim);
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
    case reachable(Index, index(From), Sim) orelse not partisan_sim_network:is_cut(Network) of
        true -> step(Index, {message, From, Msg}, Sim);
        false -> undeliverable({message, From, Msg}, Index, Sim)
    end.

undeliverable({message, From, _Msg}, Index, #sim{options = #{detection := Detection}} = Sim0) ->
    Sender = index(From),
    Sim = count(lost, Sim0),
    case Detection =/= infinity andalso partisan_sim_nodes:is_alive(Sender, Sim#sim.nodes) of
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
    {Number, Monitor} = partisan_sim_monitor:sent(Sim0#sim.monitor),
    Sim = Sim0#sim{monitor = Monitor},
    case partisan_sim_network:vanishes(Number, Network) of
        true ->
            count(lost, Sim);
        false ->
            Self = partisan_sim_nodes:peer(Index, Nodes),
            schedule(latency(Index, To, Sim), To, {message, Self, Msg}, Sim)
    end;
effect({measure, Peer}, Index, Sim) ->
    To = index(Peer),
    schedule(round_trip(Index, To, Sim), Index, {measured, To}, Sim);
effect({connect, #{incarnation := Life} = Peer}, Index, #sim{network = Network0} = Sim) ->
    To = index(Peer),
    case partisan_sim_network:pin(Index, To, Life, Network0) of
        known ->
            Sim;
        {pinned, Network} ->
            Delay = 2 * latency(Index, To, Sim),
            schedule(Delay, Index, {dialled, To}, Sim#sim{network = Network})
    end;
effect({disconnect, Name}, Index, Sim) ->
    unpin(Index, index(Name), Sim);
effect({start_timer, Name, Delay}, Index, #sim{nodes = Before} = Sim) ->
    {Serial, Nodes} = partisan_sim_nodes:start_timer(Index, Name, Before),
    schedule(Delay, Index, {timer, Name, Serial}, Sim#sim{nodes = Nodes});
effect({deliver, Payload}, Index, #sim{nodes = Nodes, monitor = Monitor} = Sim) ->
    Where = {Index, partisan_sim_nodes:life(Index, Nodes)},
    Sim#sim{monitor = partisan_sim_monitor:delivered(Payload, Where, Monitor)};
effect({route, Name, Via}, Index, #sim{routes = Routes} = Sim) ->
    Sim#sim{routes = partisan_sim_routes:learn(Index, index(Name), index(Via), Routes)};
effect({no_route, Name}, Index, #sim{routes = Routes} = Sim) ->
    Sim#sim{routes = partisan_sim_routes:forget(Index, index(Name), Routes)};
effect(dissolved, _Index, Sim) ->
    count(dissolved, Sim);
effect({count, What}, _Index, Sim) ->
    count(What, Sim);
effect({neighbour_up, _}, _Index, Sim) ->
    count(neighbour_up, Sim);
effect({neighbour_down, _}, _Index, Sim) ->
    count(neighbour_down, Sim).

lose(_Index, _To, #sim{options = #{detection := infinity}} = Sim) ->
    Sim;
lose(Index, To, #sim{options = #{detection := Detection}} = Sim) ->
    schedule(Detection, Index, {lost, To}, Sim).

lost_if_pinned(Index, To, #sim{network = Network} = Sim) ->
    case partisan_sim_network:is_pinned(Index, To, Network) of
        true -> lost(Index, To, Sim);
        false -> Sim
    end.

lost(Index, To, Sim) ->
    step(Index, {peer_down, name(To), unreachable}, unpin(Index, To, Sim)).

unpin(Index, To, #sim{network = Network} = Sim) ->
    Sim#sim{network = partisan_sim_network:unpin(Index, To, Network)}.

%% Internals: the network.

reachable(From, To, #sim{nodes = Nodes, network = Network}) ->
    partisan_sim_nodes:is_alive(To, Nodes) andalso
        partisan_sim_network:same_side(From, To, Network).

latency(From, To, #sim{network = Network}) ->
    partisan_sim_network:latency(From, To, Network).

count(What, #sim{monitor = Monitor} = Sim) ->
    Sim#sim{monitor = partisan_sim_monitor:count(What, Monitor)}.

overlay(Index, {Kind, Parameters}) when is_function(Parameters) ->
    {Kind, Parameters(Index)};
overlay(_Index, Overlay) ->
    Overlay.

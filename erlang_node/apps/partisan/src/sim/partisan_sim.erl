%%% @doc A discrete-event simulator: thousands of protocol stacks in one process and virtual time.
%%%
%%% It interprets the effects of {@link partisan_stack} as `partisan_manager' does, with a network
%%% of its own making ({@link partisan_sim_network}): dead and cut-off nodes refuse; the loss of a
%%% node is noticed by those who pinned a link to it. On request it is a network of datagrams
%%% instead, which loses messages and tells nobody. Two runs with the same seed are the same run,
%%% and since a simulation is a value, one that has been warmed up can be continued in many ways.
%%%
%%% Nodes are numbered ({@link partisan_sim_peer}). Time is in whole milliseconds, which lets the
%%% event queue be one list per millisecond.
-module(partisan_sim).

-export([new/1]).
-export([set/2]).
-export([run/2]).
-export([now/1]).
-export([nodes/1]).
-export([stack/2]).
-export([start/2]).
-export([join/3]).
-export([crash/2]).
-export([leave/2]).
-export([broadcast/3]).
-export([switch/3]).
-export([configure/2]).
-export([find_route/3]).
-export([route/3]).
-export([cut/2]).
-export([heal/1]).
-export([links/1]).
-export([stats/1]).
-export([delivered/1]).
-export([watch/3]).
-export([watched/1]).
-export([round_trip/3]).

-import(partisan_sim_peer, [index/1, name/1]).

-type index() :: partisan_sim_peer:index().
-type milliseconds() :: non_neg_integer().

-type options() :: #{
    seed := integer(),
    % The parameters of all nodes, or of each.
    overlay := {partisan_kinds:kind(), map() | fun((index()) -> map())},
    % How many of the nodes are seeds: numbers 1 to this.
    seeds => non_neg_integer(),
    % One-way latency in milliseconds: drawn per ordered pair from a range, or growing over that
    % range with the distance of nodes that are spread over a square.
    latency => partisan_sim_network:latency(),
    % How long until a lost node is noticed by those linked to it. With `infinity' nobody is told
    % of anything, neither of lost nodes nor of messages that did not arrive.
    detection => pos_integer() | infinity,
    % The share of messages that vanish on their way.
    loss => float(),
    stack => map()
}.

%% What is noted of an event and what a node made of it; an arrival as `{deliver, _}', for example.
-type watcher() :: fun(
    (index(), partisan_stack:event(), [partisan_stack:effect()], Acc :: term()) -> Acc :: term()
).

%% How often a broadcast arrived at each life of each node.
-type arrivals() :: #{{index(), partisan_peer:incarnation()} => pos_integer()}.

-export_type([index/0, options/0, watcher/0, arrivals/0]).

-record(node, {
    stack :: partisan_stack:t(),
    peer :: partisan_peer:t(),
    % The newest start of each timer; an event of an older start is stale.
    timers = #{} :: #{term() => pos_integer()}
}).

-record(sim, {
    options :: options(),
    now = 0 :: milliseconds(),
    nodes = #{} :: #{index() => #node{}},
    lives = #{} :: #{index() => partisan_peer:incarnation()},
    queue = #{} :: #{milliseconds() => [{index(), partisan_peer:incarnation(), tuple()}]},
    network :: partisan_sim_network:t(),
    serial = 0 :: non_neg_integer(),
    % The two that nearly everything counts, and the others.
    events = 0 :: non_neg_integer(),
    sent = 0 :: non_neg_integer(),
    stats = #{} :: #{term() => non_neg_integer()},
    delivered = #{} :: #{Payload :: term() => arrivals()},
    watcher = none :: none | {watcher(), term()},
    routes = #{} :: #{{At :: index(), To :: index()} => Via :: index()}
}).

-opaque t() :: #sim{}.
-export_type([t/0]).

%% API.

-spec new(options()) -> t().
new(Options) ->
    Defaults = #{seeds => 3, latency => {1, 20}, detection => 50, loss => 0.0, stack => #{}},
    Merged = maps:merge(Defaults, Options),
    #sim{options = Merged, network = partisan_sim_network:new(Merged)}.

%% @doc Changes options; those of the stack hold for nodes that start from now on.
-spec set(map(), t()) -> t().
set(Changes, #sim{options = Options0, network = Network} = Sim) ->
    Options = maps:merge(Options0, Changes),
    Sim#sim{options = Options, network = partisan_sim_network:set(Options, Network)}.

%% @doc Starts a node, or a new life of a stopped one.
-spec start(index(), t()) -> t().
start(Index, #sim{lives = Lives, options = Options} = Sim) ->
    Life = maps:get(Index, Lives, 0) + 1,
    Peer = partisan_sim_peer:new(Index, Life),
    {Stack, Effects} = partisan_stack:init((maps:get(stack, Options))#{
        self => Peer,
        seed => {maps:get(seed, Options), Index, Life},
        overlay => overlay(Index, maps:get(overlay, Options)),
        seeds => [partisan_sim_peer:new(I, 0) || I <- lists:seq(1, maps:get(seeds, Options))]
    }),
    Node = #node{stack = Stack, peer = Peer},
    interpret(Index, Effects, Sim#sim{
        nodes = (Sim#sim.nodes)#{Index => Node},
        lives = Lives#{Index => Life}
    }).

%% @doc Tells a node of a contact other than its seeds.
-spec join(index(), Contact :: index(), t()) -> t().
join(Index, Contact, Sim) ->
    step(Index, {join, partisan_sim_peer:new(Contact, 0)}, Sim).

%% @doc Stops nodes at once and without a word.
-spec crash([index()], t()) -> t().
crash(Indices, Sim) ->
    lists:foldl(fun stop/2, Sim, Indices).

%% @doc A node leaves as it does on SIGTERM: it says so, then it is gone.
-spec leave(index(), t()) -> t().
leave(Index, Sim) ->
    stop(Index, step(Index, leave, Sim)).

-spec broadcast(index(), Payload :: term(), t()) -> t().
broadcast(Index, Payload, Sim) ->
    step(Index, {broadcast, Payload}, Sim).

%% @doc Lets a node move to another overlay.
-spec switch(index(), partisan_overlays:spec(), t()) -> t().
switch(Index, Spec, Sim) ->
    step(Index, {reconfigure, #{overlay => Spec}}, Sim).

%% @doc The overlay of the nodes that start from now on.
-spec configure(partisan_overlays:spec(), t()) -> t().
configure(Spec, #sim{options = Options} = Sim) ->
    Sim#sim{options = Options#{overlay := Spec}}.

%% @doc Lets a node look for another.
-spec find_route(From :: index(), To :: index(), t()) -> t().
find_route(From, To, Sim) ->
    step(From, {find_route, name(To)}, Sim).

%% @doc The nodes that a message passes on its way, both ends included, or where it is stuck.
-spec route(From :: index(), To :: index(), t()) -> {ok | stuck, [index()]}.
route(From, To, Sim) ->
    route(From, To, [], Sim).

%% @doc Cuts the network: nodes for which the function answers differently cannot reach each other.
-spec cut(fun((index()) -> term()), t()) -> t().
cut(Side, #sim{network = Network0} = Sim0) ->
    {Broken, Network} = partisan_sim_network:cut(Side, Network0),
    Sim1 = Sim0#sim{network = Network},
    lists:foldl(fun({From, To}, Sim) -> lose(From, To, Sim) end, Sim1, Broken).

-spec heal(t()) -> t().
heal(#sim{network = Network} = Sim) ->
    Sim#sim{network = partisan_sim_network:heal(Network)}.

%% @doc Lets this many milliseconds pass.
-spec run(milliseconds(), t()) -> t().
run(Duration, #sim{now = Now} = Sim) ->
    advance(Now + Duration, Sim).

-spec now(t()) -> milliseconds().
now(#sim{now = Now}) ->
    Now.

%% @doc The living nodes.
-spec nodes(t()) -> [index()].
nodes(#sim{nodes = Nodes}) ->
    maps:keys(Nodes).

-spec stack(index(), t()) -> partisan_stack:t().
stack(Index, #sim{nodes = Nodes}) ->
    #{Index := #node{stack = Stack}} = Nodes,
    Stack.

%% @doc Who considers whom a neighbour.
-spec links(t()) -> #{index() => [index()]}.
links(#sim{nodes = Nodes}) ->
    maps:map(
        fun(_, #node{stack = Stack}) -> [index(P) || P <- partisan_stack:neighbours(Stack)] end,
        Nodes
    ).

%% @doc Counts of what happened: `sent', `lost', `events', and the stacks' own counts.
-spec stats(t()) -> #{term() => non_neg_integer()}.
stats(#sim{stats = Stats, events = Events, sent = Sent}) ->
    Stats#{events => Events, sent => Sent}.

%% @doc How often each broadcast payload arrived where.
-spec delivered(t()) -> #{Payload :: term() => arrivals()}.
delivered(#sim{delivered = Delivered}) ->
    Delivered.

%% @doc From now on has a function see every event, in place of the record of deliveries.
%%
%% That record holds every arrival of every broadcast, which is more than a long run can keep.
-spec watch(watcher(), Acc :: term(), t()) -> t().
watch(Watcher, Acc, Sim) ->
    Sim#sim{watcher = {Watcher, Acc}}.

%% @doc What the watcher has made of it all.
-spec watched(t()) -> term().
watched(#sim{watcher = {_, Acc}}) ->
    Acc.

%% @doc How long a message and its answer take.
-spec round_trip(index(), index(), t()) -> milliseconds().
round_trip(A, B, Sim) ->
    latency(A, B, Sim) + latency(B, A, Sim).

%% Internals: routes.

route(To, To, Passed, _Sim) ->
    {ok, lists:reverse([To | Passed])};
route(At, To, Passed, #sim{routes = Routes, nodes = Nodes} = Sim) ->
    Next =
        case Routes of
            #{{At, To} := Via} -> Via;
            #{} -> To
        end,
    Neighbours =
        case Nodes of
            #{At := #node{stack = Stack}} -> [index(P) || P <- partisan_stack:neighbours(Stack)];
            #{} -> []
        end,
    case lists:member(Next, Neighbours) andalso not lists:member(At, Passed) of
        true -> route(Next, To, [At | Passed], Sim);
        false -> {stuck, lists:reverse([At | Passed])}
    end.

%% Internals: time.

advance(Until, #sim{now = Now, queue = Queue0} = Sim) ->
    case maps:take(Now, Queue0) of
        {Events, Queue} ->
            Sim1 = lists:foldl(fun occur/2, Sim#sim{queue = Queue}, lists:reverse(Events)),
            % What took no time is due in the same millisecond.
            advance(Until, Sim1);
        error when Now < Until ->
            advance(Until, Sim#sim{now = Now + 1});
        error ->
            Sim
    end.

schedule(Delay, Index, Event, #sim{now = Now, queue = Queue, lives = Lives} = Sim) ->
    At = Now + Delay,
    Entry = {Index, maps:get(Index, Lives, 0), Event},
    Sim#sim{queue = Queue#{At => [Entry | maps:get(At, Queue, [])]}}.

%% An event for a former life of a node dies with it, and is answered as a closed socket would.
occur({Index, Life, Event}, #sim{nodes = Nodes, lives = Lives} = Sim) ->
    case {Nodes, Lives} of
        {#{Index := Node}, #{Index := Life}} -> deliver(Event, Index, Node, Sim);
        {#{Index := Node}, #{}} when element(1, Event) =:= message ->
            deliver(Event, Index, Node, Sim);
        _ ->
            undeliverable(Event, Index, Sim)
    end.

deliver({timer, Name, Serial}, Index, #node{timers = Timers}, Sim) ->
    case Timers of
        #{Name := Serial} -> step(Index, {timer, Name}, Sim);
        #{} -> Sim
    end;
deliver({dialled, To, Peer}, Index, _Node, #sim{network = Network} = Sim) ->
    case partisan_sim_network:is_pinned(Index, To, Network) andalso reachable(Index, To, Sim) of
        true ->
            #{To := #node{peer = Actual}} = Sim#sim.nodes,
            step(Index, {peer_up, Actual}, Sim);
        false ->
            lost_if_pinned(Index, To, maps:get(name, Peer), Sim)
    end;
deliver({lost, To}, Index, _Node, Sim) ->
    lost_if_pinned(Index, To, name(To), Sim);
deliver({failed, To}, Index, _Node, Sim) ->
    lost(Index, To, name(To), Sim);
deliver({measured, To}, Index, _Node, Sim) ->
    case reachable(Index, To, Sim) of
        true -> step(Index, {cost, name(To), 1000 * round_trip(Index, To, Sim)}, Sim);
        false -> lost(Index, To, name(To), Sim)
    end;
deliver({message, From, Msg}, Index, _Node, Sim) ->
    Network = Sim#sim.network,
    case reachable(Index, index(From), Sim) orelse not partisan_sim_network:is_cut(Network) of
        true -> step(Index, {message, From, Msg}, Sim);
        false -> undeliverable({message, From, Msg}, Index, Sim)
    end.

undeliverable({message, From, _Msg}, Index, Sim) ->
    Sender = index(From),
    #sim{options = #{detection := Detection}} = Sim1 = count(lost, Sim),
    case Sim1#sim.nodes of
        #{Sender := _} when Detection =/= infinity ->
            schedule(latency(Index, Sender, Sim1), Sender, {failed, Index}, Sim1);
        #{} ->
            Sim1
    end;
undeliverable(_Event, _Index, Sim) ->
    Sim.

%% Internals: nodes.

step(Index, Event, #sim{nodes = Nodes} = Sim) ->
    #{Index := #node{stack = Stack0} = Node} = Nodes,
    {Stack, Effects} = partisan_stack:handle(Event, Stack0),
    Changed = Nodes#{Index := Node#node{stack = Stack}},
    Sim1 = Sim#sim{nodes = Changed, events = Sim#sim.events + 1},
    interpret(Index, Effects, note(Index, Event, Effects, Sim1)).

note(_Index, _Event, _Effects, #sim{watcher = none} = Sim) ->
    Sim;
note(Index, Event, Effects, #sim{watcher = {Watcher, Acc}} = Sim) ->
    Sim#sim{watcher = {Watcher, Watcher(Index, Event, Effects, Acc)}}.

interpret(Index, Effects, Sim) ->
    lists:foldl(fun(Effect, Acc) -> effect(Effect, Index, Acc) end, Sim, Effects).

effect({send, Peer, Msg}, Index, #sim{nodes = Nodes} = Sim) ->
    #{Index := #node{peer = Self}} = Nodes,
    To = index(Peer),
    Sim1 = Sim#sim{sent = Sim#sim.sent + 1},
    case partisan_sim_network:vanishes(Sim1#sim.sent, Sim1#sim.network) of
        true -> count(lost, Sim1);
        false -> schedule(latency(Index, To, Sim1), To, {message, Self, Msg}, Sim1)
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
            schedule(Delay, Index, {dialled, To, Peer}, Sim#sim{network = Network})
    end;
effect({disconnect, Name}, Index, Sim) ->
    unpin(Index, index(Name), Sim);
effect({start_timer, Name, Delay}, Index, #sim{serial = Serial, nodes = Nodes} = Sim) ->
    #{Index := #node{timers = Timers} = Node} = Nodes,
    Sim1 = Sim#sim{
        serial = Serial + 1,
        nodes = Nodes#{Index := Node#node{timers = Timers#{Name => Serial + 1}}}
    },
    schedule(Delay, Index, {timer, Name, Serial + 1}, Sim1);
effect({deliver, _Payload}, _Index, #sim{watcher = {_, _}} = Sim) ->
    Sim;
effect({deliver, Payload}, Index, #sim{delivered = Delivered, lives = Lives} = Sim) ->
    Where = {Index, maps:get(Index, Lives)},
    At = maps:get(Payload, Delivered, #{}),
    Sim#sim{delivered = Delivered#{Payload => At#{Where => maps:get(Where, At, 0) + 1}}};
effect({route, Name, Via}, Index, #sim{routes = Routes} = Sim) ->
    Sim#sim{routes = Routes#{{Index, index(Name)} => index(Via)}};
effect({no_route, Name}, Index, #sim{routes = Routes} = Sim) ->
    Sim#sim{routes = maps:remove({Index, index(Name)}, Routes)};
effect({count, What}, _Index, Sim) ->
    count(What, Sim);
effect({neighbour_up, _}, _Index, Sim) ->
    count(neighbour_up, Sim);
effect({neighbour_down, _}, _Index, Sim) ->
    count(neighbour_down, Sim).

stop(Index, #sim{nodes = Nodes, network = Network0} = Sim0) ->
    {Losing, Network} = partisan_sim_network:remove(Index, Network0),
    Sim1 = Sim0#sim{nodes = maps:remove(Index, Nodes), network = Network},
    lists:foldl(fun(Who, Sim) -> lose(Who, Index, Sim) end, Sim1, Losing).

lose(_Index, _To, #sim{options = #{detection := infinity}} = Sim) ->
    Sim;
lose(Index, To, #sim{options = #{detection := Detection}} = Sim) ->
    schedule(Detection, Index, {lost, To}, Sim).

lost_if_pinned(Index, To, Name, #sim{network = Network} = Sim) ->
    case partisan_sim_network:is_pinned(Index, To, Network) of
        true -> lost(Index, To, Name, Sim);
        false -> Sim
    end.

lost(Index, To, Name, Sim) ->
    step(Index, {peer_down, Name, unreachable}, unpin(Index, To, Sim)).

unpin(Index, To, #sim{network = Network} = Sim) ->
    Sim#sim{network = partisan_sim_network:unpin(Index, To, Network)}.

%% Internals: the network.

reachable(From, To, #sim{nodes = Nodes, network = Network}) ->
    is_map_key(To, Nodes) andalso partisan_sim_network:same_side(From, To, Network).

latency(From, To, #sim{network = Network}) ->
    partisan_sim_network:latency(From, To, Network).

count(What, #sim{stats = Stats} = Sim) ->
    Sim#sim{stats = Stats#{What => maps:get(What, Stats, 0) + 1}}.

overlay(Index, {Kind, Parameters}) when is_function(Parameters) ->
    {Kind, Parameters(Index)};
overlay(_Index, Overlay) ->
    Overlay.

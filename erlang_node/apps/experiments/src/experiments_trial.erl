%%% @doc Measurements of the experiments of {@link experiments_papers}.
%%%
%%% A trial is a simulated cluster that has formed and run for a while. Since a simulation is a
%%% value, the same trial is crashed to different degrees, one after the other, each time from the
%%% same moment. Random choices, such as victims and origins, use the trial's own generator.
-module(experiments_trial).

-export([new/1]).
-export([sim/1]).
-export([alive/1]).
-export([run_cycles/2]).
-export([crash/2]).
-export([draw/2]).
-export([broadcasts/2]).
-export([broadcast_from/2]).
-export([reached_on_graph/2]).
-export([shape/1]).
-export([link_cost/1]).
-export([alive_graph/1]).

-type options() :: #{
    nodes := pos_integer(),
    seed := integer(),
    overlay := {partisan_overlay_registry:kind(), map() | fun((simulator:index()) -> map())},
    broadcast := map(),
    % How nodes join: all over node 1, or each over a random earlier one.
    contact := first | random,
    % Milliseconds between two joins, and per cycle of the membership protocol.
    join_gap => pos_integer(),
    cycle => pos_integer(),
    % Milliseconds allowed for a broadcast.
    broadcast_time => pos_integer(),
    % How a broadcast chooses its targets, for figures computed on the graph.
    fanout => all | pos_integer(),
    sim => map(),
    % Called now and then to report progress.
    progress => fun((string()) -> ok)
}.

-record(trial, {
    options :: options(),
    sim :: simulator:t(),
    rand :: rand:state(),
    % Number of broadcasts so far, which are also their payloads.
    sent = 0 :: non_neg_integer()
}).

-opaque t() :: #trial{}.

%% Result of one broadcast: living nodes that delivered it, hops until the last did, copies received
%% altogether and messages of every kind of the broadcast protocol.
-type outcome() :: #{
    delivered := non_neg_integer(),
    alive := pos_integer(),
    hops := non_neg_integer(),
    payloads := non_neg_integer(),
    control := non_neg_integer()
}.

-type shape() :: #{
    clustering := float(),
    path := float(),
    degree := float(),
    in_degrees := #{non_neg_integer() => pos_integer()},
    components := pos_integer()
}.

-export_type([t/0, options/0, outcome/0, shape/0]).

%% Nodes from which shortest paths are averaged; all would change the third digit.
-define(PATH_SOURCES, 100).
%% Beacons, rejoins and the like are ours; the papers' figures are measured without them.
-define(NEVER, 1000000000).

%% @doc A cluster whose nodes have joined one by one.
-spec new(options()) -> t().
new(#{nodes := Nodes, seed := Seed, overlay := Overlay, contact := Contact} = Given) ->
    Options = maps:merge(defaults(), Given),
    #{broadcast := Broadcast, sim := Sim, join_gap := Gap} = Options,
    Stack = #{broadcast => Broadcast, beacon_interval => ?NEVER},
    Empty = simulator:new(
        Sim#{
            seed => Seed,
            overlay => Overlay,
            seeds => maps:get(Contact, #{first => 1, random => 0}),
            stack => Stack
        }
    ),
    Trial = #trial{options = Options, sim = Empty, rand = rand:seed_s(exsss, {Seed, Seed, 1})},
    lists:foldl(fun(Index, T) -> join(Index, Contact, Gap, T) end, Trial, lists:seq(1, Nodes)).

join(Index, Contact, Gap, #trial{sim = Sim0, rand = Rand0, options = #{nodes := Nodes}} = T) ->
    Sim1 = simulator:start(Index, Sim0),
    {Sim2, Rand} =
        case Contact of
            random when Index > 1 ->
                {Known, R} = rand:uniform_s(Index - 1, Rand0),
                {simulator:join(Index, Known, Sim1), R};
            _ ->
                {Sim1, Rand0}
        end,
    _ = [say("~b of ~b nodes joined", [Index, Nodes], T) || Index rem max(1, Nodes div 5) =:= 0],
    T#trial{sim = simulator:run(Gap, Sim2), rand = Rand}.

%% @doc The simulated cluster.
-spec sim(t()) -> simulator:t().
sim(#trial{sim = Sim}) ->
    Sim.

%% @doc The living nodes.
-spec alive(t()) -> [simulator:index()].
alive(#trial{sim = Sim}) ->
    simulator:nodes(Sim).

%% @doc Advances by that many cycles of the membership protocol.
-spec run_cycles(non_neg_integer(), t()) -> t().
run_cycles(Cycles, Trial) ->
    lists:foldl(
        fun(Cycle, #trial{sim = Sim, options = #{cycle := Length}} = T) ->
            _ = [say("cycle ~b of ~b", [Cycle, Cycles], T) || Cycle rem 10 =:= 0],
            T#trial{sim = simulator:run(Length, Sim)}
        end,
        Trial,
        lists:seq(1, Cycles)
    ).

%% @doc Kills that many random nodes at the same moment.
-spec crash(non_neg_integer(), t()) -> t().
crash(Count, Trial) ->
    {Victims, #trial{sim = Sim} = T} = draw(Count, Trial),
    T#trial{sim = simulator:crash(Victims, Sim)}.

%% @doc Picks that many random living nodes.
-spec draw(non_neg_integer(), t()) -> {[simulator:index()], t()}.
draw(Count, #trial{rand = Rand0} = T) ->
    {Drawn, Rand} = partisan_random:sample(Count, alive(T), Rand0),
    {Drawn, T#trial{rand = Rand}}.

%% @doc Broadcasts, one after the other, each from another node; simulated message by message.
-spec broadcasts(non_neg_integer(), t()) -> {[outcome()], t()}.
broadcasts(Count, Trial) ->
    lists:mapfoldl(
        fun(_, #trial{rand = Rand0} = T) ->
            {Origin, Rand} = partisan_random:pick(alive(T), Rand0),
            broadcast_from(Origin, T#trial{rand = Rand})
        end,
        Trial,
        lists:seq(1, Count)
    ).

%% @doc One broadcast, simulated until it has had time to reach every node.
-spec broadcast_from(simulator:index(), t()) -> {outcome(), t()}.
broadcast_from(Origin, #trial{sim = Sim0, sent = Sent, options = Options} = T) ->
    Alive = length(simulator:nodes(Sim0)),
    Before = messages(Sim0),
    Watched = simulator:watch(fun delivery/4, {Sent, 0, 0}, Sim0),
    Sim1 = simulator:broadcast(Origin, Sent, Watched),
    Sim2 = simulator:run(maps:get(broadcast_time, Options), Sim1),
    {Sent, Delivered, Hops} = simulator:watched(Sim2),
    {Payloads, Control} = messages(Sim2),
    Outcome = #{
        delivered => Delivered,
        alive => Alive,
        hops => Hops,
        payloads => Payloads - element(1, Before),
        control => Control - element(2, Before)
    },
    {Outcome, T#trial{sim = Sim2, sent = Sent + 1}}.

delivery(_Index, Event, Effects, {Payload, Delivered, Hops} = Acc) ->
    case lists:member({deliver, Payload}, Effects) of
        true -> {Payload, Delivered + 1, max(Hops, simulator:hops(Event))};
        false -> Acc
    end.

messages(Sim) ->
    Stats = simulator:stats(Sim),
    Count = fun(Kind) -> maps:get({broadcast, Kind}, Stats, 0) end,
    {
        Count(gossip) + Count(duplicate),
        lists:sum([Count(Kind) || Kind <- [ihave, graft, prune]])
    }.

%% @doc The percentage of living nodes that broadcasts would reach on the present overlay, and their
%% maximum hops: computed, not simulated, for that many origins.
-spec reached_on_graph(pos_integer(), t()) -> {[float()], Hops :: non_neg_integer(), t()}.
reached_on_graph(Count, #trial{options = #{fanout := Fanout}} = Trial) ->
    Graph = simulator:links(Trial#trial.sim),
    {Shares, {T, Hops}} = lists:mapfoldl(
        fun(_, {#trial{rand = Rand0} = T0, Hops0}) ->
            {Origin, Rand1} = partisan_random:pick(maps:keys(Graph), Rand0),
            {Reached, Hops, Rand} = reach(Fanout, Origin, Graph, Rand1),
            {100 * Reached / map_size(Graph), {T0#trial{rand = Rand}, max(Hops, Hops0)}}
        end,
        {Trial, 0},
        lists:seq(1, Count)
    ),
    {Shares, Hops, T}.

reach(all, Origin, Graph, Rand) ->
    Distances = simulator_graph:distances(Origin, Graph),
    {map_size(Distances), lists:max(maps:values(Distances)), Rand};
reach(Fanout, Origin, Graph, Rand) ->
    experiments_graph:gossip(Origin, Fanout, Graph, Rand).

%% @doc The overlay as a graph.
-spec shape(t()) -> shape().
shape(#trial{rand = Rand} = Trial) ->
    Graph = alive_graph(Trial),
    {Sources, _} = partisan_random:sample(?PATH_SOURCES, maps:keys(Graph), Rand),
    Paths = [D || S <- Sources, D <- maps:values(simulator_graph:distances(S, Graph)), D > 0],
    Degrees = maps:values(experiments_graph:in_degrees(Graph)),
    #{
        clustering => experiments_graph:clustering(Graph),
        path => lists:sum(Paths) / max(1, length(Paths)),
        degree => lists:sum(Degrees) / max(1, length(Degrees)),
        in_degrees => lists:foldl(
            fun(D, Acc) -> maps:update_with(D, fun(N) -> N + 1 end, 1, Acc) end, #{}, Degrees
        ),
        components => simulator_graph:component_count(Graph)
    }.

%% @doc The mean round trip of a link, in milliseconds.
-spec link_cost(t()) -> float().
link_cost(#trial{sim = Sim} = Trial) ->
    Costs = [
        simulator:round_trip(From, To, Sim)
     || {From, Tos} <- maps:to_list(alive_graph(Trial)), To <- Tos
    ],
    lists:sum(Costs) / max(1, length(Costs)).

%% @doc The overlay's links among the living.
-spec alive_graph(t()) -> simulator_graph:graph(simulator:index()).
alive_graph(#trial{sim = Sim}) ->
    Links = simulator:links(Sim),
    maps:map(fun(_, To) -> [N || N <- To, is_map_key(N, Links)] end, Links).

say(Format, Arguments, #trial{options = #{progress := Progress}}) ->
    Progress(lists:flatten(io_lib:format(Format, Arguments))).

defaults() ->
    #{
        join_gap => 2,
        cycle => 10000,
        broadcast_time => 100,
        fanout => all,
        sim => #{latency => {1, 5}, detection => 10},
        progress => fun(_) -> ok end
    }.

%%% @doc The published experiments on the overlays and the broadcast, run in the simulator.
%%%
%%% Each experiment forms a cluster and reports cells: a figure, its overlay, the number of nodes,
%%% and the value of the varied parameter. The papers' own results are not here, but in the
%%% reporter. Parameters are those of section 5 of the HyParView paper (active view 5, passive view
%%% 30, walks of 6 and 3 hops, shuffles of 1 + 3 + 4 entries, fanout 4; Cyclon with a view of 35,
%%% shuffles of 14 and walks of 5; SCAMP with c = 4).
-module(experiments_papers).

-export([names/0]).
-export([run/2]).

-import(experiments_cells, [emit/5, say/3, mean/1]).
-import(experiments_comparison, [shape/3, view_size/3, reliability/4, healing/4, fail/3, shares/1]).

-type name() ::
    hyparview
    | one_contact
    | burst
    | plumtree
    | cyclon
    | cyclon_healing
    | cyclon_acked
    | scamp
    | xbot.

-type options() :: #{
    nodes := pos_integer(),
    seed := integer(),
    % Cycles of the membership protocol before the measurement.
    cycles := non_neg_integer(),
    % Broadcasts averaged per point; that many of them are simulated message by message.
    messages := pos_integer(),
    simulated := non_neg_integer(),
    % Cycles with failures in the broadcast experiment, and the limit of waiting for healing.
    failure_cycles := pos_integer(),
    healing_cycles := pos_integer(),
    emit := fun((experiments_cells:cell()) -> ok),
    progress := fun((string()) -> ok)
}.

-export_type([name/0, options/0]).

%% Nodes that fail in each cycle of the Plumtree paper's experiment (its section 5.4), at 10,000.
-define(FAILURES_PER_10000, 50).
%% Origins from which a tree broken by failures is tried.
-define(BROKEN_TREE_ORIGINS, 5).
%% @doc The experiments.
-spec names() -> [name()].
names() ->
    [
        hyparview,
        one_contact,
        burst,
        plumtree,
        cyclon,
        cyclon_healing,
        cyclon_acked,
        scamp,
        xbot
    ].

%% @doc Runs an experiment; cells go to `emit' as they come.
-spec run(name(), options()) -> ok.
run(hyparview, #{cycles := Cycles} = O) ->
    Trial = experiments_trial:run_cycles(Cycles, flooded_hyparview(#{contact => random}, O)),
    shape(hyparview, Trial, O),
    reliability(hyparview, failures(), Trial, O),
    healing(hyparview, [10, 50, 80, 90], Trial, O);
run(one_contact, #{cycles := Cycles} = O) ->
    Trial = experiments_trial:run_cycles(Cycles, flooded_hyparview(#{contact => first}, O)),
    shape(hyparview_one_contact, Trial, O);
%% All in the same millisecond: no node has an answer before all have asked.
run(burst, #{cycles := Cycles} = O) ->
    Formation = #{contact => first, join_gap => 0},
    Trial = experiments_trial:run_cycles(Cycles, flooded_hyparview(Formation, O)),
    shape(hyparview_burst, Trial, O);
run(plumtree, O) ->
    plumtree(O);
run(cyclon, #{cycles := Cycles} = O) ->
    Trial = experiments_trial:run_cycles(Cycles, cyclon(infinity, O)),
    shape(cyclon, Trial, O),
    _ = view_size(cyclon, Trial, O),
    reliability(cyclon, failures(), Trial, O#{simulated := 0});
run(cyclon_healing, #{cycles := Cycles} = O) ->
    Trial = experiments_trial:run_cycles(Cycles, cyclon(infinity, O)),
    healing(cyclon, [10, 50, 80, 90], Trial, O);
run(cyclon_acked, #{cycles := Cycles} = O) ->
    Trial = experiments_trial:run_cycles(Cycles, cyclon(10, O)),
    reliability(cyclon_acked, [30, 50, 70, 80], Trial, O);
run(scamp, O) ->
    scamp(O);
run(xbot, O) ->
    xbot(O).

failures() ->
    [10, 20, 30, 40, 50, 60, 70, 80, 90, 95].

%% The clusters.

hyparview() ->
    #{
        active_max => 5,
        active_min => 5,
        passive_max => 30,
        active_random_walk_length => 6,
        passive_random_walk_length => 3,
        shuffle_active => 3,
        shuffle_passive => 4,
        shuffle_interval => 10000,
        % The check of links by `keep' is ours and not part of a cycle; here every fifth.
        promotion_interval => 50000
    }.

flooded_hyparview(Formation, O) ->
    Overlay = {hyparview, hyparview()},
    new(Formation#{overlay => Overlay, broadcast => #{protocol => gossip}}, O).

cyclon(Detection, O) ->
    View = #{
        view_size => 35,
        shuffle_size => 14,
        walk_length => 5,
        shuffle_interval => 10000,
        sides => one_sided
    },
    new(
        #{
            overlay => {cyclon, View},
            broadcast => #{protocol => gossip, fanout => 4},
            fanout => 4,
            contact => first,
            sim => #{latency => {1, 5}, detection => Detection}
        },
        O
    ).

new(Options, #{nodes := Nodes, seed := Seed, progress := Progress}) ->
    experiments_trial:new(Options#{nodes => Nodes, seed => Seed, progress => Progress}).

%% Plumtree.

plumtree(#{cycles := Cycles, simulated := Simulated} = O) ->
    Trees = new(
        #{
            overlay => {hyparview, hyparview()},
            broadcast => #{ihave_timeout => 200, graft_timeout => 100},
            broadcast_time => 2000,
            contact => random,
            % As in the paper each hop takes the same time: the first payload comes by the shortest
            % path.
            sim => #{latency => {3, 3}, detection => 10}
        },
        O
    ),
    Trial = experiments_trial:run_cycles(Cycles, Trees),
    {[First | _] = Outcomes, Grown} = from_one_sender(Simulated, Trial),
    Last = lists:last(Outcomes),
    emit(relative_message_redundancy, eager, first_broadcast, redundancy(First), O),
    lists:foreach(
        fun({I, Outcome}) ->
            emit(relative_message_redundancy, plumtree, I, redundancy(Outcome), O),
            emit(last_delivery_hop, plumtree, I, maps:get(hops, Outcome), O)
        end,
        lists:zip(lists:seq(1, Simulated), Outcomes)
    ),
    #{payloads := Payloads, control := Control} = Last,
    emit(messages, eager, payloads, maps:get(payloads, First), O),
    emit(messages, plumtree, payloads, Payloads, O),
    emit(messages, plumtree, control, Control, O),
    emit(relative_message_redundancy, plumtree, steady, redundancy(Last), O),
    emit(last_delivery_hop, plumtree, one_sender, maps:get(hops, Last), O),
    {Many, _} = experiments_trial:broadcasts(Simulated, Grown),
    emit(last_delivery_hop, plumtree, many_senders, mean([H || #{hops := H} <- Many]), O),
    lists:foreach(fun(Percent) -> broken_tree(Percent, Grown, O) end, [30, 50, 60, 80]),
    steady_failures(Grown, O).

%% The first broadcast after failures, on the tree as they left it; from several origins, each time
%% from the same moment.
broken_tree(Percent, Trial, O) ->
    say("plumtree: ~b % of the nodes fail", [Percent], O),
    Failed = fail(Percent, Trial, O),
    {Origins, _} = experiments_trial:draw(?BROKEN_TREE_ORIGINS, Failed),
    Outcomes = [element(1, experiments_trial:broadcast_from(Origin, Failed)) || Origin <- Origins],
    emit(reliability, plumtree, Percent, mean(shares(Outcomes)), O).

from_one_sender(Count, Trial) ->
    lists:mapfoldl(
        fun(_, T) -> experiments_trial:broadcast_from(1, T) end, Trial, lists:seq(1, Count)
    ).

%% Some nodes fail in every cycle; one broadcast per cycle goes out right after them.
steady_failures(Trial, #{failure_cycles := Cycles, nodes := Nodes} = O) ->
    Failing = max(1, Nodes * ?FAILURES_PER_10000 div 10000),
    {Outcomes, _} = lists:mapfoldl(
        fun(Cycle, T0) ->
            _ = [say("failures: cycle ~b of ~b", [Cycle, Cycles], O) || Cycle rem 10 =:= 0],
            {[Outcome], T} = experiments_trial:broadcasts(1, experiments_trial:crash(Failing, T0)),
            {Outcome, experiments_trial:run_cycles(1, T)}
        end,
        Trial,
        lists:seq(1, Cycles)
    ),
    emit(steady_failures, plumtree, reliability, mean(shares(Outcomes)), O),
    emit(steady_failures, plumtree, least_reliability, lists:min(shares(Outcomes)), O),
    Redundancies = [redundancy(Outcome) || Outcome <- Outcomes],
    emit(steady_failures, plumtree, relative_message_redundancy, mean(Redundancies), O).

%% Copies received beyond the one that every node needs, per receiver.
redundancy(#{payloads := Payloads, delivered := Delivered}) ->
    Payloads / max(1, Delivered - 1) - 1.

%% SCAMP.

scamp(O) ->
    Trial = new(
        #{
            % The paper's simulations have no heartbeats.
            overlay => {scamp_v1, #{
                redundancy => 4, heartbeat_interval => 1000000000, sides => one_sided
            }},
            broadcast => #{protocol => gossip, fanout => 4},
            fanout => 4,
            contact => random,
            sim => #{latency => {1, 5}, detection => infinity}
        },
        O
    ),
    shape(scamp, Trial, O),
    lists:foreach(
        fun({Size, Share}) -> emit(view_size_distribution, scamp, Size, Share, O) end,
        view_size(scamp, Trial, O)
    ),
    reliability(scamp, failures(), Trial, O#{simulated := 0}).

%% X-BOT.

%% Nodes on a plane, and the mean round trip of their links: HyParView's, and X-BOT's by cycle.
xbot(#{cycles := Cycles} = O) ->
    Common = #{
        broadcast => #{protocol => gossip},
        contact => random,
        % A hop takes up to 50 ms here, so joining and broadcasting take longer, too.
        join_gap => 20,
        broadcast_time => 1000,
        sim => #{latency => {plane, 1, 50}, detection => 10}
    },
    Plain = new(Common#{overlay => {hyparview, hyparview()}}, O),
    Before = experiments_trial:run_cycles(Cycles, Plain),
    shape(hyparview_on_a_plane, Before, O),
    Optimising = new(Common#{overlay => {xbot, (hyparview())#{optimisation_interval => 10000}}}, O),
    {Costs, After} = lists:mapfoldl(
        fun(Cycle, T0) ->
            T = experiments_trial:run_cycles(1, T0),
            Cost = experiments_trial:link_cost(T),
            emit(link_cost, xbot, Cycle, Cost, O),
            _ = [say("cycle ~b: link cost ~.1f ms", [Cycle, Cost], O) || Cycle rem 10 =:= 0],
            {Cost, T}
        end,
        Optimising,
        lists:seq(1, Cycles)
    ),
    shape(xbot, After, O),
    Reference = experiments_trial:link_cost(Before),
    emit(link_cost, hyparview, Cycles, Reference, O),
    emit(link_cost_reduction, xbot, percent, 100 * (1 - lists:last(Costs) / Reference), O),
    reliability(xbot, [30, 50, 80], After, O).

%%% @doc The experiments at a size that takes seconds: the papers' claims must already show.
-module(experiments_papers_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NODES, 300).

every_experiment_reports_test_() ->
    [
        {atom_to_list(Name),
            {timeout, 600,
                ?_test(
                    begin
                        Cells = cells(Name, 60, 1),
                        ?assertNotEqual([], Cells),
                        ?assert(lists:all(fun(#{value := V}) -> is_number(V) end, Cells))
                    end
                )}}
     || Name <- experiments_papers:names()
    ].

same_seed_same_cells_test_() ->
    {timeout, 600, fun() ->
        ?assertEqual(cells(hyparview, 60, 4), cells(hyparview, 60, 4))
    end}.

hyparview_outlives_cyclon_and_scamp_test_() ->
    {timeout, 600,
        ?_test(begin
            HyParView = cells(hyparview, ?NODES, 1),
            ?assert(value(reliability, 70, HyParView) > 99),
            ?assert(value(reliability, 70, cells(cyclon, ?NODES, 1)) < 60),
            ?assert(value(reliability, 70, cells(scamp, ?NODES, 1)) < 60),
            ?assertEqual(1, value(shape, components, HyParView)),
            ?assert(value(healing, 80, HyParView) =< 4)
        end)}.

plumtree_sends_each_payload_once_test_() ->
    {timeout, 600,
        ?_test(begin
            Cells = cells(plumtree, ?NODES, 1),
            ?assert(value(relative_message_redundancy, first_broadcast, Cells) > 2),
            ?assert(value(relative_message_redundancy, steady, Cells) < 0.1),
            ?assert(value(steady_failures, reliability, Cells) > 99.9)
        end)}.

xbot_keeps_degree_and_connectivity_test_() ->
    {timeout, 600,
        ?_test(begin
            Cells = [C || #{overlay := xbot} = C <- cells(xbot, ?NODES, 1)],
            ?assert(value(link_cost_reduction, percent, Cells) > 25),
            ?assert(value(shape, mean_degree, Cells) > 4.8),
            ?assertEqual(1, value(shape, components, Cells))
        end)}.

%% Figures computed on the graph equal those of simulated messages, up to chance.
graph_and_messages_agree_test_() ->
    {timeout, 600,
        ?_test(begin
            Trial = experiments_trial:new(#{
                nodes => ?NODES,
                seed => 3,
                overlay => {cyclon, #{view_size => 12, sides => one_sided}},
                broadcast => #{protocol => gossip, fanout => 3},
                fanout => 3,
                contact => first,
                sim => #{latency => {1, 5}, detection => infinity}
            }),
            Failed = experiments_trial:crash(?NODES div 4, experiments_trial:run_cycles(5, Trial)),
            {Outcomes, _} = experiments_trial:broadcasts(60, Failed),
            {Computed, _, _} = experiments_trial:reached_on_graph(60, Failed),
            Simulated = [100 * D / A || #{delivered := D, alive := A} <- Outcomes],
            ?assert(abs(mean(Simulated) - mean(Computed)) < 5)
        end)}.

numbers_of_more_than_two_bytes_test() ->
    Sim0 = simulator:new(#{seed => 1, seeds => 0, overlay => {hyparview, #{}}}),
    Sim1 = lists:foldl(fun simulator:start/2, Sim0, [1, 65535, 65536, 1000000]),
    Join = fun(Index, Sim) -> simulator:join(Index, 1, Sim) end,
    Sim2 = simulator:run(20000, lists:foldl(Join, Sim1, [65535, 65536, 1000000])),
    ?assertEqual([65535, 65536, 1000000], lists:sort(maps:get(1, simulator:links(Sim2)))).

lost_messages_are_repaired_test() ->
    % One message in twenty is lost silently.
    Sim0 = simulator:new(#{seed => 2, overlay => {hyparview, #{}}, loss => 0.05}),
    Sim1 = simulator:run(60000, lists:foldl(fun simulator:start/2, Sim0, lists:seq(1, 50))),
    Sim2 = simulator:run(120000, simulator:broadcast(7, news, Sim1)),
    ?assertEqual(1, simulator_graph:component_count(simulator:links(Sim2))),
    ?assertEqual(50, map_size(maps:get(news, simulator:delivered(Sim2)))),
    ?assert(maps:get(lost, simulator:stats(Sim2)) > 0).

%% Helpers.

cells(Name, Nodes, Seed) ->
    experiments_test_cells:of_run(experiments_papers, Name, #{
        nodes => Nodes,
        seed => Seed,
        cycles => 20,
        messages => 100,
        simulated => 8,
        failure_cycles => 5,
        healing_cycles => 20
    }).

value(Experiment, Parameter, Cells) ->
    [Value | _] = [
        V
     || #{experiment := E, parameter := P, value := V} <- Cells, E =:= Experiment, P =:= Parameter
    ],
    Value.

mean(Values) ->
    lists:sum(Values) / length(Values).

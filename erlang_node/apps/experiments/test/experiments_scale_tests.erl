%%% @doc The experiment of growing clusters, at a size that takes a second.
-module(experiments_scale_tests).

-include_lib("eunit/include/eunit.hrl").

every_figure_is_reported_test_() ->
    {timeout, 600,
        ?_test(begin
            Cells = cells(#{}),
            ?assertEqual([scale_curves, overlays], experiments_scale:names()),
            ?assert(value(join_seconds_median, Cells) =< value(join_seconds_most, Cells)),
            ?assert(value(join_seconds_most, Cells) > 0),
            ?assert(value(whole_seconds, Cells) >= 0),
            ?assert(value(least_degree, Cells) >= 1),
            ?assert(value(mean_degree, Cells) =< value(most_degree, Cells)),
            ?assertEqual(1, value(components, Cells)),
            ?assert(value(forming_bytes_per_node, Cells) > 0),
            % A message is at least as long as the names in it.
            ?assert(value(bytes_per_node_second, Cells) > value(messages_per_node_second, Cells)),
            ?assert(value(events, Cells) > 40),
            ?assert(value(heap_bytes_per_node, Cells) > 0)
        end)}.

all_hear_every_broadcast_test_() ->
    {timeout, 600,
        ?_test(begin
            Cells = cells(#{simulated => 5}),
            ?assertEqual(100.0, value(broadcast_reach, Cells)),
            ?assert(value(broadcast_hops, Cells) >= 2),
            % No hop takes less than a millisecond.
            ?assert(1000 * value(broadcast_seconds, Cells) >= 2)
        end)}.

every_overlay_survives_the_loss_of_a_seed_test_() ->
    {timeout, 600,
        ?_test(begin
            Options = #{nodes => 30, seed => 1, cycles => 1, simulated => 1},
            Cells = experiments_test_cells:of_run(experiments_scale, overlays, Options),
            Kinds = lists:usort([Kind || #{overlay := Kind} <- Cells]),
            ?assertEqual(
                lists:usort(partisan_overlay_registry:known() -- [static]), Kinds
            ),
            [
                ?assertEqual({Kind, 100.0}, {Kind, value(Parameter, of_kind(Kind, Cells))})
             || Kind <- Kinds, Parameter <- [broadcast_reach, reach_repaired]
            ],
            [?assertEqual(4, value(killed, of_kind(Kind, Cells))) || Kind <- Kinds],
            % Three brokers, with a link to every other node.
            Brokered = of_kind(publish_subscribe, Cells),
            ?assertEqual(29, value(most_degree, Brokered)),
            ?assertEqual(3, value(least_degree, Brokered))
        end)}.

same_seed_same_figures_test_() ->
    {timeout, 600,
        ?_test(begin
            ?assertEqual(repeatable(cells(#{})), repeatable(cells(#{}))),
            ?assertNotEqual(repeatable(cells(#{})), repeatable(cells(#{seed => 2})))
        end)}.

%% Late messages of an earlier broadcast are not attributed to the latest one.
a_broadcast_is_reported_by_itself_test() ->
    Names = plan_names:new(#{cluster => <<"ads">>, replicas => 2, seeds => [<<"ads-0">>],
        zones => 1}),
    New = plan_overlay:new(#{
        names => Names, overlay => {hyparview, #{}}, seeds => [<<"ads-0">>], seed => 1,
        latency => {20, 20}, boot_gap_us => 0
    }),
    {_, Joined} = plan_overlay:step(1000, New),
    ?assert(plan_overlay:is_whole(Joined)),
    First = plan_overlay:broadcast(0, Joined),
    ?assertEqual(#{pods => 1, hops => 0}, plan_overlay:heard(First)),
    {_, Passed} = plan_overlay:step(10, First),
    Second = plan_overlay:broadcast(1, Passed),
    {_, Heard} = plan_overlay:step(15, Second),
    ?assertEqual(#{pods => 1, hops => 0}, plan_overlay:heard(Heard)),
    {_, All} = plan_overlay:step(100, Heard),
    ?assertEqual(#{pods => 2, hops => 1}, plan_overlay:heard(All)).

%% Internals.

%% Figures that do not depend on the machine.
repeatable(Cells) ->
    [
        Cell
     || #{parameter := Parameter} = Cell <- Cells,
        not lists:member(Parameter, [events_per_cpu_second, heap_bytes_per_node])
    ].

cells(Changes) ->
    Options = #{nodes => 40, seed => 1, cycles => 1, simulated => 2},
    experiments_test_cells:of_run(experiments_scale, scale_curves, maps:merge(Options, Changes)).

of_kind(Kind, Cells) ->
    [Cell || #{overlay := K} = Cell <- Cells, K =:= Kind].

value(Parameter, Cells) ->
    [Value] = [V || #{parameter := P, value := V} <- Cells, P =:= Parameter],
    Value.

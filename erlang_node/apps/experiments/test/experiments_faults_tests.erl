%%% @doc Faults injected into simulated clusters: what the overlay withstands, and the report.
-module(experiments_faults_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NODES, 100).

every_fault_ends_in_one_component_test_() ->
    [
        {atom_to_list(experiments_faults:name(Fault)),
            {timeout, 600,
                ?_test(begin
                    #{last := Last, whole := {ok, At}} = Played = play(Fault),
                    ?assert(At >= Last),
                    ?assertMatch(#{connected := {ok, _}}, Played)
                end)}}
     || Name <- experiments_churn:names(), Fault <- experiments_churn:faults(Name)
    ].

same_seed_same_play_test_() ->
    {timeout, 600,
        ?_test(begin
            Plain = fun(#{looks := Looks, trace := Trace}) ->
                {Looks, [Entry || {_, Change} = Entry <- Trace, element(1, Change) =/= cut]}
            end,
            ?assertEqual(Plain(play({kill, 30})), Plain(play({kill, 30})))
        end)}.

victims_come_back_as_other_incarnations_test_() ->
    {timeout, 600,
        ?_test(begin
            Cluster = cluster(),
            #{trace := Trace, looks := Looks} = experiments_faults:play({kill, 30}, Cluster),
            [Victims] = [V || {0, {crash, V}} <- Trace],
            ?assertEqual(30, length(lists:usort(Victims))),
            ?assertEqual(lists:sort(Victims), lists:sort([I || {_, {start, I}} <- Trace])),
            ?assertEqual(70, lists:min([Alive || #{alive := Alive} <- Looks])),
            ?assertMatch(#{alive := ?NODES, components := 1}, lists:last(Looks))
        end)}.

churn_is_spread_over_its_time_test_() ->
    {timeout, 600,
        ?_test(begin
            #{trace := Trace, over := Over} = play({churn, 10, 60000}),
            Kills = [{At, V} || {At, {crash, [V]}} <- Trace],
            ?assertEqual(10, length(lists:usort([V || {_, V} <- Kills]))),
            ?assertEqual([I * 6000 || I <- lists:seq(1, 10)], [At || {At, _} <- Kills]),
            ?assertEqual(60000, Over)
        end)}.

no_node_reaches_across_a_partition_test_() ->
    {timeout, 600,
        ?_test(begin
            #{looks := Looks, over := 30000} = play({partition, 30000}),
            During = [Look || #{at := At} = Look <- Looks, At >= 1000, At < 30000],
            ?assert(lists:all(fun(#{components := Count}) -> Count >= 2 end, During)),
            ?assert(lists:all(fun(#{reach := Reach}) -> Reach =< 50 end, During)),
            ?assertMatch(#{reach := 100.0, components := 1}, lists:last(Looks))
        end)}.

%% The trace holds every change of a link: replaying it yields the present links.
the_trace_leads_to_symmetric_links_test_() ->
    {timeout, 600,
        ?_test(begin
            Cluster = cluster(),
            #{trace := Trace} = experiments_faults:play({kill, 50}, Cluster),
            Before = maps:map(
                fun(_, To) -> lists:sort(To) end, simulator:links(experiments_faults:sim(Cluster))
            ),
            After = lists:foldl(fun replay/2, Before, Trace),
            ?assertEqual(?NODES, map_size(After)),
            ?assertEqual([], simulator_graph:one_sided(After)),
            ?assertEqual(1, simulator_graph:component_count(After))
        end)}.

replay({_, {crash, Victims}}, Links) -> maps:without(Victims, Links);
replay({_, {start, Index}}, Links) -> Links#{Index => []};
replay({_, {neighbour_up, I, N}}, Links) -> Links#{I := lists:usort([N | map_get(I, Links)])};
replay({_, {neighbour_down, I, N}}, Links) -> Links#{I := lists:delete(N, map_get(I, Links))}.

%% A message of HyParView names one or more peers, in thirty bytes or more each.
bytes_are_those_of_the_messages_test_() ->
    {timeout, 600,
        ?_test(begin
            #{looks := [First | _] = Looks} = play({partition, 30000}),
            #{sent := After, bytes := Bytes} = lists:last(Looks),
            #{sent := Before, bytes := 0} = First,
            Mean = Bytes / (After - Before),
            ?assert(Mean > 100 andalso Mean < 300),
            Counts = [B || #{bytes := B} <- Looks],
            ?assertEqual(lists:sort(Counts), Counts)
        end)}.

components_are_the_linked_nodes_test_() ->
    {timeout, 600,
        ?_test(begin
            Graph = #{1 => [2], 2 => [], 3 => [4], 4 => [9], 5 => []},
            ?assertEqual(
                [[1, 2], [3, 4], [5]],
                lists:sort([lists:sort(Nodes) || Nodes <- simulator_graph:components(Graph)])
            )
        end)}.

play(Fault) ->
    experiments_faults:play(Fault, cluster()).

cluster() ->
    experiments_faults:form(#{nodes => ?NODES, seed => 1, cycles => 3}).

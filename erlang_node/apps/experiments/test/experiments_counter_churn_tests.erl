%%% @doc The ad counter's balance after faults, at a size that takes seconds.
-module(experiments_counter_churn_tests).

-include_lib("eunit/include/eunit.hrl").

%% The experiment itself checks that all replicas are equal and exact.
every_increment_is_counted_once_or_lost_test_() ->
    [
        {atom_to_list(Name),
            {timeout, 600,
                ?_test(begin
                    Cells = cells(Name, 1),
                    Faults = lists:usort([Fault || #{overlay := Fault} <- Cells]) -- [calm],
                    ?assertEqual([churn, kill_10, kill_30, kill_50, partition], Faults),
                    [
                        ?assertEqual(
                            value(increments, Fault, Cells),
                            value(value, Fault, Cells) + value(lost, Fault, Cells)
                        )
                     || Fault <- Faults
                    ],
                    % No node dies in a partition, so nothing may be lost.
                    ?assertEqual(0, value(lost, partition, Cells)),
                    ?assert(value(frame_bytes_per_node_second, calm, Cells) > 0)
                end)}}
     || Name <- experiments_counter_churn:names()
    ].

same_seed_same_cells_test_() ->
    {timeout, 600,
        ?_assertEqual(cells(churn_counter_delta, 2), cells(churn_counter_delta, 2))}.

value(Parameter, Fault, Cells) ->
    Values = maps:from_list([{{F, P}, V} || #{overlay := F, parameter := P, value := V} <- Cells]),
    map_get({Fault, Parameter}, Values).

cells(Name, Seed) ->
    Options = #{nodes => 30, seed => Seed, cycles => 3},
    experiments_test_cells:of_run(experiments_counter_churn, Name, Options).

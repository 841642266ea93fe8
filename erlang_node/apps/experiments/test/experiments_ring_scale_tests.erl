%%% @doc The experiment of a large ring, at a size that takes a second.
-module(experiments_ring_scale_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NODES, 64).

a_ring_grows_is_rebuilt_and_shrinks_test_() ->
    {timeout, 300,
        ?_test(begin
            Figures = figures(1),
            ?assertEqual([ring_scale], experiments_ring_scale:names()),
            % Two nodes join a ring of 192 partitions, and leave it.
            ?assertMatch(
                #{
                    minimum := 4,
                    grow_moved := 4,
                    grow_replaced := 4,
                    shrink_moved := 4,
                    shrink_replaced := 4,
                    misplaced := 0,
                    kill_restarts := 1,
                    violations := 0,
                    unsettled := 0
                },
                Figures
            ),
            #{
                grow_known_seconds := Known,
                grow_settled_seconds := Settled,
                kill_rebuilt := Rebuilt,
                writes := Writes,
                reads := Reads
            } = Figures,
            ?assert(Known > 0 andalso Known =< Settled),
            ?assert(lists:member(Rebuilt, [2, 3])),
            ?assert(Writes > 200 andalso Reads > 200),
            % The same seed is the same run.
            ?assertEqual(maps:remove(heap_bytes_per_node, Figures),
                maps:remove(heap_bytes_per_node, figures(1)))
        end)}.

figures(Seed) ->
    Cells = experiments_test_cells:of_run(
        experiments_ring_scale, ring_scale, #{nodes => ?NODES, seed => Seed, cycles => 2}
    ),
    maps:from_list([{P, Value} || #{parameter := P, value := Value} <- Cells]).

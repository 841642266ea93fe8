-module(experiments_ring_tests).

-include_lib("eunit/include/eunit.hrl").

campaigns_test() ->
    Cells = experiments_test_cells:of_run(
        experiments_ring, ring_campaigns, #{nodes => 5, seed => 1, cycles => 3}
    ),
    Figures = maps:from_list([{P, Value} || #{parameter := P, value := Value} <- Cells]),
    ?assertMatch(#{campaigns := 3, violations := 0, unsettled := 0}, Figures),
    #{writes := Writes, reads := Reads} = Figures,
    ?assert(Writes > 0 andalso Reads > 0).

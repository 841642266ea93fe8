%%% @doc The published experiment in virtual time, at a size that takes less than a second.
-module(experiments_synchronization_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NODES, 24).
-define(INCREMENTS, 8).

%% The experiment itself checks that all replicas are equal and hold every node's counts; otherwise
%% it does not end.
each_mode_ends_with_the_exact_counter_test_() ->
    [
        {atom_to_list(Name),
            {timeout, 600,
                ?_test(begin
                    Cells = cells(Name),
                    ?assertEqual(?INCREMENTS, map_get(increments, Cells)),
                    ?assert(map_get(payload_bytes, Cells) > 0),
                    ?assert(map_get(frame_bytes, Cells) > map_get(payload_bytes, Cells))
                end)}}
     || Name <- experiments_synchronization:names()
    ].

cells(Name) ->
    Options = #{nodes => ?NODES, seed => 1, increments => ?INCREMENTS},
    Cells = experiments_test_cells:of_run(experiments_synchronization, Name, Options),
    maps:from_list([{Parameter, Value} || #{parameter := Parameter, value := Value} <- Cells]).

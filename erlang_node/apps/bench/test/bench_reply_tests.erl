%% Ways to answer a call: all give the same answer, and cost what their cell says.
-module(bench_reply_tests).

-include_lib("eunit/include/eunit.hrl").

-define(WAYS, [inline, spawn_state, spawn_minimal, pool, read, ets]).

every_way_answers_test_() ->
    [
        {atom_to_list(Way), fun() ->
            Figures = bench_reply:run(cell(#{way => Way, ring => Ring, work => Work})),
            #{requests := Requests, requests_per_s := Rate} = Figures,
            ?assert(Requests >= 3),
            ?assert(Rate > 0)
        end}
     || Way <- ?WAYS, {Ring, Work} <- [{six, busy}, {strings, busy}, {six, wait}]
    ].

a_closure_over_the_state_holds_all_of_it_test() ->
    #{closure_words := Empty} = bench_reply:run(cell(#{way => spawn_state, state_words => 0})),
    #{closure_words := Large} = bench_reply:run(cell(#{way => spawn_state, state_words => 1000})),
    #{closure_words := Minimal} = bench_reply:run(cell(#{way => spawn_minimal})),
    #{closure_words := None} = bench_reply:run(cell(#{way => inline})),
    ?assertEqual(1000, Large - Empty),
    ?assert(0 < Minimal andalso Minimal < Empty),
    ?assertEqual(0, None).

a_key_has_three_servers_however_often_it_is_hashed_test_() ->
    [
        {lists:concat([Kind]), fun() ->
            Ring = bench_members:ring(Kind),
            Keys = tuple_to_list(bench_members:keys(Kind)),
            ?assertEqual(10000, length(lists:usort(Keys))),
            Servers = [bench_members:servers(Key, Ring, 1) || Key <- Keys],
            ?assertEqual(Servers, [bench_members:servers(Key, Ring, 2) || Key <- Keys]),
            ?assert(lists:all(fun(Of) -> length(lists:usort(Of)) =:= 3 end, Servers)),
            Nodes = lists:usort([Node || Of <- Servers, {_, Node} <- Of]),
            ?assertEqual(6, length(Nodes))
        end}
     || Kind <- [six, strings]
    ].

the_fastest_calibration_counts_test() ->
    Measured = counters:new(1, []),
    Measure = fun() ->
        ok = counters:add(Measured, 1, 1),
        {1000, lists:nth(counters:get(Measured, 1), [90_000, 50_000, 70_000])}
    end,
    ?assertEqual(20.0, bench_busy:calibrate(Measure, 3)).

a_processor_is_calibrated_test() ->
    ?assert(bench_busy:calibrate() > 0).

the_machine_is_at_least_as_busy_as_one_of_its_processes_test() ->
    Own = bench_vm:cpu_seconds(),
    ?assert(bench_vm:machine_cpu_seconds() >= Own).

cell(Changed) ->
    maps:merge(
        #{
            way => inline,
            callers => 3,
            state_words => 100,
            ring => six,
            hashes => 1,
            work => busy,
            cost_us => 10,
            milliseconds => 1,
            iterations_per_us => 10.0
        },
        Changed
    ).

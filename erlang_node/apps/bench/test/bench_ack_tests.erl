%% Acknowledged messages: one at a time of each actor, up to a number or a time.
-module(bench_ack_tests).

-include_lib("eunit/include/eunit.hrl").

every_message_is_acknowledged_test() ->
    {Done, Received} = run(#{channel => lanes_1}),
    ?assertMatch(#{sent := 100, acknowledged := 100}, Done),
    ?assertMatch(#{messages := 100, faults := 0}, Received),
    #{started_at := StartedAt, ended_at := EndedAt} = Done,
    ?assert(EndedAt > StartedAt andalso EndedAt < StartedAt + 60_000_000_000),
    ?assertEqual([{Pair, lanes_1} || Pair <- lists:seq(1, 4)], bench_local:channels()),
    ?assertEqual(1, bench_local:most()).

actors_share_channels_evenly_test() ->
    {#{sent := 100}, _} = run(#{channels => 2}),
    Channels = [{1, single_2}, {2, single_1}, {3, single_2}, {4, single_1}],
    ?assertEqual(Channels, bench_local:channels()),
    ?assertEqual(1, bench_local:most()).

late_acknowledgements_are_awaited_and_do_not_count_test() ->
    {Done, Received} = run(#{channel => lanes_1, milliseconds => 0}),
    #{started_at := StartedAt} = Done,
    ?assertMatch(#{sent := 4, acknowledged := 0, ended_at := StartedAt}, Done),
    ?assertMatch(#{messages := 4, faults := 0}, Received),
    ?assertEqual(1, bench_local:most()).

there_are_not_enough_messages_for_all_actors_test() ->
    ?assertMatch({#{sent := 3, acknowledged := 3}, _}, run(#{channel => lanes_1, messages => 3})),
    ?assertEqual(1, bench_local:most()).

channels_may_be_set_test() ->
    Default = bench_system:channels(),
    ok = bench_system:configure([{lanes_4, 4}], hyparview),
    ?assertEqual([{lanes_4, 4}], bench_system:channels()),
    ?assertEqual(hyparview, bench_system:overlay()),
    ok = bench_system:configure(Default, full_mesh).

run(Changed) ->
    Load = #{pairs => 4, payload => 1024, messages => 100, milliseconds => 60000},
    ok = bench_local:new(),
    ok = bench_ack:receive_start(bench_local, maps:merge(Load, Changed)),
    Done = bench_ack:send(bench_local, maps:merge(Load, Changed)),
    Received = bench_traffic:received(),
    _ = bench_traffic:receive_stop(),
    {Done, Received}.

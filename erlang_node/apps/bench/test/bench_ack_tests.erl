%% Acknowledged messages: one at a time of each actor, up to a number or a time.
-module(bench_ack_tests).

-include_lib("eunit/include/eunit.hrl").

every_message_is_acknowledged_test() ->
    {Done, Received, Channels} = run(#{channel => lanes_1}),
    ?assertMatch(#{sent := 100, acknowledged := 100}, Done),
    ?assertMatch(#{messages := 100, faults := 0}, Received),
    #{started_at := StartedAt, ended_at := EndedAt} = Done,
    ?assert(EndedAt > StartedAt andalso EndedAt < StartedAt + 60_000_000_000),
    ?assertEqual([{Pair, lanes_1} || Pair <- lists:seq(1, 4)], Channels).

actors_share_channels_evenly_test() ->
    {#{sent := 100}, _, Channels} = run(#{channels => 2}),
    ?assertEqual([{1, single_2}, {2, single_1}, {3, single_2}, {4, single_1}], Channels).

each_actor_sends_if_there_are_enough_messages_test() ->
    {#{sent := 4}, _, Channels} = run(#{channel => lanes_1, messages => 4}),
    ?assertEqual([{Pair, lanes_1} || Pair <- lists:seq(1, 4)], Channels).

late_acknowledgements_are_awaited_and_do_not_count_test() ->
    {Done, Received, _} = run(#{channel => lanes_1, milliseconds => 0}),
    #{started_at := StartedAt} = Done,
    ?assertMatch(#{sent := 4, acknowledged := 0, ended_at := StartedAt}, Done),
    ?assertMatch(#{messages := 4, faults := 0}, Received).

there_are_not_enough_messages_for_all_actors_test() ->
    {Done, _, _} = run(#{channel => lanes_1, messages => 3}),
    ?assertMatch(#{sent := 3, acknowledged := 3}, Done).

channels_may_be_set_test() ->
    Default = bench_system:channels(),
    ok = bench_system:configure([{lanes_4, 4}], hyparview),
    ?assertEqual([{lanes_4, 4}], bench_system:channels()),
    ?assertEqual(hyparview, bench_system:overlay()),
    ok = bench_system:configure(Default, full_mesh).

%% What was sent and received, and the channels of all actors. None has two messages on their way.
run(Changed) ->
    Load = maps:merge(
        #{pairs => 4, payload => 1024, messages => 100, milliseconds => 60000}, Changed
    ),
    ok = bench_local:new(),
    try
        ok = bench_ack:receive_start(bench_local, Load),
        Done = bench_ack:send(bench_local, Load),
        Received = bench_traffic:received(),
        _ = bench_traffic:receive_stop(),
        ?assertEqual(1, bench_local:most()),
        {Done, Received, bench_local:channels()}
    after
        ok = bench_local:delete()
    end.

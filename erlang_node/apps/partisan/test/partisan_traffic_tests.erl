-module(partisan_traffic_tests).

-include_lib("eunit/include/eunit.hrl").

by_peer_test_() ->
    Setup = fun() ->
        partisan_test_channels:setup([#{name => bulk, parallelism => 2}, #{name => gossip}])
    end,
    {foreach, Setup, fun partisan_test_channels:cleanup/1, [
        fun lanes_of_a_channel_are_summed/0,
        fun the_busiest_peers_are_shown_and_the_others_summed/0,
        fun what_waits_or_was_dropped_is_the_lanes_own/0
    ]}.

lanes_of_a_channel_are_summed() ->
    Lanes = [
        lane(a, bulk, 0, {1, 10}),
        lane(a, bulk, 1, {2, 20}),
        lane(a, gossip, 0, {4, 40}),
        lane(b, bulk, 0, {0, 0})
    ],
    ?assertEqual(
        #{
            peers => #{
                a => #{bulk => traffic(3, 30), gossip => traffic(4, 40)},
                b => #{bulk => traffic(0, 0)}
            },
            others => #{peers => 0, channels => #{}}
        },
        partisan_traffic:by_peer(Lanes, 2)
    ).

the_busiest_peers_are_shown_and_the_others_summed() ->
    Lanes = [lane(I, bulk, 0, {1, 10 * I}) || I <- lists:seq(1, 10)],
    #{peers := Peers, others := Others} = partisan_traffic:by_peer(Lanes, 3),
    ?assertEqual([8, 9, 10], lists:sort(maps:keys(Peers))),
    ?assertEqual(
        #{peers => 7, channels => #{bulk => traffic(7, 10 * lists:sum(lists:seq(1, 7)))}}, Others
    ).

what_waits_or_was_dropped_is_the_lanes_own() ->
    {_, Lane} = Added = lane(a, bulk, 0, {1, 10}),
    {ok, Bulk} = partisan_channel:find(bulk),
    Frame = {100, <<0:800>>},
    ok = partisan_lane:send(Lane, Bulk, #{
        frame => Frame, slot => s, on_busy => drop, timeout => 0
    }),
    ok = partisan_lane:dropped(Lane, Bulk, busy, 3),
    ?assertEqual(
        #{bulk => (traffic(1, 10))#{dropped := 3, queue_bytes := 100}},
        maps:get(a, maps:get(peers, partisan_traffic:by_peer([Added], 1)))
    ),
    ?assertMatch(#{dropped := 3}, partisan_channel:totals(bulk)).

%% The test owns its connection, as it were.
lane(Peer, Channel, Index, {Messages, Bytes}) ->
    {ok, Of} = partisan_channel:find(Channel),
    Lane = partisan_lane:new(Of),
    ok = partisan_lane:sent(Lane, Of, Messages, Bytes),
    {{Peer, Channel, Index}, Lane}.

traffic(Messages, Bytes) ->
    #{sent_messages => Messages, sent_bytes => Bytes, dropped => 0, queue_bytes => 0}.

-module(partisan_channel_tests).

-include_lib("eunit/include/eunit.hrl").

lanes_test_() ->
    Setup = fun() -> partisan_test_channels:setup([#{name => bulk, parallelism => 4}]) end,
    {foreach, Setup, fun partisan_test_channels:cleanup/1, [
        fun a_key_has_one_of_the_lanes/0,
        fun another_number_means_other_lanes/0,
        fun numbers_come_round/0,
        fun streams_stay/0,
        fun every_drop_is_in_the_total/0
    ]}.

bounds_test_() ->
    Channels = [
        #{name => bulk},
        #{name => wide, parallelism => 4},
        #{name => widest, parallelism => 64},
        #{name => narrow, parallelism => 4, queue_bytes => 1000, acknowledged => true}
    ],
    {setup, fun() -> partisan_test_channels:setup(Channels) end,
        fun partisan_test_channels:cleanup/1, [
            fun a_channel_has_what_it_asks_for/0,
            fun lanes_share_what_is_not_asked_for/0
        ]}.

a_channel_has_what_it_asks_for() ->
    {ok, Bulk} = partisan_channel:find(bulk),
    {ok, Narrow} = partisan_channel:find(narrow),
    ?assertEqual(partisan_config:get(lane_queue_bytes), partisan_channel:queue_limit(Bulk)),
    ?assertEqual(1000, partisan_channel:queue_limit(Narrow)),
    ?assertEqual(500, partisan_channel:unacknowledged_limit(Narrow)),
    ?assertNot(partisan_channel:is_acknowledged(Bulk)),
    ?assert(partisan_channel:is_acknowledged(Narrow)),
    ?assertEqual(1000, proplists:get_value([narrow], partisan_channel_stats:queue_limit())),
    ?assertEqual(6, length(partisan_channel_stats:queue_limit())).

%% Down to a mebibyte each.
lanes_share_what_is_not_asked_for() ->
    Default = partisan_config:get(lane_queue_bytes),
    {ok, Wide} = partisan_channel:find(wide),
    {ok, Widest} = partisan_channel:find(widest),
    ?assertEqual(Default div 4, partisan_channel:queue_limit(Wide)),
    ?assertEqual(1 bsl 20, partisan_channel:queue_limit(Widest)),
    ?assertEqual(Default div 2, partisan_channel:unacknowledged_limit(Widest)),
    ?assert(partisan_channel:set_parallelism(wide, 2)),
    {ok, Narrower} = partisan_channel:find(wide),
    ?assertEqual(Default div 2, partisan_channel:queue_limit(Narrower)).

a_key_has_one_of_the_lanes() ->
    ?assertEqual([0, 1, 2, 3], lanes()).

another_number_means_other_lanes() ->
    {ok, Previous} = partisan_channel:find(bulk),
    ?assertNot(partisan_channel:set_parallelism(bulk, 4)),
    ?assert(partisan_channel:set_parallelism(bulk, 1)),
    ?assertEqual([4], lanes()),
    ?assert(partisan_channel:set_parallelism(bulk, 3)),
    ?assertEqual([5, 6, 7], lanes()),
    {ok, Channel} = partisan_channel:find(<<"bulk">>),
    ?assertEqual([5, 6, 7], [L || L <- lists:seq(0, 9), partisan_channel:has_lane(Channel, L)]),
    % A sender with the previous channel uses lanes that are gone, never one of another key.
    ?assertNot(partisan_channel:has_lane(Channel, partisan_channel:lane(Previous, key))).

numbers_come_round() ->
    Lanes = [
        begin
            true = partisan_channel:set_parallelism(bulk, 1023 + N rem 2),
            {ok, Channel} = partisan_channel:find(bulk),
            partisan_channel:lane(Channel, N)
        end
     || N <- lists:seq(1, 200)
    ],
    ?assert(lists:all(fun(Lane) -> Lane >= 0 andalso Lane < 65536 end, Lanes)).

streams_stay() ->
    Streams = fun() ->
        {ok, Channel} = partisan_channel:find(bulk),
        [partisan_channel:stream(Channel, Key) || Key <- lists:seq(1, 50)]
    end,
    Before = Streams(),
    true = partisan_channel:set_parallelism(bulk, 2),
    ?assertEqual(Before, Streams()),
    {ok, Channel} = partisan_channel:find(bulk),
    Used = [partisan_channel:lane(Channel, partisan_channel:lane_key(S)) || S <- Before],
    ?assertEqual(lanes(), lists:usort(Used)).

every_drop_is_in_the_total() ->
    {ok, Channel} = partisan_channel:find(bulk),
    Name = partisan_channel_dropped_messages_total,
    [Samples] = [S || #{name := N, samples := S} <- partisan_metrics:collect(), N =:= Name],
    Reasons = [Reason || {[{channel, bulk}, {reason, Reason}], 0} <- Samples],
    ?assert(lists:member(busy, Reasons)),
    [ok = partisan_channel:dropped(Channel, Reason) || Reason <- Reasons],
    ?assertEqual(length(Reasons), maps:get(dropped, partisan_channel:totals(bulk))),
    ?assertError({badmatch, _}, partisan_channel:dropped(Channel, nonsense)).

lanes() ->
    {ok, Channel} = partisan_channel:find(bulk),
    lists:usort([partisan_channel:lane(Channel, Key) || Key <- lists:seq(1, 200)]).

-module(partisan_config_tests).

-include_lib("eunit/include/eunit.hrl").

valid() ->
    #{
        name => <<"ads-0">>,
        cluster => <<"ads">>,
        token => <<"0123456789abcdef">>,
        host => {127, 0, 0, 1},
        overlay => {full_mesh, #{}},
        seeds => [partisan_peer:new(<<"ads-0">>, "ads-0.ads", 7946)],
        channels => [#{name => gossip, monotonic => true}]
    }.

defaults_are_filled_in_test() ->
    ok = partisan_config:set(valid()),
    ?assertEqual(<<"ads-0">>, partisan_config:get(name)),
    ?assertEqual(7946, partisan_config:get(listen_port)),
    ?assertEqual(
        [
            #{name => overlay, parallelism => 1, monotonic => false, acknowledged => false},
            #{name => default, parallelism => 1, monotonic => false, acknowledged => false},
            #{name => gossip, parallelism => 1, monotonic => true, acknowledged => false}
        ],
        partisan_config:get(channels)
    ).

a_given_default_channel_stays_test() ->
    ok = partisan_config:set((valid())#{channels => [#{name => default, parallelism => 4}]}),
    ?assertMatch(
        [#{name := overlay}, #{name := default, parallelism := 4}], partisan_config:get(channels)
    ).

a_later_start_has_a_larger_incarnation_test() ->
    ok = partisan_config:set(valid()),
    First = partisan_config:get(incarnation),
    ok = partisan_config:set(valid()),
    ?assert(partisan_config:get(incarnation) >= First).

missing_fields_are_named_test_() ->
    [
        ?_assertEqual(match, mentions(Field, partisan_config:set(maps:remove(Field, valid()))))
     || Field <- [name, cluster, token, host, overlay, seeds]
    ].

wrong_fields_are_named_test_() ->
    [
        {lists:flatten(io_lib:format("~0p => ~0p", [Field, Value])),
            ?_assertEqual(match, mentions(Field, partisan_config:set((valid())#{Field => Value})))}
     || {Field, Value} <- [
            {name, ads},
            {name, <<>>},
            {name, binary:copy(<<"n">>, 256)},
            {token, <<"short">>},
            {host, {1, 2, 3}},
            {host, ""},
            {overlay, {no_such_overlay, #{}}},
            {overlay, {client_server, #{}}},
            {overlay, {publish_subscribe, #{brokers => [<<"a">>], replication => 2}}},
            {overlay, {publish_subscribe, #{brokers => [<<"a">>], greeting_interval => soon}}},
            {overlay, {hyparview, #{active_max => -1}}},
            {overlay, {scamp_v2, #{lease => long}}},
            {seeds, [ads]},
            {seeds, [partisan_peer:new(<<"ads-0">>, "ads-0.ads", 7946) | none]},
            {reachable, [ads | none]},
            {unreachable, [ads | none]},
            {remote_execution, [lists | none]},
            {channels, [#{name => a} | none]},
            {listen_port, 65536},
            {listen_ip, "127.0.0.1"},
            {heartbeat_interval, 0},
            {handshakes, many},
            {replicas, 0},
            {discovery, #{dns => "ads.example"}},
            {channels, gossip},
            {channels, [gossip]},
            {channels, [#{name => overlay}]},
            {channels, [#{name => a}, #{name => a}]},
            {channels, [#{name => a, parallelism => 0}]},
            {channels, [#{name => a, monotonic => yes}]},
            {channels, [#{name => a, acknowledged => 1}]},
            {channels, [#{name => a, acknowledged => true, monotonic => true}]},
            {channels, [#{name => a, queue_bytes => 0}]},
            {channels, [#{name => a, lanes => 2}]},
            {channels, [#{name => a, egress_delay => -1}]},
            {channels, [#{name => a, ingress_delay => 60001}]},
            {broadcast_handlers, [lists]},
            {broadcast_exchange_interval, 0},
            {colour, blue}
        ]
    ].

usable_overlays_test_() ->
    [
        ?_assertEqual(ok, partisan_config:set((valid())#{overlay => Overlay}))
     || Overlay <- [{scamp_v1, #{}}, {scamp_v2, #{lease => infinity}}, {hyparview, #{scan => x}}]
    ].

no_map_test() ->
    ?assertMatch({error, _}, partisan_config:set([])).

a_token_is_never_shown_test() ->
    {error, Text} = partisan_config:set((valid())#{token => <<"secret">>}),
    ?assertEqual(nomatch, re:run(Text, "secret", [{capture, none}])).

a_refused_configuration_changes_nothing_test() ->
    ok = partisan_config:set(valid()),
    {error, _} = partisan_config:set((valid())#{name => an_atom}),
    ?assertEqual(<<"ads-0">>, partisan_config:get(name)).

mentions(Field, {error, Text}) ->
    re:run(Text, atom_to_list(Field), [{capture, none}]).

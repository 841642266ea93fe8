%%% @doc Planned clusters of a few nodes: they finish, and the report is right.
-module(plan_tests).

-include_lib("eunit/include/eunit.hrl").

%% A run ends only when the replicas are equal.
each_way_to_synchronise_test_() ->
    [
        {atom_to_list(Mode),
            {timeout, 600,
                ?_test(begin
                    {ok, #{moments := Moments, run := Run}} = run(#{mode => Mode}),
                    #{value := Value, threshold := 160, running_seconds := Seconds} = Run,
                    ?assert(Value >= 160),
                    % Every second each of eight nodes counts one of 160.
                    ?assert(Seconds > 18 andalso Seconds < 40),
                    #{started := Started, counted := Counted, finished := Finished} = Moments,
                    ?assert(at(Started) < at(Counted) andalso at(Counted) =< at(Finished)),
                    ?assert(payload(Started) < payload(Counted)),
                    % Whole values may be replaced by newer ones; parts may not.
                    #{channels := Channels} = Finished,
                    ?assertEqual(channels(Mode), lists:sort(maps:keys(Channels)))
                end)}}
     || Mode <- lasp_sync:modes()
    ].

each_overlay_test_() ->
    [
        {atom_to_list(Kind),
            {timeout, 600,
                ?_test(begin
                    {ok, Result} = run(#{overlay => Overlay}),
                    #{degree_mean := Mean, join_seconds_most := Most, nodes := 8} = Result,
                    ?assert(Mean > 0 andalso Mean =< 7),
                    ?assert(Most < 10)
                end)}}
     || {Kind, _} = Overlay <- [
            {full_mesh, #{}},
            {client_server, #{servers => [<<"ads-0">>, <<"ads-1">>]}},
            {publish_subscribe, #{brokers => [<<"ads-0">>, <<"ads-1">>]}},
            {hyparview, hyparview()},
            {xbot, (hyparview())#{optimisation_interval => 1000, scan => 2, unbiased => 1}},
            {cyclon, #{view_size => 4, shuffle_size => 2, shuffle_interval => 1000,
                walk_length => 3}},
            {scamp_v1, #{redundancy => 2, heartbeat_interval => 5000}},
            {scamp_v2, scamp()},
            {hiscamp, (scamp())#{representatives => 2}},
            {static, #{edges => [{I, (I + 1) rem 8} || I <- lists:seq(0, 7)]}}
        ]
    ].

a_full_mesh_has_all_links_test() ->
    {ok, Result} = run(#{overlay => {full_mesh, #{}}, workload => none}),
    ?assertMatch(#{degree_mean := 7.0, degree_least := 7, degree_most := 7}, Result).

without_a_workload_test() ->
    {ok, #{moments := #{whole := Whole, rested := Rested} = Moments} = Result} =
        run(#{workload => none}),
    ?assertEqual(2, map_size(Moments)),
    ?assertNot(is_map_key(run, Result)),
    ?assertEqual(0, payload(Rested)),
    ?assert(at(Rested) - at(Whole) >= 60).

same_seed_same_result_test_() ->
    {timeout, 600,
        ?_test(begin
            ?assertEqual(run(#{}), run(#{})),
            ?assertNotEqual(run(#{}), run(#{seed => 2}))
        end)}.

the_moment_when_it_is_warm_test() ->
    {ok, #{moments := #{started := Started, warm := Warm, counted := Counted}}} =
        run(#{warm_ms => 5000}),
    ?assert(at(Warm) - at(Started) >= 5),
    ?assert(payload(Started) =< payload(Warm) andalso payload(Warm) =< payload(Counted)).

nodes_start_one_after_the_other_test() ->
    {ok, #{moments := #{whole := Slow}}} = run(#{boot_gap_us => 500000, workload => none}),
    {ok, #{moments := #{whole := Fast}}} = run(#{boot_gap_us => 0, workload => none}),
    ?assert(at(Slow) >= 3.5),
    ?assert(at(Fast) < at(Slow)).

beacons_have_the_interval_of_the_cluster_test() ->
    Sent = fun(Changes) ->
        {ok, #{moments := #{rested := #{channels := #{overlay := Traffic}}}}} =
            run(Changes#{workload => none}),
        map_get(messages, Traffic)
    end,
    ?assert(Sent(#{heartbeat_interval => 20000}) < Sent(#{})).

one_node_is_a_cluster_test() ->
    {ok, #{degree_most := 0, run := #{value := 20}}} = run(#{replicas => 1, impressions => 20}).

an_unsupported_configuration_is_reported_test() ->
    {error, Text} = run(#{overlay => {my_own_overlay, #{}}}),
    ?assertEqual("overlay: my_own_overlay is no kind that can be simulated", Text).

a_partitioned_overlay_is_given_up_test() ->
    Edges = [{0, 1}, {2, 3}],
    {error, Text} = run(#{replicas => 4, overlay => {static, #{edges => Edges}}, limit_ms => 2000}),
    ?assertEqual("the overlay is not one component 2 s after the last node has started", Text).

%% Bytes are those of pods, not of simulated nodes.
messages_name_pods_test() ->
    Names = plan_names:new(#{
        cluster => <<"ads">>, replicas => 300, seeds => [<<"ads-100">>, <<"ads-s1-260">>],
        zones => 1
    }),
    ?assertEqual(1, plan_names:index(100, Names)),
    ?assertEqual(2, plan_names:index(260, Names)),
    ?assertEqual(3, plan_names:index(0, Names)),
    Hint = simulator_peer:new(2, 0),
    Peer = simulator_peer:new(3, 1),
    {join, [RealHint, RealPeer], #{<<"ads-0">> := 7}} =
        simulator_wire:real({join, [Hint, Peer], #{<<"n3">> => 7}}, plan_names:wire(Names)),
    ?assertEqual(
        partisan_peer:new(<<"ads-s1-260">>, "ads-s1-260.ads-s1", 7946), RealHint
    ),
    #{name := <<"ads-0">>, host := {10, _, _, _}, port := 7946} = RealPeer,
    #{incarnation := Incarnation} = RealPeer,
    ?assert(Incarnation > 1 bsl 48).

%% Internals.

channels(state) -> [gossip, overlay];
channels(_) -> [default, gossip, overlay].

at(#{at_seconds := At}) -> At.

payload(#{payload_bytes := Bytes}) -> Bytes.

run(Changes) ->
    {ok, Outline} = node_config:outline(iolist_to_binary(io_lib:format("~0p.", [config(Changes)]))),
    Defaults = #{
        seed => 1,
        latency => {1, 2},
        boot_gap_us => 100000,
        zones => 2,
        warm_ms => 0,
        limit_ms => 60000,
        progress => fun(_) -> ok end
    },
    plan_run:run(Outline, maps:merge(Defaults, maps:with(maps:keys(Defaults), Changes))).

config(Changes) ->
    Replicas = maps:get(replicas, Changes, 8),
    Mode = maps:get(mode, Changes, delta),
    Workload = {adcounter, #{
        ads => 1,
        impressions => maps:get(impressions, Changes, 160),
        increment_interval => 1000,
        propagation_interval => 500,
        synchronization => Mode
    }},
    #{
        cluster => <<"ads">>,
        namespace => <<"default">>,
        replicas => Replicas,
        seeds => [{<<"ads-0">>, <<"ads-0.ads">>, 7946}],
        listen_port => 7946,
        http_port => 8080,
        heartbeat_interval => maps:get(heartbeat_interval, Changes, 5000),
        overlay => maps:get(overlay, Changes, {hyparview, hyparview()}),
        channels => [
            #{name => default, parallelism => 1, monotonic => false},
            #{name => gossip, parallelism => 1, monotonic => true}
        ],
        workload => maps:get(workload, Changes, Workload),
        run => <<"3f2a9c">>,
        revision => <<"9f31c2">>
    }.

hyparview() ->
    #{
        active_max => 6,
        active_min => 3,
        passive_max => 30,
        active_random_walk_length => 6,
        passive_random_walk_length => 3,
        shuffle_interval => 10000,
        promotion_interval => 5000
    }.

scamp() ->
    #{redundancy => 3, heartbeat_interval => 5000, lease => 120, indirection => 4}.

%%% @doc A configuration in upstream Partisan's form.
-module(partisan_upstream_keys_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_upstream_keys, [converted/1]).

fields_test_() ->
    [
        {Title, ?_assertEqual({ok, Expected}, converted(Given))}
     || {Title, Given, Expected} <- [
            {"nothing of upstream's", #{name => <<"a">>}, #{name => <<"a">>}},
            {"the published example",
                #{
                    affinity => enabled,
                    parallel => enabled,
                    parallel_connections => 16,
                    channels => [vnode, gossip, broadcast],
                    membership_strategy => partisan_full_membership_strategy,
                    peer_service_manager => partisan_pluggable_peer_service_manager
                },
                #{
                    overlay => {full_mesh, #{}},
                    channels => [
                        #{name => Name, parallelism => 16} || Name <- [vnode, gossip, broadcast]
                    ]
                }},
            {"parameters of HyParView",
                #{peer_service_manager => partisan_hyparview_peer_service_manager, arwl => 5},
                #{overlay => {hyparview, #{active_random_walk_length => 5}}}},
            {"an address",
                #{name => 'a@b', peer_ip => {10, 0, 0, 1}, peer_port => 9000},
                #{
                    name => <<"a@b">>,
                    host => {10, 0, 0, 1},
                    listen_ip => {10, 0, 0, 1},
                    listen_port => 9000
                }},
            {"channels of a map",
                #{
                    parallelism => 2,
                    channels => #{b => #{parallelism => 4}, a => #{monotonic => true}}
                },
                #{
                    channels => [
                        #{name => a, monotonic => true, parallelism => 2},
                        #{name => b, parallelism => 4}
                    ]
                }},
            {"delays of channels without their own",
                #{ingress_delay => 5, egress_delay => 0, channels => [a, {b, [{egress_delay, 7}]}]},
                #{
                    channels => [
                        #{name => a, ingress_delay => 5, egress_delay => 0},
                        #{name => b, ingress_delay => 5, egress_delay => 7}
                    ]
                }},
            {"broadcast handlers",
                #{
                    broadcast_mods => [partisan_plumtree_backend, partisan_test_broken],
                    exchange_tick_period => 1000
                },
                #{
                    broadcast_handlers => [partisan_test_broken],
                    broadcast_exchange_interval => 1000
                }},
            {"an overlay of one's own",
                #{membership_strategy => partisan_overlay_cyclon},
                #{overlay => {partisan_overlay_cyclon, #{}}}}
        ]
    ].

errors_test_() ->
    [
        {Pattern, ?_assertMatch({match, _}, re:run(element(2, converted(Given)), Pattern))}
     || {Given, Pattern} <- [
            {#{affinity => disabled}, "^affinity is disabled.*set enabled"},
            {#{membership_strategy => nope}, "^membership_strategy is nope.*give a module"},
            {#{peer_service_manager => client_server}, "^peer_service_manager.*#{servers => "},
            {#{membership_strategy => hyparview, overlay => {xbot, #{}}}, "both set; remove one"},
            {#{channels => 3}, "^channels is 3: give names"},
            {#{channels => [{a, [{compression, true}]}]}, "^channels: compression.*remove it"}
        ]
    ].

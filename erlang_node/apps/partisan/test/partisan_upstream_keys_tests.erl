%%% @doc A configuration in upstream Partisan's form.
-module(partisan_upstream_keys_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_upstream_keys, [converted/1]).

-define(LOCALHOST, {127, 0, 0, 1}).

fields_test_() ->
    [
        {Title, ?_assertEqual({ok, Expected, WithoutEffect}, converted(Given))}
     || {Title, Given, Expected, WithoutEffect} <- [
            {"nothing of upstream's", #{name => <<"a">>}, #{name => <<"a">>}, []},
            {"the example of version 1",
                #{
                    affinity => enabled,
                    parallel => enabled,
                    parallel_connections => 16,
                    channels => [vnode, gossip, broadcast],
                    membership_strategy => partisan_full_membership_strategy,
                    peer_service_manager => partisan_pluggable_peer_service_manager
                },
                mesh(#{
                    channels => [
                        #{name => Name, parallelism => 16} || Name <- [vnode, gossip, broadcast]
                    ]
                }),
                ["affinity"]},
            {"version 4",
                #{
                    partisan_peer_service_manager => partisan_pluggable_peer_service_manager,
                    parallelism => 4,
                    channels => [data, {monotonic, rings}],
                    pid_encoding => false,
                    tls => false,
                    tls_options => []
                },
                mesh(#{
                    channels => [
                        #{name => data, parallelism => 4},
                        #{name => rings, monotonic => true, parallelism => 4}
                    ],
                    tls => none
                }),
                ["pid_encoding", "tls_options"]},
            {"the example of version 5, with certificates that are verified",
                published("tls", "tls", verify_peer),
                mesh(#{
                    host => ?LOCALHOST,
                    listen_ip => ?LOCALHOST,
                    listen_port => 12345,
                    channels => [#{name => data, parallelism => 4}],
                    tls => partisan_test_pki:files("tls")
                }),
                ["remote_ref_format"]},
            {"channels of a map",
                #{
                    parallelism => 2,
                    channels => #{b => #{parallelism => 4}, a => #{monotonic => true}}
                },
                mesh(#{
                    channels => [
                        #{name => a, monotonic => true, parallelism => 2},
                        #{name => b, parallelism => 4}
                    ]
                }),
                []},
            {"delays of channels without their own",
                #{ingress_delay => 5, egress_delay => 0, channels => [a, {b, [{egress_delay, 7}]}]},
                mesh(#{
                    channels => [
                        #{name => a, ingress_delay => 5, egress_delay => 0},
                        #{name => b, ingress_delay => 5, egress_delay => 7}
                    ]
                }),
                []},
            {"broadcast handlers",
                #{
                    broadcast_mods => [partisan_plumtree_backend, partisan_test_broken],
                    exchange_tick_period => 1000
                },
                mesh(#{
                    broadcast_handlers => [partisan_test_broken],
                    broadcast_exchange_interval => 1000
                }),
                []},
            {"what upstream does not do by default either",
                #{
                    connect_disterl => false,
                    forward_options => [],
                    orchestration_strategy => undefined,
                    reservations => [],
                    tag => undefined,
                    peer_discovery => #{enabled => false}
                },
                mesh(#{}),
                ["connect_disterl", "forward_options", "orchestration_strategy", "reservations",
                    "tag"]}
        ]
    ].

overlays_test_() ->
    [
        {Title, ?_assertEqual({ok, #{overlay => Overlay}, WithoutEffect}, converted(Given))}
     || {Title, Given, Overlay, WithoutEffect} <- [
            {"parameters of HyParView",
                #{peer_service_manager => partisan_hyparview_peer_service_manager, arwl => 5},
                {hyparview, #{active_random_walk_length => 5}}, []},
            {"its properties",
                #{
                    peer_service_manager => partisan_hyparview_peer_service_manager,
                    hyparview => [
                        {active_max_size, 5}, {shuffle_k_active, 2}, {random_promotion, true},
                        {xbot_enabled, false}
                    ]
                },
                {hyparview, #{active_max => 5, shuffle_active => 2}},
                ["random_promotion of hyparview"]},
            {"X-BOT",
                #{
                    peer_service_manager => partisan_hyparview_peer_service_manager,
                    hyparview => #{xbot_enabled => true, xbot_interval => 7000}
                },
                {xbot, #{optimisation_interval => 7000}}, []},
            {"parameters of an overlay that is not used",
                #{max_active_size => 6, hyparview => #{passive_rwl => 6}}, {full_mesh, #{}},
                ["max_active_size", "passive_rwl of hyparview"]},
            {"a manager that has no strategies",
                #{
                    membership_strategy => partisan_full_membership_strategy,
                    peer_service_manager => partisan_hyparview_peer_service_manager
                },
                {hyparview, #{}}, ["membership_strategy"]},
            {"a strategy of the pluggable manager",
                #{
                    membership_strategy => partisan_scamp_v2_membership_strategy,
                    peer_service_manager => partisan_pluggable_peer_service_manager
                },
                {scamp_v2, #{}}, []},
            {"an overlay of one's own",
                #{membership_strategy => partisan_overlay_cyclon}, {partisan_overlay_cyclon, #{}},
                []}
        ]
    ].

addresses_test_() ->
    [
        {Title, ?_assertEqual({ok, mesh(Expected), WithoutEffect}, converted(Given))}
     || {Title, Given, Expected, WithoutEffect} <- [
            {"an address",
                #{name => 'a@b', peer_ip => {10, 0, 0, 1}, peer_port => 9000},
                (address({10, 0, 0, 1}, 9000))#{name => <<"a@b">>}, []},
            {"the same address in each form",
                #{
                    listen_addrs => [
                        "127.0.0.1:12345",
                        <<"127.0.0.1:12345">>,
                        {"127.0.0.1", "12345"},
                        {?LOCALHOST, 12345},
                        #{ip => "127.0.0.1", port => "12345"},
                        #{ip => <<"127.0.0.1">>, port => <<"12345">>},
                        #{ip => ?LOCALHOST, port => 12345},
                        "127.0.0.1",
                        ?LOCALHOST
                    ],
                    peer_ip => {10, 0, 0, 1},
                    peer_port => 12345
                },
                address(?LOCALHOST, 12345), []},
            {"of several the first",
                #{listen_addrs => [{?LOCALHOST, 2}, {?LOCALHOST, 1}]},
                address(?LOCALHOST, 2), ["listen_addrs after the first"]},
            {"an address of IPv6", #{listen_addrs => ["[::1]:9"]},
                address({0, 0, 0, 0, 0, 0, 0, 1}, 9), []},
            {"another one", #{peer_ip => "::1", peer_port => "9"},
                address({0, 0, 0, 0, 0, 0, 0, 1}, 9), []},
            {"the host in the name", #{name => 'a@127.0.0.1', peer_port => 9000},
                (address(?LOCALHOST, 9000))#{name => <<"a@127.0.0.1">>}, []},
            {"a host with a name", #{name => 'a@b.example'},
                #{name => <<"a@b.example">>, host => "b.example"}, []},
            {"our host", #{name => 'a@127.0.0.1', host => "b"},
                #{name => <<"a@127.0.0.1">>, host => "b"}, []},
            {"all interfaces", #{name => 'a@b.example', peer_ip => {0, 0, 0, 0}},
                #{name => <<"a@b.example">>, host => "b.example", listen_ip => {0, 0, 0, 0}}, []},
            {"all interfaces, without a host", #{listen_addrs => ["0.0.0.0:1"]},
                #{listen_ip => {0, 0, 0, 0}, listen_port => 1}, []},
            {"a host that is advertised", #{peer_host => "b", peer_ip => ?LOCALHOST},
                #{host => "b", listen_ip => ?LOCALHOST}, []},
            {"seeds",
                seeds([{'a@10.0.0.1', 1}, {"b@h.example", 2}, <<"c@10.0.0.3:3">>, "d@[::1]:4"]),
                #{
                    seeds => [
                        {<<"a@10.0.0.1">>, "10.0.0.1", 1},
                        {<<"b@h.example">>, "h.example", 2},
                        {<<"c@10.0.0.3">>, "10.0.0.3", 3},
                        {<<"d@::1">>, "::1", 4}
                    ]
                },
                []},
            {"seeds with this node's port", (seeds([<<"a@10.0.0.1">>, 'b@::1']))#{peer_port => 9},
                #{
                    listen_port => 9,
                    seeds => [{<<"a@10.0.0.1">>, "10.0.0.1", 9}, {<<"b@::1">>, "::1", 9}]
                },
                []}
        ]
    ].

tls_test_() ->
    Files = partisan_test_pki:files("tls"),
    [
        {Title, ?_assertEqual({ok, mesh(#{tls => Expected}), WithoutEffect}, converted(Given))}
     || {Title, Given, Expected, WithoutEffect} <- [
            {"options of version 4", #{tls => true, tls_options => maps:to_list(Files)}, Files, []},
            {"one side alone", #{tls => true, tls_client_options => Files}, Files, []},
            {"text in binaries",
                #{
                    tls => true,
                    tls_server_options => maps:map(fun(_, F) -> list_to_binary(F) end, Files),
                    tls_client_options => Files
                },
                Files, []},
            {"the key in the file of the certificate",
                #{tls => true, tls_options => [{certfile, "keycert"}, {cacertfile, "ca"}]},
                #{certfile => "keycert", keyfile => "keycert", cacertfile => "ca"}, []},
            {"what our TLS does anyway",
                #{
                    tls => true,
                    tls_server_options => Files#{
                        fail_if_no_peer_cert => true, versions => ['tlsv1.3', 'tlsv1.2']
                    },
                    tls_client_options => Files#{
                        server_name_indication => "nodes", hostname_verification => wildcard
                    }
                },
                Files#{server_name => <<"nodes">>},
                ["hostname_verification of tls_client_options"]},
            {"without TLS", #{tls => false, tls_client_options => Files}, none,
                ["tls_client_options"]}
        ]
    ] ++
        [
            {"our TLS", ?_assertEqual({ok, #{tls => Files}, []}, converted(#{tls => Files}))}
        ].

errors_test_() ->
    Files = partisan_test_pki:files("tls"),
    [
        {Pattern, ?_assertMatch({match, _}, re:run(element(2, converted(Given)), Pattern))}
     || {Given, Pattern} <- [
            {#{affinity => disabled}, "^affinity is disabled.*set enabled"},
            {#{membership_strategy => nope}, "^membership_strategy is nope.*give a module"},
            {#{peer_service_manager => client_server}, "^peer_service_manager.*#{servers => "},
            {#{membership_strategy => hyparview, overlay => {xbot, #{}}}, "both set; remove one"},
            {#{hyparview => 6}, "^hyparview is 6: give a map"},
            {#{hyparview => [{colour, blue}]}, "^hyparview: colour.*remove it"},
            {#{channels => 3}, "^channels is 3: give names"},
            {#{channels => [{a, [{compression, true}]}]}, "^channels: compression.*remove it"},
            {#{connect_disterl => true}, "^connect_disterl is true: .*set false"},
            {#{forward_options => #{ack => true}}, "^forward_options is .*partisan:forward/4"},
            {#{tag => client}, "^tag is client: .*client_server"},
            {#{reservations => [a]}, "^reservations is .a.: .*remove it"},
            {#{orchestration_strategy => k}, "^orchestration_strategy is k: .*discovery"},
            {#{listen_addrs => "127.0.0.1:1"}, "^listen_addrs: 49 is no address"},
            {#{listen_addrs => none}, "^listen_addrs is none: give a list"},
            {#{listen_addrs => ["node.example:1"]}, "^listen_addrs: \"node.example\" is no addr"},
            {#{listen_addrs => [{?LOCALHOST, 65536}]}, "^listen_addrs: 65536 is no port"},
            {#{peer_port => "http"}, "^peer_port: \"http\" is no port"},
            {#{peer_ip => {1, 2}}, "^peer_ip: .1,2. is no address"},
            {#{peer_discovery => yes}, "^peer_discovery is yes: give a map"},
            {#{peer_discovery => [{type, mine}]}, "^peer_discovery: mine is no type.*set seeds"},
            {
                #{peer_discovery => [{type, partisan_peer_discovery_list}]},
                "^peer_discovery: config is .*addresses"
            },
            {seeds(["10.0.0.1:1"]), "^peer_discovery: \"10.0.0.1:1\" is no NAME@HOST"},
            {(seeds(["a@b"]))#{seeds => []}, "^peer_discovery and seeds are both set; remove one"},
            {dns(a), "set discovery => #{dns => {a, \"ads.example\"}}.*like its address"},
            {dns(fqdns), "set discovery => #{dns => {srv, \"ads.example\"}}.*the first label"},
            {published("tls", "tls", verify_none),
                "^tls_server_options: verify is verify_none: .*set verify_peer"},
            {published("server", "client", verify_peer), "certfile differs.*give the same"},
            {#{tls => true}, "^tls is true, without files"},
            {#{tls => true, tls_options => [verify_peer]}, "^tls_options must be a list"},
            {#{tls => true, tls_options => #{keyfile => "k"}}, "^tls_options: certfile is missing"},
            {
                #{tls => true, tls_options => #{certfile => "c"}},
                "^tls_options: cacertfile is missing"
            },
            {
                #{tls => true, tls_options => Files#{fail_if_no_peer_cert => false}},
                "^tls_options: fail_if_no_peer_cert is false: .*set true"
            },
            {
                #{tls => true, tls_options => Files#{versions => ['tlsv1.2']}},
                "^tls_options: versions is .*add 'tlsv1.3'"
            },
            {
                #{tls => true, tls_options => Files#{ciphers => []}},
                "^tls_options: ciphers has no counterpart here; remove it"
            }
        ]
    ].

a_password_is_never_shown_test() ->
    Options = #{password => "secret"},
    {error, Text} = converted(#{tls => true, tls_options => Options}),
    ?assertEqual(nomatch, re:run(Text, "secret", [{capture, none}])).

%% The example of version 5 with what it must have in addition, read as from a `sys.config'.
the_example_is_a_configuration_test_() ->
    {timeout, 60, fun() ->
        Name = "partisan-upstream-" ++ os:getpid(),
        Directory = filename:join(os:getenv("TMPDIR", "/tmp"), Name),
        ok = file:make_dir(Directory),
        try
            Authority = partisan_test_pki:authority(),
            ok = partisan_test_pki:write(
                Directory, partisan_test_pki:certificate(Authority, #{names => ["ads"]})
            ),
            Example = published(Directory, Directory, verify_peer),
            Added = #{
                name => 'ads-0@127.0.0.1',
                cluster => <<"ads">>,
                token => <<"0123456789abcdef">>,
                seeds => [{<<"ads-1@127.0.0.1">>, ?LOCALHOST, 12346}]
            },
            ?assertEqual(ok, loaded(maps:merge(Example, Added))),
            [
                ?assertEqual(Value, partisan_config:get(Field))
             || {Field, Value} <- [
                    {name, <<"ads-0@127.0.0.1">>},
                    {listen_port, 12345},
                    {overlay, {full_mesh, #{}}},
                    {seeds, [partisan_peer:new(<<"ads-1@127.0.0.1">>, ?LOCALHOST, 12346)]}
                ]
            ],
            ?assertMatch(#{server_name := <<"ads">>}, partisan_config:get(tls)),
            % Nothing stands in for what keeps other nodes out.
            [
                begin
                    {error, Text} = loaded(maps:merge(Example, maps:remove(Key, Added))),
                    ?assertEqual(Text, atom_to_list(Key) ++ string:find(Text, " is missing"))
                end
             || Key <- [cluster, token, seeds]
            ]
        after
            file:del_dir_r(Directory)
        end
    end}.

keys_without_effect_are_logged_once_test() ->
    #{level := Level} = logger:get_primary_config(),
    ok = partisan_test_log:start(notice),
    try
        {error, _} = loaded(#{name => <<"a">>, binary_padding => true, tracing => true}),
        Lines = [
            Line
         || Line <- partisan_test_log:lines(), string:find(Line, "without effect") =/= nomatch
        ],
        ?assertMatch([_], Lines),
        ?assertMatch({match, _}, re:run(hd(Lines), "binary_padding, tracing"))
    after
        ok = logger:remove_handler(partisan_test_log),
        ok = logger:set_primary_config(level, Level)
    end.

%% Internals.

%% Upstream's overlay, unless it is named.
mesh(Fields) -> Fields#{overlay => {full_mesh, #{}}}.

address(Ip, Port) -> #{host => Ip, listen_ip => Ip, listen_port => Port}.

seeds(Addresses) ->
    #{
        peer_discovery => #{
            enabled => true,
            type => partisan_peer_discovery_list,
            initial_delay => 5000,
            polling_interval => 30000,
            config => #{addresses => Addresses}
        }
    }.

dns(Record) ->
    #{
        peer_discovery => [
            {type, partisan_peer_discovery_dns},
            {config, #{record_type => Record, query => <<"ads.example">>, node_basename => "ads"}}
        ]
    }.

%% The example of partisan_config, version 5.0.3, with these directories of files.
published(Server, Client, Verify) ->
    #{
        listen_addrs => [#{ip => ?LOCALHOST, port => 12345}],
        channels => #{data => #{parallelism => 4}},
        remote_ref_format => improper_list,
        tls => true,
        tls_server_options => options(Server, Verify),
        tls_client_options => options(Client, Verify)
    }.

options(Directory, Verify) ->
    maps:to_list(partisan_test_pki:files(Directory)) ++ [{verify, Verify}].

%% Reads the fields as the application does at its start.
loaded(Fields) ->
    maps:foreach(fun(Key, Value) -> application:set_env(partisan, Key, Value) end, Fields),
    try
        partisan_environment:load()
    after
        maps:foreach(fun(Key, _) -> application:unset_env(partisan, Key) end, Fields)
    end.

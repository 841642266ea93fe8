-module(node_config_tests).

-include_lib("eunit/include/eunit.hrl").

-define(TOKEN, <<"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff">>).

config_test_() ->
    {foreach, fun directory/0, fun file:del_dir_r/1, [
        fun(Dir) -> {"a good configuration", fun() -> good(Dir) end} end,
        fun(Dir) -> {"without a workload", fun() -> no_workload(Dir) end} end,
        fun(Dir) -> {"unknown keys are ignored with a warning", fun() -> unknown(Dir) end} end,
        fun(Dir) -> {"errors name the setting", [wrong(Dir, Case) || Case <- wrong_settings()]} end,
        fun(Dir) -> {"the environment", [environment(Dir, Case) || Case <- environments()]} end,
        fun(Dir) -> {"the storage of the state", fun() -> storage(Dir) end} end,
        fun(Dir) -> {"unusable files", fun() -> bad_files(Dir) end} end,
        fun(Dir) -> {"a wrong token is not shown", fun() -> bad_token(Dir) end} end,
        fun(Dir) -> {"changes that a running node applies", fun() -> changes(Dir) end} end,
        fun(Dir) -> {"changes that no running node applies", fun() -> bad_changes(Dir) end} end,
        fun(Dir) -> {"the overlay of a node", [overlay(Dir, Case) || Case <- overlays()]} end
    ]}.

good(Dir) ->
    {ok, Config, []} = load(Dir, settings()),
    #{partisan := Partisan, workload := {adcounter, Options}} = Config,
    ?assertMatch(#{name := <<"ads-1">>, http_port := 8080, partisan := #{token := ?TOKEN}}, Config),
    ?assertMatch(#{heartbeat_interval := 5000}, Partisan),
    ?assertMatch(#{development := false}, Config),
    {ok, Developed, []} = load(Dir, (settings())#{development => true}),
    ?assertMatch(#{development := true}, Developed),
    {ok, Calm, []} = load(Dir, (settings())#{heartbeat_interval => 20000}),
    ?assertMatch(#{partisan := #{heartbeat_interval := 20000}}, Calm),
    ?assertMatch(
        #{
            host := {10, 0, 0, 7},
            listen_ip := {0, 0, 0, 0},
            cluster := <<"ads">>,
            seeds := [
                #{name := <<"ads-0">>, host := "ads-0.ads", port := 7946, incarnation := 0},
                #{host := {10, 0, 0, 9}}
            ]
        },
        Partisan
    ),
    ?assertMatch(
        #{
            run := <<"3f2a9c">>,
            members := [<<"ads-0">>, <<"ads-1">>],
            channel := gossip,
            parameters := #{impressions := 640, propagation_interval := 500}
        },
        Options
    ),
    % The ad counter's replicas send to the store only; nothing is executed for others.
    ?assertMatch(#{reachable := [{lasp_store, messages}], remote_execution := []}, Partisan),
    % Nor do the node's own processes accept messages from other nodes.
    ?assertEqual([], node_stray_tests:servers() -- maps:get(unreachable, Partisan)),
    {ok, #{partisan := Open}, []} = load(Dir, (settings())#{
        reachable => applications, remote_execution => [init]
    }),
    ?assertMatch(#{reachable := applications, remote_execution := [init]}, Open),
    ?assertEqual(ok, partisan_config:set(Open)),
    ?assertEqual(ok, partisan_config:set(Partisan)).

no_workload(Dir) ->
    {ok, Config, []} = load(Dir, (settings())#{workload := none, run := <<>>}),
    ?assertMatch(#{workload := none, partisan := #{reachable := applications}}, Config),
    Channels = [#{name => default}],
    {ok, #{workload := {_, Options}}, []} = load(Dir, (settings())#{channels := Channels}),
    ?assertMatch(#{channel := default}, Options).

unknown(Dir) ->
    {adcounter, Parameters} = maps:get(workload, settings()),
    {ok, _, Warnings} = load(Dir, (settings())#{
        colour => red, workload := {adcounter, Parameters#{speed => 1}}
    }),
    ?assertEqual(
        ["unknown key colour is ignored", "unknown key {workload,speed} is ignored"], Warnings
    ).

wrong_settings() ->
    {adcounter, Parameters} = maps:get(workload, settings()),
    [
        {"replicas", #{replicas => 0}},
        {"replicas", #{replicas => 2049}},
        {"http_port", #{http_port => 0}},
        {"tls", #{tls => yes}},
        {"heartbeat_interval", #{heartbeat_interval => 0}},
        {"heartbeat_interval", #{heartbeat_interval => <<"5s">>}},
        {"listen_port", #{listen_port => <<"7946">>}},
        {"reachable", #{reachable => all}},
        {"remote_execution", #{remote_execution => init}},
        {"cluster", #{cluster => ads}},
        {"seeds", #{seeds => [{<<"ads-0">>, <<"ads-0.ads">>}]}},
        {"overlay", #{overlay => hyparview}},
        {"overlay", #{overlay => {hyparview, []}}},
        {"overlay", #{overlay => {client_server, #{servers => []}}}},
        {"overlay", #{overlay => {client_server, #{servers => [<<"nodash">>]}}}},
        {"overlay", #{overlay => {publish_subscribe, #{brokers => []}}}},
        {"overlay", #{overlay => {static, #{}}}},
        {"overlay", #{overlay => {static, #{edges => [{1, 1}]}}}},
        {"overlay", #{overlay => {static, #{edges => [], peers => [<<"ads-0">>]}}}},
        {"revision", #{revision => 3}},
        {"channels", #{channels => gossip}},
        {"run", #{run => <<>>}},
        {"run", #{run => 17}},
        {"workload", #{workload => {mining, #{}}}},
        {"impressions", #{workload => {adcounter, Parameters#{impressions => -1}}}},
        {"increment_interval",
            #{workload => {adcounter, maps:remove(increment_interval, Parameters)}}},
        {"synchronization", #{workload => {adcounter, Parameters#{synchronization => gossip}}}}
    ].

wrong(Dir, {Field, Changes}) ->
    {Field, fun() ->
        {error, Text} = load(Dir, maps:merge(settings(), Changes)),
        ?assertMatch({match, _}, re:run(Text, "\\b" ++ Field ++ "\\b")),
        ?assertEqual(nomatch, re:run(Text, "\\n"))
    end}.

environments() ->
    [
        {"POD_NAME is not set", #{"POD_NAME" => false}, "POD_NAME"},
        {"POD_IP is not set", #{"POD_IP" => ""}, "POD_IP"},
        {"POD_IP is not an address", #{"POD_IP" => "pod"}, "POD_IP"},
        {"PARTISAN_LISTEN_IP is not an address",
            #{"PARTISAN_LISTEN_IP" => "any"}, "PARTISAN_LISTEN_IP"},
        {"PARTISAN_STATE is no storage", #{"PARTISAN_STATE" => "tape"}, "PARTISAN_STATE"}
    ].

environment(Dir, {Title, Changes, Variable}) ->
    {Title, fun() ->
        {error, Text} = load(Dir, settings(), Changes),
        ?assertMatch({match, _}, re:run(Text, Variable))
    end}.

storage(Dir) ->
    ?assertMatch({ok, #{storage := memory}, []}, load(Dir, settings())),
    Changes = #{"PARTISAN_STATE" => "disk"},
    ?assertMatch({ok, #{storage := disk}, []}, load(Dir, settings(), Changes)).

bad_files(Dir) ->
    File = filename:join(Dir, "node.config"),
    _ = [
        begin
            ok = file:write_file(File, Content),
            {error, Text} = node_config:load(variables(Dir, #{})),
            ?assertMatch({match, _}, re:run(Text, "node.config"))
        end
     || Content <- [<<>>, <<"#{">>, <<"[].">>, <<"#{}. #{}.">>]
    ],
    ok = file:delete(File),
    ?assertMatch({error, _}, node_config:load(variables(Dir, #{}))).

bad_token(Dir) ->
    ok = write(Dir, settings()),
    File = filename:join(Dir, "token"),
    ok = file:write_file(File, "secret!"),
    {error, Text} = node_config:load(variables(Dir, #{})),
    ?assertEqual(nomatch, re:run(Text, "secret")),
    ok = file:delete(File),
    ?assertMatch({error, _}, node_config:load(variables(Dir, #{}))).

changes(Dir) ->
    {ok, Config, []} = load(Dir, settings()),
    Channels = [
        #{name => default, parallelism => 3},
        #{name => gossip, monotonic => true},
        #{name => not_here_yet, parallelism => 9}
    ],
    Text = text((settings())#{
        replicas := 3, revision := <<"2">>, overlay := {xbot, #{scan => 3}}, channels := Channels
    }),
    {ok, Changes} = node_config:changes(Text, Config),
    ?assertMatch(
        #{
            revision := <<"2">>,
            partisan := #{
                overlay := {xbot, #{scan := 3}},
                replicas := 3,
                seeds := [#{name := <<"ads-0">>}, _],
                parallelism := #{default := 3, gossip := 1}
            },
            members := [<<"ads-0">>, <<"ads-1">>, <<"ads-2">>]
        },
        Changes
    ),
    ?assertEqual(2, map_size(maps:get(parallelism, maps:get(partisan, Changes)))).

bad_changes(Dir) ->
    {ok, Config, []} = load(Dir, settings()),
    _ = [
        begin
            {error, Reason} = node_config:changes(Text, Config),
            ?assertMatch({Reason, {match, _}}, {Reason, re:run(Reason, Words)}),
            ?assertEqual(nomatch, re:run(Reason, "\\n"))
        end
     || {Text, Words} <- [
            {<<>>, "line"},
            {<<"#{">>, "line 1"},
            {<<"#{a => 'x">>, "line 1"},
            {<<"[].">>, "one map"},
            {<<"#{}. #{}.">>, "line 1"},
            {<<"#{a => os:cmd(\"true\")}.">>, "line 1"},
            {text(maps:remove(revision, settings())), "revision is missing"},
            {text((settings())#{replicas := 0}), "replicas must be"},
            {text((settings())#{cluster := <<"other">>}), "cluster: this node belongs to ads"}
        ]
    ].

%% The node is ads-1; all nodes have the same port.
overlays() ->
    Zone = #{"K8S_ZONE" => "zone-b", "K8S_NODE_NAME" => "machine-7"},
    Peer = fun(Name, Host) -> partisan_peer:new(Name, Host, 7946) end,
    Server = #{servers => [<<"ads-0">>]},
    Cyclon = {cyclon, #{view_size => 5}},
    [
        {"most are unchanged", Cyclon, #{}, Cyclon},
        {"servers have addresses", {client_server, Server}, #{},
            {client_server, Server#{peers => [Peer(<<"ads-0">>, "ads-0.ads")]}}},
        {"edges by ordinals, and their ends' addresses",
            {static, #{edges => [{0, 1}, {1, 300}, {<<"ads-4">>, 5}]}}, #{},
            {static, #{
                edges => [
                    {<<"ads-0">>, <<"ads-1">>},
                    {<<"ads-1">>, <<"ads-s1-300">>},
                    {<<"ads-4">>, <<"ads-5">>}
                ],
                peers => [
                    Peer(<<"ads-0">>, "ads-0.ads"), Peer(<<"ads-s1-300">>, "ads-s1-300.ads-s1")
                ]
            }}},
        {"given addresses are kept",
            {static, #{edges => [{0, 1}], peers => [{<<"ads-0">>, <<"10.0.0.1">>, 7000}]}}, #{},
            {static, #{
                edges => [{<<"ads-0">>, <<"ads-1">>}],
                peers => [partisan_peer:new(<<"ads-0">>, {10, 0, 0, 1}, 7000)]
            }}},
        {"the level is the zone", {hiscamp, #{}}, Zone, {hiscamp, #{level => <<"zone-b">>}}},
        {"or else the Kubernetes node", {hiscamp, #{}}, Zone#{"K8S_ZONE" := ""},
            {hiscamp, #{level => <<"machine-7">>}}},
        {"or what is given", {hiscamp, #{level => <<"here">>}}, Zone,
            {hiscamp, #{level => <<"here">>}}},
        {"and never nothing", {hiscamp, #{}}, #{}, error}
    ].

overlay(Dir, {Title, Given, Environment, Expected}) ->
    {Title, fun() ->
        case load(Dir, (settings())#{overlay := Given}, Environment) of
            {ok, #{partisan := #{overlay := Overlay}}, []} ->
                ?assertEqual(Expected, Overlay);
            {error, Text} ->
                ?assertEqual(error, Expected),
                ?assertMatch({match, _}, re:run(Text, "K8S_ZONE"))
        end
    end}.

%% Helpers.

load(Dir, Settings) ->
    load(Dir, Settings, #{}).

load(Dir, Settings, Changes) ->
    ok = write(Dir, Settings),
    node_config:load(variables(Dir, Changes)).

write(Dir, Settings) ->
    ok = file:write_file(filename:join(Dir, "token"), [?TOKEN, $\n]),
    file:write_file(filename:join(Dir, "node.config"), text(Settings)).

text(Settings) ->
    iolist_to_binary(io_lib:format("~p.~n", [Settings])).

variables(Dir, Changes) ->
    Variables = maps:merge(
        #{
            "POD_NAME" => "ads-1",
            "POD_IP" => "10.0.0.7",
            "PARTISAN_CONFIG" => filename:join(Dir, "node.config"),
            "PARTISAN_TOKEN_FILE" => filename:join(Dir, "token")
        },
        Changes
    ),
    fun(Name) -> maps:get(Name, Variables, false) end.

settings() ->
    #{
        cluster => <<"ads">>,
        namespace => <<"default">>,
        replicas => 2,
        revision => <<"9f31">>,
        seeds => [{<<"ads-0">>, <<"ads-0.ads">>, 7946}, {<<"ads-1">>, <<"10.0.0.9">>, 7946}],
        listen_port => 7946,
        http_port => 8080,
        overlay => {full_mesh, #{}},
        channels => [#{name => default}, #{name => gossip, parallelism => 2, monotonic => true}],
        workload =>
            {adcounter, #{
                ads => 1,
                impressions => 640,
                increment_interval => 1000,
                propagation_interval => 500
            }},
        run => <<"3f2a9c">>
    }.

directory() ->
    partisan_test_directory:new().

-module(node_config_tests).

-include_lib("eunit/include/eunit.hrl").

-define(TOKEN, <<"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff">>).

config_test_() ->
    {foreach, fun directory/0, fun file:del_dir_r/1, [
        fun(Dir) -> {"a good configuration", fun() -> good(Dir) end} end,
        fun(Dir) -> {"without a workload", fun() -> no_workload(Dir) end} end,
        fun(Dir) -> {"unknown keys are ignored with a warning", fun() -> unknown(Dir) end} end,
        fun(Dir) -> {"what is wrong is named", [wrong(Dir, Case) || Case <- wrong_settings()]} end,
        fun(Dir) -> {"the environment", [environment(Dir, Case) || Case <- environments()]} end,
        fun(Dir) -> {"files that cannot be used", fun() -> bad_files(Dir) end} end,
        fun(Dir) -> {"a wrong token is not shown", fun() -> bad_token(Dir) end} end,
        fun(Dir) -> {"replicas are read anew", fun() -> replicas(Dir) end} end
    ]}.

names_of_the_members_test() ->
    Names = node_config:members(<<"ads">>, 502),
    ?assertEqual(502, length(lists:usort(Names))),
    ?assertEqual(
        [<<"ads-0">>, <<"ads-249">>, <<"ads-s1-250">>, <<"ads-s1-499">>, <<"ads-s2-501">>],
        [lists:nth(I + 1, Names) || I <- [0, 249, 250, 499, 501]]
    ).

good(Dir) ->
    {ok, Config, []} = load(Dir, settings()),
    #{partisan := Partisan, workload := {adcounter, Options}} = Config,
    ?assertMatch(#{name := <<"ads-1">>, http_port := 8080, token := ?TOKEN}, Config),
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
    ?assertEqual(ok, partisan_config:set(Partisan)).

no_workload(Dir) ->
    {ok, Config, []} = load(Dir, (settings())#{workload := none, run := <<>>}),
    ?assertMatch(#{workload := none}, Config),
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
        {"replicas", #{replicas => 1025}},
        {"http_port", #{http_port => 0}},
        {"listen_port", #{listen_port => <<"7946">>}},
        {"cluster", #{cluster => ads}},
        {"seeds", #{seeds => [{<<"ads-0">>, <<"ads-0.ads">>}]}},
        {"overlay", #{overlay => hyparview}},
        {"channels", #{channels => gossip}},
        {"run", #{run => <<>>}},
        {"run", #{run => 17}},
        {"workload", #{workload => {mining, #{}}}},
        {"impressions", #{workload => {adcounter, Parameters#{impressions => -1}}}},
        {"increment_interval",
            #{workload => {adcounter, maps:remove(increment_interval, Parameters)}}}
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
        {"POD_IP is no address", #{"POD_IP" => "pod"}, "POD_IP"},
        {"PARTISAN_LISTEN_IP is no address", #{"PARTISAN_LISTEN_IP" => "any"}, "PARTISAN_LISTEN_IP"}
    ].

environment(Dir, {Title, Changes, Variable}) ->
    {Title, fun() ->
        {error, Text} = load(Dir, settings(), Changes),
        ?assertMatch({match, _}, re:run(Text, Variable))
    end}.

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

replicas(Dir) ->
    File = filename:join(Dir, "node.config"),
    ok = write(Dir, (settings())#{replicas := 5}),
    ?assertEqual({ok, 5}, node_config:replicas(File)),
    ok = write(Dir, (settings())#{replicas := none}),
    ?assertMatch({error, _}, node_config:replicas(File)).

%% Helpers.

load(Dir, Settings) ->
    load(Dir, Settings, #{}).

load(Dir, Settings, Changes) ->
    ok = write(Dir, Settings),
    node_config:load(variables(Dir, Changes)).

write(Dir, Settings) ->
    ok = file:write_file(filename:join(Dir, "token"), [?TOKEN, $\n]),
    file:write_file(filename:join(Dir, "node.config"), io_lib:format("~tp.~n", [Settings])).

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
        servers => [],
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
    node_test_cluster:directory().

%%% @doc The runtime as a library: emulators started as a user would, by `erl -pa' and a file
%%% `sys.config', without the release, another application or Distributed Erlang.
-module(partisan_library_tests).

-include_lib("eunit/include/eunit.hrl").

-define(TIMEOUT_MS, 60000).

two_nodes_test_() ->
    {timeout, 600, fun two_nodes/0}.

two_nodes() ->
    with_directory(fun(Directory) ->
        Net = partisan_test_cluster:net(),
        Seed = {<<"node-1">>, host(Net, 1), 7946},
        % One is found by its address in the configuration, the other has a file.
        One = start(Directory, environment(Net, 1, [{seeds, [Seed]}])),
        File = filename:join(Directory, "nodes"),
        ok = file:write_file(File, ["node-1 ", inet:ntoa(host(Net, 1)), $\n]),
        Two = start(Directory, environment(Net, 2, [{seeds, []}, {discovery, #{file => File}}])),
        Started = "started [crypto,partisan] alive=false",
        [?assertEqual(Started, line(Port)) || Port <- [One, Two]],
        ?assertEqual("neighbour node-2", line(One)),
        ?assertEqual("neighbour node-1", line(Two)),
        [true = port_close(Port) || Port <- [One, Two]]
    end).

upstream_test_() ->
    {timeout, 600, fun upstream/0}.

%% In the form of upstream Partisan.
upstream() ->
    with_directory(fun(Directory) ->
        Net = partisan_test_cluster:net(),
        Upstream = fun(I) ->
            [
                {listen_addrs, [#{ip => host(Net, I), port => 7946}]}, {affinity, enabled},
                {remote_ref_format, improper_list}, {connect_disterl, false},
                {parallel_connections, 2}, {channels, [vnode, gossip]},
                {peer_service_manager, partisan_hyparview_peer_service_manager},
                {seeds, [{<<"node-1">>, host(Net, 1), 7946}]}
                | [Field || {Key, _} = Field <- environment(Net, I, []),
                    lists:member(Key, [name, cluster, token])]
            ]
        end,
        Ports = [start(Directory, Upstream(I)) || I <- [1, 2]],
        [?assertEqual("started [crypto,partisan] alive=false", line(Port)) || Port <- Ports],
        ?assertEqual(["neighbour node-2", "neighbour node-1"], [line(Port) || Port <- Ports]),
        [true = port_close(Port) || Port <- Ports]
    end).

errors_test_() ->
    {timeout, 600, fun errors/0}.

errors() ->
    with_directory(fun(Directory) ->
        Net = partisan_test_cluster:net(),
        [
            ?assertMatch({match, _}, re:run(line(start(Directory, Environment)), Pattern))
         || {Environment, Pattern} <- [
                {[], "no configuration: call partisan_config:set/1"},
                {[{name, <<"a">>}], "cluster is missing"},
                {environment(Net, 1, [{seeds, [{<<"a">>, "b"}]}]), "seeds must be a list of peers"},
                {environment(Net, 1, [{seeds, []}, {colour, blue}]), "colour is not a field"}
            ]
        ]
    end).

%% Internals.

environment({A, B} = Net, I, Others) ->
    #{name := Name, cluster := Cluster, token := Token} =
        partisan_test_cluster:configuration(Net, I, #{}),
    [
        {name, Name}, {cluster, Cluster}, {token, Token}, {host, {127, A, B, I}},
        {listen_ip, {127, A, B, I}}, {overlay, {hyparview, #{}}}
        | Others
    ].

%% Starts the application and prints what it sees; ends with its standard input.
start(Directory, Environment) ->
    Unique = integer_to_list(erlang:unique_integer([positive])),
    Config = filename:join(Directory, Unique),
    ok = file:write_file(Config ++ ".config", io_lib:format("~p.~n", [[{partisan, Environment}]])),
    Program =
        "case application:ensure_all_started(partisan) of "
        "    {ok, All} -> "
        "        io:format(\"started ~w alive=~w~n\", [lists:sort(All), is_alive()]), "
        "        ok = partisan:subscribe(self()), "
        "        receive {partisan, {neighbour_up, N}} -> io:format(\"neighbour ~s~n\", [N]) end; "
        "    {error, {partisan, {Text, _}}} -> io:format(\"~s~n\", [Text]) "
        "end, "
        "eof = io:get_line([]), halt().",
    open_port({spawn_executable, os:find_executable("erl")}, [
        {args, [
            "-noshell", "+S", "1:1", "-kernel", "logger_level", "critical",
            "-pa", filename:dirname(code:which(partisan)), "-config", Config, "-eval", Program
        ]},
        {line, 1000},
        exit_status
    ]).

line(Port) ->
    receive
        {Port, {data, {eol, Line}}} -> Line;
        {Port, {exit_status, Status}} -> error({exited, Status})
    after ?TIMEOUT_MS -> error(timeout)
    end.

host({A, B}, I) -> {127, A, B, I}.

with_directory(Test) ->
    Name = "partisan-library-" ++ os:getpid(),
    Directory = filename:join(os:getenv("TMPDIR", "/tmp"), Name),
    ok = file:make_dir(Directory),
    try
        Test(Directory)
    after
        file:del_dir_r(Directory)
    end.

#!/usr/bin/env escript
%% Runs N nodes of the release as local processes, node I on the address 127.0.1.I, shows the
%% progress of their run until it has converged, then the memory of each, and stops them. For
%% debugging, and for measuring a node without containers.
%%
%%   rebar3 as prod release
%%   escript scripts/local_cluster.escript 8 [_build/prod/rel/partisan_node [IMPRESSIONS]]

-mode(compile).

-define(PORT, 7946).
-define(HTTP_PORT, 8080).
-define(PERIOD_MS, 1000).
-define(RUN, "local").

main([Count]) ->
    main([Count, "_build/prod/rel/partisan_node"]);
main([Count, Release]) ->
    main([Count, Release, integer_to_list(20 * list_to_integer(Count))]);
main([Text, Release, Impressions]) ->
    Count = list_to_integer(Text),
    true = Count >= 1 andalso Count =< 250,
    {ok, _} = application:ensure_all_started(inets),
    Directory = string:trim(os:cmd("mktemp -d")),
    Token = binary:encode_hex(crypto:strong_rand_bytes(32)),
    ok = file:write_file(filename:join(Directory, "token"), Token),
    ok = file:write_file(
        filename:join(Directory, "node.config"), config(Count, list_to_integer(Impressions))
    ),
    Program = filename:absname(filename:join(Release, "bin/partisan_node")),
    Ports = [start(I, Program, Directory) || I <- lists:seq(1, Count)],
    io:format("~b nodes; logs in ~ts~n", [Count, Directory]),
    await(fun() -> length([S || S <- statuses(Count), joined(S)]) =:= Count end),
    io:format("all joined~n"),
    {ok, {{_, 202, _}, _, _}} = httpc:request(
        post,
        {url(1, "/workload/start"), [{"authorization", "Bearer " ++ binary_to_list(Token)}],
            "text/plain", ?RUN},
        [],
        []
    ),
    await(fun() -> show(statuses(Count)) end),
    _ = [show_memory(Port) || Port <- Ports],
    Started = erlang:monotonic_time(millisecond),
    _ = [terminate(Port) || Port <- Ports],
    _ = [await_end(Port) || Port <- Ports],
    io:format("all left in ~b ms~n", [erlang:monotonic_time(millisecond) - Started]);
main(_) ->
    io:format(standard_error, "usage: local_cluster.escript N [RELEASE [IMPRESSIONS]]~n", []),
    halt(2).

config(Count, Impressions) ->
    io_lib:format("~tp.~n", [
        #{
            cluster => <<"local">>,
            namespace => <<"default">>,
            replicas => Count,
            revision => <<>>,
            seeds => [{name(I), list_to_binary(address(I)), ?PORT} || I <- [1, Count div 2 + 1]],
            listen_port => ?PORT,
            http_port => ?HTTP_PORT,
            overlay =>
                {hyparview, #{
                    active_max => 6,
                    active_min => 3,
                    passive_max => 30,
                    active_random_walk_length => 6,
                    passive_random_walk_length => 3,
                    shuffle_interval => 10000,
                    promotion_interval => 5000
                }},
            channels => [
                #{name => default, parallelism => 1, monotonic => false},
                #{name => gossip, parallelism => 1, monotonic => true}
            ],
            workload =>
                {adcounter, #{
                    ads => 1,
                    impressions => Impressions,
                    increment_interval => 1000,
                    propagation_interval => 500
                }},
            run => <<?RUN>>
        }
    ]).

start(I, Program, Directory) ->
    Name = binary_to_list(name(I)),
    State = filename:join(Directory, Name),
    ok = file:make_dir(State),
    Log = filename:join(Directory, Name ++ ".log"),
    % The shell becomes the node, so that the port's process is the node's.
    Command = io_lib:format("exec ~ts > ~ts 2>&1", [Program, Log]),
    open_port({spawn_executable, "/bin/sh"}, [
        {args, ["-c", lists:flatten(Command)]},
        {env, [
            {"PATH", search_path()},
            {"POD_NAME", Name},
            {"POD_IP", address(I)},
            {"PARTISAN_LISTEN_IP", address(I)},
            {"PARTISAN_CONFIG", filename:join(Directory, "node.config")},
            {"PARTISAN_TOKEN_FILE", filename:join(Directory, "token")},
            {"PARTISAN_STATE_DIR", State}
        ]},
        exit_status
    ]).

%% The emulator running this script has prepended directories of its own.
search_path() ->
    Own = code:root_dir(),
    Directories = string:lexemes(os:getenv("PATH"), ":"),
    lists:flatten(lists:join(":", [D || D <- Directories, not lists:prefix(Own, D)])).

terminate(Port) ->
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    os:cmd("kill " ++ integer_to_list(Pid)).

await_end(Port) ->
    receive
        {Port, {exit_status, Status}} -> Status =:= 0 orelse io:format("exit ~b~n", [Status])
    end.

show(Statuses) ->
    Workloads = [W || S <- Statuses, {ok, W} <- [workload(S)]],
    io:format("values ~w converged ~b/~b~n", [
        lists:usort([V || {V, _} <- Workloads]),
        length([1 || {_, true} <- Workloads]),
        length(Statuses)
    ]),
    length([1 || {_, true} <- Workloads]) =:= length(Statuses).

show_memory(Port) ->
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    Rollup = os:cmd("grep -E '^(Pss|Private_Dirty|Private_Clean):' /proc/" ++
        integer_to_list(Pid) ++ "/smaps_rollup"),
    io:format("~b: ~ts~n", [Pid, string:replace(string:trim(Rollup), "\n", " ", all)]).

%% Only two fields are needed; the node's own tests check the whole document.
workload({ok, Body}) ->
    Options = [{capture, all_but_first, list}],
    case
        {
            re:run(Body, "\"value\":([0-9]+)", Options),
            re:run(Body, "\"converged\":(true|false)", Options)
        }
    of
        {{match, [Value]}, {match, [Converged]}} ->
            {ok, {list_to_integer(Value), Converged =:= "true"}};
        _ ->
            error
    end;
workload(_) ->
    error.

joined({ok, Body}) -> string:find(Body, "\"joined\":true") =/= nomatch;
joined(_) -> false.

statuses(Count) ->
    [status(I) || I <- lists:seq(1, Count)].

status(I) ->
    case httpc:request(get, {url(I, "/status"), []}, [{timeout, 5000}], []) of
        {ok, {{_, 200, _}, _, Body}} -> {ok, Body};
        Other -> {error, Other}
    end.

await(Condition) ->
    case Condition() of
        true ->
            ok;
        false ->
            receive
                {_Port, {exit_status, Status}} ->
                    io:format(standard_error, "a node has ended (~b); see its log~n", [Status]),
                    halt(1)
            after ?PERIOD_MS -> await(Condition)
            end
    end.

url(I, Path) ->
    "http://" ++ address(I) ++ ":" ++ integer_to_list(?HTTP_PORT) ++ Path.

address(I) ->
    "127.0.1." ++ integer_to_list(I).

%% The name of the pod with that ordinal.
name(I) ->
    iolist_to_binary(["local-", integer_to_list(I - 1)]).

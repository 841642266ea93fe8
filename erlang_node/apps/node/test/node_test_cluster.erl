%%% @doc Nodes for tests: the whole application, each in its own operating-system process on its own
%%% loopback address, queried over HTTP. Files replace a pod's mounts.
-module(node_test_cluster).

-export([new/1, new/2]).
-export([start/2, terminate/2, kill/2, forget/2, stop/1]).
-export([names/1, get/3, post/4, authorized/2, status/2, reported/2, call/5]).
-export([address/2, token/1, bearer/1]).
-export([write_bearer/2]).
-export([configuration/2, workload/1, await/1]).
%% On the nodes.
-export([boot/0]).

-define(PORT, 7946).
-define(HTTP_PORT, 8080).
-define(TIMEOUT_MS, 60000).

new(Count) ->
    new(Count, #{}).

%% A cluster without running nodes. Options are those of the configuration file, plus `bearer =>
%% false' for pods without the bearer, `tls => Authority' for a certificate of it, and `restore =>
%% Backup' for the backup that the pods mount.
new(Count, Options) ->
    {ok, _} = application:ensure_all_started(inets),
    {ok, _} = application:ensure_all_started(ssl),
    Dir = partisan_test_directory:new(),
    {Overlaid, Overrides} = pod_options(Options, Dir),
    Cluster = maps:merge(Overlaid, #{
        directory => Dir,
        net => partisan_test_cluster:net(),
        count => Count,
        token => binary:encode_hex(crypto:strong_rand_bytes(32)),
        overrides => Overrides,
        % The running nodes: {peer, pid of the operating system}.
        nodes => #{}
    }),
    ok = file:write_file(filename:join(Dir, "token"), token(Cluster)),
    ok = write_bearer(bearer(Cluster), Cluster),
    ok = write_backup(filename:join(Dir, "backup"), Cluster),
    File = filename:join(Dir, "node.config"),
    ok = file:write_file(File, configuration(#{}, Cluster)),
    Cluster.

%% Splits the options into those of pods and the rest.
pod_options(Options, Dir) ->
    Pods = #{
        mounts_bearer => maps:get(bearer, Options, true),
        bearer => binary:encode_hex(crypto:strong_rand_bytes(32)),
        scheme => "http",
        restore => maps:get(restore, Options, none)
    },
    case maps:without([bearer, restore], Options) of
        #{tls := Authority} = Overrides ->
            Certificate = partisan_test_pki:certificate(Authority, #{names => [server_name()]}),
            ok = partisan_test_pki:write(Dir, Certificate),
            Files = (partisan_test_pki:files(Dir))#{server_name => list_to_binary(server_name())},
            Pem = filename:join(Dir, "ca.crt"),
            {Pods#{scheme := "https", authorities => Pem}, Overrides#{tls := Files}};
        Overrides ->
            {Pods, Overrides}
    end.

server_name() -> "test.default.svc".

write_bearer(Bearer, #{directory := Dir}) ->
    file:write_file(filename:join(Dir, "bearer"), Bearer).

write_backup(_File, #{restore := none}) -> ok;
write_backup(File, #{restore := Backup}) -> file:write_file(File, Backup).

token(#{token := Token}) -> Token.

%% The secret that commands present.
bearer(#{mounts_bearer := true, bearer := Bearer}) -> Bearer;
bearer(#{mounts_bearer := false, token := Token}) -> Token.

names(#{count := Count}) ->
    lists:seq(0, Count - 1).

%% Starts the node of an ordinal.
start(I, #{directory := Dir, nodes := Nodes} = Cluster) ->
    false = is_map_key(I, Nodes),
    State = filename:join(Dir, name(I)),
    ok = filelib:ensure_path(State),
    Environment = [
        {"POD_NAME", name(I)},
        {"POD_IP", inet:ntoa(address(I, Cluster))},
        {"PARTISAN_LISTEN_IP", inet:ntoa(address(I, Cluster))},
        {"PARTISAN_CONFIG", filename:join(Dir, "node.config")},
        {"PARTISAN_TOKEN_FILE", filename:join(Dir, "token")},
        {"PARTISAN_STATE_DIR", State}
        | [
            {"PARTISAN_BEARER_FILE", filename:join(Dir, "bearer")}
         || maps:get(mounts_bearer, Cluster)
        ] ++ [
            {"PARTISAN_RESTORE_FILE", filename:join(Dir, "backup")}
         || maps:get(restore, Cluster) =/= none
        ]
    ],
    Paths = lists:append([["-pa", Path] || Path <- code:get_path(), Path =/= "."]),
    Flags = ["+S", "1:1", "+sbwt", "none", "-kernel", "logger_level", "critical"],
    % A part of what vm.args has.
    StartCode = ["-node", "start_code", "[erl_parse,erl_scan,inet_config]"],
    {ok, Peer, _} = peer:start(#{
        connection => standard_io,
        args => Flags ++ StartCode ++ Paths,
        env => Environment,
        wait_boot => ?TIMEOUT_MS
    }),
    Pid = peer:call(Peer, os, getpid, [], ?TIMEOUT_MS),
    ok = peer:call(Peer, ?MODULE, boot, [], ?TIMEOUT_MS),
    Cluster#{nodes := Nodes#{I => {Peer, Pid}}}.

boot() ->
    {ok, _} = application:ensure_all_started(node),
    ok.

%% The first step of Kubernetes.
terminate(I, #{nodes := Nodes} = Cluster) ->
    {{Peer, Pid}, Rest} = maps:take(I, Nodes),
    signal("TERM", Peer, Pid),
    Cluster#{nodes := Rest}.

%% The second step, after the grace period; also a machine failure.
kill(I, #{nodes := Nodes} = Cluster) ->
    {{Peer, Pid}, Rest} = maps:take(I, Nodes),
    signal("KILL", Peer, Pid),
    Cluster#{nodes := Rest}.

signal(Signal, Peer, Pid) ->
    Monitor = monitor(process, Peer),
    unlink(Peer),
    "" = os:cmd("kill -" ++ Signal ++ " " ++ Pid),
    receive
        {'DOWN', Monitor, process, Peer, _} -> ok
    after ?TIMEOUT_MS -> error({still_running, Pid})
    end.

%% The node's storage is gone with its pod.
forget(I, #{directory := Dir} = Cluster) ->
    ok = file:del_dir_r(filename:join(Dir, name(I))),
    Cluster.

stop(#{nodes := Nodes, directory := Dir}) ->
    _ = [try peer:stop(Peer) catch _:_ -> ok end || {Peer, _} <- maps:values(Nodes)],
    ok = file:del_dir_r(Dir).

get(I, Path, Cluster) ->
    request(get, {url(I, Path, Cluster), []}, Cluster).

post(I, Path, {Headers, Body}, Cluster) ->
    request(post, {url(I, Path, Cluster), Headers, "text/plain", Body}, Cluster).

%% Of a request to `post/4': its headers and body.
authorized(Body, Cluster) ->
    {[{"authorization", "Bearer " ++ binary_to_list(bearer(Cluster))}], Body}.

request(Method, Request, Cluster) ->
    Options = [{timeout, ?TIMEOUT_MS}, {autoredirect, false} | verification(Cluster)],
    case httpc:request(Method, Request, Options, [{body_format, binary}]) of
        {ok, {{_, Status, _}, Headers, Body}} -> {Status, Headers, Body};
        {error, Reason} -> {error, Reason}
    end.

%% As in the operator: the cluster's authority, and the name in all nodes' certificates.
verification(#{scheme := "https", authorities := File}) ->
    [{ssl, [
        {verify, verify_peer},
        {cacertfile, File},
        {server_name_indication, server_name()}
    ]}];
verification(#{}) ->
    % From OTP 26 on httpc uses the machine's authorities by default.
    [{ssl, []}].

status(I, Cluster) ->
    {200, _, Body} = get(I, "/status", Cluster),
    node_test_json:decode(Body).

%% The workload in the status.
reported(I, Cluster) ->
    #{<<"workload">> := Workload} = status(I, Cluster),
    Workload.

call(I, Module, Function, Arguments, #{nodes := Nodes}) ->
    #{I := {Peer, _}} = Nodes,
    peer:call(Peer, Module, Function, Arguments, ?TIMEOUT_MS).

%% A pod without the bearer serves plain HTTP whatever the cluster has.
url(I, Path, #{scheme := Scheme, mounts_bearer := MountsBearer} = Cluster) ->
    Spoken = case MountsBearer of true -> Scheme; false -> "http" end,
    Address = inet:ntoa(address(I, Cluster)),
    lists:flatten(io_lib:format("~s://~s:~b~s", [Spoken, Address, ?HTTP_PORT, Path])).

address(I, #{net := {A, B}}) ->
    {127, A, B, I + 1}.

name(I) ->
    "test-" ++ integer_to_list(I).

%% The text of the configuration, with changes to the cluster's own.
configuration(Changes, #{count := Count, overrides := Overrides} = Cluster) ->
    Seed = {
        list_to_binary(name(0)), list_to_binary(inet:ntoa(address(0, Cluster))), ?PORT
    },
    Settings = #{
        cluster => <<"test">>,
        namespace => <<"default">>,
        replicas => Count,
        revision => <<"1">>,
        seeds => [Seed],
        listen_port => ?PORT,
        http_port => ?HTTP_PORT,
        overlay => {full_mesh, #{}},
        channels => [#{name => default}, #{name => gossip, monotonic => true}],
        workload => workload(#{}),
        run => <<"r1">>
    },
    lists:flatten(
        io_lib:format("~p.~n", [maps:merge(maps:merge(Settings, Overrides), Changes)])
    ).

%% The ad counter, with changes to its parameters.
workload(Changes) ->
    Parameters = #{
        ads => 2,
        impressions => 60,
        increment_interval => 40,
        propagation_interval => 20
    },
    {adcounter, maps:merge(Parameters, Changes)}.

%% Until the condition holds.
await(Condition) ->
    await(Condition, erlang:monotonic_time(millisecond) + ?TIMEOUT_MS).

await(Condition, Deadline) ->
    case Condition() of
        true ->
            ok;
        Other ->
            erlang:monotonic_time(millisecond) < Deadline orelse
                error({condition_never_held, Other}),
            receive after 20 -> ok end,
            await(Condition, Deadline)
    end.

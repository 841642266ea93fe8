%%% @doc The HTTP interface of one whole node, with valid and invalid requests.
-module(node_http_tests).

-include_lib("eunit/include/eunit.hrl").

-define(T, node_test_cluster).

http_test_() ->
    {setup, fun() -> ?T:start(0, ?T:new(1)) end, fun ?T:stop/1, fun(Cluster) ->
        {timeout, 600, [
            {Title, {timeout, 600, fun() -> Test(Cluster) end}}
         || {Title, Test} <- [
                {"it is alive and ready", fun probes/1},
                {"metrics are of the exposition format", fun metrics/1},
                {"the view of the overlay", fun overlay/1},
                {"the status has what the operator reads", fun status/1},
                {"it has the traffic to each peer on request", fun traffic/1},
                {"other paths and methods are refused", fun refusals/1},
                {"a start and a configuration need the bearer", fun authorization/1},
                {"another bearer takes effect without a restart", fun other_bearer/1},
                {"two hundred slow clients do not block probes", fun slow_clients/1},
                {"a start needs the id of this run", fun wrong_run/1},
                {"a start is accepted once and again", fun start/1},
                {"requests that are malformed or too large are refused", fun malformed/1},
                {"hanging clients delay no other client", fun hanging/1},
                {"scaling changes the members that must be done", fun scaling/1},
                {"another overlay, and other lanes", fun configuration/1},
                {"a configuration that is wrong changes nothing", fun bad_configurations/1},
                {"settings survive a crash of their process", fun survival/1},
                {"crash reports cannot contain the token", fun crash_reports/1}
            ]
        ]}
    end}.

probes(Cluster) ->
    ok = ?T:await(fun() -> element(1, ?T:get(0, "/readyz", Cluster)) =:= 200 end),
    ?assertMatch({200, _, <<"ok\n">>}, ?T:get(0, "/livez", Cluster)),
    ?assertMatch({200, _, <<"ok\n">>}, ?T:get(0, "/livez?verbose=1", Cluster)).

metrics(Cluster) ->
    {200, Headers, Body} = ?T:get(0, "/metrics", Cluster),
    ?assertEqual(
        "text/plain; version=0.0.4; charset=utf-8", proplists:get_value("content-type", Headers)
    ),
    _ = [
        ?assertMatch({Name, {match, _}}, {Name, re:run(Body, "^" ++ Name ++ "[ {]", [multiline])})
     || Name <- [
            "partisan_overlay_joined",
            "partisan_overlay_active_view_size",
            "lasp_sync_bytes_total",
            "adcounter_value",
            "adcounter_ads_enabled",
            "adcounter_converged",
            "erlang_vm_memory_bytes",
            "erlang_vm_processes",
            "erlang_vm_run_queue",
            "partisan_lane_queue_limit_bytes",
            "process_cpu_seconds_total",
            "partisan_build_info"
        ]
    ],
    ?assertEqual(nomatch, binary:match(Body, ?T:token(Cluster))).

overlay(Cluster) ->
    {200, Headers, Body} = ?T:get(0, "/overlay", Cluster),
    ?assertEqual("application/json", proplists:get_value("content-type", Headers)),
    ?assertMatch(
        #{
            <<"node">> := <<"test-0">>,
            <<"incarnation">> := _,
            <<"overlay">> := <<"full_mesh">>,
            <<"joined">> := _,
            <<"active">> := [],
            <<"passive">> := []
        },
        node_test_json:decode(Body)
    ).

status(Cluster) ->
    #{<<"channels">> := Channels} = Status = ?T:status(0, Cluster),
    ?assertMatch(
        #{
            <<"node">> := <<"test-0">>,
            <<"incarnation">> := _,
            <<"version">> := _,
            <<"otp">> := _,
            <<"uptime_seconds">> := _,
            <<"revision">> := <<"1">>,
            <<"overlay">> := #{<<"kind">> := <<"full_mesh">>, <<"former">> := null},
            <<"memory_bytes">> := _,
            <<"tls">> := null,
            <<"sync_payload_bytes">> := 0,
            <<"workload">> := #{
                <<"kind">> := <<"adcounter">>,
                <<"run">> := <<"r1">>,
                <<"phase">> := <<"waiting">>,
                <<"increments">> := 0,
                <<"value">> := 0,
                <<"threshold">> := 120,
                <<"ads_enabled">> := 2,
                <<"nodes_done">> := 0,
                <<"converged">> := false,
                <<"started_at">> := null,
                <<"finished_at">> := null,
                <<"superseded">> := #{}
            }
        },
        Status
    ),
    _ = [
        ?assertMatch(
            #{
                <<"sent_messages">> := _,
                <<"sent_bytes">> := _,
                <<"received_messages">> := _,
                <<"received_bytes">> := _,
                <<"dropped">> := _,
                <<"queue_bytes">> := _,
                <<"connections">> := _
            },
            maps:get(Name, Channels)
        )
     || Name <- [<<"default">>, <<"gossip">>, <<"overlay">>]
    ].

traffic(Cluster) ->
    ?assertNot(is_map_key(<<"traffic">>, ?T:status(0, Cluster))),
    {200, _, Body} = ?T:get(0, "/status?traffic", Cluster),
    ?assertMatch(
        #{
            <<"node">> := <<"test-0">>,
            <<"traffic">> := #{
                <<"peers">> := #{}, <<"others">> := #{<<"peers">> := 0, <<"channels">> := #{}}
            }
        },
        node_test_json:decode(Body)
    ).

refusals(Cluster) ->
    ?assertMatch({404, _, _}, ?T:get(0, "/", Cluster)),
    ?assertMatch({404, _, _}, ?T:get(0, "/status/../../etc/passwd", Cluster)),
    ?assertMatch({405, _, _}, ?T:get(0, "/workload/start", Cluster)),
    ?assertMatch({405, _, _}, ?T:get(0, "/configuration", Cluster)),
    ?assertMatch({405, _, _}, ?T:post(0, "/status", {[], ""}, Cluster)).

authorization(Cluster) ->
    Token = binary_to_list(?T:bearer(Cluster)),
    _ = [
        ?assertMatch({401, _, _}, ?T:post(0, Path, {Headers, "r1"}, Cluster))
     || Path <- ["/workload/start", "/configuration"], Headers <- [
            [],
            [{"authorization", ""}],
            [{"authorization", Token}],
            [{"authorization", "Bearer"}],
            [{"authorization", "Bearer " ++ tl(Token)}],
            [{"authorization", "Bearer " ++ Token ++ "0"}],
            [{"authorization", "Basic " ++ Token}],
            [{"authorization", "Bearer " ++ binary_to_list(?T:token(Cluster))}]
        ]
    ].

other_bearer(Cluster) ->
    Other = binary:encode_hex(crypto:strong_rand_bytes(32)),
    ok = ?T:write_bearer(Other, Cluster),
    ?assertMatch({401, _, _}, post_start("r0", Cluster)),
    ?assertMatch({409, _, _}, post_start("r0", Cluster#{bearer := Other})),
    ok = ?T:write_bearer("none", Cluster),
    {503, _, Text} = post_start("r0", Cluster),
    ?assertMatch({match, _}, re:run(Text, "bearer must hold 64 hexadecimal digits")),
    ok = ?T:write_bearer(?T:bearer(Cluster), Cluster).

%% From as many addresses as needed to stay within the limit of each.
slow_clients(Cluster) ->
    Sockets = [connect({127, 0, 0, 2 + I div 15}, Cluster) || I <- lists:seq(0, 199)],
    _ = [gen_tcp:send(Socket, "GET /status HTTP/1.1\r\nhost:") || Socket <- tail(Sockets)],
    ?assertMatch({200, _, _}, ?T:get(0, "/livez", Cluster)),
    ?assertMatch({200, _, _}, ?T:get(0, "/readyz?wait=10", Cluster)),
    {200, _, Metrics} = ?T:get(0, "/metrics", Cluster),
    ?assertMatch(
        {match, _}, re:run(Metrics, "partisan_http_refused_total{reason=\"displaced\"} [1-9]")
    ),
    _ = [ok = gen_tcp:close(Socket) || Socket <- Sockets].

%% The latest ones, not displaced yet.
tail(Sockets) ->
    lists:nthtail(length(Sockets) - 30, Sockets).

wrong_run(Cluster) ->
    ?assertMatch({409, _, _}, post_start("r0", Cluster)),
    ?assertMatch({400, _, _}, post_start("", Cluster)),
    ?assertMatch(#{<<"phase">> := <<"waiting">>}, workload(Cluster)).

start(Cluster) ->
    ?assertMatch({202, _, _}, post_start("r1\n", Cluster)),
    #{<<"started_at">> := StartedAt} = workload(Cluster),
    ?assert(is_float(StartedAt)),
    ?assertMatch({202, _, _}, post_start("r1", Cluster)),
    ?assertMatch(#{<<"started_at">> := StartedAt}, workload(Cluster)).

malformed(Cluster) ->
    Long = lists:duplicate(10000, $a),
    _ = [
        ?assertMatch({Title, [$4, _, _]}, {Title, status_line(raw(Request, Cluster))})
     || {Title, Request} <- [
            {"garbage", "\0\1\2\3\r\n\r\n"},
            {"a long path", ["GET /", Long, " HTTP/1.1\r\nhost: x\r\n\r\n"]},
            {"long headers", ["GET /status HTTP/1.1\r\nhost: x\r\nx: ", Long, "\r\n\r\n"]},
            {"a large body", ["POST /configuration HTTP/1.1\r\nhost: x\r\n",
                "content-length: 70000\r\n\r\n", lists:duplicate(7, Long)]},
            {"an invalid length",
                "POST /workload/start HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n"}
        ]
    ],
    ?assertMatch({200, _, _}, ?T:get(0, "/livez", Cluster)).

%% Connections that send nothing, or stop in the middle of a word.
hanging(Cluster) ->
    Sockets = [connect(Cluster) || _ <- lists:seq(1, 20)],
    _ = [ok = gen_tcp:send(Socket, "GET /sta") || Socket <- lists:sublist(Sockets, 10)],
    ?assertMatch({200, _, _}, ?T:get(0, "/livez", Cluster)),
    % They are closed eventually.
    _ = [?assertEqual(closed, drain(Socket)) || Socket <- Sockets].

scaling(Cluster) ->
    ok = ?T:await(fun() -> maps:get(<<"converged">>, workload(Cluster)) end),
    ?assertMatch({200, _, _}, configure(#{replicas => 2}, Cluster)),
    ?assertNot(maps:get(<<"converged">>, workload(Cluster))),
    ?assertMatch({200, _, _}, configure(#{replicas => 1}, Cluster)),
    ok = ?T:await(fun() -> maps:get(<<"converged">>, workload(Cluster)) end),
    ?assertMatch(#{<<"phase">> := <<"finished">>}, workload(Cluster)).

configuration(Cluster) ->
    Channels = [#{name => default, parallelism => 3}, #{name => gossip, monotonic => true}],
    Changes = #{overlay => {hyparview, #{}}, channels => Channels, revision => <<"2">>},
    ?assertMatch({200, _, _}, configure(Changes, Cluster)),
    ?assertMatch(
        #{
            <<"revision">> := <<"2">>,
            <<"overlay">> := #{<<"kind">> := <<"hyparview">>, <<"former">> := <<"full_mesh">>}
        },
        ?T:status(0, Cluster)
    ),
    {ok, Channel} = ?T:call(0, partisan_channel, find, [default], Cluster),
    ?assertEqual(3, length([N || N <- lists:seq(0, 9), partisan_channel:has_lane(Channel, N)])).

bad_configurations(Cluster) ->
    Before = ?T:status(0, Cluster),
    _ = [
        begin
            {400, _, Text} = configure(Changes#{revision => <<"3">>}, Cluster),
            ?assertMatch({match, _}, re:run(Text, Words))
        end
     || {Changes, Words} <- [
            {#{overlay => {torus, #{}}}, "overlay must be {Kind"},
            {#{overlay => {static, #{}}}, "overlay must be {Kind"},
            {#{channels => [#{name => default, parallelism => 0}]}, "parallelism of default"},
            {#{replicas => 0}, "replicas must be"},
            {#{cluster => <<"other">>}, "cluster: "}
        ]
    ],
    ?assertMatch({400, _, _}, post("/configuration", "#{", Cluster)),
    Kept = [<<"revision">>, <<"overlay">>],
    ?assertEqual(maps:with(Kept, Before), maps:with(Kept, ?T:status(0, Cluster))).

survival(Cluster) ->
    Settings = ?T:call(0, erlang, whereis, [node_settings], Cluster),
    true = ?T:call(0, erlang, exit, [Settings, kill], Cluster),
    ok = ?T:await(fun() ->
        New = ?T:call(0, erlang, whereis, [node_settings], Cluster),
        is_pid(New) andalso New =/= Settings
    end),
    ?assertMatch(#{<<"revision">> := <<"2">>}, ?T:status(0, Cluster)).

%% Crash reports contain the states of processes, and the arguments of their start.
crash_reports(Cluster) ->
    Supervisors = [node_sup, workload_sup, partisan_sup],
    Processes = [
        Pid
     || Supervisor <- Supervisors,
        {_, Pid, _, _} <- ?T:call(0, supervisor, which_children, [Supervisor], Cluster),
        is_pid(Pid)
    ],
    States = [
        ?T:call(0, sys, get_state, [Name], Cluster)
     || Name <- [node_settings | Supervisors]
    ],
    Dictionaries = [
        ?T:call(0, erlang, process_info, [Pid, dictionary], Cluster)
     || Pid <- Processes
    ],
    Text = unicode:characters_to_binary(io_lib:format("~0p ~0p", [States, Dictionaries])),
    ?assertNotEqual(nomatch, binary:match(Text, <<"node_settings">>)),
    ?assertEqual(nomatch, binary:match(Text, ?T:token(Cluster))),
    ?assertEqual(nomatch, binary:match(Text, ?T:bearer(Cluster))).

tls_test_() ->
    {setup, fun() -> partisan_test_pki:authority() end, fun(_) -> ok end, fun(Authority) ->
        {timeout, 600, [
            {Title, {timeout, 600, fun() -> with_tls(Authority, Options, Test) end}}
         || {Title, Options, Test} <- [
                {"with TLS nothing is served over plain HTTP", #{}, fun only_tls/1},
                {"a pod without the bearer serves as before", #{bearer => false}, fun as_before/1}
            ]
        ]}
    end}.

with_tls(Authority, Options, Test) ->
    Cluster = ?T:start(0, ?T:new(1, Options#{tls => Authority})),
    try
        Test(Cluster)
    after
        ?T:stop(Cluster)
    end.

only_tls(Cluster) ->
    ok = ?T:await(fun() -> element(1, ?T:get(0, "/readyz", Cluster)) =:= 200 end),
    ?assertMatch(#{<<"interface">> := 2}, ?T:status(0, Cluster)),
    ?assertMatch({409, _, _}, post_start("r0", Cluster)),
    ?assertMatch({400, _, _}, post("/configuration", "#{", Cluster)),
    Large = configure(#{replicas => 1, namespace => binary:copy(<<"n">>, 40000)}, Cluster),
    ?assertMatch({200, _, _}, Large),
    Socket = connect(Cluster),
    ok = gen_tcp:send(Socket, "GET /status HTTP/1.1\r\nhost: x\r\n\r\n"),
    ?assertNotMatch({ok, <<"HTTP", _/binary>>}, gen_tcp:recv(Socket, 0)),
    ok = gen_tcp:close(Socket),
    ?assertMatch({error, _}, ?T:get(0, "/status", Cluster#{mounts_bearer := false})),
    % A client may learn it before it is counted.
    ok = ?T:await(fun() ->
        {200, _, Metrics} = ?T:get(0, "/metrics", Cluster),
        Line = "partisan_http_refused_total{reason=\"tls\"} 2",
        re:run(Metrics, Line, [{capture, none}]) =:= match
    end),
    slow_clients(Cluster).

as_before(Cluster) ->
    ?assertMatch(#{<<"interface">> := 2}, ?T:status(0, Cluster)),
    ?assertMatch({409, _, _}, post_start("r0", Cluster)),
    ?assertMatch({401, _, _}, post_start("r0", Cluster#{mounts_bearer := true, scheme := "http"})).

%% Helpers.

post_start(Run, Cluster) ->
    post("/workload/start", Run, Cluster).

configure(Changes, Cluster) ->
    post("/configuration", ?T:configuration(Changes, Cluster), Cluster).

post(Path, Body, Cluster) ->
    ?T:post(0, Path, ?T:authorized(Body, Cluster), Cluster).

workload(Cluster) ->
    #{<<"workload">> := Workload} = ?T:status(0, Cluster),
    Workload.

connect(Cluster) ->
    connect({127, 0, 0, 1}, Cluster).

connect(From, Cluster) ->
    Options = [binary, {active, false}, {ip, From}],
    {ok, Socket} = gen_tcp:connect(?T:address(0, Cluster), 8080, Options),
    Socket.

raw(Request, Cluster) ->
    Socket = connect(Cluster),
    _ = gen_tcp:send(Socket, Request),
    {ok, Answer} = gen_tcp:recv(Socket, 0),
    ok = gen_tcp:close(Socket),
    Answer.

status_line(Answer) ->
    {match, [Code]} = re:run(Answer, "^HTTP/1\\.[01] ([0-9]{3})", [{capture, [1], list}]),
    Code.

drain(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, _} -> drain(Socket);
        {error, closed} -> closed;
        {error, econnreset} -> closed
    end.

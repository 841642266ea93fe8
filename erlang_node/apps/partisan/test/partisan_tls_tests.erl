%%% TLS between nodes on real sockets: authentication, rotation and diagnosis.
-module(partisan_tls_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).
-import(partisan_test_pki, [authority/0, intermediate/1, certificate/2, files/1, options/1]).

-define(CLIENT_USE, {1, 3, 6, 1, 5, 5, 7, 3, 2}).
-define(SERVER_USE, {1, 3, 6, 1, 5, 5, 7, 3, 1}).
%% Longer than a handshake takes on a busy machine, even the first one, which loads TLS, and as long
%% as a test waits for the end of one.
-define(HANDSHAKE, 60000).
-define(SHORT_HANDSHAKE, 500).
-define(PAST, {{2020, 1, 1}, {2021, 1, 1}}).
-define(FUTURE, {{2090, 1, 1}, {2091, 1, 1}}).

%% One node of a cluster over TLS, and connection attempts to it.
unauthenticated_test_() ->
    {setup, fun setup/0, fun shut/1, fun(#{node := Node} = Setup) ->
        [
            [
                {"refused: " ++ atom_to_list(Reason) ++ ", " ++ Title,
                    {timeout, 600, fun() -> is_refused(Reason, attempt(Who), Node) end}}
             || {Reason, Title, Who} <- attempts(Setup)
            ],
            [
                {Title, {timeout, 600, Test}}
             || {Title, Test} <- [
                    {"an endless handshake ends in time", fun() -> slow(Node) end},
                    {"a flood is bounded, and members still get in", fun() -> flood(Setup) end},
                    {"the log says what to fix, once", fun() -> is_logged_once(Node) end},
                    {"nothing has crashed or is left behind",
                        fun() -> nothing_left(Setup) end}
                ]
            ]
        ]
    end}.

%% Two nodes, whose certificates change.
pair_test_() ->
    [
        {Title, {timeout, 600, fun() -> with_files(Test) end}}
     || {Title, Test} <- [
            {"a node without TLS and one with it", fun mixed/1},
            {"authority and certificates are replaced while the nodes run", fun rotation/1},
            {"unusable files do not replace usable credentials", fun bad_rotation/1},
            {"every kind of key, and an intermediate authority", fun kinds/1},
            {"a frozen peer is noticed by its silence", fun frozen/1},
            {"the time of expiry is a metric", fun expiry/1},
            {"without TLS its code is not loaded", fun not_loaded/1},
            {"a configuration that cannot work is answered with the fix", fun refused_files/1}
        ]
    ].

%% Unauthenticated peers.

setup() ->
    Directory = partisan_test_directory:new(),
    Authority = authority(),
    ok = partisan_test_pki:write(Directory, certificate(Authority, #{})),
    Overrides = #{
        tls => files(Directory), handshake_timeout => ?HANDSHAKE, handshakes => 4, seeds => []
    },
    [Node] = partisan_test_cluster:start(1, Overrides),
    ok = call(Node, partisan_test_log, start, [warning]),
    ok = is_refused(plaintext, attempt({tcp, <<"warm up">>}), Node),
    #{
        node => Node,
        directory => Directory,
        authority => Authority,
        overrides => Overrides,
        usage => usage(Node)
    }.

shut(#{node := Node, directory := Directory}) ->
    ok = partisan_test_cluster:stop([Node]),
    ok = file:del_dir_r(Directory).

attempts(#{authority := Authority}) ->
    Tls = fun(Options) -> {tls, options(certificate(Authority, Options))} end,
    Good = options(certificate(Authority, #{})),
    [
        {plaintext, "a peer without TLS", {tcp, <<200:32, "PRTN", 0:(196 * 8)>>}},
        {plaintext, "HTTP", {tcp, <<"GET / HTTP/1.1\r\nHost: x\r\n\r\n">>}},
        {plaintext, "noise", {tcp, <<0, (rand:bytes(1000))/binary>>}},
        {tls_version, "TLS 1.2", {tls, [{versions, ['tlsv1.2']} | Good]}},
        {no_certificate, "a client without one",
            {tls, [{cacerts, proplists:get_value(cacerts, Good)}]}},
        {unknown_ca, "another authority", {tls, options(certificate(authority(), #{}))}},
        {certificate_expired, "an old one", Tls(#{validity => ?PAST})},
        {certificate_expired, "one for later", Tls(#{validity => ?FUTURE})},
        {certificate_name, "one for another cluster", Tls(#{names => ["other", "test.other"]})},
        {certificate_name, "one for no name", Tls(#{names => []})},
        {bad_certificate, "one for servers only", Tls(#{usage => [?SERVER_USE]})},
        {refused_by_peer, "a peer that does not trust us",
            {tls, [{verify, verify_peer} | options(certificate(authority(), #{}))]}},
        {garbage, "noise within TLS", {tls_noise, Good}},
        {timeout, "silence", silence},
        {timeout, "half a greeting", {tcp, <<22, 3, 1, 2, 0, 1>>}},
        {timeout, "silence within TLS", {tls_silence, Good}},
        {closed, "a peer that leaves at once", leave},
        {closed, "a peer that leaves in the middle", {tcp_leave, <<22, 3, 1, 2, 0, 1>>}}
    ].

is_refused(timeout, Attempt, Node) ->
    in_short(Node, fun() -> is_counted(timeout, Attempt, Node) end);
is_refused(Reason, Attempt, Node) ->
    is_counted(Reason, Attempt, Node).

%% For tests in which the timeout ends the handshake.
in_short(Node, Test) ->
    ok = partisan_test_cluster:change(Node, #{handshake_timeout => ?SHORT_HANDSHAKE}),
    try
        Test()
    after
        ok = partisan_test_cluster:change(Node, #{handshake_timeout => ?HANDSHAKE})
    end.

is_counted(Reason, Attempt, Node) ->
    Before = refused(Node, Reason),
    Attempt(Node),
    await(fun() -> refused(Node, Reason) > Before end).

%% Returns when the node has ended the connection, if it does.
attempt({tcp, Bytes}) ->
    fun(Node) ->
        Socket = connect(Node),
        ok = gen_tcp:send(Socket, Bytes),
        ok = until_closed(Socket)
    end;
attempt({tcp_leave, Bytes}) ->
    fun(Node) ->
        Socket = connect(Node),
        ok = gen_tcp:send(Socket, Bytes),
        ok = gen_tcp:close(Socket)
    end;
attempt(silence) ->
    fun(Node) -> ok = until_closed(connect(Node)) end;
attempt(leave) ->
    fun(Node) -> ok = gen_tcp:close(connect(Node)) end;
attempt({Kind, Given}) ->
    fun(Node) ->
        {ok, _} = application:ensure_all_started(ssl),
        Defaults = [{verify, verify_none}, {server_name_indication, disable}, {log_level, none}],
        case ssl:connect(connect(Node), lists:ukeysort(1, Given ++ Defaults), ?HANDSHAKE) of
            {ok, Socket} ->
                Kind =:= tls_noise andalso ssl:send(Socket, <<5:32, "noise">>),
                {error, _} = ssl:recv(Socket, 0, ?HANDSHAKE),
                ssl:close(Socket);
            {error, _} ->
                ok
        end
    end.

slow(Node) ->
    in_short(Node, fun() -> drip(Node) end).

drip(Node) ->
    Socket = connect(Node),
    ok = gen_tcp:send(Socket, <<22, 3, 1, 2, 0, 1>>),
    % A byte now and then does not help: there is one deadline for everything.
    Drip = fun Drip() ->
        case gen_tcp:send(Socket, <<0>>) of
            ok -> receive after 20 -> Drip() end;
            {error, closed} -> closed
        end
    end,
    ?assertEqual(closed, Drip()).

flood(#{node := Node} = Setup) ->
    in_short(Node, fun() -> crowd(Setup) end).

crowd(#{node := Node, overrides := Overrides}) ->
    Sockets = [connect(Node) || _ <- lists:seq(1, 40)],
    [gen_tcp:send(Socket, <<22, 3, 1, 2, 0, 1>>) || Socket <- Sockets],
    #{net := Net, self := Self} = Node,
    Member = partisan_test_cluster:start_node(
        Net, partisan_test_cluster:configuration(Net, 2, Overrides#{seeds => [Self]})
    ),
    ok = await(fun() -> call(Node, partisan, neighbours, []) =:= [name(Member)] end),
    [gen_tcp:close(Socket) || Socket <- Sockets],
    ok = partisan_test_cluster:stop([Member]),
    ok = await(fun() -> call(Node, partisan, neighbours, []) =:= [] end).

is_logged_once(Node) ->
    Lines = call(Node, partisan_test_log, lines, []),
    [
        ?assertMatch({_, [_]}, {Fix, [Line || Line <- Lines, string:find(Line, Fix) =/= nomatch]})
     || Fix <- [
            "does not speak TLS; configure tls on all nodes",
            "does not speak TLS 1.3",
            "presents no certificate",
            "not signed by an authority",
            "not valid now; renew it",
            "issue it for the server_name",
            "rejects the certificate of this node"
        ]
    ].

%% Only warnings are logged, and unauthenticated peers leave nothing behind.
nothing_left(#{node := Node, usage := {Processes, Ports, Atoms}}) ->
    Lines = call(Node, partisan_test_log, lines, []),
    ?assertEqual([], [Line || Line <- Lines, string:find(Line, " warning: ") =:= nomatch]),
    ok = await(fun() ->
        {P, S, _} = usage(Node),
        P =< Processes andalso S =< Ports
    end),
    {_, _, AtomsNow} = usage(Node),
    % Code loaded since has atoms; 60 connection attempts have none.
    ?assert(AtomsNow - Atoms < 1000).

usage(Node) ->
    {
        length(call(Node, erlang, processes, [])),
        length(call(Node, erlang, ports, [])),
        call(Node, erlang, system_info, [atom_count])
    }.

%% Members.

with_files(Test) ->
    Directory = partisan_test_directory:new(),
    try
        Test(Directory)
    after
        ok = file:del_dir_r(Directory)
    end.

with_pair(Overrides, Test) ->
    Nodes = partisan_test_cluster:start(2, Overrides),
    try
        Test(Nodes)
    after
        partisan_test_cluster:stop(Nodes)
    end.

mixed(Directory) ->
    ok = partisan_test_pki:write(Directory, certificate(authority(), #{})),
    [
        with_pair(OfBoth, fun([#{net := Net} = One, _] = Pair) ->
            ok = await(fun() -> are_neighbours(Pair) end),
            ok = call(One, partisan_test_log, start, [warning]),
            Third = partisan_test_cluster:start_node(
                Net, partisan_test_cluster:configuration(Net, 3, OfThird)
            ),
            ok = await(fun() -> refused(One, Reason) > 0 end),
            ?assertEqual([], call(Third, partisan, neighbours, [])),
            ?assertEqual([<<"node-2">>], call(One, partisan, neighbours, [])),
            [Line | _] = call(One, partisan_test_log, lines, []),
            Remedy = "configure tls on all nodes of the cluster",
            ?assertNotEqual(nomatch, string:find(Line, Remedy)),
            ok = partisan_test_cluster:stop([Third])
        end)
     || {OfBoth, OfThird, Reason} <- [
            {#{}, #{tls => files(Directory)}, unexpected_tls},
            {#{tls => files(Directory)}, #{}, plaintext}
        ]
    ].

%% Old and new authority together while the certificates change, then the new one alone.
rotation(Directory) ->
    #{root := OldRoot} = Old = authority(),
    #{root := NewRoot} = New = authority(),
    OldCertificate = certificate(Old, #{}),
    NewCertificate = certificate(New, #{}),
    ok = partisan_test_pki:write(Directory, OldCertificate),
    with_pair(#{tls => files(Directory)}, fun([A, B] = Nodes) ->
        ok = await(fun() -> are_neighbours(Nodes) end),
        ok = exchange(A, B),
        [
            begin
                ok = partisan_test_pki:write(Directory, Certificate, Believed),
                % Reported without a connection that would make the node read the files.
                [?assertEqual(summary(Certificate, Believed), told_credentials(N)) || N <- Nodes],
                [call(Node, partisan_test_cluster, close_connections, []) || Node <- Nodes],
                ok = exchange(A, B),
                ok = exchange(B, A)
            end
         || {Certificate, Believed} <- [
                {OldCertificate, [OldRoot, NewRoot]},
                {NewCertificate, [OldRoot, NewRoot]},
                {NewCertificate, [NewRoot]}
            ]
        ],
        ok = await(fun() -> are_neighbours(Nodes) end),
        % A peer with the old certificate is no longer authenticated.
        ok = is_refused(unknown_ca, attempt({tls, options(OldCertificate)}), A)
    end).

summary(#{certificate := Certificate}, Believed) ->
    {fingerprint(Certificate), [fingerprint(Authority) || Authority <- Believed]}.

told_credentials(Node) ->
    #{certificate := Certificate, authorities := Authorities, expires_at := _} =
        call(Node, partisan_tls, credentials, []),
    {Certificate, Authorities}.

fingerprint(Der) ->
    Digits = [io_lib:format("~2.16.0b", [Byte]) || <<Byte>> <= crypto:hash(sha256, Der)],
    iolist_to_binary(["sha256:" | Digits]).

bad_rotation(Directory) ->
    Authority = authority(),
    Good = certificate(Authority, #{}),
    ok = partisan_test_pki:write(Directory, Good),
    with_pair(#{tls => files(Directory)}, fun([A, B] = Nodes) ->
        ok = await(fun() -> are_neighbours(Nodes) end),
        ok = call(A, partisan_test_log, start, [warning]),
        ok = partisan_test_pki:write(Directory, certificate(Authority, #{validity => ?PAST})),
        [call(Node, partisan_test_cluster, close_connections, []) || Node <- Nodes],
        ok = exchange(A, B),
        [Line] = call(A, partisan_test_log, lines, []),
        ?assertNotEqual(nomatch, string:find(Line, "has expired on 2021")),
        ok = file:delete(filename:join(Directory, "tls.key")),
        [call(Node, partisan_test_cluster, close_connections, []) || Node <- Nodes],
        ok = exchange(B, A)
    end).

kinds(Directory) ->
    #{root := Root} = Authority = authority(),
    #{certificate := Between} = Intermediate = intermediate(Authority),
    [
        begin
            ok = partisan_test_pki:write(Directory, Certificate, Believed),
            with_pair(#{tls => files(Directory)}, fun([A, B]) -> ok = exchange(A, B) end)
        end
     || {Certificate, Believed} <- [
            {certificate(Authority, #{key => {rsa, 2048, 65537}}), [Root]},
            {certificate(Authority, #{key => {namedCurve, ed25519}}), [Root]},
            {certificate(Authority, #{usage => [?CLIENT_USE, ?SERVER_USE]}), [Root]},
            {certificate(Intermediate, #{}), [Root]},
            {(certificate(Intermediate, #{}))#{chain := []}, [Root, Between]}
        ]
    ].

frozen(Directory) ->
    ok = partisan_test_pki:write(Directory, certificate(authority(), #{})),
    Overrides = #{tls => files(Directory), heartbeat_interval => 1000, dial_timeout => 1000},
    with_pair(Overrides, fun([A, B] = Nodes) ->
        ok = await(fun() -> are_neighbours(Nodes) end),
        % With more in flight than the socket takes.
        ok = call(B, partisan_test_sink, start, [sink]),
        ok = partisan_test_cluster:freeze(B),
        Key = binary:copy(<<"x">>, 100000),
        ok = partisan_test_cluster:send_in_background(A, B, Key, 1000, default),
        ok = await(fun() -> call(A, partisan, neighbours, []) =:= [] end),
        ok = partisan_test_cluster:thaw(B),
        ok = await(fun() -> are_neighbours(Nodes) end)
    end).

expiry(Directory) ->
    ok = partisan_test_pki:write(Directory, certificate(authority(), #{})),
    with_pair(#{tls => files(Directory)}, fun([A, _]) ->
        Now = erlang:system_time(second),
        [Expires] = [
            Value
         || #{name := partisan_tls_certificate_expiration_timestamp_seconds, samples := Samples} <-
                call(A, partisan_metrics, collect, []),
            {[], Value} <- Samples
        ],
        ?assert(Expires > Now),
        ?assert(Expires < Now + 366 * 86400)
    end).

not_loaded(_Directory) ->
    with_pair(#{}, fun([A, B]) ->
        ok = exchange(A, B),
        ?assertEqual(none, call(A, partisan_tls, credentials, [])),
        Loaded = [Module || {Module, _} <- call(A, code, all_loaded, [])],
        ?assertEqual(
            [], [M || M <- [ssl, public_key, partisan_credentials], lists:member(M, Loaded)]
        )
    end).

refused_files(Directory) ->
    #{root := Root} = Authority = authority(),
    #{certificate := BetweenCertificate} = Between = intermediate(Authority),
    Good = certificate(Authority, #{}),
    Tls = files(Directory),
    Replace = fun(File, Content) ->
        file:write_file(filename:join(Directory, File), Content)
    end,
    Write = fun(Certificate, Believed) ->
        partisan_test_pki:write(Directory, Certificate, Believed)
    end,
    Text = fun(Given) ->
        Configuration = partisan_test_cluster:configuration({1, 1}, 1, #{tls => Given}),
        {error, Answer} = partisan_config:set(Configuration),
        Answer
    end,
    [
        begin
            ok = Prepare(),
            ?assertNotEqual({nomatch, Wanted}, {string:find(Text(Tls), Wanted), Wanted})
        end
     || {Prepare, Wanted} <- [
            {fun() -> ok end, "tls.crt: no such file"},
            {fun() -> Replace("tls.crt", "not PEM") end, "holds no certificate"},
            {fun() -> Write(certificate(Authority, #{names => ["b"]}), [Root]) end,
                "not for the DNS name test"},
            {fun() -> Write(certificate(Authority, #{validity => ?PAST}), [Root]) end,
                "expired on 2021"},
            {fun() -> Write(certificate(Authority, #{validity => ?FUTURE}), [Root]) end,
                "is the clock right?"},
            {fun() -> Write(certificate(authority(), #{}), [Root]) end,
                "is not signed by an authority in"},
            {fun() -> Write(certificate(Between, #{}), [BetweenCertificate]) end,
                "add its issuer's root there"},
            {fun() -> Write(Good#{key := maps:get(key, authority())}, [Root]) end,
                "is not that of"},
            {fun() -> Replace("tls.key", "") end, "holds no private key"},
            {fun() -> Write(Good, []) end, "ca.crt holds no certificate"}
        ]
    ],
    ?assertNotEqual(nomatch, string:find(Text(#{certfile => "x"}), "tls must be none or #{")).

%% Helpers.

are_neighbours([A, B]) ->
    call(A, partisan, neighbours, []) =:= [name(B)] andalso
        call(B, partisan, neighbours, []) =:= [name(A)].

exchange(From, To) ->
    _ = call(To, partisan_test_sink, start, [sink]),
    ok = await(fun() -> call(From, partisan, neighbours, []) =:= [name(To)] end),
    Options = #{ack => true, timeout => 10000},
    ok = call(From, partisan, forward, [name(To), sink, hello, Options]),
    [hello] = call(To, partisan_test_sink, take, [sink, 1]),
    call(To, partisan_test_sink, stop, [sink]).

connect(Node) ->
    #{host := Host, port := Port} = partisan_test_cluster:peer(Node),
    {ok, Socket} = gen_tcp:connect(Host, Port, [binary, {active, false}]),
    Socket.

until_closed(Socket) ->
    case gen_tcp:recv(Socket, 0, 10000) of
        {ok, _Alert} -> until_closed(Socket);
        {error, Reason} when Reason =:= closed; Reason =:= econnreset -> ok
    end.

refused(Node, Reason) ->
    call(Node, partisan_metrics, value, [partisan_refused_connections_total, [Reason]]).

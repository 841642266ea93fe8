%%% Authentication, failure detection and mass joins, on real sockets.
-module(partisan_membership_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

-define(PORT, 7946).

unauthenticated_test_() ->
    {setup,
        fun() ->
            partisan_test_cluster:start(1, #{handshakes => 4})
        end,
        fun partisan_test_cluster:stop/1, fun([Node]) ->
            [
                {Title, {timeout, 600, fun() -> Test(Node) end}}
             || {Title, Test} <- [
                    {"garbage is refused", fun garbage/1},
                    {"an oversized message is refused unread", fun oversize/1},
                    {"another version is refused with the reason", fun other_version/1},
                    {"a half-open connection ends in time", fun half_open/1},
                    {"a slow handshake ends in time", fun slow_loris/1},
                    {"a flood is bounded, and members still get in", fun flood/1},
                    {"another cluster, another token, another name", fun impostors/1}
                ]
            ]
        end}.

failures_test_() ->
    [
        {Title, {timeout, 600, fun() -> with_nodes(Count, Overrides, Test) end}}
     || {Title, Count, Overrides, Test} <- [
            {"a killed peer is noticed, and its next incarnation too", 2, #{}, fun killed/1},
            {"a frozen peer is noticed by its silence", 2,
                #{heartbeat_interval => 1000, dial_timeout => 1000}, fun frozen/1},
            {"a crash of the manager is survived", 2, #{}, fun manager_crash/1},
            {"stopping the application leaves gracefully", 2, #{}, fun stopped/1},
            {"greetings do not republish the view", 2,
                #{
                    overlay =>
                        {client_server, #{
                            servers => [<<"node-1">>],
                            greeting_interval => 20,
                            % A busy machine may hold a client up for longer than three greetings.
                            patience => 1000
                        }}
                },
                fun greetings/1},
            {"twelve nodes join through one seed and are one component", 12,
                #{overlay => {hyparview, #{}}}, fun crowd/1}
        ]
    ].

with_nodes(Count, Overrides, Test) ->
    Nodes = partisan_test_cluster:start(Count, Overrides),
    try
        Test(Nodes)
    after
        partisan_test_cluster:stop(Nodes)
    end.

%% Unauthenticated peers.

garbage(Node) ->
    % Code that is loaded meanwhile, by a timer for example, would add atoms.
    {ok, Modules} = call(Node, application, get_key, [partisan, modules]),
    ok = call(Node, code, ensure_modules_loaded, [Modules]),
    ok = gen_tcp:send(connect(Node), <<0:32>>),
    ok = await(fun() -> refused(Node, garbage) =:= 1 end),
    Before = refused(Node, garbage),
    Atoms = call(Node, erlang, system_info, [atom_count]),
    [
        begin
            Socket = connect(Node),
            ok = gen_tcp:send(Socket, <<(byte_size(Bytes)):32, Bytes/binary>>),
            ?assertEqual({error, closed}, gen_tcp:recv(Socket, 0))
        end
     || Bytes <- [
            <<>>,
            <<"x">>,
            <<"PRTN">>,
            <<"PRTN", 1>>,
            <<"PRTN", 1, 0:(32 * 8), 255, "short">>,
            term_to_binary({some, <<"atom">>, [list_to_atom("never_seen_" ++ os:getpid())]}),
            rand:bytes(1000)
        ]
    ],
    ok = await(fun() -> refused(Node, garbage) =:= Before + 7 end),
    ?assertEqual(Atoms, call(Node, erlang, system_info, [atom_count])).

oversize(Node) ->
    Before = refused(Node, oversize),
    Socket = connect(Node),
    % Its first four bytes announce more than a gigabyte.
    ok = gen_tcp:send(Socket, <<"GET / HTTP/1.1\r\nHost: x\r\n\r\n">>),
    ?assertEqual({error, closed}, gen_tcp:recv(Socket, 0)),
    ok = await(fun() -> refused(Node, oversize) =:= Before + 1 end).

other_version(Node) ->
    Socket = connect(Node),
    ok = gen_tcp:send(Socket, <<5:32, "PRTN", 99>>),
    ?assertEqual({ok, <<2:32, 0, 1>>}, gen_tcp:recv(Socket, 6)),
    ok = await(fun() -> refused(Node, version) =:= 1 end).

half_open(Node) ->
    % From here on; earlier ones are refused for their contents, however slow the machine is.
    ok = partisan_test_cluster:change(Node, #{handshake_timeout => 300}),
    Before = refused(Node, timeout),
    Socket = connect(Node),
    ?assertEqual({error, closed}, gen_tcp:recv(Socket, 0)),
    ok = await(fun() -> refused(Node, timeout) =:= Before + 1 end).

slow_loris(Node) ->
    Socket = connect(Node),
    ok = gen_tcp:send(Socket, <<100:32>>),
    % A byte now and then does not help: there is one deadline for everything.
    Drip = fun Drip() ->
        case gen_tcp:send(Socket, <<"P">>) of
            ok -> receive after 20 -> Drip() end;
            {error, closed} -> closed
        end
    end,
    ?assertEqual(closed, Drip()).

flood(Node) ->
    Connect = fun(Count) -> [connect(Node) || _ <- lists:seq(1, Count)] end,
    Sockets = Connect(40),
    ok = await(fun() ->
        % On a busy machine the others may have timed out.
        _ = Connect(4),
        handshakes(Node) =:= 4
    end),
    Member = join_as(Node, 2, #{}),
    ok = await(fun() -> call(Node, partisan, neighbours, []) =:= [name(Member)] end),
    [gen_tcp:close(Socket) || Socket <- Sockets],
    ok = partisan_test_cluster:stop([Member]),
    ok = await(fun() -> call(Node, partisan, neighbours, []) =:= [] end).

impostors(Node) ->
    Default = #{handshake_timeout => partisan_config:default(handshake_timeout)},
    ok = partisan_test_cluster:change(Node, Default),
    [
        begin
            Before = refused(Node, Reason),
            Impostor = join_as(Node, 3, Overrides),
            ok = await(fun() -> refused(Node, Reason) > Before end),
            ?assertEqual([], call(Node, partisan, neighbours, [])),
            ?assertEqual([], call(Impostor, partisan, neighbours, [])),
            ok = partisan_test_cluster:stop([Impostor])
        end
     || {Reason, Overrides} <- [
            {token, #{token => <<"0123456789abcdef-another">>}},
            {cluster, #{cluster => <<"another">>}},
            {name, #{seeds => [(partisan_test_cluster:peer(Node))#{name => <<"another">>}]}}
        ]
    ].

%% Failures and restarts.

killed([A, B]) ->
    ok = neighbours([A, B]),
    ok = partisan_test_cluster:kill(B),
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [] end),
    B2 = join_as(A, 2, #{}),
    ok = neighbours([A, B2]),
    ok = call(B2, partisan_test_sink, start, [sink]),
    ok = call(A, partisan, forward, [name(B2), sink, again]),
    ?assertEqual([again], call(B2, partisan_test_sink, take, [sink, 1])),
    % So fast that the new incarnation connects before the old one is missed.
    ok = partisan_test_cluster:kill(B2),
    B3 = join_as(A, 2, #{}),
    ok = neighbours([A, B3]),
    ok = call(B3, partisan_test_sink, start, [sink]),
    ok = await(fun() ->
        ok =:= call(A, partisan, forward, [name(B3), sink, again]) andalso
            call(B3, partisan_test_sink, count, [sink]) > 0
    end),
    ok = partisan_test_cluster:stop([B2, B3]).

frozen([A, B]) ->
    ok = neighbours([A, B]),
    ok = partisan_test_cluster:freeze(B),
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [] end),
    ok = partisan_test_cluster:thaw(B),
    ok = neighbours([A, B]).

manager_crash([A, B]) ->
    ok = neighbours([A, B]),
    true = call(B, erlang, exit, [call(B, erlang, whereis, [partisan_manager]), kill]),
    ok = call(B, partisan_test_sink, start, [sink]),
    ok = await(fun() ->
        ok =:= call(A, partisan, forward, [name(B), sink, hi]) andalso
            call(B, partisan_test_sink, count, [sink]) > 0
    end),
    ok = neighbours([A, B]).

%% A server with a thousand clients would otherwise do nothing else.
greetings([Server | _] = Nodes) ->
    ok = await(fun() -> [length(call(N, partisan, neighbours, [])) || N <- Nodes] =:= [1, 1] end),
    Counted = [{partisan_view, publish, 2}, {partisan_stack, handle, 2}],
    [1 = call(Server, erlang, trace_pattern, [MFA, true, [call_count]]) || MFA <- Counted],
    Calls = fun(Function) ->
        {call_count, Count} = call(Server, erlang, trace_info, [Function, call_count]),
        Count
    end,
    ok = await(fun() -> Calls({partisan_stack, handle, 2}) > 50 end),
    ?assertEqual(0, Calls({partisan_view, publish, 2})).

stopped([A, B]) ->
    ok = neighbours([A, B]),
    ok = call(B, application, stop, [partisan]),
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [] end).

crowd(Nodes) ->
    ok = await(fun() -> components(Nodes) =:= 1 end),
    ?assert(lists:all(fun(Node) -> call(Node, partisan, joined, []) end, Nodes)),
    Now = erlang:system_time(second),
    [
        begin
            [{[], JoinedAt}] = call(Node, partisan_view, joined_at_sample, []),
            ?assert(JoinedAt > Now - 3600 andalso JoinedAt < Now + 1)
        end
     || Node <- Nodes
    ],
    % A broadcast reaches all, once.
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
    Words = [{word, I} || I <- lists:seq(1, 20)],
    [ok = call(lists:nth(1 + I rem 12, Nodes), partisan, broadcast, [sink, Word])
     || {word, I} = Word <- Words],
    [
        ?assertEqual(Words, lists:sort(call(Node, partisan_test_sink, take, [sink, 20])))
     || Node <- Nodes
    ],
    [?assertEqual(0, call(Node, partisan_test_sink, count, [sink])) || Node <- Nodes].

%% Internals.

neighbours(Nodes) ->
    await(fun() ->
        lists:all(
            fun(Node) ->
                Others = lists:sort([name(N) || N <- Nodes, N =/= Node]),
                lists:sort(call(Node, partisan, neighbours, [])) =:= Others
            end,
            Nodes
        )
    end).

%% Components of the graph of links that both ends agree on.
components(Nodes) ->
    Views = [{name(Node), call(Node, partisan, neighbours, [])} || Node <- Nodes],
    Graph = digraph:new(),
    [digraph:add_vertex(Graph, Name) || {Name, _} <- Views],
    [
        digraph:add_edge(Graph, Name, Other)
     || {Name, View} <- Views,
        Other <- View,
        lists:member(Name, proplists:get_value(Other, Views))
    ],
    Count = length(digraph_utils:components(Graph)),
    true = digraph:delete(Graph),
    Count.

%% Another node of the cluster that the given one began.
join_as(#{net := Net}, Index, Overrides) ->
    partisan_test_cluster:start_node(
        Net, partisan_test_cluster:configuration(Net, Index, Overrides)
    ).

connect(Node) ->
    #{host := Host} = partisan_test_cluster:peer(Node),
    {ok, Socket} = gen_tcp:connect(Host, ?PORT, [binary, {active, false}]),
    Socket.

refused(Node, Reason) ->
    call(Node, partisan_metrics, value, [partisan_refused_connections_total, [Reason]]).

handshakes(Node) ->
    State = call(Node, sys, get_state, [partisan_listener]),
    map_size(element(5, State)).

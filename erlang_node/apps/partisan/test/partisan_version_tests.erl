%%% @doc Nodes of different versions: the choice of a version as equations, and connections with
%%% peers that are byte-exact simulations of version 1 or of a future version.
-module(partisan_version_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

-define(PORT, 7946).
-define(TIMEOUT, 60000).
-define(VERSION_1_NONCE, <<0:256>>).

%% Equations.

agreed_test_() ->
    [
        ?_assertEqual(Version, partisan_version:agreed(Ours, Theirs))
     || {Ours, Theirs, Version} <- [
            {{1, 1}, {1, 1}, 1},
            {{1, 2}, {1, 1}, 1},
            {{1, 2}, {1, 9}, 2},
            {{1, 5}, {2, 3}, 3},
            {{1, 2}, {3, 9}, none}
        ]
    ].

both_agree_test_() ->
    {timeout, 600, ?_assert(proper:quickcheck(prop_both_agree(), [{to_file, user}]))}.

%% Both sides choose the same version, which both support, or none if there is none.
prop_both_agree() ->
    ?FORALL({{LowA, HighA} = A, {LowB, HighB} = B}, {offer(), offer()}, begin
        Common = [V || V <- lists:seq(LowA, HighA), V >= LowB, V =< HighB],
        Chosen = partisan_version:agreed(A, B),
        Chosen =:= partisan_version:agreed(B, A) andalso
            Chosen =:= lists:last([none | Common])
    end).

%% Any offer is read back; random bytes are the nonce of version 1.
nonce_test_() ->
    {timeout, 600, ?_assert(proper:quickcheck(
        ?FORALL({Offer, Random}, {offer(), binary(32)},
            partisan_version:offer(partisan_version:nonce(Offer)) =:= Offer andalso
                partisan_version:offer(Random) =:= {1, 1}),
        [{to_file, user}]
    ))}.

offer() ->
    ?LET({Low, More}, {range(1, 9), range(0, 9)}, {Low, Low + More}).

%% The dialling node.

dial_test_() ->
    [
        {"a listener of version 1", ?_assertMatch({ok, _, 1}, dial(?VERSION_1_NONCE))},
        {"a listener of this version", ?_assertMatch({ok, _, 2}, dial(partisan_version:nonce()))},
        {"a listener of a later version that supports ours",
            ?_assertMatch({ok, _, 2}, dial(partisan_version:nonce({2, 9})))},
        {"a listener of a later version that does not",
            ?_assertEqual({error, {refused, version}}, dial(partisan_version:nonce({3, 9})))}
    ].

%% The other side is the listener of version 1, byte for byte, except for the nonce.
dial(Nonce) ->
    {ok, Listen} = gen_tcp:listen(0, [binary, {packet, 4}, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listen),
    Listener = spawn_link(fun() -> listen_once(Listen, Nonce) end),
    Monitor = monitor(process, Listener),
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {packet, raw}, {active, false}]),
    Whom = partisan_peer:new(<<"old">>, {127, 0, 0, 1}, Port),
    Self = partisan_peer:new(<<"node-1">>, {127, 0, 0, 1}, 7946, 42),
    Local = #{self => Self, cluster => <<"test">>, token => partisan_test_cluster:token()},
    Deadline = erlang:monotonic_time(millisecond) + ?TIMEOUT,
    Answer = partisan_handshake:dial(
        Socket, Whom, {default, 3}, #{local => Local, deadline => Deadline}
    ),
    ok = gen_tcp:close(Socket),
    receive
        {'DOWN', Monitor, process, Listener, Reason} -> ?assertEqual(normal, Reason)
    end,
    Answer.

listen_once(Listen, Nonce) ->
    {ok, Socket} = gen_tcp:accept(Listen),
    {ok, Hello} = gen_tcp:recv(Socket, 0, ?TIMEOUT),
    <<"PRTN", 1, _Nonce:32/binary,
        A, Cluster:A/binary,
        B, Name:B/binary, C, Host:C/binary, Port:16, Incarnation:64,
        D, Whom:D/binary,
        E, Channel:E/binary, Lane:16>> = Hello,
    ?assertEqual(
        {<<"test">>, <<"node-1">>, <<"127.0.0.1">>, 7946, 42, <<"old">>, <<"default">>, 3},
        {Cluster, Name, Host, Port, Incarnation, Whom, Channel, Lane}
    ),
    Challenge = <<1, Nonce/binary, 3, "old", 9, "127.0.0.1", 7946:16, 7:64>>,
    ok = gen_tcp:send(Socket, Challenge),
    case gen_tcp:recv(Socket, 0, ?TIMEOUT) of
        {ok, Proof} ->
            ?assertEqual(mac("dialler", Hello, Challenge), Proof),
            ok = gen_tcp:send(Socket, <<1, (mac("listener", Hello, Challenge))/binary>>);
        {error, closed} ->
            ok
    end.

%% The listening node.

accept_test_() ->
    {setup,
        fun() ->
            Nodes = [Node | _] = partisan_test_cluster:start(2, #{}),
            ok = call(Node, partisan_test_sink, start, [sink]),
            Nodes
        end,
        fun partisan_test_cluster:stop/1, fun(Nodes) ->
            [
                {Title, {timeout, 600, fun() -> Test(Nodes) end}}
             || {Title, Test} <- [
                    {"a dialler of version 1", fun version_1/1},
                    {"a dialler of a later version that supports ours", fun later/1},
                    {"a dialler of a later version that does not", fun too_new/1},
                    {"an offer altered on the way", fun altered/1},
                    {"two nodes know the agreed version", fun known/1}
                ]
            ]
        end}.

version_1([Node | _]) ->
    used(?VERSION_1_NONCE, Node).

later([Node | _]) ->
    used(partisan_version:nonce({2, 9}), Node).

%% Messages and heartbeats as in version 1.
used(Nonce, Node) ->
    {Socket, Hello, Challenge} = challenged(Nonce, Node),
    ok = gen_tcp:send(Socket, mac("dialler", Hello, Challenge)),
    ?assertEqual(
        {ok, <<1, (mac("listener", Hello, Challenge))/binary>>}, gen_tcp:recv(Socket, 0, ?TIMEOUT)
    ),
    Mark = rand:bytes(16),
    ok = gen_tcp:send(Socket, [1, term_to_binary({sink, Mark})]),
    ok = gen_tcp:send(Socket, [3]),
    ?assertEqual({ok, <<4>>}, gen_tcp:recv(Socket, 0, ?TIMEOUT)),
    ?assertEqual([Mark], call(Node, partisan_test_sink, take, [sink, 1])),
    gen_tcp:close(Socket).

too_new([Node | _]) ->
    {Socket, _Hello} = greeted(partisan_version:nonce({3, 9}), Node),
    ?assertEqual({ok, <<0, 1>>}, gen_tcp:recv(Socket, 0, ?TIMEOUT)),
    gen_tcp:close(Socket).

%% The node received another offer than the dialler sent.
altered([Node | _]) ->
    {Socket, Hello, Challenge} = challenged(?VERSION_1_NONCE, Node),
    <<"PRTN", 1, _:32/binary, Rest/binary>> = Hello,
    Sent = <<"PRTN", 1, (partisan_version:nonce())/binary, Rest/binary>>,
    ok = gen_tcp:send(Socket, mac("dialler", Sent, Challenge)),
    ?assertEqual({ok, <<0, 5>>}, gen_tcp:recv(Socket, 0, ?TIMEOUT)),
    gen_tcp:close(Socket).

known([A, B]) ->
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [name(B)] end),
    ?assertEqual(2, call(A, partisan_transport, version, [name(B)])),
    ?assertEqual(unknown, call(A, partisan_transport, version, [<<"absent">>])).

challenged(Nonce, Node) ->
    {Socket, Hello} = greeted(Nonce, Node),
    {ok, Challenge} = gen_tcp:recv(Socket, 0, ?TIMEOUT),
    #{name := Name, host := Host} = partisan_test_cluster:peer(Node),
    Fields = iolist_to_binary([field(Name), field(inet:ntoa(Host)), <<?PORT:16>>]),
    Size = byte_size(Fields),
    % The fields of version 1, and nothing after them.
    ?assertMatch(<<1, _:32/binary, Fields:Size/binary, _Incarnation:64>>, Challenge),
    {Socket, Hello, Challenge}.

%% The dialler of version 1, byte for byte, except for the nonce.
greeted(Nonce, Node) ->
    #{name := Name, host := Host} = partisan_test_cluster:peer(Node),
    {ok, Socket} = gen_tcp:connect(Host, ?PORT, [binary, {packet, 4}, {active, false}]),
    Hello = iolist_to_binary([
        [<<"PRTN", 1>>, Nonce, field(<<"test">>)],
        [field(<<"old">>), field(<<"127.0.0.1">>), <<?PORT:16, 1:64>>],
        [field(Name), field(<<"default">>), <<0:16>>]
    ]),
    ok = gen_tcp:send(Socket, Hello),
    {Socket, Hello}.

field(Text) ->
    <<(iolist_size(Text)), (iolist_to_binary(Text))/binary>>.

mac(Role, Hello, Challenge) ->
    crypto:mac(hmac, sha256, partisan_test_cluster:token(), [Role, Hello, Challenge]).

%%% Decoders and nodes against random and damaged bytes.
%%%
%%% Bounded by time: FUZZ_SECONDS for each of the tests, 2 by default. FUZZ_SEED repeats a run; a
%%% failure prints its seed.
-module(partisan_fuzz_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

-define(PORT, 7946).
%% Heap that decoding one frame of some kilobytes may use, in words.
-define(HEAP_WORDS, 500000).
-define(PEERS, 16).
%% Connections silent for this many milliseconds are closed. A member may take longer to greet.
-define(SILENCE, 300).

fuzz_test_() ->
    [
        {"decoding any bytes returns, with bounded memory",
            fuzz(fun decoder/1)},
        {"unauthenticated peers", fuzz(fun(Until) ->
            with_pair(#{handshake_timeout => ?SILENCE}, fun unauthenticated/2, Until)
        end)},
        {"unauthenticated peers over TLS", fuzz(fun over_tls/1)},
        {"members with a damaged stream",
            fuzz(fun(Until) -> with_pair(#{}, fun members/2, Until) end)}
    ].

fuzz(Test) ->
    Seconds = list_to_integer(os:getenv("FUZZ_SECONDS", "2")),
    {timeout, 120 + 2 * Seconds, fun() ->
        Seed = list_to_integer(os:getenv("FUZZ_SEED", integer_to_list(rand:uniform(1 bsl 32)))),
        _ = rand:seed(exsss, Seed),
        Until = erlang:monotonic_time(millisecond) + 1000 * Seconds,
        try
            Test(Until)
        catch
            Class:Reason:Stack ->
                erlang:raise(Class, {with, "FUZZ_SEED=" ++ integer_to_list(Seed), Reason}, Stack)
        end
    end}.

%% At least once, until the time has come; returns how often.
repeat(Until, Case) ->
    repeat(Until, Case, 0).

repeat(Until, Case, Times) ->
    Case(),
    case erlang:monotonic_time(millisecond) < Until of
        true -> repeat(Until, Case, Times + 1);
        false -> Times + 1
    end.

%% The decoder.

decoder(Until) ->
    Limit = erlang:system_info(atom_limit) div 2,
    _ = repeat(Until, fun() ->
        [decode(mutated(frame())) || _ <- lists:seq(1, 100)],
        [decode(<<(rand:uniform(6) - 1), Bytes/binary>>) || Bytes <- hostile()]
    end),
    ?assert(erlang:system_info(atom_count) < Limit).

%% In a process of its own, which is killed when it uses too much.
decode(Bytes) ->
    Options = [monitor, {max_heap_size, #{
        size => ?HEAP_WORDS, kill => true, error_logger => false
    }}],
    {Pid, Monitor} = spawn_opt(fun() -> exit({answer, kind(partisan_frame:decode(Bytes))}) end,
        Options),
    receive
        {'DOWN', Monitor, process, Pid, {answer, Kind}} ->
            Kinds = [message, relay, overlay, ping, undecodable, unknown_frame],
            ?assert(lists:member(Kind, Kinds));
        {'DOWN', Monitor, process, Pid, Reason} ->
            error({decoding, Bytes, Reason})
    end.

kind({error, Reason}) -> Reason;
kind(ping) -> ping;
kind(Decoded) -> element(1, Decoded).

%% A frame as the socket delivers it.
frame() ->
    {_Bytes, Frame} = pick([
        fun() -> partisan_frame:message(sink, term(4)) end,
        fun() -> partisan_frame:message({process, 1, <<"x">>}, term(3)) end,
        fun() -> partisan_frame:overlay(term(4)) end,
        fun() ->
            Layer = lists:nth(rand:uniform(5), [overlay, broadcast, route, beacon, measure]),
            partisan_frame:overlay({Layer, term(3)})
        end,
        fun() ->
            Header = {<<"node-1">>, <<"node-2">>, 3, rand:uniform(1000), <<"sink">>},
            partisan_frame:relay(Header, partisan_frame:payload({sink, term(3)}))
        end,
        fun partisan_frame:ping/0
    ]),
    <<_Length:32, Bytes/binary>> = iolist_to_binary(Frame),
    Bytes.

term(0) ->
    pick([
        fun() -> rand:uniform(1 bsl 70) end,
        fun() -> ok end,
        fun rand:uniform/0,
        fun() -> rand:bytes(rand:uniform(300)) end,
        fun erlang:make_ref/0,
        fun erlang:self/0,
        fun() -> fun lists:map/2 end,
        fun() -> "text" end
    ]);
term(Depth) ->
    Terms = [term(Depth - 1) || _ <- lists:seq(1, rand:uniform(4))],
    pick([
        fun() -> Terms end,
        fun() -> list_to_tuple(Terms) end,
        fun() -> maps:from_list([{Term, Depth} || Term <- Terms]) end,
        fun() -> [hd(Terms) | improper] end,
        fun() -> term(0) end
    ]).

%% Payloads whose sizes are wrong.
hostile() ->
    Name = <<"fuzz_", (integer_to_binary(rand:uniform(1 bsl 60)))/binary>>,
    Depth = 20000,
    [
        <<131, Tag, (rand:uniform(1 bsl 32) - 1):32, (rand:bytes(20))/binary>>
     || Tag <- [105, 108, 109, 111, 116, 98, 77]
    ] ++
        [
            <<131, 104, 255>>,
            <<131, 105, 16#ffffffff:32, (binary:copy(<<106>>, 1000))/binary>>,
            <<131, 116, 16#00ffffff:32, (binary:copy(<<97, 1>>, 1000))/binary>>,
            <<131, 111, 16#7fffffff:32, 0, 1>>,
            % A bomb: a hundred megabytes of zeros.
            term_to_binary({sink, <<0:(8 * 1000000)>>}, [{compressed, 9}]),
            <<131, 80, 16#ffffffff:32, (zlib:compress(<<0:8000>>))/binary>>,
            % Nested, complete or not.
            <<131, (binary:copy(<<104, 1>>, Depth))/binary, 106>>,
            <<131, (binary:copy(<<108, 1:32>>, Depth))/binary, 106,
                (binary:copy(<<106>>, Depth))/binary>>,
            <<131, (binary:copy(<<104, 2>>, Depth))/binary>>,
            % Unknown atoms, one of them too long.
            <<131, 104, 2, 119, (byte_size(Name)), Name/binary, 106>>,
            <<131, 104, 2, 118, 1000:16, (binary:copy(<<"a">>, 1000))/binary, 106>>,
            <<131, 104, 2, 119, 4, "sink", 119, 3, 255, 254, 253>>,
            % A function of an unknown module.
            <<131, 113, 119, (byte_size(Name)), Name/binary, 119, 1, "f", 97, 255>>
        ].

mutated(Bytes) ->
    mutated(rand:uniform(4) - 1, Bytes).

mutated(0, Bytes) ->
    Bytes;
mutated(Times, <<>>) ->
    mutated(Times - 1, rand:bytes(rand:uniform(50)));
mutated(Times, Bytes) ->
    Size = byte_size(Bytes),
    At = rand:uniform(Size) - 1,
    <<Before:At/binary, Byte, After/binary>> = Bytes,
    Mutant = pick([
        fun() -> <<Before/binary, (Byte bxor (1 bsl (rand:uniform(8) - 1))), After/binary>> end,
        fun() -> <<Before/binary, (rand:uniform(256) - 1), After/binary>> end,
        fun() -> Before end,
        fun() -> <<Before/binary, After/binary>> end,
        fun() -> <<Before/binary, (rand:bytes(rand:uniform(8)))/binary, Byte, After/binary>> end,
        fun() -> <<Before/binary, 255, 255, 255, 255, After/binary>> end,
        fun() -> <<Bytes/binary, Before/binary>> end
    ]),
    mutated(Times - 1, Mutant).

pick(Choices) ->
    (lists:nth(rand:uniform(length(Choices)), Choices))().

%% Nodes.

with_pair(Overrides, Test, Until) ->
    Nodes = [A, B] = partisan_test_cluster:start(2, Overrides#{
        handshakes => 8, heartbeat_interval => 1000
    }),
    try
        ok = await(fun() -> call(A, partisan, neighbours, []) =:= [name(B)] end),
        [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
        % Each dials the other, which a relayed message may cause later.
        ok = exchange(B, A),
        ok = exchange(A, B),
        % The first refusal loads the code for it.
        ok = refused_once(A),
        ok = call(A, partisan_test_log, start, [error]),
        Test(Nodes, Until),
        ?assertEqual([], call(A, partisan_test_log, lines, []))
    after
        partisan_test_cluster:stop(Nodes)
    end.

over_tls(Until) ->
    Directory = partisan_test_directory:new(),
    try
        Certificate = partisan_test_pki:certificate(partisan_test_pki:authority(), #{}),
        ok = partisan_test_pki:write(Directory, Certificate),
        Tls = partisan_test_pki:files(Directory),
        with_pair(#{tls => Tls, handshake_timeout => ?SILENCE}, fun unauthenticated/2, Until)
    after
        ok = file:del_dir_r(Directory)
    end.

refused_once(Node) ->
    Socket = connect(Node),
    ok = gen_tcp:send(Socket, <<0:32, "warm up">>),
    ok = await(fun() -> refused(Node) > 0 end),
    ok = gen_tcp:close(Socket),
    Before = refused(Node),
    ok = gen_tcp:close(connect(Node)),
    await(fun() -> refused(Node) > Before end).

%% Several at a time; members are served throughout, and nothing is left in the end.
unauthenticated([A, B], Until) ->
    Before = usage(A),
    Refused = refused(A),
    Rounds = repeat(Until, fun() ->
        Seeds = [rand:uniform(1 bsl 32) || _ <- lists:seq(1, ?PEERS)],
        Peers = [spawn_monitor(fun() -> unauthenticated_peer(Seed, A) end) || Seed <- Seeds],
        ok = exchange(B, A),
        [receive {'DOWN', Monitor, _, _, normal} -> ok end || {_, Monitor} <- Peers]
    end),
    ok = await(fun() -> refused(A) - Refused >= Rounds * ?PEERS end),
    ok = nothing_left(A, Before),
    % Nothing from an unauthenticated peer becomes an atom.
    ?assertEqual(maps:get(atoms, Before), maps:get(atoms, usage(A))),
    ?assertEqual([name(B)], call(A, partisan, neighbours, [])).

unauthenticated_peer(Seed, Node) ->
    _ = rand:seed(exsss, Seed),
    Socket = connect(Node),
    pick([
        fun() -> say(rand:bytes(rand:uniform(3000)), Socket) end,
        fun() -> say(mutated(greeting(Node)), Socket) end,
        fun() -> say([greeting(Node), rand:bytes(rand:uniform(100))], Socket) end,
        % A TLS greeting whose body is noise.
        fun() -> say([<<22, 3, 1, 500:16, 1>>, rand:bytes(499)], Socket) end,
        fun() -> say(<<(1 bsl 32 - rand:uniform(1 bsl 31)):32, "much">>, Socket) end,
        fun() -> drip(greeting(Node), Socket) end,
        fun() -> silent end,
        fun() -> gen_tcp:close(Socket) end,
        fun() ->
            ok = inet:setopts(Socket, [{linger, {true, 0}}]),
            gen_tcp:close(Socket)
        end
    ]),
    ok = until_closed(Socket).

say(Bytes, Socket) ->
    % It may have been closed meanwhile.
    _ = gen_tcp:send(Socket, Bytes),
    ok.

drip(<<Byte, Rest/binary>>, Socket) ->
    case gen_tcp:send(Socket, <<Byte>>) of
        ok -> receive after 5 -> drip(Rest, Socket) end;
        {error, _} -> ok
    end;
drip(<<>>, _Socket) ->
    ok.

%% The first message of the handshake, from a peer without the token.
greeting(Node) ->
    #{name := Name} = partisan_test_cluster:peer(Node),
    Field = fun(Text) -> <<(byte_size(Text)), Text/binary>> end,
    Fields = [
        <<"PRTN", 1>>, rand:bytes(32), Field(<<"test">>),
        Field(<<"node-9">>), Field(<<"127.0.0.1">>), <<7946:16, 1:64>>,
        Field(Name), Field(<<"default">>), <<0:16>>
    ],
    Hello = iolist_to_binary(Fields),
    <<(byte_size(Hello)):32, Hello/binary>>.

%% Members: the stream is valid up to some byte, and damaged from there on.

members([A, B], Until) ->
    Before = usage(A),
    _ = repeat(Until, fun() ->
        Socket = join_stream(A, pick([fun() -> default end, fun() -> overlay end])),
        Good = [with_length(frame()) || _ <- lists:seq(1, rand:uniform(20))],
        Bad = [damaged(with_length(frame())) || _ <- lists:seq(1, rand:uniform(20))],
        _ = gen_tcp:send(Socket, [Good, Bad]),
        ok = exchange(B, A),
        ok = gen_tcp:close(Socket)
    end),
    % The reset of a connection may go unnoticed until the next one of its lane takes its place.
    [ok = leave_stream(join_stream(A, Channel)) || Channel <- [default, overlay]],
    ok = nothing_left(A, Before),
    Limit = call(A, erlang, system_info, [atom_limit]) div 2,
    ?assert(maps:get(atoms, usage(A)) < Limit),
    ?assertEqual([name(B)], call(A, partisan, neighbours, [])).

with_length(Bytes) ->
    <<(byte_size(Bytes)):32, Bytes/binary>>.

%% The length stays as it is, or is damaged too, which ends the connection.
damaged(<<Length:4/binary, Frame/binary>> = Bytes) ->
    case rand:uniform(5) of
        1 ->
            mutated(Bytes);
        _ ->
            Mutant = mutated(Frame),
            Size = byte_size(Frame),
            case Mutant of
                <<Same:Size/binary, _/binary>> -> <<Length/binary, Same/binary>>;
                _ -> with_length(Mutant)
            end
    end.

%% An authenticated connection on which the test chooses the bytes.
join_stream(Node, Channel) ->
    Socket = connect(Node),
    Self = partisan_peer:new(<<"node-9">>, {127, 0, 0, 1}, 1, 1),
    Local = #{self => Self, cluster => <<"test">>, token => partisan_test_cluster:token()},
    Options = #{local => Local, deadline => erlang:monotonic_time(millisecond) + 5000},
    Peer = partisan_test_cluster:peer(Node),
    {ok, _, _} = partisan_handshake:dial(Socket, Peer, {Channel, 0}, Options),
    Socket.

leave_stream(Socket) ->
    ok = gen_tcp:shutdown(Socket, write),
    until_closed(Socket).

%% Helpers.

%% A member's message gets through.
exchange(From, To) ->
    Mark = erlang:unique_integer(),
    Options = #{ack => true, timeout => 20000},
    ok = call(From, partisan, forward, [name(To), sink, Mark, Options]).

connect(Node) ->
    #{host := Host} = partisan_test_cluster:peer(Node),
    {ok, Socket} = gen_tcp:connect(Host, ?PORT, [binary, {active, false}]),
    Socket.

until_closed(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, _} -> until_closed(Socket);
        {error, _} -> gen_tcp:close(Socket)
    end.

refused(Node) ->
    [#{samples := Samples}] = [
        Family
     || #{name := partisan_refused_connections_total} = Family <-
            call(Node, partisan_metrics, collect, [])
    ],
    lists:sum([Value || {_, Value} <- Samples]).

usage(Node) ->
    _ = [call(Node, erlang, garbage_collect, [Pid]) || Pid <- call(Node, erlang, processes, [])],
    #{
        processes => length(call(Node, erlang, processes, [])),
        ports => length(call(Node, erlang, ports, [])),
        bytes => call(Node, erlang, memory, [total]),
        atoms => call(Node, erlang, system_info, [atom_count])
    }.

%% Memory may differ by allocator caches and metrics.
nothing_left(Node, #{processes := Processes, ports := Ports, bytes := Bytes}) ->
    % It keeps what it has received.
    ok = call(Node, partisan_test_sink, stop, [sink]),
    ok = call(Node, partisan_test_sink, start, [sink]),
    Most = #{processes => Processes, ports => Ports, bytes => Bytes + 4000000},
    await(fun() ->
        Usage = usage(Node),
        Over = maps:filter(fun(Key, Value) -> Value > maps:get(Key, Most, Value) end, Usage),
        map_size(Over) =:= 0 orelse {Over, Most}
    end).

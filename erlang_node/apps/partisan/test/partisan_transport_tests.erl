%%% Two nodes and their messages, on real sockets.
-module(partisan_transport_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1, send_in_background/5, senders/1]).

-export([send_until_refused/1]).

-define(CHANNELS, [
    #{name => default, parallelism => 2},
    #{name => bulk, parallelism => 16},
    #{name => first, parallelism => 8},
    #{name => narrow, queue_bytes => 65536},
    #{name => gossip, monotonic => true}
]).
-define(LANE_BYTES, 1048576).

pair_test_() ->
    {setup, fun() -> pair(#{}) end, fun partisan_test_cluster:stop/1, fun exchanges/1}.

pair_over_tls_test_() ->
    {setup, fun partisan_test_directory:new/0, fun file:del_dir_r/1, fun(Directory) ->
        Certificate = partisan_test_pki:certificate(partisan_test_pki:authority(), #{}),
        ok = partisan_test_pki:write(Directory, Certificate),
        Tls = #{tls => partisan_test_pki:files(Directory)},
        {setup, fun() -> pair(Tls) end, fun partisan_test_cluster:stop/1, fun exchanges/1}
    end}.

exchanges([A, B]) ->
    [
        {Title, {timeout, 600, fun() -> with_sinks(Test, A, B) end}}
     || {Title, Test} <- [
            {"messages arrive on every channel", fun every_channel/2},
            {"the traffic to each peer is that of its lanes", fun by_peer/2},
            {"messages that cannot be sent are refused", fun refusals/2},
            {"every term arrives equal", fun every_term/2},
            {"sixteen lanes come up with their first messages", fun sixteen_lanes/2},
            {"order holds from the first send", fun order_from_the_first/2},
            {"order holds while connections break, and no node is evicted",
                fun order_through_breaks/2},
            {"a slow receiver loses nothing and is not flooded", fun slow_receiver/2},
            {"many lanes share a receiver's bound", fun many_lanes/2},
            {"a lane to a frozen node is bounded", fun frozen_receiver/2},
            {"a channel has its own bound", fun narrow_channel/2},
            {"a monotonic channel keeps the newest", fun monotonic/2},
            {"the kernel holds little of a monotonic channel", fun little_that_is_old/2},
            {"messages without a receiver are counted", fun no_process/2},
            {"the kernel's count covers all bytes sent, and outlives connections",
                fun kernel_count/2},
            {"leaving flushes the queues first", fun leave/2}
        ]
    ].

pair(Overrides) ->
    [A, B] = Nodes = partisan_test_cluster:start(2, Overrides#{
        channels => ?CHANNELS,
        lane_queue_bytes => ?LANE_BYTES,
        mailbox_messages => 100,
        % A node frozen for long must not be taken for dead.
        heartbeat_interval => 60000
    }),
    ok = await(fun() ->
        call(A, partisan, neighbours, []) =:= [name(B)] andalso
            call(B, partisan, neighbours, []) =:= [name(A)]
    end),
    Nodes.

with_sinks(Test, A, B) ->
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- [A, B]],
    try
        Test(A, B)
    after
        partisan_test_cluster:thaw(B),
        [ok = call(Node, partisan_test_sink, stop, [sink]) || Node <- [A, B]]
    end.

every_channel(A, B) ->
    [
        begin
            ok = forward(From, To, {hello, Channel}, #{channel => Channel}),
            ?assertEqual([{hello, Channel}], call(To, partisan_test_sink, take, [sink, 1]))
        end
     || {From, To} <- [{A, B}, {B, A}, {A, A}], Channel <- [default, bulk, gossip]
    ].

%% Over the lanes of one peer they make the channel's own counters.
by_peer(A, B) ->
    Before = traffic(A, B, bulk),
    [
        ok = forward(A, B, {key, Key}, #{channel => bulk, partition_key => Key})
     || Key <- lists:seq(1, 50)
    ],
    _ = call(B, partisan_test_sink, take, [sink, 50]),
    #{sent_messages := Sent, sent_bytes := Bytes, dropped := 0} = Before,
    ok = await(fun() ->
        #{sent_messages := Now, queue_bytes := Queued} = traffic(A, B, bulk),
        Now - Sent =:= 50 andalso Queued =:= 0
    end),
    #{sent_bytes := MoreBytes} = traffic(A, B, bulk),
    ?assert(MoreBytes > Bytes),
    ?assertMatch(#{sent_messages := N} when N >= 0, traffic(B, A, overlay)).

traffic(From, To, Channel) ->
    Lanes = call(From, partisan_transport, lanes, []),
    #{peers := Peers} = call(From, partisan_traffic, by_peer, [Lanes, 64]),
    None = #{sent_messages => 0, sent_bytes => 0, dropped => 0, queue_bytes => 0},
    maps:get(Channel, maps:get(name(To), Peers), None).

refusals(A, B) ->
    ?assertEqual({error, {unknown_channel, nope}}, forward(A, B, hi, #{channel => nope})),
    ?assertEqual({error, {unknown_channel, overlay}}, forward(A, B, hi, #{channel => overlay})),
    Large = <<0:(65 * 1024 * 1024 * 8)>>,
    ?assertMatch({error, {too_large, _}}, forward(A, B, Large, #{})).

every_term(A, B) ->
    ?assert(
        proper:quickcheck(
            ?FORALL(Term, anything(), begin
                ok = forward(A, B, {term, Term}, #{}),
                [{term, Arrived}] = call(B, partisan_test_sink, take, [sink, 1]),
                Arrived =:= Term
            end),
            [{to_file, user}, {numtests, 200}, {to_file, user}]
        )
    ).

anything() ->
    oneof([
        any(),
        [integer() | atom()],
        bitstring(),
        ?LET(Pairs, [{any(), any()}], maps:from_list(Pairs)),
        ?LET(N, range(250, 400), list_to_tuple(lists:duplicate(N, x))),
        ?LET(N, range(1, 100000), binary(N)),
        % Atoms that the receiver has never seen.
        ?LET(N, integer(), {list_to_atom("unseen_" ++ integer_to_list(N)), N}),
        ?LET(I, integer(1, 1 bsl 2000), -I),
        return(fun lists:no_such_function/7),
        return(self()),
        return(make_ref())
    ]).

sixteen_lanes(A, B) ->
    [
        ok = forward(A, B, Key, #{channel => bulk, partition_key => Key})
     || Key <- lists:seq(1, 200)
    ],
    ?assertEqual(
        lists:seq(1, 200), lists:sort(call(B, partisan_test_sink, take, [sink, 200]))
    ),
    #{bulk := #{connections := Connections}} = call(A, partisan, channels, []),
    ?assertEqual(16, Connections).

order_from_the_first(A, B) ->
    Keys = [{first, I} || I <- lists:seq(1, 8)],
    [ok = send_in_background(A, B, Key, 500, first) || Key <- Keys],
    Arrived = call(B, partisan_test_sink, take, [sink, 8 * 500]),
    [?assertEqual(lists:seq(1, 500), [N || {K, N} <- Arrived, K =:= Key]) || Key <- Keys].

order_through_breaks(A, B) ->
    Keys = [{break, I} || I <- lists:seq(1, 4)],
    Last = 20000,
    Before = evictions(A) + evictions(B),
    Start = sent(A, bulk),
    [ok = send_in_background(A, B, Key, Last, bulk) || Key <- Keys],
    [
        begin
            ok = await(fun() -> sent(A, bulk) - Start > After end),
            % A node whose connection breaks repeatedly before it is up is treated as lost.
            [ok = call(Each, partisan_test_cluster, await_connections, []) || Each <- [A, B]],
            ok = await(fun() -> call(Node, partisan_test_cluster, close_connections, []) > 0 end)
        end
     || {After, Node} <- [{1000, A}, {10000, B}, {20000, A}]
    ],
    ok = await(fun() -> senders(A) =:= 0 end),
    % Messages lost with their connection are missing; the rest is there, in order.
    Ends = [{Key, Last + 1} || Key <- Keys],
    [
        ok = forward(A, B, End, #{channel => bulk, partition_key => Key})
     || {Key, _} = End <- Ends
    ],
    ok = await(fun() -> call(B, partisan_test_sink, has, [sink, Ends]) end),
    Count = call(B, partisan_test_sink, count, [sink]),
    Arrived = call(B, partisan_test_sink, take, [sink, Count]),
    [
        begin
            Sequence = [N || {K, N} <- Arrived, K =:= Key],
            ?assertEqual(lists:usort(Sequence), Sequence)
        end
     || Key <- Keys
    ],
    ?assertEqual(Before, evictions(A) + evictions(B)).

slow_receiver(A, B) ->
    Count = 100000,
    ok = call(B, partisan_test_sink, pause, [sink]),
    ok = send_in_background(A, B, {slow, binary:copy(<<"x">>, 100)}, Count, bulk),
    % The receiver's connection is no longer read, the lane fills, the sender has to wait.
    ok = await(fun() -> queued(A, bulk) > ?LANE_BYTES div 2 end),
    ?assert(queued(A, bulk) =< ?LANE_BYTES),
    ?assert(call(B, partisan_test_sink, waiting, [sink]) < 1000),
    ?assertEqual(1, senders(A)),
    ok = call(B, partisan_test_sink, resume, [sink]),
    Arrived = call(B, partisan_test_sink, take, [sink, Count]),
    ?assertEqual(lists:seq(1, Count), [N || {_, N} <- Arrived]).

%% Each lane by itself would read 128 of these messages before it checks the receiver again, once it
%% has seen that they are small.
many_lanes(A, B) ->
    Count = 5000,
    Keys = [{many, I, binary:copy(<<"x">>, 200)} || I <- lists:seq(1, 16)],
    Send = fun() -> [ok = send_in_background(A, B, Key, Count, bulk) || Key <- Keys] end,
    _ = Send(),
    _ = call(B, partisan_test_sink, take, [sink, 16 * Count]),
    ok = call(B, partisan_test_sink, pause, [sink]),
    _ = Send(),
    ok = await(fun() -> queued(A, bulk) > ?LANE_BYTES end),
    ?assert(call(B, partisan_test_sink, waiting, [sink]) < 400),
    ok = call(B, partisan_test_sink, resume, [sink]),
    Arrived = call(B, partisan_test_sink, take, [sink, 16 * Count]),
    [?assertEqual(lists:seq(1, Count), [N || {K, N} <- Arrived, K =:= Key]) || Key <- Keys].

frozen_receiver(A, B) ->
    Megabyte = rand:bytes(1000000),
    Options = #{channel => bulk, partition_key => frozen},
    Dropped = dropped(A, bulk),
    ok = partisan_test_cluster:freeze(B),
    Sent = send_until(busy, A, B, Megabyte, Options#{on_busy => error}, 0),
    Memory = call(A, erlang, memory, [binary]),
    [
        ok = forward(A, B, Megabyte, Options#{on_busy => drop})
     || _ <- lists:seq(1, 20)
    ],
    ?assert(dropped(A, bulk) > Dropped),
    ?assert(call(A, erlang, memory, [binary]) - Memory < 4 * byte_size(Megabyte)),
    SentToo = send_until(timeout, A, B, Megabyte, Options#{timeout => 10}, Sent + 20),
    ok = send_in_background(A, B, frozen, 1, bulk),
    ok = partisan_test_cluster:thaw(B),
    % Messages not dropped arrive. The kernel may have accepted some while the peer was frozen.
    Expected = SentToo - (dropped(A, bulk) - Dropped) + 1,
    Arrived = call(B, partisan_test_sink, take, [sink, Expected]),
    ?assertEqual([Megabyte], lists:usort(lists:droplast(Arrived))),
    ?assertEqual({frozen, 1}, lists:last(Arrived)).

narrow_channel(A, B) ->
    Message = rand:bytes(20000),
    ok = partisan_test_cluster:freeze(B),
    Sent = send_while_room(A, B, Message, 0),
    % Full, by its own limit and not by another channel's.
    ?assert(queued(A, narrow) > 65536 - 2 * byte_size(Message)),
    ?assert(queued(A, narrow) =< 65536),
    ok = partisan_test_cluster:thaw(B),
    ?assertEqual(
        lists:duplicate(Sent, Message), call(B, partisan_test_sink, take, [sink, Sent])
    ).

%% Until a lane seen full is still full: it may have been about to write.
send_while_room(From, To, Message, Sent) ->
    Options = #{channel => narrow, partition_key => key, on_busy => error},
    Before = sent(From, narrow),
    case forward(From, To, Message, Options) of
        ok ->
            send_while_room(From, To, Message, Sent + 1);
        {error, busy} ->
            receive after 200 -> ok end,
            case sent(From, narrow) of
                Before -> Sent;
                _ -> send_while_room(From, To, Message, Sent)
            end
    end.

%% The number of messages sent when an error occurs, including those sent before.
send_until(Error, From, To, Message, Options, Sent) ->
    case forward(From, To, Message, Options) of
        ok -> send_until(Error, From, To, Message, Options, Sent + 1);
        {error, Error} -> settled(Error, From, To, Message, Options, Sent)
    end.

%% An error because the peer does not read, and not because the lane was about to write.
settled(Error, From, To, Message, Options, Sent) ->
    Before = sent(From, bulk),
    receive after 200 -> ok end,
    case sent(From, bulk) of
        Before -> Sent;
        _ -> send_until(Error, From, To, Message, Options, Sent)
    end.

monotonic(A, B) ->
    Last = 500,
    Superseded = superseded(A),
    Payload = rand:bytes(100000),
    ok = partisan_test_cluster:freeze(B),
    Options = #{channel => gossip, partition_key => state},
    [ok = forward(A, B, {N, Payload}, Options) || N <- lists:seq(1, Last)],
    ?assert(queued(A, gossip) =< ?LANE_BYTES),
    ok = partisan_test_cluster:thaw(B),
    ok = await(fun() -> call(B, partisan_test_sink, has, [sink, [{Last, Payload}]]) end),
    Count = call(B, partisan_test_sink, count, [sink]),
    Arrived = [N || {N, _} <- call(B, partisan_test_sink, take, [sink, Count])],
    ?assertEqual(lists:usort(Arrived), Arrived),
    ?assertEqual(Last, lists:last(Arrived)),
    ?assertEqual(Last - Count, superseded(A) - Superseded).

%% A receiver that resumes gets present messages soon. By default kernels hold thousands of these.
little_that_is_old(A, B) ->
    Last = 10000,
    Payload = rand:bytes(1000),
    ok = partisan_test_cluster:freeze(B),
    Options = #{channel => gossip, partition_key => state},
    [ok = forward(A, B, {N, Payload}, Options) || N <- lists:seq(1, Last)],
    ok = partisan_test_cluster:thaw(B),
    ok = await(fun() -> call(B, partisan_test_sink, has, [sink, [{Last, Payload}]]) end),
    ?assert(call(B, partisan_test_sink, count, [sink]) < 300).

no_process(A, B) ->
    Before = dropped(B, default),
    ok = call(A, partisan, forward, [name(B), absent, hi]),
    ok = await(fun() -> dropped(B, default) =:= Before + 1 end).

kernel_count(A, B) ->
    Before = tcp(A, sent),
    ?assert(Before > 0),
    % Random, so that nothing compresses it.
    Payload = crypto:strong_rand_bytes(1000000),
    ok = forward(A, B, Payload, #{channel => default}),
    ?assertEqual([Payload], call(B, partisan_test_sink, take, [sink, 1])),
    Sent = tcp(A, sent) - Before,
    ?assert(Sent >= 1000000),
    ?assert(Sent < 1100000),
    ?assert(tcp(B, received) >= 1000000),
    ok = call(A, partisan, reconfigure, [#{parallelism => #{default => 1}}]),
    ok = await(fun() ->
        #{default := #{connections := Connections}} = call(A, partisan, channels, []),
        Connections =< 1
    end),
    ?assert(tcp(A, sent) >= Before + Sent).

leave(A, B) ->
    ok = call(A, partisan, subscribe, [call(A, erlang, whereis, [sink])]),
    ok = send_in_background(B, A, leaving, 5000, bulk),
    ok = await(fun() -> senders(B) =:= 0 end),
    Endless = call(B, erlang, spawn, [?MODULE, send_until_refused, [name(A)]]),
    ok = call(B, partisan, leave, []),
    ok = await(fun() -> not call(B, erlang, is_process_alive, [Endless]) end),
    Arrived = call(A, partisan_test_sink, take, [sink, 5000 + 2]),
    {Notices, Sent} = lists:partition(fun(M) -> element(1, M) =:= partisan end, Arrived),
    ?assertEqual(
        [{partisan, {neighbour_up, name(B)}}, {partisan, {neighbour_down, name(B)}}], Notices
    ),
    ?assertEqual([{leaving, N} || N <- lists:seq(1, 5000)], Sent),
    ?assertEqual([], call(B, partisan, neighbours, [])),
    ?assertMatch({error, _}, forward(B, A, hi, #{})).

%% Internals.

send_until_refused(To) ->
    case partisan:forward(To, absent, hi, #{channel => first}) of
        ok -> send_until_refused(To);
        {error, _} -> refused
    end.

tcp(Node, Direction) ->
    proplists:get_value([Direction], call(Node, partisan_tcp, bytes, [])).

forward(From, To, Message, Options) ->
    call(From, partisan, forward, [name(To), sink, Message, Options]).

channel(Node, Channel, Key) ->
    #{Channel := #{Key := Value}} = call(Node, partisan, channels, []),
    Value.

sent(Node, Channel) -> channel(Node, Channel, sent_messages).
queued(Node, Channel) -> channel(Node, Channel, queue_bytes).
dropped(Node, Channel) -> channel(Node, Channel, dropped).

superseded(Node) ->
    metric(Node, partisan_channel_dropped_messages_total, [gossip, superseded]).

evictions(Node) ->
    metric(Node, partisan_overlay_events_total, [neighbour_down]).

metric(Node, Name, Labels) ->
    call(Node, partisan_metrics, value, [Name, Labels]).

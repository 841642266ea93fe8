%%% @doc Acknowledged and causal delivery on real sockets, through breaks and restarts.
-module(partisan_delivery_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).
-export([send_all/4, send_plain/4]).

-define(CHANNELS, [
    #{name => default},
    #{name => bulk, parallelism => 4},
    #{name => sure, acknowledged => true, queue_bytes => 65536},
    % For tests that need an empty channel.
    #{name => narrow, acknowledged => true, queue_bytes => 65536},
    #{name => gossip, monotonic => true}
]).

trio_test_() ->
    {setup, fun trio/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> partisan_test_sink:on(Nodes, [sink], Test) end}}
         || {Title, Test} <- [
                {"the sender learns that its message has arrived", fun learns/1},
                {"messages that cannot be acknowledged are refused", fun refused/1},
                {"connections break, and all arrives once and in order", fun breaks/1},
                {"an acknowledged channel needs no option", fun by_channel/1},
                {"an acknowledged channel is bounded, too", fun full_channel/1},
                {"large messages across a broken connection", fun large/1},
                {"a slow receiver holds the sender back", fun slow/1},
                {"messages to a frozen node are late or reported lost", fun frozen/1},
                {"effects follow their causes", fun causal/1},
                {"the senders of a dead node learn of it", fun dead/1}
            ]
        ]
    end}.

trio() ->
    partisan_test_cluster:start_connected(3, #{
        channels => ?CHANNELS, lane_queue_bytes => 1 bsl 21, mailbox_messages => 100
    }).

learns([A, B, _]) ->
    ?assertEqual(ok, forward(A, B, hello, #{ack => true})),
    ?assertEqual([hello], take(B, 1)),
    ?assertEqual(ok, forward(A, A, hello, #{ack => true})).

refused([A, B, _]) ->
    ?assertEqual(
        {error, {monotonic_channel, gossip}}, forward(A, B, hi, #{ack => true, channel => gossip})
    ),
    ?assertEqual(
        {error, {unknown_channel, nope}}, forward(A, B, hi, #{ack => true, channel => nope})
    ).

breaks([A, B, _]) ->
    Keys = [one, two, three, four],
    Last = 1000,
    [spawn_sender(A, B, Key, Last, bulk) || Key <- Keys],
    ok = break_until(fun() -> call(B, partisan_test_sink, count, [sink]) >= Last * 4 end, [A, B]),
    Arrived = take(B, Last * length(Keys)),
    [?assertEqual(lists:seq(1, Last), [N || {K, N} <- Arrived, K =:= Key]) || Key <- Keys],
    ?assertEqual(0, call(B, partisan_test_sink, count, [sink])).

%% As `breaks/1', with messages that do not ask for acknowledgements.
by_channel([A, B, _]) ->
    Keys = [one, two, three],
    Last = 1000,
    [
        call(A, erlang, spawn, [?MODULE, send_plain, [name(B), Key, Last, sure]])
     || Key <- Keys
    ],
    All = Last * length(Keys),
    ok = break_until(fun() -> call(B, partisan_test_sink, count, [sink]) >= All end, [A, B]),
    Arrived = take(B, All),
    [?assertEqual(lists:seq(1, Last), [N || {K, N} <- Arrived, K =:= Key]) || Key <- Keys],
    ?assertEqual(0, call(B, partisan_test_sink, count, [sink])).

%% Half of what a lane holds may be outstanding: three of these.
full_channel([A, B, _]) ->
    Message = fun(N) -> {N, rand:bytes(10000)} end,
    Send = fun(N, Options) -> forward(A, B, Message(N), Options#{channel => narrow}) end,
    Before = dropped(narrow, A),
    ok = partisan_test_cluster:freeze(B),
    ?assertEqual([ok, ok, ok], [Send(N, #{}) || N <- [1, 2, 3]]),
    ?assertEqual({error, busy}, Send(4, #{on_busy => error})),
    ?assertEqual({error, timeout}, Send(5, #{timeout => 100})),
    ?assertEqual({error, busy}, Send(6, #{on_busy => drop, ack => true})),
    ?assertEqual(Before, dropped(narrow, A)),
    ?assertEqual(ok, Send(7, #{on_busy => drop})),
    ?assertEqual(Before + 1, dropped(narrow, A)),
    ok = partisan_test_cluster:thaw(B),
    ?assertEqual(ok, Send(8, #{})),
    ?assertEqual([1, 2, 3, 8], [N || {N, _} <- take(B, 4)]).

large([A, B, _]) ->
    Payload = binary:copy(<<7>>, 1 bsl 20),
    Sender = spawn_monitor(fun() ->
        [ok = forward(A, B, {N, Payload}, #{ack => true, channel => bulk}) || N <- lists:seq(1, 30)]
    end),
    ok = break_until(fun() -> call(B, partisan_test_sink, count, [sink]) >= 30 end, [A]),
    ok = ended(Sender),
    ?assertEqual(lists:seq(1, 30), [N || {N, P} <- take(B, 30), P =:= Payload]).

slow([A, B, _]) ->
    ok = call(B, partisan_test_sink, pause, [sink]),
    Last = 5000,
    spawn_sender(A, B, slow, Last, bulk),
    % Its queue fills up to the limit, whatever the sender does.
    ok = await(fun() -> call(B, partisan_test_sink, waiting, [sink]) >= 100 end),
    ?assert(call(B, partisan_test_sink, waiting, [sink]) =< 400),
    ok = call(B, partisan_test_sink, resume, [sink]),
    ok = await(fun() -> call(B, partisan_test_sink, count, [sink]) =:= Last end),
    ?assertEqual([{slow, N} || N <- lists:seq(1, Last)], take(B, Last)).

frozen([A, B, _]) ->
    ok = forward(A, B, before, #{ack => true}),
    ok = partisan_test_cluster:freeze(B),
    ?assertEqual({error, timeout}, forward(A, B, too_late, #{ack => true, timeout => 300})),
    ok = partisan_test_cluster:thaw(B),
    ?assertEqual(ok, forward(A, B, later, #{ack => true})),
    [before | Arrived] = take(B, call(B, partisan_test_sink, count, [sink])),
    ?assertEqual(later, lists:last(Arrived)).

causal([A, B, C]) ->
    % A sends to C and, without waiting for its arrival, to B, which on receipt sends to C.
    Options = #{causal => story},
    lists:foreach(
        fun(N) ->
            ok = forward(A, C, {first, N}, Options#{ack => {notify, N}, channel => bulk}),
            ok = forward(A, B, {heard, N}, Options),
            [{heard, N}] = take(B, 1),
            ok = forward(B, C, {second, N}, Options)
        end,
        lists:seq(1, 20)
    ),
    Arrived = take(C, 40),
    Position = fun(Message) -> length(lists:takewhile(fun(M) -> M =/= Message end, Arrived)) end,
    [?assert(Position({first, N}) < Position({second, N})) || N <- lists:seq(1, 20)].

dead([A, B, C]) ->
    ok = forward(A, C, hello, #{ack => true}),
    ok = partisan_test_cluster:kill(C),
    ?assertMatch({error, _}, forward(A, C, anyone, #{ack => true, timeout => 2000})),
    % Without an owner it is counted.
    Before = dropped(sure, A),
    ?assertEqual(ok, forward(A, C, absent, #{channel => sure, timeout => 300})),
    ok = await(fun() -> dropped(sure, A) > Before end),
    % It holds up no other message.
    ?assertEqual(ok, forward(A, B, still_here, #{ack => true})).

%% Helpers.

dropped(Channel, Node) ->
    #{Channel := #{dropped := Dropped}} = call(Node, partisan, channels, []),
    Dropped.

forward(From, To, Message, Options) ->
    call(From, partisan, forward, [name(To), sink, Message, Options]).

take(Node, Count) ->
    call(Node, partisan_test_sink, take, [sink, Count]).

spawn_sender(From, To, Key, Last, Channel) ->
    _ = call(From, erlang, spawn, [?MODULE, send_all, [name(To), Key, Last, Channel]]),
    ok.

send_all(To, Key, Last, Channel) ->
    Options = #{channel => Channel, partition_key => Key},
    lists:foreach(
        fun(N) ->
            Tag = {Key, N},
            ok = partisan:forward(To, sink, Tag, Options#{ack => {notify, Tag}})
        end,
        lists:seq(1, Last)
    ).

send_plain(To, Key, Last, Channel) ->
    Options = #{channel => Channel, partition_key => Key},
    [ok = partisan:forward(To, sink, {Key, N}, Options) || N <- lists:seq(1, Last)],
    ok.

%% Breaks every connection of these nodes several times, then waits for the condition.
break_until(Condition, Nodes) ->
    Times = counters:new(1, []),
    partisan_test_cluster:await(fun() ->
        ok = counters:add(Times, 1, 1),
        _ = [
            call(Node, partisan_test_cluster, break_connections, [])
         || counters:get(Times, 1) =< 15, Node <- Nodes
        ],
        Condition()
    end).

ended({Pid, Monitor}) ->
    receive
        {'DOWN', Monitor, process, Pid, normal} -> ok;
        {'DOWN', Monitor, process, Pid, Reason} -> {error, Reason}
    end.

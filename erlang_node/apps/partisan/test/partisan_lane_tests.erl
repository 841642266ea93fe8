%%% @doc A lane and its senders: those that wait, those that are killed, those that were stopped.
-module(partisan_lane_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([wait_idly/2, starve/2, give_up/2, stopped_sender/2, lost_token/2, system_messages/0]).

-define(LIMIT, 65536).

%% Waiters, without a lane.

waiters_test_() ->
    [
        {"the first in line is not overtaken by smaller ones", fun in_line/0},
        {"as many are woken as there is room for", fun as_many/0},
        {"a dead sender is not charged", fun dead/0},
        {"a sender that gives up makes room for the next", fun cancelled/0},
        {"all are dismissed", fun dismissed/0}
    ].

in_line() ->
    Queue = queue(100, [50, 40]),
    Large = alias(),
    Waiters = add(Large, 60, Queue, partisan_waiters:new()),
    ?assertEqual(full, partisan_queue:reserve(Queue, 5)),
    ok = partisan_queue:release(Queue, 1, 40),
    % There would be room for a small one, and half of the queue is free.
    Waiting = partisan_waiters:wake(Queue, Waiters),
    ?assertEqual({[], full}, {woken(), partisan_queue:reserve(Queue, 5)}),
    ok = partisan_queue:release(Queue, 1, 50),
    ?assert(partisan_waiters:is_empty(partisan_waiters:wake(Queue, Waiting))),
    ?assertEqual([Large], woken()),
    ?assertEqual({1, 60}, partisan_queue:balance(Queue)),
    ?assertEqual(ok, partisan_queue:reserve(Queue, 5)).

as_many() ->
    Queue = queue(100, [100]),
    [A, B, C] = [alias() || _ <- [1, 2, 3]],
    Waiters = lists:foldl(
        fun(Alias, Acc) -> add(Alias, 40, Queue, Acc) end, partisan_waiters:new(), [A, B, C]
    ),
    ok = partisan_queue:release(Queue, 1, 100),
    Waiting = partisan_waiters:wake(Queue, Waiters),
    ?assertEqual([A, B], woken()),
    ok = partisan_queue:release(Queue, 1, 40),
    ?assert(partisan_waiters:is_empty(partisan_waiters:wake(Queue, Waiting))),
    ?assertEqual([C], woken()).

dead() ->
    Queue = queue(100, [100]),
    {Pid, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    Waiters = partisan_waiters:add({alias(), Pid, 40}, Queue, partisan_waiters:new()),
    ok = partisan_queue:release(Queue, 1, 100),
    Granted = partisan_waiters:wake(Queue, Waiters),
    Left =
        receive
            {{gone, Alias}, _, process, _, _} -> partisan_waiters:leave(Alias, Queue, Granted)
        end,
    ?assertMatch([_], woken()),
    ?assertEqual(partisan_waiters:new(), Left),
    ?assertEqual({0, 0}, partisan_queue:balance(Queue)),
    ?assertEqual(ok, partisan_queue:reserve(Queue, 100)).

cancelled() ->
    Queue = queue(100, [70]),
    Large = alias(),
    Small = alias(),
    Waiters = add(Small, 40, Queue, add(Large, 90, Queue, partisan_waiters:new())),
    ok = partisan_queue:release(Queue, 1, 70),
    true = partisan_queue:charge(Queue, 30),
    Waiting = partisan_waiters:leave(Large, Queue, Waiters),
    Granted = partisan_waiters:wake(Queue, Waiting),
    ?assertEqual({[Small], {2, 70}}, {woken(), partisan_queue:balance(Queue)}),
    % It gave up before it received its grant.
    ?assertEqual(partisan_waiters:new(), partisan_waiters:leave(Small, Queue, Granted)),
    ?assertEqual({1, 30}, partisan_queue:balance(Queue)).

dismissed() ->
    Queue = queue(100, [100]),
    Alias = alias(),
    Waiters = add(Alias, 40, Queue, partisan_waiters:new()),
    ?assert(partisan_waiters:is_empty(partisan_waiters:dismiss(Queue, Waiters))),
    receive {Alias, closed} -> ok end,
    ok = partisan_queue:release(Queue, 1, 100),
    ?assertEqual(ok, partisan_queue:reserve(Queue, 100)).

queue(Limit, Charges) ->
    Queue = partisan_queue:new(Limit),
    [ok = partisan_queue:reserve(Queue, Bytes) || Bytes <- Charges],
    Queue.

add(Alias, Bytes, Queue, Waiters) ->
    partisan_waiters:add({Alias, self(), Bytes}, Queue, Waiters).

woken() ->
    receive
        {Alias, room, _} -> [Alias | woken()]
    after 0 -> []
    end.

%% On nodes.

lane_test_() ->
    {setup,
        fun() ->
            partisan_test_cluster:start(2, #{
                channels => [
                    #{name => default},
                    #{name => narrow, queue_bytes => ?LIMIT},
                    #{name => gossip, monotonic => true}
                ]
            })
        end,
        fun partisan_test_cluster:stop/1, fun([A, B]) ->
            [
                {Title, {timeout, 600, fun() -> on(A, B, Function) end}}
             || {Title, Function} <- [
                    {"a waiting sender uses no processor time", wait_idly},
                    {"a large message gets in among small ones", starve},
                    {"a sender that gives up leaves nothing charged", give_up},
                    {"a charge is credited once, however late its message comes", stopped_sender},
                    {"a slot whose token was lost carries messages again", lost_token}
                ]
            ] ++ [
                {"connections answer system messages",
                    {timeout, 600, fun() -> ok = call(A, ?MODULE, system_messages, []) end}}
            ]
        end}.

on(A, B, Function) ->
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [name(B)] end),
    ok = call(B, partisan_test_sink, start, [sink]),
    try
        Mark = call(A, ?MODULE, Function, [name(B), rand:bytes(16)]),
        ok = await(fun() -> call(B, partisan_test_sink, has, [sink, [Mark]]) end)
    after
        call(B, partisan_test_sink, stop, [sink])
    end.

%% Half of the lane is charged for a message not sent yet; another one does not fit in as well.
wait_idly(To, Mark) ->
    #{queue := Queue} = lane(To, narrow),
    ok = partisan_queue:reserve(Queue, ?LIMIT div 2),
    Message = {Mark, rand:bytes(?LIMIT * 2 div 3)},
    Sender = spawn_link(fun() -> ok = forward(To, Message, narrow) end),
    {waiting, _} = {await_waiting(Sender), Sender},
    {reductions, Before} = process_info(Sender, reductions),
    receive after 200 -> ok end,
    ?assertEqual({reductions, Before}, process_info(Sender, reductions)),
    ok = partisan_queue:release(Queue, 1, ?LIMIT div 2),
    Message.

starve(To, Mark) ->
    _ = lane(To, narrow),
    Flood = [spawn_monitor(fun() -> flood(To) end) || _ <- lists:seq(1, 8)],
    Message = {Mark, rand:bytes(?LIMIT * 9 div 10)},
    ok = forward(To, Message, narrow),
    % Not killed, which may leave a charge that the next one would wait for.
    [Pid ! stop || {Pid, _} <- Flood],
    [receive {'DOWN', Monitor, _, _, normal} -> ok end || {_, Monitor} <- Flood],
    Message.

flood(To) ->
    receive
        stop -> ok
    after 0 ->
        ok = forward(To, {flood, rand:bytes(8192)}, narrow),
        flood(To)
    end.

give_up(To, Mark) ->
    #{queue := Queue} = lane(To, narrow),
    ok = partisan_queue:reserve(Queue, ?LIMIT div 2),
    Large = rand:bytes(?LIMIT * 2 div 3),
    {error, timeout} = partisan:forward(To, sink, Large, #{channel => narrow, timeout => 20}),
    ok = partisan_queue:release(Queue, 1, ?LIMIT div 2),
    ok = forward(To, Mark, narrow),
    ok = await(fun() -> partisan_queue:balance(Queue) =:= {0, 0} end),
    Mark.

%% It was charged, then the node was frozen, then the lane wrote off the charge, and now it sends.
stopped_sender(To, Mark) ->
    #{pid := Pid, queue := Queue} = lane(To, narrow),
    {Bytes, _} = Frame = partisan_frame:message(sink, Mark),
    ChargedAt = erlang:monotonic_time(),
    ok = partisan_queue:reserve(Queue, Bytes),
    % The lane becomes idle with a balance on its account.
    ok = forward(To, another, narrow),
    ok = await(fun() ->
        process_info(Pid, current_function) =:= {current_function, {erlang, hibernate, 3}}
    end),
    Pid ! {timeout, suspected(Pid), settle},
    ok = await(fun() -> partisan_queue:balance(Queue) =:= {0, 0} end),
    Sent = sent(narrow),
    Pid ! {send, ChargedAt, Frame},
    ok = await(fun() -> sent(narrow) > Sent end),
    % The write has been handled.
    _ = sys:get_state(Pid),
    ?assertEqual({0, 0}, partisan_queue:balance(Queue)),
    Mark.

suspected(Pid) ->
    [Account] = [A || A <- tuple_to_list(sys:get_state(Pid)), is_record(A, account, 5)],
    Fields = tuple_to_list(Account),
    hd([Timer || {Timer, {1, _Bytes}} <- Fields, is_reference(Timer)]).

sent(Channel) ->
    #{Channel := #{sent_messages := Sent}} = partisan:channels(),
    Sent.

%% The slot is full, its account is charged, and there is no token: its sender was killed.
lost_token(To, Mark) ->
    #{pid := Pid, queue := Queue, slots := Slots} = lane(To, gossip),
    true = erlang:suspend_process(Pid),
    ok = forward(To, Mark, gossip),
    [Full] = ets:tab2list(Slots),
    {_, Bytes} = partisan_queue:balance(Queue),
    true = erlang:resume_process(Pid),
    ok = await(fun() -> ets:tab2list(Slots) =:= [] end),
    ok = partisan_queue:reserve(Queue, Bytes),
    true = ets:insert(Slots, Full),
    Newer = {newer, Mark},
    ok = await(fun() ->
        ets:tab2list(Slots) =:= [] orelse not_yet(forward(To, Newer, gossip))
    end),
    Newer.

not_yet(ok) -> false.

system_messages() ->
    Acceptor = element(4, sys:get_state(partisan_listener)),
    Connections = [
        {Module, Pid}
     || Pid <- processes(),
        Pid =/= Acceptor,
        {dictionary, Dictionary} <- [process_info(Pid, dictionary)],
        {'$initial_call', {Module, init, _}} <- Dictionary,
        lists:member(Module, [partisan_outbound, partisan_inbound])
    ],
    ?assertEqual(
        [partisan_inbound, partisan_outbound], lists:usort([Module || {Module, _} <- Connections])
    ),
    lists:foreach(
        fun({Module, Pid}) ->
            Record = list_to_atom(lists:nthtail(9, atom_to_list(Module))),
            ?assertEqual(Record, element(1, sys:get_state(Pid))),
            ok = sys:suspend(Pid),
            ok = sys:resume(Pid),
            ?assertEqual(Record, element(1, sys:replace_state(Pid, fun(State) -> State end)))
        end,
        Connections
    ).

forward(To, Message, Channel) ->
    partisan:forward(To, sink, Message, #{channel => Channel, partition_key => key}).

%% The lane, which exists once it has been used and is idle.
lane(To, Channel) ->
    ok = forward(To, warm_up, Channel),
    [{_, Lane}] = ets:lookup(partisan_lanes, {To, Channel, 0}),
    ok = await(fun() -> partisan_queue:balance(element(3, Lane)) =:= {0, 0} end),
    #{pid => element(2, Lane), queue => element(3, Lane), slots => element(4, Lane)}.

await_waiting(Pid) ->
    ok = await(fun() -> process_info(Pid, status) =:= {status, waiting} end),
    waiting.

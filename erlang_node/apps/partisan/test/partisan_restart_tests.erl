%%% @doc A runtime that restarts in the same emulator is a new incarnation: none of its messages is
%%% taken for one of the previous incarnation.
-module(partisan_restart_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([subscriber/2, caller/2, waiter/2, wait_for/1, trapping/1, trap/0]).

-define(TOPIC, news).

pair_test_() ->
    {setup, fun pair/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> Test(Nodes) end}}
         || {Title, Test} <- [
                {"restarted by its supervisor", fun(Pair) -> restarted(Pair, fun crash/1) end},
                {"stopped and started", fun(Pair) -> restarted(Pair, fun stop_and_start/1) end},
                {"its own calls end", fun calls/1},
                {"what waits is notified of a restart", fun(Pair) -> waits(Pair, fun crash/1) end},
                {"and of a stop", fun(Pair) -> waits(Pair, fun stop_and_start/1) end}
            ]
        ]
    end}.

pair() ->
    Nodes = partisan_test_cluster:start(2, #{
        heartbeat_interval => 1000, remote_execution => [partisan_control]
    }),
    ok = connected(Nodes),
    Nodes.

restarted([A, B] = Nodes, Restart) ->
    ok = call(B, ?MODULE, subscriber, [sink, ?TOPIC]),
    ok = call(A, partisan_test_sink, start, [sink]),
    ok = known(A, B),
    Before = call(A, partisan, incarnation, []),
    Old = call(A, partisan, ref, [call(A, erlang, whereis, [sink])]),
    ok = say(A, B, lists:seq(1, 5)),
    ok = Restart(A),
    ok = connected(Nodes),
    ok = known(A, B),
    ok = say(A, B, [6]),
    ok = answer(B, A),
    ?assert(call(A, partisan, incarnation, []) > Before),
    ?assertMatch({noproc, _}, exit_of(B, Old)),
    [ok = call(Node, partisan_test_sink, stop, [sink]) || Node <- Nodes],
    % So that the next test does not take this subscription for its own.
    ok = await(fun() -> call(A, partisan_pubsub, subscribers, [?TOPIC]) =:= [] end).

%% Publishes, broadcasts and sends in causal order, and has the other node receive all of it.
say(A, B, Numbers) ->
    [
        begin
            ok = call(A, partisan, publish, [?TOPIC, N]),
            ok = call(A, partisan, broadcast, [sink, {broadcast, N}]),
            Causal = #{causal => story, timeout => 20000},
            ok = call(A, partisan, forward, [name(B), sink, {causal, N}, Causal])
        end
     || N <- Numbers
    ],
    Expected = [
        Message
     || N <- Numbers,
        Message <- [{partisan, {published, ?TOPIC, N}}, {broadcast, N}, {causal, N}]
    ],
    Received = call(B, partisan_test_sink, take, [sink, length(Expected)]),
    ?assertEqual(lists:sort(Expected), lists:sort(Received)),
    ok.

%% Its answers wait for nothing of the previous incarnation.
answer(B, A) ->
    Causal = #{causal => story, timeout => 20000},
    ok = call(B, partisan, forward, [name(A), sink, answer, Causal]),
    % Among its own broadcasts, which the other node may send to the new incarnation at any time.
    await(fun() -> call(A, partisan_test_sink, has, [sink, [answer]]) end).

%% The caller's process is not one of the runtime's, and outlives it.
calls([A, B] = Nodes) ->
    ok = call(B, partisan_test_sink, start, [silent]),
    ok = call(A, ?MODULE, caller, [caller, name(B)]),
    ok = await(fun() -> call(B, partisan_test_sink, count, [silent]) =:= 1 end),
    ok = crash(A),
    ok = connected(Nodes),
    Silent = name(B),
    ?assertMatch([{nodedown, Silent}], call(A, partisan_test_sink, take, [caller, 1])).

%% Once for each monitor, link and subscription.
waits([A, B] = Nodes, Restart) ->
    ok = call(B, ?MODULE, trapping, [monitored]),
    ok = call(A, ?MODULE, waiter, [waiting, name(B)]),
    ok = Restart(A),
    Received = call(A, partisan_test_sink, take, [waiting, 5]),
    Expected = [
        {'EXIT', noconnection},
        {gone, {monitored, name(B)}, noconnection},
        {nodedown, name(B)},
        {nodedown, name(B)},
        {nodedown, name(B), [{nodedown_reason, lost}]}
    ],
    ?assertEqual(lists:sort(Expected), lists:sort([shown(Message) || Message <- Received])),
    ok = connected(Nodes),
    ?assertEqual(0, call(A, partisan_test_sink, count, [waiting])),
    ok = call(A, partisan_test_sink, stop, [waiting]),
    ok = call(B, partisan_test_sink, stop, [monitored]).

shown({'EXIT', _Reference, Reason}) -> {'EXIT', Reason};
shown({gone, _Monitor, process, Object, Reason}) -> {gone, Object, Reason};
shown(Message) -> Message.

%% Helpers.

crash(Node) ->
    Acks = fun() -> call(Node, erlang, whereis, [partisan_acks]) end,
    Before = Acks(),
    true = call(Node, erlang, exit, [Before, kill]),
    await(fun() -> not lists:member(Acks(), [Before, undefined]) end).

stop_and_start(Node) ->
    ok = call(Node, application, stop, [partisan]),
    call(Node, application, start, [partisan]).

connected(Nodes) ->
    await(fun() ->
        lists:all(
            fun(Node) ->
                try call(Node, partisan, neighbours, []) of
                    [_] -> lists:all(fun(Other) -> answers(Node, Other) end, Nodes -- [Node]);
                    _ -> false
                catch
                    _:_ -> false
                end
            end,
            Nodes
        )
    end).

%% Each knows the other's present incarnation.
answers(Node, Other) ->
    Options = #{ack => true, timeout => 1000},
    try
        ok =:= call(Node, partisan, forward, [name(Other), absent, hello, Options])
    catch
        _:_ -> false
    end.

%% The restarted node has learnt the subscriptions.
known(A, B) ->
    await(fun() -> call(A, partisan_pubsub, subscribers, [?TOPIC]) =:= [name(B)] end).

exit_of(Node, Target) ->
    call(Node, erlang, apply, [
        fun() -> try partisan:call(Target, hello, 20000) catch exit:Reason -> Reason end end, []
    ]).

%% On the nodes.

subscriber(Name, Topic) ->
    ok = partisan_test_sink:start(Name),
    partisan:subscribe(Topic, whereis(Name)).

%% It outlives the exit signal of the restarted node.
trapping(Name) ->
    ok = partisan_test_sink:start(Name),
    partisan_test_sink:run(Name, {?MODULE, trap, []}).

trap() ->
    false = process_flag(trap_exit, true),
    ok.

waiter(Name, Node) ->
    ok = partisan_test_sink:start(Name),
    partisan_test_sink:run(Name, {?MODULE, wait_for, [Node]}).

wait_for(Node) ->
    ok = trap(),
    Monitored = {monitored, Node},
    true = partisan_erlang:link(partisan_erlang:whereis(Monitored)),
    _ = partisan_erlang:monitor(process, Monitored, [{tag, gone}]),
    true = partisan:monitor_node(Node),
    true = partisan:monitor_node(Node),
    ok = partisan_nodes:monitor_nodes(true),
    partisan_nodes:monitor_nodes(true, [nodedown_reason]).

caller(Name, Node) ->
    ok = partisan_test_sink:start(Name),
    _ = spawn(fun() ->
        try
            partisan:call({silent, Node}, hello, infinity)
        catch
            exit:{Reason, _} -> Name ! Reason
        end
    end),
    ok.

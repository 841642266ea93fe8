%%% @doc Nodes that come and go, their connections, aliases and timers, on real nodes.
-module(partisan_nodes_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, peer/1, await/1]).

%% On the nodes.
-export([collect/2, monitor_alias/1, reply/2]).

-define(SETTINGS, #{
    % A node that is slow for as long is lost.
    heartbeat_interval => 2000,
    remote_execution => [partisan_control],
    channels => [#{name => default}, #{name => bulk, parallelism => 2}]
}).

nodes_test_() ->
    {setup, fun() -> partisan_test_cluster:start_connected(3, ?SETTINGS) end,
        fun partisan_test_cluster:stop/1, fun(Nodes) ->
            [
                {Title, {timeout, 600, fun() -> Test(Nodes) end}}
             || {Title, Test} <- [
                    {"names of nodes", fun names/1},
                    {"connections", fun connections/1},
                    {"an alias is reached from other nodes", fun aliases/1},
                    {"a monitor with a tag", fun tags/1},
                    {"a monitor with an alias ends by a reply", fun replies/1},
                    {"a message later", fun timers/1},
                    {"a call falls back to another channel", fun fallback/1},
                    {"a broken connection is no nodedown", fun broken/1},
                    {"each incarnation is up once and down once", fun incarnations/1},
                    {"a node is made to leave", fun leaving/1}
                ]
            ]
        end}.

%% As of `net_kernel'; no server is asked.
invalid_options_test() ->
    Types = [{node_type, hidden}, {node_type, visible}],
    [
        ?assertEqual({error, Reason}, partisan_nodes:monitor_nodes(Flag, Options))
     || Flag <- [true, false],
        {Options, Reason} <- [
            {[absent], {unknown_options, [absent]}},
            {[nodedown_reason, absent], {unknown_options, [absent]}},
            {[{nodedown_reason, true}], {unknown_options, [{nodedown_reason, true}]}},
            {[connection_id], {unknown_options, [connection_id]}},
            {[{node_type, absent}], {bad_option_value, {node_type, absent}}},
            {[{node_type, absent}, other], {bad_option_value, {node_type, absent}}},
            {Types, {option_value_mismatch, lists:reverse(Types)}},
            {#{absent => true}, {unknown_options, #{absent => true}}},
            {#{node_type => absent}, {bad_option_value, #{node_type => absent}}},
            {
                #{nodedown_reason => perhaps, absent => true},
                {bad_option_value, #{nodedown_reason => perhaps}}
            },
            {absent, {invalid_options, absent}},
            {[nodedown_reason | absent], {invalid_options, [nodedown_reason | absent]}}
        ]
    ],
    ?assertEqual(error, partisan_nodes:monitor_nodes(perhaps)),
    ?assertEqual(error, partisan_nodes:monitor_nodes(perhaps, [absent])).

joining_test_() ->
    {"a node joins and waits for it", {timeout, 600, fun joining/0}}.

seeds_test_() ->
    {"a seed that does not answer is logged, once", {timeout, 600, fun unreachable_seed/0}}.

names([A, B, C]) ->
    Others = lists:sort([name(B), name(C)]),
    Nodes = fun(Kind) -> lists:sort(call(A, partisan_erlang, nodes, [Kind])) end,
    ?assertEqual(Others, lists:sort(call(A, partisan_erlang, nodes, []))),
    ?assertEqual(Others, Nodes(connected)),
    ?assertEqual([name(A)], Nodes(this)),
    ?assertEqual([], Nodes(hidden)),
    ?assertEqual([name(A) | Others], Nodes(known)),
    ?assertEqual([name(A) | Others], Nodes([this, visible])),
    ?assert(call(A, partisan_nodes, is_connected, [name(A)])),
    ?assert(call(A, partisan_nodes, is_connected, [name(B)])),
    ?assertNot(call(A, partisan_nodes, is_connected, [<<"none">>])).

connections([A, B, _]) ->
    ok = collector(A, channel, {on_up, [name(B), #{channel => bulk}]}),
    ?assertNot(call(A, partisan_nodes, is_connected, [name(B), bulk])),
    [
        ok = call(A, partisan, forward, [name(B), none, hello, Options#{channel => bulk}])
     || Options <- [#{partition_key => Key} || Key <- lists:seq(1, 20)]
    ],
    ok = await(fun() ->
        lists:member({bulk, 2}, call(A, partisan_nodes, connections, [name(B)]))
    end),
    ?assert(lists:member({name(B), overlay, 1}, call(A, partisan_nodes, connections, []))),
    ?assertEqual([name(B)], collected(A, channel, 1)).

aliases([A, B, _]) ->
    {Alias, Pid} = call(B, ?MODULE, monitor_alias, [[reply]]),
    ok = send_twice(A, Alias),
    ok = await(fun() -> messages(B, Pid) =:= [first] end),
    true = call(B, erlang, exit, [Pid, kill]).

tags([A, B, _]) ->
    ?assertEqual({gone, noproc}, on(A, fun() ->
        Monitor = partisan_erlang:monitor(process, {none, name(B)}, [{tag, gone}]),
        receive {Tag, Monitor, process, _, Reason} -> {Tag, Reason} end
    end)).

replies([A, B, _]) ->
    Node = name(B),
    Self = call(B, erlang, spawn, [timer, sleep, [infinity]]),
    true = call(B, erlang, register, [sleeper, Self]),
    Results = on(A, fun() ->
        lists:map(
            fun(Kind) ->
                Target = {sleeper, Node},
                Monitor = partisan_erlang:monitor(process, Target, [{alias, Kind}]),
                Alias = partisan:ref(Monitor),
                [ok = partisan:forward(Alias, {N, Monitor}) || N <- [1, 2]],
                First = receive {N, Monitor} -> N after 5000 -> none end,
                Second = receive {M, Monitor} -> M after 0 -> none end,
                % Asked after the message: it has been handled.
                #{monitors := Held} = partisan_remote:counts(),
                WasActive = partisan_erlang:demonitor(Monitor, [info]),
                ok = partisan:forward(Alias, {3, Monitor}),
                Third = receive {L, Monitor} -> L after 0 -> none end,
                {Kind, First, Second, Held, WasActive, Third}
            end,
            [explicit_unalias, demonitor, reply_demonitor]
        )
    end),
    ?assertEqual(
        [
            {explicit_unalias, 1, 2, 1, true, 3},
            {demonitor, 1, 2, 1, true, none},
            {reply_demonitor, 1, none, 0, false, none}
        ],
        Results
    ),
    true = call(B, erlang, exit, [Self, kill]).

timers([A, B, _]) ->
    ok = call(B, partisan_test_sink, start, [sink]),
    Target = {sink, name(B)},
    Cancelled = call(A, partisan_erlang, send_after, [60000, Target, never]),
    ?assert(is_integer(call(A, partisan_erlang, cancel_timer, [Cancelled]))),
    ?assertNot(call(A, partisan_erlang, cancel_timer, [Cancelled])),
    _ = call(A, partisan_erlang, send_after, [10, Target, later]),
    ?assertEqual([later], call(B, partisan_test_sink, take, [sink, 1])),
    ok = call(B, partisan_test_sink, stop, [sink]).

fallback([A, B, _]) ->
    {ok, _} = call(B, partisan_test_server, start, [server]),
    Call = fun(Options) ->
        on(A, fun() ->
            try
                partisan:call({server, name(B)}, {echo, hello}, 5000, Options)
            catch
                exit:{Reason, _} -> Reason
            end
        end)
    end,
    ?assertEqual({unknown_channel, nope}, Call(#{channel => nope})),
    ?assertEqual(hello, Call(#{channel => nope, fallback => bulk})),
    ?assertEqual({unknown_channel, none}, Call(#{channel => nope, fallback => none})),
    ?assertEqual(timeout, Call(#{deadline => call(A, erlang, monotonic_time, [millisecond]) - 1})),
    ok = call(B, gen_server, stop, [server]).

broken([A, B, _]) ->
    ok = collector(A, flapping, {monitor_nodes, []}),
    ?assert(call(A, partisan_nodes, disconnect, [name(B)])),
    ?assertNot(call(A, partisan_nodes, disconnect, [<<"none">>])),
    ok = await(fun() ->
        call(A, partisan_nodes, is_connected, [name(B), overlay]) andalso
            call(A, partisan_nodes, is_connected, [name(B)])
    end),
    % What would have been sent is sent within three heartbeats.
    Watched = fun() -> maps:get(watched, call(A, partisan_remote, counts, [])) end,
    ok = await(fun() -> Watched() =:= 2 end),
    ?assertEqual([], collected(A, flapping, 0)).

incarnations([A, B, #{net := Net, configuration := Configuration} = C]) ->
    ok = collector(A, nodes, {monitor_nodes, []}),
    ok = collector(A, informed, {monitor_nodes, #{nodedown_reason => true, node_type => all}}),
    ok = collector(B, nodes, {on_down, ['_', #{}]}),
    partisan_test_cluster:kill(C),
    ?assertEqual([{nodedown, name(C)}], collected(A, nodes, 1)),
    Info = #{node_type => visible, nodedown_reason => lost},
    ?assertEqual([{nodedown, name(C), Info}], collected(A, informed, 1)),
    ?assertEqual([name(C)], collected(B, nodes, 1)),
    Next = partisan_test_cluster:start_node(Net, Configuration),
    ok = await(fun() -> length(call(A, partisan, neighbours, [])) =:= 2 end),
    ?assertEqual([{nodeup, name(C)}], collected(A, nodes, 1)),
    ok = partisan_test_cluster:stop([Next]).

leaving([A, B, C]) ->
    ?assertEqual(
        {error, [{name(B), {not_allowed, partisan_control}}]},
        begin
            ok = partisan_test_cluster:change(B, #{remote_execution => []}),
            call(A, partisan_nodes, update_members, [[peer(A), peer(C)]])
        end
    ),
    ok = partisan_test_cluster:change(B, #{remote_execution => [partisan_control]}),
    ?assertEqual(ok, call(A, partisan_nodes, leave, [name(B)])),
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [] end).

joining() ->
    Net = partisan_test_cluster:net(),
    [A, B] = [
        partisan_test_cluster:start_node(
            Net, partisan_test_cluster:configuration(Net, I, #{seeds => [], replicas => 1})
        )
     || I <- [1, 2]
    ],
    try
        Peer = peer(A),
        ?assertEqual(ok, call(B, partisan_nodes, sync_join, [Peer, 20000])),
        ?assert(lists:member(name(A), call(B, partisan, members, []))),
        Nowhere = partisan_peer:new(<<"nowhere">>, {127, 0, 0, 1}, 1),
        ?assertEqual({error, timeout}, call(B, partisan_nodes, sync_join, [Nowhere, 100]))
    after
        partisan_test_cluster:stop([A, B])
    end.

unreachable_seed() ->
    Net = partisan_test_cluster:net(),
    Seed = partisan_peer:new(<<"absent">>, "absent.invalid", 7946),
    Configuration = partisan_test_cluster:configuration(Net, 1, #{seeds => [Seed]}),
    Node = partisan_test_cluster:start_bare(Net, Configuration),
    try
        ok = call(Node, partisan_test_log, start, [warning]),
        ok = call(Node, partisan_test_cluster, boot, [Configuration]),
        Lines = fun() ->
            [L || L <- call(Node, partisan_test_log, lines, []), string:find(L, "seed") =/= nomatch]
        end,
        % Not at once.
        Refused = [Seed, nxdomain],
        ok = call(Node, partisan_refusals, outgoing, Refused),
        ?assertEqual([], Lines()),
        #{seed := Slot} = call(Node, persistent_term, get, [partisan_refusals]),
        ok = call(Node, atomics, sub, [Slot, 1, 60000]),
        [ok = call(Node, partisan_refusals, outgoing, Refused) || _ <- [1, 2]],
        ok = await(fun() -> length(Lines()) =:= 1 end),
        ?assertNotEqual(nomatch, string:find(hd(Lines()), "absent.invalid")),
        ?assertNotEqual(nomatch, string:find(hd(Lines()), "does not resolve"))
    after
        partisan_test_cluster:stop([Node])
    end.

%% On the nodes.

%% Makes the calling sink of that name a subscriber.
collect(_Sink, {monitor_nodes, Options}) ->
    ok = partisan_nodes:monitor_nodes(true, Options);
collect(Sink, {Hook, [Node, Options]}) ->
    ok = partisan_nodes:Hook(Node, fun(Name) -> Sink ! Name end, Options).

monitor_alias(Options) ->
    Self = self(),
    Pid = spawn(fun() ->
        Self ! {alias, partisan_erlang:alias(Options)},
        receive after infinity -> ok end
    end),
    receive {alias, Alias} -> {Alias, Pid} end.

reply(Alias, Message) ->
    partisan:forward(Alias, Message).

%% Helpers.

collector(Node, Sink, What) ->
    ok = call(Node, partisan_test_sink, start, [Sink]),
    call(Node, partisan_test_sink, run, [Sink, {?MODULE, collect, [Sink, What]}]).

collected(Node, Sink, Count) ->
    Messages = call(Node, partisan_test_sink, take, [Sink, Count]),
    ?assertEqual(0, call(Node, partisan_test_sink, count, [Sink])),
    Messages.

send_twice(Node, Alias) ->
    [ok = call(Node, ?MODULE, reply, [Alias, M]) || M <- [first, second]],
    ok.

messages(Node, Pid) ->
    {messages, Messages} = call(Node, erlang, process_info, [Pid, messages]),
    Messages.

on(Node, Fun) ->
    call(Node, erlang, apply, [Fun, []]).

%%% @doc Changing the overlay and the lanes of running nodes, on real sockets, under traffic.
-module(partisan_switch_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1, send_in_background/5, senders/1]).
-export([send_all/2]).

-define(COUNT, 6).

switch_test_() ->
    {setup, fun cluster/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {"an invalid change is refused, and nothing is changed",
                {timeout, 600, fun() -> refused(Nodes) end}},
            {"other lanes, and every key stays in order",
                {timeout, 600, fun() -> lanes(Nodes) end}},
            {"other lanes while the receiver is slow",
                {timeout, 600, fun() -> lanes_to_the_slow(Nodes) end}},
            {"a restarted manager has the settings of the one before",
                {timeout, 600, fun() -> restarted_manager(Nodes) end}},
            {"from overlay to overlay without loss of acknowledged messages",
                {timeout, 240, fun() -> under_load(Nodes) end}}
        ]
    end}.

cluster() ->
    Nodes = partisan_test_cluster:start(?COUNT, #{
        overlay => {full_mesh, #{}}, channels => [#{name => default, parallelism => 2}]
    }),
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
    {[Circle], _} = partisan_test_page:blocks("tutorials/own-overlay.md"),
    [ok = call(Node, partisan_test_page, load, [Circle]) || Node <- Nodes],
    ok = await(fun() -> degrees(Nodes) =:= [?COUNT - 1] end),
    Nodes.

refused([Node | _]) ->
    Before = call(Node, partisan, overlay, []),
    [
        ?assertEqual({error, Part}, {error, refusal(Node, Changes, Part)})
     || {Changes, Part} <- [
            {#{overlay => {nonsense, #{}}}, "overlay must be "},
            {#{overlay => {client_server, #{}}}, "overlay: client_server cannot be built"},
            {#{overlay => {hyparview, #{}}, parallelism => #{default => 0}}, "channels: parallel"},
            {#{parallelism => #{nope => 2}}, "parallelism: there is no channel nope"},
            {#{parallelism => #{overlay => 2}}, "parallelism: overlay is reserved"},
            {#{replicas => 0}, "replicas must be "},
            {#{token => <<>>}, "token cannot change while"}
        ]
    ],
    ?assertEqual(Before, call(Node, partisan, overlay, [])).

refusal(Node, Changes, Part) ->
    {error, Text} = call(Node, partisan, reconfigure, [Changes]),
    string:slice(Text, 0, length(Part)).

lanes([A | _] = Nodes) ->
    B = lists:last(Nodes),
    Keys = [{lanes, I} || I <- lists:seq(1, 8)],
    [ok = send_in_background(A, B, Key, 20000, default) || Key <- Keys],
    lists:foreach(
        fun(Parallelism) ->
            Start = sent(A),
            [ok = set_parallelism(Node, Parallelism) || Node <- Nodes],
            ok = await(fun() -> senders(A) =:= 0 orelse sent(A) > Start + 10000 end)
        end,
        [7, 1, 16, 3, 4]
    ),
    ok = await(fun() -> senders(A) =:= 0 end),
    Arrived = call(B, partisan_test_sink, take, [sink, 8 * 20000]),
    [?assertEqual(lists:seq(1, 20000), [N || {K, N} <- Arrived, K =:= Key]) || Key <- Keys],
    ok = await(fun() -> connections(A) =< 4 * (?COUNT - 1) end).

%% The previous lanes are full, their successors wait, and a sender that does not wait gets `busy'.
lanes_to_the_slow([A | _] = Nodes) ->
    B = lists:last(Nodes),
    ok = call(B, partisan_test_sink, pause, [sink]),
    Keys = [{slow, I} || I <- lists:seq(1, 4)],
    Start = sent(A),
    [ok = send_in_background(A, B, Key, 20000, default) || Key <- Keys],
    % More than the receiver reads while it is slow: the previous lanes last until it goes on.
    ok = await(fun() -> queued(A) > 1 bsl 20 orelse sent(A) > Start + 20000 end),
    ok = set_parallelism(A, 2),
    ?assertEqual(
        {error, busy},
        call(A, partisan, forward, [name(B), sink, hi, #{on_busy => error, partition_key => slow}])
    ),
    ?assertEqual(
        {error, timeout},
        call(A, partisan, forward, [name(B), sink, hi, #{timeout => 20, partition_key => slow}])
    ),
    ok = call(B, partisan_test_sink, resume, [sink]),
    ok = await(fun() -> senders(A) =:= 0 end),
    Arrived = call(B, partisan_test_sink, take, [sink, 4 * 20000]),
    [?assertEqual(lists:seq(1, 20000), [N || {K, N} <- Arrived, K =:= Key]) || Key <- Keys].

restarted_manager([A | _] = Nodes) ->
    [ok = call(Node, partisan, switch, [{hyparview, #{active_max => 4}}]) || Node <- Nodes],
    Manager = call(A, erlang, whereis, [partisan_manager]),
    true = call(A, erlang, exit, [Manager, kill]),
    ok = await(fun() ->
        New = call(A, erlang, whereis, [partisan_manager]),
        is_pid(New) andalso New =/= Manager
    end),
    ?assertMatch(#{kind := hyparview}, call(A, partisan, overlay, [])),
    [ok = call(Node, partisan, switch, [{full_mesh, #{}}]) || Node <- Nodes],
    ok = await(fun() -> degrees(Nodes) =:= [?COUNT - 1] end).

set_parallelism(Node, Parallelism) ->
    call(Node, partisan, reconfigure, [#{parallelism => #{default => Parallelism}}]).

sent(Node) -> channel(Node, sent_messages).
queued(Node) -> channel(Node, queue_bytes).
connections(Node) -> channel(Node, connections).

channel(Node, Key) ->
    #{default := #{Key := Value}} = call(Node, partisan, channels, []),
    Value.

under_load([A | _] = Nodes) ->
    B = lists:last(Nodes),
    ok = await(fun() -> call(A, partisan_test_sink, count, [sink]) =:= 0 end),
    _ = call(A, erlang, spawn, [?MODULE, send_all, [name(B), sink]]),
    lists:foreach(
        fun({Kind, _} = Spec) ->
            Before = call(B, partisan_test_sink, count, [sink]),
            [ok = call(Node, partisan, switch, [Spec]) || Node <- Nodes],
            [ok = set_parallelism(Node, erlang:phash2(Kind, 4) + 1) || Node <- Nodes],
            ok = await(fun() -> kinds(Nodes) =:= [Kind] andalso components(Nodes) =:= 1 end),
            ok = await(fun() -> call(B, partisan_test_sink, count, [sink]) >= Before + 500 end)
        end,
        [
            {hyparview, #{}},
            % The overlay of docs/tutorials/own-overlay.md.
            {circle, #{period => 250}},
            {hyparview, #{}},
            {client_server, #{servers => [<<"node-1">>]}},
            {cyclon, #{}},
            {scamp_v2, #{}},
            {static, ring(Nodes)},
            {xbot, #{}},
            {full_mesh, #{}}
        ]
    ),
    ok = await(fun() -> degrees(Nodes) =:= [?COUNT - 1] end),
    true = call(A, erlang, exit, [call(A, erlang, whereis, [loader]), enough]),
    [{sent, Last}] = call(A, partisan_test_sink, take, [sink, 1]),
    ?assertEqual(lists:seq(1, Last), call(B, partisan_test_sink, take, [sink, Last])).

ring(Nodes) ->
    Names = [name(Node) || Node <- Nodes],
    #{
        edges => lists:zip(Names, tl(Names) ++ [hd(Names)]),
        peers => [partisan_test_cluster:peer(Node) || Node <- Nodes]
    }.

%% Sends 1, 2, 3 and so on until stopped, then reports how many have been acknowledged.
send_all(To, Sink) ->
    true = register(loader, self()),
    process_flag(trap_exit, true),
    send_all(To, Sink, 1).

send_all(To, Sink, N) ->
    ok = partisan:forward(To, Sink, N, #{ack => {notify, N}}),
    receive
        {'EXIT', _, enough} ->
            Outcomes = [receive {partisan, {acknowledged, I, O}} -> O end || I <- lists:seq(1, N)],
            Sink ! {sent, length([ok || ok <- Outcomes])}
    after 0 -> send_all(To, Sink, N + 1)
    end.

kinds(Nodes) ->
    lists:usort([maps:get(kind, call(Node, partisan, overlay, [])) || Node <- Nodes]).

degrees(Nodes) ->
    lists:usort([length(call(Node, partisan, neighbours, [])) || Node <- Nodes]).

components(Nodes) ->
    Links = maps:from_list([{name(N), call(N, partisan, neighbours, [])} || N <- Nodes]),
    simulator_graph:component_count(Links).

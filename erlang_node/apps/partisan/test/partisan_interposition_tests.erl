%%% Injected faults on real sockets: each action, what survives, their end, and who may set them.
-module(partisan_interposition_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([set/1, forward_all/4, forward_copies/3, odd/1, fail/1, nonsense/1, interposed/0]).

-define(M, partisan_interposition).
-define(HOUR, 3600000).

mesh_test_() ->
    {setup, fun mesh/0, fun partisan_test_cluster:stop/1, fun([A, B, _] = Nodes) ->
        [
            {Title, {timeout, 600, fun() -> with_sinks(Test, A, B) end}}
         || {Title, Test} <- [
                {"nothing is injected by default", fun off/2},
                {"a drop, of one occurrence", fun drop/2},
                {"a share, the same each time", fun share/2},
                {"a delay keeps the order of what it delays", fun delay/2},
                {"a reordering does not", fun reorder/2},
                {"a duplicate", fun duplicate/2},
                {"a corrupted message, in a call, a cast and a stream", fun corrupt/2},
                {"a function, which may fail", fun functions/2},
                {"acknowledged messages survive drops, once and in order", fun acknowledged/2},
                {"messages of the overlay are subject to rules", fun overlay/2},
                {"held messages are bounded, and outlive their rule", fun bounded/2},
                {"rules end by themselves, as does their setter before", fun ends/2},
                {"invalid rules change nothing", fun invalid/2},
                {"nothing from the network sets them", fun network/2}
            ]
        ] ++
            [
                {Title, {timeout, 600, fun() -> Test(Nodes) end}}
             || {Title, Test} <- [
                    {"heartbeats notice a partition set at one end", fun partition/1},
                    {"a restart of the runtime ends them", fun restart/1},
                    {"a crash, before its event", fun crash/1},
                    {"a crash, at its time", fun crash_at/1}
                ]
            ]
    end}.

%% Two clients of one server.
star_test_() ->
    Star = #{overlay => {client_server, #{servers => [<<"node-1">>]}}},
    {setup, fun() -> form(Star) end, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {"a relayed message is subject to the rules of its sender, once",
                {timeout, 600, fun() -> relayed(Nodes) end}},
            {"a partition stops what passes through", {timeout, 600, fun() -> passing(Nodes) end}}
        ]
    end}.

mesh() ->
    form(#{
        % A node that is slow for as long is lost.
        heartbeat_interval => 2000,
        channels => [#{name => default}, #{name => orders, acknowledged => true}],
        remote_execution => [?M]
    }).

form(Overrides) ->
    [A | Others] = Nodes = partisan_test_cluster:start(3, Overrides),
    ok = await_neighbours(A, Others),
    Nodes.

await_neighbours(Node, Others) ->
    Names = lists:sort([name(Other) || Other <- Others]),
    await(fun() ->
        lists:sort(call(Node, partisan, neighbours, [])) =:= Names andalso
            lists:all(
                fun(N) -> lists:member(name(Node), call(N, partisan, neighbours, [])) end, Others
            )
    end).

with_sinks(Test, A, B) ->
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- [A, B]],
    try
        Test(A, B)
    after
        [ok = call(Node, ?M, clear, []) || Node <- [A, B]],
        [ok = call(Node, partisan_test_sink, stop, [sink]) || Node <- [A, B]]
    end.

off(A, B) ->
    ?assertEqual([], call(A, ?M, rules, [])),
    ?assertEqual(false, call(A, ?MODULE, interposed, [])),
    ?assertEqual([1, 2], through(A, B, [1, 2])).

drop(A, B) ->
    Dropped = dropped(A),
    ok = set(A, [rule(drop, #{to => name(B), message => lost, occurrence => 2})]),
    ?assertEqual(true, call(A, ?MODULE, interposed, [])),
    Kept = through(A, B, [{lost, 1}, {kept, 2}, {lost, 3}, {lost, 4}]),
    ?assertEqual([{lost, 1}, {kept, 2}, {lost, 4}], Kept),
    ?assertEqual(#{<<"r">> => 1}, call(A, ?M, counts, [])),
    ?assertEqual(1, dropped(A) - Dropped),
    ok = call(A, ?M, clear, []),
    ?assertEqual(false, call(A, ?MODULE, interposed, [])),
    ?assertEqual([{lost, 1}, {lost, 2}], through(A, B, [{lost, 1}, {lost, 2}])).

share(A, B) ->
    Messages = [{m, N} || N <- lists:seq(1, 500)],
    % Of these alone: the runtime sends messages of its own.
    Rules = [rule(drop, #{message => m, share => 0.3, seed => 7})],
    ok = set(A, Rules),
    Kept = through(A, B, Messages),
    ?assertEqual(#{<<"r">> => 500 - length(Kept)}, call(A, ?M, counts, [])),
    ?assert(length(Kept) > 300 andalso length(Kept) < 400),
    ok = set(A, Rules),
    ?assertEqual(Kept, through(A, B, Messages)),
    % As in the interpreters without sockets.
    Faults = partisan_fault:compile(Rules),
    {Decisions, _} = lists:mapfoldl(
        fun(M, Counts) ->
            partisan_fault:decide(Faults, {message, 0, name(A), name(B), default, M}, Counts)
        end,
        #{},
        Messages
    ),
    ?assertEqual(Kept, [M || {M, pass} <- lists:zip(Messages, Decisions)]).

delay(A, B) ->
    % Longer than a busy machine takes to send them all.
    ok = set(A, [rule({delay, 2000}, #{message => slow})]),
    Slow = [{slow, N} || N <- lists:seq(1, 50)],
    ok = call(A, ?MODULE, forward_all, [name(B), sink, Slow ++ [fast], #{}]),
    ?assertEqual([fast | Slow], call(B, partisan_test_sink, take, [sink, 51])).

reorder(A, B) ->
    ok = set(A, [rule({reorder, 50}, #{message => m})]),
    Messages = [{m, N} || N <- lists:seq(1, 100)],
    ok = call(A, ?MODULE, forward_all, [name(B), sink, Messages, #{}]),
    Arrived = call(B, partisan_test_sink, take, [sink, 100]),
    ?assertNotEqual(Messages, Arrived),
    ?assertEqual(Messages, lists:sort(Arrived)).

duplicate(A, B) ->
    ok = set(A, [rule(duplicate, #{occurrence => 2})]),
    ok = call(A, ?MODULE, forward_all, [name(B), sink, [{m, 1}, {m, 2}, {m, 3}], #{}]),
    ?assertEqual([{m, 1}, {m, 2}, {m, 2}, {m, 3}], call(B, partisan_test_sink, take, [sink, 4])),
    % An acknowledged stream delivers it once.
    ok = set(A, [rule(duplicate, #{})]),
    ?assertEqual([{m, 1}, {m, 2}], through(A, B, [{m, 1}, {m, 2}], #{ack => true})).

corrupt(A, B) ->
    ok = set(A, [rule({corrupt, bit_flip}, #{message => echo})]),
    ?assertEqual([{echo, -1}], through(A, B, [{echo, 1}])),
    ?assertEqual([{echo, -1}], through(A, B, [{echo, 1}], #{ack => true})),
    Sent = {partisan_process, name(A), {echo, 1}},
    ?assertEqual([{partisan_process, name(A), {echo, -1}}], through(A, B, [Sent])),
    {ok, _} = call(B, partisan_test_server, start, [echo]),
    Server = {echo, name(B)},
    ?assertEqual(-1, call(A, partisan, call, [Server, {echo, 1}])),
    ok = call(A, partisan, cast, [Server, {echo, 2}]),
    ok = await(fun() -> call(A, partisan, call, [Server, seen]) =:= [{echo, -2}] end),
    ok = set(A, [rule({corrupt, {replace, other}}, #{message => m})]),
    ?assertEqual([other], through(A, B, [{m, 1}])).

functions(A, B) ->
    ok = set(A, [rule(fun ?MODULE:odd/1, #{message => m})]),
    ?assertEqual([{m, 2}, {m, 4}], through(A, B, [{m, 1}, {m, 2}, {m, 3}, {m, 4}])),
    % Only decisions other than pass are acts of the rule.
    ?assertEqual(#{<<"r">> => 2}, call(A, ?M, counts, [])),
    [
        begin
            ok = set(A, [rule(Function, #{message => m})]),
            ?assertEqual([{m, 1}], through(A, B, [{m, 1}])),
            ?assertEqual(#{<<"r">> => 0}, call(A, ?M, counts, []))
        end
     || Function <- [fun ?MODULE:fail/1, fun ?MODULE:nonsense/1]
    ].

%% Both the messages and their acknowledgements are lost.
acknowledged(A, B) ->
    [ok = set(Node, [rule(drop, #{share => 0.1, channel => orders})]) || Node <- [A, B]],
    Messages = [{order, N} || N <- lists:seq(1, 30)],
    ?assertEqual(Messages, through(A, B, Messages, #{channel => orders})),
    #{<<"r">> := Drops} = call(A, ?M, counts, []),
    ?assert(Drops > 0).

%% The stack's messages have the names of their layers as types.
overlay(A, B) ->
    ok = set(A, [rule(drop, #{channel => overlay, message => broadcast})]),
    ok = call(A, partisan, broadcast, [sink, lost]),
    #{<<"r">> := Drops} = call(A, ?M, counts, []),
    ?assert(Drops > 0),
    ok = call(A, ?M, clear, []),
    % Plumtree repairs what it has missed, here and not in the next test.
    ok = call(A, partisan, broadcast, [sink, kept]),
    ok = await(fun() -> call(B, partisan_test_sink, has, [sink, [kept, lost]]) end).

bounded(A, B) ->
    Dropped = dropped(A),
    % Longer than a busy machine takes to send them all: none is released meanwhile.
    ok = set(A, [rule({delay, 2000}, #{message => slow})]),
    ok = call(A, ?MODULE, forward_copies, [name(B), sink, 70]),
    ok = call(A, ?M, clear, []),
    Held = 70 - (dropped(A) - Dropped),
    ?assert(Held > 60 andalso Held < 64),
    ok = await(fun() -> call(B, partisan_test_sink, count, [sink]) =:= Held end).

%% The setter is the process of this call. However late a message is, its rule is in force until
%% the hour is over, or has ended.
ends(A, B) ->
    Later = #{name => <<"later">>, action => drop, match => #{message => other}},
    ok = set(A, [(rule(drop, #{message => m}))#{until => 500}, Later]),
    ok = await(fun() -> length(call(A, ?M, rules, [])) =:= 1 end),
    ?assertEqual([{m, 1}], through(A, B, [{m, 1}, {other, 1}])),
    ?assertEqual(#{<<"r">> => 0, <<"later">> => 1}, call(A, ?M, counts, [])),
    ok = set(A, [Later#{until => 500}]),
    ok = await(fun() -> call(A, ?M, rules, []) =:= [] end),
    ok = await(fun() -> not call(A, ?MODULE, interposed, []) end),
    ?assertEqual([{m, 1}, {other, 1}], through(A, B, [{m, 1}, {other, 1}])),
    ?assertEqual(#{<<"later">> => 0}, call(A, ?M, counts, [])),
    ok = set(A, [rule(drop, #{message => m})]),
    ?assertMatch([#{until := ?HOUR}], call(A, ?M, rules, [])).

invalid(A, _B) ->
    ok = set(A, [rule(drop, #{message => m})]),
    ?assertEqual(
        {error, "rule r: `match.share` is 2; give a number from 0 to 1"},
        set(A, [rule(drop, #{share => 2})])
    ),
    ?assertEqual(
        {error, "rule r: `until` is 3600001; give at most 3600000, an hour"},
        set(A, [(rule(drop, #{}))#{until => ?HOUR + 1}])
    ),
    ?assertEqual(
        {error, "rule r: `until` is 3600000; give milliseconds, later than `since`"},
        set(A, [(rule(drop, #{}))#{since => ?HOUR}])
    ),
    ?assertMatch([#{match := #{message := m}}], call(A, ?M, rules, [])).

%% Although the configuration allows to execute the module.
network(A, B) ->
    Rules = [rule(drop, #{})],
    To = {?M, name(B)},
    [
        ok = call(A, partisan, forward, [name(B), ?M, Message, #{ack => true}])
     || Message <- [{set, Rules}, {'$gen_call', {self(), make_ref()}, {set, Rules}}]
    ],
    ok = call(A, partisan, cast, [To, {set, Rules}]),
    ?assertMatch({noproc, _}, exit_of(A, call, [To, {set, Rules}])),
    Execute = [name(B), ?M, set, [Rules]],
    ?assertMatch({{not_allowed, ?M}, _}, exit_of(A, execute, Execute)),
    ?assertMatch({noproc, _}, exit_of(A, call, [{echo, name(A)}, {set, Rules}])),
    ?assertEqual([], call(B, ?M, rules, [])).

%% A node that is partitioned from all others.
partition([A, B, C]) ->
    ok = set(A, [rule({partition, [[name(A)]]}, #{})]),
    ok = await(fun() ->
        call(A, partisan, neighbours, []) =:= [] andalso
            call(B, partisan, neighbours, []) =:= [name(C)] andalso
            call(C, partisan, neighbours, []) =:= [name(B)]
    end),
    #{<<"r">> := Stopped} = call(A, ?M, counts, []),
    ?assert(Stopped > 0),
    ok = call(A, ?M, clear, []),
    ok = await_neighbours(A, [B, C]).

restart([A | Others]) ->
    ok = set(A, [rule(drop, #{})]),
    Before = call(A, erlang, whereis, [?M]),
    true = call(A, erlang, exit, [call(A, erlang, whereis, [partisan_acks]), kill]),
    ok = await(fun() ->
        Now = call(A, erlang, whereis, [?M]),
        is_pid(Now) andalso Now =/= Before
    end),
    ?assertEqual([], call(A, ?M, rules, [])),
    ?assertEqual(false, call(A, ?MODULE, interposed, [])),
    ok = await_neighbours(A, Others).

%% Neither messages of the runtime nor heartbeats count.
crash([A, _, C]) ->
    ok = call(C, partisan_test_sink, start, [sink]),
    ok = set(C, [rule(crash, #{node => name(C), event => 3})]),
    ok = call(A, ?MODULE, forward_all, [name(C), sink, [{m, 1}, {m, 2}], #{ack => true}]),
    ?assertEqual([{m, 1}, {m, 2}], call(C, partisan_test_sink, take, [sink, 2])),
    ok = call(A, ?MODULE, forward_all, [name(C), sink, [{m, 3}], #{}]),
    ok = await(fun() -> not is_running(C) end),
    ok = await(fun() -> not lists:member(name(C), call(A, partisan, neighbours, [])) end).

crash_at([A, B, _]) ->
    ok = set(A, [(rule(crash, #{node => name(B)}))#{since => 1}]),
    % Later than the answer to this.
    ok = set(B, [(rule(crash, #{node => name(B)}))#{since => 2000}]),
    ok = await(fun() -> not is_running(B) end),
    ?assert(is_running(A)).

relayed([_, A, B]) ->
    ok = call(B, partisan_test_sink, start, [sink]),
    ok = set(A, [rule(drop, #{to => name(B), message => m, occurrence => [2, 3]})]),
    ?assertEqual([{m, 1}, {m, 4}], through(A, B, [{m, N} || N <- lists:seq(1, 4)])),
    ok = call(A, ?M, clear, []).

%% The server swallows what it would pass on, before either end has noticed.
passing([Server, A, B]) ->
    ok = set(Server, [rule({partition, [[name(B)]]}, #{})]),
    ok = call(A, ?MODULE, forward_all, [name(B), sink, [lost], #{}]),
    ok = await(fun() -> dropped(Server) > 0 end),
    ok = call(Server, ?M, clear, []),
    ok = await(fun() ->
        through(A, B, [kept]) =:= [kept]
    end).

%% Internals.

rule(Action, Match) -> #{name => <<"r">>, action => Action, match => Match}.

set(Node, Rules) -> call(Node, ?MODULE, set, [Rules]).

%% What arrives of these messages, in the order of arrival, until one that no rule concerns.
through(A, B, Messages) ->
    through(A, B, Messages, #{}).

through(A, B, Messages, Options) ->
    Fence = {fence, make_ref()},
    ok = call(A, ?MODULE, forward_all, [name(B), sink, Messages ++ [Fence], Options]),
    ok = await(fun() -> call(B, partisan_test_sink, has, [sink, [Fence]]) end),
    Count = call(B, partisan_test_sink, count, [sink]),
    [M || M <- call(B, partisan_test_sink, take, [sink, Count]), M =/= Fence].

dropped(Node) ->
    lists:sum([
        call(Node, partisan_metrics, value, [
            partisan_channel_dropped_messages_total, [Channel, injected]
        ])
     || Channel <- [default, overlay]
    ]).

exit_of(Node, Function, Arguments) ->
    try call(Node, partisan, Function, Arguments) of
        Result -> {no_exit, Result}
    catch
        _:Reason -> Reason
    end.

is_running(#{peer := Peer}) ->
    try peer:call(Peer, erlang, node, [], 60000) of
        _ -> true
    catch
        _:_ -> false
    end.

%% On the nodes.

set(Rules) -> partisan_interposition:set(Rules).

forward_all(To, Name, Messages, Options) ->
    lists:foreach(fun(M) -> ok = partisan:forward(To, Name, M, Options) end, Messages).

%% Of a megabyte.
forward_copies(To, Name, Count) ->
    forward_all(To, Name, lists:duplicate(Count, {slow, rand:bytes(1 bsl 20)}), #{}).

odd({message, _Now, _From, _To, _Channel, {m, N}}) when N rem 2 =:= 1 -> drop;
odd(_Event) -> pass.

fail(_Event) -> error(on_purpose).

nonsense(_Event) -> nonsense.

interposed() ->
    {ok, Channel} = partisan_channel:find(default),
    partisan_channel:is_interposed(Channel).

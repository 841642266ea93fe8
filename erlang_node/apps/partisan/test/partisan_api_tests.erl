%%% @doc References, calls, casts, monitors and OTP's own functions between real nodes.
-module(partisan_api_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1, await/2]).

-define(CHANNELS, [
    #{name => default}, #{name => bulk, parallelism => 4}, #{name => gossip, monotonic => true}
]).

mesh_test_() ->
    suite("mesh", fun() -> form(3, #{}) end, [
        {"a reference means the same process everywhere", fun references/1},
        {"a reference to a previous incarnation leads nowhere", fun previous_incarnation/1},
        {"a name alone is one of this node", fun names/1},
        {"an ordinary server is called", fun calls/1},
        {"a call fails as it does in OTP", fun failures/1},
        {"a late answer is not the answer to the next call", fun late_answer/1},
        {"casts stay in order, and before calls", fun casts/1},
        {"calls survive broken connections", fun broken_connections/1},
        {"OTP's own functions reach other nodes", fun via/1},
        {"the end of a process is reported with its reason", fun process_ends/1},
        {"an ended monitor sends nothing", fun demonitored/1},
        {"monitors leave nothing behind", fun cleaned_up/1},
        {"a frozen node is lost, and so are its processes", fun frozen/1},
        {"the nodes that monitor a dead one learn of it", fun killed/1}
    ]).

%% Two clients of one server, without a connection to each other.
star_test_() ->
    Star = #{overlay => {client_server, #{servers => [<<"node-1">>]}}},
    suite("star", fun() -> form(3, Star) end, [
        {"calls pass through others", fun([_, A, B]) -> calls([A, B, none]) end},
        {"monitors pass through others", fun([_, A, B]) -> process_ends([A, B, none]) end},
        {"a node that is no neighbour is lost", fun([_, A, B]) -> killed([A, none, B]) end}
    ]).

%% References.

references([A, B, _]) ->
    Ref = call(B, gen_server, call, [server, ref]),
    ?assertEqual(name(B), partisan_ref:peer_name(Ref)),
    % It has passed through a node, and comes back unchanged.
    Back = call(A, partisan, call, [{server, name(B)}, {echo, Ref}]),
    ?assertEqual(Ref, Back),
    ok = call(A, partisan, forward, [Ref, by_reference]),
    ok = call(A, partisan, forward, [Ref, acknowledged, #{ack => true, channel => bulk}]),
    ok = await(fun() -> seen(B) =:= [by_reference, acknowledged] end),
    ?assertEqual(hello, call(A, partisan, call, [Ref, {echo, hello}])),
    ?assertMatch({ok, _}, call(B, partisan_ref, to_local, [Ref])),
    ?assertEqual(error, call(A, partisan_ref, to_local, [Ref])),
    % Locally it works like the pid.
    ok = call(B, partisan, forward, [Ref, at_home]),
    ok = await(fun() -> lists:member(at_home, seen(B)) end).

previous_incarnation([A, B, _]) ->
    Ref = call(B, gen_server, call, [server, ref]),
    Previous = setelement(3, Ref, element(3, Ref) - 1),
    ok = call(A, partisan, forward, [Previous, previous]),
    ok = call(A, partisan, forward, [{server, name(B)}, current]),
    ok = await(fun() -> seen(B) =:= [current] end),
    ?assertMatch({noproc, _}, exit_of(A, [Previous, hello])),
    ?assertEqual(noproc, on(A, fun() -> down(partisan:monitor(process, Previous)) end)).

names([A, _, _]) ->
    Own = name(A),
    Seen = on(A, fun() ->
        ok = partisan:forward(server, first),
        ok = partisan:forward(server, second, #{channel => bulk}),
        ok = partisan:cast(server, third),
        gen_server:call({via, partisan, server}, seen)
    end),
    ?assertEqual([first, second, third], Seen),
    ?assertEqual(hello, call(A, partisan, call, [server, {echo, hello}])),
    ?assertMatch({noproc, {partisan, call, [absent | _]}}, exit_of(A, [absent, hello])),
    Reference = call(A, partisan_erlang, whereis, [server]),
    ?assertEqual(Reference, call(A, partisan_erlang, whereis, [{server, Own}])),
    ?assert(call(A, partisan_erlang, is_process_alive, [server])),
    ?assertError(badarg, call(A, partisan_erlang, exit, [server, kill])),
    Down = on(A, fun() ->
        Present = partisan:monitor(process, server),
        % Its answer shows that the first is there.
        Absent = partisan:monitor(process, absent),
        {enough, _} = exit_of(fun() -> partisan:call(server, {stop, enough}) end),
        [
            receive {'DOWN', Monitor, process, Object, Reason} -> {Object, Reason} end
         || Monitor <- [Absent, Present]
        ]
    end),
    ?assertEqual([{{absent, Own}, noproc}, {{server, Own}, enough}], Down).

%% Calls.

calls([A, B, _]) ->
    Server = {server, name(B)},
    Terms = [[a | improper], list_to_tuple(lists:seq(1, 300)), <<0:800000>>, #{1.5 => []}],
    [?assertEqual(Term, call(A, partisan, call, [Server, {echo, Term}])) || Term <- Terms],
    Options = #{channel => bulk, partition_key => key},
    ?assertEqual(yes, call(A, partisan, call, [Server, {echo, yes}, infinity, Options])),
    ?assertEqual(yes, call(A, partisan, call, [Server, {echo, yes}, 5000, #{ack => false}])),
    ?assertEqual(yes, call(B, partisan, call, [Server, {echo, yes}])).

failures([A, B, _]) ->
    Server = {server, name(B)},
    ?assertMatch({noproc, {partisan, call, _}}, exit_of(A, [{absent, name(B)}, hello])),
    ?assertMatch({noproc, {partisan, call, _}}, exit_of(B, [{absent, name(B)}, hello])),
    ?assertMatch({timeout, {partisan, call, _}}, exit_of(A, [Server, keep, 50])),
    ?assertMatch({oops, {partisan, call, _}}, exit_of(A, [Server, {stop, oops}])),
    ?assertMatch({noproc, {partisan, call, _}}, exit_of(A, [Server, {echo, again}])),
    ?assertMatch({{nodedown, <<"absent">>}, _}, exit_of(A, [{server, <<"absent">>}, hi, infinity])),
    Unknown = [Server, hi, 5000, #{channel => nope}],
    ?assertMatch({{unknown_channel, nope}, _}, exit_of(A, Unknown)),
    Monotonic = [Server, hi, 5000, #{channel => gossip}],
    ?assertMatch({{monotonic_channel, gossip}, _}, exit_of(A, Monotonic)).

late_answer([A, B, _]) ->
    Server = {server, name(B)},
    {Answers, Mailbox} = on(A, fun() ->
        ok = answer_late(Server, 50),
        Echoes = [partisan:call(Server, {echo, N}) || N <- lists:seq(1, 20)],
        {Echoes, process_info(self(), messages)}
    end),
    ?assertEqual(lists:seq(1, 20), Answers),
    ?assertEqual({messages, []}, Mailbox).

%% Again and with more time if the server has not got the call that timed out.
answer_late(Server, Timeout) ->
    ?assertExit({timeout, _}, partisan:call(Server, keep, Timeout)),
    case partisan:call(Server, release) of
        ok -> ok;
        none -> answer_late(Server, 2 * Timeout)
    end.

casts([A, B, _]) ->
    Server = {server, name(B)},
    Last = 500,
    Seen = on(A, fun() ->
        [ok = partisan:cast(Server, N) || N <- lists:seq(1, Last)],
        partisan:call(Server, seen)
    end),
    ?assertEqual(lists:seq(1, Last), Seen).

broken_connections([A, B, _]) ->
    Server = {server, name(B)},
    Caller = self(),
    Last = 300,
    {Pid, Monitor} = spawn_monitor(fun() ->
        Caller ! {answers, on(A, fun() ->
            [partisan:call(Server, {echo, N}, infinity) || N <- lists:seq(1, Last)]
        end)}
    end),
    ok = partisan_test_cluster:await(fun() ->
        _ = [call(N, partisan_test_cluster, break_connections, []) || N <- [A, B],
             is_process_alive(Pid), counted() < 10],
        not is_process_alive(Pid)
    end),
    ?assertEqual(normal, receive {'DOWN', Monitor, _, _, Reason} -> Reason end),
    ?assertEqual(lists:seq(1, Last), receive {answers, Answers} -> Answers end).

counted() ->
    put(counted, 1 + case get(counted) of undefined -> 0; N -> N end).

via([A, B, _]) ->
    Server = {via, partisan, {server, name(B)}},
    ?assertEqual(hello, call(A, gen_server, call, [Server, {echo, hello}])),
    Seen = on(A, fun() ->
        [ok = gen_server:cast(Server, N) || N <- lists:seq(1, 100)],
        gen_server:call(Server, seen)
    end),
    ?assertEqual(lists:seq(1, 100), Seen),
    Absent = {via, partisan, {absent, name(B)}},
    ?assertMatch(
        {noproc, {gen_server, call, _}},
        on(A, fun() -> exit_of(fun() -> gen_server:call(Absent, hello) end) end)
    ),
    ?assertMatch(
        {oops, {gen_server, call, _}},
        on(A, fun() -> exit_of(fun() -> gen_server:call(Server, {stop, oops}) end) end)
    ),
    % A name of this node can be registered, one of another node cannot.
    Mine = {via, partisan, {other, name(A)}},
    {ok, _} = call(A, gen_server, start, [Mine, partisan_test_server, [], []]),
    ?assertMatch(
        {error, {already_started, _}},
        call(A, gen_server, start, [Mine, partisan_test_server, [], []])
    ),
    ?assertEqual(hello, call(B, gen_server, call, [Mine, {echo, hello}])),
    ?assertEqual(ok, call(A, gen_server, stop, [other])),
    ?assertEqual(no, call(A, partisan, register_name, [{other, name(B)}, self()])),
    ?assertExit({badarg, _}, call_exit(A, partisan, send, [{other, name(A)}, hello])).

%% Monitors.

process_ends([A, B, _]) ->
    Target = {server, name(B)},
    Reasons = on(A, fun() ->
        ByName = partisan:monitor(process, Target),
        Ref = partisan:call(Target, ref),
        ByRef = partisan:monitor(process, Ref),
        ?assertExit(_, partisan:call(Target, {stop, {shutdown, enough}})),
        [receive {'DOWN', ByName, process, Target, R1} -> R1 end,
         receive {'DOWN', ByRef, process, Ref, R2} -> R2 end,
         down(partisan:monitor(process, Ref)),
         down(partisan:monitor(process, Target))]
    end),
    ?assertEqual([{shutdown, enough}, {shutdown, enough}, noproc, noproc], Reasons),
    % The same locally.
    ?assertEqual(noproc, on(B, fun() -> down(partisan:monitor(process, Target)) end)).

demonitored([A, B, _]) ->
    Target = {server, name(B)},
    ?assertEqual({messages, []}, on(A, fun() ->
        Monitor = partisan:monitor(process, Target),
        Other = partisan:monitor(process, Target),
        true = partisan:demonitor(Monitor),
        ?assertExit(_, partisan:call(Target, {stop, normal})),
        normal = down(Other),
        true = partisan:monitor_node(name(B)),
        true = partisan:demonitor_node(name(B)),
        process_info(self(), messages)
    end)).

cleaned_up([A, B, C]) ->
    Target = {server, name(B)},
    % Each of these ends with its monitor.
    _ = [on(A, fun() -> partisan:monitor(process, Target) end) || _ <- lists:seq(1, 50)],
    _ = [on(A, fun() -> partisan:monitor_node(name(B)) end) || _ <- lists:seq(1, 10)],
    _ = [on(A, fun() -> partisan:call(Target, {echo, N}) end) || N <- lists:seq(1, 10)],
    ok = await(fun() -> [idle(Node) || Node <- [A, B, C]] =:= [true, true, true] end).

frozen([A, B, _]) ->
    Waiting = start_waiting(A, B),
    ok = partisan_test_cluster:freeze(B),
    ok = await(fun() -> notified(A, Waiting) end),
    ok = partisan_test_cluster:thaw(B),
    ?assertEqual([noconnection, {nodedown, name(B)}, {nodedown, name(B)}], heard(A, Waiting)),
    % The server still has to end the call, as for a local caller.
    ok = call(B, gen_server, stop, [server]),
    ok = await(fun() -> idle(A) andalso idle(B) end),
    ok = await(fun() -> lists:member(name(B), call(A, partisan, neighbours, [])) end).

killed([A, _, C]) ->
    ok = server(C),
    Waiting = start_waiting(A, C),
    ok = partisan_test_cluster:kill(C),
    ok = await(fun() -> notified(A, Waiting) end, 60000),
    ?assertEqual([noconnection, {nodedown, name(C)}, {nodedown, name(C)}], heard(A, Waiting)),
    ok = await(fun() -> idle(A) end).

%% Starts processes that monitor a process, monitor its node, and call it.
start_waiting(A, B) ->
    Target = {server, name(B)},
    Node = name(B),
    Pids = on(A, fun() ->
        Self = self(),
        Runs = [
            fun() ->
                Monitor = partisan:monitor(process, Target),
                Self ! ready,
                down(Monitor)
            end,
            fun() ->
                true = partisan:monitor_node(Node),
                Self ! ready,
                receive {nodedown, _} = Down -> Down end
            end,
            fun() ->
                Self ! ready,
                {Reason, _} = exit_of(fun() -> partisan:call(Target, keep, infinity) end),
                Reason
            end
        ],
        Started = [spawn(fun() -> keep(Run()) end) || Run <- Runs],
        [receive ready -> ok end || _ <- Started],
        [list_to_binary(pid_to_list(P)) || P <- Started]
    end),
    ok = await(fun() -> kept(B) end),
    Pids.

keep(Result) ->
    put(result, Result),
    receive never -> ok end.

results(Pids) ->
    [begin
        {dictionary, Dictionary} = process_info(list_to_pid(binary_to_list(P)), dictionary),
        proplists:get_value(result, Dictionary, none)
    end || P <- Pids].

notified(A, Pids) ->
    not lists:member(none, on(A, fun() -> results(Pids) end)).

heard(A, Pids) ->
    on(A, fun() -> results(Pids) end).

%% Whether the server there holds back an answer.
kept(B) ->
    on(B, fun() -> maps:get(kept, sys:get_state(server)) =/= none end).

%% Whether the process for monitors has no state left.
idle(Node) ->
    on(Node, fun() -> partisan_remote:counts() end) =:=
        #{monitors => 0, node_monitors => 0, owners => 0, held => 0, calls => 0, watched => 0}.

down(Monitor) ->
    receive {'DOWN', Monitor, process, _, Reason} -> Reason
    after 20000 -> never
    end.

%% Helpers.

suite(Name, Setup, Tests) ->
    {setup, Setup, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Name ++ ": " ++ Title, {timeout, 600, fun() -> with_servers(Test, Nodes) end}}
         || {Title, Test} <- Tests
        ]
    end}.

form(Count, Overrides) ->
    Nodes = partisan_test_cluster:start(Count, maps:merge(
        #{channels => ?CHANNELS, heartbeat_interval => 1000}, Overrides
    )),
    ok = await(fun() ->
        lists:all(fun(N) -> call(N, partisan, joined, []) end, Nodes) andalso
            length(call(hd(Nodes), partisan, neighbours, [])) =:= Count - 1
    end),
    Nodes.

with_servers(Test, Nodes) ->
    _ = [ok = server(Node) || Node <- Nodes],
    try
        Test(Nodes)
    after
        _ = [try call(Node, gen_server, stop, [server]) catch _:_ -> ok end || Node <- Nodes]
    end.

server(Node) ->
    on(Node, fun() ->
        case partisan_test_server:start(server) of
            {ok, _} -> ok;
            {error, {already_started, _}} -> ok
        end
    end).

seen(Node) ->
    call(Node, gen_server, call, [server, seen]).

on(Node, Fun) ->
    call(Node, erlang, apply, [Fun, []]).

exit_of(Call) ->
    try
        {unexpected, Call()}
    catch
        exit:Reason -> Reason
    end.

exit_of(Node, Arguments) ->
    on(Node, fun() -> exit_of(fun() -> apply(partisan, call, Arguments) end) end).

call_exit(Node, Module, Function, Arguments) ->
    Run = fun() ->
        try
            {ok, apply(Module, Function, Arguments)}
        catch
            exit:Reason -> {exit, Reason}
        end
    end,
    case on(Node, Run) of
        {ok, Result} -> Result;
        {exit, Reason} -> exit(Reason)
    end.

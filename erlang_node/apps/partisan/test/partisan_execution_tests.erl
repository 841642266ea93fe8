%%% @doc Execution on other nodes: what is allowed, its outcomes, spawned processes, links.
%%%
%%% Longer than 300 lines: the subjects share one set of virtual machines, which take seconds to
%%% start.
-module(partisan_execution_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([act/1, hold/1, wait/0, outcome/1, collect/1, losses/1]).

%% A lost node is noticed after seconds, and so is one that a busy machine stops for as long.
-define(ALLOWED, #{remote_execution => [?MODULE, partisan_control], heartbeat_interval => 2000}).

allowed_test_() ->
    {setup, fun() -> form(3, ?ALLOWED) end, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> Test(Nodes) end}}
         || {Title, Test} <- [
                {"the classes of erpc", fun erpc/1},
                {"the results of rpc", fun rpc/1},
                {"several nodes at once", fun multicall/1},
                {"requests and responses", fun requests/1},
                {"an abandoned function ends", fun abandoned/1},
                {"a spawned process is like any other", fun spawned/1},
                {"its reason is known, however early it ends", fun spawn_monitored/1},
                {"links", fun links/1},
                {"a link ends", fun unlinked/1},
                {"links of this node's processes, by their pids", fun linked_here/1},
                {"what cannot be linked is refused", fun not_linked/1},
                {"a link that the other node fails to make", fun link_fails/1},
                {"exit signals", fun exits/1},
                {"what a process is doing", fun information/1},
                {"a lost node", fun lost/1}
            ]
        ]
    end}.

%% Two clients of one server, without a connection to each other.
star_test_() ->
    % None is lost. One that is no neighbour is taken for lost after two intervals without a word.
    Star = maps:merge(?ALLOWED, #{
        overlay => {client_server, #{servers => [<<"node-1">>]}}, heartbeat_interval => 5000
    }),
    {setup, fun() -> form(3, Star) end, fun partisan_test_cluster:stop/1, fun([_, A, B]) ->
        [
            {"through others: " ++ Title, {timeout, 600, fun() -> Test([A, B, none]) end}}
         || {Title, Test} <- [
                {"erpc", fun erpc/1},
                {"spawned processes", fun spawn_monitored/1},
                {"links", fun links/1}
            ]
        ]
    end}.

%% A client knows both servers, and has a connection to one of them.
members_test_() ->
    {setup, fun two_servers/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        {"all members by default", {timeout, 600, fun() -> members(Nodes) end}}
    end}.

refused_test_() ->
    {setup, fun() -> form(2, #{}) end, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> Test(Nodes) end}}
         || {Title, Test} <- [
                {"nothing is executed by default", fun refused/1},
                {"and nothing decoded", fun undecoded/1}
            ]
        ]
    end}.

erpc([A, B, _]) ->
    Call = fun(What) -> outcome_on(A, {partisan_erpc, call, [name(B), ?MODULE, act, [What]]}) end,
    ?assertEqual({value, {name(B), hello}}, Call({return, hello})),
    ?assertEqual({throw, ball}, Call({throw, ball})),
    ?assertEqual({exit, {exception, gone}}, Call({exit, gone})),
    ?assertMatch({error, {exception, wrong, [_ | _]}}, Call({error, wrong})),
    ?assertEqual({exit, {signal, killed}}, Call(kill)),
    ?assertEqual(
        {error, {erpc, timeout}},
        outcome_on(A, {partisan_erpc, call, [name(B), ?MODULE, wait, [], 100]})
    ),
    ?assertEqual(
        {error, {erpc, {not_allowed, lists}}},
        outcome_on(A, {partisan_erpc, call, [name(B), lists, sum, [[1]]]})
    ),
    ?assertEqual(
        {error, {erpc, badarg}}, outcome_on(A, {partisan_erpc, call, [name(B), 1, a, []]})
    ),
    % On its own node.
    ?assertEqual(
        {value, {name(A), hello}},
        outcome_on(A, {partisan_erpc, call, [name(A), ?MODULE, act, [{return, hello}]]})
    ),
    ?assertEqual(
        {error, {erpc, timeout}},
        outcome_on(A, {partisan_erpc, call, [name(A), ?MODULE, wait, [], 100]})
    ),
    % A fun, with its environment.
    Sum = fun() -> {partisan:node(), lists:sum([1, 2])} end,
    ?assertEqual({value, {name(B), 3}}, outcome_on(A, {partisan_erpc, call, [name(B), Sum]})),
    Foreign = fun lists:sort/0,
    ?assertEqual(
        {error, {erpc, {not_allowed, lists}}},
        outcome_on(A, {partisan_erpc, call, [name(B), Foreign]})
    ).

rpc([A, B, _]) ->
    Call = fun(What) -> call(A, partisan_rpc, call, [name(B), ?MODULE, act, [What]]) end,
    ?assertEqual({name(B), hello}, Call({return, hello})),
    ?assertEqual(ball, Call({throw, ball})),
    ?assertEqual({badrpc, {'EXIT', gone}}, Call({exit, gone})),
    ?assertMatch({badrpc, {'EXIT', {wrong, [_ | _]}}}, Call({error, wrong})),
    ?assertEqual({badrpc, {'EXIT', killed}}, Call(kill)),
    ?assertEqual(
        {badrpc, timeout}, call(A, partisan_rpc, call, [name(B), ?MODULE, wait, [], 100])
    ),
    ?assertEqual(
        {badrpc, {not_allowed, lists}}, call(A, partisan_rpc, call, [name(B), lists, sum, [[1]]])
    ),
    ?assertEqual({badrpc, nodedown}, call(A, partisan_rpc, call, [<<"none">>, ?MODULE, wait, []])).

multicall([A, B, C]) ->
    Nodes = [name(N) || N <- [A, B, C]],
    Act = [?MODULE, act, [{return, here}]],
    ?assertEqual(
        {[{Node, here} || Node <- Nodes], [<<"none">>]},
        call(A, partisan_rpc, multicall, [Nodes ++ [<<"none">>] | Act])
    ),
    ?assertEqual(
        [{ok, {Node, here}} || Node <- Nodes] ++ [{error, {erpc, noconnection}}],
        call(A, partisan_erpc, multicall, [Nodes ++ [<<"none">>] | Act])
    ),
    {Everywhere, []} = call(A, partisan_rpc, multicall, Act),
    ?assertEqual(Nodes, lists:sort([Node || {Node, here} <- Everywhere])),
    ok = call(A, partisan_erpc, multicast, [[name(B), name(C)], ?MODULE, hold, [multicast]]),
    ok = await(fun() -> is_registered(B, multicast) andalso is_registered(C, multicast) end),
    [true = call(N, erlang, exit, [call(N, erlang, whereis, [multicast]), kill]) || N <- [B, C]].

members([_, _, Client] = Nodes) ->
    ok = await(fun() ->
        length(call(Client, partisan, neighbours, [])) =:= 1 andalso
            length(call(Client, partisan, members, [])) =:= 3
    end),
    Names = [name(Node) || Node <- Nodes],
    Work = [?MODULE, act, [{return, here}]],
    [
        begin
            {Values, []} = call(Client, partisan_rpc, multicall, Work ++ Timeout),
            ?assertEqual(Names, lists:sort([Name || {Name, here} <- Values]))
        end
     || Timeout <- [[], [60000]]
    ],
    abcast = call(Client, partisan_rpc, eval_everywhere, [?MODULE, hold, [everywhere]]),
    ok = await(fun() -> lists:all(fun(Node) -> is_registered(Node, everywhere) end, Nodes) end).

requests([A, B, _]) ->
    Node = name(B),
    {Values, Late} = on(A, fun() ->
        Send = fun(Function, Arguments) ->
            partisan_erpc:send_request(Node, ?MODULE, Function, Arguments)
        end,
        First = Send(act, [{return, 1}]),
        Second = Send(act, [{return, 2}]),
        Waiting = Send(wait, []),
        {response, Two} = partisan_erpc:wait_response(Second, 20000),
        One = partisan_erpc:receive_response(First),
        no_response = partisan_erpc:wait_response(Waiting),
        {[One, Two], outcome({partisan_erpc, receive_response, [Waiting, 10]})}
    end),
    ?assertEqual([{Node, 1}, {Node, 2}], Values),
    ?assertEqual({error, {erpc, timeout}}, Late),
    ?assertEqual({Node, 3}, on(A, fun() ->
        Key = partisan_rpc:async_call(Node, ?MODULE, act, [{return, 3}]),
        partisan_rpc:yield(Key)
    end)).

abandoned([A, B, _]) ->
    [
        begin
            ?assertMatch(
                {badrpc, timeout},
                call(A, partisan_rpc, call, [name(On), ?MODULE, hold, [abandoned], 1000])
            ),
            ok = await(fun() -> not is_registered(On, abandoned) end)
        end
     || On <- [A, B]
    ].

spawned([A, B, _]) ->
    Ref = call(A, partisan_erlang, spawn, [name(B), ?MODULE, hold, [spawned]]),
    ok = await(fun() -> is_registered(B, spawned) end),
    ?assertEqual(name(B), partisan_ref:peer_name(Ref)),
    ?assert(call(A, partisan_erlang, is_process_alive, [Ref])),
    ?assertEqual(Ref, call(A, partisan_erlang, whereis, [{spawned, name(B)}])),
    ?assertEqual(undefined, call(A, partisan_erlang, whereis, [{absent, name(B)}])),
    ok = call(A, partisan, forward, [Ref, stop]),
    ok = await(fun() -> not call(A, partisan_erlang, is_process_alive, [Ref]) end),
    Fun = fun() -> hold(spawned) end,
    Other = call(A, partisan_erlang, spawn, [name(B), Fun]),
    ok = await(fun() -> is_registered(B, spawned) end),
    ok = call(A, partisan, forward, [Other, stop]).

%% Again and again, since a monitor may always come too late.
spawn_monitored([A, B, _]) ->
    Node = name(B),
    [
        ?assertEqual({Reason, true}, on(A, fun() ->
            {Ref, Monitor} = partisan_erlang:spawn_monitor(Node, ?MODULE, act, [{exit, Reason}]),
            receive
                {'DOWN', Monitor, process, Object, Ended} -> {Ended, Object =:= Ref}
            after 20000 -> {never, true}
            end
        end))
     || Reason <- [{reason, N} || N <- lists:seq(1, 20)] ++ [normal]
    ].

links([A, B, _]) ->
    Node = name(B),
    % The process ends.
    Trapped = fun(Work) ->
        on(A, fun() ->
            true = process_flag(trap_exit, true) =:= false,
            Ref = partisan_erlang:spawn_link(Node, ?MODULE, act, [Work]),
            receive {'EXIT', Ref, Reason} -> Reason after 20000 -> never end
        end)
    end,
    ?assertEqual([gone, normal, killed], [Trapped(W) || W <- [{exit, gone}, {exit, normal}, kill]]),
    ?assertEqual({exit, gone}, outcome_on(A, fun() ->
        _ = partisan_erlang:spawn_link(Node, ?MODULE, act, [{exit, gone}]),
        receive never -> ok after 20000 -> never end
    end)),
    % The linker ends.
    ?assertEqual({exit, enough}, outcome_on(A, fun() ->
        _ = partisan_erlang:spawn_link(Node, ?MODULE, hold, [linked]),
        ok = await(fun() -> partisan_erlang:whereis({linked, Node}) =/= undefined end),
        exit(enough)
    end)),
    ok = await(fun() -> not is_registered(B, linked) end),
    % A link with a process that is there, from both ends.
    _ = call(B, erlang, spawn, [?MODULE, hold, [linked]]),
    ok = await(fun() -> is_registered(B, linked) end),
    ?assertEqual(stopped, on(A, fun() ->
        false = process_flag(trap_exit, true),
        Ref = partisan_erlang:whereis({linked, Node}),
        true = partisan_erlang:link(Ref),
        true = partisan_erlang:link(Ref),
        ok = partisan:forward(Ref, {exit, stopped}),
        receive {'EXIT', Ref, Reason} -> Reason after 20000 -> never end
    end)),
    ?assertEqual(noproc, on(A, fun() ->
        false = process_flag(trap_exit, true),
        Gone = partisan_ref:nowhere(Node),
        true = partisan_erlang:link(Gone),
        receive {'EXIT', Gone, Reason} -> Reason after 20000 -> never end
    end)).

unlinked([A, B, _]) ->
    Node = name(B),
    ?assertEqual(none, on(A, fun() ->
        false = process_flag(trap_exit, true),
        Ref = partisan_erlang:spawn_link(Node, ?MODULE, hold, [kept]),
        ok = await(fun() -> partisan_erlang:whereis({kept, Node}) =/= undefined end),
        true = partisan_erlang:unlink(Ref),
        true = partisan_erlang:unlink(Ref),
        receive Unexpected -> Unexpected after 0 -> none end
    end)),
    ok = await(fun() -> call(B, ets, info, [partisan_spawned, size]) =:= 0 end),
    ?assert(is_registered(B, kept)),
    true = call(B, erlang, exit, [call(B, erlang, whereis, [kept]), kill]).

linked_here([A, _, _]) ->
    ?assertEqual(stopped, on(A, fun() ->
        false = process_flag(trap_exit, true),
        Pid = spawn(?MODULE, hold, [held]),
        true = partisan_erlang:link(Pid),
        Pid ! {exit, stopped},
        receive {'EXIT', Pid, Reason} -> Reason after 20000 -> never end
    end)),
    ?assertEqual({killed, {messages, []}}, on(A, fun() ->
        false = process_flag(trap_exit, true),
        {Pid, Monitor} = spawn_monitor(?MODULE, hold, [held]),
        true = partisan_erlang:link(Pid),
        true = partisan_erlang:unlink(Pid),
        true = exit(Pid, kill),
        receive
            {'DOWN', Monitor, process, Pid, Reason} -> {Reason, process_info(self(), messages)}
        end
    end)).

not_linked([A, _, _]) ->
    Targets = [
        42, name, {name, name(A)}, #{}, make_ref(), call(A, partisan_erlang, alias, []),
        {partisan_ref, name, 1, process, <<>>}
    ],
    [
        ?assertEqual(
            {Function, Target, {{error, badarg}, {messages, []}}},
            {Function, Target, on(A, fun() ->
                false = process_flag(trap_exit, Traps),
                Caught = try partisan_erlang:Function(Target) catch Class:R -> {Class, R} end,
                {Caught, process_info(self(), messages)}
            end)}
        )
     || Traps <- [false, true], Function <- [link, unlink], Target <- Targets
    ].

%% The caller fails, and is neither ended nor left waiting.
link_fails([A, B, _]) ->
    Pid = call(B, erlang, spawn, [?MODULE, hold, [unreadable]]),
    ok = await(fun() -> is_registered(B, unreadable) end),
    Ref = call(A, partisan_erlang, whereis, [{unreadable, name(B)}]),
    % Without its key the node reads no references.
    Key = call(B, persistent_term, get, [partisan_ref]),
    true = call(B, persistent_term, erase, [partisan_ref]),
    try
        [
            ?assertEqual({error, badarg}, outcome_on(A, fun() ->
                false = process_flag(trap_exit, Traps),
                partisan_erlang:link(Ref)
            end))
         || Traps <- [false, true]
        ]
    after
        ok = call(B, persistent_term, put, [partisan_ref, Key])
    end,
    true = call(B, erlang, exit, [Pid, kill]).

exits([A, B, _]) ->
    Node = name(B),
    [
        begin
            _ = call(B, erlang, spawn, [?MODULE, hold, [victim]]),
            ok = await(fun() -> is_registered(B, victim) end),
            ?assert(on(A, fun() ->
                Ref = partisan_erlang:whereis({victim, Node}),
                true = partisan_erlang:exit(Ref, normal),
                true = partisan_erlang:is_process_alive(Ref),
                partisan_erlang:exit(Ref, Reason)
            end)),
            ok = await(fun() -> not is_registered(B, victim) end)
        end
     || Reason <- [kill, enough]
    ],
    Collector = call(B, erlang, spawn, [?MODULE, collect, [collector]]),
    ok = await(fun() -> is_registered(B, collector) end),
    Sender = on(A, fun() ->
        true = partisan_erlang:exit(partisan_erlang:whereis({collector, Node}), hint),
        partisan:self()
    end),
    ok = await(fun() ->
        call(B, erlang, process_info, [Collector, messages]) =:=
            {messages, [{'EXIT', Sender, hint}]}
    end),
    true = call(B, erlang, exit, [Collector, kill]),
    ?assert(call(A, partisan_erlang, exit, [partisan_ref:nowhere(Node), kill])).

information([A, B, _]) ->
    Pid = call(B, erlang, spawn, [?MODULE, hold, [informative]]),
    ok = await(fun() -> is_registered(B, informative) end),
    Target = {informative, name(B)},
    ?assertEqual(
        {registered_name, informative},
        call(A, partisan_erlang, process_info, [Target, registered_name])
    ),
    [{links, []}, {group_leader, Leader}] =
        call(A, partisan_erlang, process_info, [Target, [links, group_leader]]),
    ?assertEqual(name(B), partisan_ref:peer_name(Leader)),
    ?assertMatch([_ | _], call(A, partisan_erlang, process_info, [Target])),
    true = call(B, erlang, exit, [Pid, kill]),
    ok = await(fun() -> not is_registered(B, informative) end),
    ?assertEqual(undefined, call(A, partisan_erlang, process_info, [Target, links])).

lost([A, _, C]) ->
    Node = name(C),
    Ref = call(A, partisan_erlang, spawn, [Node, ?MODULE, hold, [linked]]),
    ok = await(fun() -> is_registered(C, linked) end),
    Waiting = call(A, erlang, spawn, [?MODULE, losses, [Ref]]),
    % Its last call is there: links and spawns are calls, too, while they last.
    ok = await(fun() -> is_registered(C, called) end),
    partisan_test_cluster:kill(C),
    ok = await(fun() -> not call(A, erlang, is_process_alive, [Waiting]) end),
    ?assertEqual(
        [
            {down, noconnection}, {erpc, {error, {erpc, noconnection}}},
            {linked, noconnection}, {spawned, noconnection}
        ],
        call(A, persistent_term, get, [?MODULE])
    ),
    ?assertNot(call(A, partisan_erlang, is_process_alive, [Ref])).

refused([A, B]) ->
    Node = name(B),
    Work = [?MODULE, act, [{return, 1}]],
    ?assertEqual({badrpc, {not_allowed, ?MODULE}}, call(A, partisan_rpc, call, [Node | Work])),
    [
        ?assertEqual(
            {Function, {error, {not_allowed, ?MODULE}}},
            {Function, outcome_on(A, {partisan_erlang, Function, [Node | Work]})}
        )
     || Function <- [spawn, spawn_monitor, spawn_link]
    ],
    {ok, _} = call(B, partisan_test_server, start, [server]),
    Ref = call(A, partisan_erlang, whereis, [{server, Node}]),
    [
        ?assertEqual(
            {Function, {error, {not_allowed, partisan_control}}},
            {Function, outcome_on(A, {partisan_erlang, Function, Arguments})}
        )
     || {Function, Arguments} <- [
            {exit, [Ref, kill]}, {link, [Ref]}, {process_info, [Ref, links]}
        ]
    ],
    ?assertEqual([], call(B, gen_server, call, [server, seen])),
    % By via names.
    {ok, _} = call(B, gen_event, start, [{local, events}]),
    Via = fun(Name) -> {via, partisan, {Name, Node}} end,
    [
        ?assertMatch(
            {Function, {exit, Reason}} when
                Reason =:= {not_allowed, partisan_control};
                element(1, Reason) =:= {not_allowed, partisan_control},
            {Function, outcome_on(A, {Module, Function, Arguments})}
        )
     || {Module, Function, Arguments} <- [
            {sys, get_state, [Via(server)]},
            {sys, suspend, [Via(server)]},
            {gen_server, stop, [Via(server)]},
            {gen_event, add_handler, [Via(events), ?MODULE, []]},
            {gen_event, stop, [Via(events)]}
        ]
    ],
    ?assertEqual({value, []}, outcome_on(A, {gen_event, which_handlers, [Via(events)]})),
    ?assertEqual({value, ok}, outcome_on(A, {gen_event, sync_notify, [Via(events), hello]})),
    ?assertEqual([], call(B, gen_server, call, [server, seen])).

%% The atom in the arguments stays unknown to the node, and so does the name of the module.
undecoded([A, B]) ->
    Count = call(B, erlang, system_info, [atom_count]),
    New = [list_to_atom("unknown_" ++ integer_to_list(N)) || N <- lists:seq(1, 50)],
    ?assertEqual(
        {badrpc, {not_allowed, hd(New)}},
        call(A, partisan_rpc, call, [name(B), hd(New), hd(New), New])
    ),
    % A few atoms of modules loaded on the way.
    ?assert(call(B, erlang, system_info, [atom_count]) - Count < 50).

%% On the nodes.

act({return, Term}) -> {partisan:node(), Term};
act({throw, Term}) -> throw(Term);
act({exit, Reason}) -> exit(Reason);
act({error, Reason}) -> error(Reason);
act(kill) -> exit(self(), kill).

wait() ->
    receive never -> ok end.

hold(Name) ->
    true = register(Name, self()),
    receive
        stop -> ok;
        {exit, Reason} -> exit(Reason)
    end.

collect(Name) ->
    process_flag(trap_exit, true),
    true = register(Name, self()),
    wait().

%% How a process learns of the loss of the node of this one.
losses(Ref) ->
    false = process_flag(trap_exit, true),
    Node = partisan_ref:peer_name(Ref),
    true = partisan_erlang:link(Ref),
    Spawned = partisan_erlang:spawn_link(Node, ?MODULE, wait, []),
    {_, Monitor} = partisan_erlang:spawn_monitor(Node, ?MODULE, wait, []),
    Call = outcome({partisan_erpc, call, [Node, ?MODULE, hold, [called]]}),
    Linked = receive {'EXIT', Ref, R1} -> R1 end,
    Gone = receive {'EXIT', Spawned, R2} -> R2 end,
    Down = receive {'DOWN', Monitor, process, _, R3} -> R3 end,
    persistent_term:put(?MODULE, [
        {down, Down}, {erpc, Call}, {linked, Linked}, {spawned, Gone}
    ]).

%% The class and reason of a call in a process of its own.
outcome({Module, Function, Arguments}) ->
    outcome(fun() -> {value, apply(Module, Function, Arguments)} end);
outcome(Fun) ->
    {Pid, Monitor} = erlang:spawn_monitor(fun() ->
        Outcome =
            try
                Fun()
            catch
                Class:Reason -> {Class, Reason}
            end,
        exit({?MODULE, Outcome})
    end),
    receive
        {'DOWN', Monitor, process, Pid, {?MODULE, Outcome}} -> Outcome;
        {'DOWN', Monitor, process, Pid, Reason} -> {exit, Reason}
    end.

%% Helpers.

form(Count, Settings) ->
    Nodes = partisan_test_cluster:start(Count, Settings),
    ok = await(fun() ->
        lists:all(fun(N) -> call(N, partisan, joined, []) end, Nodes) andalso
            length(call(hd(Nodes), partisan, neighbours, [])) =:= Count - 1
    end),
    Nodes.

two_servers() ->
    Net = partisan_test_cluster:net(),
    Plain = [partisan_test_cluster:configuration(Net, I, ?ALLOWED) || I <- [1, 2, 3]],
    Servers = [
        partisan_peer:new(Name, Host, Port)
     || #{name := Name, host := Host, listen_port := Port} <- lists:droplast(Plain)
    ],
    Overlay = {client_server, #{servers => [Name || #{name := Name} <- Servers]}},
    [
        partisan_test_cluster:start_node(
            Net, C#{overlay => Overlay, seeds => Servers, heartbeat_interval => 5000}
        )
     || C <- Plain
    ].

outcome_on(Node, Call) ->
    call(Node, ?MODULE, outcome, [Call]).

on(Node, Fun) ->
    case outcome_on(Node, fun() -> {value, Fun()} end) of
        {value, Value} -> Value;
        Failed -> error(Failed)
    end.

is_registered(Node, Name) ->
    call(Node, erlang, whereis, [Name]) =/= undefined.

%%% Cases: nodes, their lists and their monitors.
-module(comparison_nodes).

-export([cases/0]).

-import(comparison_run, [b/0, absent/0, fixture/1, fixture/2, mailbox/0]).

cases() ->
    lists() ++ of_processes() ++ subscriptions() ++ connections() ++ losses().

lists() ->
    [
        {"erlang:node/0", "the own node", ok, fun(S) -> (S:erlang()):node() end},
        {"erlang:nodes/0", "another node", ok, fun(S) ->
            ok = contact(S, b()),
            lists:member(b(), (S:erlang()):nodes())
        end},
        {"erlang:nodes/0", "not the own node, nor an absent one", error, fun(S) ->
            [lists:member(N, (S:erlang()):nodes()) || N <- [S:own_node(), absent()]]
        end},
        {"erlang:nodes/1", "this", ok, fun(S) -> (S:erlang()):nodes(this) end},
        {"erlang:nodes/1", "hidden", ok, fun(S) -> (S:erlang()):nodes(hidden) end},
        {"erlang:nodes/1", "connected: not the own node", ok, fun(S) ->
            lists:member(S:own_node(), (S:erlang()):nodes(connected))
        end},
        {"erlang:nodes/1", "visible: not the own node", ok, fun(S) ->
            lists:member(S:own_node(), (S:erlang()):nodes(visible))
        end},
        {"erlang:nodes/1", "known: the own and another node", ok, fun(S) ->
            ok = contact(S, b()),
            [lists:member(N, (S:erlang()):nodes(known)) || N <- [S:own_node(), b()]]
        end},
        {"erlang:nodes/1", "this and hidden", ok, fun(S) -> (S:erlang()):nodes([this, hidden]) end},
        {"erlang:nodes/1", "none", error, fun(S) -> (S:erlang()):nodes([]) end},
        {"erlang:nodes/1", "a kind that does not exist", error, fun(S) ->
            (S:erlang()):nodes(absent)
        end}
    ].

of_processes() ->
    [
        {"erlang:node/1", "of a process of the own node", ok, fun(S) ->
            (S:erlang()):node(S:own())
        end},
        {"erlang:node/1", "of a process identifier", ok, fun(S) -> (S:erlang()):node(self()) end},
        {"erlang:node/1", "of an Erlang reference", ok, fun(S) ->
            (S:erlang()):node(make_ref())
        end},
        {"erlang:node/1", "of a process of another node", ok, fun(S) ->
            {_, Reference} = fixture(process),
            (S:erlang()):node(Reference)
        end},
        {"erlang:node/1", "of a process that has ended", error, fun(S) ->
            Pid = spawn(fun() -> ok end),
            Monitor = monitor(process, Pid),
            receive {'DOWN', Monitor, process, _, _} -> ok end,
            (S:erlang()):node(Pid)
        end},
        {"erlang:node/1", "of no process, which is no target", error, fun(S) ->
            (S:erlang()):node(process)
        end}
    ].

subscriptions() ->
    [
        {"net_kernel:monitor_nodes/1", "its value", ok, fun(S) ->
            [(S:net_kernel()):monitor_nodes(Flag) || Flag <- [true, false]]
        end},
        {"net_kernel:monitor_nodes/1", "twice", ok, fun(S) ->
            [(S:net_kernel()):monitor_nodes(Flag) || Flag <- [true, true, false]]
        end},
        {"net_kernel:monitor_nodes/1", "ended without having begun", error, fun(S) ->
            (S:net_kernel()):monitor_nodes(false)
        end},
        {"net_kernel:monitor_nodes/2", "its value", ok, fun(S) ->
            [(S:net_kernel()):monitor_nodes(Flag, [nodedown_reason]) || Flag <- [true, false]]
        end},
        {"net_kernel:monitor_nodes/2", "without options", ok, fun(S) ->
            [(S:net_kernel()):monitor_nodes(Flag, []) || Flag <- [true, false]]
        end},
        {"net_kernel:monitor_nodes/2", "of hidden nodes", ok, fun(S) ->
            [(S:net_kernel()):monitor_nodes(F, [{node_type, hidden}]) || F <- [true, false]]
        end},
        {"net_kernel:monitor_nodes/2", "with the identifiers of connections", ok, fun(S) ->
            [(S:net_kernel()):monitor_nodes(F, [connection_id]) || F <- [true, false]]
        end},
        {"net_kernel:monitor_nodes/2", "with an empty map of options", ok, fun(S) ->
            [(S:net_kernel()):monitor_nodes(Flag, #{}) || Flag <- [true, false]]
        end},
        {"net_kernel:monitor_nodes/2", "with a map of options", ok, fun(S) ->
            Options = #{nodedown_reason => true, node_type => all},
            [(S:net_kernel()):monitor_nodes(Flag, Options) || Flag <- [true, false]]
        end},
        {"net_kernel:monitor_nodes/2", "with equal options twice", ok, fun(S) ->
            Options = [nodedown_reason, {node_type, all}, nodedown_reason, {node_type, all}],
            [(S:net_kernel()):monitor_nodes(Flag, Options) || Flag <- [true, false]]
        end},
        {"net_kernel:monitor_nodes/1", "with a flag that is no boolean", error, fun(S) ->
            (S:net_kernel()):monitor_nodes(perhaps)
        end},
        {"net_kernel:monitor_nodes/2", "ended without having begun", error, fun(S) ->
            (S:net_kernel()):monitor_nodes(false, [nodedown_reason])
        end},
        {"net_kernel:monitor_nodes/2", "ended with other options", error, fun(S) ->
            ok = (S:net_kernel()):monitor_nodes(true, [nodedown_reason]),
            (S:net_kernel()):monitor_nodes(false, [])
        end}
    ] ++
        [
            {"net_kernel:monitor_nodes/2", "with " ++ Title, error, fun(S) ->
                (S:net_kernel()):monitor_nodes(Flag, Options)
            end}
         || {Title, Flag, Options} <- [
                {"a flag that is no boolean", perhaps, []},
                {"a flag that is no boolean, and an unknown option", perhaps, [nothing]},
                {"an unknown option", true, [nothing]},
                {"an unknown option, ended", false, [nothing]},
                {"an unknown option as a pair", true, [{nothing, true}]},
                {"an unknown option, which is known in a map", true, [{nodedown_reason, true}]},
                {"an unknown option in a map", true, #{nothing => true}},
                {"options that are an atom", true, nothing},
                {"an unknown type of nodes", true, [{node_type, nothing}]},
                {"an unknown type of nodes in a map", true, #{node_type => nothing}},
                {"two types of nodes", true, [{node_type, hidden}, {node_type, visible}]},
                {"a reason that is no boolean", true, #{nodedown_reason => perhaps}}
            ]
        ].

connections() ->
    [
        {"erlang:disconnect_node/1", "an absent node", error, fun(S) ->
            (S:erlang()):disconnect_node(absent())
        end},
        {"erlang:monitor_node/2", "of an absent node, and not of another", error, fun(S) ->
            true = S:monitor_node(b(), true),
            true = S:monitor_node(absent(), true),
            Down = receive {nodedown, Node} -> Node end,
            true = S:monitor_node(b(), false),
            {Down, mailbox()}
        end},
        {"erlang:monitor_node/2", "ended: nothing comes", error, fun(S) ->
            true = S:monitor_node(absent(), true),
            receive {nodedown, _} -> S:monitor_node(absent(), false) end
        end}
    ].

%% A node is lost: a node reports its neighbours alone.
losses() ->
    [
        {"net_kernel:monitor_nodes/1", "the node is killed: once", loss, fun(S, Node, Ready) ->
            ok = (S:net_kernel()):monitor_nodes(true),
            lost(S, Node, Ready, fun() ->
                receive {nodedown, Node} -> ok end,
                [M || M <- mailbox(), M =:= {nodedown, Node}]
            end)
        end},
        {"net_kernel:monitor_nodes/1", "twice, and the node is killed", loss,
            fun(S, Node, Ready) ->
                [ok = (S:net_kernel()):monitor_nodes(true) || _ <- [1, 2]],
                lost(S, Node, Ready, fun() ->
                    [receive {nodedown, Node} -> down end || _ <- [1, 2]]
                end)
            end},
        {"net_kernel:monitor_nodes/2", "without options, and the node is killed", loss,
            fun(S, Node, Ready) ->
                ok = (S:net_kernel()):monitor_nodes(true, []),
                lost(S, Node, Ready, fun() ->
                    receive
                        {nodedown, Node} -> without_info;
                        {nodedown, Node, Info} -> Info
                    end
                end)
            end},
        {"net_kernel:monitor_nodes/2", "the type of a node that is killed", loss,
            fun(S, Node, Ready) ->
                ok = (S:net_kernel()):monitor_nodes(true, [{node_type, visible}]),
                lost(S, Node, Ready, fun() -> receive {nodedown, Node, Info} -> Info end end)
            end},
        {"net_kernel:monitor_nodes/2", "with a reason, and the node is killed", loss,
            fun(S, Node, Ready) ->
                ok = (S:net_kernel()):monitor_nodes(true, [nodedown_reason]),
                lost(S, Node, Ready, fun() ->
                    receive {nodedown, Node, Info} -> [Key || {Key, _} <- Info] end
                end)
            end},
        {"net_kernel:monitor_nodes/2", "with a map of options, and the node is killed", loss,
            fun(S, Node, Ready) ->
                Options = #{nodedown_reason => true, node_type => visible},
                ok = (S:net_kernel()):monitor_nodes(true, Options),
                lost(S, Node, Ready, fun() ->
                    receive {nodedown, Node, #{} = Info} -> lists:sort(maps:keys(Info)) end
                end)
            end},
        {"erlang:nodes/0", "without a node that is killed", loss, fun(S, Node, Ready) ->
            {_, Reference} = fixture(process, Node),
            Monitor = S:monitor(process, Reference),
            Ready(),
            receive {'DOWN', Monitor, process, _, _} -> ok end,
            gone(S, Node)
        end}
    ].

contact(S, Node) ->
    contact = S:call({fixture, Node}, {echo, contact}, 60000),
    ok.

lost(S, Node, Ready, Outcome) ->
    ok = contact(S, Node),
    IsNeighbour = lists:member(Node, (S:erlang()):nodes()),
    Ready(),
    case IsNeighbour of
        true -> Outcome();
        false -> no_neighbour
    end.

gone(S, Node) ->
    case lists:member(Node, (S:erlang()):nodes()) of
        true -> receive after 20 -> gone(S, Node) end;
        false -> gone
    end.

%%% Cases: monitors of processes and nodes.
-module(comparison_monitors).

-export([cases/0, established/1]).

-import(comparison_run, [b/0, absent/0, fixture/1, fixture/2, mailbox/0, ended/2]).

cases() ->
    of_processes() ++ of_none() ++ ended_monitors() ++ of_nodes() ++ losses().

of_processes() ->
    [
        {"erlang:monitor/2", "of a server that " ++ Title ++ By, ok, fun(S) ->
            {Name, _} = Server = fixture(server),
            Monitor = S:monitor(process, element(Element, Server)),
            ok = established(S),
            _ = S:send(Name, {stop, Reason}),
            receive {'DOWN', Monitor, Type, Object, Why} -> {Type, Object, Why} end
        end}
     || {By, Element} <- [{", by reference", 2}],
        {Title, Reason} <- reasons()
    ] ++
        [
            {"erlang:monitor/2", "of a process that " ++ Title ++ ", by name", ok, fun(S) ->
                {Name, _} = fixture(process),
                Monitor = S:monitor(process, Name),
                ok = established(S),
                _ = S:send(Name, {stop, Reason}),
                receive
                    {'DOWN', Monitor, Type, Object, Why} -> {Type, Object =:= Name, Why}
                end
            end}
         || {Title, Reason} <- reasons()
        ] ++
        [
            {"erlang:monitor/2", "of a server that is killed", ok, fun(S) ->
                {Name, Reference} = fixture(server),
                Monitor = S:monitor(process, Reference),
                ok = established(S),
                _ = comparison_outcome:of_call(fun() -> S:call(Name, kill, 60000) end),
                receive {'DOWN', Monitor, _, _, Why} -> Why end
            end},
            {"erlang:monitor/2", "of a server that fails", ok, fun(S) ->
                {Name, Reference} = fixture(server),
                Monitor = S:monitor(process, Reference),
                ok = established(S),
                _ = comparison_outcome:of_call(fun() -> S:call(Name, {error, oops}, 60000) end),
                receive {'DOWN', Monitor, _, _, Why} -> Why end
            end},
            {"erlang:monitor/2", "of a process of the own node", ok, fun(S) ->
                {Name, Reference} = fixture(process, S:own_node()),
                Monitor = S:monitor(process, Reference),
                ok = established(S, S:own_node()),
                _ = S:send(Name, {stop, oops}),
                receive {'DOWN', Monitor, Type, Object, Why} -> {Type, Object, Why} end
            end},
            {"erlang:monitor/2", "of a name of the own node, without the node", ok, fun(S) ->
                {{Name, Node}, _} = fixture(process, S:own_node()),
                Monitor = S:monitor(process, Name),
                ok = established(S, Node),
                _ = S:send(Name, {stop, oops}),
                receive
                    {'DOWN', Monitor, Type, Object, Why} -> {Type, Object =:= {Name, Node}, Why}
                end
            end},
            {"erlang:monitor/2", "twice: two messages", ok, fun(S) ->
                {Name, Reference} = fixture(process),
                Monitors = [S:monitor(process, Reference) || _ <- [1, 2]],
                ok = established(S),
                _ = S:send(Name, {stop, oops}),
                [receive {'DOWN', M, _, _, Why} -> Why end || M <- Monitors]
            end},
            {"erlang:monitor/2", "of itself", ok, fun(S) ->
                is_reference(S:monitor(process, S:own()))
            end},
            {"erlang:monitor/2", "messages of the process come first", ok, fun(S) ->
                {Name, Reference} = fixture(process),
                Monitor = S:monitor(process, Reference),
                ok = established(S),
                _ = [S:send(Name, N) || N <- lists:seq(1, 20)],
                _ = S:send(Name, {seen, S:own(), seen}),
                _ = S:send(Name, {stop, oops}),
                receive
                    {'DOWN', Monitor, _, _, _} -> down_first;
                    {seen, Seen} ->
                        {Seen, receive {'DOWN', Monitor, _, _, Why} -> Why end}
                end
            end}
        ].

reasons() ->
    [
        {"ends normally", normal},
        {"shuts down", shutdown},
        {"shuts down with a reason", {shutdown, [enough]}},
        {"ends with a reason", {oops, #{}}},
        {"ends with the reason noproc", noproc},
        {"ends with the reason noconnection", noconnection}
    ].

of_none() ->
    [
        {"erlang:monitor/2", Title, error, fun(S) ->
            Target = Make(S),
            Monitor = S:monitor(process, Target),
            receive
                {'DOWN', Monitor, Type, Object, Why} -> {Type, Object =:= Target, Why}
            end
        end}
     || {Title, Make} <- [
            {"of an absent name", fun(_) -> {absent, b()} end},
            {"of an absent name of the own node", fun(S) -> {absent, S:own_node()} end},
            {"of an absent node", fun(_) -> {server, absent()} end},
            {"of a process that has ended", fun(S) ->
                {_, Reference} = Process = fixture(process),
                ok = ended(S, Process),
                Reference
            end},
            {"of a name whose process has ended", fun(S) ->
                {Name, _} = Process = fixture(process),
                ok = ended(S, Process),
                Name
            end},
            {"of a process of the own node that has ended", fun(S) ->
                {_, Reference} = Process = fixture(process, S:own_node()),
                ok = ended(S, Process),
                Reference
            end}
        ]
    ] ++
        [
            {"erlang:monitor/2", "of an absent name, without a node", error, fun(S) ->
                Monitor = S:monitor(process, absent),
                receive
                    {'DOWN', Monitor, Type, Object, Why} ->
                        {Type, Object =:= {absent, S:own_node()}, Why}
                end
            end},
            {"erlang:monitor/2", "of a process of OTP that does not end", ok, fun(S) ->
                _ = S:monitor(process, {kernel_sup, b()}),
                Absent = S:monitor(process, {absent, b()}),
                receive {'DOWN', Absent, _, _, Why} -> {Why, mailbox()} end
            end},
            {"erlang:monitor/2", "of a kind that does not exist", error, fun(S) ->
                {Name, _} = fixture(process),
                S:monitor(nothing, Name)
            end}
        ].

ended_monitors() ->
    [
        {"erlang:demonitor/1", "of a monitor", ok, fun(S) ->
            {Name, _} = fixture(process),
            S:demonitor(S:monitor(process, Name))
        end},
        {"erlang:demonitor/1", "nothing comes afterwards", ok, fun(S) ->
            {Name, Reference} = fixture(process),
            Monitor = S:monitor(process, Reference),
            Other = S:monitor(process, Reference),
            true = S:demonitor(Monitor),
            ok = established(S),
            _ = S:send(Name, {stop, oops}),
            receive {'DOWN', Other, _, _, Why} -> {Why, mailbox()} end
        end},
        {"erlang:demonitor/1", "twice", error, fun(S) ->
            {Name, _} = fixture(process),
            Monitor = S:monitor(process, Name),
            {S:demonitor(Monitor), S:demonitor(Monitor)}
        end},
        {"erlang:demonitor/1", "after the message", error, fun(S) ->
            Monitor = S:monitor(process, {absent, b()}),
            receive {'DOWN', Monitor, _, _, _} -> S:demonitor(Monitor) end
        end},
        {"erlang:demonitor/1", "of no monitor", error, fun(S) -> S:demonitor(make_ref()) end},
        {"erlang:demonitor/1", "of no reference", error, fun(S) -> S:demonitor(monitor) end},
        {"erlang:demonitor/1", "of another process's monitor", error, fun(S) ->
            {Name, Reference} = fixture(process),
            Caller = self(),
            Owner = spawn_link(fun() ->
                Own = S:monitor(process, Reference),
                Caller ! {monitor, Own},
                receive {'DOWN', Own, _, _, Why} -> Caller ! {down, Why} end
            end),
            Monitor = receive {monitor, Given} -> Given end,
            _ = comparison_outcome:of_call(fun() -> S:demonitor(Monitor) end),
            ok = established(S),
            _ = S:send(Name, {stop, oops}),
            true = is_pid(Owner),
            receive {down, Why} -> Why end
        end}
    ].

of_nodes() ->
    [
        {"erlang:monitor_node/2", "of a node", ok, fun(S) ->
            {S:monitor_node(b(), true), S:monitor_node(b(), false), mailbox()}
        end},
        {"erlang:monitor_node/2", "ended without having begun", error, fun(S) ->
            S:monitor_node(b(), false)
        end},
        {"erlang:monitor_node/2", "of the own node", ok, fun(S) ->
            {S:monitor_node(S:own_node(), true), S:monitor_node(S:own_node(), false)}
        end},
        {"erlang:monitor_node/2", "of an absent node", error, fun(S) ->
            Returned = S:monitor_node(absent(), true),
            receive {nodedown, Node} -> {Returned, Node} end
        end},
        {"erlang:monitor_node/2", "with a flag that is no boolean", error, fun(S) ->
            S:monitor_node(b(), perhaps)
        end}
    ].

%% The other node is killed.
losses() ->
    [
        {"erlang:monitor/2", "of a process by name: its node is killed", loss,
            fun(S, Node, Ready) ->
                {Name, _} = fixture(server, Node),
                Monitor = S:monitor(process, Name),
                Ready(),
                receive {'DOWN', Monitor, Type, Object, Why} -> {Type, Object =:= Name, Why} end
            end},
        {"erlang:monitor/2", "of a process by reference: its node is killed", loss,
            fun(S, Node, Ready) ->
                {_, Reference} = fixture(server, Node),
                Monitor = S:monitor(process, Reference),
                Ready(),
                receive {'DOWN', Monitor, Type, Object, Why} -> {Type, Object, Why} end
            end},
        {"erlang:monitor_node/2", "the node is killed", loss, fun(S, Node, Ready) ->
            true = S:monitor_node(Node, true),
            Ready(),
            receive {nodedown, Node} -> nodedown end
        end},
        {"erlang:monitor_node/2", "twice, and the node is killed", loss, fun(S, Node, Ready) ->
            true = S:monitor_node(Node, true),
            true = S:monitor_node(Node, true),
            {_, Reference} = fixture(server, Node),
            Monitor = S:monitor(process, Reference),
            Ready(),
            receive {nodedown, Node} -> ok end,
            receive {'DOWN', Monitor, _, _, _} -> ok end,
            length([down || {nodedown, _} <- mailbox()]) + 1
        end},
        {"gen_server:call/3", "the node is killed", loss, fun(S, Node, Ready) ->
            {Name, _} = fixture(server, Node),
            Ready(),
            S:call(Name, keep, infinity)
        end},
        {"gen_server:call/3", "the node is killed, by a via name", loss, fun(S, Node, Ready) ->
            {Name, _} = fixture(server, Node),
            Ready(),
            gen_server:call(S:via(Name), keep, infinity)
        end},
        {"gen_server:send_request/2", "the node is killed", loss, fun(S, Node, Ready) ->
            {Name, _} = fixture(server, Node),
            Id = gen_server:send_request(S:via(Name), keep),
            Ready(),
            gen_server:receive_response(Id, infinity)
        end},
        {"gen_statem:call/3", "the node is killed", loss, fun(S, Node, Ready) ->
            {Name, _} = fixture(statem, Node),
            Ready(),
            gen_statem:call(S:via(Name), keep, infinity)
        end},
        {"erlang:send/2", "after the node has been killed", loss, fun(S, Node, Ready) ->
            {Name, Reference} = fixture(server, Node),
            Monitor = S:monitor(process, Reference),
            Ready(),
            receive {'DOWN', Monitor, _, _, _} -> ok end,
            _ = S:send(Name, hello),
            sent
        end},
        {"gen_server:call/3", "after the node has been killed", loss, fun(S, Node, Ready) ->
            {Name, Reference} = fixture(server, Node),
            Monitor = S:monitor(process, Reference),
            Ready(),
            receive {'DOWN', Monitor, _, _, _} -> ok end,
            S:call(Name, hello, 60000)
        end}
    ].

%% Returns when the monitors before have arrived, as this one has: monitors and messages are not
%% ordered with each other over ours.
established(S) ->
    established(S, b()).

established(S, Node) ->
    Monitor = S:monitor(process, {absent, Node}),
    receive {'DOWN', Monitor, process, _, noproc} -> ok end.

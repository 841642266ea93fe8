%%% Cases: functions executed on other nodes, which allow their modules, and servers on many nodes.
-module(comparison_remote).

-export([cases/0]).

-import(comparison_run, [b/0, c/0, absent/0, fixture/1, fixture/2, mailbox/0]).

-define(F, comparison_functions).

cases() ->
    rpc() ++ rpc_many() ++ erpc() ++ erpc_many() ++ requests() ++ invalid() ++ servers() ++
        losses().

rpc() ->
    [
        {"rpc:call/5", Title, Kind, fun(S) -> (S:rpc()):call(b(), ?F, Function, Args, Timeout) end}
     || {Title, Kind, Function, Args, Timeout} <- functions()
    ] ++
        [
            {"rpc:call/5", "on an absent node", error, fun(S) ->
                (S:rpc()):call(absent(), ?F, value, [1], 60000)
            end},
            {"rpc:call/5", "on the own node", ok, fun(S) ->
                (S:rpc()):call(S:own_node(), ?F, value, [hello], 60000)
            end},
            {"rpc:call/5", "of a module that does not exist", error, fun(S) ->
                (S:rpc()):call(b(), no_such_module, value, [], 60000)
            end},
            {"rpc:call/4", "a function of OTP that is allowed", ok, fun(S) ->
                (S:rpc()):call(b(), lists, reverse, [[1, 2, 3]])
            end},
            {"rpc:call/4", "a function of OTP that is not allowed", error, fun(S) ->
                is_list((S:rpc()):call(b(), sys, module_info, []))
            end},
            {"rpc:block_call/4", "a value", ok, fun(S) ->
                (S:rpc()):block_call(b(), ?F, value, [hello])
            end},
            {"rpc:block_call/4", "a function that fails", error, fun(S) ->
                (S:rpc()):block_call(b(), ?F, fail, [oops])
            end},
            {"rpc:cast/4", "its value", ok, fun(S) -> (S:rpc()):cast(b(), ?F, value, [hello]) end},
            {"rpc:cast/4", "to an absent node", error, fun(S) ->
                (S:rpc()):cast(absent(), ?F, value, [hello])
            end},
            {"rpc:async_call/4", "a value, by yield/1", ok, fun(S) ->
                (S:rpc()):yield((S:rpc()):async_call(b(), ?F, value, [hello]))
            end},
            {"rpc:async_call/4", "a failure, by yield/1", error, fun(S) ->
                (S:rpc()):yield((S:rpc()):async_call(b(), ?F, fail, [oops]))
            end},
            {"rpc:async_call/4", "not yet, by nb_yield/1", error, fun(S) ->
                (S:rpc()):nb_yield((S:rpc()):async_call(b(), ?F, wait, []))
            end},
            {"rpc:async_call/4", "in time, by nb_yield/2", ok, fun(S) ->
                (S:rpc()):nb_yield((S:rpc()):async_call(b(), ?F, value, [hello]), 60000)
            end}
        ].

%% Each with a timeout.
functions() ->
    [
        {"a value", ok, value, [hello], 60000},
        {"a value without a timeout", ok, value, [hello], infinity},
        {"a large value", ok, value, [lists:seq(1, 2000)], 60000},
        {"a function that fails", error, fail, [oops], 60000},
        {"a function that exits", error, leave, [oops], 60000},
        {"a function that exits normally", error, leave, [normal], 60000},
        {"a function that throws", error, thrown, [oops], 60000},
        {"a function that does not exist", error, none, [], 60000},
        {"a function with another number of arguments", error, value, [1, 2], 60000},
        {"a function that does not end in time", error, wait, [], 50},
        {"a function that has no time", error, wait, [], 0}
    ].

rpc_many() ->
    [
        {"rpc:multicall/5", "values of two nodes", ok, fun(S) ->
            (S:rpc()):multicall([b(), c()], ?F, value, [hello], 60000)
        end},
        {"rpc:multicall/5", "two nodes, and an absent one", error, fun(S) ->
            (S:rpc()):multicall([b(), absent(), c()], ?F, value, [hello], 60000)
        end},
        {"rpc:multicall/5", "a function that fails", error, fun(S) ->
            (S:rpc()):multicall([b(), c()], ?F, fail, [oops], 60000)
        end},
        {"rpc:multicall/5", "no nodes", error, fun(S) ->
            (S:rpc()):multicall([], ?F, value, [hello], 60000)
        end},
        {"rpc:eval_everywhere/4", "its value", ok, fun(S) ->
            (S:rpc()):eval_everywhere([b(), c()], ?F, value, [hello])
        end}
    ].

erpc() ->
    [
        {"erpc:call/5", Title, Kind, fun(S) -> (S:erpc()):call(b(), ?F, Name, Args, Timeout) end}
     || {Title, Kind, Name, Args, Timeout} <- functions()
    ] ++
        [
            {"erpc:call/5", "on an absent node", error, fun(S) ->
                (S:erpc()):call(absent(), ?F, value, [1], 60000)
            end},
            {"erpc:call/5", "on the own node", ok, fun(S) ->
                (S:erpc()):call(S:own_node(), ?F, value, [hello], 60000)
            end},
            {"erpc:call/5", "a function that fails on the own node", error, fun(S) ->
                (S:erpc()):call(S:own_node(), ?F, fail, [oops], 60000)
            end},
            {"erpc:call/5", "arguments that are no list", error, fun(S) ->
                (S:erpc()):call(b(), ?F, value, hello, 60000)
            end},
            {"erpc:call/5", "a module that is no atom", error, fun(S) ->
                (S:erpc()):call(b(), "lists", value, [hello], 60000)
            end},
            {"erpc:call/5", "a timeout that is none", error, fun(S) ->
                (S:erpc()):call(b(), ?F, value, [hello], never)
            end},
            {"erpc:call/4", "a value", ok, fun(S) -> (S:erpc()):call(b(), ?F, value, [hello]) end},
            {"erpc:cast/4", "its value", ok, fun(S) -> (S:erpc()):cast(b(), ?F, value, [1]) end},
            {"erpc:cast/4", "to an absent node", error, fun(S) ->
                (S:erpc()):cast(absent(), ?F, value, [1])
            end},
            {"erpc:cast/4", "arguments that are no list", error, fun(S) ->
                (S:erpc()):cast(b(), ?F, value, hello)
            end}
        ].

erpc_many() ->
    [
        {"erpc:multicall/5", Title, Kind, fun(S) ->
            (S:erpc()):multicall([b(), c()], ?F, Name, Args, Timeout)
        end}
     || {Title, Kind, Name, Args, Timeout} <- functions()
    ] ++
        [
            {"erpc:multicall/5", "two nodes, and an absent one", error, fun(S) ->
                (S:erpc()):multicall([b(), absent(), c()], ?F, value, [hello], 60000)
            end},
            {"erpc:multicall/5", "no nodes", error, fun(S) ->
                (S:erpc()):multicall([], ?F, value, [hello], 60000)
            end},
            {"erpc:multicast/4", "its value", ok, fun(S) ->
                (S:erpc()):multicast([b(), c()], ?F, value, [hello])
            end}
        ].

requests() ->
    [
        {"erpc:send_request/4", Title, Kind, fun(S) ->
            Erpc = S:erpc(),
            Erpc:receive_response(Erpc:send_request(b(), ?F, Name, Args), 60000)
        end}
     || {Title, Kind, Name, Args, 60000} <- functions()
    ] ++
        [
            {"erpc:send_request/4", "not answered in time", error, fun(S) ->
                Erpc = S:erpc(),
                Erpc:receive_response(Erpc:send_request(b(), ?F, wait, []), 50)
            end},
            {"erpc:send_request/4", "not answered yet", error, fun(S) ->
                Erpc = S:erpc(),
                Erpc:wait_response(Erpc:send_request(b(), ?F, wait, []), 50)
            end},
            {"erpc:send_request/4", "waited for", ok, fun(S) ->
                Erpc = S:erpc(),
                Erpc:wait_response(Erpc:send_request(b(), ?F, value, [hello]), 60000)
            end},
            {"erpc:check_response/2", "of another message", error, fun(S) ->
                Erpc = S:erpc(),
                Erpc:check_response(another, Erpc:send_request(b(), ?F, wait, []))
            end}
        ].

%% Arguments of a wrong type.
invalid() ->
    [
        {"erpc:" ++ Call, Title, error, fun(S) -> Run(S:erpc(), b()) end}
     || {Call, Title, Run} <- invalid_calls() ++ invalid_requests()
    ] ++
        [
            {"rpc:" ++ Call, Title, error, fun(S) -> Run(S:rpc(), b()) end}
         || {Call, Title, Run} <- invalid_rpc()
        ].

invalid_calls() ->
    [
        {"call/5", "a node of a wrong type", fun(Erpc, _) ->
            Erpc:call(42, ?F, value, [hello], 60000)
        end},
        {"call/5", "a function that is no atom", fun(Erpc, Node) ->
            Erpc:call(Node, ?F, "value", [hello], 60000)
        end},
        {"call/5", "a negative timeout", fun(Erpc, Node) ->
            Erpc:call(Node, ?F, value, [hello], -1)
        end},
        {"call/5", "a timeout that is too long", fun(Erpc, Node) ->
            Erpc:call(Node, ?F, value, [hello], 16#100000000)
        end},
        {"call/5", "a point of time that is too late", fun(Erpc, Node) ->
            Late = erlang:monotonic_time(millisecond) + 16#200000000,
            Erpc:call(Node, ?F, value, [hello], {abs, Late})
        end},
        {"call/5", "a point of time that is none", fun(Erpc, Node) ->
            Erpc:call(Node, ?F, value, [hello], {abs, soon})
        end},
        {"call/3", "a function with an argument", fun(Erpc, Node) ->
            Erpc:call(Node, fun(X) -> X end, 60000)
        end},
        {"call/2", "what is no function", fun(Erpc, Node) -> Erpc:call(Node, function) end},
        {"cast/4", "to a node of a wrong type", fun(Erpc, _) ->
            Erpc:cast(42, ?F, value, [hello])
        end},
        {"multicall/5", "nodes that are no list", fun(Erpc, Node) ->
            Erpc:multicall(Node, ?F, value, [hello], 60000)
        end},
        {"multicall/5", "an improper list of nodes", fun(Erpc, Node) ->
            Erpc:multicall([Node | Node], ?F, value, [hello], 60000)
        end},
        {"multicall/5", "a node, and one of a wrong type", fun(Erpc, Node) ->
            Erpc:multicall([Node, 42], ?F, value, [hello], 60000)
        end},
        {"multicall/5", "arguments that are no list", fun(Erpc, Node) ->
            Erpc:multicall([Node], ?F, value, hello, 60000)
        end},
        {"multicall/5", "no nodes, and a timeout that is none", fun(Erpc, _) ->
            Erpc:multicall([], ?F, value, [hello], never)
        end},
        {"multicast/4", "nodes that are no list", fun(Erpc, Node) ->
            Erpc:multicast(Node, ?F, value, [hello])
        end},
        {"multicast/4", "a node of a wrong type", fun(Erpc, _) ->
            Erpc:multicast([42], ?F, value, [hello])
        end}
    ].

invalid_requests() ->
    [
        {"send_request/4", "to a node of a wrong type", fun(Erpc, _) ->
            Erpc:send_request(42, ?F, value, [hello])
        end},
        {"send_request/2", "what is no function", fun(Erpc, Node) ->
            Erpc:send_request(Node, function)
        end},
        {"send_request/6", "a collection that is none", fun(Erpc, Node) ->
            Erpc:send_request(Node, ?F, value, [hello], label, collection)
        end},
        {"receive_response/2", "a timeout that is none", fun(Erpc, Node) ->
            Erpc:receive_response(Erpc:send_request(Node, ?F, wait, []), never)
        end},
        {"receive_response/2", "a request that is none", fun(Erpc, _) ->
            Erpc:receive_response(request, 60000)
        end},
        {"wait_response/2", "a timeout that is none", fun(Erpc, Node) ->
            Erpc:wait_response(Erpc:send_request(Node, ?F, wait, []), never)
        end},
        {"check_response/2", "a request that is none", fun(Erpc, _) ->
            Erpc:check_response(another, request)
        end},
        {"receive_response/3", "no requests, and a timeout that is none", fun(Erpc, _) ->
            Erpc:receive_response(Erpc:reqids_new(), never, true)
        end},
        {"wait_response/3", "no requests, and a timeout that is none", fun(Erpc, _) ->
            Erpc:wait_response(Erpc:reqids_new(), never, true)
        end},
        {"check_response/3", "a collection that is none", fun(Erpc, _) ->
            Erpc:check_response(another, collection, true)
        end},
        {"reqids_size/1", "of a collection that is none", fun(Erpc, _) ->
            Erpc:reqids_size(collection)
        end},
        {"reqids_add/3", "a request that is none", fun(Erpc, _) ->
            Erpc:reqids_add(request, label, Erpc:reqids_new())
        end}
    ].

invalid_rpc() ->
    [
        {"call/5", "a node of a wrong type", fun(Rpc, _) ->
            Rpc:call(42, ?F, value, [hello], 60000)
        end},
        {"call/5", "a module that is no atom", fun(Rpc, Node) ->
            Rpc:call(Node, "lists", value, [hello], 60000)
        end},
        {"call/5", "a timeout that is none", fun(Rpc, Node) ->
            Rpc:call(Node, ?F, value, [hello], never)
        end},
        {"cast/4", "to a node of a wrong type", fun(Rpc, _) ->
            Rpc:cast(42, ?F, value, [hello])
        end},
        {"async_call/4", "arguments that are no list", fun(Rpc, Node) ->
            Rpc:async_call(Node, ?F, value, hello)
        end},
        {"multicall/5", "nodes that are no list", fun(Rpc, Node) ->
            Rpc:multicall(Node, ?F, value, [hello], 60000)
        end},
        {"multicall/5", "a timeout that is none", fun(Rpc, Node) ->
            Rpc:multicall([Node], ?F, value, [hello], never)
        end}
    ].

%% Servers of one name on many nodes.
servers() ->
    [
        {"gen_server:multi_call/4", "two nodes", ok, fun(S) ->
            sorted((S:gen_server()):multi_call([b(), c()], shared(S), {echo, hello}, 60000))
        end},
        {"gen_server:multi_call/4", "the own node and another", ok, fun(S) ->
            Nodes = [S:own_node(), b()],
            sorted((S:gen_server()):multi_call(Nodes, shared(S), {echo, hello}, 60000))
        end},
        {"gen_server:multi_call/4", "an absent node", error, fun(S) ->
            sorted((S:gen_server()):multi_call([b(), absent()], shared(S), {echo, 1}, 60000))
        end},
        {"gen_server:multi_call/4", "an absent name", error, fun(S) ->
            sorted((S:gen_server()):multi_call([b(), c()], absent, {echo, hello}, 60000))
        end},
        {"gen_server:multi_call/4", "no nodes", error, fun(S) ->
            sorted((S:gen_server()):multi_call([], absent, {echo, hello}, 60000))
        end},
        {"gen_server:multi_call/4", "not answered in time", error, fun(S) ->
            {{Name, _}, _} = fixture(server),
            {sorted((S:gen_server()):multi_call([b()], Name, keep, 50)), mailbox()}
        end},
        {"gen_server:multi_call/4", "a server that stops", error, fun(S) ->
            {{Name, _}, _} = fixture(server),
            sorted((S:gen_server()):multi_call([b()], Name, {stop, normal}, 60000))
        end},
        {"gen_server:multi_call/4", "a server that fails", error, fun(S) ->
            {{Name, _}, _} = fixture(server),
            sorted((S:gen_server()):multi_call([b()], Name, {error, oops}, 60000))
        end},
        {"gen_server:abcast/3", "arrives", ok, fun(S) ->
            {{Name, _} = Server, _} = fixture(server),
            Cast = (S:gen_server()):abcast([b()], Name, hello),
            {Cast, S:call(Server, seen, 60000)}
        end},
        {"gen_server:abcast/3", "to an absent name, and an absent node", error, fun(S) ->
            (S:gen_server()):abcast([b(), absent()], absent, hello)
        end}
    ].

%% The name of a process that runs on all nodes.
shared(_S) -> fixture.

sorted({Replies, Bad}) -> {lists:sort(Replies), lists:sort(Bad)}.

losses() ->
    [
        {"rpc:call/5", "the node is killed", loss, fun(S, Node, Ready) ->
            {_, _} = fixture(process, Node),
            Ready(),
            (S:rpc()):call(Node, ?F, wait, [], infinity)
        end},
        {"erpc:call/5", "the node is killed", loss, fun(S, Node, Ready) ->
            {_, _} = fixture(process, Node),
            Ready(),
            (S:erpc()):call(Node, ?F, wait, [], infinity)
        end},
        {"gen_server:multi_call/4", "a node is killed", loss, fun(S, Node, Ready) ->
            {{Name, _}, _} = fixture(server, Node),
            Ready(),
            sorted((S:gen_server()):multi_call([Node], Name, keep))
        end}
    ].

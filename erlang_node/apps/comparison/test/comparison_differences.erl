%%% The deliberate differences, and the cases in which they show. A new one is entered here:
%%% docs/reference/distributed-erlang.md is generated from it.
-module(comparison_differences).

-export([all/0, without_cases/0, reason/2, obsolete/1]).

%% The name, and what each of the three does: Distributed Erlang, upstream Partisan (no text: its
%% documents do not say), this runtime, with the reason.
all() ->
    [
        {value, "`!` and `erlang:send/2` return the message", "`forward_message` returns `ok`",
            "`partisan:forward` returns `ok` or `{error, Reason}`: a full lane, or a message that "
            "is too large, is an answer, not an exception"},
        {invalid, "invalid arguments fail with `badarg`, in `gen_server:call` with an exit",
            "fail",
            "fail with `function_clause`, `badmap` or `timeout_value` in the caller. `demonitor/1` "
            "of anything that is no monitor of the caller returns `true`"},
        {pid, "a process identifier means one process on all nodes", "rewritten in every message",
            "a reference does ([Sending](runtime.md#sending)); identifiers inside a message are "
            "not changed, so any term arrives as it was sent"},
        {noconnect, "`noconnect` returns `noconnect` if there is no connection", "no such option",
            "`ttl => 0` returns `{error, not_connected}`. In a partial view a member need not be a "
            "neighbour"},
        {shapes, "any message is delivered to any process", "delivered",
            "`{system, _, _}`, `{'EXIT', _, _}`, `{'$gen_call', _, _}` and `{partisan, _}` are "
            "dropped and counted: OTP's behaviours obey them from any sender "
            "([Who can be reached](runtime.md#who-can-be-reached))"},
        {otp, "supervisors and processes of OTP are reached", "reached",
            "they are not offered: a supervisor starts any process that it is asked to start"},
        {child, "a child that is spawned on a lost node has a process identifier, and ends at once",
            "the same",
            "`partisan_child:start_link/4` returns `{error, noconnection}`"},
        {control, "`sys`, `stop` and handlers of events control any process", "any process",
            "by via names, where `remote_execution` lists `partisan_control`, and the module of a "
            "function or handler that is passed on; otherwise they exit with "
            "`{not_allowed, Module}`. A handler cannot be supervised from another node"},
        {allowed, "any function of any module is executed", "any function",
            "those of the modules in `remote_execution`, none by default; otherwise "
            "`{not_allowed, Module}`, also for a module that does not exist"},
        {named,
            "errors of `receive_response` name `{Name, Node}`, and a lost node is `noconnection`",
            "a process identifier",
            "they name the local process that stands for the server, and a lost node is "
            "`{nodedown, Node}`, as for a call"},
        {once, "`monitor_node` twice gives two messages", "one message",
            "one message, however often a process has asked"},
        {neighbours, "`nodes/0` and `monitor_nodes` are about all nodes", "about neighbours",
            "about neighbours ([Nodes](runtime.md#nodes)): in a star or a partial view not all "
            "nodes. `monitor_node` and monitors of processes reach every node"},
        {connection, "`monitor_nodes` reports the identifier of a connection, by `connection_id`",
            "",
            "that option is unknown: a node has many connections to a neighbour, and none of them "
            "stands for it"},
        {nameless, "`erlang:send/2` fails with `badarg` if no process has the name", "",
            "`forward` to a name without a node is one to `{Name, Node}` of the own node: a "
            "message without a receiver is dropped and counted"},
        {home, "`global:register_name` takes a process of any node", "no such registry",
            "one of the own node, otherwise `{nolocal, Process}`: a name belongs to the node of "
            "its process ([Names of the cluster](runtime.md#names-of-the-cluster))"}
    ].

%% Differences that no case shows: a case compares outcomes, not moments, permissions or what is
%% missing. What each of the three does, as in `all/0'.
without_cases() ->
    [
        {"`spawn` and its like return before the process exists", "",
            "they return when it exists; its first messages may come before a `spawn_reply`"},
        {"`exit/2` returns at once", "",
            "when the other node has answered, so that it can fail with `not_allowed`"},
        {"links, `exit/2` and `process_info` need no permission", "no permission",
            "`partisan_control` in `remote_execution`, on the own node too "
            "([Processes of other nodes](runtime.md#processes-of-other-nodes))"},
        {"`whereis` and `is_process_alive` know every process", "every process",
            "those that are offered ([Who can be reached](runtime.md#who-can-be-reached))"},
        {"an alias of `{alias, demonitor}` ends with `DOWN` too", "",
            "with `demonitor/1` alone"},
        {"`demonitor/1` leaves a `DOWN` that has arrived", "leaves it",
            "none arrives afterwards: `flush` is always in force"},
        {"`monitor_nodes` with `nodedown_reason` gives the reason", "a reason", "always `lost`"},
        {"a remote process has the caller's group leader", "",
            "`user` of its own node: its output stays there"},
        {"a call with the timeout `infinity` waits for ever", "waits for ever",
            "for the answer, yes; a request that has not reached the other node after a minute "
            "exits with `timeout`"},
        {"members of `pg` are process identifiers; the application kernel may start its scope",
            "no `pg`",
            "references; an application starts each scope ([Process groups]"
            "(runtime.md#process-groups))"},
        {"`global` has locks, `sync` and `disconnect`", "no `global`",
            "none: in a partial view or a partition no node knows whether all others have granted "
            "a lock, and there is nothing to synchronize with"},
        {"`rpc` has `pmap`, `parallel_eval` and `sbcast`", "",
            "missing: a few lines over `send_request`"},
        {"no slots are reserved: all nodes are connected",
            "`reserve/1` keeps a slot of HyParView's active view",
            "missing: use `static` or servers of `client_server` where a link must exist "
            "([Nodes](runtime.md#nodes))"}
    ].

%% The name of the difference that a case shows.
reason(Call, Case) ->
    case [Name || {Name, Calls, Words} <- shown(), is_one(Call, Calls), contains(Case, Words)] of
        [Name | _] -> Name;
        [] -> none
    end.

%% The names of differences that no case has shown.
obsolete(Cells) ->
    [Name || {Name, _, _, _} <- all()] -- [Reason || #{equal := false, reason := Reason} <- Cells].

%% Calls and parts of the names of cases; `any' of them.
shown() ->
    [
        {value, ["erlang:send/2"], "its value"},
        {invalid, any, "which is no target"},
        {invalid, ["erlang:send/3"], "options that are an atom"},
        {invalid, ["gen_server:call/3"], "with the timeout"},
        {allowed, ["rpc:call/4"], "a function of OTP that is not allowed"},
        {allowed, ["rpc:call/5"], "of a module that does not exist"},
        {invalid, ["erlang:demonitor/1"], "of no reference"},
        {invalid, ["erlang:monitor/2"], "of a kind that does not exist"},
        {invalid, ["erlang:monitor_node/2"], "with a flag that is no boolean"},
        {pid, ["gen_server:call/3"], "a raw process identifier made there"},
        {noconnect, ["erlang:send/3"], "noconnect"},
        {shapes, ["erlang:send/2"], "to a plain process: a system message"},
        {shapes, ["erlang:send/2"], "to a plain process: an exit signal's message"},
        {shapes, ["erlang:send/2"], "to a plain process: a raw call"},
        {shapes, ["erlang:send/2"], "to a plain process: a notification of the runtime"},
        {otp, ["gen_server:call/3", "erlang:monitor/2"], "process of OTP"},
        {otp,
            [
                "supervisor:which_children/1",
                "supervisor:start_child/2",
                "supervisor:terminate_child/2",
                "supervisor:count_children/1"
            ],
            ""},
        {child, ["supervisor:start_link/2"], "a child on an absent node"},
        {control, ["sys:replace_state/3", "sys:install/3", "gen_event:add_handler/3"],
            "of a module that is not allowed"},
        {control, ["gen_event:add_sup_handler/3"], ""},
        {named, ["gen_server:send_request/2"], "the server stops"},
        {named, ["gen_server:send_request/2"], "the server fails"},
        {named, ["gen_server:send_request/2"], "the server is killed"},
        {named, ["gen_server:send_request/2"], "to an absent name"},
        {named, ["gen_server:send_request/2"], "the node is killed"},
        {named, ["gen_statem:send_request/2"], "the machine stops"},
        {once, ["erlang:monitor_node/2"], "twice"},
        {invalid, ["erlang:nodes/1"], "a kind that does not exist"},
        {neighbours, ["erlang:nodes/0"], "another node"},
        {neighbours, ["erlang:nodes/1"], "known"},
        {neighbours, ["net_kernel:monitor_nodes/1", "net_kernel:monitor_nodes/2"],
            "the node is killed"},
        {neighbours, ["net_kernel:monitor_nodes/2"], "the type of a node that is killed"},
        {connection, ["net_kernel:monitor_nodes/2"], "with the identifiers of connections"},
        {nameless, ["erlang:send/2"], "without a node, which is absent"},
        {home, ["global:register_name/2"], "of a process of another node"}
    ].

is_one(_Call, any) -> true;
is_one(Call, Calls) -> lists:member(Call, Calls).

contains(Case, Words) -> string:find(Case, Words) =/= nomatch.

%%% The runtime, by the names of Distributed Erlang's functions.
-module(comparison_ours).

-compile({no_auto_import, [monitor/2, demonitor/1, monitor_node/2]}).


-export([start/1, stop/0, reference/1, own/0, own_node/0, via/1]).
-export([send/2, send/3, call/3, cast/2, monitor/2, demonitor/1, monitor_node/2]).
-export([child/3]).
-export([start_server/1, gen_server/0, rpc/0, erpc/0, erlang/0, pg/0, global/0, net_kernel/0]).

start(Configuration) ->
    ok = partisan_test_cluster:boot(Configuration),
    {ok, _} = partisan_global:start(),
    ok.

stop() ->
    ok = gen_server:stop(partisan_global),
    application:stop(partisan).

reference(Pid) -> partisan:ref(Pid).

own() -> partisan:self().

own_node() -> partisan:node().

via(Target) -> {via, partisan, Target}.

send(Target, Message) -> partisan:forward(Target, Message).

send(Target, Message, nosuspend) -> partisan:forward(Target, Message, #{on_busy => error});
send(Target, Message, noconnect) -> partisan:forward(Target, Message, #{ttl => 0});
send(Target, Message, Other) -> partisan:forward(Target, Message, Other).

call(Target, Request, Timeout) -> partisan:call(Target, Request, Timeout).

cast(Target, Request) -> partisan:cast(Target, Request).

monitor(Kind, Target) -> partisan:monitor(Kind, Target).

demonitor(Monitor) -> partisan:demonitor(Monitor).

monitor_node(Node, true) -> partisan:monitor_node(Node);
monitor_node(Node, false) -> partisan:demonitor_node(Node).

child(Node, Function, Arguments) ->
    partisan_child:start_link(Node, comparison_functions, started, [Function, Arguments]).

start_server(Name) ->
    gen_server:start({via, partisan, {Name, partisan:node()}}, comparison_server, [], []).

%% Modules with the same functions.
gen_server() -> partisan_gen_server.

rpc() -> partisan_rpc.

erpc() -> partisan_erpc.

erlang() -> partisan_erlang.

pg() -> partisan_pg.

global() -> partisan_global.

net_kernel() -> partisan_nodes.

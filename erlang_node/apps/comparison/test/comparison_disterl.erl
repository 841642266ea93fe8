%%% The system that the runtime is compared with: Distributed Erlang.
-module(comparison_disterl).

-compile({no_auto_import, [monitor/2, demonitor/1, monitor_node/2]}).


-export([start/1, stop/0, reference/1, own/0, own_node/0, via/1]).
-export([send/2, send/3, call/3, cast/2, monitor/2, demonitor/1, monitor_node/2]).
-export([child/3]).
-export([start_server/1, gen_server/0, rpc/0, erpc/0, erlang/0, pg/0, global/0, net_kernel/0]).

%% The emulator was started without epmd, and its port is that of all nodes.
start(#{node := Node, ip := Ip}) ->
    ok = application:set_env(kernel, inet_dist_use_interface, Ip),
    {ok, _} = net_kernel:start([Node, longnames]),
    true = erlang:set_cookie(comparison),
    ok.

stop() ->
    net_kernel:stop().

reference(Pid) -> Pid.

own() -> self().

own_node() -> node().

via(Target) -> Target.

send(Target, Message) -> erlang:send(Target, Message).

send(Target, Message, nosuspend) -> erlang:send(Target, Message, [nosuspend]);
send(Target, Message, noconnect) -> erlang:send(Target, Message, [noconnect]);
send(Target, Message, Other) -> erlang:send(Target, Message, Other).

call(Target, Request, Timeout) -> gen_server:call(Target, Request, Timeout).

cast(Target, Request) -> gen_server:cast(Target, Request).

monitor(Kind, Target) -> erlang:monitor(Kind, Target).

demonitor(Monitor) -> erlang:demonitor(Monitor).

monitor_node(Node, Flag) -> erlang:monitor_node(Node, Flag).

child(Node, Function, Arguments) ->
    {ok, spawn_link(Node, comparison_functions, Function, Arguments)}.

start_server(Name) -> gen_server:start({local, Name}, comparison_server, [], []).

%% Modules with the same functions.
gen_server() -> gen_server.

rpc() -> rpc.

erpc() -> erpc.

erlang() -> erlang.

pg() -> pg.

global() -> global.

net_kernel() -> net_kernel.

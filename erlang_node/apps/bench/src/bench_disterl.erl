%%% @doc Distributed Erlang in the benchmark: one connection, whatever the channel.
-module(bench_disterl).
-behaviour(bench_system).

-export([start/2]).
-export([connect/0]).
-export([send/4]).

%% @doc The machine must have been started without epmd: `-start_epmd false -erl_epmd_port PORT'.
-spec start(bench_system:address(), [bench_system:address(), ...]) -> ok.
start(#{name := Self, ip := Ip}, Others) ->
    Nodes = [node_name(Name, OtherIp) || #{name := Name, ip := OtherIp} <- Others],
    ok = bench_system:set_peer(hd(Nodes)),
    ok = persistent_term:put(?MODULE, Nodes),
    ok = application:set_env(kernel, inet_dist_use_interface, Ip),
    {ok, _} = net_kernel:start([node_name(Self, Ip), longnames]),
    true = erlang:set_cookie(bench),
    ok.

%% @private
-spec connect() -> ok.
connect() ->
    _ = [true = net_kernel:connect_node(Node) || Node <- persistent_term:get(?MODULE)],
    ok.

%% @private
-spec send(bench_system:channel(), integer(), atom(), bench_system:message()) -> ok.
send(_Channel, _Key, Receiver, Message) ->
    {Receiver, bench_system:peer()} ! Message,
    ok.

node_name(Name, Ip) ->
    list_to_atom(lists:concat([Name, "@", inet:ntoa(Ip)])).

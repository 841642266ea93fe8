%%% @doc Distributed Erlang in the benchmark: one connection, whatever the channel.
-module(bench_disterl).
-behaviour(bench_system).

-export([start/2]).
-export([connect/0]).
-export([send/4]).
%% For the ring.
-export([node_of/1]).

%% @doc The machine must have been started without epmd: `-start_epmd false -erl_epmd_port PORT'.
-spec start(bench_system:address(), [bench_system:address(), ...]) -> ok.
start(#{name := Self, ip := Ip}, Others) ->
    [#{name := First} | _] = Others,
    ok = persistent_term:put(
        ?MODULE,
        maps:from_list([
            {atom_to_binary(Name), node_name(Name, OtherIp)}
         || #{name := Name, ip := OtherIp} <- Others
        ])
    ),
    ok = bench_system:set_peer(node_of(atom_to_binary(First))),
    ok = application:set_env(kernel, inet_dist_use_interface, Ip),
    {ok, _} = net_kernel:start([node_name(Self, Ip), longnames]),
    true = erlang:set_cookie(bench),
    ok.

%% @private
-spec connect() -> ok.
connect() ->
    _ = [true = net_kernel:connect_node(N) || N <- maps:values(persistent_term:get(?MODULE))],
    ok.

%% @private
-spec send(bench_system:channel(), integer(), atom(), bench_system:message()) -> ok.
send(_Channel, _Key, Receiver, Message) ->
    {Receiver, bench_system:peer()} ! Message,
    ok.

%% @doc The node of that name.
-spec node_of(binary()) -> node().
node_of(Name) ->
    maps:get(Name, persistent_term:get(?MODULE)).

%% Internals.

node_name(Name, Ip) ->
    list_to_atom(lists:concat([Name, "@", inet:ntoa(Ip)])).

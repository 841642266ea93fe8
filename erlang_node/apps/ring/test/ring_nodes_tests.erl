%%% The ring on real nodes: emulators of their own, over loopback.
-module(ring_nodes_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([boot/1]).

-define(PARTITIONS, 24).

echo_and_store_test_() ->
    {timeout, 60, fun() ->
        Nodes = start(3),
        try
            [First, Second, Third] = Nodes,
            {ok, 1} = plan(First, Nodes, #{}),
            ok = settled(Nodes, 1),
            {ok, hello} = call(Second, ring_echo, echo, [<<"key">>, hello]),
            {ok, Context} = call(Second, ring_kvs, put, [<<"key">>, 1, #{}]),
            ?assertMatch({ok, [1], _}, call(Third, ring_kvs, get, [<<"key">>, #{}])),
            {ok, Next} = call(First, ring_kvs, put, [<<"key">>, 2, #{context => Context}]),
            ?assertMatch({ok, [2], _}, call(Third, ring_kvs, get, [<<"key">>, #{}])),
            {ok, _} = call(Third, ring_kvs, delete, [<<"key">>, #{context => Next}]),
            ?assertMatch({ok, [], _}, call(Second, ring_kvs, get, [<<"key">>, #{read => atomic}]))
        after
            partisan_test_cluster:stop(Nodes)
        end
    end}.

%% Helpers.

start(Count) ->
    Channels = [#{name => default}, #{name => vnode, parallelism => 2}, #{name => handoff}],
    Overrides = #{channels => Channels, heartbeat_interval => 1000},
    Nodes = partisan_test_cluster:start_connected(Count, Overrides),
    _ = [boot_node(Node) || Node <- Nodes],
    Nodes.

boot_node(Node) ->
    Paths = [filename:dirname(code:which(M)) || M <- [?MODULE, ring, lasp_lattice]],
    ok = call(Node, code, add_pathsa, [Paths]),
    ok = call(Node, ?MODULE, boot, [#{tick => 50}]).

boot(Options) ->
    {ok, _} = application:ensure_all_started(ring),
    ok = ring_echo:start(Options),
    ring_kvs:start(Options#{repair => 1000}).

plan(Node, Members, Others) ->
    Plan = Others#{members => [name(M) || M <- Members], partitions => ?PARTITIONS},
    {ok, Epoch} = call(Node, ring_manager, plan, [echo, Plan]),
    {ok, Epoch} = call(Node, ring_manager, plan, [kvs, Plan]).

settled(Nodes, Epoch) ->
    await(fun() ->
        lists:all(
            fun({Node, Ring}) ->
                #{epoch := E, settled := Settled} = call(Node, ring_manager, status, [Ring]),
                Settled andalso E =:= Epoch
            end,
            [{Node, Ring} || Node <- Nodes, Ring <- [echo, kvs]]
        )
    end).

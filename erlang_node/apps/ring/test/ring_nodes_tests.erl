%%% The ring on real nodes: emulators of their own, over loopback.
-module(ring_nodes_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([boot/1, replicas/0, run_page/1]).

-define(PARTITIONS, 24).
-define(KEYS, 24).
-define(CLIENTS, 8).

echo_and_store_test_() ->
    {timeout, 600, fun() ->
        Nodes = start(3),
        try
            [First, Second, Third] = Nodes,
            {error, "transfers: 0 must be at least 1, or infinity"} =
                call(First, ring, start, [other, #{service => ring_echo, transfers => 0}]),
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

%% The code of docs/tutorials/ring-service.md, and then another member joins.
page_test_() ->
    {timeout, 600, fun() ->
        [First, Second] = Nodes = start(2),
        try
            {[_Module], [Start, _, _] = Blocks} =
                partisan_test_page:blocks("tutorials/ring-service.md"),
            ok = call(First, ?MODULE, run_page, [Blocks]),
            ok = call(Second, ?MODULE, run_page, [[Start]]),
            {ok, 2} = call(First, ring_manager, join, [counters, name(Second)]),
            ok = await(fun() -> is_settled(counters, 2, Nodes) end),
            ?assertMatch([_ | _], call(Second, ring_table, seats, [counters])),
            Command = {add, <<"apples">>},
            ?assertEqual(
                {ok, 3}, call(Second, ring, call, [counters, <<"apples">>, Command])
            ),
            ?assertEqual(
                {error, "epoch: 2 is not larger than the last one, 2"},
                call(First, ring_manager, plan, [counters, #{members => [], epoch => 2}])
            )
        after
            partisan_test_cluster:stop(Nodes)
        end
    end}.

run_page(Blocks) ->
    ok = load_page(),
    partisan_test_page:run(Blocks, []).

load_page() ->
    {[Source], _} = partisan_test_page:blocks("tutorials/ring-service.md"),
    partisan_test_page:load(Source).

%% Three nodes grow to four and shrink again under load; each time a node is killed while indexes
%% move: one that gives them and coordinates requests, then one that gets them.
growth_test_() ->
    {timeout, 600, fun() ->
        Nodes = start(4),
        try
            {Ends, Requests} = grow_and_shrink(Nodes),
            ?assertEqual([], ring_history:check(finals(Ends) ++ Requests)),
            ?assert(length([W || {write, #{outcome := {ok, _, _}} = W} <- Requests]) > 500),
            ?assert(length([R || {read, R} <- Requests]) > 500)
        after
            % Those started in the place of others end with this process.
            partisan_test_cluster:stop(Nodes)
        end
    end}.

grow_and_shrink([First, Second, Third, Fourth] = Nodes) ->
    {ok, 1} = plan(Third, [First, Second, Third], #{}),
    ok = settled([First, Second, Third], 1),
    Load = start_load(Nodes),
    {ok, 2} = plan(Third, Nodes, #{}),
    ok = await(fun() -> serving(Fourth) > 0 end),
    Giver = replaced(Second, Load),
    Grown = [First, Giver, Third, Fourth],
    ok = settled(Grown, 2),
    {ok, 3} = plan(Third, [First, Giver, Third], #{}),
    ok = await(fun() -> serving(Fourth) < ?PARTITIONS div 4 end),
    Getter = replaced(First, Load),
    Ends = [Getter, Giver, Third],
    ok = settled(Ends, 3),
    ok = await(fun() -> call(Fourth, ring_table, seats, [kvs]) =:= [] end),
    % All this may end before a busy machine has made enough requests.
    ok = await(fun() -> done(write, Load) > 500 andalso done(read, Load) > 500 end),
    {Ends, stop_load(Load)}.

serving(Node) ->
    #{serving := Serving} = call(Node, ring_manager, status, [kvs]),
    Serving.

%% Kills a node and starts another one of its name, without data.
replaced(#{net := Net, configuration := Configuration} = Node, Load) ->
    ok = partisan_test_cluster:kill(Node),
    New = partisan_test_cluster:start_node(Net, Configuration),
    ok = boot_node(New),
    ok = load_on(New, Load),
    New.

%% With a quorum of all three replicas, a node that is lost leaves writes to stand-ins; when it is
%% back it has them.
sloppy_test_() ->
    {timeout, 600, fun() ->
        [First, Second, Third, Fourth] = Nodes = start(4),
        try
            {ok, 1} = plan(First, Nodes, #{}),
            ok = settled(Nodes, 1),
            ok = partisan_test_cluster:kill(Fourth),
            Left = [First, Second, Third],
            ok = await(fun() -> lists:all(fun(N) -> lost(N) =:= [name(Fourth)] end, Left) end),
            Keys = [key(I) || I <- lists:seq(1, ?KEYS)],
            Options = #{w => 3, availability => sloppy},
            Outcomes = [acknowledged(Second, K, Options) || K <- Keys],
            ?assert(lists:member(hinted, Outcomes)),
            ?assertNot(is_settled(kvs, 1, Left)),
            Back = partisan_test_cluster:start_node(
                maps:get(net, Fourth), maps:get(configuration, Fourth)
            ),
            ok = boot_node(Back),
            % That is without hints too.
            ok = settled([Back | Left], 1),
            Held = maps:from_list(
                lists:append([call(N, ?MODULE, replicas, []) || N <- [Back | Left]])
            ),
            ?assertEqual(
                [{K, I, [K]} || K <- Keys, I <- [0, 1, 2]],
                [
                    {K, I, lists:usort(ring_dvv:values(set(P, I, K, Held)))}
                 || K <- Keys, P <- [ring_view:partition_of(K, ?PARTITIONS)], I <- [0, 1, 2]
                ]
            )
        after
            partisan_test_cluster:stop(Nodes)
        end
    end}.

%% A node may be taken for lost while the machine is busy.
acknowledged(Node, Key, Options) ->
    case call(Node, ring_kvs, put, [Key, Key, Options]) of
        {error, _} -> acknowledged(Node, Key, Options);
        {Acknowledged, _Context} -> Acknowledged
    end.

lost(Node) ->
    #{lost := Lost} = call(Node, ring_manager, status, [kvs]),
    Lost.

%% Clients, each a session that writes and reads through any node.

start_load(Nodes) ->
    Table = ets:new(?MODULE, [public]),
    true = ets:insert(Table, {nodes, maps:from_list([{name(Node), Node} || Node <- Nodes])}),
    true = ets:insert(Table, [{write, 0}, {read, 0}]),
    Clients = [
        spawn_monitor(fun() -> exit({history, client(Id, 0, #{}, [], Table)}) end)
     || Id <- lists:seq(1, ?CLIENTS)
    ],
    {Table, Clients}.

load_on(Node, {Table, _}) ->
    [{nodes, Nodes}] = ets:lookup(Table, nodes),
    true = ets:insert(Table, {nodes, Nodes#{name(Node) => Node}}),
    ok.

done(Kind, {Table, _}) ->
    ets:lookup_element(Table, Kind, 2).

stop_load({Table, Clients}) ->
    true = ets:insert(Table, {nodes, #{}}),
    lists:append([
        receive {'DOWN', Monitor, _, _, {history, History}} -> History end
     || {_, Monitor} <- Clients
    ]).

client(Id, Number, Contexts, History, Table) ->
    case maps:values(ets:lookup_element(Table, nodes, 2)) of
        [] ->
            History;
        Nodes ->
            Node = lists:nth(rand:uniform(length(Nodes)), Nodes),
            Key = key(rand:uniform(?KEYS)),
            Known = maps:get(Key, Contexts, []),
            {Events, Context} = request(Node, {Id, Number}, Key, Known),
            _ = [
                ets:update_counter(Table, Kind, 1)
             || {Kind, Event} <- Events, maps:get(outcome, Event, read) =/= failed
            ],
            client(Id, Number + 1, Contexts#{Key => Context}, Events ++ History, Table)
    end.

request(Node, {Id, _} = Value, Key, Context) ->
    {Operation, Written} =
        case rand:uniform(10) of
            1 -> {{put, Key, none}, #{value => none}};
            I when I =< 5 -> {{put, Key, {value, Value}}, #{value => Value}};
            _ -> {{get, Key}, #{}}
        end,
    Asked = Written#{session => Id, key => Key, context => Context, started => now_ms()},
    Options = #{context => Context, timeout => 3000},
    Result =
        % A killed node does not answer.
        try call(Node, ring_kvs, request, [Operation, Options]) catch _:_ -> {error, killed} end,
    case Result of
        {ok, Dot, _Set, Next} ->
            {[{write, Asked#{ended => now_ms(), outcome => {ok, Dot, Next}}}], Next};
        {ok, Set, Next} ->
            Values = #{observed => ring_dvv:context(Set), values => ring_dvv:entries(Set)},
            {[{read, maps:merge(Asked#{ended => now_ms()}, Values)}], Next};
        {error, _} when is_map_key(value, Asked) ->
            {[{write, Asked#{ended => never, outcome => failed}}], Context};
        {error, _} ->
            {[], Context}
    end.

key(I) -> integer_to_binary(I).

now_ms() -> erlang:monotonic_time(millisecond).

%% Any two replicas of a key are a quorum.
finals(Nodes) ->
    Held = maps:from_list(lists:append([call(Node, ?MODULE, replicas, []) || Node <- Nodes])),
    [
        {final, Key, ring_dvv:context(Set), ring_dvv:entries(Set)}
     || I <- lists:seq(1, ?KEYS),
        Key <- [key(I)],
        P <- [ring_view:partition_of(Key, ?PARTITIONS)],
        {A, B} <- [{0, 1}, {0, 2}, {1, 2}],
        Set <- [ring_dvv:merge(set(P, A, Key, Held), set(P, B, Key, Held))]
    ].

set(Partition, Offset, Key, Held) ->
    #{((Partition + Offset) rem ?PARTITIONS) := Items} = Held,
    maps:get({Partition, Key}, Items, ring_dvv:new()).

%% The items of each index here.
replicas() ->
    [
        {Index,
            ring_kvs_vnode:fold(
                fun(Key, Set, Acc) -> Acc#{Key => Set} end,
                #{},
                ring_seat:state(ring_seat_server:state(Pid))
            )}
     || {Index, {Pid, _}} <- ring_table:seats(kvs)
    ].

%% Helpers.

start(Count) ->
    Net = partisan_test_cluster:net(),
    % A node that is started again needs another seed than itself.
    #{seeds := [First]} = partisan_test_cluster:configuration(Net, 1, #{}),
    #{name := Name, host := Host, listen_port := Port} =
        partisan_test_cluster:configuration(Net, 2, #{}),
    Overrides = #{
        channels => [#{name => default}, #{name => vnode, parallelism => 2}, #{name => handoff}],
        heartbeat_interval => 1000,
        seeds => [First, partisan_peer:new(Name, Host, Port)]
    },
    Nodes = [
        partisan_test_cluster:start_node(
            Net, partisan_test_cluster:configuration(Net, I, Overrides)
        )
     || I <- lists:seq(1, Count)
    ],
    ok = partisan_test_cluster:connected(Nodes),
    _ = [boot_node(Node) || Node <- Nodes],
    Nodes.

boot_node(Node) ->
    Paths = [filename:dirname(code:which(M)) || M <- [?MODULE, ring, lasp_lattice]],
    ok = call(Node, code, add_pathsa, [Paths]),
    ok = call(Node, ?MODULE, boot, [#{tick => 50, transfers => 2}]).

boot(Options) ->
    {ok, _} = application:ensure_all_started(ring),
    ok = ring_echo:start(Options),
    ring_kvs:start(Options#{repair => 1000, hint_age => 600000}).

plan(Node, Members, Others) ->
    Plan = Others#{members => [name(M) || M <- Members], partitions => ?PARTITIONS},
    {ok, Epoch} = call(Node, ring_manager, plan, [echo, Plan]),
    {ok, Epoch} = call(Node, ring_manager, plan, [kvs, Plan]).

settled(Nodes, Epoch) ->
    await(fun() -> lists:all(fun(Ring) -> is_settled(Ring, Epoch, Nodes) end, [echo, kvs]) end).

is_settled(Ring, Epoch, Nodes) ->
    lists:all(
        fun(Node) ->
            #{epoch := E, settled := Settled} = call(Node, ring_manager, status, [Ring]),
            Settled andalso E =:= Epoch
        end,
        Nodes
    ).

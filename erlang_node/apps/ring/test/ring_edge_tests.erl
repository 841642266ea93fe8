%%% The processes of a ring on one node, and what its users may give them.
-module(ring_edge_tests).

-include_lib("eunit/include/eunit.hrl").

-define(RING, ring_edge_tests).
-define(ALONE, <<"alone">>).
-define(PLAN, #{members => [?ALONE], partitions => 4, replication => 1}).

edge_test_() ->
    {foreach, fun setup/0, fun stop/1, [
        {"options of a ring", fun options/0},
        {"plans", {timeout, 60, fun plans/0}},
        {"calls", {timeout, 60, fun calls/0}},
        {"requests", {timeout, 60, fun requests/0}},
        {"messages", fun messages/0},
        {"a restart", {timeout, 60, fun restarted/0}},
        {"a ring that stops", {timeout, 60, fun stopped/0}}
    ]}.

%% Each is refused before a process is started, by name and with what it must be.
options() ->
    Right = #{service => ring_echo, transport => ring_test_transport},
    _ = [
        ?assertEqual({error, Description}, ring:start(?RING, Given))
     || {Given, Description} <- [
            {foo, "options: foo is not a map"},
            {#{}, "service: missing; name a module of behaviour ring_vnode"},
            {Right#{service := no_module},
                "service: the module no_module cannot be loaded: nofile"},
            {Right#{service := lists},
                "service: the module lists lacks init/1 of behaviour ring_vnode"},
            {Right#{service := "ring_echo"},
                "service: \"ring_echo\" must be a module of behaviour ring_vnode"},
            {Right#{transport := no_module},
                "transport: the module no_module cannot be loaded: nofile"},
            {Right#{tick => 0}, "tick: 0 must be milliseconds, 1 to 4294967295"},
            {Right#{repair => 0}, "repair: 0 must be milliseconds, 1 to 4294967295, or never"},
            {Right#{transfers => 0}, "transfers: 0 must be at least 1, or infinity"},
            {Right#{transfers => 1.5}, "transfers: 1.5 must be at least 1, or infinity"},
            {Right#{grace => -1}, "grace: -1 must be milliseconds, 0 to 4294967295"},
            {Right#{storage_delay => soon},
                "storage_delay: soon must be milliseconds, 0 to 4294967295"},
            {Right#{hint_count => many}, "hint_count: many must be an integer from 0"},
            {Right#{value_bytes => 0}, "value_bytes: 0 must be an integer from 1"},
            {Right#{replicated => 1}, "replicated: 1 must be true or false"},
            {Right#{other => 1}, "other: is no option of a ring"}
        ]
    ],
    ?assertEqual(
        {error, "name: \"r\" is no name of a ring, an atom"}, ring:start("r", Right)
    ),
    % What has the name of the ring stays.
    Taken = {error, "name: a process or table has the name ring_edge_tests already"},
    ?RING = ets:new(?RING, [named_table, public]),
    ?assertEqual(Taken, ring:start(?RING, Right)),
    true = ets:delete(?RING),
    true = register(?RING, self()),
    ?assertEqual(Taken, ring:start(?RING, Right)),
    true = unregister(?RING),
    ok = ring:start(?RING, Right),
    ?assertMatch({error, {already_started, _}}, ring:start(?RING, Right)).

%% A plan that is wrong does not end the processes, and with them the data.
plans() ->
    ?assertError({no_ring, _}, ring_manager:plan(?RING, ?PLAN)),
    ok = start(ring_edge_counter, #{}),
    Manager = whereis(ring_manager_ring_edge_tests),
    {error, "members: 1 is less than replication, 3"} = ring_manager:join(?RING, ?ALONE),
    {ok, 1} = ring_manager:plan(?RING, ?PLAN),
    ok = settled(),
    {ok, 1} = ring:call(?RING, <<"k">>, add),
    _ = [
        ?assertMatch({error, [_ | _]}, Change())
     || Change <- [
            fun() -> ring_manager:plan(?RING, foo) end,
            fun() -> ring_manager:plan(?RING, #{}) end,
            fun() -> ring_manager:plan(?RING, #{members => [?ALONE | foo]}) end,
            fun() -> ring_manager:plan(?RING, #{members => [?ALONE], epoch => later}) end,
            fun() -> ring_manager:join(?RING, foo) end,
            fun() -> ring_manager:join(?RING, ?ALONE) end,
            fun() -> ring_manager:leave(?RING, foo) end,
            fun() -> ring_manager:leave(?RING, <<"other">>) end,
            fun() -> ring_manager:leave(?RING, ?ALONE) end
        ]
    ],
    ?assertEqual({ok, 2}, ring:call(?RING, <<"k">>, add)),
    ?assertEqual(Manager, whereis(ring_manager_ring_edge_tests)),
    ?assertMatch(#{epoch := 1, settled := true}, ring_manager:status(?RING)).

%% A command that fails loses nothing, and neither does a state that cannot be made.
calls() ->
    ?assertError({no_ring, _}, ring:call(?RING, <<"k">>, add)),
    ok = start(ring_edge_counter, #{}),
    ?assertEqual({error, unavailable}, ring:call(?RING, <<"k">>, add)),
    Manager = whereis(ring_manager_ring_edge_tests),
    true = os:putenv("RING_EDGE_FAILS", "1"),
    {ok, 1} = ring_manager:plan(?RING, ?PLAN),
    ?assertEqual({error, unavailable}, late(#{timeout => 1000, retry => 500})),
    true = os:unsetenv("RING_EDGE_FAILS"),
    ok = settled(),
    {ok, 1} = ring:call(?RING, <<"k">>, add),
    ?assertEqual({error, timeout}, ring:call(?RING, <<"k">>, unknown, #{timeout => 100})),
    ?assertEqual({ok, 2}, ring:call(?RING, <<"k">>, add)),
    ?assertEqual(Manager, whereis(ring_manager_ring_edge_tests)),
    ?assertError({bad_key, _}, ring:call(?RING, "k", add)),
    ?assertError({bad_key, _}, ring:preference(?RING, k)),
    ?assertError({bad_option, "timeout: a must be " ++ _}, call(#{timeout => a})),
    ?assertError({bad_option, "timeuot: is no option of a request"}, call(#{timeuot => 1})),
    ?assertError({bad_option, "options: [] must be a map"}, call([])),
    ?assertEqual([], ring_table:requests(?RING)).

call(Options) ->
    ring:call(?RING, <<"k">>, add, Options).

requests() ->
    Key = <<"k">>,
    ok = ring_kvs:start(#{transport => ring_test_transport, tick => 10, value_bytes => 1000}),
    ?assertEqual({error, unavailable}, ring_kvs:get(Key, #{})),
    {ok, 1} = ring_manager:plan(kvs, ?PLAN),
    ok = settled(kvs),
    % A majority of one.
    {ok, Context} = ring_kvs:put(Key, 1, #{}),
    ?assertEqual({ok, [1], Context}, ring_kvs:get(Key, #{context => Context})),
    Seats = ring_table:seats(kvs),
    [{Actor, N}] = Context,
    _ = [
        ?assertError({bad_option, Description}, Request(Options))
     || {Options, Description} <- [
            {[], "options: [] must be a map"},
            {#{r => 0}, "r: 0 must be 1 to 1, the replicas of a key"},
            {#{w => 2}, "w: 2 must be 1 to 1, the replicas of a key"},
            {#{read => dirty}, "read: dirty must be quorum or atomic"},
            {#{reads => none}, "reads: none must be full or digest"},
            {#{availability => sloppy},
                "availability: sloppy needs the option hint_age of ring_kvs:start/1"},
            {#{timeout => infinity}, "timeout: infinity must be milliseconds, 1 to 4294967295"},
            {#{other => 1}, "other: is no option of a request"},
            {#{context => [foo]}, "context: [foo] must be the context of an earlier answer"},
            {#{context => foo}, "context: foo must be the context of an earlier answer"}
        ],
        Request <- [fun(O) -> ring_kvs:get(Key, O) end, fun(O) -> ring_kvs:put(Key, 2, O) end]
    ],
    _ = [
        ?assertError({bad_option, "context: " ++ _}, ring_kvs:put(Key, 2, #{context => Wrong}))
     || Wrong <- [
            [{Actor, N} | foo], [{Actor, 0}], [{Actor, N}, {Actor, N}], [{{0, foo}, 1}], [{Actor}]
        ]
    ],
    ?assertError({bad_key, "the key must be a binary"}, ring_kvs:get(k, #{})),
    Large = binary:copy(<<"v">>, 1000),
    ?assertMatch({error, {too_large, B}} when B > 1000, ring_kvs:put(Key, Large, #{})),
    ?assertMatch({error, {too_large, _}}, ring_kvs:get(Large, #{})),
    ?assertEqual({ok, [1], Context}, ring_kvs:get(Key, #{})),
    ?assertEqual(Seats, ring_table:seats(kvs)),
    {ok, Deleted} = ring_kvs:delete(Key, #{context => Context}),
    ?assertEqual({ok, [], Deleted}, ring_kvs:get(Key, #{read => atomic})).

%% What another release, or a process by mistake, may send ends nothing.
messages() ->
    ok = start(ring_edge_counter, #{}),
    {ok, 1} = ring_manager:plan(?RING, ?PLAN),
    ok = settled(),
    {ok, 1} = ring:call(?RING, <<"k">>, add),
    _ = [
        begin
            ?RING ! Message,
            whereis(ring_manager_ring_edge_tests) ! Message
        end
     || Message <- [foo, {ring, <<"other">>, 1, 0, foo}, {ring, foo, 1, 0, {digest, 1}}]
    ],
    _ = sys:get_state(?RING),
    % It may have sent itself something.
    _ = [?assertMatch(#{settled := true}, ring_manager:status(?RING)) || _ <- [1, 2, 3]],
    ?assertEqual({ok, 2}, ring:call(?RING, <<"k">>, add)).

%% If a process fails, the ring starts anew on this node, as after a loss of the node.
restarted() ->
    ok = start(ring_edge_counter, #{}),
    {ok, 1} = ring_manager:plan(?RING, ?PLAN),
    ok = settled(),
    Start = ring_table:start(?RING),
    exit(whereis(ring_manager_ring_edge_tests), kill),
    ok = await(fun() -> ring_table:start(?RING) > Start end),
    ok = await(fun() -> whereis(?RING) =/= undefined end),
    ?assertEqual({error, unavailable}, ring:call(?RING, <<"k">>, add)),
    {ok, 1} = ring_manager:plan(?RING, ?PLAN),
    ok = settled(),
    ?assertEqual({ok, 1}, ring:call(?RING, <<"k">>, add)).

%% A request that is under way ends, and says what is known of its outcome.
stopped() ->
    ok = ring:stop(?RING),
    ok = start(ring_edge_counter, #{}),
    {ok, 1} = ring_manager:plan(?RING, ?PLAN),
    ok = settled(),
    Caller = self(),
    _ = spawn_link(fun() ->
        Caller ! {result, ring:call(?RING, <<"k">>, unknown, #{timeout => 60000})}
    end),
    ok = await(fun() -> ring_table:requests(?RING) =/= [] end),
    ok = ring:stop(?RING),
    ?assertEqual({error, timeout}, receive {result, Result} -> Result end),
    ?assertEqual({error, unavailable}, ring:call(?RING, <<"k">>, add)),
    ?assertEqual([], ring:preference(?RING, <<"k">>)),
    ?assertError({no_ring, _}, ring_manager:status(?RING)).

%% Helpers.

%% Outlives the process of the setup, and needs no runtime.
setup() ->
    ok = partisan_metrics:init(),
    #{level := Level} = logger:get_primary_config(),
    ok = logger:set_primary_config(level, none),
    Caller = self(),
    Keeper = spawn(fun() ->
        {ok, _} = ring_app:start(normal, []),
        Caller ! {self(), started},
        receive stop -> ok end,
        exit(shutdown)
    end),
    receive {Keeper, started} -> ok end,
    {Keeper, Level}.

stop({Keeper, Level}) ->
    ok = ring:stop(?RING),
    ok = ring:stop(kvs),
    true = os:unsetenv("RING_EDGE_FAILS"),
    _ = persistent_term:erase({ring_table, ?RING}),
    Monitor = monitor(process, ring_app),
    Keeper ! stop,
    receive {'DOWN', Monitor, process, _, _} -> ok end,
    logger:set_primary_config(level, Level).

start(Service, Options) ->
    Common = #{service => Service, transport => ring_test_transport, tick => 10},
    ring:start(?RING, maps:merge(Common, Options)).

%% A call whose process is held until its retry and its deadline are both due. Its node has answered
%% each question, so the command was not executed.
late(#{timeout := Timeout} = Options) ->
    Caller = self(),
    _ = spawn_link(fun() -> Caller ! {result, call(Options)} end),
    ok = await(fun() -> ring_table:requests(?RING) =/= [] end),
    [Pid] = ring_table:requests(?RING),
    true = erlang:suspend_process(Pid),
    % Its timers began before this one. From OTP 29 on its mailbox cannot be seen meanwhile.
    timer:sleep(Timeout + 50),
    true = erlang:resume_process(Pid),
    receive {result, Result} -> Result end.

settled() ->
    settled(?RING).

settled(Ring) ->
    await(fun() -> maps:get(settled, ring_manager:status(Ring)) end).

await(Condition) ->
    case Condition() of
        true -> ok;
        false -> timer:sleep(10), await(Condition)
    end.

%%% @doc A user's own workloads: the example on whole nodes, and modules that are invalid, get
%%% invalid parameters, or fail.
-module(node_own_workload_tests).

-include_lib("eunit/include/eunit.hrl").

%% The callback of a supervisor.
-export([init/1]).

-define(T, node_test_cluster).

example_test_() ->
    {setup, fun compile_example/0, fun remove/1,
        {"the example of docs/tutorials/erlang-app.md", {timeout, 600, fun example/0}}}.

%% A node that is started late, or restarted, also receives everything.
example() ->
    Size = 3,
    Workload = {rumours, #{interval => 20, words => <<"the king is coming">>}},
    New = ?T:new(Size, #{workload => Workload, overlay => {hyparview, #{}}}),
    First = lists:foldl(fun ?T:start/2, New, [0, 1]),
    try
        Refused = ?T:post(0, "/workload/start", ?T:authorized("r0", First), First),
        ?assertMatch({409, _, _}, Refused),
        {202, _, _} = ?T:post(0, "/workload/start", ?T:authorized("r1", First), First),
        ok = ?T:await(fun() -> value(0, First) =:= 2 andalso value(1, First) =:= 2 end),
        ?assertMatch(
            #{<<"phase">> := <<"running">>, <<"converged">> := false}, ?T:reported(0, First)
        ),
        Whole = ?T:start(2, First),
        ok = await_finished(Whole),
        Again = ?T:start(1, ?T:forget(1, ?T:kill(1, Whole))),
        ok = await_finished(Again),
        Reports = [?T:reported(I, Again) || I <- ?T:names(Again)],
        [
            ?assertMatch(#{<<"kind">> := <<"rumours">>, <<"value">> := Size}, Report)
         || Report <- Reports
        ],
        ?assertMatch([_], lists:usort([Digest || #{<<"digest">> := Digest} <- Reports])),
        ?assertMatch(#{<<"sync_payload_bytes">> := 0}, ?T:status(0, Again)),
        {200, _, Metrics} = ?T:get(0, "/metrics", Again),
        ?assertMatch({match, _}, re:run(Metrics, "^rumours_heard 3$", [multiline])),
        ?T:terminate(0, Again)
    after
        ?T:stop(First)
    end.

await_finished(Cluster) ->
    ?T:await(fun() ->
        lists:all(
            fun(I) -> maps:get(<<"phase">>, ?T:reported(I, Cluster)) =:= <<"finished">> end,
            ?T:names(Cluster)
        )
    end).

value(I, Cluster) ->
    maps:get(<<"value">>, ?T:reported(I, Cluster)).

%% Into a directory on the code path of this node, and so of those that it starts.
compile_example() ->
    Dir = partisan_test_directory:new(),
    Options = [{outdir, Dir}, return_errors, warnings_as_errors, warn_missing_spec, debug_info],
    {ok, rumours} = compile:file(example_source(), Options),
    true = code:add_patha(Dir),
    Dir.

remove(Dir) ->
    true = code:del_path(Dir),
    ok = file:del_dir_r(Dir).

example_source() ->
    Root = lists:foldl(
        fun(_, Path) -> filename:dirname(Path) end, filename:absname(?FILE), lists:seq(1, 5)
    ),
    filename:join([Root, "examples", "own-workload", "src", "rumours.erl"]).

module_test_() ->
    [
        {atom_to_list(Kind), fun() ->
            {error, Text} = workload:find(Kind),
            ?assertMatch({match, _}, re:run(Text, Words))
        end}
     || {Kind, Words} <- [
            {no_such_module, "has no module no_such_module: add no_such_module.beam to"},
            {lists, "lists is no workload, for it lacks .*child_specs/1.* status/0"}
        ]
    ].

optional_callbacks_may_be_missing_test() ->
    ?assertEqual({ok, node_test_workload}, workload:find(node_test_workload)),
    ?assertEqual(ok, workload:leave(node_test_workload, 0)),
    ?assertEqual(0, workload:sent_payload(node_test_workload)).

parameters_test_() ->
    Size = #{size => 1},
    Default = #{size => 1, fails => never, words => <<"none">>},
    [
        ?_assertEqual({ok, Default}, parameters(Size)),
        ?_assertEqual({ok, Default#{fails := at_once}}, parameters(Size#{fails => at_once})),
        ?_assertEqual({ok, Default#{fails := at_once}}, parameters(Size#{fails => <<"at_once">>})),
        ?_assertEqual({ok, Default#{words := <<"two">>}}, parameters(Size#{words => <<"two">>})),
        [
            {Words, fun() ->
                {error, Text} = parameters(Given),
                ?assertMatch({match, _}, re:run(Text, Words))
            end}
         || {Given, Words} <- [
                {#{}, "size of node_test_workload must be an integer above 0"},
                {#{size => 0}, "size"},
                {#{size => <<"1">>}, "size"},
                {Size#{words => 2}, "words of node_test_workload must be text"},
                {Size#{fails => <<"sometimes">>}, "fails .* must be one of \\[never,"}
            ]
        ]
    ].

parameters(Given) ->
    workload:parameters(node_test_workload, Given).

%% The pod's status after a workload's failure.
exit_reason_test_() ->
    {foreach, fun termination_log/0, fun remove_log/1, [
        fun(Dir) -> {"it fails repeatedly", fun() -> again_and_again(Dir) end} end,
        fun(Dir) -> {"it does not start", fun() -> at_once(Dir) end} end,
        fun(Dir) -> {"it has no child specifications", fun() -> in_child_specs(Dir) end} end,
        fun(Dir) -> {"nothing has failed", fun() -> ?assertEqual(<<>>, reason(Dir)) end} end,
        fun(_Dir) -> {"outside of a pod", fun outside/0} end
    ]}.

again_and_again(Dir) ->
    {ok, Supervisor} = start(never),
    Monitor = monitor(process, Supervisor),
    fail(Monitor),
    ?assertMatch({match, _}, re:run(reason(Dir), "failed again and again, .*out_of_luck")).

%% Until its supervisor gives up.
fail(Monitor) ->
    _ = try gen_server:call(node_test_workload, fail) catch exit:_ -> failed end,
    receive
        {'DOWN', Monitor, process, _, Reason} -> ?assertEqual(shutdown, Reason)
    after 0 -> fail(Monitor)
    end.

at_once(Dir) ->
    {error, _} = start(at_once),
    Pattern = "^workload: failing of the module node_test_workload does not start, .*no_luck",
    ?assertMatch({match, _}, re:run(reason(Dir), Pattern)).

%% Only the supervisor above knows.
in_child_specs(Dir) ->
    Child = #{
        id => workload_sup,
        type => supervisor,
        start => {workload_sup, start_link, [node_test_workload, options(in_child_specs)]}
    },
    Above = {{one_for_one, 0, 1}, [Child]},
    _ = process_flag(trap_exit, true),
    ?assertMatch({error, _}, supervisor:start_link({local, node_sup}, ?MODULE, Above)),
    ?assertMatch({match, _}, re:run(reason(Dir), "does not start, .*no_child_specs")).

outside() ->
    true = os:putenv("PARTISAN_TERMINATION_LOG", "/no/such/file"),
    ?assertEqual(ok, node_exit_reason:write("not recorded")).

start(Fails) ->
    _ = process_flag(trap_exit, true),
    workload_sup:start_link(node_test_workload, options(Fails)).

options(Fails) ->
    #{parameters => #{fails => Fails}}.

reason(Dir) ->
    ok = node_exit_reason:write_failure(),
    {ok, Text} = file:read_file(filename:join(Dir, "termination-log")),
    Text.

termination_log() ->
    % The supervisors' reports are for the handler under test alone.
    ok = logger:set_handler_config(default, level, none),
    Dir = partisan_test_directory:new(),
    File = filename:join(Dir, "termination-log"),
    ok = file:write_file(File, <<>>),
    true = os:putenv("PARTISAN_TERMINATION_LOG", File),
    ok = application:unset_env(node, last_failure),
    ok = node_exit_reason:install(node_test_workload),
    Dir.

remove_log(Dir) ->
    ok = logger:remove_handler(node_exit_reason),
    ok = logger:set_handler_config(default, level, all),
    true = os:unsetenv("PARTISAN_TERMINATION_LOG"),
    ok = file:del_dir_r(Dir).

%% As a supervisor's callback: its start argument.
init(Above) ->
    {ok, Above}.

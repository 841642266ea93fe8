%%% @doc Hosted processes in a world: they do what the protocol does as a value, and what OTP does.
-module(verify_hosted_tests).

-include_lib("eunit/include/eunit.hrl").

-define(S, verify_test_source).

rumours_test_() ->
    {setup, fun compile_rumours/0, fun ?S:remove/1, [
        {"the example runs unmodified", fun rumours/0},
        {"two runs are equal", fun equal_runs/0},
        {"another seed is another run", fun other_seed/0}
    ]}.

compile_rumours() ->
    Dir = ?S:new(),
    Source = ?S:path(["examples", "own-workload", "src", "rumours.erl"]),
    {ok, rumours} = compile:file(Source, [{outdir, Dir}, return_errors, debug_info]),
    Dir.

rumours() ->
    World = finished(16, 1),
    Reports = [verify_hosted:state(State) || State <- maps:values(verify_world:states(World))],
    ?assertEqual([16], lists:usort([map_size(Heard) || #{heard := Heard} <- Reports])),
    [
        ?assert(Started >= 0 andalso Finished > Started)
     || #{started_at := Started, finished_at := Finished} <- Reports
    ],
    ?assertEqual([{<<"n01">>, start, ok}], verify_world:replies(World)).

equal_runs() ->
    ?assertEqual(verify_world:digest(finished(4, 1)), verify_world:digest(finished(4, 1))).

other_seed() ->
    ?assertNotEqual(verify_world:digest(finished(4, 1)), verify_world:digest(finished(4, 2))).

finished(Count, Seed) ->
    {ok, Hosted} = verify_host:load(rumours),
    World = world(Hosted, Count, #{seed => Seed, horizon => 60000}),
    finish(verify_world:inject(<<"n01">>, {call, start, {start, <<"run">>}}, World)).

finish(World0) ->
    {World, _} = verify_world:run_until(
        verify_world:now(World0) + 500, fun(_, _) -> {deliver, none} end, none, World0
    ),
    ?assertEqual(none, verify_world:error(World)),
    Phases = [
        Phase
     || {_, State} <- maps:to_list(verify_world:states(World)),
        #{phase := Phase} <- [verify_hosted:state(State)]
    ],
    case lists:usort(Phases) of
        [finished] -> World;
        _ -> finish(World)
    end.

world(Module, Count, Setup) ->
    Names = [<<$n, (I div 10 + $0), (I rem 10 + $0)>> || I <- lists:seq(1, Count)],
    verify_world:new(Setup#{module => Module, nodes => Names}).

%% The figures of two-phase commit, in each form of it.
two_phase_commit_test_() ->
    [
        {timeout, 600, {lists:concat([Module, " ", Scope, " ", Order]), fun() ->
            {ok, Hosted} = verify_host:load(Module),
            #{executions := Executions, failing := Failing} = verify_explore:run(#{
                module => Hosted, nodes => 4, scope => Scope, order => Order
            }),
            ?assertEqual({Ran, Failed}, {Executions, Failing})
        end}}
     || Module <- [two_phase_commit, hosted_commit_server, hosted_commit_statem],
        {Scope, Order, Ran, Failed} <- [
            {raw, distinct, 4096, 56},
            {base, distinct, 53, 19},
            {recursive, distinct, 729, 19},
            {recursive, symmetric, 165, 6}
        ]
    ].

late_messages_test_() ->
    {timeout, 600, fun() ->
        Results = [
            begin
                {ok, Hosted} = verify_host:load(Module),
                Search = #{module => Hosted, nodes => 3, decisions => [drop, late]},
                maps:with([executions, failing], verify_explore:run(Search))
            end
         || Module <- [two_phase_commit, hosted_commit_server, hosted_commit_statem]
        ],
        [#{failing := Failing}] = lists:usort(Results),
        ?assert(Failing > 0)
    end}.

%% The example as a search: no loss of two messages keeps a rumour from any node.
rumours_search_test_() ->
    {setup, fun compile_rumours/0, fun ?S:remove/1, {timeout, 600, fun() ->
        {ok, Hosted} = verify_host:load(rumours),
        Result = verify_explore:run(#{
            module => Hosted,
            nodes => 4,
            scenario => [{0, <<"n1">>, {call, start, {start, <<"run">>}}}],
            property => fun has_finished/1,
            decisions => [drop],
            most => 2,
            world => #{horizon => 8000}
        }),
        ?assertMatch(#{failing := 0, complete := true, executions := 205}, Result)
    end}}.

has_finished(World) ->
    Phases = [
        maps:get(phase, verify_hosted:state(State))
     || State <- maps:values(verify_world:states(World))
    ],
    case lists:usort(Phases) of
        [finished] -> ok;
        Other -> {violated, io_lib:format("phases ~tp", [Other])}
    end.

%% Events of a server, with their times, and its log and answers at the end.
features_test_() ->
    [
        {Title, ?_assertEqual({Log, Answers}, features(Calls))}
     || {Title, Calls, Log, Answers} <- [
            {"a timer of the server's own fires", [{5, {timeout, 20}}], [{25, timeout}], [ok]},
            {"but not after another event",
                [{5, {timeout, 20}}, {6, log}], [], [ok, [{0, {continue, begun}}]]},
            {"an answer may come later", [{5, {later, 7}}], [], [answer]},
            {"intervals, until they are cancelled",
                [{5, {tick, 10}}, {30, untick}], [{15, tick}, {25, tick}], [ok, ok]},
            {"cancelled timers", [{0, {cancelled, 9}}], [], [{9, 9, false}]},
            {"the process dictionary", [{0, dictionary}], [], [[{argument, given}]]},
            {"persistent terms, of each node", [{0, {remember, 1}}, {0, {remember, 2}}], [],
                [{none, 1}, {1, 2}]},
            {"a thrown result", [{0, {thrown, up}}], [], [up]},
            {"messages to oneself by name", [{1, {inform, n01, hello}}],
                [{1, {cast, hello}}, {1, {from, n01}}, {1, seen}], [ok]},
            {"messages to another node, whose pid is good for an answer",
                [{1, {inform, n02, hello}}], [{3, seen}], [ok]}
        ]
    ].

features(Calls) ->
    World = run_features(Calls, #{}),
    ?assertEqual(none, verify_world:error(World)),
    [{0, {continue, begun}} | Log] = lists:reverse(
        verify_hosted:state(verify_world:state(<<"n01">>, World))
    ),
    {[{At, named(Term)} || {At, Term} <- Log],
        [Answer || {_, _, Answer} <- verify_world:replies(World)]}.

named({from, Pid}) -> {from, node(Pid)};
named(Term) -> Term.

run_features(Calls, Setup) ->
    {ok, Hosted} = verify_host:load(hosted_features),
    World0 = world(Hosted, 2, Setup#{options => #{argument => given}, horizon => 100}),
    World1 = lists:foldl(
        fun({At, Request}, W) ->
            verify_world:inject_at(At, <<"n01">>, {call, Request, Request}, W)
        end,
        World0,
        Calls
    ),
    {World, _} = verify_world:run(fun(_, _) -> {deliver, none} end, none, World1),
    World.

identity_test() ->
    [{_, _, {Pid, n01, [n02], Ref, Integer, Random}}] =
        verify_world:replies(run_features([{0, identity}], #{})),
    ?assertEqual({n01, n01}, {node(Pid), node(Ref)}),
    ?assert(is_integer(Integer)),
    % The same in every run.
    [{_, _, Again}] = verify_world:replies(run_features([{0, identity}], #{})),
    ?assertEqual({Pid, n01, [n02], Ref, Integer, Random}, Again).

stopped_test() ->
    World = run_features([{0, {stop, normal}}, {1, log}], #{}),
    ?assertEqual([stopped], [Answer || {_, _, Answer} <- verify_world:replies(World)]),
    ?assertEqual(stopped, verify_hosted:state(verify_world:state(<<"n01">>, World))),
    ?assertMatch(
        [{1, {terminated, normal}} | _], verify_hosted:state(verify_world:state(<<"n02">>, World))
    ).

failures_test_() ->
    [
        ?_assertMatch(
            {crashed, <<"n01">>, {call, Request, Request}, Class, Reason, _},
            verify_world:error(run_features([{0, Request}], #{}))
        )
     || {Request, Class, Reason} <- [
            {{stop, bad}, exit, bad},
            {nonsense, error, {bad_return_value, nonsense}},
            {{to, other}, error, {not_hosted, {process, other}, "only the process itself is, under "
                "its own names"}}
        ]
    ].

-module(verify_campaign_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(SEEDS, lists:seq(1, 10)).

%% The counterexamples of the slides, one model each.

printed() ->
    [
        {quorum_kv_available, 7, [
            "join n1 n2 : OK",
            "join n1 n3 : OK",
            "n1 write x 1 : OK",
            "fault partition { n1 } { n2 n3 }",
            "n1 read x 1 : TIMEOUT"
        ]},
        {quorum_kv_strong, 7, [
            "join n1 n2 : OK",
            "join n1 n3 : OK",
            "fault egress_delay n2 n1",
            "fault egress_delay n3 n1",
            "n1 write x 1 : TIMEOUT",
            "fault resolve_all",
            "n1 read x 1 : 1"
        ]},
        {quorum_kv_honest, 5, [
            "join n1 n2 : OK",
            "join n1 n3 : OK",
            "n1 write x 1 : OK",
            "fault byzantine n2 bitflip",
            "n1 read x 1 : FAIL, {1, -1}"
        ]}
    ].

found_test_() ->
    [
        {lists:concat([Model, " seed ", Seed]), fun() ->
            #{executions := 100, passed := Passed, failed := Failed, counterexamples := All} =
                verify_campaign:run(#{model => Model, executions => 100, seed => Seed}),
            ?assertEqual(100, Passed + Failed),
            ?assert(length(verify_notation:lines(hd(All))) =< Most),
            lists:foreach(fun is_good/1, All)
        end}
     || {Model, Most, _} <- printed(), Seed <- ?SEEDS
    ].

is_good(#{steps := Steps, kind := Kind} = Counterexample) ->
    ?assert(iolist_size(io_lib:format("~0p", [Counterexample])) < 1024),
    ?assertMatch({same, _}, verify_campaign:replay(Counterexample)),
    Fails = fun(Left) ->
        case verify_execution:outcome(verify_execution:run(Counterexample, Left)) of
            {failed, Kind, _} -> true;
            _ -> false
        end
    end,
    ?assert(verify_shrink:is_minimal(Fails, [Step || {Step, _} <- Steps])).

%% With the kinds of faults that the slides have.
found_with_kinds_test_() ->
    [
        {lists:concat([Model, " seed ", Seed]), fun() ->
            #{counterexamples := [First | _]} =
                verify_campaign:run(#{
                    model => Model, faults => Kinds, seed => Seed, counterexamples => 4
                }),
            ?assert(length(verify_notation:lines(First)) =< Most)
        end}
     || {Model, Most, Kinds} <- [
            {quorum_kv_available, 7, [partition]},
            {quorum_kv_strong, 7, [delay, partition]},
            {quorum_kv_honest, 5, [corrupt]}
        ],
        Seed <- ?SEEDS
    ].

%% The very lines of the slides fail as printed there, and are minimal.
printed_test_() ->
    [
        {atom_to_list(Model), fun() ->
            Execution = verify_execution:run(configuration(Model), [step(Line) || Line <- Lines]),
            {failed, postcondition, _} = verify_execution:outcome(Execution),
            Counterexample = verify_campaign:shrink(configuration(Model), Execution),
            ?assertEqual(length(Lines), length(maps:get(steps, Counterexample))),
            ?assertEqual(
                Lines,
                [
                    unicode:characters_to_list(Line)
                 || Line <- verify_notation:lines(Counterexample#{
                        steps := verify_execution:results(Execution)
                    })
                ]
            )
        end}
     || {Model, _, Lines} <- printed()
    ].

step("fault partition { n1 } { n2 n3 }") ->
    {fault, partition, [[[<<"n1">>], [<<"n2">>, <<"n3">>]]]};
step(Line) ->
    [Text | _] = string:split(Line, " : "),
    case string:lexemes(Text, " ") of
        ["join", A, B] -> {join, [list_to_binary(A), list_to_binary(B)]};
        ["fault", "resolve_all"] -> {fault, resolve_all, []};
        ["fault", "byzantine", A, "bitflip"] -> {fault, byzantine, [list_to_binary(A), bitflip]};
        ["fault", "egress_delay", A, B] ->
            {fault, egress_delay, [list_to_binary(A), list_to_binary(B)]};
        [A, "write", "x", "1"] -> {write, [list_to_binary(A), x, 1]};
        [A, "read", "x", "1"] -> {read, [list_to_binary(A), x]}
    end.

configuration(Model) ->
    #{
        model => Model,
        nodes => 3,
        options => #{},
        seed => 1,
        tolerance => 1,
        faults => verify_faults:kinds(),
        wait => 5000,
        settle => 30000
    }.

%% Nothing is left to correct in the last one, with all faults.
the_last_model_finds_nothing_test_() ->
    {timeout, 600, fun the_last_model_finds_nothing/0}.

the_last_model_finds_nothing() ->
    ?assertMatch(
        #{executions := 1000, failed := 0},
        verify_campaign:run(#{model => quorum_kv_atomic, executions => 1000})
    ).

%% What the store guarantees, and with which settings.

consistency_test_() ->
    Majorities = #{read_quorum => majority, write_quorum => majority, repair => 2000},
    One = #{read_quorum => 1, write_quorum => 1},
    Settings = [
        {majorities, Majorities},
        {one_with_repair, One#{repair => 2000}},
        {one, One#{repair => 0}}
    ],
    [
        {lists:concat([Model, " ", Name]), {timeout, 600, fun() ->
            #{failed := Failed} = verify_campaign:run(#{
                model => Model,
                executions => 1000,
                options => proplists:get_value(Name, Settings),
                counterexamples => 0
            }),
            ?assertEqual(Holds, Failed =:= 0)
        end}}
     || {Model, Expected} <- [
            {quorum_kv_atomic, [true, false, false]},
            {quorum_kv_causal, [true, false, false]},
            {quorum_kv_eventual, [true, true, false]}
        ],
        {{Name, _}, Holds} <- lists:zip(Settings, Expected)
    ].

%% A read that does not write back what it has seen may be followed by one that does not see it.
%% Found in a few of 10,000 executions; these are the counterexamples.
write_back_test_() ->
    Hidden = [
        {join, [<<"n1">>, <<"n2">>]},
        {join, [<<"n1">>, <<"n3">>]},
        {fault, partition, [[[<<"n2">>], [<<"n1">>, <<"n3">>]]]},
        {write, [<<"n2">>, x, 1]},
        {fault, resolve_all, []},
        {read, [<<"n1">>, x]},
        {fault, partition, [[[<<"n2">>], [<<"n1">>, <<"n3">>]]]},
        {read, [<<"n1">>, x]}
    ],
    [
        {lists:concat([Model, " ", WriteBack]), fun() ->
            Configuration = (configuration(Model))#{options => #{write_back => WriteBack}},
            Execution = verify_execution:run(Configuration, Hidden),
            {_, Last} = lists:last(verify_execution:results(Execution)),
            ?assertEqual(Expected, Last),
            ?assertEqual(WriteBack, verify_execution:outcome(Execution) =:= passed)
        end}
     || Model <- [quorum_kv_atomic, quorum_kv_causal],
        {WriteBack, Expected} <- [{true, {ok, 1}}, {false, not_found}]
    ].

custom_fault_test() ->
    #{counterexamples := [#{faults := [disk_loss], steps := Steps} | _]} =
        verify_campaign:run(#{model => quorum_kv_atomic, faults => [disk_loss]}),
    ?assert(lists:keymember(disk_loss, 2, [Fault || {Fault, ok} <- Steps])).

without_tolerance_nothing_fails_test() ->
    ?assertMatch(
        #{failed := 0}, verify_campaign:run(#{model => quorum_kv_available, tolerance => 0})
    ).

%% Determinism.

equal_seeds_have_equal_reports_test() ->
    Campaign = #{model => quorum_kv_strong, seed => 7},
    ?assertEqual(verify_campaign:run(Campaign), verify_campaign:run(Campaign)).

%% The same on every version of OTP.
fingerprint_test_() ->
    [
        {lists:concat([Model, " seed ", Seed]),
            ?_assertEqual(Expected, fingerprint(#{model => Model, seed => Seed}))}
     || {Model, Seed, Expected} <- [
            {quorum_kv_available, 1, 132809449},
            {quorum_kv_strong, 1, 19908262},
            {quorum_kv_honest, 1, 109178431}
        ]
    ].

fingerprint(Campaign) ->
    #{failed := Failed, counterexamples := All} = verify_campaign:run(Campaign),
    erlang:phash2({Failed, [lists:sort(maps:to_list(C)) || C <- All]}).

executions_can_be_divided_test() ->
    Run = fun(First, Executions) ->
        #{failed := Failed} = verify_campaign:run(#{
            model => quorum_kv_honest,
            first => First,
            executions => Executions,
            counterexamples => 0
        }),
        Failed
    end,
    ?assertEqual(Run(1, 100), Run(1, 30) + Run(31, 70)).

a_counterexample_of_another_configuration_differs_test() ->
    #{counterexamples := [Counterexample | _]} = verify_campaign:run(#{model => quorum_kv_honest}),
    ?assertMatch({different, _}, verify_campaign:replay(Counterexample#{tolerance := 0})).

progress_test() ->
    Self = self(),
    Progress = fun(Executed, Failed) -> Self ! {Executed, Failed} end,
    #{failed := Failed} = verify_campaign:run(#{
        model => quorum_kv_honest, executions => 20, progress => Progress
    }),
    [
        receive
            {Executed, So} -> ?assert(So =< Failed)
        end
     || Executed <- lists:seq(1, 20)
    ].

%% Bad input.

check_test_() ->
    Valid = #{model => quorum_kv_strong},
    [
        ?_assertEqual({error, Description}, verify_campaign:check(Campaign))
     || {Description, Campaign} <- [
            {"`model` is missing; name a module with the behaviour verify_model", #{}},
            {"no module no_such_model (nofile); compile it and add its directory to the code path",
                #{model => no_such_model}},
            {"lists is no model: it lacks process/2; export it (behaviour verify_model)",
                #{model => lists}},
            {"`tolerance` is 3; give less than `nodes`", Valid#{tolerance => 3}},
            {"`nodes` is 65; give 64 at most", Valid#{nodes => 65}},
            {"`executions` is many; give an integer from 0 on", Valid#{executions => many}},
            {"`length` is 0; give an integer from 1 on", Valid#{length => 0}},
            {"`faults` is [rain]; give some of [partition,delay,corrupt,crash]",
                Valid#{faults => [rain]}},
            {"`seed` is one; give an integer", Valid#{seed => one}},
            {"`options` is []; give a map", Valid#{options => []}}
        ]
    ] ++
        [
            ?_assertEqual(ok, verify_campaign:check(Valid)),
            ?_assertMatch(
                {error, "`sed` is unknown" ++ _}, verify_campaign:check(Valid#{sed => 1})
            ),
            ?_assertError({invalid_campaign, _}, verify_campaign:run(Valid#{nodes => 0}))
        ].

%% A callback that crashes or loops.

failing_process_test_() ->
    [
        {atom_to_list(How), {timeout, 600, fun() ->
            #{counterexamples := [#{kind := Kind, violated := Violated} = Counterexample | _]} =
                verify_campaign:run(#{
                    model => verify_test_model,
                    executions => 20,
                    counterexamples => 1,
                    options => #{How => 3}
                }),
            ?assertEqual(How, Kind),
            ?assertNotEqual(nomatch, string:find(Violated, Text)),
            ?assertEqual([{{add, [<<"n1">>, 3]}, timeout}], maps:get(steps, Counterexample)),
            ?assertMatch({same, _}, verify_campaign:replay(Counterexample))
        end}}
     || {How, Text} <- [{crash, "n1 crashes with error:asked_to"}, {loop, "n1 loops on"}]
    ].

a_final_state_test() ->
    #{counterexamples := [Counterexample | _]} =
        verify_campaign:run(#{model => verify_test_model, options => #{most => 4}}),
    ?assertEqual(
        "n1 add 5 : OK\nfinal : FAIL, n1 has 5\n",
        unicode:characters_to_list(verify_notation:text(Counterexample))
    ).

%% PropEr runs the same models.

proper_finds_them_test_() ->
    [
        {atom_to_list(Model), {timeout, 600, fun() ->
            Self = self(),
            Configuration = configuration(Model),
            Report = fun(Execution) -> Self ! {failed, Execution} end,
            Property = verify_proper:property(Configuration, Report),
            ?assertNot(proper:quickcheck(Property, [quiet, {numtests, 3000}, {max_size, 30}])),
            Shrunk = last_failed(none),
            ?assert(length(verify_execution:steps(Shrunk)) =< Most + 3),
            is_good(verify_campaign:shrink(Configuration, Shrunk))
        end}}
     || {Model, Most, _} <- printed()
    ].

last_failed(Last) ->
    receive
        {failed, Execution} -> last_failed(Execution)
    after 0 -> Last
    end.

proper_confirms_the_guarantees_test_() ->
    [
        {atom_to_list(Model), {timeout, 600, ?_assert(
            proper:quickcheck(
                verify_proper:property(configuration(Model)), [{to_file, user}, {numtests, 300}]
            )
        )}}
     || Model <- [quorum_kv_atomic, quorum_kv_causal, quorum_kv_eventual]
    ].

%%% Extreme and wrong input of campaigns and searches: refused with a text, or without harm.
-module(verify_wrong_tests).

-include_lib("eunit/include/eunit.hrl").

%% It ends at the first of them.
many_executions_need_no_memory_test() ->
    ?assertThrow(
        reported,
        verify_campaign:run(#{
            model => verify_test_model,
            executions => 1_000_000_000,
            progress => fun(_, _) -> throw(reported) end
        })
    ).

searches_test_() ->
    Good = #{module => two_phase_commit, nodes => 2},
    [
        ?_assertEqual({error, Expected}, verify_search:check(maps:merge(Good, Wrong)))
     || {Expected, Wrong} <- [
            {"nodes [<<\"a\">>|b]: must be a number from 1 to 99, or names",
                #{nodes => [<<"a">> | b]}},
            {"decisions [drop|late]: must be a list", #{decisions => [drop | late]}},
            {"decisions {corrupt,all}: drop, late, duplicate, crash or {corrupt, How}",
                #{decisions => [{corrupt, all}]}},
            {"merge yes: true or false", #{merge => yes}},
            {"inert prepare: a list of types of messages, or learn", #{inert => prepare}},
            {"examples infinity: an integer from 0 on", #{examples => infinity}},
            {"progress io: a function of a map", #{progress => io}},
            {"world []: must be a map", #{world => []}},
            {"world: restarts => 5 is no option of verify_world:new/1",
                #{world => #{restarts => 5}}},
            {"world: latency => 0 is no option of verify_world:new/1", #{world => #{latency => 0}}},
            {"world: horizon => never is no option of verify_world:new/1",
                #{world => #{horizon => never}}}
        ]
    ] ++
        [
            ?_assertEqual(ok, verify_search:check(maps:merge(Good, Right)))
         || Right <- [
                #{decisions => [{corrupt, bit_flip}, {corrupt, fun(Msg) -> Msg end}]},
                #{inert => [], progress => none, examples => 0, merge => true},
                #{world => #{horizon => infinity, restart => never, seed => -1, late => 10}},
                #{world => #{horizon => 0, restart => 0, latency => 1, reductions => 1}},
                #{world => #{events => 5, trace => true, guard => false, crashes => false}}
            ]
        ].

improper_faults_test() ->
    ?assertEqual(
        {error, "`faults` is [crash|delay]; give some of [partition,delay,corrupt,crash]"},
        verify_campaign:check(#{model => verify_test_model, faults => [crash | delay]})
    ).

verdicts_of_models_test_() ->
    [
        ?_assertError(
            {invalid_campaign, "postcondition: " ++ _},
            verify_campaign:run(#{model => verify_test_model, options => #{verdict => Verdict}})
        )
     || Verdict <- [false, violated, {violated, no_text}, {violated, <<200>>}]
    ].

verdicts_of_properties_test_() ->
    [
        ?_assertError(
            {invalid_search, "property: " ++ _},
            verify_explore:run(#{
                module => two_phase_commit, nodes => 2, property => fun(_) -> Verdict end
            })
        )
     || Verdict <- [false, {violated, no_text}, {violated, <<200>>}]
    ].

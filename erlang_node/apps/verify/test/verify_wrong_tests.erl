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

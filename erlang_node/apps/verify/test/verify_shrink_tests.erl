-module(verify_shrink_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

the_needed_elements_remain_test() ->
    Fails = fun(List) -> [3, 8] -- List =:= [] end,
    ?assertEqual([3, 8], verify_shrink:minimal(Fails, lists:seq(1, 100))).

nothing_is_needed_test() ->
    ?assertEqual([], verify_shrink:minimal(fun(_) -> true end, [1, 2, 3])).

a_list_that_does_not_fail_test() ->
    ?assertError(not_failing, verify_shrink:minimal(fun(_) -> false end, [1])).

used_elements_are_taken_over_test() ->
    % As commands whose preconditions do not hold, elements after a gap are not used.
    Used = fun
        Used([A | Rest], Next) when A =:= Next -> [A | Used(Rest, Next + 1)];
        Used(_, _) -> []
    end,
    Fails = fun(List) ->
        case Used(List, 1) of
            [1, 2, 3 | _] = All -> {true, All};
            _ -> false
        end
    end,
    ?assertEqual([1, 2, 3], verify_shrink:minimal(Fails, [1, 2, 3, 4, 5, 7, 8])).

simpler_elements_test() ->
    Fails = fun(List) -> lists:sum(List) >= 5 end,
    Simpler = fun(List) ->
        [
            lists:sublist(List, N - 1) ++ [lists:nth(N, List) - 1 | lists:nthtail(N, List)]
         || N <- lists:seq(1, length(List)), lists:nth(N, List) > 0
        ]
    end,
    ?assertEqual([5], verify_shrink:minimal(Fails, Simpler, [1, 0, 9, 0])).

minimal_test_() ->
    {timeout, 600,
        ?_assert(proper:quickcheck(prop_minimal(), [{to_file, user}, {numtests, 1000}]))}.

%% Predicates of any shape: an arbitrary set of subsets fails, and the whole list.
prop_minimal() ->
    ?FORALL(
        {Size, Salt, Share},
        {integer(0, 8), nat(), integer(2, 6)},
        begin
            All = lists:seq(1, Size),
            Fails = fun(List) -> List =:= All orelse erlang:phash2({List, Salt}, Share) =:= 0 end,
            Minimal = verify_shrink:minimal(Fails, All),
            Fails(Minimal) andalso verify_shrink:is_minimal(Fails, Minimal) andalso
                not lists:any(fun(Element) -> Fails(Minimal -- [Element]) end, Minimal)
        end
    ).

%% Of these omissions 2PC needs one to break; a decision about a message that is never sent is none.
schedule_test() ->
    Needed = {{<<"n1">>, <<"n2">>, commit, 1}, drop},
    Schedule = [
        Needed,
        {{<<"n3">>, <<"n1">>, commit_ack, 1}, drop},
        {{<<"n4">>, <<"n1">>, commit_ack, 1}, late},
        {{<<"n4">>, <<"n1">>, commit_ack, 9}, drop}
    ],
    Search = #{module => two_phase_commit, nodes => 4},
    ?assertEqual([Needed], verify_shrink:schedule(Search, Schedule)),
    ?assertError(not_failing, verify_shrink:schedule(Search, tl(Schedule))).

%% The explorer's failures with the fewest omissions are 1-minimal.
fewest_omissions_test() ->
    Search = #{module => three_phase_commit, nodes => 4},
    #{examples := Examples} = verify_explore:run(Search#{most => 2}),
    ?assertEqual(15, length(Examples)),
    [?assertEqual(S, verify_shrink:schedule(Search, S)) || #{schedule := S} <- Examples].

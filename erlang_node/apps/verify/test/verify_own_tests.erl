%%% @doc The runtime's own protocols under faults: a part of what `make verify' searches.
-module(verify_own_tests).

-include_lib("eunit/include/eunit.hrl").

invariant_test_() ->
    [
        {atom_to_list(Protocol), {timeout, 600, fun() -> holds(Protocol) end}}
     || Protocol <- verify_own:protocols()
    ].

holds(Protocol) ->
    #{executions := Executions, complete := true} =
        Result = verify_own:run(Protocol, #{shares => [0.2, 0.02]}),
    ?assertMatch(#{failing := 0}, Result),
    ?assert(Executions > 50).

%% Each mutation is found, and its counterexample is none of the protocol as it is.
mutation_test_() ->
    [
        {lists:concat([Protocol, " with ", Mutation]),
            {timeout, 600, fun() -> is_caught(Protocol, Mutation) end}}
     || Protocol <- verify_own:protocols(), Mutation <- verify_own:mutations(Protocol)
    ].

is_caught(Protocol, Mutation) ->
    Mutated = #{mutation => Mutation, quick => true, until => failure},
    #{failing := 1, counterexample := {Schedule, Why}} = verify_own:run(Protocol, Mutated),
    ?assertMatch([_], Schedule),
    {World, Verdict} = verify_own:replay(Protocol, Schedule, Mutated),
    ?assertEqual({violated, Why}, Verdict),
    % A node that leaves and stops is in the trace as well.
    ?assertEqual([], Schedule -- verify_schedule:from_trace(verify_world:trace(World))),
    ?assertMatch({_, ok}, verify_own:replay(Protocol, Schedule, #{})).

unknown_mutation_test() ->
    ?assertError({unknown, no_keep}, verify_own:run(delta, #{mutation => no_keep})).

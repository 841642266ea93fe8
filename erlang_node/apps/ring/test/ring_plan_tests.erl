-module(ring_plan_tests).

-include_lib("eunit/include/eunit.hrl").

%% What the writer leaves out is as before.
the_next_plan_test() ->
    {ok, 1, State} = ring_plan:next(first(#{}), ring_state:new()),
    {ok, 2, Next} = ring_plan:next(#{members => [<<"b">>, <<"c">>]}, State),
    ?assertEqual({ok, first(#{members => [<<"b">>, <<"c">>]})}, ring_state:current(Next)),
    ?assertMatch({ok, 9, _}, ring_plan:next(first(#{epoch => 9}), State)),
    {ok, 1, Default} = ring_plan:next(#{members => [<<"a">>, <<"b">>, <<"c">>]}, ring_state:new()),
    ?assertMatch({ok, #{partitions := 768, replication := 3}}, ring_state:current(Default)).

%% Nothing that a writer may give ends the process that takes it.
whatever_is_wrong_is_named_test_() ->
    [
        {Description, ?_assertEqual({error, Description}, ring_plan:next(Given, ring_state:new()))}
     || {Given, Description} <- [
            {foo, "plan: foo is not a map with the field members"},
            {[<<"a">>], "plan: [<<\"a\">>] is not a map with the field members"},
            {#{}, "members: missing; list the names of the nodes"},
            {first(#{partition => 8}), "partition: is no field of a plan"},
            {first(#{members => a}), "members: a is not a list of names"},
            {first(#{members => [<<"a">> | b]}), "members: [<<\"a\">>|b] is not a list of names"},
            {first(#{members => []}), "members: 0 is less than replication, 2"},
            {first(#{members => [a, b]}), "members: a is no name, a binary of 1 to 255 bytes"},
            {first(#{members => [<<>>, <<"a">>]}),
                "members: <<>> is no name, a binary of 1 to 255 bytes"},
            {first(#{members => [<<"a">>, <<"a">>]}), "members: a occurs twice"},
            {first(#{partitions => many}), "partitions: many is not an integer"},
            {first(#{partitions => 4.0}), "partitions: 4.0 is not an integer"},
            {first(#{partitions => -4}), "partitions: -4 is not a multiple of replication, 2"},
            {first(#{replication => 1.5}), "replication: 1.5 is not an integer"},
            {first(#{replication => 0}), "replication: 0 is less than 1"},
            {first(#{replication => 256}), "replication: 256 is more than 255"},
            {first(#{epoch => soon}), "epoch: soon is no integer up to 18446744073709551615"},
            {first(#{epoch => 1 bsl 64}),
                "epoch: 18446744073709551616 is no integer up to 18446744073709551615"},
            {first(#{epoch => 0}), "epoch: 0 is not larger than the last one, 0"}
        ]
    ].

%% A longer name would be another one on the nodes that read the plan.
names_that_a_plan_cannot_hold_are_refused_test() ->
    Long = binary:copy(<<"n">>, 256),
    ?assertMatch({error, "members: " ++ _}, ring_plan:next(first(#{members => [Long, <<"b">>]}),
        ring_state:new())),
    Longest = binary:copy(<<"n">>, 255),
    Plan = first(#{members => [Longest, <<"b">>]}),
    {ok, 1, State} = ring_plan:next(Plan, ring_state:new()),
    ?assertEqual({ok, Plan}, ring_state:current(State)).

%% They give every partition its indexes.
what_never_changes_test() ->
    {ok, 1, State} = ring_plan:next(first(#{}), ring_state:new()),
    ?assertEqual(
        {error, "partitions: cannot change, it is 4"},
        ring_plan:next(first(#{partitions => 8}), State)
    ),
    ?assertEqual(
        {error, "replication: cannot change, it is 2"},
        ring_plan:next(first(#{replication => 1}), State)
    ).

%% A plan with these changes.
first(Changes) ->
    maps:merge(#{members => [<<"a">>, <<"b">>], partitions => 4, replication => 2}, Changes).

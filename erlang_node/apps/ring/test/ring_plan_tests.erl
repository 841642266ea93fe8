-module(ring_plan_tests).

-include_lib("eunit/include/eunit.hrl").

-define(FIRST, #{members => [<<"a">>, <<"b">>], partitions => 4, replication => 2}).

%% What the writer leaves out is as before.
the_next_plan_test() ->
    {ok, 1, State} = ring_plan:next(?FIRST, ring_state:new()),
    {ok, 2, Next} = ring_plan:next(#{members => [<<"b">>, <<"c">>]}, State),
    ?assertEqual({ok, ?FIRST#{members := [<<"b">>, <<"c">>]}}, ring_state:current(Next)),
    ?assertMatch({ok, 9, _}, ring_plan:next(?FIRST#{epoch => 9}, State)),
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
            {?FIRST#{partition => 8}, "partition: is no field of a plan"},
            {?FIRST#{members := a}, "members: a is not a list of names"},
            {?FIRST#{members := [<<"a">> | b]}, "members: [<<\"a\">>|b] is not a list of names"},
            {?FIRST#{members := []}, "members: 0 is less than replication, 2"},
            {?FIRST#{members := [a, b]}, "members: a is no name, a binary of 1 to 255 bytes"},
            {?FIRST#{members := [<<>>, <<"a">>]},
                "members: <<>> is no name, a binary of 1 to 255 bytes"},
            {?FIRST#{members := [<<"a">>, <<"a">>]}, "members: a occurs twice"},
            {?FIRST#{partitions := many}, "partitions: many is not an integer"},
            {?FIRST#{partitions := 4.0}, "partitions: 4.0 is not an integer"},
            {?FIRST#{partitions := -4}, "partitions: -4 is not a multiple of replication, 2"},
            {?FIRST#{replication := 1.5}, "replication: 1.5 is not an integer"},
            {?FIRST#{replication := 0}, "replication: 0 is less than 1"},
            {?FIRST#{replication := 256}, "replication: 256 is more than 255"},
            {?FIRST#{epoch => soon}, "epoch: soon is no integer up to 18446744073709551615"},
            {?FIRST#{epoch => 1 bsl 64},
                "epoch: 18446744073709551616 is no integer up to 18446744073709551615"},
            {?FIRST#{epoch => 0}, "epoch: 0 is not larger than the last one, 0"}
        ]
    ].

%% A name of 300 bytes would be another one on the nodes that read the plan.
names_that_a_plan_cannot_hold_are_refused_test() ->
    Long = binary:copy(<<"n">>, 256),
    ?assertMatch({error, "members: " ++ _}, ring_plan:next(?FIRST#{members := [Long, <<"b">>]},
        ring_state:new())),
    Longest = binary:copy(<<"n">>, 255),
    Plan = ?FIRST#{members := [Longest, <<"b">>]},
    {ok, 1, State} = ring_plan:next(Plan, ring_state:new()),
    ?assertEqual({ok, Plan}, ring_state:current(State)).

%% They give every partition its indexes.
what_never_changes_test() ->
    {ok, 1, State} = ring_plan:next(?FIRST, ring_state:new()),
    ?assertEqual(
        {error, "partitions: cannot change, it is 4"},
        ring_plan:next(?FIRST#{partitions := 8}, State)
    ),
    ?assertEqual(
        {error, "replication: cannot change, it is 2"},
        ring_plan:next(?FIRST#{replication := 1}, State)
    ).

-module(ring_state_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

laws_test_() ->
    [
        {Law, {timeout, 600, ?_assert(lasp_lattice_tests:check(Property))}}
     || {Law, Property} <- lasp_lattice_tests:laws(ring_state, state())
    ].

state() ->
    ?LET(
        {Plans, Holders},
        {list({integer(1, 4), plan()}), list({integer(0, 11), {nat(), nat()}, member()})},
        lists:foldl(
            fun ring_state:merge/2,
            ring_state:new(),
            [ring_state:plan(Epoch, Plan) || {Epoch, Plan} <- Plans] ++
                [ring_state:held(Index, Inc, Node) || {Index, Inc, Node} <- Holders]
        )
    ).

plan() ->
    ?LET(Count, integer(3, 6), plan(Count)).

plan(Count) ->
    #{
        partitions => 12,
        replication => 3,
        members => [<<"kv-", (integer_to_binary(I))/binary>> || I <- lists:seq(0, Count - 1)]
    }.

member() ->
    oneof([<<"kv-0">>, <<"kv-1">>, <<>>]).

the_greatest_epoch_and_incarnation_count_test() ->
    State = lists:foldl(fun ring_state:merge/2, ring_state:new(), [
        ring_state:plan(2, plan(4)),
        ring_state:plan(1, plan(3)),
        ring_state:held(0, {1, 5}, <<"kv-0">>),
        ring_state:held(0, {2, 1}, <<"kv-3">>)
    ]),
    ?assertEqual(2, ring_state:epoch(State)),
    ?assertEqual({ok, plan(4)}, ring_state:current(State)),
    ?assertEqual({ok, {{2, 1}, <<"kv-3">>}}, ring_state:holder(0, State)).

impossible_plans_are_refused_test_() ->
    [
        ?_assertEqual({error, Description}, ring_state:check(maps:merge(plan(3), Changes)))
     || {Changes, Description} <- [
            {#{partitions => 13}, "partitions: 13 is not a multiple of replication, 3"},
            {#{partitions => 98304}, "partitions: 98304 is more than 65536"},
            {#{members => [<<"a">>, <<"b">>]}, "members: 2 is less than replication, 3"},
            {#{members => [<<"a">>, <<"b">>, <<"a">>]}, "members: a occurs twice"}
        ]
    ].

malformed_parts_are_refused_test_() ->
    [
        ?_assertEqual(error, lasp_lattice:decode(ring_state, lasp_parts:encode([Part])))
     || Part <- [
            {[], [1]},
            {[0, <<"a">>], [1]},
            {[-1, <<"a">>], [1, 1]},
            {[0, <<"a">>], [1, -1]},
            {[<<"plan">>, <<>>], [1]},
            {[<<"plan">>, <<12:32, 3, 1, "a">>], [1]},
            {[<<"plan">>, <<12:32, 3, 1, "a", 1, "b", 1, "c", 9>>], [1]},
            {[<<"plan">>, <<12:32, 3, 1, "a", 1, "b", 1, "c">>], [0]}
        ]
    ].

%% Owners follow the plan, holders what has moved.
a_view_knows_whom_to_ask_test() ->
    Planned = ring_state:plan(1, plan(4)),
    View = ring_view:new(ring_state:merge(Planned, ring_state:held(5, {1, 1}, <<"kv-9">>))),
    ?assertEqual(none, ring_view:new(ring_state:new())),
    ?assertEqual([10, 11, 0], ring_view:indexes(10, View)),
    ?assertEqual([1, 0, 11], ring_view:groups(1, View)),
    ?assertEqual([{4, _4 = [4, 6]}], [G || {4, _} = G <- ring_view:siblings(5, View)]),
    ?assertEqual(<<"kv-9">>, ring_view:address(5, View)),
    ?assertEqual(ring_view:owner(6, View), ring_view:address(6, View)),
    ?assertEqual(12, length(ring_view:transfers(View))),
    ?assertEqual(3, length(ring_view:owned(<<"kv-3">>, View))),
    Owners = [ring_view:owner(Index, View) || Index <- ring_view:indexes(0, View)],
    [_] = StandIns = ring_view:stand_ins(0, View),
    ?assertEqual([<<"kv-0">>, <<"kv-1">>, <<"kv-2">>, <<"kv-3">>], lists:sort(Owners ++ StandIns)),
    ?assertEqual(StandIns, ring_view:stand_ins(0, ring_view:part(0, View))),
    ?assertEqual(15, ring_view:actor(<<"kv-3">>, View)),
    ?assertEqual(none, ring_view:actor(<<"kv-9">>, View)).

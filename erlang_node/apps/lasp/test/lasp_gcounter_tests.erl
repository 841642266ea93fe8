-module(lasp_gcounter_tests).

-include_lib("eunit/include/eunit.hrl").

counts_each_actor_test() ->
    Counter = count([a, b, a, a]),
    ?assertEqual(4, lasp_gcounter:value(Counter)),
    ?assertEqual(3, lasp_gcounter:count(<<"a">>, Counter)),
    ?assertEqual(0, lasp_gcounter:count(<<"c">>, Counter)),
    ?assertEqual([{<<"a">>, 3}, {<<"b">>, 1}], lasp_gcounter:entries(Counter)).

merging_counts_nothing_twice_test() ->
    Shared = count([a, b]),
    Left = lasp_gcounter:increment(<<"a">>, Shared),
    Right = lasp_gcounter:increment(<<"b">>, Shared),
    ?assertEqual(4, lasp_gcounter:value(lasp_gcounter:merge(Left, Right))).

an_entry_of_zero_is_no_entry_test() ->
    ?assertEqual(lasp_gcounter:new(), lasp_gcounter:entry(<<"a">>, 0)).

a_delta_brings_the_other_replica_up_test() ->
    Counter = count([a, a]),
    Delta = lasp_gcounter:entry(<<"a">>, lasp_gcounter:count(<<"a">>, Counter)),
    ?assertEqual(Counter, lasp_gcounter:merge(lasp_gcounter:new(), Delta)).

count(Actors) ->
    lists:foldl(
        fun(Actor, Counter) -> lasp_gcounter:increment(atom_to_binary(Actor), Counter) end,
        lasp_gcounter:new(),
        Actors
    ).

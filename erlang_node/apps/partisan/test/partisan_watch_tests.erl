%%% @doc Which watched nodes are lost, and when.
-module(partisan_watch_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NODE, <<"a">>).

watched() ->
    {Watch, [{ask, ?NODE}]} = partisan_watch:watch(?NODE, 0, partisan_watch:new(10)),
    Watch.

silent_node_is_lost_test() ->
    {Asked, [{ask, ?NODE}]} = partisan_watch:tick(10, [], watched()),
    {Lost, [{lost, ?NODE, infinity}]} = partisan_watch:tick(20, [], Asked),
    ?assertEqual(0, partisan_watch:size(Lost)).

answers_keep_it_test() ->
    {Heard, []} = partisan_watch:heard(?NODE, 1, 10, watched()),
    ?assertMatch({_, [{ask, ?NODE}]}, partisan_watch:tick(20, [], Heard)).

neighbours_are_not_silent_test() ->
    {Watch, _} = partisan_watch:tick(100, [?NODE], watched()),
    ?assert(partisan_watch:is_watched(?NODE, Watch)).

who_ceases_to_be_one_has_an_interval_test() ->
    {Neighbour, _} = partisan_watch:tick(100, [?NODE], watched()),
    {Suspect, [{ask, ?NODE}]} = partisan_watch:suspect(?NODE, 101, Neighbour),
    ?assertMatch({_, [{ask, ?NODE}]}, partisan_watch:tick(110, [], Suspect)),
    ?assertMatch({_, [{lost, ?NODE, infinity}]}, partisan_watch:tick(111, [], Suspect)).

a_later_life_is_a_loss_and_a_former_one_is_nothing_test() ->
    {Heard, []} = partisan_watch:heard(?NODE, 5, 0, watched()),
    ?assertEqual({Heard, []}, partisan_watch:heard(?NODE, 4, 9, Heard)),
    {Lost, [{lost, ?NODE, 6}]} = partisan_watch:heard(?NODE, 6, 1, Heard),
    ?assertNot(partisan_watch:is_watched(?NODE, Lost)).

who_was_just_heard_is_not_asked_test() ->
    Watch = partisan_watch:present(?NODE, 5, 0, partisan_watch:new(10)),
    ?assertEqual(Watch, partisan_watch:present(?NODE, 9, 3, Watch)),
    ?assertMatch({_, [{lost, ?NODE, 6}]}, partisan_watch:heard(?NODE, 6, 1, Watch)).

nobodys_business_test() ->
    Watch = partisan_watch:new(10),
    ?assertEqual({Watch, []}, partisan_watch:heard(?NODE, 1, 0, Watch)),
    ?assertEqual({Watch, []}, partisan_watch:suspect(?NODE, 0, Watch)),
    Nobody = partisan_watch:unwatch(?NODE, watched()),
    ?assertEqual({Watch, []}, partisan_watch:tick(99, [], Nobody)).

%%% @doc Conditions under which watched nodes are considered lost.
-module(partisan_failure_detector_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NODE, <<"a">>).

watched() ->
    None = partisan_failure_detector:new(10),
    {Watch, [{ask, ?NODE}]} = partisan_failure_detector:watch(?NODE, 0, None),
    Watch.

silent_node_is_lost_test() ->
    {Asked, [{ask, ?NODE}]} = partisan_failure_detector:tick(10, [], watched()),
    {Lost, [{lost, ?NODE, infinity}]} = partisan_failure_detector:tick(20, [], Asked),
    ?assertEqual(0, partisan_failure_detector:size(Lost)).

answers_keep_it_test() ->
    {Heard, []} = partisan_failure_detector:heard(?NODE, 1, 10, watched()),
    ?assertMatch({_, [{ask, ?NODE}]}, partisan_failure_detector:tick(20, [], Heard)).

neighbours_are_not_silent_test() ->
    {Watch, _} = partisan_failure_detector:tick(100, [?NODE], watched()),
    ?assert(partisan_failure_detector:is_watched(?NODE, Watch)).

a_previous_neighbour_has_an_interval_test() ->
    {Neighbour, _} = partisan_failure_detector:tick(100, [?NODE], watched()),
    {Suspect, [{ask, ?NODE}]} = partisan_failure_detector:suspect(?NODE, 101, Neighbour),
    ?assertMatch({_, [{ask, ?NODE}]}, partisan_failure_detector:tick(110, [], Suspect)),
    ?assertMatch({_, [{lost, ?NODE, infinity}]}, partisan_failure_detector:tick(111, [], Suspect)).

a_later_incarnation_is_a_loss_and_an_earlier_one_is_ignored_test() ->
    {Heard, []} = partisan_failure_detector:heard(?NODE, 5, 0, watched()),
    ?assertEqual({Heard, []}, partisan_failure_detector:heard(?NODE, 4, 9, Heard)),
    {Lost, [{lost, ?NODE, 6}]} = partisan_failure_detector:heard(?NODE, 6, 1, Heard),
    ?assertNot(partisan_failure_detector:is_watched(?NODE, Lost)).

a_node_just_heard_is_not_asked_test() ->
    Watch = partisan_failure_detector:present(?NODE, 5, 0, partisan_failure_detector:new(10)),
    ?assertEqual(Watch, partisan_failure_detector:present(?NODE, 9, 3, Watch)),
    ?assertMatch({_, [{lost, ?NODE, 6}]}, partisan_failure_detector:heard(?NODE, 6, 1, Watch)).

an_unwatched_node_is_ignored_test() ->
    Watch = partisan_failure_detector:new(10),
    ?assertEqual({Watch, []}, partisan_failure_detector:heard(?NODE, 1, 0, Watch)),
    ?assertEqual({Watch, []}, partisan_failure_detector:suspect(?NODE, 0, Watch)),
    Unwatched = partisan_failure_detector:unwatch(?NODE, watched()),
    ?assertEqual({Watch, []}, partisan_failure_detector:tick(99, [], Unwatched)).

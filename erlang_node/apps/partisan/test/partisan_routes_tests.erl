-module(partisan_routes_tests).

-include_lib("eunit/include/eunit.hrl").

-define(AT_ONCE, 8).
-define(WAITING, 256).

few_searches_run_at_once_test() ->
    {R0, Sought} = find_all(names(1, 20), partisan_routes:new(<<"self">>)),
    ?assertEqual(names(1, ?AT_ONCE), Sought),
    % Found, or heard of by chance: either way the next one starts.
    {R1, Found} = partisan_routes:found({found, name(3), <<"self">>, 9}, <<"via">>, R0),
    ?assertMatch([{route, _, <<"via">>}, {seek, _}, {start_timer, _, _}], Found),
    ?assertEqual([name(9)], seeks(Found)),
    {R2, Heard} = partisan_routes:heard(name(5), <<"via">>, R1),
    ?assertEqual([name(10)], seeks(Heard)),
    % A waiting search is not needed once the member is heard of.
    {R3, Early} = partisan_routes:heard(name(11), <<"via">>, R2),
    ?assertEqual([{route, name(11), <<"via">>}], Early),
    {_R4, Next} = partisan_routes:heard(name(1), <<"via">>, R3),
    ?assertEqual([name(12)], seeks(Next)).

an_unanswered_search_makes_room_in_the_end_test() ->
    {R0, _} = find_all(names(1, ?AT_ONCE + 1), partisan_routes:new(<<"self">>)),
    {R1, [{seek, _}, _]} = partisan_routes:timeout(name(1), R0),
    {R2, [{seek, _}, _]} = partisan_routes:timeout(name(1), R1),
    {R3, [{no_route, Lost} | More]} = partisan_routes:timeout(name(1), R2),
    ?assertEqual({name(1), [name(?AT_ONCE + 1)]}, {Lost, seeks(More)}),
    ?assertEqual({R3, []}, partisan_routes:timeout(name(1), R3)).

waiting_searches_are_bounded_test() ->
    Most = ?AT_ONCE + ?WAITING,
    {R, _} = find_all(names(1, Most), partisan_routes:new(<<"self">>)),
    ?assertEqual({R, []}, partisan_routes:find(name(1), R)),
    ?assertEqual({R, []}, partisan_routes:find(name(Most), R)),
    One = name(Most + 1),
    ?assertEqual({R, [{no_route, One}]}, partisan_routes:find(One, R)).

%% Helpers.

find_all(Names, R0) ->
    {R, Actions} = lists:foldl(
        fun(Name, {R, Acc}) ->
            {R1, Actions} = partisan_routes:find(Name, R),
            {R1, Acc ++ Actions}
        end,
        {R0, []},
        Names
    ),
    {R, seeks(Actions)}.

seeks(Actions) ->
    [Name || {seek, Name} <- Actions].

names(First, Last) ->
    [name(N) || N <- lists:seq(First, Last)].

name(N) ->
    integer_to_binary(N).

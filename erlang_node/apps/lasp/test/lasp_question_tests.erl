%%% @doc Questions step by step: who waits for whom, and when a node is added.
-module(lasp_question_tests).

-include_lib("eunit/include/eunit.hrl").

-define(Q, lasp_question).

a_root_without_children_answers_itself_test() ->
    {asked, Id, Asked} = ?Q:ask([], new()),
    ?assertMatch({{complete, Id, self, #{0 := 3}}, _}, ?Q:contribute(#{0 => 3}, Asked)).

all_children_are_waited_for_test() ->
    {asked, Id, Asked} = ?Q:ask([<<"b">>, <<"c">>], new()),
    {pending, Own} = ?Q:contribute(#{0 => 1}, Asked),
    {pending, One} = ?Q:answered(Id, <<"b">>, #{0 => 2}, Own),
    % Repeated, or from a node that was not asked.
    ?assertEqual({pending, One}, ?Q:answered(Id, <<"b">>, #{0 => 2}, One)),
    ?assertEqual({pending, One}, ?Q:answered(Id, <<"d">>, #{0 => 2}, One)),
    ?assertMatch(
        {{complete, Id, self, #{0 := 6, 1 := 1}}, _},
        ?Q:answered(Id, <<"c">>, #{0 => 3, 1 => 1}, One)
    ).

a_previous_neighbour_is_not_waited_for_test() ->
    {asked, Id, Asked} = ?Q:ask([<<"b">>, <<"c">>], new()),
    {pending, Own} = ?Q:contribute(#{0 => 1}, Asked),
    {pending, One} = ?Q:without([<<"c">>], Own),
    ?assertEqual({pending, One}, ?Q:without([<<"b">>, <<"c">>], One)),
    ?assertMatch({{complete, Id, self, #{0 := 1}}, _}, ?Q:without([], One)).

the_next_question_waits_for_the_one_before_but_not_for_ever_test() ->
    {asked, {Asker, 1}, First} = ?Q:ask([<<"b">>], new()),
    ?assertEqual(waiting, ?Q:ask([<<"b">>], ?Q:tick(?Q:tick(First)))),
    {asked, {Asker, 2}, Second} = ?Q:ask([<<"b">>], ?Q:tick(?Q:tick(?Q:tick(First)))),
    % The answer to the first is too late.
    ?assertEqual({pending, Second}, ?Q:answered({Asker, 1}, <<"b">>, #{0 => 9}, Second)).

a_question_is_answered_once_and_the_first_not_by_this_node_test() ->
    Asker = <<"asker!">>,
    {first, First} = ?Q:heard({Asker, 7}, <<"a">>, [], new()),
    ?assertEqual(again, ?Q:heard({Asker, 7}, <<"b">>, [], First)),
    ?assertEqual(again, ?Q:heard({Asker, 6}, <<"a">>, [], First)),
    {next, Next} = ?Q:heard({Asker, 8}, <<"b">>, [], First),
    ?assertMatch(
        {{complete, {Asker, 8}, <<"b">>, #{0 := 1}}, _}, ?Q:contribute(#{0 => 1}, Next)
    ),
    ?assertMatch({first, _}, ?Q:heard({<<"other!">>, 1}, <<"b">>, [], Next)).

a_question_of_its_own_is_not_answered_test() ->
    {asked, Id, Asked} = ?Q:ask([<<"b">>], new()),
    ?assertEqual(again, ?Q:heard(Id, <<"b">>, [], Asked)).

each_incarnation_is_another_asker_test() ->
    [{A, 1}, {B, 1}, {C, 1}] = [
        Id
     || {Name, Incarnation} <- [{<<"a">>, 1}, {<<"a">>, 2}, {<<"b">>, 1}],
        {asked, Id, _} <- [?Q:ask([], ?Q:new(Name, Incarnation))]
    ],
    ?assertEqual(3, length(lists:usort([A, B, C]))).

new() ->
    ?Q:new(<<"a">>, 1).

%% Beacons of seeds, attempts to rejoin a silent one, and their end.
-module(partisan_beacon_tests).

-include_lib("eunit/include/eunit.hrl").

-define(B, partisan_beacon).
-define(PERIODS, 1000).

a_seed_emits_numbered_beacons_to_its_neighbours_test() ->
    {Seed, First} = ?B:tick([peer(2), peer(3)], node(1, [1])),
    ?assertEqual([{send, peer(2), beacon(1, 1)}, {send, peer(3), beacon(1, 1)}], First),
    {_, Second} = ?B:tick([peer(2)], Seed),
    ?assertEqual([{send, peer(2), beacon(1, 2)}], Second).

a_new_beacon_is_forwarded_once_and_not_back_test() ->
    Neighbours = [peer(1), peer(2), peer(3)],
    {Node, Sent} = ?B:heard(beacon(1, 1), peer(2), Neighbours, node(4, [1])),
    ?assertEqual([{send, peer(3), beacon(1, 1)}], Sent),
    ?assertMatch({Node, []}, ?B:heard(beacon(1, 1), peer(3), Neighbours, Node)),
    ?assertMatch({Node, []}, ?B:heard(beacon(9, 1), peer(3), Neighbours, Node)).

a_seed_that_does_not_answer_is_asked_for_ever_test() ->
    {_, Actions} = periods(node(2, [1]), fun(_, B) -> B end),
    ?assert(length(joins(Actions)) > ?PERIODS div 12).

a_seed_that_is_heard_again_is_not_asked_test() ->
    {_, Actions} = periods(node(2, [1]), fun(Period, B0) ->
        {B, []} = ?B:heard(beacon(1, Period), peer(1), [peer(1)], B0),
        B
    end),
    ?assertEqual([], Actions).

%% As where the first node is the seed of all others, and has no seed itself.
a_seed_learns_that_it_is_one_test() ->
    {_, Attempt} = silence(node(2, [1])),
    ?assertMatch([{join, _}, {send, _, _}], Attempt),
    [{send, To, Asking}] = Attempt -- [{join, peer(1)}],
    ?assertEqual(peer(1), To),
    {Silent, []} = ?B:tick([peer(2)], node(1, [])),
    {Emitting, []} = ?B:heard(Asking, peer(2), [peer(2)], Silent),
    ?assertMatch({_, [{send, _, {beacon, <<"n1">>, _, 1}}]}, ?B:tick([peer(2)], Emitting)),
    % A third node that has the same seed does not forward it.
    ?assertMatch({_, []}, ?B:heard(Asking, peer(2), [peer(2), peer(4)], node(3, [1]))).

%% Every join moves links: one that cannot help any more must end.
a_seed_that_answers_and_is_never_heard_is_given_up_test() ->
    {_, Actions} = periods(node(2, [1]), fun(_, B) -> ?B:met(peer(1), B) end),
    ?assertEqual([peer(1), peer(1), peer(1)], joins(Actions)).

a_seed_that_was_heard_once_is_never_given_up_test() ->
    {Heard, _} = ?B:heard(beacon(1, 1), peer(1), [peer(1)], node(2, [1])),
    {_, Actions} = periods(Heard, fun(_, B) -> ?B:met(peer(1), B) end),
    ?assert(length(joins(Actions)) > ?PERIODS div 12).

%% Nodes.

node(Number, Seeds) ->
    ?B:init(#{
        self => peer(Number), seeds => [peer(S) || S <- Seeds], rand => rand:seed_s(exsss, 1)
    }).

peer(Number) ->
    Name = iolist_to_binary(["n", integer_to_binary(Number)]),
    (partisan_peer:new(Name, {127, 0, 0, 1}, Number))#{incarnation := 7}.

beacon(Name, Number) ->
    #{name := Of, incarnation := Incarnation} = peer(Name),
    {beacon, Of, Incarnation, Number}.

%% Many periods, after each of which the function changes the node; all actions.
periods(Node, Function) ->
    lists:foldl(
        fun(Period, {B0, Before}) ->
            {B, Actions} = ?B:tick([], B0),
            {Function(Period, B), Before ++ Actions}
        end,
        {Node, []},
        lists:seq(1, ?PERIODS)
    ).

%% Periods until the node does something.
silence(Node) ->
    case ?B:tick([], Node) of
        {Later, []} -> silence(Later);
        {Later, Actions} -> {Later, Actions}
    end.

joins(Actions) ->
    [Peer || {join, Peer} <- Actions].

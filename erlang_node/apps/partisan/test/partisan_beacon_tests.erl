%%% @doc Who looks for which seed, and when.
-module(partisan_beacon_tests).

-include_lib("eunit/include/eunit.hrl").

-define(PATIENCE, 3).

a_seed_emits_to_all_its_neighbours_test() ->
    {_, Actions} = partisan_beacon:tick([peer(x), peer(y)], beacon(a)),
    ?assertEqual([peer(x), peer(y)], [Peer || {send, Peer, {beacon, <<"a">>, _, 1}} <- Actions]).

what_is_new_is_passed_on_once_and_not_back_test() ->
    Neighbours = [peer(x), peer(y), peer(a)],
    Msg = message(a, 1),
    {Heard, Actions} = partisan_beacon:heard(Msg, peer(x), Neighbours, beacon(n)),
    ?assertEqual([{send, peer(y), Msg}], Actions),
    ?assertEqual({Heard, []}, partisan_beacon:heard(Msg, peer(y), Neighbours, Heard)).

a_node_that_hears_of_a_seed_leaves_the_others_to_it_test() ->
    ?assertEqual([], joined_while_hearing([a], beacon(n))).

a_node_that_hears_of_none_asks_one_at_a_time_test() ->
    {Joined, _} = lists:mapfoldl(
        fun(_, B) ->
            {Next, Actions} = partisan_beacon:tick([], B),
            {[Peer || {join, Peer} <- Actions], Next}
        end,
        beacon(n),
        lists:seq(1, 50)
    ),
    ?assertEqual(lists:duplicate(?PATIENCE - 1, []), lists:sublist(Joined, ?PATIENCE - 1)),
    ?assertMatch([_], lists:nth(?PATIENCE, Joined)),
    ?assert(lists:all(fun(Peers) -> length(Peers) =< 1 end, Joined)),
    %% Each of them in time, and ever more rarely.
    ?assertEqual([peer(a), peer(b), peer(c)], lists:usort(lists:append(Joined))),
    ?assert(length(lists:append(Joined)) < 25).

seeds_watch_each_other_test() ->
    ?assertEqual([peer(c)], joined_while_hearing([b], beacon(a))).

a_seed_asks_once_a_period_test() ->
    {_, Asked} = lists:foldl(
        fun(_, {B, Sum}) ->
            {Next, Actions} = partisan_beacon:tick([], B),
            {Next, Sum + length([Peer || {join, Peer} <- Actions])}
        end,
        {beacon(a), 0},
        lists:seq(1, 20)
    ),
    ?assertEqual(2 * (20 - ?PATIENCE + 1), Asked).

the_only_seed_watches_nobody_test() ->
    Alone = partisan_beacon:init(#{
        self => peer(a), seeds => [peer(a)], rand => rand:seed_s(exsss, 1)
    }),
    {_, Actions} = partisan_beacon:tick([], Alone),
    ?assertEqual([], Actions).

%% Whom a node asks within twenty periods, in each of which it hears of these seeds.
joined_while_hearing(Names, Beacon) ->
    {Joined, _} = lists:mapfoldl(
        fun(Number, B0) ->
            B1 = lists:foldl(fun(Name, B) -> hear(Name, Number, B) end, B0, Names),
            {Next, Actions} = partisan_beacon:tick([], B1),
            {[Peer || {join, Peer} <- Actions], Next}
        end,
        Beacon,
        lists:seq(1, 20)
    ),
    lists:usort(lists:append(Joined)).

hear(Name, Number, Beacon) ->
    {Heard, _} = partisan_beacon:heard(message(Name, Number), peer(x), [], Beacon),
    Heard.

beacon(Name) ->
    partisan_beacon:init(#{
        self => peer(Name),
        seeds => [peer(a), peer(b), peer(c)],
        rand => rand:seed_s(exsss, 1),
        patience => ?PATIENCE
    }).

message(Name, Number) ->
    {beacon, atom_to_binary(Name), 1, Number}.

peer(Name) ->
    #{name => atom_to_binary(Name), host => "localhost", port => 1, incarnation => 1}.

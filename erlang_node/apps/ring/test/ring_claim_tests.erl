-module(ring_claim_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

%% Every ring of 3 to 256 members with 768 partitions, each from the one before.
joins_test_() ->
    {timeout, 600, fun() ->
        Last = lists:foldl(
            fun(Members, Before) ->
                Owners = ring_claim:join(Members - 1, 3, Before),
                ?assert(is_spaced(3, Owners)),
                ?assert(is_even(Members, Owners)),
                Moves = ring_claim:moves(Before, Owners),
                ?assertEqual(768 div Members, length(Moves)),
                ?assertEqual([Members - 1], lists:usort([Owner || {_, Owner} <- Moves])),
                Owners
            end,
            ring_claim:owners(768, 3, 3),
            lists:seq(4, 256)
        ),
        ?assertEqual(Last, ring_claim:owners(768, 3, 256))
    end}.

doubling_moves_half_and_halving_restores_test() ->
    Small = ring_claim:owners(768, 3, 32),
    Large = ring_claim:owners(768, 3, 64),
    ?assertEqual(384, length(ring_claim:moves(Small, Large))),
    ?assertEqual(384, length(ring_claim:moves(Large, Small))),
    ?assertEqual(Small, ring_claim:owners(768, 3, 32)).

%% Few partitions for each of few members: the hardest to space.
smallest_rings_test_() ->
    {timeout, 600, [
        ?_assert(is_spaced(N, ring_claim:owners(N * Rows, N, Members)))
     || {N, Rows} <- [{3, 4}, {3, 28}, {4, 12}, {5, 6}, {5, 13}, {5, 16}],
        Members <- lists:seq(N, N * Rows)
    ]}.

%% Other numbers of partitions and replicas, up to one partition for each member.
any_ring_test_() ->
    {timeout, 600, ?_assert(proper:quickcheck(prop_ring(), [{to_file, user}, {numtests, 150}]))}.

prop_ring() ->
    ?FORALL(
        {Replication, Rows},
        {integer(1, 5), integer(1, 60)},
        ?FORALL(
            Members,
            integer(Replication, Replication * Rows),
            begin
                Partitions = Replication * Rows,
                ok = ring_claim:check(Partitions, Replication, Members),
                Owners = ring_claim:owners(Partitions, Replication, Members),
                is_spaced(Replication, Owners) andalso is_even(Members, Owners)
            end
        )
    ).

impossible_rings_are_refused_test_() ->
    [
        ?_assertEqual({error, Description}, ring_claim:check(Partitions, Replication, Members))
     || {Partitions, Replication, Members, Description} <- [
            {1024, 3, 3, "partitions: 1024 is not a multiple of replication, 3"},
            {0, 3, 3, "partitions: 0 is not a multiple of replication, 3"},
            {768, 3, 2, "members: 2 is less than replication, 3"},
            {12, 3, 13, "members: 13 is more than partitions, 12"},
            {12, 0, 3, "replication: 0 is less than 1"}
        ]
    ].

%% No owner twice among that many partitions in a row.
is_spaced(Replication, Owners) ->
    Size = tuple_size(Owners),
    lists:all(
        fun(I) ->
            Row = [element((I + D) rem Size + 1, Owners) || D <- lists:seq(0, Replication - 1)],
            length(lists:usort(Row)) =:= Replication
        end,
        lists:seq(0, Size - 1)
    ).

is_even(Members, Owners) ->
    Loads = [
        length([O || O <- tuple_to_list(Owners), O =:= Member])
     || Member <- lists:seq(0, Members - 1)
    ],
    lists:max(Loads) - lists:min(Loads) =< 1.

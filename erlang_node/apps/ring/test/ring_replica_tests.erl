-module(ring_replica_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(ACTOR, {0, {1, 1}}).

%% The sums, updated write by write, are those of the contents; and they find what differs.
sums_test_() ->
    {timeout, 600, ?_assert(proper:quickcheck(prop_sums(), [{to_file, user}, {numtests, 300}]))}.

prop_sums() ->
    ?FORALL(
        {Common, Left, Right},
        {list(key()), list(key()), list(key())},
        begin
            Base = written(Common, ring_replica:new(?ACTOR)),
            A = written(Left, Base),
            B = stored(ring_replica:items(Base), written(Right, ring_replica:new({1, {1, 1}}))),
            Again = stored(ring_replica:items(A), ring_replica:new(?ACTOR)),
            Rows = ring_hashes:differing(ring_replica:rows(A), ring_replica:rows(B)),
            Buckets = ring_hashes:differing(ring_replica:sums(Rows, A), ring_replica:sums(Rows, B)),
            Found = lists:usort(
                ring_replica:contents(Buckets, A) ++ ring_replica:contents(Buckets, B)
            ),
            Different =
                (ring_replica:items(A) -- ring_replica:items(B)) ++
                    (ring_replica:items(B) -- ring_replica:items(A)),
            ring_replica:rows(A) =:= ring_replica:rows(Again) andalso
                lists:usort(Different) -- Found =:= []
        end
    ).

key() ->
    ?LET(I, integer(1, 40), integer_to_binary(I)).

written(Keys, Replica) ->
    lists:foldl(
        fun(Key, Acc) ->
            {_, _, Next} = ring_replica:write(Key, {value, Key}, [], 0, Acc),
            Next
        end,
        Replica,
        Keys
    ).

stored(Items, Replica) ->
    lists:foldl(
        fun({Key, Set}, Acc) ->
            case ring_replica:store(Key, Set, unknown, Acc) of
                known -> Acc;
                {grown, _, Next} -> Next
            end
        end,
        Replica,
        Items
    ).

a_tombstone_goes_when_it_is_old_and_unchanged_test() ->
    {_, Set, Written} = ring_replica:write(<<"k">>, {value, 1}, [], 0, ring_replica:new(?ACTOR)),
    Context = ring_dvv:context(Set),
    {_, Tombstone, Deleted} = ring_replica:write(<<"k">>, none, Context, 100, Written),
    Final = ring_dvv:context(Tombstone),
    {[], _} = ring_replica:tombstones(150, 100, Deleted),
    {[{<<"k">>, Final}], _} = ring_replica:tombstones(200, 100, Deleted),
    ?assertEqual(1, ring_replica:count(ring_replica:drop(<<"k">>, Context, Deleted))),
    Dropped = ring_replica:drop(<<"k">>, Final, Deleted),
    ?assertEqual(0, ring_replica:count(Dropped)),
    ?assertEqual([], ring_replica:rows(Dropped)),
    % Its dots are not given out again.
    {{?ACTOR, 3}, _, _} = ring_replica:write(<<"k">>, {value, 2}, [], 300, Dropped).

%% It begins to age when it is first asked for.
a_tombstone_that_was_moved_ages_anew_test() ->
    {_, Tombstone, _} = ring_replica:write(<<"k">>, none, [], 0, ring_replica:new(?ACTOR)),
    {grown, _, Moved} = ring_replica:store(
        <<"k">>, Tombstone, unknown, ring_replica:new({1, {1, 1}})
    ),
    {[], Timed} = ring_replica:tombstones(1000, 100, Moved),
    {[_], _} = ring_replica:tombstones(1100, 100, Timed).

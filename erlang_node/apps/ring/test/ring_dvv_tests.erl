-module(ring_dvv_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(A, {1, {1, 1}}).
-define(B, {2, {1, 1}}).

a_write_replaces_what_its_context_covers_test() ->
    One = ring_dvv:write({?A, 1}, {value, a}, [], ring_dvv:new()),
    Two = ring_dvv:write({?A, 2}, {value, b}, [], One),
    ?assertEqual([a, b], ring_dvv:values(Two)),
    Three = ring_dvv:write({?A, 3}, {value, c}, ring_dvv:context(One), Two),
    ?assertEqual([b, c], ring_dvv:values(Three)),
    Deleted = ring_dvv:write({?A, 4}, none, ring_dvv:context(Three), Three),
    ?assert(ring_dvv:is_tombstone(Deleted)),
    ?assertEqual(Deleted, ring_dvv:merge(Two, Deleted)).

concurrent_writes_stay_test() ->
    First = ring_dvv:write({?A, 1}, {value, a}, [], ring_dvv:new()),
    Left = ring_dvv:write({?A, 2}, {value, left}, ring_dvv:context(First), First),
    Right = ring_dvv:write({?B, 7}, {value, right}, ring_dvv:context(First), First),
    ?assertEqual([left, right], ring_dvv:values(ring_dvv:merge(Left, Right))).

%% Replicas that write and exchange their sets in any order.
replicas_test_() ->
    {timeout, 600,
        ?_assert(proper:quickcheck(prop_replicas(), [{to_file, user}, {numtests, 500}]))}.

prop_replicas() ->
    ?FORALL(
        Steps,
        list({replica(), {oneof([write, delete, take]), replica()}}),
        begin
            Empty = maps:from_list([{I, ring_dvv:new()} || I <- [1, 2, 3]]),
            {Sets, Writes, _} = lists:foldl(fun step/2, {Empty, [], 1}, Steps),
            [A, B, C] = maps:values(Sets),
            All = ring_dvv:merge(A, ring_dvv:merge(B, C)),
            % A value is there unless a write has replaced it.
            Alive = [
                Dot
             || {Dot, true, _} <- Writes,
                not lists:any(
                    fun({D, _, Context}) -> D =/= Dot andalso ring_dvv:is_covered(Dot, Context) end,
                    Writes
                )
            ],
            Context = ring_dvv:context(All),
            Covered = [D || {D, _, _} <- Writes, ring_dvv:is_covered(D, Context)],
            conjunction([
                {associative, All =:= ring_dvv:merge(ring_dvv:merge(A, B), C)},
                {commutative, ring_dvv:merge(A, B) =:= ring_dvv:merge(B, A)},
                {idempotent, ring_dvv:merge(All, A) =:= All},
                {alive, ring_dvv:dots(All) =:= lists:sort(Alive)},
                {covered, length(Covered) =:= length(Writes)},
                {digests,
                    (ring_dvv:digest(<<"k">>, A) =:= ring_dvv:digest(<<"k">>, B)) =:= (A =:= B)}
            ])
        end
    ).

replica() ->
    integer(1, 3).

%% A client writes at replica I with the context that it has read at J, and I takes the set of J.
step({I, {take, J}}, {Sets, Writes, N}) ->
    #{I := Mine, J := Theirs} = Sets,
    {Sets#{I := ring_dvv:merge(Mine, Theirs)}, Writes, N};
step({I, {Kind, J}}, {Sets, Writes, N}) ->
    #{I := Mine, J := Theirs} = Sets,
    Dot = {{I, {1, 1}}, N},
    Context = ring_dvv:context(Theirs),
    Value =
        case Kind of
            write -> {value, N};
            delete -> none
        end,
    Written = ring_dvv:write(Dot, Value, Context, Mine),
    {Sets#{I := Written}, [{Dot, Kind =:= write, Context} | Writes], N + 1}.

%%% @doc Which member owns which partition: a fold of joins.
%%%
%%% Members are the ordinals `0..Members - 1', in the order in which they joined. The ring of
%%% `Replication' members is `0, 1, 2, 0, 1, 2 ...'; that of `n' members is that of `n - 1' and one
%%% join. So a ring is a function of three numbers: nodes that know them agree, and a cluster that
%%% grows and shrinks again has the ring it had before.
%%%
%%% == A join ==
%%% The new member takes `Partitions div n' partitions, one after the other, each from the members
%%% that own the most at that moment: of theirs the one nearest to the next of `Partitions div n'
%%% evenly spaced points. Partitions within `Replication - 1' of one already taken are left out, so
%%% no member occurs twice in a preference list: `Replication' partitions in a row always have
%%% different owners. Members that were there before gain nothing, so a join moves exactly what the
%%% new member must own, and of two rings only those partitions differ that a later member owns.
%%%
%%% Claim algorithms that start from the present owners (Riak's) need not restore a ring, and
%%% rendezvous or bounded-load hashing give neither the spacing nor the exact minimum.
-module(ring_claim).

-export([check/3]).
-export([owners/3]).
-export([join/3]).
-export([moves/2]).

-type ordinal() :: non_neg_integer().
%% The owner of each partition; partition `I' is element `I + 1'.
-type owners() :: tuple().

-export_type([ordinal/0, owners/0]).

%% Attempts with evenly spaced points, each begun one partition further.
-define(STARTS, 16).

%% @doc Whether there is a ring of these numbers; the error names the number and its range.
-spec check(Partitions :: integer(), Replication :: integer(), Members :: integer()) ->
    ok | {error, Description :: string()}.
check(_Partitions, Replication, _Members) when Replication < 1 ->
    {error, description("replication: ~b is less than 1", [Replication])};
check(Partitions, Replication, _Members) when
    Partitions < Replication; Partitions rem Replication =/= 0
->
    {error,
        description("partitions: ~b is not a multiple of replication, ~b", [
            Partitions, Replication
        ])};
check(_Partitions, Replication, Members) when Members < Replication ->
    {error,
        description("members: ~b is less than replication, ~b", [Members, Replication])};
check(Partitions, _Replication, Members) when Members > Partitions ->
    {error, description("members: ~b is more than partitions, ~b", [Members, Partitions])};
check(_Partitions, _Replication, _Members) ->
    ok.

%% @doc The ring of that many members. The numbers must pass `check/3'.
-spec owners(pos_integer(), pos_integer(), pos_integer()) -> owners().
owners(Partitions, Replication, Members) ->
    First = list_to_tuple([I rem Replication || I <- lists:seq(0, Partitions - 1)]),
    {Owners, _} = lists:foldl(
        fun(Member, {Acc, Loads}) -> join(Member, Replication, Acc, Loads) end,
        {First, loads(First)},
        lists:seq(Replication, Members - 1)
    ),
    Owners.

%% @doc The partitions of which the owner differs, in order.
-spec moves(From :: owners(), To :: owners()) -> [{Partition :: non_neg_integer(), ordinal()}].
moves(From, To) ->
    [
        {I - 1, element(I, To)}
     || I <- lists:seq(1, tuple_size(To)), element(I, From) =/= element(I, To)
    ].

%% @doc The ring after the next member has joined: the members so far are `0..Member - 1'.
-spec join(Member :: ordinal(), Replication :: pos_integer(), owners()) -> owners().
join(Member, Replication, Owners) ->
    {Joined, _} = join(Member, Replication, Owners, loads(Owners)),
    Joined.

%% Internals.

%% With the loads of the members, before and after.
join(Member, Replication, Owners, Loads) ->
    Size = tuple_size(Owners),
    Count = Size div (Member + 1),
    % The first attempt succeeds unless there are few members, or very few partitions for each.
    Even = [fun(I) -> Start + I * Size div Count end || Start <- starts(Size)],
    Close = [fun(I) -> I * Pitch end || Pitch <- lists:seq(Size div Count, Replication, -1)],
    {Taken, Left} = first(Even ++ Close, lists:seq(0, Count - 1), Replication, Loads, Owners),
    % One copy of the ring for each join, not for each partition taken.
    Joined = list_to_tuple(given(Member, 0, lists:sort(Taken), tuple_to_list(Owners))),
    {Joined, Left#{Member => Count}}.

given(Member, I, [I | Taken], [_ | Owners]) ->
    [Member | given(Member, I + 1, Taken, Owners)];
given(Member, I, [_ | _] = Taken, [Owner | Owners]) ->
    [Owner | given(Member, I + 1, Taken, Owners)];
given(_Member, _I, [], Owners) ->
    Owners.

starts(Size) ->
    lists:seq(0, min(Size, ?STARTS) - 1).

%% Fails for numbers without a ring, of which none are known that pass `check/3'.
first([Point | Others], Numbers, Replication, Loads, Owners) ->
    Points = [Point(I) || I <- Numbers],
    case take(Points, Replication, Loads, #{}, Owners) of
        {ok, Taken, Left} -> {Taken, Left};
        error -> first(Others, Numbers, Replication, Loads, Owners)
    end.

take([Point | Points], Replication, Loads, Near, Owners) ->
    Size = tuple_size(Owners),
    Most = lists:max(maps:values(Loads)),
    case nearest(Point, 0, Most, Loads, Near, Owners) of
        {ok, Found} ->
            Fewer = Loads#{element(Found + 1, Owners) := Most - 1},
            Nearer = near(Found, Replication, Size, Near),
            case take(Points, Replication, Fewer, Nearer, Owners) of
                {ok, Taken, Left} -> {ok, [Found | Taken], Left};
                error -> error
            end;
        error ->
            error
    end;
take([], _Replication, Loads, _Near, _Owners) ->
    {ok, [], Loads}.

nearest(Ideal, Distance, Most, Loads, Near, Owners) when 2 * Distance =< tuple_size(Owners) ->
    Size = tuple_size(Owners),
    Candidates = [(Ideal + Distance) rem Size, (Ideal - Distance + Size) rem Size],
    case [I || I <- Candidates, is_free(I, Most, Loads, Near, Owners)] of
        [Found | _] -> {ok, Found};
        [] -> nearest(Ideal, Distance + 1, Most, Loads, Near, Owners)
    end;
nearest(_Ideal, _Distance, _Most, _Loads, _Near, _Owners) ->
    error.

is_free(I, Most, Loads, Near, Owners) ->
    map_get(element(I + 1, Owners), Loads) =:= Most andalso not is_map_key(I, Near).

near(Partition, Replication, Size, Near) ->
    Distances = lists:seq(1 - Replication, Replication - 1),
    lists:foldl(fun(D, Acc) -> Acc#{(Partition + D + Size) rem Size => true} end, Near, Distances).

loads(Owners) ->
    lists:foldl(
        fun(Owner, Acc) -> Acc#{Owner => maps:get(Owner, Acc, 0) + 1} end,
        #{},
        tuple_to_list(Owners)
    ).

description(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).

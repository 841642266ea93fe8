%%% @doc One round of anti-entropy for a partition: makes its replicas equal, and drops tombstones
%%% that all of them have.
%%%
%%% The sums of the rows come from all replicas, then those of the buckets of rows that differ
%%% ({@link ring_hashes}), then the contents of buckets that differ, a few buckets at a time, so
%%% that an answer is a small part of the partition; what one lacks is stored there.
%%% If the rows are equal, all are asked for tombstones that have not changed for a while; those
%%% that all have are dropped. The round ends if a replica does not serve: tombstones must be agreed
%%% on by all.
-module(ring_repair).

-export([new/3]).
-export([handle/2]).

-type index() :: ring_state:index().

-type event() ::
    {answer, repair, index(), ring_seat:answer()}
    | {unreachable, repair, index()}
    | {lost, ring_state:member()}
    | deadline.
-type effect() ::
    {command, repair, index(), ring_state:member(), ring_view:partition(),
        ring_kvs_vnode:command()}
    | {start_timer, deadline, Milliseconds :: pos_integer()}
    | {dropped, [{ring_replica:key(), ring_dvv:context()}]}
    | {done, ok}.

-export_type([event/0, effect/0]).

-record(repair, {
    partition :: ring_view:partition(),
    addresses :: #{index() => ring_state:member()},
    % Milliseconds for which a tombstone must not have changed.
    grace :: non_neg_integer(),
    phase = rows :: rows | sums | contents | tombstones,
    % Buckets that differ, and whose contents have not been asked for.
    left = [] :: [ring_hashes:bucket()],
    known = ring_known:new() :: ring_known:t(),
    answers = #{} :: #{index() => {ring_state:incarnation(), term()}}
}).

-opaque t() :: #repair{}.

-export_type([t/0]).

%% Milliseconds that a round takes at most.
-define(LONGEST_MS, 20000).
%% Buckets whose contents are asked for at a time, of 1,024.
-define(BUCKETS, 32).

%% @doc Begins a round. It ends long before the grace of a tombstone, so that it does not store an
%% older copy after the tombstone has gone.
-spec new(ring_view:partition(), ring_view:t(), Grace :: non_neg_integer()) -> {t(), [effect()]}.
new(Partition, View, Grace) ->
    Addresses = maps:from_list(ring_view:preference(Partition, View)),
    Repair = #repair{partition = Partition, addresses = Addresses, grace = Grace},
    {Asking, Ask} = ask(rows, Repair),
    {Asking, [{start_timer, deadline, max(1, min(Grace div 3, ?LONGEST_MS))} | Ask]}.

%% @doc Takes an answer.
-spec handle(event(), t()) -> {t(), [effect()]}.
handle({answer, repair, Index, Vote}, #repair{phase = Phase} = Repair) when
    element(1, Vote) =:= vote, element(1, element(5, Vote)) =:= Phase
->
    {vote, Index, Incarnation, Known, {Phase, Answer}} = Vote,
    #repair{answers = Answers, addresses = Addresses, known = Before} = Repair,
    Next = Repair#repair{
        answers = Answers#{Index => {Incarnation, Answer}},
        known = ring_known:merge(Known, Before)
    },
    case map_size(Next#repair.answers) =:= map_size(Addresses) of
        true -> complete(Phase, Next);
        false -> {Next, []}
    end;
handle({answer, repair, _Index, {vote, _, _, _, _}}, Repair) ->
    {Repair, []};
handle({lost, Node}, #repair{addresses = Addresses} = Repair) ->
    {Repair, [{done, ok} || lists:member(Node, maps:values(Addresses))]};
handle(_NotHere, Repair) ->
    {Repair, [{done, ok}]}.

%% Internals.

complete(Phase, #repair{answers = Answers, known = Known} = Repair) ->
    Valid = lists:all(
        fun({Index, {Incarnation, _}}) -> not ring_known:is_over(Index, Incarnation, Known) end,
        maps:to_list(Answers)
    ),
    case Valid of
        true ->
            Sorted = [{I, Answer} || {I, {_, Answer}} <- lists:sort(maps:to_list(Answers))],
            next(Phase, Sorted, Repair#repair{answers = #{}});
        false ->
            {Repair, [{done, ok}]}
    end.

next(rows, Answers, #repair{grace = Grace} = Repair) ->
    case differing(Answers) of
        [] -> ask({tombstones, Grace}, Repair#repair{phase = tombstones});
        Rows -> ask({sums, Rows}, Repair#repair{phase = sums})
    end;
next(sums, Answers, Repair) ->
    case differing(Answers) of
        [] -> {Repair, [{done, ok}]};
        Buckets -> contents(Repair#repair{phase = contents, left = Buckets})
    end;
next(contents, Answers, #repair{addresses = Addresses, partition = P} = Repair) ->
    Merged = lists:foldl(fun({_, Items}, Acc) -> merge(Items, Acc) end, #{}, Answers),
    Stores = [
        {command, repair, I, map_get(I, Addresses), P, {store_all, Lacking}}
     || {I, Items} <- Answers,
        Lacking <- [lists:sort(maps:to_list(Merged)) -- Items],
        Lacking =/= []
    ],
    {Next, More} = contents(Repair),
    {Next, Stores ++ More};
next(tombstones, [{_, First} | Others], #repair{addresses = Addresses, partition = P} = Repair) ->
    Common = [T || T <- First, lists:all(fun({_, List}) -> lists:member(T, List) end, Others)],
    Drops = [
        {command, repair, I, Node, P, {drop, Common}}
     || Common =/= [], {I, Node} <- lists:sort(maps:to_list(Addresses))
    ],
    {Repair, Drops ++ [{dropped, Common} || Common =/= []] ++ [{done, ok}]}.

contents(#repair{left = []} = Repair) ->
    {Repair, [{done, ok}]};
contents(#repair{left = Left} = Repair) ->
    {Buckets, Later} = lists:split(min(?BUCKETS, length(Left)), Left),
    ask({contents, Buckets}, Repair#repair{left = Later}).

merge(Items, Merged) ->
    lists:foldl(
        fun({Key, Set}, Acc) ->
            Acc#{Key => ring_dvv:merge(Set, maps:get(Key, Acc, ring_dvv:new()))}
        end,
        Merged,
        Items
    ).

differing([{_, First} | Others]) ->
    lists:usort(lists:append([ring_hashes:differing(First, Sums) || {_, Sums} <- Others])).

ask(Command, #repair{addresses = Addresses, partition = P} = Repair) ->
    {Repair, [
        {command, repair, Index, Node, P, Command}
     || {Index, Node} <- lists:sort(maps:to_list(Addresses))
    ]}.

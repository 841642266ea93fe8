%%% @doc One replica of one partition: the keys that an index holds of it.
%%%
%%% ```
%%% buckets   517 -> #{<<"key">> => Set}       by bucket of {@link ring_hashes}
%%% dead      <<"key">> -> 81250               tombstones, by the time of their last change in ms
%%% counter   3                                of the dots given out by this incarnation
%%% '''
%%%
%%% Stored sets are joined ({@link ring_dvv}), so the same set may arrive any number of times.
%%%
%%% == Tombstones ==
%%% A deleted key leaves a tombstone, without which an old copy would bring the key back. It goes
%%% once all replicas have the same one (`drop/3'; {@link ring_repair}) and have had it for so long
%%% that no older copy is under way: only this rests on time.
-module(ring_replica).

-export([new/1]).
-export([get/2]).
-export([write/5]).
-export([store/4]).
-export([items/1]).
-export([count/1]).
-export([rows/1]).
-export([sums/2]).
-export([contents/2]).
-export([tombstones/3]).
-export([drop/3]).

-type key() :: binary().
-type milliseconds() :: integer().
-type item() :: {key(), ring_dvv:t()}.

-record(replica, {
    actor :: ring_dvv:actor(),
    counter = 0 :: non_neg_integer(),
    buckets = #{} :: #{ring_hashes:bucket() => #{key() => ring_dvv:t()}},
    hashes = ring_hashes:new() :: ring_hashes:t(),
    dead = #{} :: #{key() => milliseconds() | unknown}
}).

-opaque t() :: #replica{}.

-export_type([t/0, key/0, item/0]).

%% @doc A replica without keys. The actor must never have existed before.
-spec new(ring_dvv:actor()) -> t().
new(Actor) ->
    #replica{actor = Actor}.

%% @doc The set of a key.
-spec get(key(), t()) -> ring_dvv:t().
get(Key, #replica{buckets = Buckets}) ->
    case Buckets of
        #{} when map_size(Buckets) =:= 0 -> ring_dvv:new();
        #{} -> maps:get(Key, maps:get(ring_hashes:bucket(Key), Buckets, #{}), ring_dvv:new())
    end.

%% @doc Executes a write of a client, with a new dot.
-spec write(
    key(), {value, ring_dvv:value()} | none, ring_dvv:context(), Now :: milliseconds(), t()
) ->
    {ring_dvv:dot(), ring_dvv:t(), t()}.
write(Key, Value, Context, Now, #replica{actor = Actor, counter = Last} = Replica) ->
    Dot = {Actor, Last + 1},
    Set = ring_dvv:write(Dot, Value, Context, get(Key, Replica)),
    {Dot, Set, replace(Key, Set, Now, Replica#replica{counter = Last + 1})}.

%% @doc Joins a set to that of the key.
-spec store(key(), ring_dvv:t(), Now :: milliseconds() | unknown, t()) ->
    known | {grown, ring_dvv:t(), t()}.
store(Key, Set, Now, Replica) ->
    Known = get(Key, Replica),
    case ring_dvv:merge(Known, Set) of
        Known -> known;
        Joined -> {grown, Joined, replace(Key, Joined, Now, Replica)}
    end.

%% @doc All keys and sets, by bucket and key.
-spec items(t()) -> [item()].
items(#replica{buckets = Buckets} = Replica) ->
    contents(lists:sort(maps:keys(Buckets)), Replica).

%% @doc The number of keys, tombstones included.
-spec count(t()) -> non_neg_integer().
count(#replica{buckets = Buckets}) ->
    maps:fold(fun(_, Items, Sum) -> Sum + map_size(Items) end, 0, Buckets).

%% @doc The sums of all rows.
-spec rows(t()) -> ring_hashes:sums(ring_hashes:row()).
rows(#replica{hashes = Hashes}) ->
    ring_hashes:rows(Hashes).

%% @doc The sums of the buckets of these rows.
-spec sums([ring_hashes:row()], t()) -> ring_hashes:sums(ring_hashes:bucket()).
sums(Rows, #replica{hashes = Hashes}) ->
    ring_hashes:buckets(Rows, Hashes).

%% @doc The keys and sets of these buckets.
-spec contents([ring_hashes:bucket()], t()) -> [item()].
contents(Numbers, #replica{buckets = Buckets}) ->
    lists:append([lists:sort(maps:to_list(maps:get(B, Buckets, #{}))) || B <- Numbers]).

%% @doc The tombstones unchanged for that long, with their contexts. Those that came with other data
%% begin to age now.
-spec tombstones(Now :: milliseconds(), Age :: milliseconds(), t()) ->
    {[{key(), ring_dvv:context()}], t()}.
tombstones(Now, Age, #replica{dead = Dead} = Replica) ->
    Timed = maps:map(
        fun
            (_, unknown) -> Now;
            (_, At) -> At
        end,
        Dead
    ),
    Old = [
        {Key, ring_dvv:context(get(Key, Replica))}
     || {Key, At} <- lists:sort(maps:to_list(Timed)), Now - At >= Age
    ],
    {Old, Replica#replica{dead = Timed}}.

%% @doc Removes a tombstone with exactly that context.
-spec drop(key(), ring_dvv:context(), t()) -> t().
drop(Key, Context, #replica{dead = Dead} = Replica) ->
    Set = get(Key, Replica),
    case is_map_key(Key, Dead) andalso ring_dvv:context(Set) of
        Context -> remove(Key, Set, Replica);
        _ -> Replica
    end.

%% Internals.

replace(Key, Set, Now, #replica{buckets = Buckets, hashes = Hashes, dead = Dead} = Replica) ->
    Bucket = ring_hashes:bucket(Key),
    Items = maps:get(Bucket, Buckets, #{}),
    Previous = digest(Key, maps:get(Key, Items, ring_dvv:new())),
    Replica#replica{
        buckets = Buckets#{Bucket => Items#{Key => Set}},
        hashes = ring_hashes:replace(Bucket, Previous, digest(Key, Set), Hashes),
        dead =
            case ring_dvv:is_tombstone(Set) of
                true -> Dead#{Key => Now};
                false -> maps:remove(Key, Dead)
            end
    }.

remove(Key, Set, #replica{buckets = Buckets, hashes = Hashes, dead = Dead} = Replica) ->
    Bucket = ring_hashes:bucket(Key),
    Left = maps:remove(Key, maps:get(Bucket, Buckets)),
    Replica#replica{
        buckets =
            case map_size(Left) of
                0 -> maps:remove(Bucket, Buckets);
                _ -> Buckets#{Bucket := Left}
            end,
        hashes = ring_hashes:replace(Bucket, digest(Key, Set), 0, Hashes),
        dead = maps:remove(Key, Dead)
    }.

digest(Key, Set) ->
    case ring_dvv:is_new(Set) of
        true -> 0;
        false -> ring_dvv:digest(Key, Set)
    end.

%%% @doc Sums by which two replicas find the keys that differ: 32 rows of 32 buckets.
%%%
%%% Every key belongs to a bucket, by its hash. A bucket's sum is that of the digests of its keys,
%%% a row's sum that of its buckets, all modulo 2^64. A write subtracts the previous digest of its
%%% key and adds the new one: the sums are never rebuilt. Two replicas compare 32 rows, then the
%%% buckets of the rows that differ, and then exchange only the keys of the buckets that differ.
%%% Buckets without keys have no entry, so that a thousand small replicas stay small.
-module(ring_hashes).

-export([new/0]).
-export([bucket/1]).
-export([replace/4]).
-export([rows/1]).
-export([buckets/2]).
-export([differing/2]).

-type sum() :: non_neg_integer().
-type row() :: 0..31.
-type bucket() :: 0..1023.
%% By number, those that are not zero, in order.
-type sums(Number) :: [{Number, sum()}].
-opaque t() :: {#{row() => sum()}, #{bucket() => sum()}}.

-export_type([t/0, sum/0, row/0, bucket/0, sums/1]).

-define(MODULUS, 16#10000000000000000).

%% @doc The sums of no keys.
-spec new() -> t().
new() ->
    {#{}, #{}}.

%% @doc The bucket of a key.
-spec bucket(Key :: binary()) -> bucket().
bucket(Key) ->
    erlang:phash2(Key, 1024).

%% @doc Replaces the digest of a key in its bucket; zero is that of an absent key.
-spec replace(bucket(), Previous :: sum(), Next :: sum(), t()) -> t().
replace(Bucket, Previous, Next, {Rows, Buckets}) ->
    Change = Next - Previous,
    {add(Bucket div 32, Change, Rows), add(Bucket, Change, Buckets)}.

%% @doc The sums of the rows.
-spec rows(t()) -> sums(row()).
rows({Rows, _}) ->
    lists:sort(maps:to_list(Rows)).

%% @doc The sums of the buckets of these rows.
-spec buckets([row()], t()) -> sums(bucket()).
buckets(Numbers, {_, Buckets}) ->
    [
        {Bucket, maps:get(Bucket, Buckets)}
     || Row <- lists:usort(Numbers),
        Bucket <- lists:seq(32 * Row, 32 * Row + 31),
        is_map_key(Bucket, Buckets)
    ].

%% @doc The numbers whose sums differ.
-spec differing(sums(Number), sums(Number)) -> [Number].
differing(A, B) ->
    lists:usort([Number || {Number, _} <- (A -- B) ++ (B -- A)]).

%% Internals.

add(Number, Change, Sums) ->
    case (maps:get(Number, Sums, 0) + Change + ?MODULUS) rem ?MODULUS of
        0 -> maps:remove(Number, Sums);
        Sum -> Sums#{Number => Sum}
    end.

%%% @doc Durations in nanoseconds, counted in buckets whose width is a thirty-second of their value.
%%%
%%% Many processes may write to one histogram at once; a percentile is at most 3 % off.
-module(bench_histogram).

-export([new/0]).
-export([add/2]).
-export([percentile/2]).
-export([counts/1]).
-export([percentile_of/2]).

%% Buckets per power of two, and its logarithm.
-define(SUB, 32).
-define(SUB_BITS, 5).
-define(SLOTS, 60 * ?SUB).

-opaque t() :: counters:counters_ref().
-export_type([t/0]).

%% @doc An empty histogram.
-spec new() -> t().
new() ->
    counters:new(?SLOTS, [write_concurrency]).

%% @doc Counts a value.
-spec add(t(), Nanoseconds :: integer()) -> ok.
add(Histogram, Nanoseconds) ->
    counters:add(Histogram, slot(max(1, Nanoseconds)), 1).

%% @doc A quantile in milliseconds, for example of 0.99; `null' of an empty histogram.
-spec percentile(t(), Share :: float()) -> float() | null.
percentile(Histogram, Share) ->
    percentile_of(counts(Histogram), Share).

%% @doc The count of each bucket, to be added to those of other histograms.
-spec counts(t()) -> [non_neg_integer()].
counts(Histogram) ->
    [counters:get(Histogram, Slot) || Slot <- lists:seq(1, ?SLOTS)].

%% @doc As `percentile/2', of sums of counts.
-spec percentile_of([non_neg_integer()], Share :: float()) -> float() | null.
percentile_of(Counts, Share) ->
    case lists:sum(Counts) of
        0 -> null;
        Total -> upper(slot_of_rank(ceil(Share * Total), Counts, 1)) / 1.0e6
    end.

%% Internals.

slot(Value) when Value < ?SUB ->
    Value + 1;
slot(Value) ->
    Power = power(Value, 0),
    Sub = (Value bsr (Power - ?SUB_BITS)) band (?SUB - 1),
    (Power - ?SUB_BITS + 1) * ?SUB + Sub + 1.

upper(Slot) when Slot =< ?SUB ->
    Slot - 1;
upper(Slot) ->
    Power = (Slot - 1) div ?SUB + ?SUB_BITS - 1,
    Sub = (Slot - 1) rem ?SUB,
    ((?SUB + Sub + 1) bsl (Power - ?SUB_BITS)) - 1.

power(Value, Bits) when Value >= 1 bsl 16 -> power(Value bsr 16, Bits + 16);
power(Value, Bits) when Value >= 1 bsl 4 -> power(Value bsr 4, Bits + 4);
power(Value, Bits) when Value >= 2 -> power(Value bsr 1, Bits + 1);
power(_, Bits) -> Bits.

slot_of_rank(Rank, [Count | _], Slot) when Count >= Rank -> Slot;
slot_of_rank(Rank, [Count | Counts], Slot) -> slot_of_rank(Rank - Count, Counts, Slot + 1).

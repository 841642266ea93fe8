%%% @doc The counters of an ad counter run: the count of each ad by each actor.
%%%
%%% ```
%%% 0 -> #{{<<"ads-0">>, 17} => 20, ...}       a grow-only counter for each ad
%%% '''
%%%
%%% An actor is one incarnation of one node.
-module(adcounter_counters).

-export([entry/3]).
-export([values/1]).
-export([count/2]).
-export([count/3]).
-export([fold/3]).
-export([filter/2]).
-export([to_parts/1]).
-export([digest/1]).
-export([hash/1]).

-type ad() :: non_neg_integer().
-type actor() :: {partisan_peer:name(), partisan_peer:incarnation()}.
-type t() :: lasp_gmap:t(lasp_gcounter:t()).

-export_type([t/0, ad/0, actor/0]).

%% @doc Sets an actor's count of an ad.
-spec entry(ad(), actor(), non_neg_integer()) -> t().
entry(Ad, Actor, Count) ->
    lasp_gmap:entry(lasp_gcounter, Ad, lasp_gcounter:entry(Actor, Count)).

%% @doc The count of each ad, over all actors.
-spec values(t()) -> #{ad() => non_neg_integer()}.
values(Counters) ->
    lasp_gmap:fold(
        fun(Ad, Counter, Values) -> Values#{Ad => lasp_gcounter:value(Counter)} end, #{}, Counters
    ).

%% @doc The increments of an actor, over all ads.
-spec count(actor(), t()) -> non_neg_integer().
count(Actor, Counters) ->
    lasp_gmap:fold(
        fun(_Ad, Counter, Sum) -> Sum + lasp_gcounter:count(Actor, Counter) end, 0, Counters
    ).

%% @doc The increments of an ad by an actor.
-spec count(ad(), actor(), t()) -> non_neg_integer().
count(Ad, Actor, Counters) ->
    lasp_gcounter:count(Actor, lasp_gmap:get(lasp_gcounter, Ad, Counters)).

%% @doc Fold over all entries, in no order.
-spec fold(fun((ad(), actor(), pos_integer(), Acc) -> Acc), Acc, t()) -> Acc.
fold(Fun, Acc, Counters) ->
    lasp_gmap:fold(
        fun(Ad, Counter, Acc0) ->
            lasp_gcounter:fold(
                fun(Actor, Count, Acc1) -> Fun(Ad, Actor, Count, Acc1) end, Acc0, Counter
            )
        end,
        Acc,
        Counters
    ).

%% @doc The entries of these actors alone.
-spec filter(fun((actor()) -> boolean()), t()) -> t().
filter(Keeps, Counters) ->
    fold(
        fun(Ad, Actor, Count, Kept) ->
            case Keeps(Actor) of
                true -> lasp_gmap:merge(lasp_gcounter, entry(Ad, Actor, Count), Kept);
                false -> Kept
            end
        end,
        lasp_gmap:new(),
        Counters
    ).

%% @doc The parts, in no particular order. The actor leads the path, so that an actor is encoded
%% once for all its ads.
-spec to_parts(t()) -> [lasp_parts:part()].
to_parts(Counters) ->
    fold(
        fun(Ad, {Name, Incarnation}, Count, Parts) ->
            [{[Name, Incarnation, Ad], [Count]} | Parts]
        end,
        [],
        Counters
    ).

%% @doc The sum of the digests of the entries, computed without sorting them (Bellare, Micciancio,
%% "A new paradigm for collision-free hashing", 1997, section 4: AdHash).
-spec digest(t()) -> non_neg_integer().
digest(Counters) ->
    fold(
        fun(Ad, {Name, Incarnation}, Count, Sum) ->
            Sum + hash(<<Ad:32, Incarnation:128, Count:128, Name/binary>>)
        end,
        0,
        Counters
    ).

%% @doc The digest of an entry.
-spec hash(binary()) -> non_neg_integer().
hash(Entry) ->
    <<Hash:128>> = erlang:md5(Entry),
    Hash.

%%% @doc A grow-only counter: a count for each actor.
%%%
%%% ```
%%% #{<<"ads-0/17">> => 20, <<"ads-3/18">> => 7}      value 27
%%% '''
%%%
%%% Merging takes the larger count of each actor. An actor's count is a sequence that only it
%%% extends, so the larger count includes the smaller. An actor must therefore never restart with
%%% a lower count than it has published; the caller that names the actors ensures that.
%%%
%%% Source: Shapiro et al., "A comprehensive study of convergent and commutative replicated data
%%% types" (2011), specification 6, with a map in place of the vector.
-module(lasp_gcounter).
-behaviour(lasp_lattice).

-export([new/0]).
-export([entry/2]).
-export([increment/2]).
-export([value/1]).
-export([count/2]).
-export([entries/1]).
-export([fold/3]).
-export([merge/2]).
-export([difference/2]).
-export([to_parts/1]).
-export([size/1]).
-export([key/1]).
-export([path/1]).
-export([leaf/2]).
-export([join/3]).

%% A binary if the counter is a value of its own, since it is decoded as one; types that contain
%% counters may use any term.
-type actor() :: term().
%% Zero counts are left out, so that equal counters are equal terms.
-opaque t() :: #{actor() => pos_integer()}.

-export_type([t/0, actor/0]).

%% @doc The empty counter.
-spec new() -> t().
new() ->
    #{}.

%% @doc A single entry: the delta that brings the actor to `Count'.
-spec entry(actor(), non_neg_integer()) -> t().
entry(_Actor, 0) ->
    #{};
entry(Actor, Count) ->
    #{Actor => Count}.

%% @doc Increments the actor's count.
-spec increment(actor(), t()) -> t().
increment(Actor, Counter) ->
    maps:update_with(Actor, fun(Count) -> Count + 1 end, 1, Counter).

%% @doc The sum over all actors.
-spec value(t()) -> non_neg_integer().
value(Counter) ->
    maps:fold(fun(_Actor, Count, Sum) -> Sum + Count end, 0, Counter).

%% @doc The count of one actor.
-spec count(actor(), t()) -> non_neg_integer().
count(Actor, Counter) ->
    maps:get(Actor, Counter, 0).

%% @doc All actors with their counts, ordered by name.
-spec entries(t()) -> [{actor(), pos_integer()}].
entries(Counter) ->
    lists:sort(maps:to_list(Counter)).

%% @doc Folds over actors and counts, in no particular order.
-spec fold(fun((actor(), pos_integer(), Acc) -> Acc), Acc, t()) -> Acc.
fold(Fun, Acc, Counter) ->
    maps:fold(Fun, Acc, Counter).

%% @doc The larger count of each actor.
-spec merge(t(), t()) -> t().
merge(A, B) ->
    maps:merge_with(fun(_Actor, CountA, CountB) -> max(CountA, CountB) end, A, B).

%% @doc The entries higher than those known.
-spec difference(t(), Known :: t()) -> t().
difference(Counter, Known) ->
    maps:filter(fun(Actor, Count) -> Count > count(Actor, Known) end, Counter).

%% @private
-spec to_parts(t()) -> [lasp_parts:part()].
to_parts(Counter) ->
    [{[Actor], [Count]} || {Actor, Count} <- entries(Counter)].

%% @private
-spec size(t()) -> non_neg_integer().
size(Counter) ->
    map_size(Counter).

%% @private
-spec key(lasp_parts:path()) -> {ok, actor()} | error.
key([Actor]) when is_binary(Actor) -> {ok, Actor};
key(_) -> error.

%% @private
-spec path(actor()) -> lasp_parts:path().
path(Actor) -> [Actor].

%% @private
-spec leaf(actor(), t()) -> lasp_parts:leaf() | none.
leaf(Actor, Counter) ->
    case Counter of
        #{Actor := Count} -> [Count];
        #{} -> none
    end.

%% @private
-spec join(actor(), lasp_parts:leaf(), t()) -> known | {grown, t()} | malformed.
join(Actor, [Count], Counter) when Count > 0 ->
    case Counter of
        #{Actor := Known} when Known >= Count -> known;
        #{} -> {grown, Counter#{Actor => Count}}
    end;
join(_Actor, _Leaf, _Counter) ->
    malformed.

%%% @doc The knowledge of replicas about the incarnations of one another, which travels with their
%%% messages.
%%%
%%% ```
%%% began    8 -> {7, 90}            of each index, the last one that began without all data of the
%%% one
%%%                                 before
%%% served   8 -> [{7, 90}, {6, 55}] of those that began so, the last two that may have served
%%% granted  8 -> {8, 12}            the last one that may get the data of the one before
%%% born     {7, 8} -> {1, 17}       of each index and partition, the first one that may have served
%%% '''
%%%
%%% An incarnation is over if a later one has *begun*: that one is rebuilt from copies, which may
%%% lack what the previous one acknowledges from then on. It is bypassed if that one may also have
%%% served: then it may lack what the later one has acknowledged. One that hands over is neither:
%%% whatever it has acknowledged, the next one gets.
-module(ring_known).

-export([new/0]).
-export([began/3]).
-export([served/3]).
-export([granted/3]).
-export([born/4]).
-export([is_over/3]).
-export([last_begun/2]).
-export([last/2]).
-export([is_bypassed/4]).
-export([is_refused/3]).
-export([first/3]).
-export([merge/2]).
-export([only/2]).

-type index() :: ring_state:index().
-type incarnation() :: ring_state:incarnation().

-record(known, {
    began = #{} :: #{index() => incarnation()},
    served = #{} :: #{index() => [incarnation(), ...]},
    granted = #{} :: #{index() => incarnation()},
    born = #{} :: #{{ring_view:partition(), index()} => incarnation()}
}).

-opaque t() :: #known{}.

-export_type([t/0]).

%% @doc No knowledge.
-spec new() -> t().
new() ->
    #known{}.

%% @doc An incarnation has begun without the data of the one before.
-spec began(index(), incarnation(), t()) -> t().
began(Index, Incarnation, Known) ->
    merge(#known{began = #{Index => Incarnation}}, Known).

%% @doc An incarnation that began without the data of the one before will serve.
-spec served(index(), incarnation(), t()) -> t().
served(Index, Incarnation, Known) ->
    merge(#known{served = #{Index => [Incarnation]}}, Known).

%% @doc An incarnation may get the data of the one before.
-spec granted(index(), incarnation(), t()) -> t().
granted(Index, Incarnation, Known) ->
    merge(#known{granted = #{Index => Incarnation}}, Known).

%% @doc An incarnation may have acknowledged something for a partition.
-spec born(ring_view:partition(), index(), incarnation(), t()) -> t().
born(Partition, Index, Incarnation, Known) ->
    merge(#known{born = #{{Partition, Index} => Incarnation}}, Known).

%% @doc Whether a later incarnation has begun, which may lack what this one acknowledges.
-spec is_over(index(), incarnation(), t()) -> boolean().
is_over(Index, Incarnation, #known{began = Began}) ->
    maps:get(Index, Began, Incarnation) > Incarnation.

%% @doc The last incarnation that is known to have begun.
-spec last_begun(index(), t()) -> incarnation() | none.
last_begun(Index, #known{began = Began}) ->
    maps:get(Index, Began, none).

%% @doc The last incarnation that is known to have begun, or to have a grant.
-spec last(index(), t()) -> incarnation() | none.
last(Index, #known{granted = Granted} = Known) ->
    case {last_begun(Index, Known), maps:get(Index, Granted, none)} of
        {none, Granted1} -> Granted1;
        {Began, none} -> Began;
        {Began, Granted1} -> max(Began, Granted1)
    end.

%% @doc Whether an incarnation other than the next one has served, which began after this one
%% without all its data.
-spec is_bypassed(index(), incarnation(), Next :: incarnation(), t()) -> boolean().
is_bypassed(Index, Incarnation, Next, #known{served = Served}) ->
    lists:any(fun(I) -> I > Incarnation andalso I =/= Next end, maps:get(Index, Served, [])).

%% @doc Whether an incarnation must not begin any more, because a later one has, or has a grant.
-spec is_refused(index(), incarnation(), t()) -> boolean().
is_refused(Index, Incarnation, Known) ->
    case last(Index, Known) of
        none -> false;
        Last -> Last > Incarnation
    end.

%% @doc The first incarnation that may have acknowledged something, `none' if there is none.
-spec first(ring_view:partition(), index(), t()) -> incarnation() | none.
first(Partition, Index, #known{born = Born}) ->
    maps:get({Partition, Index}, Born, none).

%% @doc Joins the knowledge of two.
-spec merge(t(), t()) -> t().
merge(Known, Known) ->
    Known;
merge(#known{} = A0, #known{} = B0) ->
    #known{began = BeganA, served = ServedA, granted = GrantedA, born = BornA} = A0,
    #known{began = BeganB, served = ServedB, granted = GrantedB, born = BornB} = B0,
    #known{
        began = maps:merge_with(fun(_, A, B) -> max(A, B) end, BeganA, BeganB),
        served = maps:merge_with(fun(_, A, B) -> last_two(A ++ B) end, ServedA, ServedB),
        granted = maps:merge_with(fun(_, A, B) -> max(A, B) end, GrantedA, GrantedB),
        born = maps:merge_with(fun(_, A, B) -> min(A, B) end, BornA, BornB)
    }.

%% @doc The knowledge about these indexes alone.
-spec only([index()], t()) -> t().
only(Indexes, #known{began = Began, served = Served, granted = Granted, born = Born}) ->
    #known{
        began = maps:with(Indexes, Began),
        served = maps:with(Indexes, Served),
        granted = maps:with(Indexes, Granted),
        born = maps:filter(fun({_, Index}, _) -> lists:member(Index, Indexes) end, Born)
    }.

%% Internals.

%% Of those between two incarnations the last one suffices to know that there is one.
last_two(Incarnations) ->
    lists:sublist(lists:reverse(lists:usort(Incarnations)), 2).

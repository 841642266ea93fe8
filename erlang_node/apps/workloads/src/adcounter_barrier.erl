%%% @doc The barrier of an ad counter run: the report of each node.
%%%
%%% ```
%%% <<"ads-0">> -> {17, 1, 20}                 incarnation, done, own increments of each node
%%% '''
%%%
%%% The report of a later incarnation replaces that of an earlier one, so the barrier also
%%% identifies the present incarnation of each node.
-module(adcounter_barrier).

-export([report/4]).
-export([done/1]).
-export([present/2]).
-export([is_superseded/2]).
-export([to_parts/1]).

-type name() :: partisan_peer:name().
-type incarnation() :: partisan_peer:incarnation().
-type t() :: lasp_gmap:t(lasp_max:t()).

-export_type([t/0]).

%% @doc The report of a node: its incarnation, whether it sees every ad disabled, and how often it
%% has counted.
-spec report(name(), incarnation(), boolean(), non_neg_integer()) -> t().
report(Name, Incarnation, Done, Increments) ->
    lasp_gmap:entry(lasp_max, Name, lasp_max:new({Incarnation, flag(Done), Increments})).

%% @doc The nodes whose present incarnation sees every ad disabled, in order.
-spec done(t()) -> [name()].
done(Barrier) ->
    lists:sort(
        lasp_gmap:fold(
            fun(Name, Register, Names) -> [Name || is_done(Register)] ++ Names end, [], Barrier
        )
    ).

%% @doc The latest known incarnation of a node, -1 if none.
-spec present(name(), t()) -> incarnation() | -1.
present(Name, Barrier) ->
    case lasp_max:value(lasp_gmap:get(lasp_max, Name, Barrier)) of
        {Incarnation, _, _} -> Incarnation;
        {} -> -1
    end.

%% @doc Whether a later incarnation of the actor's node has reported.
-spec is_superseded(adcounter_counters:actor(), t()) -> boolean().
is_superseded({Name, Incarnation}, Barrier) ->
    Incarnation < present(Name, Barrier).

%% @doc The parts. The incarnation belongs to the path, where it precedes the counts of the actor.
-spec to_parts(t()) -> [lasp_parts:part()].
to_parts(Barrier) ->
    [
        {[Name, Incarnation], Report}
     || {[Name], [Incarnation | Report]} <- lasp_gmap:to_parts(lasp_max, Barrier)
    ].

%% Internals.

flag(true) -> 1;
flag(false) -> 0.

is_done(Register) ->
    case lasp_max:value(Register) of
        {_Incarnation, 1, _Increments} -> true;
        _ -> false
    end.

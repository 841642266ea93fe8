%%% @doc Failure detection: which watched nodes are alive, and in which incarnation.
%%%
%%% Membership does not suffice: in a partial view most members are no neighbours, and a previous
%%% neighbour may only have been replaced. So a watched node is asked for its incarnation every
%%% interval. It is lost when it answers with a later one, or has been silent for two intervals. A
%%% present neighbour does not count as silent, since the overlay checks its links by heartbeats
%%% that never wait behind data; a previous one has one interval to show that it is alive.
%%%
%%% Pure: time is an argument, in milliseconds of any monotonic clock.
-module(partisan_failure_detector).

-compile({no_auto_import, [size/1]}).

-export([new/1]).
-export([watch/3]).
-export([present/4]).
-export([unwatch/2]).
-export([is_watched/2]).
-export([suspect/3]).
-export([heard/4]).
-export([tick/3]).
-export([size/1]).

-type name() :: partisan_peer:name().
-type milliseconds() :: integer().
%% All incarnations before this one of a lost node are over; `infinity' if none is known.
-type action() :: {ask, name()} | {lost, name(), Before :: partisan_peer:incarnation() | infinity}.
-export_type([action/0]).

-define(SILENT_INTERVALS, 2).

-record(watch, {
    interval :: pos_integer(),
    nodes = #{} :: #{name() => {partisan_peer:incarnation() | unknown, Deadline :: milliseconds()}}
}).

-opaque t() :: #watch{}.
-export_type([t/0]).

%% @doc A detector that watches no node; the interval is in milliseconds.
-spec new(Interval :: pos_integer()) -> t().
new(Interval) ->
    #watch{interval = Interval}.

%% @doc Starts watching that node.
-spec watch(name(), milliseconds(), t()) -> {t(), [action()]}.
watch(Name, _Now, #watch{nodes = Nodes} = W) when is_map_key(Name, Nodes) ->
    {W, []};
watch(Name, Now, #watch{nodes = Nodes} = W) ->
    {W#watch{nodes = Nodes#{Name => {unknown, deadline(Now, W)}}}, [{ask, Name}]}.

%% @doc Starts watching a node whose message has just arrived.
-spec present(name(), partisan_peer:incarnation(), milliseconds(), t()) -> t().
present(Name, _Incarnation, _Now, #watch{nodes = Nodes} = W) when is_map_key(Name, Nodes) ->
    W;
present(Name, Incarnation, Now, #watch{nodes = Nodes} = W) ->
    W#watch{nodes = Nodes#{Name => {Incarnation, deadline(Now, W)}}}.

%% @doc Stops watching a node.
-spec unwatch(name(), t()) -> t().
unwatch(Name, #watch{nodes = Nodes} = W) ->
    W#watch{nodes = maps:remove(Name, Nodes)}.

%% @doc Whether a node is watched.
-spec is_watched(name(), t()) -> boolean().
is_watched(Name, #watch{nodes = Nodes}) ->
    is_map_key(Name, Nodes).

%% @doc Shortens the time in which that node must answer.
-spec suspect(name(), milliseconds(), t()) -> {t(), [action()]}.
suspect(Name, Now, #watch{nodes = Nodes, interval = Interval} = W) ->
    case Nodes of
        #{Name := {Incarnation, Deadline}} ->
            Shorter = {Incarnation, min(Deadline, Now + Interval)},
            {W#watch{nodes = Nodes#{Name := Shorter}}, [{ask, Name}]};
        #{} ->
            {W, []}
    end.

%% @doc The node has reported this incarnation.
-spec heard(name(), partisan_peer:incarnation(), milliseconds(), t()) -> {t(), [action()]}.
heard(Name, Incarnation, Now, #watch{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := {Known, _}} when Known =:= unknown; Known =:= Incarnation ->
            {W#watch{nodes = Nodes#{Name := {Incarnation, deadline(Now, W)}}}, []};
        #{Name := {Known, _}} when Incarnation > Known ->
            {unwatch(Name, W), [{lost, Name, Incarnation}]};
        #{} ->
            % Not watched, or a late message of a previous incarnation.
            {W, []}
    end.

%% @doc Advances by one interval. Lost nodes are no longer watched.
-spec tick(milliseconds(), Neighbours :: [name()], t()) -> {t(), [action()]}.
tick(Now, Neighbours, #watch{nodes = Nodes} = W) ->
    maps:fold(
        fun(Name, {Incarnation, Deadline}, {#watch{nodes = Acc} = W1, Actions}) ->
            case {lists:member(Name, Neighbours), Deadline =< Now} of
                {true, _} ->
                    Later = {Incarnation, deadline(Now, W)},
                    {W1#watch{nodes = Acc#{Name := Later}}, [{ask, Name} | Actions]};
                {false, false} ->
                    {W1, [{ask, Name} | Actions]};
                {false, true} ->
                    {unwatch(Name, W1), [{lost, Name, infinity} | Actions]}
            end
        end,
        {W, []},
        Nodes
    ).

%% @doc The number of watched nodes.
-spec size(t()) -> non_neg_integer().
size(#watch{nodes = Nodes}) ->
    map_size(Nodes).

%% Internals.

deadline(Now, #watch{interval = Interval}) ->
    Now + ?SILENT_INTERVALS * Interval.

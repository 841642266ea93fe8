%%% @doc The node's knowledge of the overlay, published for all its processes and its metrics.
%%%
%%% Written by {@link partisan_manager} alone, whenever an event changes it; readers need no
%%% message. The table belongs to the supervisor, so that the view outlives a manager crash: until
%%% the next one is up, readers see the last known state.
-module(partisan_view).

-export([init/0]).
%% Readers.
-export([members/0]).
-export([neighbours/0]).
-export([info/0]).
-export([topics/0]).
-export([dissolved/0]).
-export([known_route/1]).
%% For the manager.
-export([publish/2]).
-export([add_route/2]).
-export([remove_route/1]).
-export([count/1]).
-export([dissolve/0]).
%% For metrics.
-export([joined_sample/0]).
-export([joined_at_sample/0]).
-export([active_sample/0]).
-export([passive_sample/0]).

-define(VIEW, ?MODULE).

-type t() :: {partisan_stack:info(), partisan_stack:topics()}.
-export_type([t/0]).

%% @doc Creates the table, owned by the caller, and registers the metrics.
-spec init() -> ok.
init() ->
    ?VIEW = ets:new(?VIEW, [named_table, public, set, {read_concurrency, true}]),
    true = ets:insert(?VIEW, {dissolved, false}),
    Nothing = #{kind => none, former => none, joined => false, active => [], passive => []},
    ok = write([], {Nothing, trees}),
    Gauges = [
        {partisan_overlay_joined, "Whether this node is a member of the overlay.", joined_sample},
        {partisan_overlay_joined_timestamp_seconds,
            "First join of this node since its boot, in seconds since 1970.",
            joined_at_sample},
        {partisan_overlay_active_view_size, "Neighbours.", active_sample},
        {partisan_overlay_passive_view_size, "Known peers that are not neighbours.", passive_sample}
    ],
    lists:foreach(
        fun({Name, Help, Function}) ->
            ok = partisan_metrics:new_function(gauge, Name, Help, [], {?MODULE, Function})
        end,
        Gauges
    ),
    ok = partisan_metrics:new(
        counter, partisan_overlay_events_total, "Events of the overlay.", [event]
    ),
    partisan_metrics:new(
        counter, partisan_broadcast_messages_total, "Messages of the broadcast layer.", [kind]
    ).

%% Readers.

%% @doc Whether this node has learnt that the cluster is being deleted. `false' while the runtime is
%% not running.
-spec dissolved() -> boolean().
dissolved() ->
    ets:whereis(?VIEW) =/= undefined andalso ets:lookup_element(?VIEW, dissolved, 2).

%% @doc The names of all members known to this node, itself included.
-spec members() -> [partisan_peer:name()].
members() ->
    ets:lookup_element(?VIEW, members, 2).

%% @doc The names of the members this node has connections to.
-spec neighbours() -> [partisan_peer:name()].
neighbours() ->
    ets:lookup_element(?VIEW, neighbours, 2).

%% @doc The overlay as shown by the node's status.
-spec info() -> partisan_stack:info().
info() ->
    ets:lookup_element(?VIEW, info, 2).

%% @doc How publications travel.
-spec topics() -> partisan_stack:topics().
topics() ->
    ets:lookup_element(?VIEW, topics, 2).

%% @doc The neighbour that leads to a member, if known.
-spec known_route(partisan_peer:name()) -> {ok, Neighbour :: partisan_peer:name()} | none.
known_route(Name) ->
    case lists:member(Name, neighbours()) of
        true ->
            {ok, Name};
        false ->
            case ets:lookup(?VIEW, {route, Name}) of
                [{_, Neighbour}] -> {ok, Neighbour};
                [] -> none
            end
    end.

%% For the manager.

%% @doc Replaces the view of the overlay.
-spec publish(Members :: [partisan_peer:name()], t()) -> ok.
publish(Members, {#{joined := Joined} = Info, _} = Shown) ->
    #{joined := Before} = info(),
    ok = write(Members, Shown),
    _ = Joined =:= Before orelse log_change(Info),
    ok.

%% @doc Publishes the neighbour that messages to a node go through.
-spec add_route(partisan_peer:name(), Neighbour :: partisan_peer:name()) -> ok.
add_route(Name, Neighbour) ->
    true = ets:insert(?VIEW, {{route, Name}, Neighbour}),
    ok.

%% @doc Removes the route to a node.
-spec remove_route(partisan_peer:name()) -> ok.
remove_route(Name) ->
    true = ets:delete(?VIEW, {route, Name}),
    ok.

%% @doc Publishes that the cluster is being deleted.
-spec dissolve() -> ok.
dissolve() ->
    true = ets:insert(?VIEW, {dissolved, true}),
    ok.

%% @doc Counts an event of the overlay or of the broadcast layer.
-spec count(Event :: atom() | {broadcast, Kind :: atom()}) -> ok.
count({broadcast, Kind}) ->
    partisan_metrics:inc(partisan_broadcast_messages_total, [Kind]);
count(Event) ->
    partisan_metrics:inc(partisan_overlay_events_total, [Event]).

%% For metrics.

%% @doc Whether the node is part of the overlay, as 1 or 0.
-spec joined_sample() -> [{[], 0 | 1}].
joined_sample() ->
    case info() of
        #{joined := true} -> [{[], 1}];
        #{joined := false} -> [{[], 0}]
    end.

%% @doc The time of the first join, in seconds since 1970.
-spec joined_at_sample() -> [{[], float()}].
joined_at_sample() ->
    [{[], Microseconds / 1.0e6} || {_, Microseconds} <- ets:lookup(?VIEW, joined_at)].

%% @doc The number of neighbours.
-spec active_sample() -> [{[], non_neg_integer()}].
active_sample() ->
    [{[], length(neighbours())}].

%% @doc The size of the passive view.
-spec passive_sample() -> [{[], non_neg_integer()}].
passive_sample() ->
    #{passive := Passive} = info(),
    [{[], length(Passive)}].

%% Internals.

%% Neighbours have their own entry: every message to a member reads it.
write(Members, {#{active := Neighbours} = Info, Topics}) ->
    true = ets:insert(?VIEW, [
        {neighbours, Neighbours}, {members, Members}, {info, Info}, {topics, Topics}
    ]),
    ok.

%% The two events that a reader of a node's log looks for first.
log_change(#{joined := true, kind := Kind, active := Neighbours}) ->
    _ = ets:insert_new(?VIEW, {joined_at, erlang:system_time(microsecond)}),
    logger:notice(#{event => joined, overlay => Kind, neighbours => length(Neighbours)});
log_change(#{joined := false, kind := Kind}) ->
    logger:notice(#{event => left_overlay, overlay => Kind}).

%%% @doc The record of a simulation: counts, arrivals of broadcasts, or a watcher's own record.
-module(simulator_monitor).

-export([new/0]).
-export([event/4]).
-export([sent/1]).
-export([count/2]).
-export([delivered/3]).
-export([stats/1]).
-export([deliveries/1]).
-export([watch/3]).
-export([watched/1]).

-type index() :: simulator_peer:index().

%% Observes an event and the node's effects; an arrival as `{deliver, _}', for example.
-type watcher() :: fun(
    (index(), partisan_stack:event(), [partisan_stack:effect()], Acc :: term()) -> Acc :: term()
).

%% How often a broadcast arrived at each incarnation of each node.
-type arrivals() :: #{{index(), partisan_peer:incarnation()} => pos_integer()}.

-record(monitor, {
    % The two most frequent counts, and the others.
    events = 0 :: non_neg_integer(),
    sent = 0 :: non_neg_integer(),
    counts = #{} :: #{term() => pos_integer()},
    deliveries = #{} :: #{Payload :: term() => arrivals()},
    watcher = none :: none | {watcher(), term()}
}).

-opaque t() :: #monitor{}.
-export_type([t/0, watcher/0, arrivals/0]).

%% @doc The empty record.
-spec new() -> t().
new() ->
    #monitor{}.

%% @doc A node has handled an event, with these effects.
-spec event(index(), partisan_stack:event(), [partisan_stack:effect()], t()) -> t().
event(_Index, _Event, _Effects, #monitor{events = Events, watcher = none} = M) ->
    M#monitor{events = Events + 1};
event(Index, Event, Effects, #monitor{events = Events, watcher = {Watcher, Acc}} = M) ->
    M#monitor{events = Events + 1, watcher = {Watcher, Watcher(Index, Event, Effects, Acc)}}.

%% @doc Counts a sent message; returns its number.
-spec sent(t()) -> {pos_integer(), t()}.
sent(#monitor{sent = Before} = M) ->
    {Before + 1, M#monitor{sent = Before + 1}}.

%% @doc Counts another event.
-spec count(What :: term(), t()) -> t().
count(What, #monitor{counts = Counts} = M) ->
    M#monitor{counts = Counts#{What => maps:get(What, Counts, 0) + 1}}.

%% @doc A broadcast has arrived at an incarnation of a node.
-spec delivered(Payload :: term(), {index(), partisan_peer:incarnation()}, t()) -> t().
delivered(_Payload, _Where, #monitor{watcher = {_, _}} = M) ->
    M;
delivered(Payload, Where, #monitor{deliveries = Deliveries} = M) ->
    At = maps:get(Payload, Deliveries, #{}),
    Arrived = At#{Where => maps:get(Where, At, 0) + 1},
    M#monitor{deliveries = Deliveries#{Payload => Arrived}}.

%% @doc All counts: `events', messages `sent', and the others.
-spec stats(t()) -> #{term() => non_neg_integer()}.
stats(#monitor{counts = Counts, events = Events, sent = Sent}) ->
    Counts#{events => Events, sent => Sent}.

%% @doc The arrivals of each broadcast, until a watcher was installed.
-spec deliveries(t()) -> #{Payload :: term() => arrivals()}.
deliveries(#monitor{deliveries = Deliveries}) ->
    Deliveries.

%% @doc Installs a function that sees every event from now on, in place of the record of deliveries.
-spec watch(watcher(), Acc :: term(), t()) -> t().
watch(Watcher, Acc, M) ->
    M#monitor{watcher = {Watcher, Acc}}.

%% @doc The watcher's result.
-spec watched(t()) -> term().
watched(#monitor{watcher = {_, Acc}}) ->
    Acc.

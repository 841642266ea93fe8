%%% @doc What is recorded of a simulation: counts, where broadcasts arrived, or whatever a watcher
%%% makes of the events.
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

%% What is noted of an event and what a node made of it; an arrival as `{deliver, _}', for example.
-type watcher() :: fun(
    (index(), partisan_stack:event(), [partisan_stack:effect()], Acc :: term()) -> Acc :: term()
).

%% How often a broadcast arrived at each life of each node.
-type arrivals() :: #{{index(), partisan_peer:incarnation()} => pos_integer()}.

-record(monitor, {
    % The two that nearly everything counts, and the others.
    events = 0 :: non_neg_integer(),
    sent = 0 :: non_neg_integer(),
    counts = #{} :: #{term() => pos_integer()},
    deliveries = #{} :: #{Payload :: term() => arrivals()},
    watcher = none :: none | {watcher(), term()}
}).

-opaque t() :: #monitor{}.
-export_type([t/0, watcher/0, arrivals/0]).

%% @doc Nothing so far.
-spec new() -> t().
new() ->
    #monitor{}.

%% @doc A node has taken an event, and made these effects of it.
-spec event(index(), partisan_stack:event(), [partisan_stack:effect()], t()) -> t().
event(_Index, _Event, _Effects, #monitor{events = Events, watcher = none} = M) ->
    M#monitor{events = Events + 1};
event(Index, Event, Effects, #monitor{events = Events, watcher = {Watcher, Acc}} = M) ->
    M#monitor{events = Events + 1, watcher = {Watcher, Watcher(Index, Event, Effects, Acc)}}.

%% @doc A message is sent: the so-manyth.
-spec sent(t()) -> {pos_integer(), t()}.
sent(#monitor{sent = Before} = M) ->
    {Before + 1, M#monitor{sent = Before + 1}}.

%% @doc Something else has happened.
-spec count(What :: term(), t()) -> t().
count(What, #monitor{counts = Counts} = M) ->
    M#monitor{counts = Counts#{What => maps:get(What, Counts, 0) + 1}}.

%% @doc A broadcast has arrived at a life of a node.
-spec delivered(Payload :: term(), {index(), partisan_peer:incarnation()}, t()) -> t().
delivered(_Payload, _Where, #monitor{watcher = {_, _}} = M) ->
    M;
delivered(Payload, Where, #monitor{deliveries = Deliveries} = M) ->
    At = maps:get(Payload, Deliveries, #{}),
    Arrived = At#{Where => maps:get(Where, At, 0) + 1},
    M#monitor{deliveries = Deliveries#{Payload => Arrived}}.

%% @doc All counts: of `events', of messages `sent', and what else was counted.
-spec stats(t()) -> #{term() => non_neg_integer()}.
stats(#monitor{counts = Counts, events = Events, sent = Sent}) ->
    Counts#{events => Events, sent => Sent}.

%% @doc How often each broadcast arrived where, until something watched.
-spec deliveries(t()) -> #{Payload :: term() => arrivals()}.
deliveries(#monitor{deliveries = Deliveries}) ->
    Deliveries.

%% @doc Has a function see every event from now on, in place of the record of deliveries.
-spec watch(watcher(), Acc :: term(), t()) -> t().
watch(Watcher, Acc, M) ->
    M#monitor{watcher = {Watcher, Acc}}.

%% @doc What the watcher has made of it all.
-spec watched(t()) -> term().
watched(#monitor{watcher = {_, Acc}}) ->
    Acc.

%%% @doc Synchronisation by deltas with every neighbour; see {@link lasp_deltas}.
%%%
%%% A change takes the shortest path, as with full state, and crosses every link of the overlay
%%% once.
-module(lasp_sync_delta).
-behaviour(lasp_sync).

-export([init/1]).
-export([handle/2]).
-export([value/1]).
-export([agreed/1]).

-record(sync, {
    interval :: pos_integer(),
    deltas :: lasp_deltas:t()
}).

-opaque state() :: #sync{}.

-export_type([state/0]).

-define(TIMER, propagate).

%% @doc An empty replica without neighbours.
-spec init(lasp_sync:options()) -> {state(), [lasp_sync:effect()]}.
init(#{interval := Interval} = Options) ->
    State = #sync{interval = Interval, deltas = lasp_deltas:new(Options)},
    {State, [{start_timer, ?TIMER, lasp_sync:phase(Options)}]}.

%% @doc Handles one event.
-spec handle(lasp_sync:event(), state()) -> {state(), [lasp_sync:effect()]}.
handle(Event, #sync{deltas = Deltas} = State) ->
    {Next, Effects} = event(Event, State, Deltas),
    {State#sync{deltas = Next}, Effects}.

%% @doc The replica.
-spec value(state()) -> term().
value(#sync{deltas = Deltas}) ->
    lasp_replica:value(lasp_deltas:replica(Deltas)).

%% @doc Whether every neighbour last reported an equal replica.
-spec agreed(state()) -> boolean().
agreed(#sync{deltas = Deltas}) ->
    lasp_replica:agreed(lasp_deltas:replica(Deltas)).

%% Internals.

event({update, Delta}, _State, Deltas) ->
    lasp_deltas:update(Delta, Deltas);
event({restore, Value}, _State, Deltas) ->
    lasp_deltas:update(Value, Deltas);
event({timer, ?TIMER}, #sync{interval = Interval}, Deltas) ->
    {Next, Effects} = lasp_deltas:tick(Deltas),
    {Next, Effects ++ [{start_timer, ?TIMER, Interval}]};
event({neighbour_up, Name}, _State, Deltas) ->
    lasp_deltas:link(Name, lasp_deltas:up(Name, Deltas));
event({neighbour_down, Name}, _State, Deltas) ->
    lasp_deltas:down(Name, Deltas);
event({message, From, Message}, _State, Deltas) ->
    case lasp_replica:open(Message, lasp_deltas:replica(Deltas)) of
        {ok, Kind, Payload} -> lasp_deltas:take(Kind, From, Payload, Deltas);
        {error, Count} -> {Deltas, [Count]}
    end;
event(handover, _State, Deltas) ->
    lasp_deltas:handover(Deltas).

%%% @doc Synchronisation by full state: every interval each neighbour gets the whole value.
%%%
%%% This is the mode of the published experiment, and the baseline for the others.
%%%
%%% A neighbour known to be equal gets a digest only ({@link lasp_replica}). A busy cluster thus
%%% sends what the published one sent, and a converged one little: the digests still show that
%%% neighbours are equal, and a loss is repaired an interval later. A digest may replace a queued
%%% state (`latest'), since it is only sent to a neighbour that needs no state.
%%%
%%% A new neighbour gets the state at once, so that a node without its replica catches up within one
%%% message. The other modes compare digests first; here that would save one of the states sent in
%%% every interval.
-module(lasp_sync_state).
-behaviour(lasp_sync).

-export([init/1]).
-export([handle/2]).
-export([value/1]).
-export([agreed/1]).

-record(sync, {
    interval :: pos_integer(),
    replica :: lasp_replica:t()
}).

-opaque state() :: #sync{}.

-export_type([state/0]).

-define(TIMER, propagate).

%% @doc An empty replica without neighbours.
-spec init(lasp_sync:options()) -> {state(), [lasp_sync:effect()]}.
init(#{interval := Interval} = Options) ->
    State = #sync{interval = Interval, replica = lasp_replica:new(Options)},
    {State, [{start_timer, ?TIMER, lasp_sync:phase(Options)}]}.

%% @doc Handles one event.
-spec handle(lasp_sync:event(), state()) -> {state(), [lasp_sync:effect()]}.
handle({update, Delta}, #sync{replica = Replica} = State) ->
    {New, Merged} = lasp_replica:merge(Delta, Replica),
    {State#sync{replica = Merged}, [changed || New =/= []]};
handle({restore, Value}, State) ->
    handle({update, Value}, State);
handle({timer, ?TIMER}, #sync{interval = Interval, replica = Replica} = State) ->
    {Pushed, Effects} = lasp_replica:push_all(Replica),
    {State#sync{replica = Pushed}, Effects ++ [{start_timer, ?TIMER, Interval}]};
handle({neighbour_up, Name}, State) ->
    #sync{replica = Replica} = Pushing = encoded(State),
    Up = lasp_replica:up(Name, Replica),
    {Pushing#sync{replica = Up}, lasp_replica:push(Name, Up)};
handle({neighbour_down, Name}, #sync{replica = Replica} = State) ->
    {Down, Effects} = lasp_replica:down(Name, Replica),
    {State#sync{replica = Down}, Effects};
handle({message, From, Message}, #sync{replica = Replica} = State) ->
    case lasp_replica:open(Message, Replica) of
        {ok, Kind, Payload} ->
            {_New, Next, Effects} = lasp_replica:take(Kind, From, Payload, Replica),
            {State#sync{replica = Next}, Effects};
        {error, Count} ->
            {State, [Count]}
    end;
handle(handover, #sync{replica = Replica} = State) ->
    {Next, Effects} = lasp_replica:handover(Replica),
    {State#sync{replica = Next}, Effects}.

%% @doc The replica.
-spec value(state()) -> term().
value(#sync{replica = Replica}) ->
    lasp_replica:value(Replica).

%% @doc Whether every neighbour last reported an equal replica.
-spec agreed(state()) -> boolean().
agreed(#sync{replica = Replica}) ->
    lasp_replica:agreed(Replica).

%% Internals.

encoded(#sync{replica = Replica} = State) ->
    State#sync{replica = lasp_replica:encoded(Replica)}.

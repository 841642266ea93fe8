%%% @doc Synchronisation by full state: every interval each neighbour is sent the whole value.
%%%
%%% This is the mode of the published experiment, and what the better ones are measured against.
%%%
%%% == When a neighbour is sent less ==
%%% The digest of what a neighbour sent last is kept. Where it equals the digest of this replica the
%%% neighbour holds everything that this replica holds, now and for the rest of its life, because
%%% values only grow; it is then sent the sixteen bytes of the digest in place of the state. So a
%%% busy cluster sends what the published one sent, and an idle one that has converged goes
%%% quiet without falling silent: the digests still tell each neighbour that both are equal, and
%%% a loss is repaired an interval later.
%%%
%%% A digest may replace a queued state (`latest'): it is only sent to a neighbour that needs none.
%%%
%%% == A neighbour that comes ==
%%% gets the state at once, so that a node which has lost its replica is caught up in the time of
%%% one message. Whatever was known of the name before is forgotten: it may be a new life.
%%%
%%% == Handing over ==
%%% Before a node leaves, it sends its state once more and every neighbour answers; the answer means
%%% that the state has been merged, not merely queued. What is not answered is sent again each
%%% interval, until the neighbour answers or goes down. How long to wait is the caller's affair.
%%% A node that has finished handing over confirms nothing any more, so that two neighbours that
%%% leave together do not each rely on the other.
-module(lasp_sync_state).
-behaviour(lasp_sync).

-export([init/1]).
-export([handle/2]).
-export([value/1]).
-export([agreed/1]).

-record(sync, {
    type :: lasp_lattice:type(),
    scope :: binary(),
    interval :: pos_integer(),
    value :: term(),
    %% The value as it is sent, and its digest.
    bytes :: binary(),
    digest :: lasp_lattice:digest(),
    %% The digest each neighbour was last heard to have.
    neighbours = #{} :: #{lasp_sync:name() => lasp_lattice:digest() | unknown},
    %% While handing over: who has everything, out of those who are still neighbours.
    handover = no :: no | {waiting, [lasp_sync:name()]} | done
}).

-opaque state() :: #sync{}.

-export_type([state/0]).

-define(TIMER, propagate).

%% @doc An empty replica without neighbours.
-spec init(lasp_sync:options()) -> {state(), [lasp_sync:effect()]}.
init(#{type := Type, scope := Scope, interval := Interval, seed := Seed}) ->
    {Phase, _} = rand:uniform_s(Interval, rand:seed_s(exsss, Seed)),
    Bytes = lasp_lattice:encode(Type, Type:new()),
    State = #sync{
        type = Type,
        scope = Scope,
        interval = Interval,
        value = Type:new(),
        bytes = Bytes,
        digest = lasp_lattice:digest(Bytes)
    },
    {State, [{start_timer, ?TIMER, Phase}]}.

%% @doc One step of the protocol.
-spec handle(lasp_sync:event(), state()) -> {state(), [lasp_sync:effect()]}.
handle({update, Delta}, State) ->
    merge(Delta, State);
handle({timer, ?TIMER}, State = #sync{neighbours = Neighbours, interval = Interval}) ->
    Pushes = [push(Name, State) || Name <- lists:sort(maps:keys(Neighbours))],
    {State, lists:append(Pushes) ++ [{start_timer, ?TIMER, Interval}]};
handle({neighbour_up, Name}, State = #sync{neighbours = Neighbours}) ->
    Up = State#sync{neighbours = Neighbours#{Name => unknown}},
    {Up, push(Name, Up)};
handle({neighbour_down, Name}, State = #sync{neighbours = Neighbours}) ->
    handover_progress(State#sync{neighbours = maps:remove(Name, Neighbours)});
handle({message, From, Message}, State = #sync{scope = Scope}) ->
    case Message of
        {Kind, Scope, Payload} when is_binary(Payload) ->
            receive_payload(Kind, From, Payload, State);
        {_, _, Payload} when is_binary(Payload) ->
            {State, [received(foreign, Payload)]};
        _ ->
            {State, [received(malformed, <<>>)]}
    end;
handle(handover, State = #sync{handover = no, neighbours = Neighbours}) ->
    Waiting = State#sync{handover = {waiting, []}},
    Pushes = [push(Name, Waiting) || Name <- lists:sort(maps:keys(Neighbours))],
    {Next, Effects} = handover_progress(Waiting),
    {Next, lists:append(Pushes) ++ Effects};
handle(handover, State) ->
    {State, []}.

%% @doc The replica.
-spec value(state()) -> term().
value(#sync{value = Value}) ->
    Value.

%% @doc Was every neighbour last heard to be equal?
-spec agreed(state()) -> boolean().
agreed(#sync{neighbours = Neighbours, digest = Digest}) ->
    lists:all(fun(Known) -> Known =:= Digest end, maps:values(Neighbours)).

%% Internals.

%% What a neighbour needs to hear now.
push(Name, State = #sync{neighbours = Neighbours, digest = Digest, scope = Scope}) ->
    #sync{bytes = Bytes, handover = Handover} = State,
    case Neighbours of
        #{Name := Digest} ->
            [{send, Name, latest, {digest, Scope, Digest}}, sent(digest, Digest)];
        #{} when Handover =:= no ->
            [{send, Name, latest, {state, Scope, Bytes}}, sent(state, Bytes)];
        #{} ->
            [{send, Name, each, {handover, Scope, Bytes}}, sent(handover, Bytes)]
    end.

receive_payload(state, From, Bytes, State) ->
    receive_state(state, From, Bytes, State);
receive_payload(handover, _From, Bytes, State = #sync{handover = done}) ->
    %% This replica has handed over and is about to go: to confirm would be to lose it.
    {State, [received(handover, Bytes)]};
receive_payload(handover, From, Bytes, State = #sync{scope = Scope}) ->
    Digest = lasp_lattice:digest(Bytes),
    case receive_state(handover, From, Bytes, State) of
        {Next, Effects = [{count, handover, received, _} | _]} ->
            Answer = {send, From, each, {handed_over, Scope, Digest}},
            {Next, Effects ++ [Answer, sent(digest, Digest)]};
        Malformed ->
            Malformed
    end;
receive_payload(digest, From, Digest, State) ->
    {heard(From, Digest, State), [received(digest, Digest)]};
receive_payload(handed_over, From, Digest, State = #sync{digest = Digest}) ->
    {Next, Effects} = handover_progress(heard(From, Digest, State)),
    {Next, [received(digest, Digest) | Effects]};
receive_payload(handed_over, _From, Digest, State) ->
    %% The answer to what this replica was before it grew again: the next push asks anew.
    {State, [received(digest, Digest)]};
receive_payload(_, _From, Payload, State) ->
    {State, [received(malformed, Payload)]}.

receive_state(Kind, From, Bytes, State = #sync{type = Type, digest = Own}) ->
    case lasp_lattice:digest(Bytes) of
        Own ->
            {Next, Effects} = handover_progress(heard(From, Own, State)),
            {Next, [received(Kind, Bytes) | Effects]};
        Digest ->
            case lasp_lattice:decode(Type, Bytes) of
                {ok, Value} ->
                    {Merged, Changes} = merge(Value, heard(From, Digest, State)),
                    {Next, Effects} = handover_progress(Merged),
                    {Next, [received(Kind, Bytes) | Changes ++ Effects]};
                error ->
                    {State, [received(malformed, Bytes)]}
            end
    end.

merge(Delta, State = #sync{type = Type, value = Value}) ->
    case Type:merge(Value, Delta) of
        Value ->
            {State, []};
        Grown ->
            Bytes = lasp_lattice:encode(Type, Grown),
            Digest = lasp_lattice:digest(Bytes),
            Next = State#sync{
                value = Grown,
                bytes = Bytes,
                digest = Digest,
                handover = handover_again(State)
            },
            {Next, [changed]}
    end.

%% What came during the handover has to be handed over as well: none has confirmed it yet.
handover_again(#sync{handover = {waiting, _}}) -> {waiting, []};
handover_again(#sync{handover = Handover}) -> Handover.

%% Only what current neighbours have is kept, or the map would grow with every passer-by.
heard(From, Digest, State = #sync{neighbours = Neighbours}) ->
    case Neighbours of
        #{From := _} -> State#sync{neighbours = Neighbours#{From := Digest}};
        #{} -> State
    end.

%% Finish the handover once no neighbour is left that lacks something. Those who have confirmed are
%% remembered, because a neighbour may leave, or learn more than this replica, after it has.
handover_progress(State = #sync{handover = {waiting, Before}, neighbours = Neighbours}) ->
    #sync{digest = Digest} = State,
    Now = [Name || {Name, Known} <- maps:to_list(Neighbours), Known =:= Digest],
    Confirmed = lists:usort(Now ++ Before),
    case maps:keys(Neighbours) -- Confirmed of
        [] -> {State#sync{handover = done}, [{handed_over, Confirmed}]};
        _ -> {State#sync{handover = {waiting, Confirmed}}, []}
    end;
handover_progress(State) ->
    {State, []}.

sent(Kind, Payload) ->
    {count, Kind, sent, byte_size(Payload)}.

received(Kind, Payload) ->
    {count, Kind, received, byte_size(Payload)}.

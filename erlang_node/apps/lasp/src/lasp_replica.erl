%%% @doc The common part of all synchronisation protocols: the value, the last known state of the
%%% neighbours, and the handover before a node leaves.
%%%
%%% Messages are `{Kind, Scope, Payload}' with a binary as payload. Every protocol understands the
%%% kinds handled here:
%%% <ul>
%%% <li>`state': the whole value.</li>
%%% <li>`digest': its hash, from a node that has nothing else to send.</li>
%%% <li>`handover': the whole value, to be answered with `handed_over' and its digest.</li>
%%% </ul>
%%%
%%% == Digests instead of states ==
%%% The digest of what a neighbour sent last is kept. If it equals the digest of this replica, the
%%% neighbour holds everything that this replica holds, now and for the rest of its incarnation,
%%% because values only grow; it then gets the sixteen bytes of the digest instead of the state.
%%%
%%% == Handing over ==
%%% Before a node leaves, it sends its state once more and every neighbour confirms that it has
%%% merged it, not merely queued it. Unconfirmed states are sent again each interval, until the
%%% neighbour answers, is known to be equal from another message, or goes down. The timeout is up to
%%% the caller. After a finished handover a node confirms nothing and reports no digests, so that
%%% two neighbours that leave together do not each rely on the other.
-module(lasp_replica).

-export([new/1]).
-export([type/1]).
-export([value/1]).
-export([merge/2]).
-export([join/2]).
-export([digest/1]).
-export([encoded/1]).
-export([neighbours/1]).
-export([agreed/1]).
-export([up/2]).
-export([down/2]).
-export([push/2]).
-export([push_all/1]).
-export([send/4]).
-export([open/2]).
-export([take/4]).
-export([handover/1]).
-export([is_handing_over/1]).

-record(replica, {
    type :: lasp_lattice:type(),
    scope :: binary(),
    value :: term(),
    % The encoded value and its digest, if known.
    encoded = stale :: stale | {binary(), lasp_lattice:digest()},
    % The form of the value when it was last encoded.
    form = none :: lasp_form:t() | none,
    % The last digest from each neighbour.
    heard = #{} :: #{lasp_sync:name() => lasp_lattice:digest() | unknown},
    % During a handover: the confirmed ones among the present neighbours.
    handover = no :: no | {waiting, [lasp_sync:name()]} | done
}).

-opaque t() :: #replica{}.

-type message() :: {Kind :: atom(), Scope :: binary(), Payload :: binary()}.

-export_type([t/0, message/0]).

%% @doc The least value, without neighbours.
-spec new(lasp_sync:options()) -> t().
new(#{type := Type, scope := Scope}) ->
    #replica{type = Type, scope = Scope, value = Type:new()}.

%% @doc The type of the value.
-spec type(t()) -> lasp_lattice:type().
type(#replica{type = Type}) ->
    Type.

%% @doc The value.
-spec value(t()) -> term().
value(#replica{value = Value}) ->
    Value.

%% @doc Joins a value; also returns its new parts.
-spec merge(Delta :: term(), t()) -> {New :: [lasp_lattice:keyed()], t()}.
merge(Delta, #replica{type = Type} = Replica) ->
    {ok, New, Merged} = join(lasp_lattice:keyed(Type, Delta), Replica),
    {New, Merged}.

%% @doc Joins parts; also returns the new ones; `error' for parts that no value has.
-spec join([lasp_lattice:keyed()], t()) -> {ok, New :: [lasp_lattice:keyed()], t()} | error.
join(Keyed, #replica{type = Type, value = Value} = Replica) ->
    joined(lasp_lattice:join(Type, Keyed, Value), Replica).

%% @doc The digest of the value.
-spec digest(t()) -> lasp_lattice:digest().
digest(#replica{encoded = {_, Digest}}) ->
    Digest;
digest(Replica) ->
    digest(encoded(Replica)).

%% @doc The replica with its encoded value, which is written once, however often it is sent.
-spec encoded(t()) -> t().
encoded(#replica{encoded = stale, type = Type, value = Value, form = Before} = Replica) ->
    {Bytes, Form} = lasp_form:encode(Type, Value, Before),
    Replica#replica{encoded = {Bytes, lasp_lattice:digest(Bytes)}, form = Form};
encoded(Replica) ->
    Replica.

%% @doc The neighbours, in order.
-spec neighbours(t()) -> [lasp_sync:name()].
neighbours(#replica{heard = Heard}) ->
    lists:sort(maps:keys(Heard)).

%% @doc Whether every neighbour last reported an equal replica.
-spec agreed(t()) -> boolean().
agreed(#replica{heard = Heard} = Replica) ->
    Digest = digest(Replica),
    lists:all(fun(Known) -> Known =:= Digest end, maps:values(Heard)).

%% @doc Adds a neighbour. Knowledge of the name is dropped: it may be a new incarnation.
-spec up(lasp_sync:name(), t()) -> t().
up(Name, #replica{heard = Heard} = Replica) ->
    Replica#replica{heard = Heard#{Name => unknown}}.

%% @doc Removes a neighbour.
-spec down(lasp_sync:name(), t()) -> {t(), [lasp_sync:effect()]}.
down(Name, #replica{heard = Heard} = Replica) ->
    progress(Replica#replica{heard = maps:remove(Name, Heard)}).

%% @doc Sends a neighbour what it lacks: the state, or the digest if it is known to hold everything.
%% The replica must be encoded.
-spec push(lasp_sync:name(), t()) -> [lasp_sync:effect()].
push(_Name, #replica{handover = done}) ->
    [];
push(Name, #replica{encoded = {Bytes, Digest}, heard = Heard, handover = Handover} = Replica) ->
    case Heard of
        #{Name := Digest} -> send(digest, Name, Digest, Replica);
        #{} when Handover =:= no -> send(state, Name, Bytes, Replica);
        #{} -> send(handover, Name, Bytes, Replica)
    end.

%% @doc Sends every neighbour what it lacks. That may complete a handover: a neighbour may already
%% have been heard to hold what has arrived here since.
-spec push_all(t()) -> {t(), [lasp_sync:effect()]}.
push_all(Replica) ->
    Encoded = encoded(Replica),
    Pushes = [push(Name, Encoded) || Name <- neighbours(Encoded)],
    {Next, Effects} = progress(Encoded),
    {Next, lists:append(Pushes) ++ Effects}.

%% @doc A message of this replica's scope, and its count. Only the newest state or digest matters;
%% messages sent before leaving may wait for room.
-spec send(lasp_sync:kind(), lasp_sync:name(), Payload :: binary(), t()) -> [lasp_sync:effect()].
send(Kind, Name, Payload, #replica{scope = Scope}) ->
    Class =
        case Kind of
            state -> latest;
            digest -> latest;
            handover -> blocking;
            _ -> each
        end,
    [{send, Name, Class, {Kind, Scope, Payload}}, {count, Kind, sent, byte_size(Payload)}].

%% @doc The payload of a message of this scope; otherwise only the count.
-spec open(term(), t()) -> {ok, Kind :: term(), Payload :: binary()} | {error, lasp_sync:effect()}.
open({Kind, Scope, Payload}, #replica{scope = Scope}) when is_binary(Payload) ->
    {ok, Kind, Payload};
open({_, _, Payload}, _) when is_binary(Payload) ->
    {error, received(foreign, Payload)};
open(_, _) ->
    {error, received(malformed, <<>>)}.

%% @doc Handles a message that every protocol understands; returns its new parts.
-spec take(Kind :: term(), From :: lasp_sync:name(), Payload :: binary(), t()) ->
    {New :: [lasp_lattice:keyed()], t(), [lasp_sync:effect()]}.
take(state, From, Bytes, Replica) ->
    take_state(state, From, Bytes, [], Replica);
take(handover, _From, Bytes, #replica{handover = done} = Replica) ->
    % This replica has handed over and is about to go: a confirmed state would be lost.
    nothing([received(handover, Bytes)], Replica);
take(handover, From, Bytes, #replica{scope = Scope} = Replica) ->
    Digest = lasp_lattice:digest(Bytes),
    Answer = [
        {send, From, blocking, {handed_over, Scope, Digest}},
        {count, digest, sent, byte_size(Digest)}
    ],
    take_state(handover, From, Bytes, Answer, Replica);
take(digest, From, Digest, Replica) ->
    {Next, Effects} = progress(heard(From, Digest, Replica)),
    nothing([received(digest, Digest) | Effects], Next);
take(handed_over, From, Digest, Replica) ->
    case digest(Replica) of
        Digest ->
            {Next, Effects} = progress(heard(From, Digest, Replica)),
            nothing([received(digest, Digest) | Effects], Next);
        _ ->
            % It answers an earlier state of this replica, which has grown since: ask again.
            nothing([received(digest, Digest)], Replica)
    end;
take(_, _From, Payload, Replica) ->
    nothing([received(malformed, Payload)], Replica).

%% @doc Begins the handover, and after its end another one, since the replica may have grown.
-spec handover(t()) -> {t(), [lasp_sync:effect()]}.
handover(#replica{handover = {waiting, _}} = Replica) ->
    {Replica, []};
handover(Replica) ->
    push_all(Replica#replica{handover = {waiting, []}}).

%% @doc Whether the handover has begun.
-spec is_handing_over(t()) -> boolean().
is_handing_over(#replica{handover = Handover}) ->
    Handover =/= no.

%% Internals.

take_state(Kind, From, Bytes, Answer, Replica) ->
    Digest = lasp_lattice:digest(Bytes),
    case decoded(Digest, Bytes, Replica) of
        {ok, New, Joined} ->
            {Next, Effects} = progress(heard(From, Digest, Joined)),
            Changes = [changed || New =/= []],
            {New, Next, [received(Kind, Bytes) | Changes ++ Effects] ++ Answer};
        error ->
            nothing([received(malformed, Bytes)], Replica)
    end.

decoded(Digest, _Bytes, #replica{encoded = {_, Digest}} = Replica) ->
    {ok, [], Replica};
decoded(_Digest, Bytes, #replica{type = Type, value = Value, form = Form} = Replica) ->
    joined(lasp_form:join(Type, Bytes, Value, Form), Replica).

joined({ok, [], _Value}, Replica) ->
    {ok, [], Replica};
joined({ok, New, Value}, Replica) ->
    Handover = handover_again(Replica),
    {ok, New, Replica#replica{value = Value, encoded = stale, handover = Handover}};
joined(error, _Replica) ->
    error.

nothing(Effects, Replica) ->
    {[], Replica, Effects}.

%% Changes during the handover have to be handed over as well: none is confirmed yet.
handover_again(#replica{handover = {waiting, _}}) -> {waiting, []};
handover_again(#replica{handover = Handover}) -> Handover.

%% For present neighbours only, or the map would grow with every previous one.
heard(From, Digest, #replica{heard = Heard} = Replica) ->
    case Heard of
        #{From := _} -> Replica#replica{heard = Heard#{From := Digest}};
        #{} -> Replica
    end.

%% Finishes the handover once no neighbour lacks anything. Confirmations are remembered, because a
%% neighbour may leave, or learn more than this replica, afterwards.
progress(#replica{handover = {waiting, Before}, heard = Heard} = Replica) ->
    Digest = digest(Replica),
    Now = [Name || {Name, Known} <- maps:to_list(Heard), Known =:= Digest],
    Confirmed = lists:usort(Now ++ Before),
    case maps:keys(Heard) -- Confirmed of
        [] -> {Replica#replica{handover = done}, [{handed_over, Confirmed}]};
        _ -> {Replica#replica{handover = {waiting, Confirmed}}, []}
    end;
progress(Replica) ->
    {Replica, []}.

received(Kind, Payload) ->
    {count, Kind, received, byte_size(Payload)}.

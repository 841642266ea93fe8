%%% @doc Synchronisation by deltas over links: changes are sent once over every link, except back to
%%% their source.
%%%
%%% Almeida, Shoker, Baquero, "Delta state replicated data types" (2018), with both improvements of
%%% Enes et al., "Efficient synchronization of state-based CRDTs" (ICDE 2019): back-propagation is
%%% avoided (BP), and of a received group only the new parts are passed on (RR). Parts received from
%%% a neighbour are also removed from those pending for it: if both ends of a link learn of a change
%%% from elsewhere, only the first to send does.
%%%
%%% == Links ==
%%% A link to a neighbour ({@link lasp_link}) has a pending delta-group. Each interval it is sent
%%% under a new number, and again if not acknowledged. A received group is joined once, however many
%%% links there are. Acknowledgements travel with the next group in the other direction. Numbers
%%% come from one sequence for all links, with a random start in each incarnation, so a late
%%% acknowledgement matches nothing.
%%%
%%% == New links ==
%%% A link begins with a greeting: both ends exchange digests. If these are equal nothing is
%%% pending; otherwise the end with the smaller name sends all it has, and the other answers with
%%% what that lacked. A greeting asks the other end to start over as well; a node that receives an
%%% unreadable group also sends one.
%%%
%%% == Quiet periods ==
%%% Each neighbour gets a digest each interval, linked or not. If it differs from that of an equally
%%% quiet replica, the states are exchanged, whatever went wrong before: over a link at once, since
%%% everything in flight there is known. Changes between unlinked neighbours may be in flight over
%%% others, one interval for each, so these wait for sixteen. A node whose
%%% neighbours all report equality continues for two intervals and then repeats its digest every
%%% eighth, until something grows, arrives or differs: a node that missed it asks by its own
%%% digests, and gets it late at worst.
%%%
%%% The caller decides which neighbours are linked: all of them ({@link lasp_sync_delta}), or those
%%% connected by a tree ({@link lasp_sync_tree}). Messages of any neighbour are understood.
%%%
%%% Longer than 300 lines: one protocol, whose argument is the half of it that stands above.
-module(lasp_deltas).

%% A built-in function from OTP 29 on.
-compile({no_auto_import, [link/2]}).

-export([new/1]).
-export([replica/1]).
-export([update/2]).
-export([up/2]).
-export([down/2]).
-export([link/2]).
-export([relink/2]).
-export([tick/1]).
-export([take/4]).
-export([handover/1]).

-record(deltas, {
    name :: lasp_sync:name(),
    replica :: lasp_replica:t(),
    % Intervals since the replica has grown.
    quiet = 1 :: non_neg_integer(),
    % Consecutive quiet intervals in which all neighbours reported equal replicas.
    calm = 0 :: non_neg_integer(),
    next :: lasp_link:id(),
    numbers :: lasp_dictionary:numbers(),
    links = #{} :: #{lasp_sync:name() => lasp_link:t()},
    receivers = #{} :: #{lasp_sync:name() => lasp_dictionary:receiver()}
}).

-opaque t() :: #deltas{}.

-export_type([t/0]).

-type result() :: {t(), [lasp_sync:effect()]}.

-define(NUMBER_BITS, 32).
%% Calm intervals in which digests are still sent, and the interval between them afterwards.
-define(REPEATS, 2).
-define(RARELY, 8).
%% Quiet intervals before unlinked neighbours are compared: longer than a change takes over a tree
%% of a thousand nodes, or a tree that has lost its root takes to repair itself.
-define(DETOUR, 16).

%% @doc The least value, without neighbours.
-spec new(lasp_sync:options()) -> t().
new(#{name := Name, seed := Seed} = Options) ->
    {Next, _} = rand:uniform_s(1 bsl (?NUMBER_BITS - 2), rand:seed_s(exsss, Seed)),
    #deltas{
        name = Name,
        replica = lasp_replica:new(Options),
        next = Next,
        numbers = lasp_dictionary:new_numbers(Next)
    }.

%% @doc The replica.
-spec replica(t()) -> lasp_replica:t().
replica(#deltas{replica = Replica}) ->
    Replica.

%% @doc Joins a delta of this node.
-spec update(Delta :: term(), t()) -> result().
update(Delta, #deltas{replica = Replica} = D) ->
    {New, Merged} = lasp_replica:merge(Delta, Replica),
    {spread(New, none, D#deltas{replica = Merged}), [changed || New =/= []]}.

%% @doc Adds a neighbour, or its next incarnation, without a link.
-spec up(lasp_sync:name(), t()) -> t().
up(Name, #deltas{replica = Replica, links = Links, receivers = Receivers} = D) ->
    D#deltas{
        replica = lasp_replica:up(Name, Replica),
        links = maps:remove(Name, Links),
        receivers = Receivers#{Name => lasp_dictionary:new_receiver()}
    }.

%% @doc Removes a neighbour and its link.
-spec down(lasp_sync:name(), t()) -> result().
down(Name, #deltas{replica = Replica, links = Links, receivers = Receivers} = D) ->
    {Down, Effects} = lasp_replica:down(Name, Replica),
    Next = D#deltas{
        replica = Down,
        links = maps:remove(Name, Links),
        receivers = maps:remove(Name, Receivers)
    },
    {Next, Effects}.

%% @doc Links a neighbour.
-spec link(lasp_sync:name(), t()) -> result().
link(Name, D) ->
    Linked = new_link(Name, encoded(D)),
    {Linked, greeting(hello, Name, Linked)}.

%% @doc Links these neighbours, and no others.
-spec relink(ordsets:ordset(lasp_sync:name()), t()) -> result().
relink(Wanted, #deltas{links = Links} = D) ->
    Fewer = D#deltas{links = maps:with(Wanted, Links)},
    each(fun link/2, ordsets:subtract(Wanted, links(D)), Fewer).

%% @doc The messages due once per interval.
-spec tick(t()) -> result().
tick(#deltas{replica = Replica, quiet = Quiet} = D) ->
    Later = D#deltas{quiet = Quiet + 1},
    case lasp_replica:is_handing_over(Replica) of
        true ->
            {Pushed, Effects} = lasp_replica:push_all(Replica),
            {Later#deltas{replica = Pushed}, Effects};
        false when Quiet =:= 0 ->
            each(fun tick_link/2, links(D), Later#deltas{calm = 0});
        false ->
            Calmed = calmed(encoded(Later)),
            each(fun tick_quiet/2, lasp_replica:neighbours(Replica), Calmed)
    end.

%% @doc Handles a message of this scope.
-spec take(Kind :: term(), From :: lasp_sync:name(), Payload :: binary(), t()) -> result().
take(delta, From, Payload, D) ->
    Received = {count, delta, received, byte_size(Payload)},
    case Payload of
        <<Number:?NUMBER_BITS, Count, Acks:(4 * Count)/binary, Group/binary>> ->
            Acknowledged = acknowledged([A || <<A:?NUMBER_BITS>> <= Acks], From, D),
            {Next, Effects} = take_group(Number, From, Group, Acknowledged),
            {Next, [Received | Effects]};
        _ ->
            {D, [{count, malformed, received, byte_size(Payload)}]}
    end;
take(Kind, From, Digest, D) when Kind =:= hello; Kind =:= greet ->
    {Next, Effects} = greeted(Kind, From, Digest, encoded(D)),
    {Next, [{count, Kind, received, byte_size(Digest)} | Effects]};
take(Kind, From, Payload, #deltas{replica = Replica} = D) ->
    {New, Next, Effects} = lasp_replica:take(Kind, From, Payload, Replica),
    Taken = spread(New, From, D#deltas{replica = Next}),
    {Repaired, Repair} = repair(Kind, From, Payload, Taken),
    {Repaired, Effects ++ Repair}.

%% @doc Begins the handover to all neighbours.
-spec handover(t()) -> result().
handover(#deltas{replica = Replica} = D) ->
    {Next, Effects} = lasp_replica:handover(Replica),
    {D#deltas{replica = Next}, Effects}.

%% Internals: growth.

%% A change is pending on every link but the one it came from.
spread([], _From, D) ->
    D;
spread(New, From, #deltas{links = Links} = D) ->
    Keys = [Key || {Key, _} <- New],
    Spread = maps:map(
        fun
            (Name, Link) when Name =:= From -> Link;
            (_, Link) -> lasp_link:add(Keys, Link)
        end,
        Links
    ),
    D#deltas{links = Spread, quiet = 0}.

take_group(0, _From, <<>>, D) ->
    {D, []};
take_group(Number, From, Group, #deltas{receivers = Receivers, replica = Replica} = D) ->
    Receiver = maps:get(From, Receivers, lasp_dictionary:new_receiver()),
    case lasp_dictionary:decode(lasp_replica:type(Replica), Group, Receiver) of
        {ok, Parts, Learnt} ->
            Next = D#deltas{receivers = replace(From, Learnt, Receivers)},
            take_parts(Number, From, Parts, Next);
        {error, unknown} ->
            Encoded = encoded(D),
            {Encoded, greeting(hello, From, Encoded)};
        {error, malformed} ->
            {D, [{count, malformed, received, byte_size(Group)}]}
    end.

take_parts(Number, From, Parts, #deltas{replica = Replica} = D) ->
    case lasp_replica:join(Parts, Replica) of
        {ok, New, Next} ->
            Grown = spread(New, From, D#deltas{replica = Next}),
            {Owing, Effects} = received(Number, From, Parts, Grown),
            {Owing, [changed || New =/= []] ++ Effects};
        error ->
            {D, [{count, malformed, received, 0}]}
    end.

%% An unlinked neighbour gets the acknowledgement at once, since there is no next group to it.
received(Number, From, Parts, #deltas{links = Links, replica = Replica} = D) ->
    case Links of
        #{From := Link} ->
            {set_link(From, lasp_link:received(Number, Parts, Replica, Link), D), []};
        #{} ->
            {D, group(0, [Number], <<>>, From, D)}
    end.

%% Internals: sending.

calmed(#deltas{replica = Replica, calm = Calm} = D) ->
    case lasp_replica:agreed(Replica) of
        true -> D#deltas{calm = Calm + 1};
        false -> D#deltas{calm = 0}
    end.

tick_quiet(Name, #deltas{replica = Replica, calm = Calm} = D) ->
    case tick_link(Name, D) of
        {Next, []} when Calm =< ?REPEATS; Calm rem ?RARELY =:= 0 ->
            {Next, lasp_replica:send(digest, Name, lasp_replica:digest(Replica), Replica)};
        Sent ->
            Sent
    end.

tick_link(Name, #deltas{links = Links} = D) ->
    case Links of
        #{Name := Link} -> tick_link(Name, lasp_link:is_greeted(Link), Link, D);
        #{} -> {D, []}
    end.

tick_link(Name, false, _Link, D) ->
    Encoded = encoded(D),
    {Encoded, greeting(hello, Name, Encoded)};
tick_link(Name, true, Link, D) ->
    Aged = lasp_link:age(Link),
    case lasp_link:has_pending(Aged) of
        true -> send_pending(Name, Aged, D);
        false -> acknowledge(Name, Aged, D)
    end.

acknowledge(Name, Link, D) ->
    case lasp_link:take_owed(Link) of
        {[], Later} -> {set_link(Name, Later, D), []};
        {Acks, Later} -> {set_link(Name, Later, D), group(0, Acks, <<>>, Name, D)}
    end.

send_pending(Name, Link, #deltas{replica = Replica, next = Number, numbers = Numbers} = D) ->
    {Bytes, Next, Sent} = lasp_link:send(Number, Replica, Numbers, Link),
    {Acks, Later} = lasp_link:take_owed(Sent),
    Flying = set_link(Name, Later, (numbered(D))#deltas{numbers = Next}),
    {Flying, group(Number, Acks, Bytes, Name, Flying)}.

group(Number, Acks, Bytes, Name, #deltas{replica = Replica}) ->
    Acknowledged = << <<Ack:?NUMBER_BITS>> || Ack <- Acks >>,
    Payload = <<Number:?NUMBER_BITS, (length(Acks)), Acknowledged/binary, Bytes/binary>>,
    lasp_replica:send(delta, Name, Payload, Replica).

acknowledged(Numbers, From, #deltas{links = Links} = D) ->
    case Links of
        #{From := Link} -> set_link(From, lasp_link:acknowledged(Numbers, Link), D);
        #{} -> D
    end.

%% Internals: greetings.

greeted(hello, From, Digest, #deltas{links = Links} = D) ->
    Answer = greeting(greet, From, D),
    case Links of
        #{From := _} ->
            {Begun, Effects} = begun(From, Digest, new_link(From, D)),
            {Begun, Answer ++ Effects};
        #{} ->
            {D, Answer}
    end;
greeted(greet, From, Digest, #deltas{links = Links} = D) ->
    case Links of
        #{From := Link} -> begun_once(lasp_link:is_greeted(Link), From, Digest, D);
        #{} -> {D, []}
    end.

begun_once(true, _From, _Digest, D) -> {D, []};
begun_once(false, From, Digest, D) -> begun(From, Digest, D).

%% The other end holds the value with this digest.
begun(Name, Digest, #deltas{name = Self, links = Links, replica = Replica} = D) ->
    #{Name := Link} = Links,
    case lasp_replica:digest(Replica) of
        Digest -> {set_link(Name, lasp_link:greeted(Link), D), []};
        _ when Self < Name -> send_pending(Name, lasp_link:greeted(Replica, Link), D);
        _ -> {set_link(Name, lasp_link:greeted(Replica, Link), D), []}
    end.

greeting(Kind, Name, #deltas{replica = Replica}) ->
    lasp_replica:send(Kind, Name, lasp_replica:digest(Replica), Replica).

new_link(Name, D) ->
    set_link(Name, lasp_link:new(), D).

%% Internals: repair.

%% Two replicas with nothing to send that still differ. Compared only when quiet: digests always
%% differ while changes are in flight.
repair(digest, From, Digest, #deltas{quiet = Quiet, links = Links, replica = Replica} = D) ->
    Idle =
        case Links of
            #{From := Link} -> Quiet > 0 andalso lasp_link:is_idle(Link);
            #{} -> Quiet >= ?DETOUR
        end,
    case lists:member(From, lasp_replica:neighbours(Replica)) andalso Idle of
        true ->
            Encoded = encoded(D),
            case lasp_replica:digest(Encoded#deltas.replica) of
                Digest -> {Encoded, []};
                _ -> {Encoded, lasp_replica:push(From, Encoded#deltas.replica)}
            end;
        false ->
            {D, []}
    end;
repair(_Kind, _From, _Payload, D) ->
    {D, []}.

%% Internals: the record.

%% The linked neighbours, in order.
links(#deltas{links = Links}) ->
    lists:sort(maps:keys(Links)).

each(Fun, Names, D) ->
    {Effects, Next} = lists:mapfoldl(
        fun(Name, D0) ->
            {D1, More} = Fun(Name, D0),
            {More, D1}
        end,
        D,
        Names
    ),
    {Next, lists:append(Effects)}.

set_link(Name, Link, #deltas{links = Links} = D) ->
    D#deltas{links = Links#{Name => Link}}.

replace(Name, Receiver, Receivers) when is_map_key(Name, Receivers) -> Receivers#{Name := Receiver};
replace(_, _, Receivers) -> Receivers.

%% Never zero, which means no group.
numbered(#deltas{next = Next} = D) ->
    D#deltas{next = Next rem ((1 bsl ?NUMBER_BITS) - 1) + 1}.

encoded(#deltas{replica = Replica} = D) ->
    D#deltas{replica = lasp_replica:encoded(Replica)}.

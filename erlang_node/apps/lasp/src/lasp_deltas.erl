%%% @doc Synchronisation by deltas over links: what is new here is sent once over every link, except
%%% to where it came from.
%%%
%%% Almeida, Shoker, Baquero, "Delta state replicated data types" (2018), with both improvements of
%%% Enes et al., "Efficient synchronization of state-based CRDTs" (ICDE 2019): back-propagation is
%%% avoided (BP), and of what is received only what is new here is passed on (RR). What a neighbour
%%% sends it knows, so that it also leaves what was waiting to be sent to it: where both ends of a
%%% link learn of a change from elsewhere, only the one whose turn comes first sends it.
%%%
%%% == A link ==
%%% to a neighbour has a delta-group that waits (`pending') and those that were sent (`flights').
%%% Each interval the pending group goes out under a new number and joins the flights; when it is
%%% acknowledged it is dropped, when it has not been for two intervals it is pending again. A group
%%% is kept as the keys of its parts: their leaves are those of the value when it is sent, for a
%%% later one says all that an earlier did. So a group is never larger than the value, however long
%%% a neighbour is silent, and what is received is joined once, however many links there are.
%%% Acknowledgements travel with the next group the other way. Numbers are drawn from one row for
%%% all links, which begins at random in each life: an acknowledgement that comes late is that of
%%% nothing.
%%%
%%% == A link that comes ==
%%% begins with a greeting: both ends exchange digests. Where these are equal nothing is
%%% pending; otherwise the end with the smaller name sends all it has, and the other answers with
%%% what that lacked. A greeting asks the other end to begin anew as well, and is also what a node
%%% sends that receives a group which it cannot read.
%%%
%%% == When all is quiet ==
%%% each neighbour is sent a digest each interval, linked or not. Where it differs from that of a
%%% replica that is as quiet, the states are exchanged, whatever went wrong before. Over a link
%%% that is at once, for what is on its way there is known. Where neighbours are not linked it may
%%% be on its way over others, one interval for each, so that they wait for sixteen. A node that has
%%% heard all its neighbours to be equal goes on for two intervals and from then on repeats itself
%%% every eighth, until something grows, comes or differs: those who have not heard it ask by their
%%% own digests, and get it late at the worst.
%%%
%%% Which neighbours are linked is the caller's affair: all of them ({@link lasp_sync_delta}), or
%%% those that a tree connects ({@link lasp_sync_tree}). Messages are understood from any.
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

-type id() :: non_neg_integer().

%% The keys of parts; `all' that there are, until it is known what the neighbour lacks.
-type group() :: #{lasp_lattice:key() => []} | all.

-record(flight, {
    number :: id(),
    group :: [lasp_lattice:key()],
    definitions :: lasp_dictionary:definitions(),
    age = 0 :: non_neg_integer()
}).

-record(link, {
    pending :: group(),
    sender :: lasp_dictionary:sender(),
    flights = [] :: [#flight{}],
    % Numbers of groups that the neighbour has not been told of to have arrived.
    owed = [] :: [id()],
    % The neighbour has answered since the link came.
    greeted = false :: boolean()
}).

-record(deltas, {
    name :: lasp_sync:name(),
    replica :: lasp_replica:t(),
    % Ticks since the replica has grown.
    quiet = 1 :: non_neg_integer(),
    % Quiet intervals in a row in which all neighbours were last heard to be equal.
    calm = 0 :: non_neg_integer(),
    next :: id(),
    numbers :: lasp_dictionary:numbers(),
    links = #{} :: #{lasp_sync:name() => #link{}},
    receivers = #{} :: #{lasp_sync:name() => lasp_dictionary:receiver()}
}).

-opaque t() :: #deltas{}.

-export_type([t/0]).

-type result() :: {t(), [lasp_sync:effect()]}.

-define(NUMBER_BITS, 32).
%% A group is sent again when it has not been acknowledged for so many intervals.
-define(PATIENCE, 2).
%% Calm intervals in which digests are still sent, and from which one they are so rarely.
-define(REPEATS, 2).
-define(RARELY, 8).
%% Two that are not linked wait for so many quiet intervals before they are compared: longer than
%% what is new takes over a tree of a thousand nodes, or a tree that has lost its root to heal.
-define(DETOUR, 16).
%% The most acknowledgements in one message; the others go with the next.
-define(MAX_OWED, 255).

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

%% @doc What is held.
-spec replica(t()) -> lasp_replica:t().
replica(#deltas{replica = Replica}) ->
    Replica.

%% @doc Joins a delta of this node's own.
-spec update(Delta :: term(), t()) -> result().
update(Delta, #deltas{replica = Replica} = D) ->
    {New, Merged} = lasp_replica:merge(Delta, Replica),
    {spread(New, none, D#deltas{replica = Merged}), [changed || New =/= []]}.

%% @doc A neighbour has come, or another life of it. It is not linked.
-spec up(lasp_sync:name(), t()) -> t().
up(Name, #deltas{replica = Replica, links = Links, receivers = Receivers} = D) ->
    D#deltas{
        replica = lasp_replica:up(Name, Replica),
        links = maps:remove(Name, Links),
        receivers = Receivers#{Name => lasp_dictionary:new_receiver()}
    }.

%% @doc A neighbour has gone, and with it its link.
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

%% @doc What is due once per interval.
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

%% @doc Takes a message of this scope.
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

%% What is new is pending on every link but the one it came from.
spread([], _From, D) ->
    D;
spread(New, From, #deltas{links = Links} = D) ->
    Keys = [Key || {Key, _} <- New],
    Spread = maps:map(
        fun
            (Name, Link) when Name =:= From -> Link;
            (_, #link{pending = Pending} = Link) -> Link#link{pending = more(Keys, Pending)}
        end,
        Links
    ),
    D#deltas{links = Spread, quiet = 0}.

more(_Keys, all) -> all;
more(Keys, Pending) -> lists:foldl(fun(Key, Group) -> Group#{Key => []} end, Pending, Keys).

%% The group as keys.
keys(all, Replica) ->
    Keyed = lasp_lattice:keyed(lasp_replica:type(Replica), lasp_replica:value(Replica)),
    more([Key || {Key, _} <- Keyed], #{});
keys(Group, _Replica) ->
    Group.

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

%% One that is not linked is told at once, for there is no next group to it.
received(Number, From, Parts, #deltas{links = Links, replica = Replica} = D) ->
    case Links of
        #{From := #link{pending = Pending, owed = Owed} = Link} ->
            Left = unknown(Parts, keys(Pending, Replica), Replica),
            Owing = Link#link{pending = Left, owed = [Number | Owed]},
            {D#deltas{links = Links#{From := Owing}}, []};
        #{} ->
            {D, group(0, [Number], <<>>, From, D)}
    end.

%% What is left of a group for one who has sent these parts: that of which more is known here.
unknown(Parts, Group, Replica) ->
    Type = lasp_replica:type(Replica),
    Value = lasp_replica:value(Replica),
    lists:foldl(
        fun
            ({Key, Leaf}, Left) when is_map_key(Key, Left) ->
                case Type:leaf(Key, Value) of
                    Leaf -> maps:remove(Key, Left);
                    _ -> Left
                end;
            (_, Left) ->
                Left
        end,
        Group,
        Parts
    ).

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
        #{Name := #link{greeted = false}} ->
            Encoded = encoded(D),
            {Encoded, greeting(hello, Name, Encoded)};
        #{Name := Link} ->
            case aged(Link) of
                #link{pending = Group, owed = []} = Aged when Group =:= #{} ->
                    {set_link(Name, Aged, D), []};
                #link{pending = Group, owed = Owed} = Aged when Group =:= #{} ->
                    {Acks, Later} = owed(Owed),
                    {set_link(Name, Aged#link{owed = Later}, D), group(0, Acks, <<>>, Name, D)};
                Aged ->
                    send_pending(Name, set_link(Name, Aged, D))
            end;
        #{} ->
            {D, []}
    end.

%% The link an interval later: what has not been acknowledged in time is pending again.
aged(#link{flights = Flights, pending = Pending} = Link) ->
    Older = [Flight#flight{age = Age + 1} || #flight{age = Age} = Flight <- Flights],
    {Lost, Flying} = lists:partition(fun(#flight{age = Age}) -> Age >= ?PATIENCE end, Older),
    Again = lists:foldl(fun(#flight{group = Keys}, Group) -> more(Keys, Group) end, Pending, Lost),
    Link#link{flights = Flying, pending = Again}.

send_pending(Name, #deltas{links = Links, replica = Replica, next = Number, numbers = Ids} = D) ->
    Type = lasp_replica:type(Replica),
    Value = lasp_replica:value(Replica),
    #{Name := #link{pending = Pending, sender = Sender, owed = Owed} = Link} = Links,
    Keys = maps:keys(keys(Pending, Replica)),
    % What another part has replaced since is not there: the other is of a group too.
    Parts = [{Key, Leaf} || Key <- Keys, Leaf <- [Type:leaf(Key, Value)], Leaf =/= none],
    {Bytes, Definitions, Numbers} = lasp_dictionary:encode(Type, Parts, Sender, Ids),
    Flight = #flight{number = Number, group = Keys, definitions = Definitions},
    {Acks, Later} = owed(Owed),
    Sent = Link#link{
        pending = #{}, flights = [Flight | Link#link.flights], owed = Later
    },
    Next = set_link(Name, Sent, (numbered(D))#deltas{numbers = Numbers}),
    {Next, group(Number, Acks, Bytes, Name, D)}.

group(Number, Acks, Bytes, Name, #deltas{replica = Replica}) ->
    Told = << <<Ack:?NUMBER_BITS>> || Ack <- Acks >>,
    Payload = <<Number:?NUMBER_BITS, (length(Acks)), Told/binary, Bytes/binary>>,
    lasp_replica:send(delta, Name, Payload, Replica).

owed(Owed) when length(Owed) =< ?MAX_OWED -> {Owed, []};
owed(Owed) -> lists:split(?MAX_OWED, Owed).

acknowledged(Numbers, From, #deltas{links = Links} = D) ->
    case Links of
        #{From := Link} -> set_link(From, lists:foldl(fun arrived/2, Link, Numbers), D);
        #{} -> D
    end.

arrived(Number, #link{flights = Flights, sender = Sender} = Link) ->
    case lists:keytake(Number, #flight.number, Flights) of
        {value, #flight{definitions = Definitions}, Flying} ->
            Known = lasp_dictionary:acknowledged(Definitions, Sender),
            Link#link{flights = Flying, sender = Known};
        false ->
            Link
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
        #{From := #link{greeted = false}} -> begun(From, Digest, D);
        #{} -> {D, []}
    end.

%% The other end holds what has this digest.
begun(Name, Digest, #deltas{name = Self, links = Links, replica = Replica} = D) ->
    #{Name := Link} = Links,
    Begun = Link#link{greeted = true},
    case lasp_replica:digest(Replica) of
        Digest ->
            {set_link(Name, Begun#link{pending = #{}}, D), []};
        _ when Self < Name ->
            send_pending(Name, set_link(Name, Begun, D));
        _ ->
            Pending = keys(Begun#link.pending, Replica),
            {set_link(Name, Begun#link{pending = Pending}, D), []}
    end.

greeting(Kind, Name, #deltas{replica = Replica}) ->
    lasp_replica:send(Kind, Name, lasp_replica:digest(Replica), Replica).

new_link(Name, D) ->
    set_link(Name, #link{pending = all, sender = lasp_dictionary:new_sender()}, D).

%% Internals: repair.

%% Two that have nothing to tell each other, and yet differ. Only what is quiet here is compared:
%% while changes are on their way digests always differ.
repair(digest, From, Digest, #deltas{quiet = Quiet, links = Links, replica = Replica} = D) ->
    Idle =
        case Links of
            #{From := #link{pending = Pending, flights = Flights, greeted = Greeted}} ->
                Quiet > 0 andalso Pending =:= #{} andalso Flights =:= [] andalso Greeted;
            #{} ->
                Quiet >= ?DETOUR
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

%% The neighbours that are linked, in order.
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

%% Never zero, which is the number of no group.
numbered(#deltas{next = Next} = D) ->
    D#deltas{next = Next rem ((1 bsl ?NUMBER_BITS) - 1) + 1}.

encoded(#deltas{replica = Replica} = D) ->
    D#deltas{replica = lasp_replica:encoded(Replica)}.

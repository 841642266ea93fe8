%%% @doc A link of {@link lasp_deltas} to a neighbour: pending parts, unacknowledged groups, and
%%% owed acknowledgements.
%%%
%%% A delta-group that waits is `pending'. When sent it gets a number and becomes a flight. An
%%% acknowledged flight is dropped; one not acknowledged for two intervals is pending again. A group
%%% holds the keys of its parts: their leaves are taken from the value when sent, since a later leaf
%%% includes an earlier one. So a group is never larger than the value, however long a neighbour is
%%% silent.
-module(lasp_link).

-export([new/0]).
-export([add/2]).
-export([age/1]).
-export([has_pending/1]).
-export([send/4]).
-export([acknowledged/2]).
-export([received/4]).
-export([take_owed/1]).
-export([greeted/1]).
-export([greeted/2]).
-export([is_greeted/1]).
-export([is_idle/1]).

-type id() :: non_neg_integer().

%% The keys of parts; `all' until it is known what the neighbour lacks.
-type group() :: #{lasp_lattice:key() => []} | all.

-record(flight, {
    number :: id(),
    group :: [lasp_lattice:key()],
    definitions :: lasp_dictionary:definitions(),
    age = 0 :: non_neg_integer()
}).

-record(link, {
    pending = all :: group(),
    sender = lasp_dictionary:new_sender() :: lasp_dictionary:sender(),
    flights = [] :: [#flight{}],
    % Numbers of groups whose arrival has not been acknowledged to the neighbour.
    owed = [] :: [id()],
    % Whether the neighbour has answered since the link came.
    greeted = false :: boolean()
}).

-opaque t() :: #link{}.

-export_type([t/0, id/0]).

%% Intervals after which an unacknowledged group is sent again.
-define(RESEND_AFTER, 2).
%% Maximum acknowledgements in one message; the others go with the next.
-define(MAX_OWED, 255).

%% @doc A new link: everything is pending.
-spec new() -> t().
new() ->
    #link{}.

%% @doc Adds these parts to the pending ones.
-spec add([lasp_lattice:key()], t()) -> t().
add(Keys, #link{pending = Pending} = Link) ->
    Link#link{pending = more(Keys, Pending)}.

%% @doc Advances by an interval: groups not acknowledged in time are pending again.
-spec age(t()) -> t().
age(#link{flights = Flights, pending = Pending} = Link) ->
    Older = [Flight#flight{age = Age + 1} || #flight{age = Age} = Flight <- Flights],
    {Lost, Flying} = lists:partition(fun(#flight{age = Age}) -> Age >= ?RESEND_AFTER end, Older),
    Again = lists:foldl(fun(#flight{group = Keys}, Group) -> more(Keys, Group) end, Pending, Lost),
    Link#link{flights = Flying, pending = Again}.

%% @doc Whether anything waits to be sent.
-spec has_pending(t()) -> boolean().
has_pending(#link{pending = Pending}) ->
    Pending =/= #{}.

%% @doc The pending group as bytes, in flight under this number from now on.
-spec send(id(), lasp_replica:t(), lasp_dictionary:numbers(), t()) ->
    {binary(), lasp_dictionary:numbers(), t()}.
send(Number, Replica, Numbers, #link{pending = Pending, sender = Sender} = Link) ->
    Type = lasp_replica:type(Replica),
    Value = lasp_replica:value(Replica),
    Keys = maps:keys(keys(Pending, Replica)),
    % A part replaced by another since is gone: the other is in a group too.
    Parts = [{Key, Leaf} || Key <- Keys, Leaf <- [Type:leaf(Key, Value)], Leaf =/= none],
    {Bytes, Definitions, Later} = lasp_dictionary:encode(Type, Parts, Sender, Numbers),
    Flight = #flight{number = Number, group = Keys, definitions = Definitions},
    {Bytes, Later, Link#link{pending = #{}, flights = [Flight | Link#link.flights]}}.

%% @doc The neighbour has received the groups of these numbers; unknown numbers are ignored.
-spec acknowledged([id()], t()) -> t().
acknowledged(Numbers, Link) ->
    lists:foldl(fun arrived/2, Link, Numbers).

%% @doc A group of this number has arrived, with these parts: its acknowledgement is owed, and the
%% neighbour need not get these parts.
-spec received(id(), [lasp_lattice:keyed()], lasp_replica:t(), t()) -> t().
received(Number, Parts, Replica, #link{pending = Pending, owed = Owed} = Link) ->
    Left = unknown(Parts, keys(Pending, Replica), Replica),
    Link#link{pending = Left, owed = [Number | Owed]}.

%% @doc The acknowledgements for the next message.
-spec take_owed(t()) -> {[id()], t()}.
take_owed(#link{owed = Owed} = Link) ->
    {Now, Later} = lists:split(min(?MAX_OWED, length(Owed)), Owed),
    {Now, Link#link{owed = Later}}.

%% @doc The neighbour has answered, and holds the same: nothing is pending.
-spec greeted(t()) -> t().
greeted(Link) ->
    Link#link{greeted = true, pending = #{}}.

%% @doc The neighbour has answered, and holds something else.
-spec greeted(lasp_replica:t(), t()) -> t().
greeted(Replica, #link{pending = Pending} = Link) ->
    Link#link{greeted = true, pending = keys(Pending, Replica)}.

%% @doc Whether the neighbour has answered since the link came.
-spec is_greeted(t()) -> boolean().
is_greeted(#link{greeted = Greeted}) ->
    Greeted.

%% @doc Whether the two ends have exchanged everything.
-spec is_idle(t()) -> boolean().
is_idle(#link{pending = Pending, flights = Flights, greeted = Greeted}) ->
    Pending =:= #{} andalso Flights =:= [] andalso Greeted.

%% Internals.

more(_Keys, all) -> all;
more(Keys, Pending) -> lists:foldl(fun(Key, Group) -> Group#{Key => []} end, Pending, Keys).

%% The group as keys.
keys(all, Replica) ->
    Keyed = lasp_lattice:keyed(lasp_replica:type(Replica), lasp_replica:value(Replica)),
    more([Key || {Key, _} <- Keyed], #{});
keys(Group, _Replica) ->
    Group.

%% The part of a group not covered by these parts: where more is known here.
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

arrived(Number, #link{flights = Flights, sender = Sender} = Link) ->
    case lists:keytake(Number, #flight.number, Flights) of
        {value, #flight{definitions = Definitions}, Flying} ->
            Known = lasp_dictionary:acknowledged(Definitions, Sender),
            Link#link{flights = Flying, sender = Known};
        false ->
            Link
    end.

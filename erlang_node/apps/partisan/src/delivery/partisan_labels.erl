%%% @doc The causal orders of a node: one {@link partisan_causal} per label, created on demand.
%%%
%%% An order is dropped when all nodes that it concerns have ended. Until then its counts have to go
%%% on: a label lasts as long as the nodes that use it.
-module(partisan_labels).

-compile({no_auto_import, [size/1]}).

-export([new/1]).
-export([stamp/3]).
-export([take/5]).
-export([forget/2]).
-export([size/1]).

-type label() :: term().

-record(labels, {
    self :: partisan_causal:instance(),
    orders = #{} :: #{label() => partisan_causal:t()}
}).

-opaque t() :: #labels{}.
-export_type([t/0, label/0]).

%% @doc No label in use.
-spec new(Self :: partisan_causal:instance()) -> t().
new(Self) ->
    #labels{self = Self}.

%% @doc The stamp of the next message of this label to that incarnation of a node.
-spec stamp(label(), To :: partisan_causal:instance(), t()) -> {partisan_causal:stamp(), t()}.
stamp(Label, To, L) ->
    {Stamp, Order} = partisan_causal:send(To, order(Label, L)),
    {Stamp, store(Label, Order, L)}.

%% @doc Handles a message. Returns the messages that may be delivered now, in order.
-spec take(label(), From :: partisan_causal:instance(), partisan_causal:stamp(), Message, t()) ->
    {[Message], t()}
when
    Message :: term().
take(Label, From, Stamp, Message, L) ->
    {Released, Order} = partisan_causal:receive_message(From, Stamp, Message, order(Label, L)),
    {Released, store(Label, Order, L)}.

%% @doc This incarnation of a node has ended: releases what waited for its messages.
-spec forget(partisan_causal:instance(), t()) -> {[Message :: term()], t()}.
forget(Instance, #labels{orders = Orders} = L0) ->
    maps:fold(
        fun(Label, Order0, {Released, L}) ->
            {More, Order} = partisan_causal:forget(Instance, Order0),
            {Released ++ More, keep(Label, Order, L)}
        end,
        {[], L0},
        Orders
    ).

%% @doc Number of orders.
-spec size(t()) -> non_neg_integer().
size(#labels{orders = Orders}) ->
    map_size(Orders).

%% Internals.

order(Label, #labels{orders = Orders, self = Self}) ->
    case Orders of
        #{Label := Order} -> Order;
        #{} -> partisan_causal:new(Self)
    end.

keep(Label, Order, #labels{orders = Orders} = L) ->
    case partisan_causal:is_empty(Order) of
        true -> L#labels{orders = maps:remove(Label, Orders)};
        false -> store(Label, Order, L)
    end.

store(Label, Order, #labels{orders = Orders} = L) ->
    L#labels{orders = Orders#{Label => Order}}.

%%% @doc Eager gossip: every node forwards a broadcast on first receipt.
%%%
%%% To all neighbours, a flood, or to `fanout' random ones: the epidemic broadcast that membership
%%% protocols are published with (for example in section 5 of Leitão, Pereira, Rodrigues,
%%% "HyParView", DSN 2007). It repairs no loss and sends every payload to each node several times: a
%%% baseline to compare with {@link partisan_plumtree}, which is the one to use.
%%%
%%% A pure layer with the events and effects of {@link partisan_plumtree}; delivery is exactly once.
-module(partisan_gossip).

-export([init/1]).
-export([handle/2]).

-import(partisan_layer, [emit/2]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    fanout => all | pos_integer(),
    _ => _
}.

-type msg() ::
    {gossip, partisan_received:id(), Round :: non_neg_integer(), Payload :: term()}.

-export_type([options/0, msg/0]).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    number := non_neg_integer(),
    neighbours := #{partisan_peer:name() => partisan_peer:t()},
    received := partisan_received:t(),
    _ => _
}.

-export_type([state/0]).

%% @doc A node without messages.
-spec init(options()) -> state().
init(Options) ->
    partisan_layer:new(#{fanout => all}, Options, #{
        number => 0, neighbours => #{}, received => partisan_received:new()
    }).

%% @doc Handles one event.
-spec handle(partisan_plumtree:event(), state()) -> {state(), [partisan_plumtree:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

event({broadcast, Payload}, #{self := Self, number := Number} = S) ->
    #{name := Name, incarnation := Incarnation} = Self,
    Id = {Name, Incarnation, Number + 1},
    pass_on(Id, 0, Payload, Name, receive_payload(Id, Payload, S#{number := Number + 1}));
event({neighbour_up, #{name := Name} = Peer}, #{neighbours := Neighbours} = S) ->
    S#{neighbours := Neighbours#{Name => Peer}};
event({neighbour_down, Name}, #{neighbours := Neighbours} = S) ->
    S#{neighbours := maps:remove(Name, Neighbours)};
event({message, #{name := From}, {gossip, Id, Round, Payload}}, #{received := Received} = S0) ->
    case partisan_received:contains(Id, Received) of
        true ->
            emit({count, duplicate}, S0);
        false ->
            S1 = emit({count, gossip}, emit({heard, element(1, Id), From}, S0)),
            pass_on(Id, Round + 1, Payload, From, receive_payload(Id, Payload, S1))
    end.

pass_on(Id, Round, Payload, Except, #{neighbours := Neighbours} = S0) ->
    Others = maps:values(maps:remove(Except, Neighbours)),
    {Targets, S1} =
        case partisan_layer:option(fanout, S0) of
            all -> {Others, S0};
            Fanout -> partisan_layer:sample(Fanout, Others, S0)
        end,
    partisan_layer:send_all(Targets, {gossip, Id, Round, Payload}, S1).

receive_payload(Id, Payload, #{received := Received} = S) ->
    emit({deliver, Payload}, S#{received := partisan_received:add(Id, Received)}).

%%% @doc Eager gossip: every node passes a broadcast on, the first time that it gets it.
%%%
%%% To all neighbours, a flood, or to as many of them as the fanout says, chosen anew each time: the
%%% epidemic broadcast that membership protocols are published with (for example in section 5 of
%%% Leitão, Pereira, Rodrigues, "HyParView", DSN 2007). It mends nothing by itself and sends every
%%% payload several times to everyone; {@link partisan_plumtree} is what to use, this is what to
%%% compare with.
%%%
%%% A pure layer with the events and effects of {@link partisan_plumtree}; delivery is exactly once.
-module(partisan_gossip).

-export([init/1]).
-export([handle/2]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    fanout => all | pos_integer(),
    _ => _
}.

-type msg() ::
    {gossip, partisan_plumtree:id(), Round :: non_neg_integer(), Payload :: term()}.

-export_type([options/0, msg/0]).

-record(state, {
    self :: partisan_peer:t(),
    fanout :: all | pos_integer(),
    rand :: rand:state(),
    number = 0 :: non_neg_integer(),
    neighbours = #{} :: #{partisan_peer:name() => partisan_peer:t()},
    % By origin, a life of it and what was received of that life.
    received = #{} :: #{partisan_peer:name() => {partisan_peer:incarnation(), partisan_window:t()}},
    out = [] :: [partisan_plumtree:effect()]
}).

-opaque state() :: #state{}.
-export_type([state/0]).

-spec init(options()) -> state().
init(#{self := Self, seed := Seed} = Options) ->
    #state{
        self = Self,
        fanout = maps:get(fanout, Options, all),
        rand = rand:seed_s(exsss, Seed)
    }.

-spec handle(partisan_plumtree:event(), state()) -> {state(), [partisan_plumtree:effect()]}.
handle(Event, S0) ->
    #state{out = Out} = S1 = event(Event, S0),
    {S1#state{out = []}, lists:reverse(Out)}.

event({broadcast, Payload}, #state{self = Self, number = Number} = S) ->
    #{name := Name, incarnation := Incarnation} = Self,
    Id = {Name, Incarnation, Number + 1},
    pass_on(Id, 0, Payload, Name, receive_payload(Id, Payload, S#state{number = Number + 1}));
event({neighbour_up, #{name := Name} = Peer}, #state{neighbours = Neighbours} = S) ->
    S#state{neighbours = Neighbours#{Name => Peer}};
event({neighbour_down, Name}, #state{neighbours = Neighbours} = S) ->
    S#state{neighbours = maps:remove(Name, Neighbours)};
event({message, #{name := From}, {gossip, Id, Round, Payload}}, S0) ->
    case is_received(Id, S0) of
        true ->
            emit({count, duplicate}, S0);
        false ->
            S1 = emit({count, gossip}, emit({heard, element(1, Id), From}, S0)),
            pass_on(Id, Round + 1, Payload, From, receive_payload(Id, Payload, S1))
    end.

pass_on(Id, Round, Payload, Except, #state{neighbours = Neighbours} = S0) ->
    Others = maps:values(maps:remove(Except, Neighbours)),
    {Targets, S1} = targets(Others, S0),
    lists:foldl(fun(P, S) -> emit({send, P, {gossip, Id, Round, Payload}}, S) end, S1, Targets).

targets(Others, #state{fanout = all} = S) ->
    {Others, S};
targets(Others, #state{fanout = Fanout, rand = Rand0} = S) ->
    {Targets, Rand} = partisan_random:sample(Fanout, Others, Rand0),
    {Targets, S#state{rand = Rand}}.

receive_payload({Name, Incarnation, Number}, Payload, #state{received = Received} = S) ->
    Window =
        case Received of
            #{Name := {Incarnation, W}} -> W;
            #{} -> partisan_window:new()
        end,
    Added = {Incarnation, partisan_window:add(Number, Window)},
    emit({deliver, Payload}, S#state{received = Received#{Name => Added}}).

is_received({Name, Incarnation, Number}, #state{received = Received}) ->
    case Received of
        #{Name := {Known, Window}} ->
            Incarnation < Known orelse
                (Incarnation =:= Known andalso partisan_window:seen(Number, Window));
        #{} ->
            false
    end.

emit(Effect, #state{out = Out} = S) ->
    S#state{out = [Effect | Out]}.

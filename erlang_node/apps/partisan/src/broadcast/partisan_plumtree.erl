%%% @doc Plumtree: broadcast along a tree that the broadcasts themselves carve out of the overlay.
%%%
%%% Leitão, Pereira, Rodrigues, "Epidemic broadcast trees", SRDS 2007. Payloads go to the eager
%%% peers; the lazy peers are only told of them (IHAVE). A duplicate makes its link lazy (PRUNE), a
%%% payload that is known of and does not come is fetched and makes its link eager (GRAFT): the
%%% eager links become a spanning tree, and the lazy ones mend it.
%%%
%%% Delivery here is exactly once per node and broadcast: messages are numbered by their origin and
%%% each node remembers, per origin, a {@link partisan_window}. Payloads are kept for grafts in a
%%% store bounded by their number.
%%%
%%% A pure layer of the same shape as an overlay; the neighbours are those of the overlay below.
-module(partisan_plumtree).

-export([init/1]).
-export([handle/2]).
-export([eager/1]).
-export([lazy/1]).

-type id() :: {partisan_peer:name(), partisan_peer:incarnation(), pos_integer()}.

-type msg() ::
    {gossip, id(), Round :: non_neg_integer(), Payload :: term()}
    | {ihave, id(), Round :: non_neg_integer()}
    | {graft, id(), Round :: non_neg_integer()}
    | prune.

-type event() ::
    {broadcast, Payload :: term()}
    | {message, partisan_peer:t(), msg()}
    | {neighbour_up, partisan_peer:t()}
    | {neighbour_down, partisan_peer:name()}
    | {timer, id()}.

-type effect() ::
    {send, partisan_peer:t(), msg()}
    | {deliver, Payload :: term()}
    % A payload of this origin came first by way of this neighbour: a way back to the origin.
    | {heard, Origin :: partisan_peer:name(), Via :: partisan_peer:name()}
    | {start_timer, id(), pos_integer()}
    | {count, gossip | duplicate | ihave | graft | prune}.

-type options() :: #{
    self := partisan_peer:t(),
    % How long to wait for the payload of an IHAVE, and for the answer to a graft (section 3.6).
    ihave_timeout => pos_integer(),
    graft_timeout => pos_integer(),
    % A lazy link that was this many rounds shorter replaces the eager one (section 3.8).
    optimisation_threshold => pos_integer(),
    % How many payloads are kept for grafts.
    kept => pos_integer(),
    _ => _
}.

-export_type([id/0, msg/0, event/0, effect/0, options/0]).

-record(state, {
    options :: options(),
    number = 0 :: non_neg_integer(),
    eager = #{} :: #{partisan_peer:name() => partisan_peer:t()},
    lazy = #{} :: #{partisan_peer:name() => partisan_peer:t()},
    received = #{} :: #{partisan_peer:name() => {partisan_peer:incarnation(), partisan_window:t()}},
    % Announced and not yet received: who has it, earliest first.
    missing = #{} :: #{id() => [{partisan_peer:t(), Round :: non_neg_integer()}]},
    kept = #{} :: #{id() => {Round :: non_neg_integer(), Payload :: term()}},
    order = queue:new() :: queue:queue(id()),
    out = [] :: [effect()]
}).

-opaque state() :: #state{}.
-export_type([state/0]).

%% API.

-spec init(options()) -> state().
init(Options) ->
    #state{options = maps:merge(defaults(), Options)}.

-spec handle(event(), state()) -> {state(), [effect()]}.
handle(Event, S0) ->
    #state{out = Out} = S1 = event(Event, S0),
    {S1#state{out = []}, lists:reverse(Out)}.

-spec eager(state()) -> [partisan_peer:t()].
eager(#state{eager = Eager}) ->
    maps:values(Eager).

-spec lazy(state()) -> [partisan_peer:t()].
lazy(#state{lazy = Lazy}) ->
    maps:values(Lazy).

%% Events.

event({broadcast, Payload}, #state{number = Number} = S0) ->
    #{name := Name, incarnation := Incarnation} = option(self, S0),
    Id = {Name, Incarnation, Number + 1},
    S1 = receive_payload(Id, 0, Payload, S0#state{number = Number + 1}),
    push(Id, 0, Payload, Name, S1);
event({neighbour_up, #{name := Name} = Peer}, #state{eager = Eager, lazy = Lazy} = S) ->
    S#state{eager = Eager#{Name => Peer}, lazy = maps:remove(Name, Lazy)};
event({neighbour_down, Name}, #state{eager = Eager, lazy = Lazy, missing = Missing} = S) ->
    S#state{
        eager = maps:remove(Name, Eager),
        lazy = maps:remove(Name, Lazy),
        missing = maps:map(fun(_, Who) -> [A || {#{name := N}, _} = A <- Who, N =/= Name] end, Missing)
    };
event({timer, Id}, #state{missing = Missing} = S) ->
    case Missing of
        #{Id := [{Peer, Round} | Others]} ->
            S1 = make_eager(Peer, S#state{missing = Missing#{Id := Others}}),
            S2 = emit({start_timer, Id, option(graft_timeout, S1)}, S1),
            emit({count, graft}, emit({send, Peer, {graft, Id, Round}}, S2));
        #{Id := []} ->
            % Nobody left to ask: the next IHAVE starts over.
            S#state{missing = maps:remove(Id, Missing)};
        #{} ->
            S
    end;
event({message, From, {gossip, Id, Round, Payload}}, S0) ->
    case is_received(Id, S0) of
        true ->
            emit({count, duplicate}, emit({send, From, prune}, make_lazy(From, S0)));
        false ->
            #{name := Name} = From,
            Announced = maps:get(Id, S0#state.missing, []),
            Heard = emit({heard, element(1, Id), Name}, S0),
            S1 = emit({count, gossip}, receive_payload(Id, Round + 1, Payload, Heard)),
            S2 = push(Id, Round + 1, Payload, Name, make_eager(From, S1)),
            optimise(From, Round, Announced, Id, S2)
    end;
event({message, From, {ihave, Id, Round}}, #state{missing = Missing} = S) ->
    case is_received(Id, S) of
        true ->
            S;
        false ->
            S1 = S#state{missing = Missing#{Id => maps:get(Id, Missing, []) ++ [{From, Round}]}},
            case Missing of
                #{Id := _} -> S1;
                #{} -> emit({start_timer, Id, option(ihave_timeout, S1)}, S1)
            end
    end;
event({message, From, {graft, Id, _Round}}, #state{kept = Kept} = S0) ->
    S1 = make_eager(From, S0),
    case Kept of
        #{Id := {Round, Payload}} -> emit({send, From, {gossip, Id, Round, Payload}}, S1);
        #{} -> S1
    end;
event({message, From, prune}, S) ->
    emit({count, prune}, make_lazy(From, S)).

%% Internals.

receive_payload({Name, Incarnation, Number} = Id, Round, Payload, #state{received = Received} = S) ->
    Window =
        case Received of
            #{Name := {Incarnation, W}} -> W;
            #{} -> partisan_window:new()
        end,
    S1 = S#state{
        received = Received#{Name => {Incarnation, partisan_window:add(Number, Window)}},
        missing = maps:remove(Id, S#state.missing)
    },
    emit({deliver, Payload}, keep(Id, Round, Payload, S1)).

%% What an older life of the origin sent late counts as received: its successor has spoken.
is_received({Name, Incarnation, Number}, #state{received = Received}) ->
    case Received of
        #{Name := {Known, Window}} ->
            Incarnation < Known orelse
                (Incarnation =:= Known andalso partisan_window:seen(Number, Window));
        #{} ->
            false
    end.

keep(Id, Round, Payload, #state{kept = Kept0, order = Order0} = S) ->
    Kept = Kept0#{Id => {Round, Payload}},
    Order = queue:in(Id, Order0),
    case map_size(Kept) > option(kept, S) of
        true ->
            {{value, Oldest}, Rest} = queue:out(Order),
            S#state{kept = maps:remove(Oldest, Kept), order = Rest};
        false ->
            S#state{kept = Kept, order = Order}
    end.

push(Id, Round, Payload, Except, #state{eager = Eager, lazy = Lazy} = S0) ->
    S1 = maps:fold(
        fun(_, Peer, S) -> emit({send, Peer, {gossip, Id, Round, Payload}}, S) end,
        S0,
        maps:remove(Except, Eager)
    ),
    maps:fold(
        fun(_, Peer, S) -> emit({count, ihave}, emit({send, Peer, {ihave, Id, Round}}, S)) end,
        S1,
        maps:remove(Except, Lazy)
    ).

%% Someone announced this payload from much nearer to the origin: take it from there next time.
optimise(From, Round, Announced, Id, S0) ->
    Threshold = option(optimisation_threshold, S0),
    case lists:keysort(2, [{P, R} || {P, R} <- Announced, R < Round, Round - R >= Threshold]) of
        [{Peer, PeerRound} | _] ->
            % The graft names a payload we have: the answer would be a duplicate, and prune the
            % link again. Number 0 is never sent, so nothing answers.
            {Name, Incarnation, _} = Id,
            S1 = emit({send, Peer, {graft, {Name, Incarnation, 0}, PeerRound}}, make_eager(Peer, S0)),
            emit({count, graft}, emit({send, From, prune}, make_lazy(From, S1)));
        [] ->
            S0
    end.

%% Only neighbours have a place in the tree: a late message of a former one changes nothing.
make_eager(#{name := Name}, #state{eager = Eager, lazy = Lazy} = S) ->
    case Lazy of
        #{Name := Peer} ->
            S#state{eager = Eager#{Name => Peer}, lazy = maps:remove(Name, Lazy)};
        #{} ->
            S
    end.

make_lazy(#{name := Name}, #state{eager = Eager, lazy = Lazy} = S) ->
    case Eager of
        #{Name := Peer} ->
            S#state{eager = maps:remove(Name, Eager), lazy = Lazy#{Name => Peer}};
        #{} ->
            S
    end.

option(Name, #state{options = Options}) ->
    maps:get(Name, Options).

defaults() ->
    #{ihave_timeout => 500, graft_timeout => 250, optimisation_threshold => 7, kept => 128}.

emit(Effect, #state{out = Out} = S) ->
    S#state{out = [Effect | Out]}.

%%% @doc Plumtree: broadcast along a tree that the broadcasts themselves carve out of the overlay.
%%%
%%% Leitão, Pereira, Rodrigues, "Epidemic broadcast trees", SRDS 2007. Payloads go to eager peers;
%%% lazy peers get only announcements (IHAVE). A duplicate makes its link lazy (PRUNE); an announced
%%% payload that does not come is fetched and makes its link eager (GRAFT). The eager links become a
%%% spanning tree, and the lazy ones repair it.
%%%
%%% Delivery is exactly once per node and broadcast: messages are numbered by their origin and each
%%% node remembers which it has ({@link partisan_received}). Payloads are kept for grafts ({@link
%%% partisan_kept}).
%%%
%%% Data of a {@link partisan_broadcast_handler} travels along the same tree. Its identifier carries
%%% the handler's own, and the handler keeps the data in the place of this layer: it merges what
%%% arrives, returns what is grafted, and decides whether announced data is still of interest. It
%%% answers later, as an event, so that a slow one holds nothing up; the data is passed on before it
%%% is merged.
%%%
%%% A tree reaches only nodes that are in it during the broadcast. So once per period a node
%%% exchanges a hash of what it keeps with one of its neighbours, in turn, and if the hashes differ,
%%% the list, which is treated as IHAVEs. A message missed during a partition thus arrives while a
%%% neighbour still keeps it, and spreads from there.
%%%
%%% A pure layer with the shape of an overlay; its neighbours are those of the overlay below.
%%%
%%% Longer than 300 lines: one protocol, whose tree and repair share their state.
-module(partisan_plumtree).

-export([init/1]).
-export([handle/2]).

-import(partisan_layer, [emit/2, option/2]).

%% The second form is that of handlers' data.
-type id() ::
    partisan_received:id()
    | {partisan_peer:name(), partisan_peer:incarnation(), pos_integer(), reference_to()}.
%% A handler, and its identifier of the data.
-type reference_to() :: {Handler :: module(), Key :: term()}.
-type request() ::
    {merge, Key :: term(), Data :: term()}
    % Answered by `needed' or `stale'.
    | {is_stale, Key :: term(), id()}
    % Answered by `grafted', if the handler still has it.
    | {graft, Key :: term(), partisan_peer:t(), id()}.
-type answer() ::
    {needed, id()} | {stale, id()} | {grafted, partisan_peer:t(), id(), Data :: term()}.

-type msg() ::
    {gossip, id(), Round :: non_neg_integer(), Payload :: term()}
    | {ihave, id(), Round :: non_neg_integer()}
    % Asks for a payload, or just for the link.
    | {graft, id() | none, Round :: non_neg_integer()}
    | prune
    % Hash of the identifiers kept; or these, with or without a request for the other's list.
    | {digest, non_neg_integer()}
    | {summary, [{id(), Round :: non_neg_integer()}], answer | final}.

-type event() ::
    {broadcast, Payload :: term()}
    % Of a handler, which has stored the data already.
    | {broadcast, reference_to(), Data :: term()}
    | answer()
    | {message, partisan_peer:t(), msg()}
    | {neighbour_up, partisan_peer:t()}
    | {neighbour_down, partisan_peer:name()}
    | {timer, id() | exchange}.

-type effect() ::
    {send, partisan_peer:t(), msg()}
    | {deliver, Payload :: term()}
    | {handler, Handler :: module(), request()}
    % A payload of this origin came first by way of this neighbour: a way back to the origin.
    | {heard, Origin :: partisan_peer:name(), Via :: partisan_peer:name()}
    | {start_timer, id() | exchange, pos_integer()}
    | {count, gossip | duplicate | ihave | graft | prune | digest | summary}.

-type options() :: #{
    self := partisan_peer:t(),
    % Timeouts for the payload of an IHAVE, and for the answer to a graft (section 3.6).
    ihave_timeout => pos_integer(),
    graft_timeout => pos_integer(),
    % A lazy link that is this many rounds shorter replaces the eager one (section 3.8).
    optimisation_threshold => pos_integer(),
    % Number of payloads kept for grafts.
    kept => pos_integer(),
    % Period of the comparison with a neighbour.
    exchange_interval => pos_integer() | infinity,
    _ => _
}.

-export_type([id/0, reference_to/0, request/0, answer/0, msg/0, event/0, effect/0, options/0]).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    number := non_neg_integer(),
    eager := #{partisan_peer:name() => partisan_peer:t()},
    lazy := #{partisan_peer:name() => partisan_peer:t()},
    received := partisan_received:t(),
    % Announced and not yet received, by whom, earliest first.
    missing := #{id() => [{partisan_peer:t(), Round :: non_neg_integer()}]},
    % The contents of handlers' data are `handler'.
    kept := partisan_kept:t(),
    % Last neighbour compared with, while the timer of the next comparison runs.
    exchanged := idle | partisan_peer:name(),
    _ => _
}.

-export_type([state/0]).

%% API.

%% @doc A node without neighbours.
-spec init(options()) -> state().
init(Options) ->
    partisan_layer:new(defaults(), Options, #{
        number => 0,
        eager => #{},
        lazy => #{},
        received => partisan_received:new(),
        missing => #{},
        kept => partisan_kept:new(),
        exchanged => idle
    }).

%% @doc Handles one event.
-spec handle(event(), state()) -> {state(), [effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

%% Events.

event({broadcast, Payload}, S0) ->
    {{Name, _, _} = Id, S1} = next_id(S0),
    push(Id, 0, Payload, Name, receive_payload(Id, 0, Payload, S1));
event({broadcast, Reference, Data}, S0) ->
    {{Name, Incarnation, Number}, S1} = next_id(S0),
    Id = {Name, Incarnation, Number, Reference},
    push(Id, 0, Data, Name, received(Id, 0, Data, S1));
event({neighbour_up, #{name := Name} = Peer}, #{eager := Eager, lazy := Lazy} = S) ->
    start_exchange(S#{eager := Eager#{Name => Peer}, lazy := maps:remove(Name, Lazy)});
event({neighbour_down, Name}, #{eager := Eager, lazy := Lazy, missing := Missing} = S) ->
    Others = fun(_, Who) -> [A || {#{name := N}, _} = A <- Who, N =/= Name] end,
    S#{
        eager := maps:remove(Name, Eager),
        lazy := maps:remove(Name, Lazy),
        missing := maps:map(Others, Missing)
    };
event({timer, exchange}, S) ->
    exchange(S);
event({timer, Id}, #{missing := Missing} = S) ->
    case {Missing, Id} of
        {#{Id := [_ | _]}, {_, _, _, {Handler, Key}}} ->
            % It is asked again, if the answer is late.
            S1 = emit({start_timer, Id, option(graft_timeout, S)}, S),
            emit({handler, Handler, {is_stale, Key, Id}}, S1);
        _ ->
            graft(Id, S)
    end;
event({needed, Id}, S) ->
    graft(Id, S);
event({stale, Id}, S) ->
    case is_received(Id, S) of
        true -> S;
        false -> received(Id, 0, none, S)
    end;
event({grafted, #{name := Name} = To, Id, Data}, #{eager := Eager, kept := Kept} = S) ->
    % After a prune meanwhile, another neighbour has sent it.
    case {partisan_kept:find(Id, Kept), Eager} of
        {{ok, {Round, _}}, #{Name := _}} -> emit({send, To, {gossip, Id, Round, Data}}, S);
        _ -> S
    end;
event({message, From, {gossip, Id, Round, Payload}}, S0) ->
    case is_received(Id, S0) of
        true ->
            emit({count, duplicate}, emit({send, From, prune}, make_lazy(From, S0)));
        false ->
            #{name := Name} = From,
            Announced = maps:get(Id, map_get(missing, S0), []),
            Heard = emit({heard, element(1, Id), Name}, S0),
            S1 = emit({count, gossip}, receive_payload(Id, Round + 1, Payload, Heard)),
            S2 = push(Id, Round + 1, Payload, Name, make_eager(From, S1)),
            optimise(From, Round, Announced, S2)
    end;
event({message, From, {ihave, Id, Round}}, S) ->
    announced(Id, Round, From, S);
event({message, From, {graft, Id, _Round}}, #{kept := Kept} = S0) ->
    S1 = make_eager(From, S0),
    case {partisan_kept:find(Id, Kept), Id} of
        {{ok, _}, {_, _, _, {Handler, Key}}} ->
            emit({handler, Handler, {graft, Key, From, Id}}, S1);
        {{ok, {Round, Payload}}, _} ->
            emit({send, From, {gossip, Id, Round, Payload}}, S1);
        {error, _} ->
            S1
    end;
event({message, From, prune}, S) ->
    emit({count, prune}, make_lazy(From, S));
event({message, From, {digest, Digest}}, S) ->
    case digest(S) of
        Digest -> S;
        _ -> summarise(From, [], answer, S)
    end;
event({message, From, {summary, Announced, Wanted}}, S0) ->
    S1 = lists:foldl(fun({Id, Round}, S) -> announced(Id, Round, From, S) end, S0, Announced),
    case Wanted of
        answer -> summarise(From, [Id || {Id, _} <- Announced], final, S1);
        final -> S1
    end.

%% Internals: repair.

start_exchange(#{exchanged := idle} = S) ->
    case option(exchange_interval, S) of
        infinity -> S;
        Interval -> emit({start_timer, exchange, Interval}, S#{exchanged := <<>>})
    end;
start_exchange(S) ->
    S.

%% Neighbours in turn, by name. The timer stops with the last of them and starts with the next.
exchange(#{exchanged := Last, eager := Eager, lazy := Lazy} = S) ->
    Neighbours = maps:merge(Eager, Lazy),
    Names = lists:sort(maps:keys(Neighbours)),
    case [Name || Name <- Names, Name > Last] ++ Names of
        [] ->
            S#{exchanged := idle};
        [Next | _] ->
            S1 = emit({send, maps:get(Next, Neighbours), {digest, digest(S)}}, S),
            S2 = emit({start_timer, exchange, option(exchange_interval, S1)}, S1),
            emit({count, digest}, S2#{exchanged := Next})
    end.

digest(#{kept := Kept}) ->
    partisan_kept:digest(Kept).

%% What we keep beyond those. An empty list is sent only if it asks for an answer.
summarise(To, Except, Wanted, #{kept := Kept} = S) ->
    case {partisan_kept:others(Except, Kept), Wanted} of
        {[], final} -> S;
        {Summary, _} -> emit({count, summary}, emit({send, To, {summary, Summary, Wanted}}, S))
    end.

%% Internals: the tree.

announced(Id, Round, From, #{missing := Missing} = S) ->
    case is_received(Id, S) of
        true ->
            S;
        false ->
            S1 = S#{missing := Missing#{Id => maps:get(Id, Missing, []) ++ [{From, Round}]}},
            case Missing of
                #{Id := _} -> S1;
                #{} -> emit({start_timer, Id, option(ihave_timeout, S1)}, S1)
            end
    end.

%% Asks the next of those that have announced it.
graft(Id, #{missing := Missing} = S) ->
    case Missing of
        #{Id := [{Peer, Round} | Others]} ->
            S1 = make_eager(Peer, S#{missing := Missing#{Id := Others}}),
            S2 = emit({start_timer, Id, option(graft_timeout, S1)}, S1),
            emit({count, graft}, emit({send, Peer, {graft, Id, Round}}, S2));
        #{Id := []} ->
            % No peer left to ask: the next IHAVE starts over.
            S#{missing := maps:remove(Id, Missing)};
        #{} ->
            S
    end.

next_id(#{self := Self, number := Number} = S) ->
    #{name := Name, incarnation := Incarnation} = Self,
    {{Name, Incarnation, Number + 1}, S#{number := Number + 1}}.

receive_payload(Id, Round, Payload, S) ->
    emit(delivery(Id, Payload), received(Id, Round, Payload, S)).

delivery({_, _, _, {Handler, Key}}, Data) -> {handler, Handler, {merge, Key, Data}};
delivery(_Id, Payload) -> {deliver, Payload}.

received(Id, Round, Payload, #{received := Received, missing := Missing, kept := Kept} = S) ->
    S#{
        received := partisan_received:add(number(Id), Received),
        missing := maps:remove(Id, Missing),
        kept := partisan_kept:add(Id, {Round, content(Id, Payload)}, option(kept, S), Kept)
    }.

is_received(Id, #{received := Received}) ->
    partisan_received:contains(number(Id), Received).

number({Name, Incarnation, Number, {Handler, _Key}}) when is_atom(Handler) ->
    {Name, Incarnation, Number};
number(Id) ->
    Id.

content({_, _, _, _}, _Data) -> handler;
content(_Id, Payload) -> Payload.

push(Id, Round, Payload, Except, #{eager := Eager, lazy := Lazy} = S0) ->
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

%% A peer much nearer to the origin announced this payload: take it from there next time.
optimise(From, Round, Announced, S0) ->
    Threshold = option(optimisation_threshold, S0),
    case lists:keysort(2, [{P, R} || {P, R} <- Announced, R < Round, Round - R >= Threshold]) of
        [{Peer, PeerRound} | _] ->
            % Only the link is wanted: a payload would come as a duplicate, and prune it again.
            S1 = emit({send, Peer, {graft, none, PeerRound}}, make_eager(Peer, S0)),
            emit({count, graft}, emit({send, From, prune}, make_lazy(From, S1)));
        [] ->
            S0
    end.

%% Only neighbours have a place in the tree: late messages of previous ones are ignored.
make_eager(#{name := Name}, #{eager := Eager, lazy := Lazy} = S) ->
    case Lazy of
        #{Name := Peer} ->
            S#{eager := Eager#{Name => Peer}, lazy := maps:remove(Name, Lazy)};
        #{} ->
            S
    end.

make_lazy(#{name := Name}, #{eager := Eager, lazy := Lazy} = S) ->
    case Eager of
        #{Name := Peer} ->
            S#{eager := maps:remove(Name, Eager), lazy := Lazy#{Name => Peer}};
        #{} ->
            S
    end.

defaults() ->
    #{
        ihave_timeout => 500,
        graft_timeout => 250,
        optimisation_threshold => 7,
        kept => 128,
        exchange_interval => 10000
    }.

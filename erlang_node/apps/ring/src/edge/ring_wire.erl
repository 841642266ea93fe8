%%% @doc Messages between the nodes of a ring, each for one incarnation of a node.
%%%
%%% ```
%%% {ring, From, FromStart, ToStart, Payload}      to the process registered as the ring
%%% '''
%%%
%%% Only gossip is for any incarnation (`ToStart' is zero): one that has just started learns of the
%%% others by it, and they of it by its answer. A message for this node itself does not leave the
%%% calling process.
-module(ring_wire).

-export([send/5]).
-export([answer/4]).
-export([gossip/3]).
-export([deliver/4]).

-type ring() :: ring_table:ring().
-type member() :: ring_state:member().
-type origin() :: {member(), ring_table:start()}.

%% A request is known by its number on the node of its coordinator.
-type payload() ::
    {request, Number :: pos_integer(), Tag :: term(), ring_request:place(),
        ring_view:partition(), Command :: term()}
    | {answer, Number :: pos_integer(), Tag :: term(), ring_request:place(),
        ring_seat:answer() | ring_hints:answer()}
    | {seat, ring_state:index(), ring_seat:message()}
    | ring_gossip:message().

-export_type([origin/0, payload/0]).

%% @doc Sends to the present incarnation of a node. An error: it has not left this node.
-spec send(ring(), member(), Key :: term(), payload(), ring_transport:busy()) ->
    ok | {error, busy | term()}.
send(Ring, To, Key, Payload, Busy) ->
    #{transport := Transport} = ring_table:options(Ring),
    Self = Transport:self(),
    case To of
        Self ->
            deliver(Ring, Self, ring_table:start(Ring), Payload);
        _ ->
            case ring_table:incarnation(Ring, To) of
                {ok, Start} ->
                    Message = {ring, Self, ring_table:start(Ring), Start, Payload},
                    Transport:send(To, Ring, lane(Payload), Key, Message, Busy);
                none ->
                    {error, unknown_node}
            end
    end.

%% @doc Answers an incarnation of a node. Does not block: while the path is full, a process waits.
-spec answer(ring(), origin(), Key :: term(), payload()) -> ok.
answer(Ring, {To, Start}, Key, Payload) ->
    #{transport := Transport} = ring_table:options(Ring),
    Self = Transport:self(),
    case To of
        Self ->
            deliver(Ring, Self, Start, Payload);
        _ ->
            Message = {ring, Self, ring_table:start(Ring), Start, Payload},
            Send = fun(Busy) -> Transport:send(To, Ring, request, Key, Message, Busy) end,
            case Send(error) of
                {error, busy} ->
                    _ = spawn(fun() -> Send(block) end),
                    ok;
                _SentOrLost ->
                    ok
            end
    end.

%% @doc Sends the ring's state, or its digest, to any incarnation.
-spec gossip(ring(), member(), payload()) -> ok.
gossip(Ring, To, Payload) ->
    #{transport := Transport} = ring_table:options(Ring),
    Message = {ring, Transport:self(), ring_table:start(Ring), 0, Payload},
    _ = Transport:send(To, Ring, gossip, gossip, Message, error),
    ok.

%% @doc Delivers what has arrived from an incarnation of a node.
-spec deliver(ring(), member(), ring_table:start(), payload()) -> ok.
deliver(Ring, From, Start, {request, Number, Tag, {hints, _} = Place, Partition, Command}) ->
    {Pid, _, _} = ring_table:hints(Ring),
    to(Pid, {request, {{From, Start}, Number, Tag, Place}, Partition, Command});
deliver(Ring, From, Start, {request, Number, Tag, Index, Partition, Command}) ->
    case ring_table:seat(Ring, Index) of
        none ->
            Answer = ring_absent:request(Index, self_name(Ring), ring_table:view(Ring, Partition)),
            answer(Ring, {From, Start}, Number, {answer, Number, Tag, Index, Answer});
        Pid ->
            Pid ! {request, {{From, Start}, Number, Tag, Index}, Partition, Command},
            ok
    end;
deliver(Ring, _From, _Start, {answer, Number, Tag, Index, Answer}) ->
    case ring_table:request(Ring, Number) of
        none -> ok;
        Pid -> to(Pid, {answer, Tag, Index, Answer})
    end;
deliver(Ring, From, Start, {seat, Index, Message}) ->
    case ring_table:seat(Ring, Index) of
        none ->
            View = ring_table:view(Ring, Index),
            case ring_absent:message(Index, self_name(Ring), View, Message) of
                {ok, Answer} -> answer(Ring, {From, Start}, Index, {seat, Index, Answer});
                none -> ok
            end;
        Pid ->
            to(Pid, {message, From, Message})
    end;
deliver(Ring, From, _Start, Gossip) ->
    ring_manager:gossip(Ring, From, Gossip).

%% Internals.

to(Pid, Message) ->
    Pid ! Message,
    ok.

self_name(Ring) ->
    #{transport := Transport} = ring_table:options(Ring),
    Transport:self().

lane({seat, _, {chunk, _, _, more, _, _}}) -> handoff;
lane({seat, _, {copied, _, _, _, _, {_, _, [_ | _]}, _}}) -> handoff;
lane(_) -> request.

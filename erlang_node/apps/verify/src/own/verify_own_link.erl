%%% @doc Connections over a network that loses, delays and repeats messages: what the interpreter of
%%% an overlay guarantees ({@link partisan_overlay}), for a process in {@link verify_world}.
%%%
%%% A connection from a node to a peer is numbered, and so are its frames. The receiver passes them
%%% on in order and once, and acknowledges the last one, as TCP does. Therefore a decision of the
%%% explorer means:
%%% <ul>
%%% <li>`drop' of a frame or of its acknowledgement: the connection is lost. Later frames of it
%%%     arrive nowhere, and its owner gets `peer_down' when the acknowledgement is overdue. In the
%%%     second case the peer has got a message of which this node does not know it.</li>
%%% <li>`late': the frame is delayed, and the later ones of its connection wait for it.</li>
%%% <li>`duplicate': nothing.</li>
%%% <li>`crash': the connections to the node are lost, and noticed when a message to it is not
%%%     acknowledged.</li>
%%% </ul>
-module(verify_own_link).

-export([new/1]).
-export([connect/2]).
-export([disconnect/2]).
-export([send/3]).
-export([message/3]).
-export([timer/2]).

-type name() :: partisan_peer:name().
-type sequence() :: pos_integer().
-type frame() ::
    {Type :: atom(), From :: partisan_peer:t(), Connection :: sequence(), sequence(),
        Content :: term()}
    | {ack, From :: partisan_peer:t(), connection(), sequence()}.
-type connection() :: {partisan_peer:incarnation(), sequence()}.

-record(out, {
    connection :: sequence(),
    sent = 0 :: non_neg_integer(),
    acknowledged = 0 :: non_neg_integer(),
    % The incarnation that the overlay has connected to.
    pinned = none :: none | partisan_peer:incarnation(),
    % The peer as it has answered, once the overlay knows it.
    up = none :: none | partisan_peer:t()
}).

-record(in, {
    connection :: connection(),
    received = 0 :: non_neg_integer(),
    % Frames that have overtaken others.
    waiting = #{} :: #{sequence() => term()}
}).

-record(links, {
    self :: partisan_peer:t(),
    connections = 0 :: non_neg_integer(),
    out = #{} :: #{name() => #out{}},
    in = #{} :: #{name() => #in{}}
}).

-opaque t() :: #links{}.
-export_type([t/0, frame/0]).

%% The events are for the overlay.
-type result() :: {[partisan_overlay:event()], t(), [partisan_process:effect()]}.

%% Milliseconds until a frame without an acknowledgement ends its connection: longer than a late
%% frame and a late acknowledgement take.
-define(TIMEOUT, 1000).

%% @doc No connections.
-spec new(Self :: partisan_peer:t()) -> t().
new(Self) ->
    #links{self = Self}.

%% @doc Pins a connection to a peer. The answer is `peer_up' or `peer_down'.
-spec connect(partisan_peer:t(), t()) -> result().
connect(#{name := Name, incarnation := Incarnation} = Peer, #links{out = Outs} = L) ->
    case Outs of
        #{Name := #out{pinned = none} = Out} ->
            dial(Peer, pinned(Name, Incarnation, Out, L));
        #{Name := #out{pinned = Known, up = Up} = Out} ->
            case newest(Known, Up) of
                Earlier when Earlier > 0, Incarnation > Earlier -> connect_anew(Peer, L);
                _ -> {[], pinned(Name, max(Known, Incarnation), Out, L), []}
            end;
        #{} ->
            connect_anew(Peer, L)
    end.

%% @doc Unpins the connection. What has been sent on it still arrives.
-spec disconnect(name(), t()) -> result().
disconnect(Name, #links{out = Outs} = L) ->
    case Outs of
        #{Name := Out} -> {[], L#links{out = Outs#{Name := Out#out{pinned = none, up = none}}}, []};
        #{} -> {[], L, []}
    end.

%% @doc Sends a message, over a new connection if there is none.
-spec send(partisan_peer:t(), Msg :: term(), t()) -> result().
send(#{name := Name} = Peer, Msg, #links{out = Outs} = L) when is_map_key(Name, Outs) ->
    frame(type(Msg), Peer, {message, Msg}, L);
send(#{name := Name} = Peer, Msg, L) ->
    frame(type(Msg), Peer, {message, Msg}, begin_connection(Name, L)).

%% @doc Handles a frame of a peer.
-spec message(name(), frame(), t()) -> result().
message(From, {ack, Peer, {Incarnation, Connection}, Number}, #links{out = Outs} = L) ->
    #links{self = #{incarnation := Own}} = L,
    case Outs of
        #{From := #out{connection = Connection} = Out} when Incarnation =:= Own ->
            acknowledged(From, Peer, Number, Out, L);
        #{} ->
            {[], L, []}
    end;
message(From, {_Type, Peer, Connection, Number, Content}, #links{in = Ins} = L) ->
    #{incarnation := Incarnation} = Peer,
    Id = {Incarnation, Connection},
    case Ins of
        #{From := #in{connection = Newer}} when Newer > Id -> {[], L, []};
        #{From := #in{connection = Id} = In} -> received(From, Peer, Number, Content, In, L);
        #{} -> received(From, Peer, Number, Content, #in{connection = Id}, L)
    end.

%% @doc An acknowledgement of this peer is overdue: the connection is lost.
-spec timer(name(), t()) -> result().
timer(Name, #links{out = Outs} = L) ->
    {[{peer_down, Name, timeout}], L#links{out = maps:remove(Name, Outs)}, []}.

%% Internals: the sending end.

%% The messages on a connection to an earlier incarnation are lost.
connect_anew(#{name := Name, incarnation := Incarnation} = Peer, L0) ->
    #links{out = #{Name := Out}} = L = begin_connection(Name, L0),
    dial(Peer, pinned(Name, Incarnation, Out, L)).

pinned(Name, Incarnation, Out, #links{out = Outs} = L) ->
    L#links{out = Outs#{Name := Out#out{pinned = Incarnation}}}.

newest(Known, none) -> Known;
newest(Known, #{incarnation := Incarnation}) -> max(Known, Incarnation).

begin_connection(Name, #links{connections = Last, out = Outs} = L) ->
    L#links{connections = Last + 1, out = Outs#{Name => #out{connection = Last + 1}}}.

dial(Peer, L) ->
    frame(dial, Peer, dial, L).

frame(Type, #{name := Name}, Content, #links{self = Self, out = Outs} = L) ->
    #{Name := #out{connection = Connection, sent = Before, acknowledged = Acknowledged} = Out} =
        Outs,
    Number = Before + 1,
    Timer = [{start_timer, {link, Name}, ?TIMEOUT} || Before =:= Acknowledged],
    {[], L#links{out = Outs#{Name := Out#out{sent = Number}}}, [
        {send, Name, {Type, Self, Connection, Number, Content}} | Timer
    ]}.

acknowledged(Name, Peer, Number, #out{acknowledged = Before, sent = Sent} = Out0, L) ->
    Out = Out0#out{acknowledged = max(Number, Before)},
    Effects =
        case Out of
            #out{acknowledged = Sent} -> [{cancel_timer, {link, Name}}];
            #out{acknowledged = Before} -> [];
            #out{} -> [{start_timer, {link, Name}, ?TIMEOUT}]
        end,
    #links{out = Outs} = L,
    case Out of
        #out{pinned = Incarnation, up = none} when Incarnation =/= none ->
            {[{peer_up, Peer}], L#links{out = Outs#{Name := Out#out{up = Peer}}}, Effects};
        #out{} ->
            {[], L#links{out = Outs#{Name := Out}}, Effects}
    end.

%% Internals: the receiving end.

received(From, Peer, Number, Content, #in{received = Received, waiting = Waiting} = In0, L) ->
    #links{self = Self, in = Ins} = L,
    Held =
        case Number > Received of
            true -> In0#in{waiting = Waiting#{Number => Content}};
            false -> In0
        end,
    {Messages, #in{connection = Id, received = Now} = In} = in_order(Held, []),
    Acks = [{send, From, {ack, Self, Id, Now}} || Now > 0, Number =< Now],
    {[{message, Peer, Msg} || {message, Msg} <- Messages], L#links{in = Ins#{From => In}}, Acks}.

in_order(#in{received = Received, waiting = Waiting} = In, Messages) ->
    case maps:take(Received + 1, Waiting) of
        {Content, Left} ->
            in_order(In#in{received = Received + 1, waiting = Left}, [Content | Messages]);
        error ->
            {lists:reverse(Messages), In}
    end.

%% The innermost name of a message of the stack: `keep' of `{overlay, {Tag, keep}}'.
type({overlay, {_Tag, Msg}}) -> partisan_process:type(Msg);
type(Msg) -> partisan_process:type(Msg).

%%% @doc Acknowledged delivery at a node, as a process: `partisan_acks' with its streams ({@link
%%% partisan_ack_sender}, {@link partisan_ack_outgoing}, {@link partisan_ack_receiver}) as they run
%%% in pods. These call the clock and the transport by themselves, so what runs here are copies
%%% whose calls lead to {@link verify_own_outside}.
%%%
%%% The application sends by the call `{send, {From, To, What}}'; the answer is the outcome. It
%%% takes 30 milliseconds for each message from its mailbox, and holds up its streams when others
%%% wait. The environment reports with `{lost, Name}' that there is no route to a node, and with
%%% `{back, Name, Incarnation}' that its next incarnation has connected.
%%%
%%% A decision of the explorer is one that the protocol is made for: `drop' is a message without
%%% room in its lane, or on a connection that breaks; `late' also lets later messages overtake it,
%%% and `duplicate' is one that came on two routes. Messages of a previous incarnation are refused
%%% once its successor has connected, as connections do.
%%%
%%% == Mutation ==
%%% `acknowledges_arrival': the receiver acknowledges messages when they arrive, not when the
%%% application has them.
-module(verify_own_acks).
-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([handle/3]).
-export([load/1]).
-export([incarnation/1]).

-type mutation() :: none | acknowledges_arrival.
-type message() :: {From :: partisan_process:name(), To :: partisan_process:name(), term()}.
%% What the application of an incarnation of this node has sent and got. A sent message is followed
%% by one reply to its call, unless the node crashes.
-type output() ::
    {sent, partisan_peer:incarnation(), message()}
    | {got, partisan_peer:incarnation(), message()}.
%% `acks': the copy of partisan_acks ({@link load/1}). `timeout': milliseconds until a message is
%% given up. The others are of {@link verify_own_outside}.
-type options() :: #{
    self := partisan_process:name(),
    members := [partisan_process:name()],
    seed := partisan_process:seed(),
    acks := module(),
    window := pos_integer(),
    mailbox_limit := pos_integer(),
    timeout := pos_integer(),
    incarnation := partisan_peer:incarnation(),
    now := non_neg_integer(),
    _ => _
}.

-record(node, {
    % The copy of partisan_acks, and its state.
    module :: module(),
    acks :: term(),
    outside :: verify_own_outside:t(),
    timeout :: pos_integer(),
    % The newest known incarnation of others.
    incarnations = #{} :: #{partisan_process:name() => partisan_peer:incarnation()},
    % Whether the application handles a message.
    consumes = false :: boolean()
}).

-opaque state() :: #node{}.
-export_type([state/0, options/0, mutation/0, message/0, output/0]).

%% Milliseconds in which the application handles a message.
-define(CONSUMES, 30).

%% @private
-spec init(options()) -> {state(), [partisan_process:effect()]}.
init(#{self := Name, window := Window, mailbox_limit := Limit, timeout := Timeout} = Options) ->
    #{acks := Module, incarnation := Incarnation, now := Now} = Options,
    Outside = #{
        name => Name,
        incarnation => Incarnation,
        now => Now,
        numbers => 0,
        window => Window,
        unreachable => #{},
        mailbox => 0,
        mailbox_limit => Limit,
        effects => []
    },
    {{ok, Acks}, Begun} = verify_own_outside:run(fun() -> Module:init([]) end, Outside),
    finished(#node{module = Module, acks = Acks, outside = Begun, timeout = Timeout}).

%% @doc At no particular time.
-spec handle(partisan_process:event(), state()) -> {state(), [partisan_process:effect()]}.
handle(Event, #node{outside = #{now := Now}} = Node) ->
    handle(Event, Now, Node).

%% @doc Handles an event at this time in milliseconds.
-spec handle(partisan_process:event(), Now :: non_neg_integer(), state()) ->
    {state(), [partisan_process:effect()]}.
handle(Event, Now, #node{outside = Outside} = Node) ->
    finished(event(Event, Node#node{outside = Outside#{now := Now}})).

%% @doc The copy of partisan_acks with a mutation. Loaded once.
-spec load(mutation()) -> module().
load(Mutation) ->
    Copies = verify_own_code:load(#{
        modules => [
            partisan_acks,
            partisan_ack_stream,
            partisan_ack_sender,
            partisan_ack_outgoing,
            partisan_ack_receiver
        ],
        prefix => "verify_own@" ++ atom_to_list(Mutation) ++ "@",
        calls => verify_own_outside:calls(),
        replaced => replaced(Mutation)
    }),
    map_get(partisan_acks, Copies).

%% @doc The incarnation of the node.
-spec incarnation(state()) -> partisan_peer:incarnation().
incarnation(#node{outside = #{incarnation := Incarnation}}) ->
    Incarnation.

%% Internals: events.

event({message, From, {_Type, Incarnation, Msg}}, #node{incarnations = Known} = Node) ->
    case Known of
        #{From := Newer} when Newer > Incarnation -> Node;
        #{} -> info({partisan_acks, From, Msg}, Node)
    end;
event({timer, consume}, #node{outside = #{mailbox := Mailbox} = Outside} = Node) ->
    consuming(Node#node{outside = Outside#{mailbox := Mailbox - 1}, consumes = false});
event({timer, Timer}, Node) ->
    info(Timer, Node);
event({call, Ref, {send, Message}}, Node) ->
    send(Ref, Message, Node);
event({call, _Ref, {lost, Name}}, #node{outside = #{unreachable := Lost} = Outside} = Node) ->
    Node#node{outside = Outside#{unreachable := Lost#{Name => true}}};
event({call, Ref, {back, Name, Incarnation}}, Node0) ->
    #node{outside = #{unreachable := Lost} = Outside, incarnations = Known} = Node0,
    Node1 = Node0#node{
        outside = Outside#{unreachable := maps:remove(Name, Lost)},
        incarnations = Known#{Name => Incarnation}
    },
    Node2 = called({end_previous, Name, Incarnation}, Ref, Node1),
    Node3 = info({partisan, {neighbour_up, Name}}, Node2),
    step(handle_cast, [{reconnected, Name, Incarnation, default}], Node3).

%% Internals: the process.

replaced(none) ->
    #{};
replaced(acknowledges_arrival) ->
    #{
        partisan_ack_receiver => #{
            {holds, 1} => "holds(#in{next = Next}) -> partisan_ack_in:holds(Next)."
        }
    }.

%% What partisan:forward/4 asks of the process in the name of its caller.
send(Ref, {_From, To, _What} = Message, #node{module = Module, timeout = Timeout} = Node) ->
    #node{outside = #{incarnation := Incarnation, effects := Effects} = Outside0} = Node,
    Sent = Outside0#{effects := [{deliver, {sent, Incarnation, Message}} | Effects]},
    Options = #{ack => true, timeout => Timeout, partition_key => application},
    {Request, Outside} = verify_own_outside:run(
        fun() -> Module:send(To, application, Message, default, Options) end, Sent
    ),
    called(Request, Ref, Node#node{outside = Outside}).

called(Request, Ref, Node) ->
    #node{module = Module, acks = Acks, outside = Outside0} = Node,
    {Result, Outside} = verify_own_outside:run(
        fun() -> Module:handle_call(Request, Ref, Acks) end, Outside0
    ),
    stepped(Result, Node#node{outside = Outside}).

info(Message, Node) ->
    step(handle_info, [Message], Node).

step(Callback, Arguments, #node{module = Module, acks = Acks, outside = Outside0} = Node) ->
    {Result, Outside} = verify_own_outside:run(
        fun() -> apply(Module, Callback, Arguments ++ [Acks]) end, Outside0
    ),
    stepped(Result, Node#node{outside = Outside}).

%% Its mailbox is empty after each message.
stepped({noreply, Acks, 0}, Node) -> info(timeout, Node#node{acks = Acks});
stepped({noreply, Acks, infinity}, Node) -> Node#node{acks = Acks}.

%% Internals: the application.

consuming(#node{consumes = true} = Node) ->
    Node;
consuming(#node{outside = #{mailbox := 0}} = Node) ->
    Node;
consuming(#node{outside = #{effects := Effects} = Outside} = Node) ->
    Started = Outside#{effects := [{start_timer, consume, ?CONSUMES} | Effects]},
    Node#node{outside = Started, consumes = true}.

%% The effects since the last event.
finished(Node0) ->
    #node{outside = #{effects := Effects} = Outside} = Node = consuming(Node0),
    {Node#node{outside = Outside#{effects := []}}, lists:reverse(Effects)}.

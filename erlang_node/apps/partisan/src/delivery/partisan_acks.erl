%%% @doc Acknowledged and causal delivery on real connections.
%%%
%%% Both ends of every stream live in this process: it numbers and keeps what this node sends with
%%% `ack' ({@link partisan_ack_sender}), accepts the streams of others in order and once ({@link
%%% partisan_ack_receiver}), and holds back messages that precede their causes ({@link
%%% partisan_labels}).
%%%
%%% == Streams ==
%%% A stream carries the acknowledged messages to one peer on one lane of a channel. It is opened
%%% before use, and belongs to the incarnations of both nodes at that time: a receiver that does not
%%% know a stream is another incarnation. The owners of outstanding messages then get `{error,
%%% restarted}', since it is unknown what the previous incarnation had accepted. So a message is
%%% delivered once to one incarnation of its receiver, or its sender is notified.
%%%
%%% == Bounds ==
%%% The window of a stream bounds what the sender keeps, and also the unacknowledged messages that
%%% wait here for slow processes; the sender's callers wait in turn, or get a busy error.
%%%
%%% == Acknowledged channels ==
%%% Their messages need not ask for an acknowledgement, and their outcome is not reported: `ok'
%%% means that a message is in the window. A message that times out, or whose receiver has
%%% restarted, is counted as dropped (`unacknowledged').
-module(partisan_acks).
-behaviour(gen_server).

-export([start_link/0]).
-export([send/5]).
-export([reconnected/3]).
-export([end_previous/2]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% Milliseconds between checks whether a slow receiver has caught up.
-define(CONGESTION_POLL, 10).
%% Milliseconds after which a message with neither an owner nor a timeout is given up: a node that
%% is gone for good must not be remembered for ever.
-define(GIVEN_UP_AFTER, 300000).

-record(state, {
    sender :: partisan_ack_sender:t(),
    receiver :: partisan_ack_receiver:t(),
    labels :: partisan_labels:t(),
    polling = false :: boolean(),
    tick = none :: none | reference()
}).

%% API.

%% @doc Starts the process that owns all acknowledged streams of the node.
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Sends a message and waits until the receiver has it. With `ack => {notify, Tag}' it waits
%% until the message is in the window; `{partisan, {acknowledged, Tag, Outcome}}' follows. Without
%% `ack' nothing follows.
-spec send(partisan_peer:name(), partisan_ref:destination(), term(), Channel, Options) ->
    ok | {error, partisan:error()}
when
    Channel :: partisan_channel:t(), Options :: partisan_transport:options().
send(Node, Destination, Message, Channel, Options) ->
    Key = partisan_transport:partition_key(Options),
    Path = {Node, partisan_channel:name(Channel), partisan_channel:stream(Channel, Key)},
    Label = maps:get(causal, Options, none),
    Bytes = partisan_ack_stream:bytes(Path, Destination, Message, Label),
    IsTooLarge = Bytes > partisan_channel:message_limit(Channel),
    case partisan_channel:is_monotonic(Channel) of
        true ->
            {error, {monotonic_channel, partisan_channel:name(Channel)}};
        false when IsTooLarge ->
            {error, {too_large, Bytes}};
        false ->
            Outcome = outcome(Options),
            Timeout = maps:get(timeout, Options, infinity),
            Request = #{
                path => Path,
                destination => Destination,
                message => Message,
                bytes => Bytes,
                causal =>
                    case Options of
                        #{causal := _} -> {label, Label};
                        #{} -> none
                    end,
                order => partisan_ack_order:key(Node, partisan_channel:name(Channel), Key),
                room_deadline => deadline(Timeout),
                deadline => deadline(given_up_after(Outcome, Timeout, Options)),
                on_busy => maps:get(on_busy, Options, block),
                outcome => Outcome
            },
            gen_server:call(?MODULE, {send, Request}, infinity)
    end.

%% @doc A lane to this incarnation of a peer has a new connection: messages on the old one may be
%% lost.
-spec reconnected(partisan_peer:name(), partisan_peer:incarnation(), Channel :: atom()) -> ok.
reconnected(Node, Incarnation, ChannelName) ->
    gen_server:cast(?MODULE, {reconnected, Node, Incarnation, ChannelName}).

%% @doc Delivers what has arrived of this node's incarnations before that one, before this returns,
%% and nothing of them afterwards; ends the streams to them. With `infinity' it is unknown whether
%% the node has restarted, and its streams go on.
-spec end_previous(partisan_peer:name(), partisan_peer:incarnation() | infinity) -> ok.
end_previous(Node, Before) ->
    case whereis(?MODULE) of
        % It is about to start, and holds nothing yet.
        undefined -> ok;
        Pid -> gen_server:call(Pid, {end_previous, Node, Before}, infinity)
    end.

%% gen_server.

%% @private
-spec init([]) -> {ok, #state{}}.
init([]) ->
    process_flag(message_queue_data, off_heap),
    ok = partisan_ack_order:reset(),
    ok = partisan_manager:subscribe(self()),
    Self = {partisan_config:get(name), partisan_config:get(incarnation)},
    {ok, #state{
        sender = partisan_ack_sender:new(Self),
        receiver = partisan_ack_receiver:new(Self),
        labels = partisan_labels:new(Self)
    }}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {noreply, #state{}, timeout()}.
handle_call({send, Request}, From, #state{sender = Sender, labels = Labels} = State) ->
    sent(partisan_ack_sender:send(From, Request, Labels, Sender), State);
handle_call({end_previous, Node, Before}, From, State) ->
    #state{receiver = Receiver0, labels = Labels0} = State,
    Ended =
        case Before of
            infinity ->
                {Receiver, Labels} = partisan_ack_receiver:deliver_held(Node, Labels0, Receiver0),
                State#state{receiver = Receiver, labels = Labels};
            _ ->
                {Receiver, Labels} =
                    partisan_ack_receiver:end_previous(Node, Before, Labels0, Receiver0),
                end_streams(Node, Before, State#state{receiver = Receiver, labels = Labels})
        end,
    ok = gen_server:reply(From, ok),
    next(poll(Ended));
handle_call(Unknown, From, State) ->
    ok = gen_server:reply(From, partisan_stray:call(Unknown)),
    next(State).

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}, timeout()}.
handle_cast({reconnected, Node, Incarnation, ChannelName}, State0) ->
    #state{sender = Sender, labels = Labels} = State = end_streams(Node, Incarnation, State0),
    sent(partisan_ack_sender:reconnected(Node, ChannelName, Labels, Sender), State);
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    next(State).

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}, timeout()}.
handle_info({?MODULE, Origin, Message}, State) ->
    case is_of(Origin, Message, State) of
        true -> heard(Origin, Message, State);
        % Of a stream that has ended, or of another member.
        false -> next(State)
    end;
handle_info({partisan, {neighbour_up, Node}}, #state{sender = Sender} = State) ->
    next(State#state{sender = partisan_ack_sender:reachable(Node, Sender)});
handle_info({partisan, {neighbour_down, _}}, State) ->
    next(State);
handle_info({timeout, Tick, tick}, #state{tick = Tick} = State) ->
    #state{sender = Sender, labels = Labels} = State,
    sent(partisan_ack_sender:tick(Labels, Sender), State#state{tick = none});
handle_info({timeout, _Older, tick}, State) ->
    next(State);
handle_info(poll, #state{receiver = Receiver, labels = Labels} = State) ->
    received(partisan_ack_receiver:deliver_held(Labels, Receiver), State#state{polling = false});
handle_info(timeout, #state{receiver = Receiver} = State) ->
    % The mailbox is empty: acknowledge what has come since.
    {noreply, arm(State#state{receiver = partisan_ack_receiver:acknowledge(Receiver)}), infinity};
handle_info({partisan, dissolved}, State) ->
    next(State);
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    next(State).

%% Internals.

%% A member may speak only for streams that it has opened, and answer only those that lead to it.
is_of(Origin, {open, {Origin, _, _}, {Origin, _, _}}, _State) ->
    true;
is_of(Origin, {data, {Origin, _, _}, Number, Arrival, {Origin, _, _}}, _State) ->
    is_integer(Number) andalso is_arrival(Arrival);
is_of(Origin, {Answer, Stream, Number}, #state{sender = Sender}) when
    Answer =:= opened; Answer =:= ack; Answer =:= missing
->
    is_integer(Number) andalso partisan_ack_sender:leads_to(Stream, Origin, Sender);
is_of(Origin, {refused, Stream, Number, _Why}, #state{sender = Sender}) ->
    is_integer(Number) andalso partisan_ack_sender:leads_to(Stream, Origin, Sender);
is_of(Origin, {unknown, Stream}, #state{sender = Sender}) ->
    partisan_ack_sender:leads_to(Stream, Origin, Sender);
is_of(_Origin, _Message, _State) ->
    false.

is_arrival(skip) -> true;
is_arrival(undecodable) -> true;
is_arrival({message, {plain, _, _}}) -> true;
is_arrival({message, {causal, _, Stamp, _, _}}) -> partisan_causal:is_stamp(Stamp);
is_arrival(_) -> false.

%% Invalid messages of a faulty member leave the other streams unchanged.
heard(Origin, Message, State) ->
    try
        heard(Message, State)
    catch
        error:Reason:Stacktrace ->
            ok = partisan_refusals:warn(message, "invalid message from ~ts: ~0tP in ~0tP", [
                Origin, Reason, 8, hd(Stacktrace), 12
            ]),
            next(State)
    end.

-spec heard(partisan_ack_stream:msg(), #state{}) -> {noreply, #state{}, timeout()}.
heard({open, {Node, Incarnation, _} = Stream, ReplyTo}, State0) ->
    #state{receiver = Receiver, sender = Sender, labels = Labels} =
        State = end_streams(Node, Incarnation, State0),
    Opened = partisan_ack_receiver:opened(Stream, ReplyTo, Labels, Receiver),
    received(Opened, State#state{sender = partisan_ack_sender:reachable(Node, Sender)});
heard({data, Stream, Number, Arrival, ReplyTo}, State) ->
    #state{receiver = Receiver, labels = Labels} = State,
    Taken = partisan_ack_receiver:arrived(Stream, Number, Arrival, ReplyTo, Labels, Receiver),
    received(Taken, State);
heard({opened, Stream, Incarnation}, #state{sender = Sender, labels = Labels} = State) ->
    sent(partisan_ack_sender:opened(Stream, Incarnation, Labels, Sender), State);
heard({ack, Stream, Holds}, #state{sender = Sender, labels = Labels} = State) ->
    sent(partisan_ack_sender:acknowledged(Stream, Holds, Labels, Sender), State);
heard({missing, Stream, Holds}, #state{sender = Sender, labels = Labels} = State) ->
    sent(partisan_ack_sender:missing(Stream, Holds, Labels, Sender), State);
heard({refused, Stream, Number, Why}, #state{sender = Sender, labels = Labels} = State) ->
    sent(partisan_ack_sender:refused(Stream, Number, Why, Labels, Sender), State);
heard({unknown, Stream}, #state{sender = Sender, labels = Labels} = State) ->
    sent(partisan_ack_sender:restarted(Stream, Labels, Sender), State).

end_streams(Node, Before, #state{sender = Sender0, labels = Labels0} = State) ->
    {Sender, Labels} = partisan_ack_sender:end_previous(Node, Before, Labels0, Sender0),
    State#state{sender = Sender, labels = Labels}.

sent({Sender, Labels}, State) ->
    next(State#state{sender = Sender, labels = Labels}).

received({Receiver, Labels}, State) ->
    next(poll(State#state{receiver = Receiver, labels = Labels})).

next(State) ->
    {noreply, State, 0}.

%% Checks again soon whether a slow process has caught up.
poll(#state{polling = false, receiver = Receiver} = State) ->
    case partisan_ack_receiver:is_behind(Receiver) of
        true ->
            _ = erlang:send_after(?CONGESTION_POLL, self(), poll),
            State#state{polling = true};
        false ->
            State
    end;
poll(State) ->
    State.

%% Wakes when the first stream is due.
arm(#state{sender = Sender, tick = Tick} = State) ->
    _ = Tick =/= none andalso erlang:cancel_timer(Tick),
    case partisan_ack_sender:wake_at(Sender) of
        infinity ->
            State#state{tick = none};
        At ->
            Delay = max(0, At - partisan_ack_stream:now_ms()),
            State#state{tick = erlang:start_timer(Delay, self(), tick)}
    end.

%% The recipient of the outcome. A causal message's sender waits.
outcome(#{ack := {notify, Tag}}) -> {notify, self(), Tag};
outcome(#{ack := true}) -> reply;
outcome(#{causal := _}) -> reply;
outcome(#{}) -> count.

%% A message that only keeps its place behind acknowledged ones waits for room as on a lane.
given_up_after(count, _Timeout, #{ack := false}) -> ?GIVEN_UP_AFTER;
given_up_after(count, infinity, _Options) -> ?GIVEN_UP_AFTER;
given_up_after(_Outcome, Timeout, _Options) -> Timeout.

deadline(infinity) -> infinity;
%% In the caller: a fraction would end this process when it starts its timer.
deadline(Timeout) when is_integer(Timeout), Timeout >= 0 ->
    partisan_ack_stream:now_ms() + Timeout.

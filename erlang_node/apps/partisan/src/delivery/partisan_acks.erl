%%% @doc Acknowledged and causal delivery on real connections.
%%%
%%% Both ends of every stream live in this process: it numbers and keeps what this node sends with
%%% `ack' ({@link partisan_ack_out}), takes what others send in order and once
%%% ({@link partisan_ack_in}), and holds back what came before its causes ({@link partisan_causal}).
%%%
%%% == Streams ==
%%% A stream carries the acknowledged messages to one peer on one lane of a channel. It is opened
%%% before it is used, and belongs to the lives of both nodes that opened it: a receiver that does
%%% not know a stream is another life, and says so; then the owners of what is outstanding learn
%%% `{error, restarted}', since nobody can tell what the former life had taken. So a message is
%%% delivered to one life of its receiver, once, or its sender is told.
%%%
%%% == Bounds ==
%%% The window of a stream bounds what the sender keeps. What has arrived for a process that cannot
%%% keep up waits here, unacknowledged, and so is bounded by the same window; the sender's callers
%%% wait in turn.
-module(partisan_acks).
-behaviour(gen_server).

-export([start_link/0]).
-export([send/5]).
-export([reconnected/2]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% How often to look whether a slow receiver has caught up.
-define(CONGESTION_POLL, 10).
%% How often a stream is opened again until it is, and lost messages are sent again while they
%% are reported missing.
-define(RETRY, 200).

-type name() :: partisan_peer:name().
%% Unique among all streams of all lives of a node.
-type stream() :: {Sender :: name(), partisan_peer:incarnation(), pos_integer()}.
-type path() :: {Receiver :: name(), Channel :: atom(), Lane :: non_neg_integer()}.
-type content() ::
    {plain, partisan_ref:destination(), Message :: term()}
    | {causal, Label :: term(), partisan_causal:stamp(), partisan_ref:destination(),
        Message :: term()}.
-type owner() :: {reply, gen_server:from()} | {notify, pid(), Tag :: term()}.

-record(out, {
    stream :: stream(),
    state = opening :: opening | {open, Receiver :: partisan_peer:incarnation()},
    entries :: partisan_ack_out:t(),
    % When something was last sent again, or the stream opened.
    retried :: integer(),
    % Senders whom the window has no room for, and messages whose stamp needs the receiver's life.
    blocked = queue:new() :: queue:queue({gen_server:from(), request()})
}).

-record(in, {
    next = partisan_ack_in:new() :: partisan_ack_in:t(),
    % Arrived in order, and not yet delivered.
    held = queue:new() :: queue:queue({pos_integer(), content() | skip}),
    reply_to :: path()
}).

-type request() :: #{
    path := path(),
    destination := partisan_ref:destination(),
    message := term(),
    bytes := non_neg_integer(),
    causal := none | {label, term()},
    deadline := integer() | infinity,
    notify := none | {notify, pid(), term()}
}.

-record(state, {
    self :: {name(), partisan_peer:incarnation()},
    opened = 0 :: non_neg_integer(),
    out = #{} :: #{path() => #out{}},
    paths = #{} :: #{stream() => path()},
    in = #{} :: #{stream() => #in{}},
    causal = #{} :: #{Label :: term() => partisan_causal:t()},
    % Streams whose acknowledgement is due when the mailbox is empty.
    unacknowledged = #{} :: #{stream() => true},
    congested = false :: boolean(),
    tick = none :: none | reference()
}).

%% API.

-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Sends a message and waits until the receiver has it, or, with `ack => {notify, Tag}', until
%% it has been taken into the window; then `{partisan, {acknowledged, Tag, Outcome}}' follows.
-spec send(
    name(), partisan_ref:destination(), term(), partisan_channel:t(), partisan_transport:options()
) -> ok | {error, partisan:error()}.
send(Node, Destination, Message, Channel, Options) ->
    {Bytes, _} = partisan_frame:message(Destination, Message),
    IsTooLarge = Bytes > partisan_channel:message_limit(Channel),
    case partisan_channel:is_monotonic(Channel) of
        true ->
            {error, {monotonic_channel, partisan_channel:name(Channel)}};
        false when IsTooLarge ->
            {error, {too_large, Bytes}};
        false ->
            Key = partisan_transport:partition_key(Options),
            Timeout = maps:get(timeout, Options, infinity),
            Request = #{
                path =>
                    {Node, partisan_channel:name(Channel), partisan_channel:stream(Channel, Key)},
                destination => Destination,
                message => Message,
                bytes => Bytes,
                causal =>
                    case Options of
                        #{causal := Label} -> {label, Label};
                        #{} -> none
                    end,
                deadline => deadline(Timeout),
                notify =>
                    case Options of
                        #{ack := {notify, Tag}} -> {notify, self(), Tag};
                        #{} -> none
                    end
            },
            gen_server:call(?MODULE, {send, Request}, infinity)
    end.

%% @doc A lane to this peer has a new connection: what was on the old one may be lost.
-spec reconnected(name(), Channel :: atom()) -> ok.
reconnected(Node, ChannelName) ->
    gen_server:cast(?MODULE, {reconnected, Node, ChannelName}).

%% gen_server.

-spec init([]) -> {ok, #state{}}.
init([]) ->
    process_flag(message_queue_data, off_heap),
    {ok, #state{self = {partisan_config:get(name), partisan_config:get(incarnation)}}}.

-spec handle_call({send, request()}, gen_server:from(), #state{}) -> {noreply, #state{}, timeout()}.
handle_call({send, Request}, From, State) ->
    next(accept(From, Request, State)).

-spec handle_cast({reconnected, name(), atom()}, #state{}) -> {noreply, #state{}, timeout()}.
handle_cast({reconnected, Node, ChannelName}, #state{out = Out} = State) ->
    Paths = [Path || {N, C, _} = Path <- maps:keys(Out), N =:= Node, C =:= ChannelName],
    next(lists:foldl(fun resume/2, State, Paths)).

-spec handle_info(term(), #state{}) -> {noreply, #state{}, timeout()}.
handle_info({open, Stream, ReplyTo}, State) ->
    next(opened_here(Stream, ReplyTo, State));
handle_info({opened, Stream, Life}, State) ->
    next(opened_there(Stream, Life, State));
handle_info({data, Stream, Number, Content, ReplyTo}, State) ->
    next(arrived(Stream, Number, Content, ReplyTo, State));
handle_info({ack, Stream, Holds}, State) ->
    next(acknowledged(Stream, Holds, State));
handle_info({missing, Stream, Holds}, State) ->
    next(missing(Stream, acknowledged(Stream, Holds, State)));
handle_info({unknown, Stream}, State) ->
    next(restarted(Stream, State));
handle_info({timeout, Tick, tick}, #state{tick = Tick} = State) ->
    next(tick(State#state{tick = none}));
handle_info({timeout, _Older, tick}, State) ->
    next(State);
handle_info(poll, State) ->
    next(deliver_held(State#state{congested = false}));
handle_info(timeout, State) ->
    % The mailbox is empty: acknowledge what has come since.
    {noreply, arm(acknowledge(State)), infinity}.

next(State) ->
    {noreply, State, 0}.

%% Internals: sending.

accept(From, #{path := Path} = Request, State0) ->
    {Out, State} = stream_to(Path, State0),
    case is_waiting(Out, Request) of
        true -> block(From, Request, Out, State);
        false -> add(From, Request, Out, State)
    end.

%% Whoever came before goes first; and a stamp names the life it is for.
is_waiting(#out{blocked = Blocked, state = Stage}, #{causal := Causal}) ->
    not queue:is_empty(Blocked) orelse (Causal =/= none andalso Stage =:= opening).

block(From, #{path := Path} = Request, #out{blocked = Blocked} = Out, #state{out = Outs} = State) ->
    State#state{out = Outs#{Path => Out#out{blocked = queue:in({From, Request}, Blocked)}}}.

add(From, #{path := Path, bytes := Bytes, deadline := Deadline} = Request, Out, State0) ->
    {Content, State} = content(Request, Out, State0),
    Owner = owner(From, Request),
    case partisan_ack_out:add(Content, Bytes, Owner, Deadline, now_ms(), Out#out.entries) of
        {ok, Entries, Actions} ->
            ok = taken(From, Request),
            Added = Out#out{entries = Entries},
            act(Actions, Path, State#state{out = (State#state.out)#{Path => Added}});
        full ->
            % The stamp that was drawn must not count: the message waits with the former state.
            block(From, Request, Out, State0)
    end.

content(#{causal := none, destination := Destination, message := Message}, _Out, State) ->
    {{plain, Destination, Message}, State};
content(#{causal := {label, Label}} = Request, #out{state = {open, Life}}, State) ->
    #{path := {Node, _, _}, destination := Destination, message := Message} = Request,
    {Stamp, Causal} = partisan_causal:send({Node, Life}, causal(Label, State)),
    {{causal, Label, Stamp, Destination, Message}, store_causal(Label, Causal, State)}.

-spec owner(gen_server:from(), request()) -> owner().
owner(From, #{notify := none}) -> {reply, From};
owner(_From, #{notify := Notify}) -> Notify.

taken(_From, #{notify := none}) -> ok;
taken(From, #{notify := _}) -> gen_server:reply(From, ok).

stream_to(Path, #state{out = Outs} = State) ->
    case Outs of
        #{Path := Out} -> {Out, State};
        #{} -> open(Path, State)
    end.

open(Path, #state{self = {Name, Incarnation}, opened = Opened} = State) ->
    Stream = {Name, Incarnation, Opened + 1},
    Window = max(1, partisan_config:get(lane_queue_bytes) div 2),
    Out = #out{
        stream = Stream,
        entries = partisan_ack_out:new(#{max_bytes => Window}),
        retried = now_ms()
    },
    ok = transmit(Path, {open, Stream, reply_path(Path, State)}),
    {Out, State#state{
        opened = Opened + 1,
        out = (State#state.out)#{Path => Out},
        paths = (State#state.paths)#{Stream => Path}
    }}.

%% Where the receiver sends its answers: back to us, on the same lane.
reply_path({_, Channel, Lane}, #state{self = {Name, _}}) ->
    {Name, Channel, Lane}.

opened_there(Stream, Life, #state{out = Outs} = State) ->
    case path_of(Stream, State) of
        {ok, Path, #out{state = opening} = Out} ->
            resume(Path, State#state{out = Outs#{Path => Out#out{state = {open, Life}}}});
        _ ->
            State
    end.

%% Transmits again what is outstanding, and lets in whom there is room for.
resume(Path, #state{out = Outs} = State) ->
    #{Path := #out{entries = Entries0} = Out} = Outs,
    {Entries, Actions} = partisan_ack_out:reconnected(now_ms(), Entries0),
    Again = Out#out{entries = Entries, retried = now_ms()},
    unblock(Path, act(Actions, Path, State#state{out = Outs#{Path => Again}})).

%% Not at each report: those of what is under way again are yet to come.
missing(Stream, State) ->
    Now = now_ms(),
    case path_of(Stream, State) of
        {ok, Path, #out{retried = At}} when At + ?RETRY =< Now -> resume(Path, State);
        _ -> State
    end.

acknowledged(Stream, Holds, #state{out = Outs} = State) ->
    case path_of(Stream, State) of
        {ok, Path, #out{entries = Entries0} = Out} ->
            {Entries, Actions} = partisan_ack_out:acknowledged(Holds, now_ms(), Entries0),
            Settled = State#state{out = Outs#{Path => Out#out{entries = Entries}}},
            unblock(Path, act(Actions, Path, Settled));
        none ->
            State
    end.

unblock(Path, #state{out = Outs} = State) ->
    #{Path := #out{blocked = Blocked} = Out} = Outs,
    case queue:out(Blocked) of
        {empty, _} ->
            State;
        {{value, {From, Request}}, Rest} ->
            Alone = Out#out{blocked = queue:new()},
            case is_waiting(Alone, Request) of
                true ->
                    State;
                false ->
                    Tried = add(From, Request, Alone, State),
                    #{Path := #out{blocked = Refused} = Now} = Tried#state.out,
                    Left = Now#out{blocked = queue:join(Refused, Rest)},
                    Kept = Tried#state{out = (Tried#state.out)#{Path => Left}},
                    case queue:is_empty(Refused) of
                        true -> unblock(Path, Kept);
                        false -> Kept
                    end
            end
    end.

%% The receiver is another life: this stream is over, and the next message opens another.
restarted(Stream, #state{out = Outs, paths = Paths} = State) ->
    case path_of(Stream, State) of
        {ok, Path, #out{entries = Entries, blocked = Blocked}} ->
            ok = settle(partisan_ack_out:abandon(restarted, Entries)),
            Over = State#state{out = maps:remove(Path, Outs), paths = maps:remove(Stream, Paths)},
            queue:fold(fun({From, Request}, S) -> accept(From, Request, S) end, Over, Blocked);
        none ->
            State
    end.

path_of(Stream, #state{paths = Paths, out = Outs}) ->
    case Paths of
        #{Stream := Path} -> {ok, Path, maps:get(Path, Outs)};
        #{} -> none
    end.

act(Actions, Path, #state{out = Outs} = State) ->
    #{Path := #out{stream = Stream, state = Stage}} = Outs,
    ReplyTo = reply_path(Path, State),
    lists:foreach(
        fun
            ({transmit, _}) when Stage =:= opening ->
                ok;
            ({transmit, Entries}) ->
                lists:foreach(
                    fun({N, Content}) -> transmit(Path, {data, Stream, N, Content, ReplyTo}) end,
                    Entries
                );
            (Settle) ->
                settle([Settle])
        end,
        Actions
    ),
    State.

settle(Actions) ->
    lists:foreach(
        fun
            ({settle, {reply, From}, Outcome}) ->
                gen_server:reply(From, Outcome);
            ({settle, {notify, Pid, Tag}, Outcome}) ->
                Pid ! {partisan, {acknowledged, Tag, Outcome}}
        end,
        Actions
    ).

%% What a full lane or a broken route does not take is transmitted again later.
transmit({Node, ChannelName, Lane}, Message) ->
    Options = #{
        channel => ChannelName,
        partition_key => partisan_channel:lane_key(Lane),
        on_busy => drop,
        await_route => false
    },
    _ = partisan_transport:send(Node, ?MODULE, Message, Options),
    ok.

%% Internals: receiving.

opened_here({Sender, Life, _} = Stream, ReplyTo, #state{self = {_, Own}, in = Ins} = State0) ->
    State = forget_former(Sender, Life, State0),
    In = maps:get(Stream, Ins, #in{reply_to = ReplyTo}),
    ok = transmit(ReplyTo, {opened, Stream, Own}),
    State#state{in = (State#state.in)#{Stream => In}}.

%% A new life of a sender: its former streams end, and nothing waits for what it had sent any more.
forget_former(Sender, Life, #state{in = Ins, causal = Causals} = State) ->
    Former = [S || {Name, L, _} = S <- maps:keys(Ins), Name =:= Sender, L < Life],
    case Former of
        [] ->
            State;
        _ ->
            Lost = lists:max([L || {_, L, _} <- Former]),
            maps:fold(
                fun(Label, Causal0, S) ->
                    {Released, Causal} = partisan_causal:forget({Sender, Lost}, Causal0),
                    ok = deliver_all(Released),
                    store_causal(Label, Causal, S)
                end,
                State#state{in = maps:without(Former, Ins)},
                Causals
            )
    end.

arrived(Stream, Number, Content, ReplyTo, #state{in = Ins, unacknowledged = Due} = State) ->
    case Ins of
        #{Stream := #in{next = Next0, held = Held} = In} ->
            case partisan_ack_in:receive_number(Number, Next0) of
                {deliver, Next} ->
                    Taken = In#in{next = Next, held = queue:in({Number, Content}, Held)},
                    drain(Stream, State#state{in = Ins#{Stream := Taken}});
                {gap, _} ->
                    ok = transmit(ReplyTo, {missing, Stream, holds(In)}),
                    State;
                {duplicate, _} ->
                    State#state{unacknowledged = Due#{Stream => true}}
            end;
        #{} ->
            ok = transmit(ReplyTo, {unknown, Stream}),
            State
    end.

%% Delivers in order, until a receiver is found too far behind.
drain(Stream, #state{in = Ins, unacknowledged = Due} = State) ->
    #{Stream := #in{held = Held} = In} = Ins,
    case queue:out(Held) of
        {empty, _} ->
            State;
        {{value, {_Number, Content}}, Rest} ->
            case is_congested(Content) of
                true ->
                    poll_later(State);
                false ->
                    Delivered = State#state{
                        in = Ins#{Stream := In#in{held = Rest}},
                        unacknowledged = Due#{Stream => true}
                    },
                    drain(Stream, deliver(Stream, Content, Delivered))
            end
    end.

deliver_held(#state{in = Ins} = State) ->
    Held = [Stream || {Stream, #in{held = Held}} <- maps:to_list(Ins), not queue:is_empty(Held)],
    lists:foldl(fun drain/2, State, Held).

poll_later(#state{congested = true} = State) ->
    State;
poll_later(State) ->
    _ = erlang:send_after(?CONGESTION_POLL, self(), poll),
    State#state{congested = true}.

is_congested(skip) -> false;
is_congested({message, {plain, Destination, _}}) -> is_behind(Destination);
is_congested({message, {causal, _, _, Destination, _}}) -> is_behind(Destination).

is_behind(Destination) ->
    case partisan_ref:find(Destination) of
        undefined ->
            false;
        Pid ->
            case process_info(Pid, message_queue_len) of
                {message_queue_len, Length} -> Length > partisan_config:get(mailbox_messages);
                undefined -> false
            end
    end.

deliver(_Stream, skip, State) ->
    State;
deliver(_Stream, {message, {plain, Destination, Message}}, State) ->
    ok = deliver_all([{Destination, Message}]),
    State;
deliver({Sender, Life, _}, {message, {causal, Label, Stamp, Destination, Message}}, State) ->
    {Released, Causal} = partisan_causal:receive_message(
        {Sender, Life}, Stamp, {Destination, Message}, causal(Label, State)
    ),
    ok = deliver_all(Released),
    store_causal(Label, Causal, State).

deliver_all(Messages) ->
    lists:foreach(
        fun({Destination, Message}) -> ok = partisan:deliver(Destination, Message, default) end,
        Messages
    ).

%% Only what has been delivered is acknowledged.
acknowledge(#state{unacknowledged = Due, in = Ins} = State) ->
    maps:foreach(
        fun(Stream, _) ->
            case Ins of
                #{Stream := #in{reply_to = ReplyTo} = In} ->
                    transmit(ReplyTo, {ack, Stream, holds(In)});
                #{} ->
                    ok
            end
        end,
        Due
    ),
    State#state{unacknowledged = #{}}.

holds(#in{next = Next, held = Held}) ->
    partisan_ack_in:holds(Next) - queue:len(Held).

%% Internals: causal order, time.

causal(Label, #state{causal = Causals, self = Self}) ->
    maps:get(Label, Causals, partisan_causal:new(Self)).

store_causal(Label, Causal, #state{causal = Causals} = State) ->
    State#state{causal = Causals#{Label => Causal}}.

tick(#state{out = Outs} = State0) ->
    Now = now_ms(),
    lists:foldl(
        fun(Path, #state{out = Current} = State) ->
            #{Path := Out0} = Current,
            Out1 = open_again(Path, Now, expire_blocked(Now, Out0), State),
            {Entries, Actions} = partisan_ack_out:tick(Now, Out1#out.entries),
            act(Actions, Path, State#state{out = Current#{Path := Out1#out{entries = Entries}}})
        end,
        State0,
        maps:keys(Outs)
    ).

open_again(Path, Now, #out{state = opening, retried = At, stream = Stream} = Out, State) when
    At + ?RETRY =< Now
->
    ok = transmit(Path, {open, Stream, reply_path(Path, State)}),
    Out#out{retried = Now};
open_again(_Path, _Now, Out, _State) ->
    Out.

expire_blocked(Now, #out{blocked = Blocked} = Out) ->
    {Late, Waiting} = lists:partition(
        fun({_, #{deadline := Deadline}}) -> Deadline =< Now end, queue:to_list(Blocked)
    ),
    lists:foreach(fun({From, _}) -> gen_server:reply(From, {error, timeout}) end, Late),
    Out#out{blocked = queue:from_list(Waiting)}.

%% Wakes when the first stream has something to do.
arm(#state{out = Outs, tick = Tick} = State) ->
    _ = Tick =/= none andalso erlang:cancel_timer(Tick),
    case lists:min([infinity | lists:flatmap(fun due/1, maps:values(Outs))]) of
        infinity ->
            State#state{tick = none};
        At ->
            State#state{tick = erlang:start_timer(max(0, At - now_ms()), self(), tick)}
    end.

due(#out{state = Stage, retried = At, entries = Entries, blocked = Blocked}) ->
    [
        case Stage of
            opening -> At + ?RETRY;
            {open, _} -> infinity
        end,
        partisan_ack_out:wake_at(Entries)
        | [Deadline || {_, #{deadline := Deadline}} <- queue:to_list(Blocked)]
    ].

deadline(infinity) -> infinity;
deadline(Timeout) -> now_ms() + Timeout.

now_ms() ->
    erlang:monotonic_time(millisecond).

%%% @doc The sending end of one acknowledged stream.
%%%
%%% A {@link partisan_ack_out}, and in front of it, in order of arrival, the callers that its window
%%% has no room for. The stream is opened before use, and opened again with exponential back-off
%%% until the receiver answers: each attempt to reach an absent node searches the whole cluster for
%%% it. A causal message waits for that too: its stamp names the incarnation it is for.
%%%
%%% Part of the process of {@link partisan_acks}: it transmits and answers the callers itself.
%%%
%%% Longer than 300 lines: one state machine, whose steps all change the same stream.
-module(partisan_ack_outgoing).

-export([open/3]).
-export([id/1]).
-export([send/4]).
-export([resume/2]).
-export([reachable/1]).
-export([opened/3]).
-export([acknowledged/3]).
-export([missing/3]).
-export([refused/4]).
-export([leads_to_previous/2]).
-export([restarted/1]).
-export([tick/2]).
-export([is_over/1]).
-export([close/1]).
-export([wake_at/1]).

-import(partisan_ack_stream, [transmit/2, now_ms/0]).

%% First and longest pause before a stream is opened again, and the interval of retransmissions
%% while messages are reported missing.
-define(RETRY, 200).
-define(RETRY_MAX, 30000).
%% How long a stream without messages is kept.
-define(IDLE, 300000).

-type path() :: partisan_ack_stream:path().
-type owner() ::
    {reply, gen_server:from()}
    | {notify, pid(), Tag :: term()}
    % No owner: losses are counted.
    | {count, Channel :: atom()}.
-type request() :: #{
    path := path(),
    destination := partisan_ref:destination(),
    message := term(),
    bytes := non_neg_integer(),
    causal := none | {label, partisan_labels:label()},
    % Its order among messages without acknowledgement.
    order := partisan_ack_order:key(),
    % When its sender stops waiting for room, and when it is given up.
    room_deadline := integer() | infinity,
    deadline := integer() | infinity,
    % If it cannot be accepted at once.
    on_busy := block | error | drop,
    % Recipient of the outcome: the waiting caller, a process, or none.
    outcome := reply | {notify, pid(), Tag :: term()} | count
}.

-record(out, {
    path :: path(),
    stream :: partisan_ack_stream:id(),
    reply_to :: path(),
    state = opening :: opening | {open, Receiver :: partisan_peer:incarnation()},
    entries :: partisan_ack_out:t(),
    % Of each entry, oldest first.
    orders = queue:new() :: queue:queue(partisan_ack_order:key()),
    % Time of the last retransmission or opening; and the next pause between openings.
    retried :: integer(),
    pause = ?RETRY :: pos_integer(),
    % When a message was last accepted or acknowledged.
    used :: integer(),
    % Callers waiting for room in the window, and messages whose stamp needs the receiver's
    % incarnation.
    blocked = queue:new() :: queue:queue({gen_server:from(), request()})
}).

-opaque t() :: #out{}.
-export_type([t/0, request/0]).

-type result() :: {t(), partisan_labels:t()}.

%% API.

%% @doc A new stream. Its answers come back on the lane of `ReplyTo'.
-spec open(path(), ReplyTo :: path(), partisan_ack_stream:id()) -> t().
open({_, ChannelName, _} = Path, ReplyTo, Stream) ->
    {ok, Channel} = partisan_channel:find(ChannelName),
    Window = partisan_channel:unacknowledged_limit(Channel),
    Now = now_ms(),
    open_now(Now, #out{
        path = Path,
        stream = Stream,
        reply_to = ReplyTo,
        entries = partisan_ack_out:new(#{max_bytes => Window, skip => fun skip/1}),
        retried = Now,
        used = Now
    }).

%% @doc The identifier of the stream.
-spec id(t()) -> partisan_ack_stream:id().
id(#out{stream = Stream}) ->
    Stream.

%% @doc Accepts a message into the window; if there is no room, `on_busy' decides whether its caller
%% waits or gets an error. The caller is answered when the message is acknowledged or, if it does
%% not wait for that, once the message is in the window.
-spec send(gen_server:from(), request(), partisan_labels:t(), t()) -> result().
send(From, Request, Labels, Out) ->
    case is_waiting(Out, Request) of
        true -> {busy(From, Request, Out), Labels};
        false -> add(From, Request, Labels, Out)
    end.

%% @doc Retransmits what is outstanding, and admits waiting callers.
-spec resume(partisan_labels:t(), t()) -> result().
resume(Labels, #out{entries = Entries0} = Out) ->
    Now = now_ms(),
    {Entries, Actions} = partisan_ack_out:reconnected(Now, Entries0),
    unblock(Labels, act(Actions, Out#out{entries = Entries, retried = Now})).

%% @doc The peer is reachable: opens the stream at once if anything waits for it.
-spec reachable(t()) -> t().
reachable(#out{state = opening, retried = At} = Out) ->
    case now_ms() of
        Now when At + ?RETRY =< Now -> open_now(Now, Out#out{pause = ?RETRY});
        _ -> Out
    end;
reachable(Out) ->
    Out.

%% @doc The receiver has opened the stream and named its incarnation.
-spec opened(partisan_peer:incarnation(), partisan_labels:t(), t()) -> result().
opened(Incarnation, Labels, #out{state = opening} = Out) ->
    resume(Labels, Out#out{state = {open, Incarnation}});
opened(_Life, Labels, Out) ->
    {Out, Labels}.

%% @doc The receiver holds everything up to this number.
-spec acknowledged(non_neg_integer(), partisan_labels:t(), t()) -> result().
acknowledged(Holds, Labels, #out{entries = Entries0} = Out) ->
    {Entries, Actions} = partisan_ack_out:acknowledged(Holds, now_ms(), Entries0),
    Settled = settled(count(Entries0) - count(Entries), Out#out{entries = Entries}),
    unblock(Labels, act(Actions, Settled)).

%% @doc As `acknowledged/3'; the messages after it were lost on the way.
-spec missing(non_neg_integer(), partisan_labels:t(), t()) -> result().
missing(Holds, Labels0, Out0) ->
    {#out{retried = At} = Out, Labels} = acknowledged(Holds, Labels0, Out0),
    case At + ?RETRY =< now_ms() of
        true -> resume(Labels, Out);
        % Not at each report: those about the retransmitted messages are yet to come.
        false -> {Out, Labels}
    end.

%% @doc The receiver cannot accept this message: the stream goes on without it.
-spec refused(
    partisan_ack_out:sequence(), partisan_ack_out:refusal(), partisan_labels:t(), t()
) -> result().
refused(Number, Why, Labels, #out{entries = Entries0} = Out) ->
    {Entries, Actions} = partisan_ack_out:refuse(Number, Why, Entries0),
    resume(Labels, act(Actions, Out#out{entries = Entries})).

%% @doc Whether an incarnation of the receiver before this one has opened the stream.
-spec leads_to_previous(partisan_peer:incarnation(), t()) -> boolean().
leads_to_previous(Incarnation, #out{state = {open, Receiver}}) -> Receiver < Incarnation;
leads_to_previous(_Incarnation, #out{state = opening}) -> false.

%% @doc The receiver is another incarnation, which ends this stream. Returns the requests that still
%% wait for room.
-spec restarted(t()) -> [{gen_server:from(), request()}].
restarted(#out{entries = Entries, blocked = Blocked} = Out) ->
    ok = close(act(partisan_ack_out:abandon(restarted, Entries), Out)),
    queue:to_list(Blocked).

%% @doc Settles messages that timed out, and retransmits if due.
-spec tick(partisan_labels:t(), t()) -> result().
tick(Labels, Out0) ->
    Now = now_ms(),
    Out = open_again(Now, expire_blocked(Now, Out0)),
    {Entries, Actions} = partisan_ack_out:tick(Now, Out#out.entries),
    unblock(Labels, act(Actions, Out#out{entries = Entries})).

%% @doc Whether the stream has long been unused, with no caller waiting. A stream that was never
%% opened may end at once, since the receiver has got nothing of it.
-spec is_over(t()) -> boolean().
is_over(#out{state = Stage, used = Used, entries = Entries, blocked = Blocked}) ->
    (Stage =:= opening orelse Used + ?IDLE =< now_ms()) andalso queue:is_empty(Blocked) andalso
        partisan_ack_out:is_settled(Entries).

%% @doc Ends the stream: no message of it is in flight any more.
-spec close(t()) -> ok.
close(#out{entries = Entries} = Out) ->
    #out{} = settled(count(Entries), Out),
    ok.

%% @doc The time at which `tick/2' is due next.
-spec wake_at(t()) -> integer() | infinity.
wake_at(#out{state = Stage, entries = Entries, blocked = Blocked} = Out) ->
    lists:min([
        case Stage of
            opening -> Out#out.retried + Out#out.pause;
            {open, _} -> idle_at(Out)
        end,
        partisan_ack_out:wake_at(Entries)
        | [given_up_at(Request) || {_, Request} <- queue:to_list(Blocked)]
    ]).

%% Internals: accepting messages.

%% Earlier callers go first, and a stamp needs the receiver's incarnation.
is_waiting(#out{blocked = Blocked, state = Stage}, #{causal := Causal}) ->
    not queue:is_empty(Blocked) orelse (Causal =/= none andalso Stage =:= opening).

busy(From, #{on_busy := block} = Request, #out{blocked = Blocked} = Out) ->
    Out#out{blocked = queue:in({From, Request}, Blocked)};
busy(From, #{on_busy := drop, outcome := count}, #out{path = {_, ChannelName, _}} = Out) ->
    ok = dropped(ChannelName, busy),
    ok = gen_server:reply(From, ok),
    Out;
busy(From, _Told, Out) ->
    ok = gen_server:reply(From, {error, busy}),
    Out.

add(From, #{bytes := Bytes, deadline := Deadline, order := Order} = Request, Labels0, Out) ->
    {Content, Labels} = content(Request, Out, Labels0),
    Owner = owner(From, Request),
    Now = now_ms(),
    case partisan_ack_out:add(Content, Bytes, Owner, Deadline, Now, Out#out.entries) of
        {ok, Entries, Actions} ->
            ok = partisan_ack_order:begins(Order),
            ok = taken(From, Request),
            Orders = queue:in(Order, Out#out.orders),
            {act(Actions, Out#out{entries = Entries, orders = Orders, used = Now}), Labels};
        full ->
            % The drawn stamp must not count: the message waits with the previous labels.
            {busy(From, Request, Out), Labels0}
    end.

content(#{causal := none, destination := Destination, message := Message}, _Out, Labels) ->
    {{plain, Destination, Message}, Labels};
content(#{causal := {label, Label}} = Request, #out{state = {open, Incarnation}}, Labels0) ->
    #{path := {Node, _, _}, destination := Destination, message := Message} = Request,
    {Stamp, Labels} = partisan_labels:stamp(Label, {Node, Incarnation}, Labels0),
    {{causal, Label, Stamp, Destination, Message}, Labels}.

%% What replaces a message that is given up: the causal order counts each one.
skip({plain, _, _}) -> skip;
skip({causal, Label, Stamp, _, _}) -> {message, {causal, Label, Stamp, undefined, skip}}.

-spec owner(gen_server:from(), request()) -> owner().
owner(From, #{outcome := reply}) -> {reply, From};
owner(_From, #{outcome := {notify, _, _} = Notify}) -> Notify;
owner(_From, #{outcome := count, path := {_, ChannelName, _}}) -> {count, ChannelName}.

taken(_From, #{outcome := reply}) -> ok;
taken(From, #{outcome := _}) -> gen_server:reply(From, ok).

%% Admits waiting callers.
unblock(Labels0, #out{blocked = Blocked} = Out0) ->
    Alone = Out0#out{blocked = queue:new()},
    case queue:out(Blocked) of
        {empty, _} ->
            {Out0, Labels0};
        {{value, {From, Request}}, Rest} ->
            case is_waiting(Alone, Request) of
                true ->
                    {Out0, Labels0};
                false ->
                    {#out{blocked = Refused} = Out, Labels} = add(From, Request, Labels0, Alone),
                    Left = Out#out{blocked = queue:join(Refused, Rest)},
                    case queue:is_empty(Refused) of
                        true -> unblock(Labels, Left);
                        false -> {Left, Labels}
                    end
            end
    end.

%% Internals: what is outstanding.

open_now(Now, #out{path = Path, stream = Stream, reply_to = ReplyTo} = Out) ->
    _ = transmit(Path, {open, Stream, ReplyTo}),
    Out#out{retried = Now}.

%% Settles the oldest entries: messages after them may take another path.
settled(0, Out) ->
    Out;
settled(Count, #out{orders = Orders0} = Out) ->
    {{value, Order}, Orders} = queue:out(Orders0),
    ok = partisan_ack_order:ends(Order),
    settled(Count - 1, Out#out{orders = Orders, used = now_ms()}).

count(Entries) ->
    #{messages := Messages} = partisan_ack_out:outstanding(Entries),
    Messages.

act(Actions, Out) ->
    lists:foldl(fun action/2, Out, Actions).

action({transmit, _}, #out{state = opening} = Out) ->
    Out;
action({transmit, []}, Out) ->
    Out;
action({transmit, [{Number, Content} | Later]}, Out) ->
    case transmit_data(Number, Content, Out) of
        ok ->
            action({transmit, Later}, Out);
        {error, {too_large, _} = Why} ->
            action({transmit, Later}, without(Number, Why, Out));
        {error, _} ->
            % No route to the peer, which could accept no later entry without this one.
            Out
    end;
action({settle, Owner, Outcome}, Out) ->
    ok = settle(Owner, Outcome),
    Out.

transmit_data(Number, Content, #out{path = Path, stream = Stream, reply_to = ReplyTo}) ->
    transmit(Path, {data, Stream, Number, Content, ReplyTo}).

without(Number, Why, #out{entries = Entries0} = Out) ->
    {Entries, Actions} = partisan_ack_out:refuse(Number, Why, Entries0),
    % Without its stamp, which has grown too large: no message can wait for it any more.
    _ = transmit_data(Number, skip, Out),
    act(Actions, Out#out{entries = Entries}).

settle({reply, From}, Outcome) ->
    gen_server:reply(From, Outcome);
settle({notify, Pid, Tag}, Outcome) ->
    Pid ! {partisan, {acknowledged, Tag, Outcome}},
    ok;
settle({count, _ChannelName}, ok) ->
    ok;
settle({count, ChannelName}, {error, _}) ->
    dropped(ChannelName, unacknowledged).

dropped(ChannelName, Reason) ->
    {ok, Channel} = partisan_channel:find(ChannelName),
    partisan_channel:dropped(Channel, Reason).

%% Internals: time.

open_again(Now, #out{state = opening, retried = At, pause = Pause} = Out) when At + Pause =< Now ->
    open_now(Now, Out#out{pause = min(2 * Pause, ?RETRY_MAX)});
open_again(_Now, Out) ->
    Out.

expire_blocked(Now, #out{blocked = Blocked} = Out) ->
    {Late, Waiting} = lists:partition(
        fun({_, Request}) -> given_up_at(Request) =< Now end, queue:to_list(Blocked)
    ),
    lists:foreach(fun({From, _}) -> gen_server:reply(From, {error, timeout}) end, Late),
    Out#out{blocked = queue:from_list(Waiting)}.

%% While it waits for room.
given_up_at(#{room_deadline := RoomDeadline, deadline := Deadline}) ->
    min(RoomDeadline, Deadline).

%% A stream with messages is due when they are.
idle_at(#out{entries = Entries, used = Used}) ->
    case count(Entries) of
        0 -> Used + ?IDLE;
        _ -> infinity
    end.

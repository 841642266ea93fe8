%%% @doc The sending ends of all acknowledged streams of a node.
%%%
%%% One {@link partisan_ack_out} per path, and in front of it the callers whom its window has no
%%% room for, in the order in which they came. A stream is opened before it is used, and opened
%%% again until it is, at doubling intervals: each attempt to reach an absent node searches the
%%% whole cluster for it. A causal message waits for that too: its stamp names the life it is for.
%%% A stream that has been idle for long is forgotten, and the next message opens another.
%%%
%%% Part of the process of {@link partisan_acks}: it transmits, and answers the callers, itself.
-module(partisan_ack_sender).

-export([new/1]).
-export([send/4]).
-export([reconnected/4]).
-export([reachable/2]).
-export([opened/4]).
-export([acknowledged/4]).
-export([missing/4]).
-export([refused/5]).
-export([restarted/3]).
-export([leads_to/3]).
-export([tick/1]).
-export([wake_at/1]).

-import(partisan_ack_stream, [transmit/2, now_ms/0]).

%% How soon a stream is opened again, at first and at last, and how often lost messages are sent
%% again while they are reported missing.
-define(RETRY, 200).
-define(RETRY_MAX, 30000).
%% How long a stream without messages is kept.
-define(IDLE, 300000).

-type path() :: partisan_ack_stream:path().
-type owner() ::
    {reply, gen_server:from()}
    | {notify, pid(), Tag :: term()}
    % Nobody: what does not arrive is counted.
    | {count, Channel :: atom()}.
-type request() :: #{
    path := path(),
    destination := partisan_ref:destination(),
    message := term(),
    bytes := non_neg_integer(),
    causal := none | {label, partisan_labels:label()},
    % What keeps its order with messages that ask for no acknowledgement.
    order := partisan_ack_order:key(),
    % When its sender stops waiting for room, and when it is given up.
    patience := integer() | infinity,
    deadline := integer() | infinity,
    % Where it cannot be taken at once.
    on_busy := block | error | drop,
    % Who learns how it ended: the caller, who waits; a process; or nobody.
    outcome := reply | {notify, pid(), Tag :: term()} | count
}.

-record(out, {
    stream :: partisan_ack_stream:id(),
    state = opening :: opening | {open, Receiver :: partisan_peer:incarnation()},
    entries :: partisan_ack_out:t(),
    % Of each entry, oldest first.
    orders = queue:new() :: queue:queue(partisan_ack_order:key()),
    % When something was last sent again, or the stream opened; and the next pause between openings.
    retried :: integer(),
    pause = ?RETRY :: pos_integer(),
    % When a message was last taken in or acknowledged.
    used :: integer(),
    % Senders whom the window has no room for, and messages whose stamp needs the receiver's life.
    blocked = queue:new() :: queue:queue({gen_server:from(), request()})
}).

-record(sender, {
    self :: partisan_causal:life(),
    opened = 0 :: non_neg_integer(),
    out = #{} :: #{path() => #out{}},
    paths = #{} :: #{partisan_ack_stream:id() => path()}
}).

-opaque t() :: #sender{}.
-export_type([t/0, request/0]).

-type result() :: {t(), partisan_labels:t()}.

%% API.

-spec new(Self :: partisan_causal:life()) -> t().
new(Self) ->
    #sender{self = Self}.

%% @doc Takes a message into the window of its stream, or has its caller wait for that, or refuses
%% it, as `on_busy' says. The caller is answered when the message is acknowledged, or, where it does
%% not wait for that, when it is in the window.
-spec send(gen_server:from(), request(), partisan_labels:t(), t()) -> result().
send(From, #{path := Path} = Request, Labels, S0) ->
    {Out, S} = stream_to(Path, S0),
    case is_waiting(Out, Request) of
        true -> {busy(From, Request, Out, S), Labels};
        false -> add(From, Request, Out, Labels, S)
    end.

%% @doc The lanes of this channel to a peer have a new connection.
-spec reconnected(partisan_peer:name(), Channel :: atom(), partisan_labels:t(), t()) -> result().
reconnected(Node, ChannelName, Labels, #sender{out = Outs} = S) ->
    Paths = [Path || {N, C, _} = Path <- maps:keys(Outs), N =:= Node, C =:= ChannelName],
    lists:foldl(fun(Path, {S1, L}) -> resume(Path, L, S1) end, {S, Labels}, Paths).

%% @doc This peer is there: what has been waiting for it is opened at once.
-spec reachable(partisan_peer:name(), t()) -> t().
reachable(Node, #sender{out = Outs} = S) ->
    Now = now_ms(),
    maps:fold(
        fun
            ({N, _, _} = Path, #out{state = opening, retried = At} = Out, Acc) when
                N =:= Node, At + ?RETRY =< Now
            ->
                put_out(Path, open_now(Path, Now, Out#out{pause = ?RETRY}, Acc), Acc);
            (_, _, Acc) ->
                Acc
        end,
        S,
        Outs
    ).

%% @doc The receiver knows the stream now, and said which life it is.
-spec opened(
    partisan_ack_stream:id(), partisan_peer:incarnation(), partisan_labels:t(), t()
) -> result().
opened(Stream, Life, Labels, S) ->
    case path_of(Stream, S) of
        {ok, Path, #out{state = opening} = Out} ->
            resume(Path, Labels, put_out(Path, Out#out{state = {open, Life}}, S));
        _ ->
            {S, Labels}
    end.

%% @doc The receiver holds everything up to this number.
-spec acknowledged(partisan_ack_stream:id(), non_neg_integer(), partisan_labels:t(), t()) ->
    result().
acknowledged(Stream, Holds, Labels, S) ->
    case path_of(Stream, S) of
        {ok, Path, #out{entries = Entries0} = Out} ->
            {Entries, Actions} = partisan_ack_out:acknowledged(Holds, now_ms(), Entries0),
            Settled = settled(count(Entries0) - count(Entries), Out#out{entries = Entries}),
            unblock(Path, Labels, become(Path, Settled, Actions, S));
        none ->
            {S, Labels}
    end.

%% @doc As `acknowledged/4', and what follows has been lost on the way.
-spec missing(partisan_ack_stream:id(), non_neg_integer(), partisan_labels:t(), t()) -> result().
missing(Stream, Holds, Labels0, S0) ->
    {S, Labels} = acknowledged(Stream, Holds, Labels0, S0),
    Now = now_ms(),
    case path_of(Stream, S) of
        % Not at each report: those of what is under way again are yet to come.
        {ok, Path, #out{retried = At}} when At + ?RETRY =< Now -> resume(Path, Labels, S);
        _ -> {S, Labels}
    end.

%% @doc The receiver cannot take this message: the stream goes on without it.
-spec refused(
    partisan_ack_stream:id(),
    partisan_ack_out:sequence(),
    partisan_ack_out:refusal(),
    partisan_labels:t(),
    t()
) -> result().
refused(Stream, Number, Why, Labels, S) ->
    case path_of(Stream, S) of
        {ok, Path, #out{entries = Entries0} = Out} ->
            {Entries, Actions} = partisan_ack_out:refuse(Number, Why, Entries0),
            resume(Path, Labels, become(Path, Out#out{entries = Entries}, Actions, S));
        none ->
            {S, Labels}
    end.

%% @doc The receiver is another life: this stream is over, and the next message opens another.
-spec restarted(partisan_ack_stream:id(), partisan_labels:t(), t()) -> result().
restarted(Stream, Labels, S) ->
    case path_of(Stream, S) of
        {ok, Path, #out{entries = Entries, blocked = Blocked} = Out} ->
            ok = settle(partisan_ack_out:abandon(restarted, Entries)),
            queue:fold(
                fun({From, Request}, {S1, L}) -> send(From, Request, L, S1) end,
                {forget(Path, Out, S), Labels},
                Blocked
            );
        none ->
            {S, Labels}
    end.

%% @doc Does this stream lead to that node?
-spec leads_to(partisan_ack_stream:id(), partisan_peer:name(), t()) -> boolean().
leads_to(Stream, Node, #sender{paths = Paths}) ->
    case Paths of
        #{Stream := {Node, _, _}} -> true;
        #{} -> false
    end.

%% @doc Tells those whose time is over, and transmits again where that is due.
-spec tick(t()) -> t().
tick(#sender{out = Outs} = S) ->
    maps:fold(fun(Path, Out, Acc) -> tick(Path, Out, Acc) end, S, Outs).

%% @doc When `tick/1' has something to do next.
-spec wake_at(t()) -> integer() | infinity.
wake_at(#sender{out = Outs}) ->
    lists:min([infinity | lists:flatmap(fun due/1, maps:values(Outs))]).

%% Internals: taking messages in.

%% Whoever came before goes first; and a stamp names the life it is for.
is_waiting(#out{blocked = Blocked, state = Stage}, #{causal := Causal}) ->
    not queue:is_empty(Blocked) orelse (Causal =/= none andalso Stage =:= opening).

busy(From, #{on_busy := block, path := Path} = Request, #out{blocked = Blocked} = Out, S) ->
    put_out(Path, Out#out{blocked = queue:in({From, Request}, Blocked)}, S);
busy(From, #{on_busy := drop, outcome := count, path := {_, ChannelName, _}}, _Out, S) ->
    ok = dropped(ChannelName, busy),
    ok = gen_server:reply(From, ok),
    S;
busy(From, _Told, _Out, S) ->
    ok = gen_server:reply(From, {error, busy}),
    S.

add(From, Request, Out, Labels0, S) ->
    #{path := Path, bytes := Bytes, deadline := Deadline, order := Order} = Request,
    {Content, Labels} = content(Request, Out, Labels0),
    Owner = owner(From, Request),
    Now = now_ms(),
    case partisan_ack_out:add(Content, Bytes, Owner, Deadline, Now, Out#out.entries) of
        {ok, Entries, Actions} ->
            ok = partisan_ack_order:begins(Order),
            ok = taken(From, Request),
            Taken = Out#out{
                entries = Entries, orders = queue:in(Order, Out#out.orders), used = Now
            },
            {become(Path, Taken, Actions, S), Labels};
        full ->
            % The stamp that was drawn must not count: the message waits with the former labels.
            {busy(From, Request, Out, S), Labels0}
    end.

content(#{causal := none, destination := Destination, message := Message}, _Out, Labels) ->
    {{plain, Destination, Message}, Labels};
content(#{causal := {label, Label}} = Request, #out{state = {open, Life}}, Labels0) ->
    #{path := {Node, _, _}, destination := Destination, message := Message} = Request,
    {Stamp, Labels} = partisan_labels:stamp(Label, {Node, Life}, Labels0),
    {{causal, Label, Stamp, Destination, Message}, Labels}.

%% What takes the place of a message that is given up: the causal order counts on each one.
skip({plain, _, _}) -> skip;
skip({causal, Label, Stamp, _, _}) -> {message, {causal, Label, Stamp, undefined, skip}}.

-spec owner(gen_server:from(), request()) -> owner().
owner(From, #{outcome := reply}) -> {reply, From};
owner(_From, #{outcome := {notify, _, _} = Notify}) -> Notify;
owner(_From, #{outcome := count, path := {_, ChannelName, _}}) -> {count, ChannelName}.

taken(_From, #{outcome := reply}) -> ok;
taken(From, #{outcome := _}) -> gen_server:reply(From, ok).

%% Lets in whom there is room for.
unblock(Path, Labels0, S0) ->
    #out{blocked = Blocked} = Out = get_out(Path, S0),
    case queue:out(Blocked) of
        {empty, _} ->
            {S0, Labels0};
        {{value, {From, Request}}, Rest} ->
            Alone = Out#out{blocked = queue:new()},
            case is_waiting(Alone, Request) of
                true ->
                    {S0, Labels0};
                false ->
                    {S1, Labels} = add(From, Request, Alone, Labels0, S0),
                    #out{blocked = Refused} = Now = get_out(Path, S1),
                    S2 = put_out(Path, Now#out{blocked = queue:join(Refused, Rest)}, S1),
                    case queue:is_empty(Refused) of
                        true -> unblock(Path, Labels, S2);
                        false -> {S2, Labels}
                    end
            end
    end.

%% Internals: streams.

stream_to(Path, #sender{out = Outs} = S) ->
    case Outs of
        #{Path := Out} -> {Out, S};
        #{} -> open(Path, S)
    end.

open({_, ChannelName, _} = Path, #sender{self = {Name, Incarnation}} = S) ->
    #sender{opened = Opened, paths = Paths} = S,
    Stream = partisan_ack_stream:id(Name, Incarnation, Opened + 1),
    {ok, Channel} = partisan_channel:find(ChannelName),
    Window = max(1, partisan_channel:queue_limit(Channel) div 2),
    Entries = partisan_ack_out:new(#{max_bytes => Window, skip => fun skip/1}),
    Now = now_ms(),
    New = #out{stream = Stream, entries = Entries, retried = Now, used = Now},
    Out = open_now(Path, Now, New, S),
    {Out, put_out(Path, Out, S#sender{opened = Opened + 1, paths = Paths#{Stream => Path}})}.

open_now(Path, Now, #out{stream = Stream} = Out, S) ->
    _ = transmit(Path, {open, Stream, reply_path(Path, S)}),
    Out#out{retried = Now}.

forget(Path, #out{stream = Stream} = Out, #sender{out = Outs, paths = Paths} = S) ->
    #out{} = settled(count(Out#out.entries), Out),
    S#sender{out = maps:remove(Path, Outs), paths = maps:remove(Stream, Paths)}.

%% So many of the oldest entries are over: those that come after them may take another way.
settled(0, Out) ->
    Out;
settled(Count, #out{orders = Orders0} = Out) ->
    {{value, Order}, Orders} = queue:out(Orders0),
    ok = partisan_ack_order:ends(Order),
    settled(Count - 1, Out#out{orders = Orders, used = now_ms()}).

count(Entries) ->
    #{messages := Messages} = partisan_ack_out:outstanding(Entries),
    Messages.

%% Where the receiver sends its answers: back to us, on the same lane.
reply_path({_, Channel, Lane}, #sender{self = {Name, _}}) ->
    {Name, Channel, Lane}.

path_of(Stream, #sender{paths = Paths} = S) ->
    case Paths of
        #{Stream := Path} -> {ok, Path, get_out(Path, S)};
        #{} -> none
    end.

get_out(Path, #sender{out = Outs}) ->
    map_get(Path, Outs).

put_out(Path, Out, #sender{out = Outs} = S) ->
    S#sender{out = Outs#{Path => Out}}.

%% Transmits again what is outstanding, and lets in whom there is room for.
resume(Path, Labels, S) ->
    #out{entries = Entries0} = Out = get_out(Path, S),
    {Entries, Actions} = partisan_ack_out:reconnected(now_ms(), Entries0),
    Again = Out#out{entries = Entries, retried = now_ms()},
    unblock(Path, Labels, become(Path, Again, Actions, S)).

%% Keeps what a stream has become, and does what it asks for.
become(Path, Out, Actions, S) ->
    put_out(Path, lists:foldl(fun(Action, O) -> act(Action, Path, O, S) end, Out, Actions), S).

act({transmit, _}, _Path, #out{state = opening} = Out, _S) ->
    Out;
act({transmit, []}, _Path, Out, _S) ->
    Out;
act({transmit, [{Number, Content} | Later]}, Path, #out{stream = Stream} = Out, S) ->
    case transmit(Path, {data, Stream, Number, Content, reply_path(Path, S)}) of
        ok ->
            act({transmit, Later}, Path, Out, S);
        {error, {too_large, _} = Why} ->
            act({transmit, Later}, Path, without(Number, Why, Path, Out, S), S);
        {error, _} ->
            % No way to the peer: without this one it could take none of the others.
            Out
    end;
act({settle, _, _} = Settle, _Path, Out, _S) ->
    ok = settle([Settle]),
    Out.

without(Number, Why, Path, #out{entries = Entries0, stream = Stream} = Out, S) ->
    {Entries, Settle} = partisan_ack_out:refuse(Number, Why, Entries0),
    ok = settle(Settle),
    % Where even that is too large, the stamp is: who sent before is lost to the order.
    _ = transmit(Path, {data, Stream, Number, skip, reply_path(Path, S)}),
    Out#out{entries = Entries}.

settle(Actions) ->
    lists:foreach(
        fun
            ({settle, {reply, From}, Outcome}) ->
                gen_server:reply(From, Outcome);
            ({settle, {notify, Pid, Tag}, Outcome}) ->
                Pid ! {partisan, {acknowledged, Tag, Outcome}};
            ({settle, {count, _ChannelName}, ok}) ->
                ok;
            ({settle, {count, ChannelName}, {error, _}}) ->
                dropped(ChannelName, unacknowledged)
        end,
        Actions
    ).

dropped(ChannelName, Reason) ->
    {ok, Channel} = partisan_channel:find(ChannelName),
    partisan_channel:dropped(Channel, Reason).

%% Internals: time.

tick(Path, Out0, S) ->
    Now = now_ms(),
    Out1 = open_again(Path, Now, expire_blocked(Now, Out0), S),
    {Entries, Actions} = partisan_ack_out:tick(Now, Out1#out.entries),
    Ticked = become(Path, Out1#out{entries = Entries}, Actions, S),
    Out = get_out(Path, Ticked),
    case is_over(Now, Out) of
        true -> forget(Path, Out, Ticked);
        false -> Ticked
    end.

open_again(Path, Now, #out{state = opening, retried = At, pause = Pause} = Out, S) when
    At + Pause =< Now
->
    open_now(Path, Now, Out#out{pause = min(2 * Pause, ?RETRY_MAX)}, S);
open_again(_Path, _Now, Out, _S) ->
    Out.

%% Nobody waits for anything; of one that was never opened the receiver has got nothing either.
is_over(Now, #out{state = Stage, used = Used, entries = Entries, blocked = Blocked}) ->
    (Stage =:= opening orelse Used + ?IDLE =< Now) andalso queue:is_empty(Blocked) andalso
        partisan_ack_out:is_settled(Entries).

expire_blocked(Now, #out{blocked = Blocked} = Out) ->
    {Late, Waiting} = lists:partition(
        fun({_, #{patience := Patience}}) -> Patience =< Now end, queue:to_list(Blocked)
    ),
    lists:foreach(fun({From, _}) -> gen_server:reply(From, {error, timeout}) end, Late),
    Out#out{blocked = queue:from_list(Waiting)}.

due(#out{state = Stage, entries = Entries, blocked = Blocked} = Out) ->
    [
        case Stage of
            opening -> Out#out.retried + Out#out.pause;
            {open, _} -> idle_at(Out)
        end,
        partisan_ack_out:wake_at(Entries)
        | [Patience || {_, #{patience := Patience}} <- queue:to_list(Blocked)]
    ].

%% One with messages is looked at when those are due.
idle_at(#out{entries = Entries, used = Used}) ->
    case count(Entries) of
        0 -> Used + ?IDLE;
        _ -> infinity
    end.

%%% @doc The receiving ends of all acknowledged streams at a node.
%%%
%%% One {@link partisan_ack_in} per stream, and the messages that arrived in order for slow
%%% processes: they wait here, unacknowledged, and so are bounded by the sender's window. Only
%%% delivered messages are acknowledged, all of them by one message when there is nothing else to
%%% do.
%%%
%%% Part of the process of {@link partisan_acks}: it transmits and delivers itself.
-module(partisan_ack_receiver).

-export([new/1]).
-export([opened/4]).
-export([arrived/6]).
-export([end_previous/4]).
-export([deliver_held/2]).
-export([deliver_held/3]).
-export([is_behind/1]).
-export([acknowledge/1]).

-import(partisan_ack_stream, [transmit/2, now_ms/0]).

-type path() :: partisan_ack_stream:path().
-type stream() :: partisan_ack_stream:id().
-type arrival() :: partisan_ack_stream:arrival().

%% A stream without arrivals for this long is idle: its sender has closed it, or is unreachable with
%% messages whose timeout is `infinity'. The receiver cannot distinguish them, so many are kept.
-define(IDLE, 3600000).
-define(MAX_IDLE, 8192).

-record(in, {
    next = partisan_ack_in:new() :: partisan_ack_in:t(),
    % Arrived in order, not yet delivered.
    held = queue:new() :: queue:queue(arrival()),
    held_count = 0 :: non_neg_integer(),
    reply_to :: path(),
    used :: integer()
}).

-record(receiver, {
    self :: partisan_causal:instance(),
    in = #{} :: #{stream() => #in{}},
    % Streams whose acknowledgement is due.
    unacknowledged = #{} :: #{stream() => true},
    % Whether a process was found too far behind and has not been checked since.
    behind = false :: boolean()
}).

-opaque t() :: #receiver{}.
-export_type([t/0]).

-type result() :: {t(), partisan_labels:t()}.

%% API.

%% @doc A receiver without streams.
-spec new(Self :: partisan_causal:instance()) -> t().
new(Self) ->
    #receiver{self = Self}.

%% @doc A sender opens a stream, perhaps once more. Ends the streams of its previous incarnations,
%% idle ones if there are too many, and the stream that this one replaces, which its sender has
%% forgotten: a late message that opened it again would be delivered again.
-spec opened(stream(), ReplyTo :: path(), partisan_labels:t(), t()) -> result().
opened({Sender, Incarnation, _} = Stream, ReplyTo, Labels0, #receiver{self = {_, Own}} = R0) ->
    {R1, Labels1} = end_previous(Sender, Incarnation, Labels0, R0),
    case is_replaced(Stream, ReplyTo, R1) of
        true ->
            {R1, Labels1};
        false ->
            {#receiver{in = Ins} = R, Labels} = finish(obsolete(Stream, ReplyTo, R1), Labels1, R1),
            In = maps:get(Stream, Ins, #in{reply_to = ReplyTo, used = now_ms()}),
            _ = transmit(ReplyTo, {opened, Stream, Own}),
            {R#receiver{in = Ins#{Stream => In}}, Labels}
    end.

%% @doc Ends the streams of all earlier incarnations of a node: their held messages are delivered
%% before any of the next incarnation, and messages that depend causally on theirs wait no longer.
-spec end_previous(partisan_peer:name(), partisan_peer:incarnation(), partisan_labels:t(), t()) ->
    result().
end_previous(Sender, Incarnation, Labels0, #receiver{in = Ins} = R0) ->
    case [S || {Name, L, _} = S <- maps:keys(Ins), Name =:= Sender, L < Incarnation] of
        [] ->
            {R0, Labels0};
        Previous ->
            {R, Labels1} = finish(Previous, Labels0, R0),
            Lost = lists:max([L || {_, L, _} <- Previous]),
            {Released, Labels} = partisan_labels:forget({Sender, Lost}, Labels1),
            ok = deliver_all(Released),
            {R, Labels}
    end.

%% @doc Handles a message of a stream.
-spec arrived(
    stream(), partisan_ack_out:sequence(), arrival(), ReplyTo :: path(), partisan_labels:t(), t()
) -> result().
arrived(Stream, Number, Arrival, ReplyTo, Labels, #receiver{in = Ins} = R) ->
    case Ins of
        #{Stream := #in{next = Next0} = In} ->
            case partisan_ack_in:receive_number(Number, Next0) of
                {deliver, Next} ->
                    take(Arrival, Number, Stream, In#in{next = Next}, Labels, R);
                {gap, _} ->
                    _ = transmit(ReplyTo, {missing, Stream, holds(In)}),
                    {R, Labels};
                {duplicate, _} ->
                    {due(Stream, R), Labels}
            end;
        #{} ->
            _ = transmit(ReplyTo, {unknown, Stream}),
            {R, Labels}
    end.

%% @doc Delivers held messages to processes that may have caught up.
-spec deliver_held(partisan_labels:t(), t()) -> result().
deliver_held(Labels, #receiver{in = Ins} = R) ->
    Held = [Stream || {Stream, #in{held = Held}} <- maps:to_list(Ins), not queue:is_empty(Held)],
    lists:foldl(
        fun(Stream, {R1, L}) -> drain(Stream, L, R1) end,
        {R#receiver{behind = false}, Labels},
        Held
    ).

%% @doc Delivers all that has arrived from this node, however far behind its receivers are.
-spec deliver_held(partisan_peer:name(), partisan_labels:t(), t()) -> result().
deliver_held(Node, Labels0, #receiver{in = Ins0, unacknowledged = Due} = R) ->
    Theirs = maps:filter(
        fun({Name, _, _}, #in{held_count = Count}) -> Name =:= Node andalso Count > 0 end, Ins0
    ),
    Labels = maps:fold(fun deliver_all_of/3, Labels0, Theirs),
    Emptied = maps:map(fun(_, In) -> In#in{held = queue:new(), held_count = 0} end, Theirs),
    {
        R#receiver{
            in = maps:merge(Ins0, Emptied),
            unacknowledged = maps:merge(Due, maps:map(fun(_, _) -> true end, Theirs))
        },
        Labels
    }.

%% @doc Whether messages are held, so that another check is worthwhile.
-spec is_behind(t()) -> boolean().
is_behind(#receiver{behind = IsBehind}) ->
    IsBehind.

%% @doc Acknowledges to the senders what has been delivered since.
-spec acknowledge(t()) -> t().
acknowledge(#receiver{unacknowledged = Due, in = Ins} = R) ->
    maps:foreach(
        fun(Stream, _) ->
            case Ins of
                #{Stream := #in{reply_to = ReplyTo} = In} ->
                    _ = transmit(ReplyTo, {ack, Stream, holds(In)}),
                    ok;
                #{} ->
                    ok
            end
        end,
        Due
    ),
    R#receiver{unacknowledged = #{}}.

%% Internals.

take(undecodable, Number, Stream, #in{reply_to = {_, ChannelName, _} = ReplyTo} = In, Labels, R) ->
    {ok, Channel} = partisan_channel:find(ChannelName),
    ok = partisan_channel:dropped(Channel, undecodable),
    case partisan_ack_stream:understands_refusals(Stream) of
        true ->
            % Not accepted: the sender replaces it, which makes up for a lost refusal.
            _ = transmit(ReplyTo, {refused, Stream, Number, undecodable}),
            {R, Labels};
        false ->
            take(skip, Number, Stream, In, Labels, R)
    end;
take(Arrival, _Number, Stream, #in{held = Held, held_count = Count} = In, Labels, R) ->
    #receiver{in = Ins} = R,
    Taken = In#in{held = queue:in(Arrival, Held), held_count = Count + 1, used = now_ms()},
    drain(Stream, Labels, R#receiver{in = Ins#{Stream := Taken}}).

%% Whether its sender has since opened another stream on the same path. A sender of the first
%% version forgets none, and counts from 1 again when its runtime restarts.
is_replaced({Sender, Incarnation, _} = Stream, ReplyTo, #receiver{in = Ins}) ->
    Number = partisan_ack_stream:number(Stream),
    partisan_ack_stream:understands_refusals(Stream) andalso
        lists:any(
            fun({{Name, L, _} = S, #in{reply_to = Path}}) ->
                Name =:= Sender andalso L =:= Incarnation andalso Path =:= ReplyTo andalso
                    partisan_ack_stream:number(S) > Number
            end,
            maps:to_list(Ins)
        ).

%% Older streams of the same sender on the same path, and idle ones if there are too many.
obsolete(Stream, ReplyTo, #receiver{in = Ins} = R) ->
    older(Stream, ReplyTo, R) ++
        case map_size(Ins) > ?MAX_IDLE of
            true -> lists:delete(Stream, too_idle(R));
            false -> []
        end.

older({Sender, Incarnation, _} = Stream, ReplyTo, #receiver{in = Ins}) ->
    Number = partisan_ack_stream:number(Stream),
    [
        S
     || {{Name, L, _} = S, #in{reply_to = Path}} <- maps:to_list(Ins),
        Name =:= Sender andalso L =:= Incarnation andalso Path =:= ReplyTo andalso
            partisan_ack_stream:number(S) < Number
    ].

%% Half of them at once, so that this is rare. Senders of the first version never close a stream.
too_idle(#receiver{in = Ins}) ->
    Since = now_ms() - ?IDLE,
    Idle = [
        {Used, S}
     || {S, #in{used = Used}} <- maps:to_list(Ins),
        Used < Since andalso partisan_ack_stream:understands_refusals(S)
    ],
    case length(Idle) of
        Count when Count > ?MAX_IDLE ->
            [S || {_, S} <- lists:sublist(lists:sort(Idle), Count - ?MAX_IDLE div 2)];
        _ ->
            []
    end.

%% Delivers held messages of streams, however far behind the receivers are, and forgets the streams.
finish(Streams, Labels0, #receiver{in = Ins0, unacknowledged = Due} = R) ->
    {Ended, Ins} = {maps:with(Streams, Ins0), maps:without(Streams, Ins0)},
    Labels = maps:fold(fun deliver_all_of/3, Labels0, Ended),
    {R#receiver{in = Ins, unacknowledged = maps:without(Streams, Due)}, Labels}.

deliver_all_of(Stream, #in{held = Held}, Labels0) ->
    queue:fold(fun(Arrival, Labels) -> deliver(Stream, Arrival, Labels) end, Labels0, Held).

%% Delivers in order until a receiver is found too far behind.
drain(Stream, Labels0, #receiver{in = Ins} = R) ->
    #{Stream := #in{held = Held, held_count = Count} = In} = Ins,
    case queue:out(Held) of
        {empty, _} ->
            {R, Labels0};
        {{value, Arrival}, Rest} ->
            case is_congested(Arrival) of
                true ->
                    {R#receiver{behind = true}, Labels0};
                false ->
                    Labels = deliver(Stream, Arrival, Labels0),
                    Left = In#in{held = Rest, held_count = Count - 1},
                    drain(Stream, Labels, due(Stream, R#receiver{in = Ins#{Stream := Left}}))
            end
    end.

due(Stream, #receiver{unacknowledged = Due} = R) ->
    R#receiver{unacknowledged = Due#{Stream => true}}.

holds(#in{next = Next, held_count = Count}) ->
    partisan_ack_in:holds(Next) - Count.

is_congested(skip) -> false;
is_congested({message, {plain, Destination, _}}) -> is_full(Destination);
is_congested({message, {causal, _, _, Destination, _}}) -> is_full(Destination).

is_full(Destination) ->
    case partisan_ref:find(Destination) of
        undefined -> false;
        Pid -> partisan_mailbox:is_congested(Pid)
    end.

deliver(_Stream, skip, Labels) ->
    Labels;
deliver({Sender, _, _}, {message, {plain, Destination, Message}}, Labels) ->
    ok = partisan:deliver(Sender, Destination, Message, default),
    Labels;
deliver(Stream, {message, {causal, Label, Stamp, Destination, Message}}, Labels0) ->
    {Sender, Incarnation, _} = Stream,
    From = {Sender, Incarnation},
    Sent = {Destination, Message},
    {Released, Labels} = partisan_labels:take(Label, From, Stamp, Sent, Labels0),
    ok = deliver_all(Released),
    Labels.

deliver_all(Messages) ->
    lists:foreach(
        fun
            % Replaces a message that was given up.
            ({undefined, skip}) -> ok;
            ({Destination, Message}) -> ok = partisan:deliver(none, Destination, Message, default)
        end,
        Messages
    ).

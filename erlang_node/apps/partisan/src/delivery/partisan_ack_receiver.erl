%%% @doc The receiving ends of all acknowledged streams at a node.
%%%
%%% One {@link partisan_ack_in} per stream, and what has arrived in order for a process that cannot
%%% keep up: that waits here, unacknowledged, and so is bounded by the sender's window. Only what
%%% has been delivered is acknowledged, all of it by one message when there is nothing else to do.
%%%
%%% Part of the process of {@link partisan_acks}: it transmits and delivers itself.
-module(partisan_ack_receiver).

-export([new/1]).
-export([opened/4]).
-export([arrived/6]).
-export([deliver_held/2]).
-export([is_behind/1]).
-export([acknowledge/1]).

-import(partisan_ack_stream, [transmit/2]).

-type path() :: partisan_ack_stream:path().
-type stream() :: partisan_ack_stream:id().
-type arrival() :: {message, partisan_ack_stream:content()} | skip.

-record(in, {
    next = partisan_ack_in:new() :: partisan_ack_in:t(),
    % Arrived in order, and not yet delivered.
    held = queue:new() :: queue:queue(arrival()),
    reply_to :: path()
}).

-record(receiver, {
    self :: partisan_causal:life(),
    in = #{} :: #{stream() => #in{}},
    % Streams whose acknowledgement is due.
    unacknowledged = #{} :: #{stream() => true},
    % A process was found too far behind, and nobody has looked again since.
    behind = false :: boolean()
}).

-opaque t() :: #receiver{}.
-export_type([t/0, arrival/0]).

-type result() :: {t(), partisan_labels:t()}.

%% API.

-spec new(Self :: partisan_causal:life()) -> t().
new(Self) ->
    #receiver{self = Self}.

%% @doc A sender opens a stream, perhaps once more. With a new life of it the streams of the former
%% end, and nothing waits for what that had sent any more.
-spec opened(stream(), ReplyTo :: path(), partisan_labels:t(), t()) -> result().
opened({Sender, Life, _} = Stream, ReplyTo, Labels0, #receiver{self = {_, Own}} = R0) ->
    {#receiver{in = Ins} = R, Labels} = forget_former(Sender, Life, Labels0, R0),
    In = maps:get(Stream, Ins, #in{reply_to = ReplyTo}),
    ok = transmit(ReplyTo, {opened, Stream, Own}),
    {R#receiver{in = Ins#{Stream => In}}, Labels}.

%% @doc A message of a stream.
-spec arrived(
    stream(), partisan_ack_out:sequence(), arrival(), ReplyTo :: path(), partisan_labels:t(), t()
) -> result().
arrived(Stream, Number, Arrival, ReplyTo, Labels, #receiver{in = Ins} = R) ->
    case Ins of
        #{Stream := #in{next = Next0, held = Held} = In} ->
            case partisan_ack_in:receive_number(Number, Next0) of
                {deliver, Next} ->
                    Taken = In#in{next = Next, held = queue:in(Arrival, Held)},
                    drain(Stream, Labels, R#receiver{in = Ins#{Stream := Taken}});
                {gap, _} ->
                    ok = transmit(ReplyTo, {missing, Stream, holds(In)}),
                    {R, Labels};
                {duplicate, _} ->
                    {due(Stream, R), Labels}
            end;
        #{} ->
            ok = transmit(ReplyTo, {unknown, Stream}),
            {R, Labels}
    end.

%% @doc Delivers what was held back for processes that may have caught up.
-spec deliver_held(partisan_labels:t(), t()) -> result().
deliver_held(Labels, #receiver{in = Ins} = R) ->
    Held = [Stream || {Stream, #in{held = Held}} <- maps:to_list(Ins), not queue:is_empty(Held)],
    lists:foldl(
        fun(Stream, {R1, L}) -> drain(Stream, L, R1) end,
        {R#receiver{behind = false}, Labels},
        Held
    ).

%% @doc Is something held back, so that it is worth looking again?
-spec is_behind(t()) -> boolean().
is_behind(#receiver{behind = IsBehind}) ->
    IsBehind.

%% @doc Tells the senders what has been delivered since.
-spec acknowledge(t()) -> t().
acknowledge(#receiver{unacknowledged = Due, in = Ins} = R) ->
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
    R#receiver{unacknowledged = #{}}.

%% Internals.

forget_former(Sender, Life, Labels0, #receiver{in = Ins} = R) ->
    case [S || {Name, L, _} = S <- maps:keys(Ins), Name =:= Sender, L < Life] of
        [] ->
            {R, Labels0};
        Former ->
            Lost = lists:max([L || {_, L, _} <- Former]),
            {Released, Labels} = partisan_labels:forget({Sender, Lost}, Labels0),
            ok = deliver_all(Released),
            {R#receiver{in = maps:without(Former, Ins)}, Labels}
    end.

%% Delivers in order, until a receiver is found too far behind.
drain(Stream, Labels0, #receiver{in = Ins} = R) ->
    #{Stream := #in{held = Held} = In} = Ins,
    case queue:out(Held) of
        {empty, _} ->
            {R, Labels0};
        {{value, Arrival}, Rest} ->
            case is_congested(Arrival) of
                true ->
                    {R#receiver{behind = true}, Labels0};
                false ->
                    Labels = deliver(Stream, Arrival, Labels0),
                    Left = R#receiver{in = Ins#{Stream := In#in{held = Rest}}},
                    drain(Stream, Labels, due(Stream, Left))
            end
    end.

due(Stream, #receiver{unacknowledged = Due} = R) ->
    R#receiver{unacknowledged = Due#{Stream => true}}.

holds(#in{next = Next, held = Held}) ->
    partisan_ack_in:holds(Next) - queue:len(Held).

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
deliver(_Stream, {message, {plain, Destination, Message}}, Labels) ->
    ok = deliver_all([{Destination, Message}]),
    Labels;
deliver({Sender, Life, _}, {message, {causal, Label, Stamp, Destination, Message}}, Labels0) ->
    Sent = {Destination, Message},
    {Released, Labels} = partisan_labels:take(Label, {Sender, Life}, Stamp, Sent, Labels0),
    ok = deliver_all(Released),
    Labels.

deliver_all(Messages) ->
    lists:foreach(
        fun({Destination, Message}) -> ok = partisan:deliver(Destination, Message, default) end,
        Messages
    ).

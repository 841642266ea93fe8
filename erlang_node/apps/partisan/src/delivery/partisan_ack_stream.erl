%%% @doc Messages between the ends of an acknowledged stream, and their transmission.
%%%
%%% A stream carries the acknowledged messages to one peer on one lane of a channel; the answers
%%% come back on the same lane. Either end is the process `partisan_acks' of its node.
%%%
%%% == Versions ==
%%% The number of a stream was an integer in the first version. `{Number, 2}' means that its sender
%%% understands `refused', and opens another stream after an idle one, so that the receiver may
%%% forget that. To receivers of the first version both are opaque names.
-module(partisan_ack_stream).

-export([id/3]).
-export([number/1]).
-export([understands_refusals/1]).
-export([transmit/2]).
-export([bytes/4]).
-export([salvage/1]).
-export([now_ms/0]).

-type name() :: partisan_peer:name().
%% Unique among all streams of all incarnations of a node.
-type id() :: {Sender :: name(), partisan_peer:incarnation(), ordinal()}.
-type ordinal() :: pos_integer() | {pos_integer(), Version :: 2}.
-type path() :: {Receiver :: name(), Channel :: atom(), Lane :: non_neg_integer()}.
-type content() ::
    {plain, partisan_ref:destination(), Message :: term()}
    | {causal, partisan_labels:label(), partisan_causal:stamp(), partisan_ref:destination(),
        Message :: term()}.
-type msg() ::
    {open, id(), ReplyTo :: path()}
    | {opened, id(), Receiver :: partisan_peer:incarnation()}
    | {data, id(), partisan_ack_out:sequence(), arrival(), ReplyTo :: path()}
    | {ack, id(), Holds :: non_neg_integer()}
    | {missing, id(), Holds :: non_neg_integer()}
    % The receiver cannot accept this message and waits for its replacement.
    | {refused, id(), partisan_ack_out:sequence(), undecodable}
    % The receiver does not know the stream.
    | {unknown, id()}.
%% `undecodable' is what is left of a message that this node could not decode; it never travels.
-type arrival() :: {message, content()} | skip | undecodable.

-export_type([id/0, path/0, content/0, arrival/0, msg/0]).

%% Larger than any message number, and larger than any in encoded size.
-define(LAST, (1 bsl 59 - 1)).

%% @doc The identifier of a stream of this node.
-spec id(name(), partisan_peer:incarnation(), pos_integer()) -> id().
id(Name, Incarnation, Number) ->
    {Name, Incarnation, {Number, 2}}.

%% @doc The ordinal of a stream among those of its sender.
-spec number(id()) -> pos_integer().
number({_, _, {Number, _Version}}) -> Number;
number({_, _, Number}) -> Number.

%% @doc Whether the sender of a stream handles refusals; the first version does not.
-spec understands_refusals(id()) -> boolean().
understands_refusals({_, _, {_, _Version}}) -> true;
understands_refusals({_, _, _}) -> false.

%% @doc Sends without waiting: what a full lane or a broken route does not take is retransmitted
%% later.
-spec transmit(path(), msg()) -> ok | {error, partisan_transport:send_error()}.
transmit({Node, ChannelName, Lane}, Message) ->
    Options = #{
        partition_key => partisan_channel:lane_key(Lane),
        on_busy => drop,
        await_route => false
    },
    case partisan_channel:find(ChannelName) of
        {ok, Channel} when ChannelName =/= overlay ->
            partisan_transport:send(Node, partisan_acks, Message, Channel, Options);
        _ ->
            % The peer has other channels.
            {error, {unknown_channel, ChannelName}}
    end.

%% @doc Maximum size of a message on the wire, including all framing.
-spec bytes(path(), partisan_ref:destination(), Message :: term(), Label :: term()) ->
    pos_integer().
bytes({_, Channel, Lane}, Destination, Message, Label) ->
    Self = partisan_config:get(name),
    Content = {causal, Label, {#{}, #{}}, Destination, Message},
    Data = {data, id(Self, ?LAST, ?LAST), ?LAST, {message, Content}, {Self, Channel, Lane}},
    {Bytes, _} = partisan_frame:message(partisan_acks, Data),
    Bytes.

%% @doc The decodable parts of a stream message whose content cannot be decoded. The receiver must
%% learn of it: its stream waits for each number.
-spec salvage(Payload :: binary()) -> {ok, partisan_frame:message()} | error.
salvage(Payload) ->
    case partisan_term:elements(Payload) of
        {ok, [To, Message]} -> salvage(partisan_term:decode(To), partisan_term:elements(Message));
        _ -> error
    end.

salvage({ok, partisan_acks}, {ok, [Data, Stream, Number, _Undecodable, ReplyTo]}) ->
    case [partisan_term:decode(Part) || Part <- [Data, Stream, Number, ReplyTo]] of
        [{ok, data}, {ok, S}, {ok, N}, {ok, R}] ->
            {ok, {partisan_acks, {data, S, N, undecodable, R}}};
        _ ->
            error
    end;
salvage(_, _) ->
    error.

%% @doc Monotonic time in milliseconds.
-spec now_ms() -> integer().
now_ms() ->
    erlang:monotonic_time(millisecond).

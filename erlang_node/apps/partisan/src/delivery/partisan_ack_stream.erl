%%% @doc What both ends of an acknowledged stream say to each other, and how it travels.
%%%
%%% A stream carries the acknowledged messages to one peer on one lane of a channel; the answers
%%% come back on the same lane. Either end is the process `partisan_acks' of its node.
-module(partisan_ack_stream).

-export([transmit/2]).
-export([now_ms/0]).

-type name() :: partisan_peer:name().
%% Unique among all streams of all lives of a node.
-type id() :: {Sender :: name(), partisan_peer:incarnation(), pos_integer()}.
-type path() :: {Receiver :: name(), Channel :: atom(), Lane :: non_neg_integer()}.
-type content() ::
    {plain, partisan_ref:destination(), Message :: term()}
    | {causal, partisan_labels:label(), partisan_causal:stamp(), partisan_ref:destination(),
        Message :: term()}.
-type msg() ::
    {open, id(), ReplyTo :: path()}
    | {opened, id(), Receiver :: partisan_peer:incarnation()}
    | {data, id(), partisan_ack_out:sequence(), {message, content()} | skip, ReplyTo :: path()}
    | {ack, id(), Holds :: non_neg_integer()}
    | {missing, id(), Holds :: non_neg_integer()}
    % The receiver does not know the stream.
    | {unknown, id()}.

-export_type([id/0, path/0, content/0, msg/0]).

%% @doc Sends without waiting: what a full lane or a broken route does not take is transmitted again
%% later.
-spec transmit(path(), msg()) -> ok.
transmit({Node, ChannelName, Lane}, Message) ->
    Options = #{
        partition_key => partisan_channel:lane_key(Lane),
        on_busy => drop,
        await_route => false
    },
    case partisan_channel:find(ChannelName) of
        {ok, Channel} when ChannelName =/= overlay ->
            _ = partisan_transport:send(Node, partisan_acks, Message, Channel, Options),
            ok;
        _ ->
            % Of a peer that has others.
            ok
    end.

%% @doc Milliseconds of a clock that never goes back.
-spec now_ms() -> integer().
now_ms() ->
    erlang:monotonic_time(millisecond).

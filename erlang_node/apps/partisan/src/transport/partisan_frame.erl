%%% @doc Frames, the unit of a connection after its handshake: length, kind, payload.
%%%
%%% ```
%%% +-----------+---------+----------------------------+
%%% | length 32 | kind 8  | payload, length - 1 bytes  |
%%% +-----------+---------+----------------------------+
%%% '''
%%%
%%% The kind byte versions each frame separately: an unknown kind is counted and skipped, so new
%%% ones can be added later. Terms are encoded by {@link partisan_term}.
-module(partisan_frame).

-export([message/2]).
-export([relay/2]).
-export([overlay/1]).
-export([ping/0]).
-export([pong/0]).
-export([decode/1]).
%% The payload of a message alone, as relays carry it.
-export([payload/1]).
-export([message_of/1]).

-define(MESSAGE, 1).
-define(OVERLAY, 2).
-define(PING, 3).
-define(PONG, 4).
-define(RELAY, 5).

-define(HEADER_BYTES, 5).

%% The frame and its size on the wire in bytes.
-type t() :: {Bytes :: pos_integer(), iodata()}.
-type message() :: {partisan_ref:destination(), Message :: term()}.
-type decoded() ::
    {message, partisan_ref:destination(), Message :: term()}
    | {relay, partisan_relay:header(), Payload :: binary()}
    | {overlay, Message :: term()}
    | ping
    | {error, undecodable | unknown_frame}.

-export_type([t/0, message/0, decoded/0]).

%% @doc A message to the process that `Destination' names.
-spec message(partisan_ref:destination(), term()) -> t().
message(Destination, Message) ->
    term(?MESSAGE, {Destination, Message}).

%% @doc A message to a node that is not a neighbour: a header read by every hop, and a payload read
%% only by the target.
-spec relay(partisan_relay:header(), Payload :: iodata()) -> t().
relay(Header, Payload) ->
    Head = term_to_binary(Header),
    Bytes = 2 + byte_size(Head) + iolist_size(Payload),
    {?HEADER_BYTES + Bytes, [<<(Bytes + 1):32, ?RELAY, (byte_size(Head)):16>>, Head | Payload]}.

%% @doc A message of the protocol stack.
-spec overlay(term()) -> t().
overlay(Message) ->
    term(?OVERLAY, Message).

%% @doc Asks the receiver for a heartbeat.
-spec ping() -> t().
ping() ->
    {?HEADER_BYTES, <<1:32, ?PING>>}.

%% @doc The answer to a ping, without the length, for a socket that adds it.
-spec pong() -> binary().
pong() ->
    <<?PONG>>.

%% @doc Decodes a frame without its length, which the socket has removed.
-spec decode(binary()) -> decoded().
decode(<<?MESSAGE, Payload/binary>>) ->
    case message_of(Payload) of
        {ok, {Destination, Message}} -> {message, Destination, Message};
        error -> {error, undecodable}
    end;
decode(<<?RELAY, Size:16, Head:Size/binary, Payload/binary>>) ->
    case partisan_term:decode(Head) of
        {ok, {Target, Source, Hops, Key, Destination} = Header} when
            is_binary(Target),
            is_binary(Source),
            is_integer(Hops),
            is_integer(Key),
            is_binary(Destination)
        ->
            {relay, Header, Payload};
        _ ->
            {error, undecodable}
    end;
decode(<<?OVERLAY, Payload/binary>>) ->
    case partisan_term:decode(Payload) of
        {ok, Message} -> {overlay, Message};
        error -> {error, undecodable}
    end;
decode(<<?PING>>) ->
    ping;
decode(_) ->
    {error, unknown_frame}.

%% @doc The payload of a message frame.
-spec payload(message()) -> iodata().
payload(Message) ->
    partisan_term:encode(Message).

%% @doc Decodes such a payload.
-spec message_of(binary()) -> {ok, message()} | error.
message_of(Payload) ->
    case partisan_term:decode(Payload) of
        {ok, {Destination, _} = Message} when is_atom(Destination); is_tuple(Destination) ->
            {ok, Message};
        _ ->
            partisan_ack_stream:salvage(Payload)
    end.

%% Internals.

term(Kind, Term) ->
    Payload = partisan_term:encode(Term),
    Bytes = iolist_size(Payload),
    {?HEADER_BYTES + Bytes, [<<(Bytes + 1):32, Kind>> | Payload]}.

%%% @doc What travels on a connection after its handshake: length, kind, payload.
%%%
%%% ```
%%% +-----------+---------+----------------------------+
%%% | length 32 | kind 8  | payload, length - 1 bytes  |
%%% +-----------+---------+----------------------------+
%%% '''
%%%
%%% The kind byte versions each frame by itself: a kind that a node does not know is counted and
%%% skipped, so that new ones (a large binary beside its term, say) can be added later.
%%%
%%% == Decoding what a peer sent ==
%%% Every term must arrive equal, atoms that this node has never seen included, which a node that
%%% loads its code lazily often has not. Only peers that have proved to belong to the cluster get
%%% this far, and even so none of them may fill the atom table: an unknown atom is made only while
%%% at least half of the table would stay free whatever the payload holds. Compressed terms, which
%%% we never send, are refused: their size is not what they occupy.
-module(partisan_frame).

-export([message/2]).
-export([relay/2]).
-export([overlay/1]).
-export([ping/0]).
-export([pong/0]).
-export([decode/1]).
%% The payload of a message by itself, as relays carry it.
-export([payload/1]).
-export([message_of/1]).

-define(MESSAGE, 1).
-define(OVERLAY, 2).
-define(PING, 3).
-define(PONG, 4).
-define(RELAY, 5).

-define(HEADER_BYTES, 5).

%% The bytes that the frame takes on the wire, and the frame.
-type t() :: {Bytes :: pos_integer(), iodata()}.
-type message() :: {partisan_ref:destination(), Message :: term()}.
-type decoded() ::
    {message, partisan_ref:destination(), Message :: term()}
    | {relay, partisan_relay:header(), Payload :: binary()}
    | {overlay, Message :: term()}
    | ping
    | {error, undecodable | unknown_frame}.

-export_type([t/0, message/0, decoded/0]).

%% @doc A message to the process that `Destination' means.
-spec message(partisan_ref:destination(), term()) -> t().
message(Destination, Message) ->
    term(?MESSAGE, {Destination, Message}).

%% @doc A message on its way to a node that is no neighbour: a header that every hop reads, and a
%% payload that only the target does.
-spec relay(partisan_relay:header(), Payload :: iodata()) -> t().
relay(Header, Payload) ->
    Head = term_to_binary(Header),
    Bytes = 2 + byte_size(Head) + iolist_size(Payload),
    {?HEADER_BYTES + Bytes, [<<(Bytes + 1):32, ?RELAY, (byte_size(Head)):16>>, Head | Payload]}.

%% @doc A message of the protocol stack.
-spec overlay(term()) -> t().
overlay(Message) ->
    term(?OVERLAY, Message).

%% @doc Asks the receiver to prove that it is alive.
-spec ping() -> t().
ping() ->
    {?HEADER_BYTES, <<1:32, ?PING>>}.

%% @doc The answer to a ping; without a length, for a socket that adds it.
-spec pong() -> binary().
pong() ->
    <<?PONG>>.

%% @doc Decodes a frame whose length the socket has taken off.
-spec decode(binary()) -> decoded().
decode(<<?MESSAGE, Payload/binary>>) ->
    case message_of(Payload) of
        {ok, {Destination, Message}} -> {message, Destination, Message};
        error -> {error, undecodable}
    end;
decode(<<?RELAY, Size:16, Head:Size/binary, Payload/binary>>) ->
    case to_term(Head) of
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
    case to_term(Payload) of
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
    erlang:term_to_iovec(Message).

%% @doc The message that such a payload holds.
-spec message_of(binary()) -> {ok, message()} | error.
message_of(Payload) ->
    case to_term(Payload) of
        {ok, {Destination, _} = Message} when is_atom(Destination); is_tuple(Destination) ->
            {ok, Message};
        _ -> error
    end.

%% Internals.

term(Kind, Term) ->
    Payload = erlang:term_to_iovec(Term),
    Bytes = iolist_size(Payload),
    {?HEADER_BYTES + Bytes, [<<(Bytes + 1):32, Kind>> | Payload]}.

to_term(<<131, 80, _/binary>>) ->
    error;
to_term(Payload) ->
    try
        {ok, binary_to_term(Payload, [safe])}
    catch
        error:badarg -> to_term_with_new_atoms(Payload)
    end.

to_term_with_new_atoms(Payload) ->
    % An atom takes at least three bytes of the external format.
    Possible = byte_size(Payload) div 3,
    Free = erlang:system_info(atom_limit) div 2 - erlang:system_info(atom_count),
    try Possible =< Free andalso {ok, binary_to_term(Payload)} of
        false -> error;
        Decoded -> Decoded
    catch
        error:badarg -> error
    end.

%%% @doc Opens one connection within one deadline: TCP, TLS if configured, then the handshake.
-module(partisan_dialler).

-export([dial/4]).

%% Bytes that a frozen receiver's socket may hold before a write blocks its lane, in addition to the
%% kernel's buffer, so that a lane is woken for many bytes rather than few.
-define(HIGH_WATERMARK, 131072).
-define(LOW_WATERMARK, 32768).

%% @doc Dials a lane of a channel to a peer. Returns a passive raw socket, the peer as it describes
%% itself, and the version of the connection.
-spec dial(
    partisan_peer:t(), partisan_channel:t(), Index :: non_neg_integer(), SendTimeout :: timeout()
) -> {ok, partisan_socket:t(), partisan_peer:t(), partisan_version:t()} | {error, term()}.
dial(#{name := Name} = Peer, Channel, Index, SendTimeout) ->
    case partisan_injection:is_apart(Name) of
        true -> {error, injected};
        false -> connect(Peer, Channel, Index, SendTimeout)
    end.

%% Internals.

connect(#{host := Host} = Peer, Channel, Index, SendTimeout) ->
    Options = options(Host, SendTimeout) ++ buffers(partisan_channel:kernel_limit(Channel)),
    Lane = {partisan_channel:name(Channel), Index},
    Deadline = erlang:monotonic_time(millisecond) + partisan_config:get(dial_timeout),
    Connected =
        case partisan_socket:connect(Peer, Options, Deadline) of
            {ok, Socket} -> shake_hands(Socket, Peer, Lane, Deadline);
            {error, _} = Error -> Error
        end,
    case Connected of
        {ok, _, _, _} -> ok;
        {error, Reason} -> ok = partisan_refusals:outgoing(Peer, Reason)
    end,
    Connected.

shake_hands(Socket, Peer, Lane, Deadline) ->
    Options = #{local => partisan_listener:local(), deadline => Deadline},
    case partisan_handshake:dial(Socket, Peer, Lane, Options) of
        {ok, Actual, Version} ->
            {ok, Socket, Actual, Version};
        {error, _} = Error ->
            ok = partisan_socket:close(Socket),
            Error
    end.

options(Host, SendTimeout) ->
    [
        family(Host),
        binary,
        {packet, raw},
        {active, false},
        {nodelay, true},
        {send_timeout, SendTimeout},
        {send_timeout_close, true}
        | partisan_liveness:keepalive(partisan_config:get(heartbeat_interval))
    ].

buffers(none) -> [{high_watermark, ?HIGH_WATERMARK}, {low_watermark, ?LOW_WATERMARK}];
buffers(Bytes) -> [{sndbuf, Bytes}].

family(Host) when tuple_size(Host) =:= 8 -> inet6;
family(_Host) -> inet.

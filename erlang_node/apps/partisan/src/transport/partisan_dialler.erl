%%% @doc Opens one connection: TCP, then the handshake, under one deadline.
-module(partisan_dialler).

-export([dial/3]).

%% What a frozen receiver's socket may hold of ours before a write blocks its lane; beyond the
%% kernel's own buffer, so that a lane is woken for many bytes and not for few.
-define(HIGH_WATERMARK, 131072).
-define(LOW_WATERMARK, 32768).

%% @doc Dials a lane of a peer; answers with a passive raw socket, and with the peer as it describes
%% itself.
-spec dial(partisan_peer:t(), partisan_handshake:lane(), SendTimeout :: timeout()) ->
    {ok, gen_tcp:socket(), partisan_peer:t()} | {error, term()}.
dial(#{host := Host, port := Port} = Peer, Lane, SendTimeout) ->
    Timeout = partisan_config:get(dial_timeout),
    Deadline = erlang:monotonic_time(millisecond) + Timeout,
    case gen_tcp:connect(Host, Port, options(Host, SendTimeout), Timeout) of
        {ok, Socket} -> shake_hands(Socket, Peer, Lane, Deadline);
        {error, _} = Error -> Error
    end.

%% Internals.

shake_hands(Socket, Peer, Lane, Deadline) ->
    Options = #{local => partisan_listener:local(), deadline => Deadline},
    case partisan_handshake:dial(Socket, Peer, Lane, Options) of
        {ok, Actual} ->
            case inet:setopts(Socket, [{packet, raw}]) of
                ok -> {ok, Socket, Actual};
                Error -> abandon(Socket, Error)
            end;
        Error ->
            abandon(Socket, Error)
    end.

abandon(Socket, Error) ->
    ok = gen_tcp:close(Socket),
    Error.

options(Host, SendTimeout) ->
    [
        family(Host),
        binary,
        {packet, 4},
        {packet_size, partisan_handshake:max_bytes()},
        {active, false},
        {nodelay, true},
        {keepalive, true},
        {send_timeout, SendTimeout},
        {send_timeout_close, true},
        {high_watermark, ?HIGH_WATERMARK},
        {low_watermark, ?LOW_WATERMARK}
    ].

family(Host) when tuple_size(Host) =:= 8 -> inet6;
family(_Host) -> inet.

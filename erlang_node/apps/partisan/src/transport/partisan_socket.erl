%%% @doc A connection's socket: plain TCP or TLS behind the same functions.
%%%
%%% A plain socket is the bare port, so that plain TCP pays one guard; a TLS socket is kept together
%%% with the port below it.
%%%
%%% == What differs with TLS ==
%%% OTP puts two processes between a TLS socket and its user. Both sides keep the bounds of a plain
%%% socket: a send returns when the port has taken the bytes, and while the user does not read, the
%%% port is not read beyond one read of its buffer ({@link partisan_tls}).
%%%
%%% Connections end without TLS's `close_notify', which adds nothing to what a frame's length says:
%%% `ssl' would wait seconds for a frozen peer to take it, and one that arrives while the user
%%% pauses discards what was received before it.
-module(partisan_socket).

-export([connect/3]).
-export([accepted/2]).
-export([send/2]).
-export([begin_send/2]).
-export([recv/3]).
-export([setopts/2]).
-export([buffer/2]).
-export([event/2]).
-export([half_close/1]).
-export([close/1]).
-export([abort/1]).

%% Initial read buffer of the driver, and the size from which a frame is better read by itself.
-define(BUFFER_BYTES, 65536).
-define(LITTLE_BYTES, 2048).
-define(LARGE, 32768).

-record(tls, {port :: gen_tcp:socket(), tls :: partisan_tls:socket()}).

-opaque t() :: gen_tcp:socket() | #tls{}.
-type error() :: partisan_tls:error().
-type event() ::
    {data, binary()}
    % The send begun by `begin_send/2' is complete.
    | {sent, ok | {error, error()}}
    % The window opened by `{active, N}' is used up.
    | passive
    | closed
    % `too_large': a frame exceeds `packet_size'.
    | {error, too_large | error()}
    % Not of this socket.
    | other.
-export_type([t/0, error/0, event/0]).

%% @doc Connects, with TLS if configured.
-spec connect(partisan_peer:t(), [gen_tcp:connect_option()], Deadline :: integer()) ->
    {ok, t()} | {error, error()}.
connect(#{host := Host, port := Port}, Options, Deadline) ->
    case gen_tcp:connect(Host, Port, Options, remaining(Deadline)) of
        {ok, Tcp} -> secure(client, Tcp, Deadline);
        {error, _} = Error -> Error
    end.

%% @doc Sets up an accepted, passive, raw TCP socket, with TLS if configured. The caller owns it; it
%% is closed on failure.
-spec accepted(gen_tcp:socket(), Deadline :: integer()) -> {ok, t()} | {error, error()}.
accepted(Tcp, Deadline) ->
    secure(server, Tcp, Deadline).

%% @doc Sends; returns when the port has the bytes, and so blocks while the peer does not read.
-spec send(t(), iodata()) -> ok | {error, error()}.
send(Port, Data) when is_port(Port) ->
    gen_tcp:send(Port, Data);
send(#tls{tls = Tls}, Data) ->
    partisan_tls:result(ssl:send(Tls, Data)).

%% @doc Begins to send; only for the socket's owner. After `pending' nothing else may be sent until
%% the event `{sent, Result}' reports that the port has the bytes. Blocks while the port still holds
%% too much.
%%
%% `send/2' waits for that event with a selective receive, which an owner whose mailbox is a queue
%% must avoid.
-spec begin_send(t(), iodata()) -> pending | ok | {error, error()}.
begin_send(Port, Data) when is_port(Port) ->
    try
        true = port_command(Port, command(Data)),
        pending
    catch
        error:badarg -> {error, closed}
    end;
begin_send(#tls{} = Socket, Data) ->
    send(Socket, Data).

%% @doc Receives `Length' bytes from a passive raw socket, or one frame with `{packet, 4}' and 0.
-spec recv(t(), Length :: non_neg_integer(), timeout()) -> {ok, binary()} | {error, error()}.
recv(Port, Length, Timeout) when is_port(Port) ->
    gen_tcp:recv(Port, Length, Timeout);
recv(#tls{tls = Tls}, Length, Timeout) ->
    partisan_tls:result(ssl:recv(Tls, Length, Timeout)).

%% @doc Sets options, including `active'. The resulting messages are for `event/2'.
-spec setopts(t(), [gen_tcp:option()]) -> ok | {error, error()}.
setopts(Port, Options) when is_port(Port) ->
    inet:setopts(Port, Options);
setopts(#tls{tls = Tls}, Options) ->
    partisan_tls:result(ssl:setopts(Tls, Options)).

%% @doc The value of the option `buffer' for frames of about this size.
%%
%% Many small frames are read at once. If a frame is longer than what has been read of it, the
%% driver allocates room for the rest and copies what it has, which should be little for a large
%% frame. TLS reads records, of 16 KiB at most.
-spec buffer(t(), FrameBytes :: pos_integer()) -> pos_integer().
buffer(Port, FrameBytes) when is_port(Port), FrameBytes > ?LARGE -> ?LITTLE_BYTES;
buffer(_Socket, _FrameBytes) -> ?BUFFER_BYTES.

%% @doc The meaning of a mailbox message for this active socket.
-spec event(Message :: term(), t()) -> event().
event({tcp, Port, Data}, Port) -> {data, Data};
event({inet_reply, Port, Result}, Port) -> {sent, Result};
event({inet_reply, Port, Result, _Reference}, Port) -> {sent, Result};
event({tcp_passive, Port}, Port) -> passive;
event({tcp_closed, Port}, Port) -> closed;
event({tcp_error, Port, emsgsize}, Port) -> {error, too_large};
event({tcp_error, Port, Reason}, Port) -> {error, Reason};
event({ssl, Tls, Data}, #tls{tls = Tls}) -> {data, Data};
event({ssl_passive, Tls}, #tls{tls = Tls}) -> passive;
event({ssl_closed, Tls}, #tls{tls = Tls}) -> closed;
event({ssl_error, Tls, {invalid_packet, _}}, #tls{tls = Tls}) -> {error, too_large};
event({ssl_error, Tls, Reason}, #tls{tls = Tls}) -> partisan_tls:result({error, Reason});
event(_, _) -> other.

%% @doc Flushes the port, then closes it for writing.
-spec half_close(t()) -> ok | {error, error()}.
half_close(Port) when is_port(Port) ->
    ok = partisan_tcp:ends(Port),
    gen_tcp:shutdown(Port, write);
half_close(#tls{port = Port}) ->
    half_close(Port).

%% @doc Flushes the port, then closes.
-spec close(t()) -> ok.
close(Port) when is_port(Port) ->
    ok = partisan_tcp:ends(Port),
    gen_tcp:close(Port);
close(#tls{port = Port, tls = Tls}) ->
    ok = close(Port),
    % The port is closed, so `ssl' has nothing to send and nothing to wait for.
    _ = ssl:close(Tls, 0),
    ok.

%% @doc Closes at once, without waiting for a peer that has stopped reading.
-spec abort(t()) -> ok.
abort(Port) when is_port(Port) ->
    _ = inet:setopts(Port, [{linger, {true, 0}}]),
    close(Port);
abort(#tls{port = Port} = Socket) ->
    _ = inet:setopts(Port, [{linger, {true, 0}}]),
    close(Socket).

%% Internals.

%% From OTP 26 on an inet port expects the length and the external form of a reference before the
%% data, and repeats the reference in its reply. Only one write is in flight at a time, so the port
%% alone identifies it.
-if(?OTP_RELEASE >= 26).
command(Data) ->
    Reference = term_to_binary(make_ref(), [local]),
    [<<(byte_size(Reference)):16>>, Reference | Data].
-else.
command(Data) ->
    Data.
-endif.

secure(Role, Port, Deadline) ->
    ok = partisan_tcp:opened(Port),
    case partisan_tls:handshake(Role, Port, remaining(Deadline)) of
        plain ->
            {ok, Port};
        {ok, Tls} ->
            {ok, #tls{port = Port, tls = Tls}};
        {error, _} = Error ->
            ok = close(Port),
            Error
    end.

remaining(Deadline) ->
    max(0, Deadline - erlang:monotonic_time(millisecond)).

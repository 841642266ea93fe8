%%% @doc The handshake: mutual authentication of two nodes before either trusts a byte.
%%%
%%% ```
%%% dialler                                            listener
%%%   hello: format, nonce, cluster, self, whom, channel, lane ->
%%%                                <- challenge: nonce, self | refused
%%%   proof: HMAC(token, "dialler", hello, challenge) ->
%%%                       <- welcome: HMAC(token, "listener", hello, challenge) | refused
%%% '''
%%%
%%% Both sides prove that they hold the cluster's token, over everything sent so far; an
%%% unauthenticated peer learns nothing that depends on it. Every message is a frame of bounded size
%%% with fixed binary fields, read under one deadline; nothing of it becomes an atom. The nonces
%%% carry the supported wire format versions ({@link partisan_version}); the handshake's own format
%%% never changes, so that older nodes can read it.
%%%
%%% The token keeps unauthenticated peers and other clusters out. TLS, below this layer ({@link
%%% partisan_tls}), protects packets from being read or altered, if configured.
-module(partisan_handshake).

-export([dial/4]).
-export([accept/2]).
-export([welcome/2]).
-export([refusal/1]).

-define(MAGIC, "PRTN").
-define(FORMAT, 1).
%% Room for two names, a cluster and a channel of 255 bytes each, two hosts, and the fixed fields.
-define(MAX_BYTES, 2048).
-define(NONCE_BYTES, 32).
-define(MAC_BYTES, 32).

-define(REFUSED, 0).
-define(ACCEPTED, 1).

-type local() :: #{
    self := partisan_peer:t(),
    cluster := binary(),
    token := binary(),
    _ => _
}.
%% Only the first five are sent to the other side.
-type refusal() ::
    version
    | cluster
    | name
    | channel
    | token
    | garbage
    | oversize
    | timeout
    | closed
    | partisan_tls:failure().
-type options() :: #{local := local(), deadline := MonotonicMilliseconds :: integer()}.
-type lane() :: {Channel :: atom(), Index :: 0..65535}.
-type link() :: #{
    peer := partisan_peer:t(),
    channel := partisan_channel:t(),
    lane := non_neg_integer(),
    version := partisan_version:t()
}.

-export_type([local/0, refusal/0, options/0, lane/0, link/0]).

%% @doc The dialler's side, on a passive raw socket. Returns the listener as it describes itself,
%% under the name asked for, and the agreed version.
-spec dial(partisan_socket:t(), Whom :: partisan_peer:t(), lane(), options()) ->
    {ok, partisan_peer:t(), partisan_version:t()}
    | {error, {refused, refusal()} | impostor | garbage | oversize | partisan_socket:error()}.
dial(Socket, #{name := Whom}, {Channel, Lane}, #{local := Local, deadline := Deadline}) ->
    try
        Hello = hello(Local, Whom, atom_to_binary(Channel), Lane),
        ok = send(Socket, Hello),
        Challenge = recv(Socket, Deadline),
        {Peer, Version} = challenger(Challenge, Whom),
        ok = send(Socket, mac(Local, "dialler", Hello, Challenge)),
        ok = welcomed(recv(Socket, Deadline), mac(Local, "listener", Hello, Challenge)),
        {ok, Peer, Version}
    catch
        throw:Reason -> {error, Reason}
    end.

%% @doc The listener's side, on an accepted passive raw socket, up to the welcome, after which the
%% dialler begins to send. The other side is informed of a refusal where that helps.
-spec accept(partisan_socket:t(), options()) -> {ok, link(), Welcome} | {error, refusal()} when
    Welcome :: iodata().
accept(Socket, #{local := Local, deadline := Deadline}) ->
    try
        Hello = recv(Socket, Deadline),
        Link = greeted(Hello, Local),
        Challenge = challenge(Local),
        ok = send(Socket, Challenge),
        ok = proved(recv(Socket, Deadline), mac(Local, "dialler", Hello, Challenge)),
        {ok, Link, [?ACCEPTED, mac(Local, "listener", Hello, Challenge)]}
    catch
        throw:Reason -> {error, refuse(Socket, Reason)}
    end.

%% @doc Completes the handshake begun by `accept/2'.
-spec welcome(partisan_socket:t(), iodata()) -> ok | {error, partisan_socket:error()}.
welcome(Socket, Welcome) ->
    partisan_socket:send(Socket, framed(Welcome)).

%% @doc The refusal that corresponds to a failure before or during the handshake.
-spec refusal(garbage | oversize | partisan_socket:error()) -> refusal().
refusal({tls, Reason}) -> Reason;
refusal(Reason) when Reason =:= timeout; Reason =:= garbage; Reason =:= oversize -> Reason;
refusal(_) -> closed.

%% Internals: the listener.

greeted(Hello, #{self := #{name := Self}, cluster := Cluster}) ->
    case parse_hello(Hello) of
        #{cluster := Other} when Other =/= Cluster -> throw(cluster);
        #{whom := Whom} when Whom =/= Self -> throw(name);
        #{peer := #{name := Self}} -> throw(name);
        #{version := none} -> throw(version);
        #{channel := Name} = Greeted ->
            case partisan_channel:find(Name) of
                {ok, Channel} -> (maps:with([peer, lane, version], Greeted))#{channel => Channel};
                error -> throw(channel)
            end
    end.

proved(Proof, Expected) when byte_size(Proof) =:= ?MAC_BYTES ->
    crypto:hash_equals(Proof, Expected) orelse throw(token),
    ok;
proved(_Proof, _Expected) ->
    throw(garbage).

refuse(Socket, Reason) ->
    case lists:keyfind(Reason, 1, codes()) of
        {Reason, Code} ->
            % It does not matter whether the peer still listens.
            _ = partisan_socket:send(Socket, framed(<<?REFUSED, Code>>)),
            Reason;
        false ->
            refusal(Reason)
    end.

%% Internals: the dialler.

challenger(<<?ACCEPTED, Nonce:?NONCE_BYTES/binary, Fields/binary>>, Whom) ->
    case {Fields, partisan_version:agreed(Nonce)} of
        {_, none} ->
            throw({refused, version});
        {<<N, Whom:N/binary, H, Host:H/binary, Port:16, Incarnation:64>>, Version} when H > 0 ->
            {partisan_peer:new(Whom, parse_host(Host), Port, Incarnation), Version};
        _ ->
            throw(impostor)
    end;
challenger(Answer, _Whom) ->
    refused(Answer).

welcomed(<<?ACCEPTED, Mac:?MAC_BYTES/binary>>, Expected) ->
    crypto:hash_equals(Mac, Expected) orelse throw(impostor),
    ok;
welcomed(Answer, _Expected) ->
    refused(Answer).

-spec refused(binary()) -> no_return().
refused(<<?REFUSED, Code>>) ->
    case lists:keyfind(Code, 2, codes()) of
        {Reason, Code} -> throw({refused, Reason});
        false -> throw(garbage)
    end;
refused(_) ->
    throw(garbage).

%% Internals: messages.

codes() ->
    [{version, 1}, {cluster, 2}, {name, 3}, {channel, 4}, {token, 5}].

hello(#{self := Self, cluster := Cluster}, Whom, Channel, Lane) ->
    iolist_to_binary([
        [?MAGIC, ?FORMAT, partisan_version:nonce()],
        [field(Cluster), peer(Self), field(Whom), field(Channel), <<Lane:16>>]
    ]).

challenge(#{self := Self}) ->
    iolist_to_binary([?ACCEPTED, partisan_version:nonce(), peer(Self)]).

mac(#{token := Token}, Role, Hello, Challenge) ->
    crypto:mac(hmac, sha256, Token, [Role, Hello, Challenge]).

peer(#{name := Name, host := Host, port := Port, incarnation := Incarnation}) ->
    [field(Name), field(host_text(Host)), <<Port:16, Incarnation:64>>].

host_text(Host) when is_tuple(Host) -> list_to_binary(inet:ntoa(Host));
host_text(Host) -> list_to_binary(Host).

%% Names and hosts of the configuration have at most 255 bytes.
field(Binary) ->
    [byte_size(Binary), Binary].

parse_hello(
    <<?MAGIC, ?FORMAT, Nonce:?NONCE_BYTES/binary,
        A, Cluster:A/binary,
        B, Name:B/binary, C, Host:C/binary, Port:16, Incarnation:64,
        D, Whom:D/binary,
        E, Channel:E/binary, Lane:16>>
) when B > 0, C > 0 ->
    #{
        cluster => Cluster,
        peer => partisan_peer:new(Name, parse_host(Host), Port, Incarnation),
        whom => Whom,
        channel => Channel,
        lane => Lane,
        version => partisan_version:agreed(Nonce)
    };
parse_hello(<<?MAGIC, Format, _/binary>>) when Format =/= ?FORMAT ->
    throw(version);
parse_hello(_) ->
    throw(garbage).

parse_host(Binary) ->
    Text = binary_to_list(Binary),
    case inet:parse_strict_address(Text) of
        {ok, Address} -> Address;
        {error, einval} -> Text
    end.

%% Internals: the socket.

send(Socket, Data) ->
    case partisan_socket:send(Socket, framed(Data)) of
        ok -> ok;
        {error, Reason} -> throw(Reason)
    end.

framed(Data) ->
    [<<(iolist_size(Data)):32>>, Data].

%% The first bytes also show that the other side speaks TLS: they are a TLS record header, which is
%% no valid length here.
recv(Socket, Deadline) ->
    case recv(Socket, 4, Deadline) of
        <<Type, 3, _:16>> when Type =:= 21; Type =:= 22 -> throw({tls, unexpected_tls});
        <<Length:32>> when Length > ?MAX_BYTES -> throw(oversize);
        <<0:32>> -> throw(garbage);
        <<Length:32>> -> recv(Socket, Length, Deadline)
    end.

recv(Socket, Length, Deadline) ->
    Timeout = max(0, Deadline - erlang:monotonic_time(millisecond)),
    case partisan_socket:recv(Socket, Length, Timeout) of
        {ok, Data} -> Data;
        {error, Reason} -> throw(Reason)
    end.

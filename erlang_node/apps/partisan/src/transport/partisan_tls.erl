%%% @doc TLS 1.3 between nodes, each side with a certificate, where the configuration asks for it.
%%%
%%% ```
%%% tls => #{certfile => "tls.crt", keyfile => "tls.key", cacertfile => "ca.crt",
%%%          server_name => <<"ads.default.svc">>}
%%% '''
%%%
%%% == Who is believed ==
%%% A peer, dialled or dialling, whose certificate chains to the cluster's authority and bears the
%%% cluster's name (`server_name', a DNS name among its subject alternative names; the name of the
%%% cluster when there is none given). All nodes may share one certificate, as they share a
%%% Kubernetes Secret: which node of the cluster it is, and that it belongs to this cluster and not
%%% to another of the same authority, is proved inside by {@link partisan_handshake}.
%%%
%%% == Rotation ==
%%% Each connection begins with what the files hold then ({@link partisan_credentials}) and stays up
%%% with it. A new authority is brought in by a file that holds the old and the new one, until every
%%% node has a certificate of the new one.
%%%
%%% == Without TLS ==
%%% Nothing of OTP's `ssl' and `public_key' is loaded: a node should stay small.
-module(partisan_tls).

-export([start/0]).
-export([handshake/3]).
-export([serve/2]).
-export([result/1]).
-export([expiration/0]).
-export([credentials/0]).

-type socket() :: ssl:sslsocket().
-type failure() ::
    % What came is not TLS.
    plaintext
    | tls_version
    | no_certificate
    | certificate_expired
    | certificate_name
    | unknown_ca
    | bad_certificate
    % TLS has come where there is none.
    | unexpected_tls
    % The peer does not believe this node.
    | refused_by_peer
    | tls_failure.
-type error() :: {tls, failure()} | closed | timeout | inet:posix().
-export_type([socket/0, failure/0, error/0]).

%% The processes of an idle connection give their memory back.
-define(HIBERNATE_AFTER, 1000).
%% What a stranger may make this node keep of a handshake that is not finished.
-define(HANDSHAKE_BYTES, 65536).

%% @doc Starts what TLS needs, where the configuration asks for it.
-spec start() -> ok | {error, {tls, Description :: string()}}.
start() ->
    case partisan_config:get(tls) of
        none ->
            ok;
        Config ->
            ok = tune(),
            {ok, _} = application:ensure_all_started(ssl),
            case partisan_credentials:init(Config) of
                ok -> ok;
                {error, Text} -> {error, {tls, Text}}
            end
    end.

%% @doc Makes TLS of a connected, passive TCP socket. `plain': not asked for.
-spec handshake(client | server, gen_tcp:socket(), timeout()) ->
    plain | {ok, socket()} | {error, error()}.
handshake(Role, Port, Timeout) ->
    case partisan_config:get(tls) of
        none ->
            plain;
        Config ->
            handshake(Role, Port, partisan_credentials:current(Config), Config, Timeout)
    end.

%% @doc Makes TLS of an accepted, passive TCP socket whose client is no node: it checks the
%% certificate of this one and shows none. `plain': not asked for.
-spec serve(gen_tcp:socket(), timeout()) -> plain | {ok, socket()} | {error, error()}.
serve(Port, Timeout) ->
    case partisan_config:get(tls) of
        none ->
            plain;
        Config ->
            Options = partisan_credentials:options(partisan_credentials:current(Config)),
            upgrade(fun() -> upgrade(public, Port, Options ++ common_options(), Timeout) end)
    end.

%% @doc A result of `ssl' with the reason in one word.
-spec result(ok | {ok, Value} | {error, term()}) -> ok | {ok, Value} | {error, error()}.
result({error, {tls_alert, {Alert, Text}}}) ->
    {error, {tls, failure(Alert, lists:flatten(Text))}};
result({error, {options, _}}) ->
    % Only what has ended takes no options of ours.
    {error, closed};
result(Result) ->
    Result.

%% @doc Samples: when the certificate in use expires.
-spec expiration() -> [{[], integer()}].
expiration() ->
    case partisan_config:get(tls) of
        none -> [];
        Config -> [{[], partisan_credentials:expires(partisan_credentials:current(Config))}]
    end.

%% @doc Which certificate and which authorities the next connection begins with. The files are
%% looked at, so that this follows them where no connection is made. `none': without TLS.
-spec credentials() -> none | partisan_credentials:summary().
credentials() ->
    case partisan_config:get(tls) of
        none -> none;
        Config -> partisan_credentials:summary(partisan_credentials:current(Config))
    end.

%% Internals.

%% A TLS connection reads its port in bursts of so many reads, whether its user reads or not: with
%% OTP's hundred a connection could hold megabytes for a receiver that has stopped.
tune() ->
    _ = application:load(ssl),
    case application:get_env(ssl, internal_active_n) of
        undefined -> application:set_env(ssl, internal_active_n, 1);
        {ok, _Chosen} -> ok
    end.

handshake(Role, Port, Credentials, Config, Timeout) ->
    Options = partisan_credentials:options(Credentials) ++ options(Config),
    upgrade(fun() -> upgrade(Role, Port, Options, Timeout) end).

upgrade(Handshake) ->
    try Handshake() of
        {error, {tls_alert, _}} = Error -> result(Error);
        {error, timeout} = Error -> Error;
        {error, _} -> {error, closed};
        Upgraded -> Upgraded
    catch
        % `ssl' does not expect the connection to have ended before it begins.
        error:{badmatch, {error, _}} -> {error, closed}
    end.

upgrade(client, Port, Options, Timeout) ->
    % The name is checked by verify/3, on both sides alike.
    ssl:connect(Port, [{server_name_indication, disable} | Options], Timeout);
upgrade(server, Port, Options, Timeout) ->
    ssl:handshake(Port, [{fail_if_no_peer_cert, true} | Options], Timeout);
upgrade(public, Port, Options, Timeout) ->
    ssl:handshake(Port, Options, Timeout).

options(#{server_name := Name}) ->
    [{verify, verify_peer}, {verify_fun, {fun verify/3, Name}} | common_options()].

common_options() ->
    [
        {versions, ['tlsv1.3']},
        {max_handshake_size, ?HANDSHAKE_BYTES},
        {hibernate_after, ?HIBERNATE_AFTER},
        % Any stranger can make it log; what matters is counted, and told by partisan_refusals.
        {log_level, none}
    ].

verify(_Certificate, {bad_cert, _} = Reason, _Name) ->
    {fail, Reason};
verify(_Certificate, {extension, _}, Name) ->
    {unknown, Name};
verify(_Certificate, valid, Name) ->
    {valid, Name};
verify(Certificate, valid_peer, Name) ->
    case partisan_credentials:bears_name(Certificate, Name) of
        true -> {valid, Name};
        false -> {fail, {bad_cert, hostname_check_failed}}
    end.

%% `ssl' says only in words who has found fault, and with what that TLS has no alert for: the alert
%% for these is one in OTP 25 and another in OTP 27.
failure(Alert, Text) ->
    Says = fun(Words) -> string:find(Text, Words) =/= nomatch end,
    case Says("received CLIENT ALERT") orelse Says("received SERVER ALERT") of
        false ->
            case {Says("hostname_check_failed"), Says("invalid_ext_key_usage")} of
                {true, _} -> certificate_name;
                {_, true} -> bad_certificate;
                {_, _} -> found(Alert)
            end;
        true when Alert =:= protocol_version ->
            tls_version;
        true when Alert =:= unexpected_message ->
            plaintext;
        true ->
            refused_by_peer
    end.

found(unexpected_message) -> plaintext;
found(protocol_version) -> tls_version;
found(certificate_required) -> no_certificate;
found(certificate_expired) -> certificate_expired;
found(unknown_ca) -> unknown_ca;
found(bad_certificate) -> bad_certificate;
found(unsupported_certificate) -> bad_certificate;
found(certificate_unknown) -> bad_certificate;
found(_) -> tls_failure.

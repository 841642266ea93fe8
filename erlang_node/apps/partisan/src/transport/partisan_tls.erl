%%% @doc Mutual TLS 1.3 between nodes, if configured.
%%%
%%% ```
%%% tls => #{certfile => "tls.crt", keyfile => "tls.key", cacertfile => "ca.crt",
%%%          server_name => <<"ads.default.svc">>}
%%% '''
%%%
%%% == Trust ==
%%% A peer, dialled or dialling, is trusted if its certificate chains to the cluster's authority and
%%% has the cluster's name (`server_name', a DNS subject alternative name; the name of the cluster
%%% by default). All nodes may share one certificate from one Kubernetes Secret: which node it is,
%%% and that it belongs to this cluster and not to another of the same authority, is proved inside
%%% by {@link partisan_handshake}.
%%%
%%% == Rotation ==
%%% Each connection uses the contents of the files at its start ({@link partisan_credentials}) for
%%% as long as it is up. A new authority is introduced by a file that holds the old and the new one,
%%% until every node has a certificate of the new one.
%%%
%%% == Without TLS ==
%%% OTP's `ssl' and `public_key' are not loaded, to keep nodes small.
-module(partisan_tls).

-export([start/0]).
-export([handshake/3]).
-export([serve/2]).
-export([result/1]).
-export([expiration/0]).
-export([credentials/0]).

-type socket() :: ssl:sslsocket().
-type failure() ::
    % The bytes received are not TLS.
    plaintext
    | tls_version
    | no_certificate
    | certificate_expired
    | certificate_name
    | unknown_ca
    | bad_certificate
    % The peer speaks TLS where none is configured.
    | unexpected_tls
    % The peer rejects this node's certificate.
    | refused_by_peer
    | tls_failure.
-type error() :: {tls, failure()} | closed | timeout | inet:posix().
-export_type([socket/0, failure/0, error/0]).

%% The processes of an idle connection hibernate.
-define(HIBERNATE_AFTER, 1000).
%% Bytes of an unfinished handshake that an unauthenticated peer can make this node keep.
-define(HANDSHAKE_BYTES, 65536).

%% @doc Starts what TLS needs, if configured.
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

%% @doc Upgrades a connected, passive TCP socket to TLS. `plain': not configured.
-spec handshake(client | server, gen_tcp:socket(), timeout()) ->
    plain | {ok, socket()} | {error, error()}.
handshake(Role, Port, Timeout) ->
    case partisan_config:get(tls) of
        none ->
            plain;
        Config ->
            handshake(Role, Port, partisan_credentials:current(Config), Config, Timeout)
    end.

%% @doc Upgrades an accepted, passive TCP socket whose client is not a node: the client verifies
%% this node's certificate and presents none. `plain': not configured.
-spec serve(gen_tcp:socket(), timeout()) -> plain | {ok, socket()} | {error, error()}.
serve(Port, Timeout) ->
    case partisan_config:get(tls) of
        none ->
            plain;
        Config ->
            Options = partisan_credentials:options(partisan_credentials:current(Config)),
            upgrade(fun() -> upgrade(public, Port, Options ++ common_options(), Timeout) end)
    end.

%% @doc A result of `ssl' with its reason as one atom.
-spec result(ok | {ok, Value} | {error, term()}) -> ok | {ok, Value} | {error, error()}.
result({error, {tls_alert, {Alert, Text}}}) ->
    {error, {tls, failure(Alert, lists:flatten(Text))}};
result({error, {options, _}}) ->
    % Only a socket that has ended rejects our options.
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

%% @doc The certificate and authorities of the next connection. The files are checked, so this
%% follows them even if no connection is made. `none': without TLS.
-spec credentials() -> none | partisan_credentials:summary().
credentials() ->
    case partisan_config:get(tls) of
        none -> none;
        Config -> partisan_credentials:summary(partisan_credentials:current(Config))
    end.

%% Internals.

%% A TLS connection reads its port in bursts of this many reads, even if its user does not read:
%% with OTP's default of a hundred, a connection could hold megabytes for a stopped receiver.
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
        % `ssl' does not expect the connection to have ended already.
        error:{badmatch, {error, _}} -> {error, closed}
    end.

upgrade(client, Port, Options, Timeout) ->
    % verify/3 checks the name, on both sides alike.
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
        % Any unauthenticated peer can make it log; partisan_refusals counts and logs what matters.
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

%% `ssl' only says in words which side rejected the other, and why if TLS has no alert for it: the
%% alert differs between OTP 25 and OTP 27.
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

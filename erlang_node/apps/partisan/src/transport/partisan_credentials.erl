%%% @doc A node's certificate, key and trusted authorities: PEM files that may be replaced at any
%%% time, in the layout of a Kubernetes Secret of type `kubernetes.io/tls'.
%%%
%%% The files are checked at every new connection and read again when changed. Their contents are
%%% verified as a peer would: a certificate that every peer would reject must not come into use.
%%%
%%% X.509 records are matched as plain tuples, since OTP's headers leave them untyped.
-module(partisan_credentials).

-include_lib("kernel/include/file.hrl").

-export([read/1]).
-export([init/1]).
-export([current/1]).
-export([options/1]).
-export([expires/1]).
-export([summary/1]).
-export([bears_name/2]).

-type config() :: #{
    % The certificate first, then its intermediates.
    certfile := file:name_all(),
    keyfile := file:name_all(),
    cacertfile := file:name_all(),
    % The DNS name in every certificate of the cluster.
    server_name := binary()
}.

-record(credentials, {
    % Of the files they were read from: replacing a file changes it.
    stamp :: [term()],
    options :: [ssl:tls_option()],
    summary :: summary()
}).
%% Object identifiers of public keys.
-define(EC_PUBLIC_KEY, {1, 2, 840, 10045, 2, 1}).
-define(ED25519, {1, 3, 101, 112}).
-define(ED448, {1, 3, 101, 113}).

-opaque t() :: #credentials{}.
%% SHA-256 over the DER form, in hexadecimal digits: `sha256:9f31...'.
-type fingerprint() :: binary().
-type summary() :: #{
    certificate := fingerprint(),
    % In file order.
    authorities := [fingerprint()],
    expires_at := UnixSeconds :: integer()
}.
-export_type([t/0, config/0, summary/0]).

%% @doc Reads and checks the files. An error names the file and what to do about it.
-spec read(config()) -> {ok, t()} | {error, Description :: string()}.
read(Config) ->
    try
        {ok, read(stamp(Config), Config)}
    catch
        throw:{invalid, Text} -> {error, lists:flatten(Text)}
    end.

%% @doc Reads the files for the first time.
-spec init(config()) -> ok | {error, Description :: string()}.
init(Config) ->
    case read(Config) of
        {ok, Credentials} -> persistent_term:put(?MODULE, Credentials);
        Error -> Error
    end.

%% @doc The contents of the files, or the last usable ones. Several connections may detect the same
%% change at once, which does no harm.
-spec current(config()) -> t().
current(Config) ->
    Previous = persistent_term:get(?MODULE),
    case stamp(Config) of
        Stamp when Stamp =:= Previous#credentials.stamp -> Previous;
        _ -> replace(Previous, read(Config))
    end.

%% @doc Options of a TLS socket with these credentials.
-spec options(t()) -> [ssl:tls_option()].
options(#credentials{options = Options}) ->
    Options.

%% @doc Expiry of the certificate, in seconds since 1970.
-spec expires(t()) -> integer().
expires(#credentials{summary = #{expires_at := Expires}}) ->
    Expires.

%% @doc The node's certificate and its trusted authorities, without anything secret: shows others
%% whether the contents of its files are in use.
-spec summary(t()) -> summary().
summary(#credentials{summary = Summary}) ->
    Summary.

%% @doc Whether the certificate is for this DNS name.
-spec bears_name(public_key:der_encoded() | tuple(), binary()) -> boolean().
bears_name(Certificate, Name) ->
    public_key:pkix_verify_hostname(Certificate, [{dns_id, binary_to_list(Name)}]).

%% Internals.

replace(_Former, {ok, Credentials}) ->
    ok = persistent_term:put(?MODULE, Credentials),
    logger:notice("partisan: new TLS credentials read; new connections use them"),
    Credentials;
replace(Previous, {error, Text}) ->
    ok = partisan_refusals:warn(credentials, "~ts; the previous credentials stay in use", [Text]),
    Previous.

stamp(Config) ->
    [stamp_of(maps:get(Key, Config)) || Key <- [certfile, keyfile, cacertfile]].

stamp_of(File) ->
    case file:read_file_info(File, [raw, {time, posix}]) of
        {ok, #file_info{inode = Inode, mtime = Modified, size = Size}} -> {Inode, Modified, Size};
        {error, Reason} -> Reason
    end.

%% The stamp is taken first: a change during the read is noticed next time.
read(Stamp, #{certfile := CertFile, keyfile := KeyFile, cacertfile := CaFile} = Config) ->
    Certificates = [Der || {'Certificate', Der, _} <- entries(certfile, CertFile)],
    Certificates =/= [] orelse invalid("certfile: ~ts holds no certificate", [CertFile]),
    Authorities = [Der || {'Certificate', Der, _} <- entries(cacertfile, CaFile)],
    Authorities =/= [] orelse invalid("cacertfile: ~ts holds no certificate", [CaFile]),
    {Type, KeyDer, _} = Key = key(KeyFile),
    Own = public_key:pkix_decode_cert(hd(Certificates), otp),
    fits(Own, Key) orelse
        invalid("keyfile: the key in ~ts is not that of ~ts", [KeyFile, CertFile]),
    ok = check_name(Own, Config),
    {NotBefore, NotAfter} = validity(Own),
    ok = check_time(NotBefore, NotAfter, CertFile),
    leads_to_root(hd(Certificates), [], tl(Certificates) ++ Authorities, Authorities) orelse
        invalid("certfile: ~ts is not signed by an authority in ~ts; add its issuer's root there", [
            CertFile, CaFile
        ]),
    #credentials{
        stamp = Stamp,
        options = [{cert, Certificates}, {key, {Type, KeyDer}}, {cacerts, Authorities}],
        summary = #{
            certificate => fingerprint(hd(Certificates)),
            authorities => [fingerprint(Authority) || Authority <- Authorities],
            expires_at => NotAfter
        }
    }.

fingerprint(Der) ->
    Digits = string:lowercase(binary:encode_hex(crypto:hash(sha256, Der))),
    <<"sha256:", Digits/binary>>.

entries(Field, File) ->
    case file:read_file(File) of
        {ok, Content} -> decode(Field, File, Content);
        {error, Reason} -> invalid("~s: ~ts: ~ts", [Field, File, file:format_error(Reason)])
    end.

decode(Field, File, Content) ->
    try
        public_key:pem_decode(Content)
    catch
        % The exception depends on the content.
        error:_ -> invalid("~s: ~ts is not a PEM file", [Field, File])
    end.

key(File) ->
    Types = ['PrivateKeyInfo', 'ECPrivateKey', 'RSAPrivateKey'],
    case [Entry || {Type, _, _} = Entry <- entries(keyfile, File), lists:member(Type, Types)] of
        [{_, _, not_encrypted} = Key | _] -> Key;
        [_ | _] -> invalid("keyfile: the key in ~ts has a passphrase; remove it", [File]);
        [] -> invalid("keyfile: ~ts holds no private key without a passphrase", [File])
    end.

fits(Certificate, KeyEntry) ->
    {Public, Digest} =
        case public_key_of(Certificate) of
            {{_, Oid, _}, Point} when Oid =:= ?ED25519; Oid =:= ?ED448 ->
                {{Point, {namedCurve, Oid}}, none};
            {{_, ?EC_PUBLIC_KEY, Curve}, Point} ->
                {{Point, Curve}, sha256};
            {_, Key} ->
                {Key, sha256}
        end,
    Text = <<"partisan">>,
    try
        Private = public_key:pem_entry_decode(KeyEntry),
        public_key:verify(Text, Digest, public_key:sign(Text, Digest, Private), Public)
    catch
        % The key does not fit the certificate, or is of an unknown kind.
        error:_ -> false
    end.

check_name(Certificate, #{certfile := File, server_name := Name}) ->
    bears_name(Certificate, Name) orelse
        invalid(
            "certfile: ~ts is not for the DNS name ~ts: issue it for this name, "
            "or set server_name to one that it has",
            [File, Name]
        ),
    ok.

check_time(NotBefore, NotAfter, File) ->
    Now = erlang:system_time(second),
    Now =< NotAfter orelse
        invalid("certfile: ~ts has expired on ~ts; renew it", [File, text(NotAfter)]),
    Now >= NotBefore orelse
        invalid("certfile: ~ts is valid from ~ts only; is the clock right?", [
            File, text(NotBefore)
        ]),
    ok.

text(UnixSeconds) ->
    calendar:system_time_to_rfc3339(UnixSeconds, [{offset, "Z"}]).

public_key_of({'OTPCertificate', Body, _, _}) ->
    {'OTPSubjectPublicKeyInfo', Algorithm, Key} = element(8, Body),
    {Algorithm, Key}.

validity({'OTPCertificate', Body, _, _}) ->
    {'Validity', NotBefore, NotAfter} = element(6, Body),
    {unix(NotBefore), unix(NotAfter)}.

%% RFC 5280: two-digit years are 1950 to 2049.
unix({utcTime, [Y1, Y2 | Rest]}) when [Y1, Y2] >= "50" ->
    unix({generalTime, "19" ++ [Y1, Y2 | Rest]});
unix({utcTime, Text}) ->
    unix({generalTime, "20" ++ Text});
unix({generalTime, Text}) ->
    {ok, Fields, "Z"} = io_lib:fread("~4d~2d~2d~2d~2d~2d", Text),
    [Year, Month, Day, Hour, Minute, Second] = Fields,
    Epoch = calendar:datetime_to_gregorian_seconds({{1970, 1, 1}, {0, 0, 0}}),
    calendar:datetime_to_gregorian_seconds({{Year, Month, Day}, {Hour, Minute, Second}}) - Epoch.

%% Whether a chain of certificates in either file leads to a self-signed one; OTP starts with
%% nothing else. Several certificates may have the same name: an authority's old key and its new
%% one.
leads_to_root(Certificate, Path, Others, Authorities) ->
    case public_key:pkix_is_self_signed(Certificate) of
        true ->
            lists:member(Certificate, Authorities) andalso is_valid(Certificate, Path);
        false ->
            lists:any(
                fun(Issuer) ->
                    public_key:pkix_is_issuer(Certificate, Issuer) andalso
                        leads_to_root(Issuer, [Certificate | Path], Others -- [Issuer], Authorities)
                end,
                Others
            )
    end.

is_valid(_Root, []) ->
    % A self-signed certificate only.
    false;
is_valid(Root, Path) ->
    case public_key:pkix_path_validation(Root, Path, []) of
        {ok, _} -> true;
        {error, _} -> false
    end.

-spec invalid(io:format(), [term()]) -> no_return().
invalid(Format, Arguments) ->
    throw({invalid, io_lib:format("tls: " ++ Format, Arguments)}).

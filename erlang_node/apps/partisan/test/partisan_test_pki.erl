%%% Authorities and certificates for tests, made on demand and stored in files like a mounted Secret
%%% of type kubernetes.io/tls.
%%%
%%% X.509 records are written as plain tuples, since OTP's headers leave them untyped.
-module(partisan_test_pki).

-export([authority/0, intermediate/1, certificate/2]).
-export([write/2, write/3, files/1, options/1]).

%% Object identifiers: extensions, names, algorithms.
-define(KEY_USAGE, {2, 5, 29, 15}).
-define(SUBJECT_ALTERNATIVE_NAME, {2, 5, 29, 17}).
-define(BASIC_CONSTRAINTS, {2, 5, 29, 19}).
-define(EXTENDED_KEY_USAGE, {2, 5, 29, 37}).
-define(COMMON_NAME, {2, 5, 4, 3}).
-define(EC_PUBLIC_KEY, {1, 2, 840, 10045, 2, 1}).
-define(ECDSA_WITH_SHA256, {1, 2, 840, 10045, 4, 3, 2}).
-define(RSA_ENCRYPTION, {1, 2, 840, 113549, 1, 1, 1}).
-define(ED25519, {1, 3, 101, 112}).

%% A self-signed authority. All have the same name but different keys.
authority() ->
    Key = public_key:generate_key({namedCurve, secp256r1}),
    Self = #{name => "authority", key => Key},
    Certificate = sign(Self, "authority", Key, #{}, authority_extensions()),
    Self#{certificate => Certificate, chain => [], root => Certificate}.

%% An authority signed by another one.
intermediate(Authority) ->
    issue("intermediate", Authority, #{}, authority_extensions()).

%% A node's certificate. Options: `names' (DNS), `key' as in public_key:generate_key/1, `validity'
%% (two dates), `usage' (identifiers).
certificate(Authority, Options) ->
    Names = [{dNSName, Name} || Name <- maps:get(names, Options, ["test"])],
    issue("node", Authority, Options, [
        {?SUBJECT_ALTERNATIVE_NAME, false, Names}
        | [{?EXTENDED_KEY_USAGE, false, Usage} || #{usage := Usage} <- [Options]]
    ]).

authority_extensions() ->
    [
        {?BASIC_CONSTRAINTS, true, {'BasicConstraints', true, asn1_NOVALUE}},
        {?KEY_USAGE, true, [keyCertSign, cRLSign]}
    ].

issue(Name, #{certificate := Issuer, chain := Chain, root := Root} = By, Options, Extensions) ->
    Key = public_key:generate_key(maps:get(key, Options, {namedCurve, secp256r1})),
    #{
        name => Name,
        key => Key,
        certificate => sign(By, Name, Key, Options, Extensions),
        chain => [Issuer || Issuer =/= Root] ++ Chain,
        root => Root
    }.

sign(#{name := Issuer, key := IssuerKey}, Name, Key, Options, Extensions) ->
    Today = date(),
    Tomorrow = calendar:gregorian_days_to_date(calendar:date_to_gregorian_days(Today) + 1),
    Yesterday = calendar:gregorian_days_to_date(calendar:date_to_gregorian_days(Today) - 1),
    {From, To} = maps:get(validity, Options, {Yesterday, Tomorrow}),
    Body = {'OTPTBSCertificate', v3, erlang:unique_integer([positive]),
        {'SignatureAlgorithm', ?ECDSA_WITH_SHA256, asn1_NOVALUE},
        common_name(Issuer),
        {'Validity', midnight(From), midnight(To)},
        common_name(Name),
        public_half(Key),
        asn1_NOVALUE, asn1_NOVALUE,
        [{'Extension', Id, Critical, Value} || {Id, Critical, Value} <- Extensions]
    },
    public_key:pkix_sign(Body, IssuerKey).

common_name(Name) ->
    {rdnSequence, [[{'AttributeTypeAndValue', ?COMMON_NAME, {utf8String, list_to_binary(Name)}}]]}.

midnight({Year, Month, Day}) ->
    {generalTime, lists:flatten(io_lib:format("~4..0b~2..0b~2..0b000000Z", [Year, Month, Day]))}.

public_half(Key) when element(1, Key) =:= 'RSAPrivateKey' ->
    {'OTPSubjectPublicKeyInfo', {'PublicKeyAlgorithm', ?RSA_ENCRYPTION, 'NULL'},
        {'RSAPublicKey', element(3, Key), element(4, Key)}};
public_half(Key) when element(1, Key) =:= 'ECPrivateKey' ->
    Algorithm =
        case element(4, Key) of
            {namedCurve, ?ED25519} -> {'PublicKeyAlgorithm', ?ED25519, asn1_NOVALUE};
            Curve -> {'PublicKeyAlgorithm', ?EC_PUBLIC_KEY, Curve}
        end,
    {'OTPSubjectPublicKeyInfo', Algorithm, {'ECPoint', element(5, Key)}}.

%% Writes a node's certificate, key and trusted authorities to the files of a directory: each new
%% file replaces its predecessor atomically, as in a mounted Secret.
write(Directory, #{root := Root} = Shown) ->
    write(Directory, Shown, [Root]).

write(Directory, #{certificate := Certificate, key := Key, chain := Chain}, Believed) ->
    ok = replace(Directory, "tls.crt", pem([Certificate | Chain])),
    KeyPem = public_key:pem_encode([public_key:pem_entry_encode(element(1, Key), Key)]),
    ok = replace(Directory, "tls.key", KeyPem),
    ok = replace(Directory, "ca.crt", pem(Believed)).

replace(Directory, Name, Content) ->
    New = filename:join(Directory, Name ++ ".new"),
    ok = file:write_file(New, Content),
    file:rename(New, filename:join(Directory, Name)).

pem(Certificates) ->
    public_key:pem_encode([{'Certificate', Der, not_encrypted} || Der <- Certificates]).

%% The configuration that names the files of a directory.
files(Directory) ->
    #{
        certfile => filename:join(Directory, "tls.crt"),
        keyfile => filename:join(Directory, "tls.key"),
        cacertfile => filename:join(Directory, "ca.crt")
    }.

%% The same as options of `ssl', for unauthenticated peers.
options(#{certificate := Certificate, key := Key, chain := Chain, root := Root}) ->
    [
        {cert, [Certificate | Chain]},
        {key, {element(1, Key), public_key:der_encode(element(1, Key), Key)}},
        {cacerts, [Root]}
    ].

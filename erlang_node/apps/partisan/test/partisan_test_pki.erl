%%% Authorities and certificates for tests, made as they are needed and kept in files as a mounted
%%% Secret of type kubernetes.io/tls keeps them.
-module(partisan_test_pki).

-export([authority/0, intermediate/1, certificate/2]).
-export([directory/0, write/2, write/3, files/1, options/1]).

%% Object identifiers of extensions.
-define(KEY_USAGE, {2, 5, 29, 15}).
-define(SUBJECT_ALTERNATIVE_NAME, {2, 5, 29, 17}).
-define(BASIC_CONSTRAINTS, {2, 5, 29, 19}).
-define(EXTENDED_KEY_USAGE, {2, 5, 29, 37}).

%% An authority; every one is another.
authority() ->
    #{cert := Certificate, key := Key} =
        public_key:pkix_test_root_cert("authority", [{key, {namedCurve, secp256r1}}]),
    #{certificate => Certificate, key => Key, chain => [], root => Certificate}.

%% An authority that another one has authorised.
intermediate(Authority) ->
    issue(Authority, #{}, [
        extension(?BASIC_CONSTRAINTS, {'BasicConstraints', true, asn1_NOVALUE}, true),
        extension(?KEY_USAGE, [keyCertSign, cRLSign], false)
    ]).

%% What a node shows: a certificate of this authority. Options: `names' (DNS), `key' and `validity'
%% as in public_key, `usage' (identifiers).
certificate(Authority, Options) ->
    Names = maps:get(names, Options, ["test"]),
    issue(Authority, Options, [
        extension(?SUBJECT_ALTERNATIVE_NAME, [{dNSName, Name} || Name <- Names], false)
        | [extension(?EXTENDED_KEY_USAGE, Usage, false) || #{usage := Usage} <- [Options]]
    ]).

issue(#{certificate := Issuer, key := Key, chain := Chain, root := Root}, Options, Extensions) ->
    Made = public_key:pkix_test_data(#{
        root => #{cert => Issuer, key => Key},
        peer => [
            {key, maps:get(key, Options, {namedCurve, secp256r1})},
            {extensions, Extensions}
            | [{validity, Validity} || #{validity := Validity} <- [Options]]
        ]
    }),
    {cert, Certificate} = lists:keyfind(cert, 1, Made),
    {key, {Type, Der}} = lists:keyfind(key, 1, Made),
    #{
        certificate => Certificate,
        key => public_key:der_decode(Type, Der),
        chain => [Issuer || Issuer =/= Root] ++ Chain,
        root => Root
    }.

extension(Id, Value, Critical) ->
    {'Extension', Id, Critical, Value}.

%% A new directory for files.
directory() ->
    Unique = integer_to_list(erlang:unique_integer([positive])),
    Directory = filename:join([
        filename:basedir(user_cache, "partisan-tests"), os:getpid() ++ "-pki-" ++ Unique
    ]),
    ok = filelib:ensure_path(Directory),
    Directory.

%% Puts what a node shows, and whom it believes, into the files of a directory: each new file takes
%% the place of its predecessor at once, as in a mounted Secret.
write(Directory, #{root := Root} = Shown) ->
    write(Directory, Shown, [Root]).

write(Directory, #{certificate := Certificate, key := Key, chain := Chain}, Believed) ->
    ok = replace(Directory, "tls.crt", pem([Certificate | Chain])),
    KeyType = element(1, Key),
    KeyPem = public_key:pem_encode([public_key:pem_entry_encode(KeyType, Key)]),
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

%% The same as options of `ssl', for strangers.
options(#{certificate := Certificate, key := Key, chain := Chain, root := Root}) ->
    [
        {cert, [Certificate | Chain]},
        {key, {element(1, Key), public_key:der_encode(element(1, Key), Key)}},
        {cacerts, [Root]}
    ].

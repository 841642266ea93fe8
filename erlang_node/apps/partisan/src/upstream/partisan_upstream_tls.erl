%%% @doc Upstream Partisan's `tls' with its options of OTP's `ssl', as our setting ({@link
%%% partisan_tls}).
%%%
%%% Here all nodes verify each other, with TLS 1.3 and one certificate for both directions. So the
%%% options of servers and clients must name the same files. An option that asks for less than this,
%%% or restricts connections in another way, is rejected: without it a node would be less secure
%%% than its configuration says.
-module(partisan_upstream_tls).

-export([converted/1]).

-import(partisan_upstream_value, [text/1, pairs/1, invalid/2]).

%% `tls_options' are those of both directions in versions 1 to 4.
-define(SIDES, [tls_server_options, tls_client_options, tls_options]).
-define(FILES, [certfile, keyfile, cacertfile]).
-define(WITHOUT_EFFECT, [
    % Every certificate must have the name of `server_name'.
    customize_hostname_check,
    hostname_verification,
    client_renegotiation,
    hibernate_after,
    honor_cipher_order,
    honor_ecc_order,
    log_level,
    reuse_sessions,
    secure_renegotiate,
    session_tickets
]).

%% @doc The fields with `tls' as ours. Without it the options have no effect, here as upstream.
-spec converted(map()) -> {WithoutEffect :: [string()], map()}.
converted(#{tls := true} = Given) ->
    Sides = [{Side, options(Side, map_get(Side, Given))} || Side <- sides(Given)],
    Ignored = [
        lists:concat([Option, " of ", Side])
     || {Side, Options} <- Sides, {Option, _} <- Options, lists:member(Option, ?WITHOUT_EFFECT)
    ],
    {Ignored, (without_options(Given))#{tls := tls(Sides)}};
converted(#{tls := false} = Given) ->
    {names(Given), (without_options(Given))#{tls := none}};
converted(Given) ->
    {names(Given), without_options(Given)}.

%% Internals.

sides(Given) -> [Side || Side <- ?SIDES, is_map_key(Side, Given)].

names(Given) -> [atom_to_list(Side) || Side <- sides(Given)].

without_options(Given) -> maps:without(?SIDES, Given).

options(Side, Given) ->
    case pairs(Given) of
        error ->
            invalid("~s must be a list of {Option, Value}", [Side]);
        Options ->
            lists:foreach(fun({Option, Value}) -> check(Side, Option, Value) end, Options),
            Options
    end.

%% Options with the test of their harmless values, and the reason and the fix for any other.
limited() ->
    [
        {verify, fun(Value) -> Value =:= verify_peer end,
            "nodes always verify each other here; set verify_peer, and as cacertfile the authority"
            " of all nodes"},
        {fail_if_no_peer_cert, fun(Value) -> Value =:= true end,
            "a node without a certificate is never admitted here; set true"},
        {versions, fun(Value) -> is_list(Value) andalso lists:member('tlsv1.3', Value) end,
            "connections have TLS 1.3 here; add 'tlsv1.3'"},
        {crl_check, fun(Value) -> Value =:= false end,
            "lists of revoked certificates are not read here; remove it"},
        {server_name_indication, fun(Value) -> Value =:= disable orelse text(Value) =/= error end,
            "give the DNS name in the certificates of all nodes"}
    ].

%% Values of options that are unknown here are not shown: one may be a password or a key.
check(Side, Option, Value) ->
    case lists:keyfind(Option, 1, limited()) of
        {Option, IsHarmless, Fix} ->
            IsHarmless(Value) orelse
                invalid("~s: ~s is ~0p: ~s", [Side, Option, Value, Fix]);
        false ->
            lists:member(Option, ?FILES ++ ?WITHOUT_EFFECT) orelse
                invalid("~s: ~s has no counterpart here; remove it", [Side, Option])
    end.

tls([]) ->
    invalid(
        "tls is true, without files: give certfile, keyfile and cacertfile in tls_server_options"
        " and tls_client_options",
        []
    );
tls(Sides) ->
    Files = maps:from_list([{Option, File} || Option <- ?FILES, File <- value(Option, Sides)]),
    % As in OTP, the file of the certificate may hold the key.
    Config = maps:merge(#{keyfile => maps:get(certfile, Files, missing)}, Files),
    _ = [
        invalid("~s: ~s is missing", [element(1, hd(Sides)), Option])
     || Option <- [certfile, cacertfile], not is_map_key(Option, Config)
    ],
    case [Name || Name <- value(server_name_indication, Sides), Name =/= "disable"] of
        [Name] -> Config#{server_name => unicode:characters_to_binary(Name)};
        [] -> Config
    end.

%% The value that all sides have that have one.
value(Option, Sides) ->
    Given = [
        {characters(Side, Option, Value), Side}
     || {Side, Options} <- Sides, {_, Value} <- [lists:keyfind(Option, 1, Options)]
    ],
    case lists:ukeysort(1, Given) of
        [] ->
            [];
        [{Value, _}] ->
            [Value];
        [{_, One}, {_, Other} | _] ->
            invalid(
                "~s and ~s: ~s differs, but a node has one certificate for both directions here;"
                " give the same",
                [One, Other, Option]
            )
    end.

characters(_Side, _Option, disable) ->
    "disable";
characters(Side, Option, Value) ->
    case text(Value) of
        error -> invalid("~s: ~s is ~0p: give text", [Side, Option, Value]);
        Text -> Text
    end.

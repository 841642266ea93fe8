%%% @doc Upstream Partisan's `peer_discovery': its list of addresses as our `seeds'.
%%%
%%% Its other kinds cannot be converted: a connection is refused unless the dialled node has the
%%% expected name, and by DNS our nodes have other names than upstream's ({@link
%%% partisan_discovery}). The error has the setting to write instead.
-module(partisan_upstream_discovery).

-export([converted/1]).

-import(partisan_upstream_value, [text_or_empty/1, pairs/1, invalid/2]).

%% @doc The fields with seeds in place of a list of addresses. Their ports are, unless given, that
%% of this node.
-spec converted(map()) -> {WithoutEffect :: [string()], map()}.
converted(#{peer_discovery := Given} = Fields) ->
    {[], discovered(options(Given), maps:remove(peer_discovery, Fields))};
converted(Fields) ->
    {[], Fields}.

%% Internals.

options(Given) ->
    case pairs(Given) of
        error -> invalid("peer_discovery is ~0p: give a map or a list of options", [Given]);
        Pairs -> maps:from_list(Pairs)
    end.

discovered(#{enabled := false}, Fields) ->
    Fields;
discovered(Options, Fields) when map_size(Options) =:= 0 ->
    Fields;
discovered(Options, Fields) ->
    _ = [
        invalid("peer_discovery and ~s are both set; remove one", [Key])
     || Key <- [seeds, discovery], is_map_key(Key, Fields)
    ],
    Config = options(maps:get(config, Options, [])),
    Fields#{seeds => seeds(maps:get(type, Options, undefined), Config, Fields)}.

seeds(partisan_peer_discovery_list, #{addresses := Addresses}, Fields) when is_list(Addresses) ->
    Port = maps:get(listen_port, Fields, partisan_config:default(listen_port)),
    [seed(Address, Port) || Address <- Addresses];
seeds(partisan_peer_discovery_list, Config, _Fields) ->
    invalid("peer_discovery: config is ~0p: give #{addresses => [...]}", [Config]);
seeds(partisan_peer_discovery_dns, Config, _Fields) ->
    Query = text_or_empty(maps:get(query, Config, maps:get(name, Config, "NAME"))),
    {Record, Naming} = dns(maps:get(record_type, Config, a)),
    invalid(
        "peer_discovery: by DNS nodes have other names here; set discovery => #{dns => {~s, ~0p}}"
        " in its place, and name each node ~s",
        [Record, Query, Naming]
    );
seeds(Type, _Config, _Fields) ->
    invalid("peer_discovery: ~0p is no type here; remove it and set seeds or discovery", [Type]).

dns(Type) when Type =:= a; Type =:= "a"; Type =:= <<"a">> -> {a, "like its address"};
dns(Type) when Type =:= aaaa; Type =:= "aaaa"; Type =:= <<"aaaa">> -> {aaaa, "like its address"};
dns(_HasHostNames) -> {srv, "like the first label of its host"}.

%% A seed as {Name, Host, Port}, which partisan_environment converts.
seed({Name, Port}, _Default) when is_atom(Name) ->
    seed({atom_to_list(Name), Port}, none);
seed({Name, Port}, _Default) ->
    seed(Name, partisan_upstream_address:port(peer_discovery, Port));
seed(Name, Default) when is_atom(Name) ->
    seed(atom_to_list(Name), Default);
seed(Given, Default) ->
    case string:split(text_or_empty(Given), "@") of
        [Name, HostAndPort] when Name =/= "", HostAndPort =/= "" ->
            {Host, Port} =
                partisan_upstream_address:host_and_port(peer_discovery, HostAndPort, Default),
            {unicode:characters_to_binary([Name, "@", Host]), Host, Port};
        _ ->
            invalid("peer_discovery: ~0p is no NAME@HOST or NAME@HOST:PORT", [Given])
    end.

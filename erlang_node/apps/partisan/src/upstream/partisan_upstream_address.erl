%%% @doc The address of this node in upstream Partisan's forms: `listen_addrs', or `peer_ip' and
%%% `peer_port', or the part of the name behind the `@'.
%%%
%%% A node has one address here: the first of `listen_addrs', which overrides the other keys as it
%%% does upstream. It listens there and advertises it, unless it is the address of all interfaces.
%%% Then, or with `peer_host', another host is advertised. Our own `host', `listen_ip' and
%%% `listen_port' win over all of these.
-module(partisan_upstream_address).

-export([converted/1]).
-export([host_and_port/3]).
-export([port/2]).

-import(partisan_upstream_value, [text/1, text_or_empty/1, invalid/2]).

-define(KEYS, [listen_addrs, peer_ip, peer_port, peer_host]).

%% @doc The fields with the address as ours.
-spec converted(map()) -> {WithoutEffect :: [string()], map()}.
converted(Given) ->
    PeerPort = optional(peer_port, Given, fun port/2),
    Listed = listed(maps:get(listen_addrs, Given, []), PeerPort),
    Named = named(Given),
    {Ip, Port} = own(Listed, optional(peer_ip, Given, fun ip/2), Named, PeerPort),
    Hosts =
        [Host || #{peer_host := Host} <- [Given], Host =/= undefined] ++
            [Host || Host <- [Ip, Named], Host =/= none, not is_any(Host)],
    Address =
        [{host, Host} || Host <- lists:sublist(Hosts, 1)] ++
            [{listen_ip, Ip} || Ip =/= none] ++ [{listen_port, Port} || Port =/= none],
    {
        ["listen_addrs after the first" || length(lists:usort(Listed)) > 1],
        maps:merge(maps:from_list(Address), maps:without(?KEYS, Given))
    }.

%% @doc The parts of `HOST:PORT', `[HOST]:PORT' or `HOST'. The key is for the error.
-spec host_and_port(Key :: atom(), string(), Default) ->
    {Host :: string(), inet:port_number() | Default}.
host_and_port(Key, Text, Default) ->
    case {inet:parse_strict_address(Text), string:split(Text, ":", trailing)} of
        {{error, _}, [Host, Port]} -> {string:trim(Host, both, "[]"), port(Key, Port)};
        _ -> {Text, Default}
    end.

%% @doc The number of a port, which may be text. The key is for the error.
-spec port(Key :: atom(), term()) -> inet:port_number().
port(_Key, Port) when is_integer(Port), Port >= 0, Port =< 65535 ->
    Port;
port(Key, Given) ->
    case string:to_integer(text_or_empty(Given)) of
        {Port, ""} when is_integer(Port), Port >= 0, Port =< 65535 -> Port;
        _ -> invalid("~s: ~0p is no port number from 0 to 65535", [Key, Given])
    end.

%% Internals.

optional(Key, Given, Parse) ->
    case Given of
        #{Key := Value} -> Parse(Key, Value);
        #{} -> none
    end.

own([First | _], _PeerIp, _Named, _PeerPort) -> First;
own([], none, Named, PeerPort) when is_tuple(Named) -> {Named, PeerPort};
own([], PeerIp, _Named, PeerPort) -> {PeerIp, PeerPort}.

%% The host in the name: upstream's default. It is not wanted where the configuration has ours.
named(#{name := Name} = Given) when is_atom(Name), not is_map_key(host, Given) ->
    case string:split(atom_to_list(Name), "@") of
        [_, Host] when Host =/= "" -> address(Host);
        _ -> none
    end;
named(_Given) ->
    none.

address(Host) ->
    case inet:parse_strict_address(Host) of
        {ok, Ip} -> Ip;
        {error, _} -> Host
    end.

listed(Addresses, PeerPort) when is_list(Addresses) ->
    [listen_address(Address, PeerPort) || Address <- Addresses];
listed(Addresses, _PeerPort) ->
    invalid("listen_addrs is ~0p: give a list of addresses", [Addresses]).

listen_address(#{ip := Ip, port := Port}, _PeerPort) ->
    {ip(listen_addrs, Ip), port(listen_addrs, Port)};
listen_address(#{ip := Ip}, PeerPort) ->
    {ip(listen_addrs, Ip), PeerPort};
listen_address({Ip, Port}, _PeerPort) ->
    {ip(listen_addrs, Ip), port(listen_addrs, Port)};
listen_address(Given, PeerPort) ->
    case text(Given) of
        error ->
            {ip(listen_addrs, Given), PeerPort};
        Text ->
            {Ip, Port} = host_and_port(listen_addrs, Text, PeerPort),
            {ip(listen_addrs, Ip), Port}
    end.

ip(Key, Given) ->
    case inet:is_ip_address(Given) of
        true ->
            Given;
        false ->
            case inet:parse_strict_address(text_or_empty(Given)) of
                {ok, Ip} ->
                    Ip;
                {error, _} ->
                    invalid("~s: ~0p is no address such as {10, 0, 0, 1} or \"10.0.0.1\"", [
                        Key, Given
                    ])
            end
    end.

is_any({0, 0, 0, 0}) -> true;
is_any({0, 0, 0, 0, 0, 0, 0, 0}) -> true;
is_any(_) -> false.

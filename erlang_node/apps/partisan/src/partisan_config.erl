%%% @doc The validated configuration of this node, in one persistent term.
%%%
%%% Set once before the application starts; read-only afterwards, except for the few settings that
%%% may change at run time. An error is a text that names the field and the fix, so that a bad file
%%% stops the node at its start and not in the middle of the night.
%%%
%%% == Fields ==
%%% Required: `name', `cluster', `token' (at least 16 bytes, shared by the whole cluster), `host'
%%% (advertised to the peers), `overlay', `seeds'. The rest have defaults, see `defaults/0'. All
%%% times are in milliseconds, all sizes in bytes.
%%%
%%% Longer than 300 lines: the table of all settings, each with its default, its check and its text.
-module(partisan_config).

-export([set/1]).
-export([is_set/0]).
-export([get/1]).
-export([default/1]).
-export([changed/1]).
-export([check_peers/1]).
-export([store/1]).

-type channel() :: #{
    name := atom(),
    parallelism => 1..1024,
    % Only the newest message per destination and partition key is worth sending.
    monotonic => boolean(),
    % Messages are retransmitted until they have arrived, unless their sender overrides it.
    acknowledged => boolean(),
    % Bytes that may be queued in one lane; `lane_queue_bytes' by default.
    queue_bytes => pos_integer(),
    % Milliseconds by which messages leave, or are delivered, later. For tests.
    egress_delay => non_neg_integer(),
    ingress_delay => non_neg_integer()
}.
-type t() :: #{
    name := partisan_peer:name(),
    cluster := binary(),
    token := binary(),
    host := inet:ip_address() | string(),
    overlay := {partisan_overlay_registry:kind(), map()},
    seeds := [partisan_peer:t()],
    replicas => pos_integer(),
    % Of the node's first start in this emulator; larger than all before. See partisan_incarnation.
    incarnation => pos_integer(),
    listen_ip => inet:ip_address(),
    % 0: any free port, which is then advertised.
    listen_port => inet:port_number(),
    channels => [channel()],
    % Bytes that may be queued in a lane before its senders block, unless its channel says
    % otherwise.
    lane_queue_bytes => pos_integer(),
    % Larger messages are rejected, by the sender already.
    message_bytes => pos_integer(),
    % Messages that may wait for a process before its connections are no longer read.
    mailbox_messages => pos_integer(),
    % Heartbeat interval of the overlay's lanes; one unanswered heartbeat breaks a lane.
    heartbeat_interval => pos_integer(),
    % For the connection and the handshake together.
    dial_timeout => pos_integer(),
    % Time for a handshake, and maximum number of concurrent handshakes.
    handshake_timeout => pos_integer(),
    handshakes => pos_integer(),
    % How long an unused link to a non-neighbour is kept.
    idle_timeout => pos_integer(),
    % How long a graceful leave may take to flush the queues.
    leave_timeout => pos_integer(),
    % Where to find seeds, which take the place of `seeds'.
    discovery => none | partisan_discovery:options(),
    % Names that receive messages from other nodes (partisan_reach): those of the node's own
    % applications, or these, of which some serve no calls.
    reachable => applications | [atom() | {atom(), messages}],
    % Names that never do, whatever `reachable' says.
    unreachable => [atom()],
    % Modules whose functions other nodes may execute here.
    remote_execution => [module()],
    % Modules with the behaviour partisan_broadcast_handler.
    broadcast_handlers => [module()],
    % How often a node compares its broadcasts, and handlers their data, with a neighbour.
    broadcast_exchange_interval => pos_integer(),
    % TLS on every connection between nodes, see partisan_tls. `server_name', the DNS name in the
    % certificates of all nodes, defaults to the name of the cluster.
    tls => none | tls()
}.
-type tls() :: #{
    certfile := file:name_all(),
    keyfile := file:name_all(),
    cacertfile := file:name_all(),
    server_name => binary()
}.

%% Settings that may change at run time. Those not given stay unchanged.
-type changes() :: #{
    overlay => {partisan_overlay_registry:kind(), map()},
    seeds => [partisan_peer:t()],
    replicas => pos_integer(),
    % Of existing channels.
    parallelism => #{Channel :: atom() => pos_integer()}
}.

-export_type([t/0, channel/0, tls/0, changes/0]).

-define(KEY, ?MODULE).

%% @doc Validates and stores the configuration.
-spec set(t()) -> ok | {error, Description :: string()}.
set(Given) when not is_map(Given) ->
    {error, "the configuration must be a map such as #{name => <<\"ads-0\">>}"};
set(Given) ->
    try
        Config = validated(maps:merge(defaults(), Given)),
        persistent_term:put(?KEY, Config)
    catch
        throw:{invalid, Description} -> {error, lists:flatten(Description)}
    end.

%% @doc Whether a configuration has been stored.
-spec is_set() -> boolean().
is_set() ->
    persistent_term:get(?KEY, none) =/= none.

%% @doc The configuration with these changes, or what is wrong with one of them.
-spec changed(changes()) -> {ok, t()} | {error, Description :: string()}.
changed(Changes) when not is_map(Changes) ->
    {error, "changes must be a map such as #{replicas => 3}"};
changed(Changes) ->
    Config = persistent_term:get(?KEY),
    try
        {Parallelism, Fields} = parallelism(maps:take(parallelism, Changes), Changes),
        Unknown = maps:keys(maps:without([overlay, seeds, replicas], Fields)),
        Unknown =:= [] orelse
            invalid("~p cannot change while the application runs; restart the node", [hd(Unknown)]),
        Channels = lists:foldl(fun widen/2, maps:get(channels, Config), maps:to_list(Parallelism)),
        maps:foreach(fun(Field, Value) -> check(Field, rule(Field), Value) end, Fields),
        {ok, maps:merge(Config, Fields#{channels => Channels})}
    catch
        throw:{invalid, Description} -> {error, lists:flatten(Description)}
    end.

%% @private Fails with `{bad_peers, Description}' for anything but a list of peers.
-spec check_peers(term()) -> ok.
check_peers(Peers) ->
    try check(peers, seeds, Peers) of
        Peers -> ok
    catch
        throw:{invalid, Description} -> error({bad_peers, lists:flatten(Description)})
    end.

%% @doc Stores a configuration returned by `changed/1'. Does not apply it to running processes
%% ({@link partisan:reconfigure/1}).
-spec store(t()) -> ok.
store(Config) ->
    persistent_term:put(?KEY, Config).

%% @doc The value of a field, including defaults and the reserved channels.
-spec get(atom()) -> term().
get(Field) ->
    maps:get(Field, persistent_term:get(?KEY)).

%% @doc The default value of a field.
-spec default(atom()) -> term().
default(Field) ->
    maps:get(Field, defaults()).

%% Internals.

defaults() ->
    #{
        replicas => 2,
        incarnation => erlang:system_time(microsecond),
        listen_ip => {0, 0, 0, 0},
        listen_port => 7946,
        channels => [],
        lane_queue_bytes => 8 * 1024 * 1024,
        message_bytes => 64 * 1024 * 1024,
        mailbox_messages => 1000,
        heartbeat_interval => 5000,
        dial_timeout => 4000,
        handshake_timeout => 4000,
        handshakes => 256,
        idle_timeout => 10000,
        leave_timeout => 5000,
        discovery => none,
        reachable => applications,
        unreachable => [],
        remote_execution => [],
        broadcast_handlers => [],
        broadcast_exchange_interval => 10000,
        tls => none
    }.

parallelism(error, Changes) -> {#{}, Changes};
parallelism({#{} = Parallelism, Fields}, _Changes) -> {Parallelism, Fields};
parallelism({_Other, _Fields}, _Changes) ->
    invalid("parallelism must be a map such as #{default => 4}", []).

widen({Name, Parallelism}, Channels) when Name =/= overlay ->
    case [Channel || #{name := N} = Channel <- Channels, N =:= Name] of
        [Channel] -> replaced(channel(Channel#{parallelism := Parallelism}), Channels);
        [] -> invalid("parallelism: there is no channel ~p; add it and restart the node", [Name])
    end;
widen({overlay, _}, _Channels) ->
    invalid("parallelism: overlay is reserved, and has one lane", []).

replaced(#{name := Name} = Channel, Channels) ->
    lists:map(
        fun
            (#{name := N}) when N =:= Name -> Channel;
            (Other) -> Other
        end,
        Channels
    ).

rule(Field) ->
    {Field, Rule} = lists:keyfind(Field, 1, fields()),
    Rule.

validated(Config) ->
    _ = [
        invalid("~s is missing: ~s", [Field, wanted(Rule)])
     || {Field, Rule} <- fields(), not is_map_key(Field, Config)
    ],
    Known = maps:from_list(fields()),
    Checked = maps:map(
        fun(Field, Value) ->
            case Known of
                #{Field := Rule} -> check(Field, Rule, Value);
                #{} -> invalid("~p is not a field of the configuration; remove it", [Field])
            end
        end,
        Config
    ),
    ok = overlay(Checked),
    #{tls := Tls, cluster := Cluster} = Checked,
    Checked#{tls := tls(Tls, Cluster)}.

overlay(#{overlay := Spec, name := Name, host := Host, seeds := Seeds}) ->
    Common = #{self => partisan_peer:new(Name, Host, 0), seed => {1, 2, 3}, seeds => Seeds},
    case partisan_overlay_switch:can_start(Spec, Common) of
        ok -> ok;
        {error, Description} -> invalid("~ts", [Description])
    end.

fields() ->
    [
        {name, label},
        {cluster, label},
        {token, token},
        {host, host},
        {overlay, overlay},
        {seeds, seeds},
        {replicas, positive},
        {incarnation, positive},
        {listen_ip, ip},
        {listen_port, port},
        {channels, channels},
        {lane_queue_bytes, positive},
        {message_bytes, positive},
        {mailbox_messages, positive},
        {heartbeat_interval, positive},
        {dial_timeout, positive},
        {handshake_timeout, positive},
        {handshakes, positive},
        {idle_timeout, positive},
        {leave_timeout, positive},
        {discovery, discovery},
        {reachable, reachable},
        {unreachable, atoms},
        {remote_execution, atoms},
        {broadcast_handlers, handlers},
        {broadcast_exchange_interval, positive},
        {tls, tls}
    ].

check(channels, channels, Value) when length(Value) >= 0 ->
    channels(Value);
check(Field, Rule, Value) ->
    is_valid(Rule, Value) orelse
        invalid("~s must be ~s, not ~0p", [Field, wanted(Rule), shown(Rule, Value)]),
    Value.

is_valid(label, Value) ->
    is_binary(Value) andalso byte_size(Value) >= 1 andalso byte_size(Value) =< 255;
is_valid(token, Value) ->
    is_binary(Value) andalso byte_size(Value) >= 16;
is_valid(host, Value) ->
    inet:is_ip_address(Value) orelse
        (io_lib:printable_latin1_list(Value) andalso Value =/= "" andalso length(Value) =< 255);
is_valid(ip, Value) ->
    inet:is_ip_address(Value);
is_valid(port, Value) ->
    is_integer(Value) andalso Value >= 0 andalso Value =< 65535;
is_valid(positive, Value) ->
    is_integer(Value) andalso Value >= 1;
is_valid(overlay, {Kind, Parameters}) ->
    partisan_overlay_registry:is_usable(Kind) andalso is_map(Parameters);
is_valid(seeds, Value) ->
    all(fun is_peer/1, Value);
is_valid(discovery, Value) ->
    partisan_discovery:is_valid(Value);
is_valid(reachable, Value) ->
    Value =:= applications orelse all(fun is_reachable/1, Value);
is_valid(atoms, Value) ->
    all(fun is_atom/1, Value);
is_valid(handlers, Value) ->
    all(fun partisan_broadcast_handler:is_handler/1, Value);
is_valid(tls, none) ->
    true;
is_valid(tls, #{certfile := _, keyfile := _, cacertfile := _} = Value) ->
    {Name, Files} =
        case maps:take(server_name, Value) of
            error -> {<<"default">>, Value};
            Taken -> Taken
        end,
    is_valid(label, Name) andalso map_size(Files) =:= 3 andalso
        lists:all(fun is_file_name/1, maps:values(Files));
is_valid(_Rule, _Value) ->
    false.

%% Of a proper list.
all(Is, Value) when length(Value) >= 0 -> lists:all(Is, Value);
all(_Is, _Value) -> false.

is_reachable({Name, messages}) -> is_atom(Name);
is_reachable(Name) -> is_atom(Name).

is_file_name(Value) ->
    Value =/= "" andalso
        (io_lib:printable_unicode_list(Value) orelse is_valid(label, Value)).

is_peer(#{name := Name, host := Host, port := Port, incarnation := Incarnation}) ->
    is_valid(label, Name) andalso is_valid(host, Host) andalso is_valid(port, Port) andalso
        is_integer(Incarnation) andalso Incarnation >= 0;
is_peer(_) ->
    false.

wanted(label) -> "a binary of 1 to 255 bytes";
wanted(token) -> "a binary of at least 16 bytes";
wanted(host) -> "an IP address or a host name";
wanted(ip) -> "an IP address such as {0, 0, 0, 0}";
wanted(port) -> "a port number from 0 to 65535";
wanted(positive) -> "an integer above 0";
wanted(overlay) ->
    io_lib:format("{Kind, #{...}}, where Kind is one of ~0p or a partisan_overlay module", [
        partisan_overlay_registry:known()
    ]);
wanted(seeds) ->
    "a list of peers: partisan_peer:new(Name, Host, Port) of a binary, an IP address or a host "
    "name in text, and a port number";
wanted(discovery) ->
    "none, #{dns => {a, aaaa or srv, \"a name\"}} or #{file => \"a file\"}, with port, seeds, "
    "interval and for dns nameservers";
wanted(reachable) -> "applications, or a list of names and of {Name, messages}";
wanted(atoms) -> "a list of atoms such as [my_module]";
wanted(handlers) -> "a list of modules in the code path with all of partisan_broadcast_handler";
wanted(tls) -> "none or #{certfile, keyfile, cacertfile => files, server_name => a binary}";
wanted(channels) -> "a list of channels such as #{name => gossip, parallelism => 1}".

%% A token never reaches a log.
shown(token, _Value) -> 'not shown';
shown(_Rule, Value) -> Value.

%% The overlay's own traffic must never wait behind bulk data, so it has a reserved channel;
%% `default' is for messages without a channel.
channels(Given) ->
    Channels = [channel(Channel) || Channel <- Given],
    Names = [Name || #{name := Name} <- Channels],
    Twice = Names -- lists:usort(Names),
    Twice =:= [] orelse invalid("channels: ~p is defined more than once", [hd(Twice)]),
    lists:member(overlay, Names) andalso
        invalid("channels: overlay is reserved; choose another name", []),
    Default = [channel(#{name => default}) || not lists:member(default, Names)],
    [channel(#{name => overlay}) | Default ++ Channels].

channel(#{name := Name} = Given) when is_atom(Name) ->
    Channel = maps:merge(#{parallelism => 1, monotonic => false, acknowledged => false}, Given),
    #{parallelism := Parallelism, monotonic := Monotonic, acknowledged := Acknowledged} = Channel,
    is_valid(label, atom_to_binary(Name)) orelse
        invalid("channels: the name ~p must have 1 to 255 bytes", [Name]),
    is_valid(positive, Parallelism) andalso Parallelism =< 1024 orelse
        invalid("channels: parallelism of ~p must be from 1 to 1024", [Name]),
    is_boolean(Monotonic) orelse
        invalid("channels: monotonic of ~p must be true or false", [Name]),
    is_boolean(Acknowledged) orelse
        invalid("channels: acknowledged of ~p must be true or false", [Name]),
    Acknowledged andalso Monotonic andalso
        invalid("channels: ~p cannot be monotonic and acknowledged; choose one", [Name]),
    is_valid(positive, maps:get(queue_bytes, Channel, 1)) orelse
        invalid("channels: queue_bytes of ~p must be an integer above 0", [Name]),
    _ = [
        is_delay(maps:get(Delay, Channel, 0)) orelse
            invalid("channels: ~s of ~p must be milliseconds from 0 to a minute", [Delay, Name])
     || Delay <- [egress_delay, ingress_delay]
    ],
    Known = [
        name, parallelism, monotonic, acknowledged, queue_bytes, egress_delay, ingress_delay
    ],
    Unknown = maps:keys(maps:without(Known, Channel)),
    Unknown =:= [] orelse
        invalid("channels: ~p of ~p is not a field of a channel; remove it", [hd(Unknown), Name]),
    Channel;
channel(Other) ->
    invalid("channels: ~0p has no name; add one, an atom", [Other]).

is_delay(Value) ->
    is_integer(Value) andalso Value >= 0 andalso Value =< 60000.

%% A node that no peer would accept had better not start.
tls(none, _Cluster) ->
    none;
tls(Given, Cluster) ->
    Tls = maps:merge(#{server_name => Cluster}, Given),
    case partisan_credentials:read(Tls) of
        {ok, _} -> Tls;
        {error, Text} -> invalid("~ts", [Text])
    end.

-spec invalid(io:format(), [term()]) -> no_return().
invalid(Format, Arguments) ->
    throw({invalid, io_lib:format(Format, Arguments)}).

%%% @doc Pod configuration: environment, configuration file and token, read and checked before
%%% anything starts. An error is one line that names the place and the fix.
%%%
%%% == Environment ==
%%% `POD_NAME' and `POD_IP' are required; for HiScamp also `K8S_ZONE' or `K8S_NODE_NAME'. Outside a
%%% pod `PARTISAN_CONFIG', `PARTISAN_TOKEN_FILE', `PARTISAN_BEARER_FILE', `PARTISAN_RESTORE_FILE',
%%% `PARTISAN_STATE_DIR' override the paths, and `PARTISAN_LISTEN_IP' the address to listen on, by
%%% default all. `PARTISAN_STATE=disk': the state directory outlives the pod, and is flushed.
-module(node_config).

-export([load/1]).
-export([without_token/1]).
-export([changes/2]).
-export([outline/1]).
-export([read_bearer/1]).

-import(node_config_file, [get/2, optional/3, peer/1, invalid/1, invalid/2]).
-import(node_environment, [required/2, path/3, mounted/3, address/2]).

-type environment() :: node_environment:t().
%% Secret for commands over HTTP. `cluster_token': in a pod created before the bearer existed.
-type bearer() :: {file, file:name_all()} | cluster_token.
-type t() :: #{
    name := partisan_peer:name(),
    % The node may write here.
    directory := file:filename(),
    % Where that directory is.
    storage := memory | disk,
    % Argument of partisan_config:set/1; holds the token until that call.
    partisan := #{channels := [map()], token => binary(), atom() => term()},
    listen_ip := inet:ip_address(),
    http_port := inet:port_number(),
    bearer := bearer(),
    run := binary(),
    workload := none | {module(), workload:options()},
    revision := binary(),
    % Of the cluster.
    namespace := binary(),
    % Whether modules of the running node may be replaced.
    development := boolean(),
    context := node_overlay:context()
}.

%% The part of another configuration that a running node can apply.
-type changes() :: #{
    revision := binary(),
    partisan := partisan_config:changes(),
    members := [partisan_peer:name()]
}.

%% A cluster-wide view of a configuration, for readers that are not its nodes.
-type outline() :: #{
    cluster := binary(),
    replicas := pos_integer(),
    % By name, in file order.
    seeds := [partisan_peer:name()],
    % As in the file: node_overlay:localised/2 has what each node makes of it.
    overlay := {partisan_overlay_registry:kind(), map()},
    % In milliseconds.
    heartbeat_interval := pos_integer(),
    % The channel of propagation.
    channel := atom(),
    run := binary(),
    workload := none | {module(), Parameters :: map()}
}.

-export_type([t/0, bearer/0, changes/0, outline/0, environment/0]).

-define(CONFIG_FILE, "/etc/partisan/config/node.config").
-define(TOKEN_FILE, "/etc/partisan/secret/token").
-define(BEARER_FILE, "/etc/partisan/bearer/bearer").
-define(RESTORE_FILE, "/etc/partisan/restore/backup").
-define(STATE_DIR, "/var/lib/partisan").

%% @doc The configuration of this node, with warnings about ignored keys.
-spec load(environment()) -> {ok, t(), Warnings :: [string()]} | {error, string()}.
load(Environment) ->
    try
        File = path(Environment, "PARTISAN_CONFIG", ?CONFIG_FILE),
        Settings = node_config_file:read(File),
        {ok, settings(Environment, Settings), node_config_file:warnings(Settings)}
    catch
        throw:{invalid, Text} -> {error, Text}
    end.

%% @doc The configuration without the token, for processes: their start arguments and states appear
%% in crash reports.
-spec without_token(t()) -> t().
without_token(#{partisan := Partisan} = Config) ->
    Config#{partisan := maps:remove(token, Partisan)}.

%% @doc The changes that make a node of this configuration follow another one, given as text. Other
%% differences (new or removed channels, the workload) take effect at the next start.
-spec changes(Text :: binary(), t()) -> {ok, changes()} | {error, string()}.
changes(Text, #{context := Context, partisan := #{channels := Channels}}) ->
    #{cluster := Cluster} = Context,
    checked(fun() ->
        Settings = node_config_file:parse(Text, "the configuration"),
        Cluster =:= get(cluster, Settings) orelse
            invalid("cluster: this node belongs to ~ts; it cannot be changed", [Cluster]),
        Replicas = get(replicas, Settings),
        #{
            revision => get(revision, Settings),
            partisan => #{
                overlay => overlay(get(overlay, Settings), Context),
                seeds => [peer(Seed) || Seed <- get(seeds, Settings)],
                replicas => Replicas,
                parallelism => parallelism(get(channels, Settings), Channels)
            },
            members => node_names:members(Cluster, Replicas)
        }
    end).

%% @doc The cluster that a configuration, given as text, describes.
-spec outline(Text :: binary()) -> {ok, outline()} | {error, string()}.
outline(Text) ->
    checked(fun() ->
        Settings = node_config_file:parse(Text, "the configuration"),
        Run = get(run, Settings),
        #{
            cluster => get(cluster, Settings),
            replicas => get(replicas, Settings),
            seeds => [Name || {Name, _, _} <- get(seeds, Settings)],
            overlay => get(overlay, Settings),
            heartbeat_interval => heartbeat_interval(Settings),
            channel => propagation_channel(get(channels, Settings)),
            run => Run,
            workload =>
                case workload(get(workload, Settings), #{run => Run}) of
                    none -> none;
                    {Module, #{parameters := Parameters}} -> {Module, Parameters}
                end
        }
    end).

%% @doc The secret that a command must present now.
-spec read_bearer(bearer()) -> {ok, binary()} | {error, string()}.
read_bearer(cluster_token) ->
    {ok, partisan_config:get(token)};
read_bearer({file, File}) ->
    checked(fun() -> secret(File) end).

%% Internals: putting it together.

checked(Fun) ->
    try
        {ok, Fun()}
    catch
        throw:{invalid, Text} -> {error, Text}
    end.

settings(Environment, Settings) ->
    Name = list_to_binary(required(Environment, "POD_NAME")),
    Address = address("POD_IP", required(Environment, "POD_IP")),
    ListenIp = listen_ip(Environment, Address),
    Token = secret(path(Environment, "PARTISAN_TOKEN_FILE", ?TOKEN_FILE)),
    Cluster = get(cluster, Settings),
    Port = get(listen_port, Settings),
    Context = #{name => Name, cluster => Cluster, port => Port, environment => Environment},
    Channels = get(channels, Settings),
    Incarnation = erlang:system_time(microsecond),
    Directory = path(Environment, "PARTISAN_STATE_DIR", ?STATE_DIR),
    Common = #{
        name => Name,
        incarnation => Incarnation,
        run => get(run, Settings),
        members => node_names:members(Cluster, get(replicas, Settings)),
        channel => propagation_channel(Channels),
        directory => Directory
    },
    Workload = workload(get(workload, Settings), Common),
    #{
        name => Name,
        directory => Directory,
        storage => storage(Environment("PARTISAN_STATE")),
        partisan => #{
            name => Name,
            cluster => Cluster,
            token => Token,
            host => Address,
            incarnation => Incarnation,
            listen_ip => ListenIp,
            listen_port => Port,
            overlay => overlay(get(overlay, Settings), Context),
            channels => Channels,
            seeds => [peer(Seed) || Seed <- get(seeds, Settings)],
            replicas => get(replicas, Settings),
            heartbeat_interval => heartbeat_interval(Settings),
            reachable => reachable(Settings),
            % Their commands come over HTTP, with the bearer.
            unreachable => [node_settings, node_dissolution, node_console, node_http_server],
            remote_execution => optional(remote_execution, [], Settings),
            % partisan_config checks the files.
            tls => optional(tls, none, Settings)
        },
        listen_ip => ListenIp,
        http_port => get(http_port, Settings),
        bearer => bearer(Environment),
        run => get(run, Settings),
        workload => restored(Environment, Cluster, Workload),
        namespace => optional(namespace, <<"default">>, Settings),
        revision => get(revision, Settings),
        development => optional(development, false, Settings),
        context => Context
    }.

heartbeat_interval(Settings) ->
    optional(heartbeat_interval, partisan_config:default(heartbeat_interval), Settings).

%% The workload's offer, unless the file has one.
reachable(#{reachable := _} = Settings) ->
    get(reachable, Settings);
reachable(Settings) ->
    case get(workload, Settings) of
        none -> partisan_config:default(reachable);
        {Kind, _} -> workload:reachable(node_config_file:workload_module(Kind))
    end.

%% The channel made for propagation, if there is one.
propagation_channel(Channels) ->
    case [gossip || #{name := gossip} <- Channels] of
        [gossip | _] -> gossip;
        [] -> default
    end.

overlay(Given, Context) ->
    case node_overlay:localised(Given, Context) of
        {ok, Overlay} -> Overlay;
        {error, Text} -> invalid(Text)
    end.

%% Of the node's channels.
parallelism(Wanted, Channels) ->
    Names = [Name || #{name := Name} <- Channels],
    maps:from_list([
        {Name, maps:get(parallelism, Channel, 1)}
     || #{name := Name} = Channel <- Wanted, lists:member(Name, Names)
    ]).

workload(none, _Common) ->
    none;
workload({Kind, Given}, #{run := Run} = Common) ->
    Run =/= <<>> orelse invalid("run: a workload needs a run id, a binary"),
    Module = node_config_file:workload_module(Kind),
    case workload:parameters(Module, Given) of
        {ok, Parameters} -> {Module, Common#{parameters => Parameters}};
        {error, Text} -> invalid("workload: ~ts", [Text])
    end.

%% Internals: the environment.

%% A pod created before the bearer existed mounts none.
bearer(Environment) ->
    case mounted(Environment, "PARTISAN_BEARER_FILE", ?BEARER_FILE) of
        {file, File} = Bearer ->
            _ = secret(File),
            Bearer;
        none ->
            cluster_token
    end.

%% Without `spec.restore' none is mounted.
restored(Environment, Cluster, Workload) ->
    case mounted(Environment, "PARTISAN_RESTORE_FILE", ?RESTORE_FILE) of
        {file, File} -> node_backup:restored(File, Cluster, Workload);
        none -> Workload
    end.

secret(File) ->
    case file:read_file(File) of
        {ok, Content} ->
            Pattern = "^\\s*([0-9a-fA-F]{64})\\s*$",
            case re:run(Content, Pattern, [{capture, all_but_first, binary}]) of
                {match, [Secret]} -> Secret;
                % The actual content is not shown: it may still be a secret.
                nomatch -> invalid("~ts must hold 64 hexadecimal digits", [File])
            end;
        {error, Reason} ->
            invalid("~ts cannot be read: ~ts", [File, file:format_error(Reason)])
    end.

storage("disk") -> disk;
storage(Value) when Value =:= false; Value =:= "" -> memory;
storage(Text) -> invalid("PARTISAN_STATE must be disk or not set, not ~ts", [Text]).

listen_ip(Environment, PodAddress) ->
    case {Environment("PARTISAN_LISTEN_IP"), PodAddress} of
        {false, {_, _, _, _}} -> {0, 0, 0, 0};
        {false, _} -> {0, 0, 0, 0, 0, 0, 0, 0};
        {Text, _} -> address("PARTISAN_LISTEN_IP", Text)
    end.

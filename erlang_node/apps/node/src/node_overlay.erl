%%% @doc Converts the overlay of the configuration file to that of this node.
%%%
%%% The file is the same for all nodes and names them. The runtime also needs addresses, and for
%%% HiScamp this node's location:
%%% <ul>
%%% <li>client-server, publish-subscribe: the addresses of the servers or brokers;</li>
%%% <li>static: the names of the edges' ends, which may be ordinals in the file, and the addresses
%%%     of this node's peers;</li>
%%% <li>HiScamp: the level, that is the pod's availability zone (`K8S_ZONE') or else its Kubernetes
%%%     node (`K8S_NODE_NAME').</li>
%%% </ul>
%%% The file may give these itself: `peers' as hints `{Name, Host, Port}', and `level'.
-module(node_overlay).

-export([localised/2]).
-export([is_valid/1]).

-type context() :: #{
    % This node.
    name := partisan_peer:name(),
    cluster := binary(),
    % The port of every node.
    port := inet:port_number(),
    environment := fun((string()) -> string() | false)
}.
-export_type([context/0]).

%% @doc Whether it has the form that `localised/2' accepts. The runtime checks kinds and parameters.
-spec is_valid(term()) -> boolean().
is_valid({static, #{edges := Edges} = Parameters}) ->
    is_list(Edges) andalso lists:all(fun is_edge/1, Edges) andalso has_peers(Parameters);
is_valid({client_server, #{servers := [_ | _] = Servers} = Parameters}) ->
    lists:all(fun is_name/1, Servers) andalso has_peers(Parameters);
is_valid({publish_subscribe, #{brokers := [_ | _] = Brokers} = Parameters}) ->
    lists:all(fun is_name/1, Brokers) andalso has_peers(Parameters);
is_valid({Kind, Parameters}) ->
    not lists:member(Kind, [static, client_server, publish_subscribe]) andalso is_map(Parameters);
is_valid(_) ->
    false.

%% @doc The overlay in the form of the runtime.
-spec localised({partisan_overlay_registry:kind(), map()}, context()) ->
    {ok, partisan_overlay_switch:spec()} | {error, string()}.
localised({static, #{edges := Edges} = Parameters}, Context) ->
    #{cluster := Cluster, name := Self} = Context,
    Named = [{name(From, Cluster), name(To, Cluster)} || {From, To} <- Edges],
    Ends = [[From, To] || {From, To} <- Named, From =:= Self orelse To =:= Self],
    Others = lists:usort(lists:append(Ends)) -- [Self],
    {ok, {static, with_peers(Others, Parameters#{edges := Named}, Context)}};
localised({client_server, #{servers := Servers} = Parameters}, Context) ->
    {ok, {client_server, with_peers(Servers, Parameters, Context)}};
localised({publish_subscribe, #{brokers := Brokers} = Parameters}, Context) ->
    {ok, {publish_subscribe, with_peers(Brokers, Parameters, Context)}};
localised({hiscamp, Parameters}, _Context) when is_map_key(level, Parameters) ->
    {ok, {hiscamp, Parameters}};
localised({hiscamp, Parameters}, #{environment := Environment}) ->
    Known = [Level || Name <- ["K8S_ZONE", "K8S_NODE_NAME"], Level <- [Environment(Name)],
        Level =/= false, Level =/= ""],
    case Known of
        [Level | _] -> {ok, {hiscamp, Parameters#{level => unicode:characters_to_binary(Level)}}};
        [] -> {error, "overlay: hiscamp needs K8S_ZONE or K8S_NODE_NAME in the environment"}
    end;
localised(Overlay, _Context) ->
    {ok, Overlay}.

%% Internals.

with_peers(_Names, #{peers := Hints} = Parameters, _Context) ->
    Parameters#{peers := [node_config_file:peer(Hint) || Hint <- Hints]};
with_peers(Names, Parameters, #{port := Port}) ->
    Parameters#{peers => [partisan_peer:new(Name, node_names:host(Name), Port) || Name <- Names]}.

name(Ordinal, Cluster) when is_integer(Ordinal) -> node_names:member(Cluster, Ordinal);
name(Name, _Cluster) -> Name.

has_peers(#{peers := Hints}) ->
    is_list(Hints) andalso lists:all(fun node_config_file:is_hint/1, Hints);
has_peers(#{}) ->
    true.

is_edge({From, To}) -> is_end(From) andalso is_end(To) andalso From =/= To;
is_edge(_) -> false.

is_end(End) -> (is_integer(End) andalso End >= 0) orelse is_name(End).

%% The dash separates the StatefulSet's name from the ordinal.
is_name(Value) -> is_binary(Value) andalso binary:match(Value, <<"-">>) =/= nomatch.

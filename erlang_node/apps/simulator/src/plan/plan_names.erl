%%% @doc Names: the pods of a cluster, by ordinal, and the nodes of {@link simulator}, which are
%%% numbered from 1, seeds first.
%%%
%%% Simulated messages name simulated nodes. To count the cluster's bytes, a message is measured as
%%% its pods would send it ({@link simulator_wire}).
-module(plan_names).

-export([new/1]).
-export([size/1]).
-export([name/2]).
-export([index/2]).
-export([ordinal/2]).
-export([incarnation/1]).
-export([spec/2]).
-export([wire/1]).

-type ordinal() :: non_neg_integer().

-record(names, {
    replicas :: pos_integer(),
    indices :: #{ordinal() => simulator:index()},
    ordinals :: #{simulator:index() => ordinal()},
    by_name :: #{partisan_peer:name() => ordinal()},
    wire :: simulator_wire:t(),
    names :: #{ordinal() => partisan_peer:name()},
    zones :: pos_integer()
}).

-opaque t() :: #names{}.
-export_type([t/0, ordinal/0]).

%% @doc The names of a cluster. `zones': the number of zones that its pods are spread over, in turn.
-spec new(#{
    cluster := binary(),
    replicas := pos_integer(),
    seeds := [partisan_peer:name()],
    zones := pos_integer(),
    _ => _
}) -> t().
new(#{cluster := Cluster, replicas := Replicas, seeds := Seeds, zones := Zones}) ->
    Members = node_names:members(Cluster, Replicas),
    Numbered = lists:zip(lists:seq(0, Replicas - 1), Members),
    {First, Others} = lists:partition(fun({_, Name}) -> lists:member(Name, Seeds) end, Numbered),
    Indexed = lists:zip(lists:seq(1, Replicas), First ++ Others),
    #names{
        replicas = Replicas,
        indices = maps:from_list([{Ordinal, Index} || {Index, {Ordinal, _}} <- Indexed]),
        ordinals = maps:from_list([{Index, Ordinal} || {Index, {Ordinal, _}} <- Indexed]),
        by_name = maps:from_list([{Name, Ordinal} || {Ordinal, Name} <- Numbered]),
        wire = simulator_wire:new(
            maps:from_list([{Index, Name} || {Index, {_, Name}} <- Indexed]), fun node_names:host/1
        ),
        names = maps:from_list(Numbered),
        zones = Zones
    }.

%% @doc The number of pods.
-spec size(t()) -> pos_integer().
size(#names{replicas = Replicas}) ->
    Replicas.

%% @doc The name of a pod.
-spec name(ordinal(), t()) -> partisan_peer:name().
name(Ordinal, #names{names = Names}) ->
    map_get(Ordinal, Names).

%% @doc The number of a pod's simulated node.
-spec index(ordinal(), t()) -> simulator:index().
index(Ordinal, #names{indices = Indices}) ->
    map_get(Ordinal, Indices).

%% @doc The pod of a simulated node.
-spec ordinal(simulator:index(), t()) -> ordinal().
ordinal(Index, #names{ordinals = Ordinals}) ->
    map_get(Index, Ordinals).

%% @doc The incarnation of a node that started at this moment, in milliseconds of virtual time.
-spec incarnation(non_neg_integer()) -> partisan_peer:incarnation().
incarnation(Started) ->
    simulator_wire:incarnation(1000 * Started).

%% @doc The overlay of `node.config' in the form of the simulator. Each node's own part comes from
%% {@link node_overlay}, in terms of simulated nodes.
-spec spec({partisan_overlay_registry:kind(), map()}, t()) ->
    {partisan_overlay_registry:kind(), map() | fun((simulator:index()) -> map())}.
spec({static, #{edges := Edges} = Parameters}, N) ->
    Simulated = [{simulated(From, N), simulated(To, N)} || {From, To} <- Edges],
    {static, fun(Index) ->
        Self = simulator_peer:name(Index),
        Ends = [[From, To] || {From, To} <- Simulated, From =:= Self orelse To =:= Self],
        Parameters#{edges := Simulated, peers => peers(lists:usort(lists:append(Ends)) -- [Self])}
    end};
spec({client_server, #{servers := Servers} = Parameters}, N) ->
    Simulated = [simulated(Server, N) || Server <- Servers],
    {client_server, Parameters#{servers := Simulated, peers => peers(Simulated)}};
spec({publish_subscribe, #{brokers := Brokers} = Parameters}, N) ->
    Simulated = [simulated(Broker, N) || Broker <- Brokers],
    {publish_subscribe, Parameters#{brokers := Simulated, peers => peers(Simulated)}};
spec({hiscamp, Parameters}, #names{zones = Zones} = N) ->
    {hiscamp, fun(Index) ->
        Zone = integer_to_binary(ordinal(Index, N) rem Zones),
        Parameters#{level => <<"zone-", Zone/binary>>}
    end};
spec(Overlay, _N) ->
    Overlay.

%% @doc The measure of messages.
-spec wire(t()) -> simulator_wire:t().
wire(#names{wire = Wire}) ->
    Wire.

%% Internals.

simulated(Ordinal, N) when is_integer(Ordinal) -> simulator_peer:name(index(Ordinal, N));
simulated(Name, #names{by_name = ByName} = N) -> simulated(map_get(Name, ByName), N).

peers(Names) ->
    [simulator_peer:new(simulator_peer:index(Name), 0) || Name <- Names].

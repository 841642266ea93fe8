%%% @doc Who is who: the pods of a cluster, by ordinal, and the nodes of {@link simulator}, which
%%% are numbered from 1 and of which the first ones are the seeds.
%%%
%%% What simulated nodes send names simulated nodes. Bytes are to be those of the cluster, so a
%%% message is counted as its pods would write it ({@link simulator_wire}).
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

%% @doc The names of a cluster. `zones': over how many zones its pods are spread, in turn.
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

%% @doc The number of the simulated node that stands for a pod.
-spec index(ordinal(), t()) -> simulator:index().
index(Ordinal, #names{indices = Indices}) ->
    map_get(Ordinal, Indices).

%% @doc The pod that a simulated node stands for.
-spec ordinal(simulator:index(), t()) -> ordinal().
ordinal(Index, #names{ordinals = Ordinals}) ->
    map_get(Index, Ordinals).

%% @doc The incarnation of a node that started at this moment, in milliseconds of virtual time.
-spec incarnation(non_neg_integer()) -> partisan_peer:incarnation().
incarnation(Started) ->
    simulator_wire:incarnation(1000 * Started).

%% @doc The overlay of `node.config' as the simulator takes it. What is each node's own is what
%% {@link node_overlay} makes of it, in terms of simulated nodes.
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
spec({hiscamp, Parameters}, #names{zones = Zones} = N) ->
    {hiscamp, fun(Index) ->
        Zone = integer_to_binary(ordinal(Index, N) rem Zones),
        Parameters#{level => <<"zone-", Zone/binary>>}
    end};
spec(Overlay, _N) ->
    Overlay.

%% @doc What messages are counted by.
-spec wire(t()) -> simulator_wire:t().
wire(#names{wire = Wire}) ->
    Wire.

%% Internals.

simulated(Ordinal, N) when is_integer(Ordinal) -> simulator_peer:name(index(Ordinal, N));
simulated(Name, #names{by_name = ByName} = N) -> simulated(map_get(Name, ByName), N).

peers(Names) ->
    [simulator_peer:new(simulator_peer:index(Name), 0) || Name <- Names].

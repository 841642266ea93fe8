%%% @doc Who is who: the pods of a cluster, by ordinal, and the nodes of {@link partisan_sim}, which
%%% are numbered from 1 and of which the first ones are the seeds.
%%%
%%% What simulated nodes send names simulated nodes. Bytes are to be those of the cluster, so a
%%% message is given the names, addresses and incarnations of pods (`real/2') before it is counted.
-module(plan_names).

-export([new/1]).
-export([size/1]).
-export([name/2]).
-export([index/2]).
-export([ordinal/2]).
-export([incarnation/1]).
-export([spec/2]).
-export([real/2]).

-type ordinal() :: non_neg_integer().

-record(names, {
    replicas :: pos_integer(),
    indices :: #{ordinal() => partisan_sim:index()},
    ordinals :: #{partisan_sim:index() => ordinal()},
    by_name :: #{partisan_peer:name() => ordinal()},
    % Pods' names by those of simulated nodes, and by ordinal.
    real :: #{partisan_peer:name() => partisan_peer:name()},
    names :: #{ordinal() => partisan_peer:name()},
    zones :: pos_integer()
}).

-opaque t() :: #names{}.
-export_type([t/0, ordinal/0]).

-define(PORT, 7946).
%% Incarnations are microseconds since 1970: any recent moment has as many digits as another.
-define(EPOCH_US, 1795224000000000).

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
        real = maps:from_list(
            [{partisan_sim_peer:name(Index), Name} || {Index, {_, Name}} <- Indexed]
        ),
        names = maps:from_list(Numbered),
        zones = Zones
    }.

-spec size(t()) -> pos_integer().
size(#names{replicas = Replicas}) ->
    Replicas.

%% @doc The name of a pod.
-spec name(ordinal(), t()) -> partisan_peer:name().
name(Ordinal, #names{names = Names}) ->
    map_get(Ordinal, Names).

%% @doc The number of the simulated node that stands for a pod.
-spec index(ordinal(), t()) -> partisan_sim:index().
index(Ordinal, #names{indices = Indices}) ->
    map_get(Ordinal, Indices).

%% @doc The pod that a simulated node stands for.
-spec ordinal(partisan_sim:index(), t()) -> ordinal().
ordinal(Index, #names{ordinals = Ordinals}) ->
    map_get(Index, Ordinals).

%% @doc The incarnation of a node that started at this moment, in milliseconds of virtual time.
-spec incarnation(non_neg_integer()) -> partisan_peer:incarnation().
incarnation(Started) ->
    ?EPOCH_US + 1000 * Started.

%% @doc The overlay of `node.config' as the simulator takes it. What is each node's own is what
%% {@link node_overlay} makes of it, in terms of simulated nodes.
-spec spec({partisan_kinds:kind(), map()}, t()) ->
    {partisan_kinds:kind(), map() | fun((partisan_sim:index()) -> map())}.
spec({static, #{edges := Edges} = Parameters}, N) ->
    Simulated = [{simulated(From, N), simulated(To, N)} || {From, To} <- Edges],
    {static, fun(Index) ->
        Self = partisan_sim_peer:name(Index),
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

%% @doc A message as pods would write it: names, addresses and incarnations as they have them.
-spec real(term(), t()) -> term().
real(#{name := _, host := _, port := _, incarnation := Life} = Peer, N) ->
    Index = partisan_sim_peer:index(Peer),
    Ordinal = ordinal(Index, N),
    case Life of
        0 -> partisan_peer:new(name(Ordinal, N), node_names:host(name(Ordinal, N)), ?PORT);
        _ -> partisan_peer:new(name(Ordinal, N), map_get(host, Peer), ?PORT, ?EPOCH_US + Index)
    end;
real(Map, N) when is_map(Map) ->
    maps:from_list([{real(Key, N), real(Value, N)} || {Key, Value} <- maps:to_list(Map)]);
real(Tuple, N) when is_tuple(Tuple) ->
    list_to_tuple([real(Element, N) || Element <- tuple_to_list(Tuple)]);
real([Head | Tail], N) ->
    [real(Head, N) | real(Tail, N)];
real(Binary, #names{real = Real}) when is_binary(Binary) ->
    maps:get(Binary, Real, Binary);
real(Other, _N) ->
    Other.

%% Internals.

simulated(Ordinal, N) when is_integer(Ordinal) -> partisan_sim_peer:name(index(Ordinal, N));
simulated(Name, #names{by_name = ByName} = N) -> simulated(map_get(Name, ByName), N).

peers(Names) ->
    [partisan_sim_peer:new(partisan_sim_peer:index(Name), 0) || Name <- Names].

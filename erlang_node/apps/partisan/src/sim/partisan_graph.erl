%%% @doc What can be said of an overlay as a graph: who reaches whom, over how many links.
%%%
%%% A graph is a map from each node to the nodes it has a link to. Links are taken as directed where
%%% a function's name does not say otherwise; links to nodes outside the map are ignored.
-module(partisan_graph).

-export([component_count/1]).
-export([components/1]).
-export([one_sided/1]).
-export([undirected/1]).
-export([distances/2]).
-export([gossip/4]).
-export([in_degrees/1]).
-export([clustering/1]).

-type graph(Node) :: #{Node => [Node]}.
-export_type([graph/1]).

%% @doc How many connected components the graph has when links count in both directions.
-spec component_count(graph(Node)) -> non_neg_integer() when Node :: term().
component_count(Graph) ->
    length(components(Graph)).

%% @doc The nodes of each of these components.
-spec components(graph(Node)) -> [[Node, ...]] when Node :: term().
components(Graph) ->
    Both = undirected(Graph),
    {Components, _} = maps:fold(
        fun
            (Node, _, {Found, Seen}) when is_map_key(Node, Seen) ->
                {Found, Seen};
            (Node, _, {Found, Seen}) ->
                Component = distances(Node, Both),
                {[maps:keys(Component) | Found], maps:merge(Seen, Component)}
        end,
        {[], #{}},
        Both
    ),
    Components.

%% @doc The links that have no counterpart in the other direction.
-spec one_sided(graph(Node)) -> [{From :: Node, To :: Node}] when Node :: term().
one_sided(Graph) ->
    [
        {From, To}
     || {From, Tos} <- maps:to_list(Graph),
        To <- Tos,
        not lists:member(From, maps:get(To, Graph, []))
    ].

%% @doc The graph with each link in both directions.
-spec undirected(graph(Node)) -> graph(Node) when Node :: term().
undirected(Graph) ->
    maps:fold(
        fun(From, Tos, Acc0) ->
            lists:foldl(
                fun
                    (To, Acc) when is_map_key(To, Acc) -> Acc#{To := [From | map_get(To, Acc)]};
                    (_Gone, Acc) -> Acc
                end,
                Acc0,
                Tos
            )
        end,
        Graph,
        Graph
    ).

%% @doc How many nodes a gossip from this one reaches, in how many hops, when each passes it on once
%% to so many of those it has links to, chosen at random; links to nodes outside the graph included.
%%
%% While an overlay does not change, this is what `partisan_gossip' comes to, at a fraction of the
%% cost of simulating the messages one by one.
-spec gossip(Node, pos_integer(), graph(Node), rand:state()) ->
    {Reached :: pos_integer(), Hops :: non_neg_integer(), rand:state()}
when
    Node :: term().
gossip(Node, Fanout, Graph, Rand) ->
    gossip([{Node, Node}], #{Node => true}, 0, Fanout, Graph, Rand).

gossip(Frontier, Seen0, Hops, Fanout, Graph, Rand0) ->
    {Next, Seen, Rand} = lists:foldl(
        fun({Node, From}, {N0, S0, R0}) ->
            {Targets, R} = partisan_random:sample(Fanout, map_get(Node, Graph) -- [From], R0),
            New = [T || T <- Targets, not is_map_key(T, S0), is_map_key(T, Graph)],
            {[{T, Node} || T <- New] ++ N0, maps:merge(S0, maps:from_keys(New, true)), R}
        end,
        {[], Seen0, Rand0},
        Frontier
    ),
    case Next of
        [] -> {map_size(Seen), Hops, Rand};
        _ -> gossip(Next, Seen, Hops + 1, Fanout, Graph, Rand)
    end.

%% @doc How many nodes have a link to each.
-spec in_degrees(graph(Node)) -> #{Node => non_neg_integer()} when Node :: term().
in_degrees(Graph) ->
    maps:fold(
        fun(_, Tos, Acc0) ->
            lists:foldl(
                fun
                    (To, Acc) when is_map_key(To, Acc) -> Acc#{To := map_get(To, Acc) + 1};
                    (_Gone, Acc) -> Acc
                end,
                Acc0,
                Tos
            )
        end,
        maps:map(fun(_, _) -> 0 end, Graph),
        Graph
    ).

%% @doc The mean over all nodes of the share of pairs of their neighbours that are neighbours
%% themselves, in whichever direction the links go.
-spec clustering(graph(Node)) -> float() when Node :: term().
clustering(Graph) ->
    Sets = maps:map(fun(_, To) -> maps:from_keys(To, true) end, undirected(Graph)),
    Sum = maps:fold(
        fun(Node, Set, Acc) -> Acc + local_clustering(maps:keys(Set) -- [Node], Sets) end, 0.0, Sets
    ),
    Sum / max(1, map_size(Sets)).

local_clustering(Neighbours, Sets) ->
    Known = [N || N <- Neighbours, is_map_key(N, Sets)],
    case length(Known) of
        Degree when Degree < 2 ->
            0.0;
        Degree ->
            Linked = [N || A <- Known, N <- Known, is_map_key(N, map_get(A, Sets))],
            length(Linked) / (Degree * (Degree - 1))
    end.

%% @doc How many links each node reachable from this one is away; breadth first.
-spec distances(Node, graph(Node)) -> #{Node => non_neg_integer()} when Node :: term().
distances(Node, Graph) ->
    distances([Node], 0, #{Node => 0}, Graph).

distances([], _Distance, Seen, _Graph) ->
    Seen;
distances(Frontier, Distance, Seen0, Graph) ->
    {Next, Seen} = lists:foldl(
        fun
            (Node, {N, S}) when is_map_key(Node, S); not is_map_key(Node, Graph) -> {N, S};
            (Node, {N, S}) -> {[Node | N], S#{Node => Distance + 1}}
        end,
        {[], Seen0},
        lists:append([maps:get(Node, Graph) || Node <- Frontier])
    ),
    distances(Next, Distance + 1, Seen, Graph).

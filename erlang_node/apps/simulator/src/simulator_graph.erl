%%% @doc Properties of an overlay as a graph: reachability and distances.
%%%
%%% A graph is a map from each node to the nodes it has a link to. Links are directed unless a
%%% function's name says otherwise; links to nodes outside the map are ignored.
-module(simulator_graph).

-export([component_count/1]).
-export([components/1]).
-export([one_sided/1]).
-export([undirected/1]).
-export([distances/2]).

-type graph(Node) :: #{Node => [Node]}.
-export_type([graph/1]).

%% @doc The number of connected components, with links in both directions.
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

%% @doc The distance in links of each node reachable from this one; breadth first.
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

%%% @doc The papers' figures of an overlay as a graph: degrees, clustering, the reach of a gossip.
%%%
%%% Graphs are those of {@link simulator_graph}.
-module(experiments_graph).

-export([gossip/4]).
-export([in_degrees/1]).
-export([clustering/1]).

%% @doc The number of nodes reached by a gossip from this one, and its hops, if each node forwards
%% it once to that many random ones of its links; links to nodes outside the graph included.
%%
%% On an unchanging overlay this equals `partisan_gossip', at a fraction of the cost of simulating
%% each message.
-spec gossip(Node, pos_integer(), simulator_graph:graph(Node), rand:state()) ->
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

%% @doc The number of links to each node.
-spec in_degrees(simulator_graph:graph(Node)) -> #{Node => non_neg_integer()} when Node :: term().
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

%% @doc The clustering coefficient: the mean over all nodes of the share of pairs of their
%% neighbours that are neighbours themselves, in either direction.
-spec clustering(simulator_graph:graph(Node)) -> float() when Node :: term().
clustering(Graph) ->
    Sets = maps:map(fun(_, To) -> maps:from_keys(To, true) end, simulator_graph:undirected(Graph)),
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

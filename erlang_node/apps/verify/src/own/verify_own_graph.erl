%%% @doc Graphs of nodes and the nodes they have links to.
-module(verify_own_graph).

-export([one_sided/1]).
-export([unreached/1]).

-type graph() :: #{partisan_peer:name() => [partisan_peer:name()]}.

-export_type([graph/0]).

%% @doc The links whose other end does not have them.
-spec one_sided(graph()) -> [{partisan_peer:name(), partisan_peer:name()}].
one_sided(Graph) ->
    [
        {A, B}
     || {A, To} <- lists:sort(maps:to_list(Graph)),
        B <- To,
        not lists:member(A, maps:get(B, Graph, []))
    ].

%% @doc The nodes to which no path leads from the first one.
-spec unreached(graph()) -> [partisan_peer:name()].
unreached(Graph) when map_size(Graph) =:= 0 ->
    [];
unreached(Graph) ->
    [First | _] = Names = lists:sort(maps:keys(Graph)),
    Names -- reached([First], [], Graph).

%% Internals.

reached([], Seen, _Graph) ->
    Seen;
reached([Name | Rest], Seen, Graph) ->
    case lists:member(Name, Seen) of
        true -> reached(Rest, Seen, Graph);
        false -> reached(maps:get(Name, Graph, []) ++ Rest, [Name | Seen], Graph)
    end.

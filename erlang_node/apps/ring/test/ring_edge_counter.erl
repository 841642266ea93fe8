%%% A service that counts the commands of each partition, and knows no other; while the environment
%%% says so it has no state.
-module(ring_edge_counter).
-behaviour(ring_vnode).

-export([init/1, handle_command/3, fold/3, merge/2]).

init(_Options) ->
    false = os:getenv("RING_EDGE_FAILS"),
    #{}.

handle_command(add, #{partition := P}, Counts) ->
    Count = maps:get(P, Counts, 0) + 1,
    {reply, Count, [{{P, count}, Count}], Counts#{P => Count}}.

fold(Fun, Acc, Counts) ->
    maps:fold(fun(P, Count, A) -> Fun({P, count}, Count, A) end, Acc, Counts).

merge(Items, Counts) ->
    maps:merge_with(fun(_, A, B) -> max(A, B) end, Counts, maps:from_list(
        [{P, Count} || {{P, count}, Count} <- Items]
    )).

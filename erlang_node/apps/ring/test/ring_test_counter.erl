-module(ring_test_counter).
-behaviour(ring_vnode).
-export([init/1, handle_command/3, fold/3, merge/2]).

init(_Options) -> #{}.

handle_command({add, Key}, #{partition := Partition}, Counts) ->
    Count = maps:get({Partition, Key}, Counts, 0) + 1,
    {reply, Count, [{{Partition, Key}, Count}], Counts#{{Partition, Key} => Count}}.

fold(Fun, Acc, Counts) -> maps:fold(Fun, Acc, Counts).

merge(Items, Counts) ->
    maps:merge_with(fun(_, A, B) -> max(A, B) end, Counts, maps:from_list(Items)).

%%% @doc The key-value store with a value for each key from the start, of which there is one copy in
%%% the virtual machine: what a warm store answers does not depend on how many writes came before.
-module(bench_ring_store).
-behaviour(ring_vnode).

-export([fill/3]).
-export([init/1]).
-export([handle_command/3]).
-export([fold/3]).
-export([merge/2]).

%% @doc Sets what `init/1' fills an index with: that value for each of the keys.
-spec fill([binary()], Partitions :: pos_integer(), binary()) -> ok.
fill(Keys, Partitions, Value) ->
    Set = ring_dvv:write({{0, {0, 0}}, 1}, {value, Value}, [], ring_dvv:new()),
    ByPartition = lists:foldl(
        fun(Key, Acc) ->
            Partition = ring_view:partition_of(Key, Partitions),
            Acc#{Partition => [{{Partition, Key}, Set} | maps:get(Partition, Acc, [])]}
        end,
        #{},
        Keys
    ),
    persistent_term:put(?MODULE, ByPartition).

%% @private
-spec init(ring_vnode:options()) -> ring_kvs_vnode:t().
init(#{partitions := Partitions} = Options) ->
    Filled = persistent_term:get(?MODULE),
    Items = lists:append([maps:get(P, Filled, []) || P <- Partitions]),
    ring_kvs_vnode:merge(Items, ring_kvs_vnode:init(Options)).

%% @private
-spec handle_command(ring_kvs_vnode:command(), ring_vnode:info(), ring_kvs_vnode:t()) ->
    {reply, ring_kvs_vnode:reply(), [ring_vnode:item()], ring_kvs_vnode:t()}.
handle_command(Command, Info, State) ->
    ring_kvs_vnode:handle_command(Command, Info, State).

%% @private
-spec fold(fun(), Acc, ring_kvs_vnode:t()) -> Acc.
fold(Fun, Acc, State) ->
    ring_kvs_vnode:fold(Fun, Acc, State).

%% @private
-spec merge([ring_vnode:item()], ring_kvs_vnode:t()) -> ring_kvs_vnode:t().
merge(Items, State) ->
    ring_kvs_vnode:merge(Items, State).

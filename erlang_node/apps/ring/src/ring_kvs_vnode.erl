%%% @doc The key-value store's part of an index: a replica ({@link ring_replica}) of each of its
%%% partitions.
-module(ring_kvs_vnode).
-behaviour(ring_vnode).

-export([init/1]).
-export([handle_command/3]).
-export([fold/3]).
-export([merge/2]).
-export([replica/2]).

-type key() :: ring_replica:key().

%% `write': of a client, with the context that it has read. `store': the result of a write, or of a
%% repair. `tombstones' and `drop': those unchanged for that long.
-type command() ::
    {write, key(), {value, ring_dvv:value()} | none, ring_dvv:context()}
    | {store, key(), ring_dvv:t()}
    | {read, key()}
    | {digest, key()}
    | rows
    | {sums, [ring_hashes:row()]}
    | {contents, [ring_hashes:bucket()]}
    | {store_all, [ring_replica:item()]}
    | {tombstones, Milliseconds :: non_neg_integer()}
    | {drop, [{key(), ring_dvv:context()}]}.

-type reply() ::
    {written, ring_dvv:dot(), ring_dvv:t()}
    | stored
    | {found, ring_dvv:t()}
    | {digest, non_neg_integer()}
    | {rows, ring_hashes:sums(ring_hashes:row())}
    | {sums, ring_hashes:sums(ring_hashes:bucket())}
    | {contents, [ring_replica:item()]}
    | {tombstones, [{key(), ring_dvv:context()}]}.

-export_type([command/0, reply/0]).

-opaque t() :: #{ring_view:partition() => ring_replica:t()}.

-export_type([t/0]).

%% @doc Empty replicas.
-spec init(ring_vnode:options()) -> t().
init(#{index := Index, incarnation := Incarnation, partitions := Partitions}) ->
    maps:from_list([{P, ring_replica:new({Index, Incarnation})} || P <- Partitions]).

%% @doc Executes a command.
-spec handle_command(command(), ring_vnode:info(), t()) ->
    {reply, reply(), [ring_vnode:item()], t()}.
handle_command(Command, #{partition := P, now := Now}, Replicas) ->
    #{P := Replica} = Replicas,
    case execute(Command, Now, Replica) of
        {Reply, Changed, Next} ->
            Items = [{{P, Key}, Set} || {Key, Set} <- Changed],
            {reply, Reply, Items, Replicas#{P := Next}};
        Reply ->
            {reply, Reply, [], Replicas}
    end.

%% @doc Folds over all keys.
-spec fold(fun(({ring_view:partition(), key()}, ring_dvv:t(), Acc) -> Acc), Acc, t()) -> Acc.
fold(Fun, First, Replicas) ->
    lists:foldl(
        fun({P, Replica}, Acc) ->
            lists:foldl(
                fun({Key, Set}, Acc1) -> Fun({P, Key}, Set, Acc1) end,
                Acc,
                ring_replica:items(Replica)
            )
        end,
        First,
        lists:sort(maps:to_list(Replicas))
    ).

%% @doc Joins keys. Tombstones among them begin to age anew.
-spec merge([ring_vnode:item()], t()) -> t().
merge(Items, Replicas) ->
    lists:foldl(
        fun({{P, Key}, Set}, Acc) ->
            #{P := Replica} = Acc,
            case ring_replica:store(Key, Set, unknown, Replica) of
                known -> Acc;
                {grown, _, Next} -> Acc#{P := Next}
            end
        end,
        Replicas,
        Items
    ).

%% @doc The replica of a partition.
-spec replica(ring_view:partition(), t()) -> ring_replica:t().
replica(Partition, Replicas) ->
    maps:get(Partition, Replicas).

%% Internals.

execute({write, Key, Value, Context}, Now, Replica) ->
    {Dot, Set, Next} = ring_replica:write(Key, Value, Context, Now, Replica),
    {{written, Dot, Set}, [{Key, Set}], Next};
execute({store, Key, Set}, Now, Replica) ->
    store_all([{Key, Set}], Now, Replica);
execute({store_all, Items}, Now, Replica) ->
    store_all(Items, Now, Replica);
execute({read, Key}, _Now, Replica) ->
    {found, ring_replica:get(Key, Replica)};
execute({digest, Key}, _Now, Replica) ->
    {digest, ring_dvv:digest(Key, ring_replica:get(Key, Replica))};
execute(rows, _Now, Replica) ->
    {rows, ring_replica:rows(Replica)};
execute({sums, Rows}, _Now, Replica) ->
    {sums, ring_replica:sums(Rows, Replica)};
execute({contents, Buckets}, _Now, Replica) ->
    {contents, ring_replica:contents(Buckets, Replica)};
execute({tombstones, Age}, Now, Replica) ->
    {Old, Next} = ring_replica:tombstones(Now, Age, Replica),
    {{tombstones, Old}, [], Next};
execute({drop, Tombstones}, _Now, Replica) ->
    Left = lists:foldl(
        fun({Key, Context}, Acc) -> ring_replica:drop(Key, Context, Acc) end, Replica, Tombstones
    ),
    {stored, [], Left}.

store_all(Items, Now, Replica) ->
    {Changed, Next} = lists:foldl(
        fun({Key, Set}, {Acc, Before}) ->
            case ring_replica:store(Key, Set, Now, Before) of
                known -> {Acc, Before};
                {grown, Joined, After} -> {[{Key, Joined} | Acc], After}
            end
        end,
        {[], Replica},
        Items
    ),
    {stored, Changed, Next}.

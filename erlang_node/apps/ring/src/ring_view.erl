%%% @doc The ring as requests and replicas see it: owners and holders, computed once for each state.
-module(ring_view).

-export([new/1]).
-export([update/2]).
-export([near/2]).
-export([part/2]).
-export([epoch/1]).
-export([members/1]).
-export([replication/1]).
-export([partitions/1]).
-export([partition/2]).
-export([partition_of/2]).
-export([indexes/2]).
-export([groups/2]).
-export([siblings/2]).
-export([neighbours/2]).
-export([preference/2]).
-export([stand_ins/2]).
-export([actor/2]).
-export([owner/2]).
-export([owned/2]).
-export([holder/2]).
-export([address/2]).
-export([transfers/1]).

-record(view, {
    epoch :: ring_state:epoch(),
    plan :: ring_state:plan(),
    % The plan as the state has it.
    version :: term(),
    owners :: #{ring_state:index() => ring_state:member()},
    owned :: #{ring_state:member() => [ring_state:index()]},
    holders :: #{ring_state:index() => ring_state:holder()},
    % Of the partition of a part.
    stand_ins = none :: none | [ring_state:member()]
}).

-opaque t() :: #view{}.
-type partition() :: non_neg_integer().
-type index() :: ring_state:index().

-export_type([t/0, partition/0]).

%% So many that of two sides of a cut each has some, also in a large cluster.
-define(STAND_INS, 32).

%% @doc The view of a state, `none' before the first plan.
-spec new(ring_state:t()) -> t() | none.
new(State) ->
    update(State, none).

%% @doc The view of a state; the one before spares the computation of an unchanged ring.
-spec update(ring_state:t(), t() | none) -> t() | none.
update(State, Before) ->
    case {ring_state:version(State), Before} of
        {{0, _}, _} ->
            none;
        {{Epoch, Version}, #view{version = Version}} ->
            Before#view{epoch = Epoch, holders = ring_state:holders(State)};
        {{Epoch, Version}, _} ->
            {ok, Plan} = ring_state:current(State),
            computed(Epoch, Version, Plan, ring_state:holders(State))
    end.

computed(Epoch, Version, Plan, Holders) ->
    #{partitions := Partitions, replication := Replication, members := Members} = Plan,
    Names = list_to_tuple(Members),
    Ordinals = ring_claim:owners(Partitions, Replication, tuple_size(Names)),
    Owners = maps:from_list([
        {I, element(element(I + 1, Ordinals) + 1, Names)}
     || I <- lists:seq(0, Partitions - 1)
    ]),
    Owned = maps:groups_from_list(fun(I) -> map_get(I, Owners) end, lists:sort(maps:keys(Owners))),
    #view{
        epoch = Epoch,
        version = Version,
        plan = Plan,
        owners = Owners,
        owned = Owned,
        holders = Holders
    }.

%% @doc The part of a view that knows these indexes alone: small enough to be sent to a process.
-spec near([index()], t()) -> t().
near(Indexes, #view{plan = Plan, owners = Owners, holders = Holders} = View) ->
    View#view{
        version = none,
        plan = Plan#{members := []},
        owned = #{},
        owners = maps:with(Indexes, Owners),
        holders = maps:with(Indexes, Holders)
    }.

%% @doc The part of a view that a request for a partition needs.
-spec part(partition(), t()) -> t().
part(Partition, View) ->
    (near(indexes(Partition, View), View))#view{stand_ins = stand_ins(Partition, View)}.

%% @doc The epoch of the plan.
-spec epoch(t()) -> ring_state:epoch().
epoch(#view{epoch = Epoch}) ->
    Epoch.

%% @doc The members of the plan, in the order in which they joined.
-spec members(t()) -> [ring_state:member()].
members(#view{plan = #{members := Members}}) ->
    Members.

%% @doc The number of replicas of a partition.
-spec replication(t()) -> pos_integer().
replication(#view{plan = #{replication := Replication}}) ->
    Replication.

%% @doc The number of partitions.
-spec partitions(t()) -> pos_integer().
partitions(#view{plan = #{partitions := Partitions}}) ->
    Partitions.

%% @doc The partition of a key.
-spec partition(Key :: binary(), t()) -> partition().
partition(Key, View) ->
    partition_of(Key, partitions(View)).

%% @doc The partition of a key, of that many.
-spec partition_of(Key :: binary(), Partitions :: pos_integer()) -> partition().
partition_of(Key, Partitions) ->
    <<Hash:64, _/binary>> = erlang:md5(Key),
    Hash rem Partitions.

%% @doc The indexes that hold a partition: its own, and those that follow.
-spec indexes(partition(), t()) -> [index()].
indexes(Partition, #view{plan = #{partitions := Partitions, replication := Replication}}) ->
    [(Partition + I) rem Partitions || I <- lists:seq(0, Replication - 1)].

%% @doc The partitions that an index holds.
-spec groups(index(), t()) -> [partition()].
groups(Index, #view{plan = #{partitions := Partitions, replication := Replication}}) ->
    [(Index - I + Partitions) rem Partitions || I <- lists:seq(0, Replication - 1)].

%% @doc The other indexes that hold a partition with this one.
-spec siblings(index(), t()) -> [{partition(), [index()]}].
siblings(Index, View) ->
    [{P, lists:delete(Index, indexes(P, View))} || P <- groups(Index, View)].

%% @doc The indexes that hold a partition with this one, itself included.
-spec neighbours(index(), t()) -> [index()].
neighbours(Index, View) ->
    lists:usort(lists:append([indexes(P, View) || P <- groups(Index, View)])).

%% @doc The indexes of a partition, with the nodes to ask.
-spec preference(partition(), t()) -> [{index(), ring_state:member()}].
preference(Partition, View) ->
    [{Index, address(Index, View)} || Index <- indexes(Partition, View)].

%% @doc The nodes that keep hints for a partition, in order: the next owners on the ring that own
%% none of its indexes, 32 at most. They follow from the plan alone.
-spec stand_ins(partition(), t()) -> [ring_state:member()].
stand_ins(Partition, #view{stand_ins = none, plan = Plan} = View) ->
    #{partitions := Count, replication := N} = Plan,
    Owners = [owner(Index, View) || Index <- indexes(Partition, View)],
    stand_ins((Partition + N) rem Count, Count - N, ?STAND_INS, Owners, View);
stand_ins(_Partition, #view{stand_ins = Nodes}) ->
    Nodes.

stand_ins(Index, Left, Wanted, Used, #view{plan = #{partitions := Count}} = View) when
    Left > 0, Wanted > 0
->
    Node = owner(Index, View),
    Next = (Index + 1) rem Count,
    case lists:member(Node, Used) of
        true -> stand_ins(Next, Left - 1, Wanted, Used, View);
        false -> [Node | stand_ins(Next, Left - 1, Wanted - 1, [Node | Used], View)]
    end;
stand_ins(_Index, _Left, _Wanted, _Used, _View) ->
    [].

%% @doc The index as which a member gives out dots for others: beyond those of the ring, by its
%% place in the plan; `none' if it is no member.
-spec actor(ring_state:member(), t()) -> index() | none.
actor(Node, #view{plan = #{members := Members, partitions := Partitions}}) ->
    case lists:splitwith(fun(Member) -> Member =/= Node end, Members) of
        {Before, [Node | _]} -> Partitions + length(Before);
        {_, []} -> none
    end.

%% @doc The node that the plan gives an index to.
-spec owner(index(), t()) -> ring_state:member().
owner(Index, #view{owners = Owners}) ->
    map_get(Index, Owners).

%% @doc The indexes that the plan gives to a node.
-spec owned(ring_state:member(), t()) -> [index()].
owned(Node, #view{owned = Owned}) ->
    maps:get(Node, Owned, []).

%% @doc The last known holder of an index.
-spec holder(index(), t()) -> {ok, ring_state:holder()} | none.
holder(Index, #view{holders = Holders}) ->
    case Holders of
        #{Index := Holder} -> {ok, Holder};
        #{} -> none
    end.

%% @doc The node to ask for an index: its holder, or its owner before it has one.
-spec address(index(), t()) -> ring_state:member().
address(Index, View) ->
    case holder(Index, View) of
        {ok, {_, Node}} -> Node;
        none -> owner(Index, View)
    end.

%% @doc The indexes that are not held by their owners; none: the ring has settled.
-spec transfers(t()) -> [{index(), From :: ring_state:member() | none, ring_state:member()}].
transfers(#view{owners = Owners} = View) ->
    lists:append([transfer(I, View) || I <- lists:sort(maps:keys(Owners))]).

transfer(Index, View) ->
    Owner = owner(Index, View),
    case holder(Index, View) of
        {ok, {_, Owner}} -> [];
        {ok, {_, Node}} -> [{Index, Node, Owner}];
        none -> [{Index, none, Owner}]
    end.

%%% @doc How the ring's state spreads: two nodes find what either lacks without sending all of it.
%%%
%%% ```
%%% A -> B   {digest, Hash}            now and then, to a node chosen at random
%%% B -> A   {blocks, Plan, Sums}      if its own differs: a hash of the plan, a sum for each block
%%% A -> B   {state, Part, Numbers}    the blocks that differ
%%% B -> A   {state, Newer, none}      what A lacks of them, if anything
%%% '''
%%%
%%% A block has the holders of every 64th index. Sums are updated with each change: a ring has
%%% thousands of holders, and few change at a time.
-module(ring_gossip).

-export([new/0]).
-export([state/1]).
-export([learn/2]).
-export([announcement/1]).
-export([digest/1]).
-export([handle/2]).

-type block() :: non_neg_integer().

-record(gossip, {
    state = ring_state:new() :: ring_state:t(),
    plan = 0 :: non_neg_integer(),
    sums = #{} :: #{block() => non_neg_integer()}
}).

-opaque t() :: #gossip{}.

%% The numbers of a state: those of its blocks, of which an answer is wanted.
-type message() ::
    {digest, non_neg_integer()}
    | {blocks, Plan :: non_neg_integer(), #{block() => non_neg_integer()}}
    | {state, ring_state:t(), [plan | block()] | none}.

-export_type([t/0, message/0]).

-define(BLOCKS, 64).
-define(RANGE, (1 bsl 32)).

%% @doc No state.
-spec new() -> t().
new() ->
    #gossip{}.

%% @doc The ring's state.
-spec state(t()) -> ring_state:t().
state(#gossip{state = State}) ->
    State.

%% @doc Learns a state or a part of one, and returns the newer part of it.
-spec learn(ring_state:t(), t()) -> known | {grown, Newer :: ring_state:t(), t()}.
learn(Delta, #gossip{state = State, plan = Plan, sums = Sums}) ->
    Newer = ring_state:difference(Delta, State),
    case ring_state:size(Newer) of
        0 ->
            known;
        _ ->
            Next = #gossip{
                state = ring_state:merge(Newer, State),
                plan = hash_of_plan(Newer, Plan),
                sums = maps:fold(
                    fun(Index, Holder, Acc) -> replaced(Index, Holder, State, Acc) end,
                    Sums,
                    ring_state:holders(Newer)
                )
            },
            {grown, Newer, Next}
    end.

%% @doc The message to all others when something has happened at a node.
-spec announcement(ring_state:t()) -> message().
announcement(Delta) ->
    {state, Delta, none}.

%% @doc The message to another node, now and then, that begins a comparison.
-spec digest(t()) -> message().
digest(#gossip{plan = Plan, sums = Sums}) ->
    {digest, hash({Plan, lists:sort(maps:to_list(Sums))})}.

%% @doc Takes a message: the part of it that is new here, and the answer.
-spec handle(message(), t()) -> {Newer :: ring_state:t() | none, message() | none, t()}.
handle({digest, _} = Digest, #gossip{plan = Plan, sums = Sums} = Gossip) ->
    case digest(Gossip) of
        Digest -> {none, none, Gossip};
        _ -> {none, {blocks, Plan, Sums}, Gossip}
    end;
handle({blocks, Plan, Sums}, Gossip) ->
    case differing(Plan, Sums, Gossip) of
        [] -> {none, none, Gossip};
        Numbers -> {none, {state, part(Numbers, Gossip), Numbers}, Gossip}
    end;
handle({state, Delta, Numbers}, Gossip) ->
    {Newer, Next} =
        case learn(Delta, Gossip) of
            known -> {none, Gossip};
            {grown, New, Grown} -> {New, Grown}
        end,
    {Newer, lacking(Delta, Numbers, Next), Next}.

%% Internals.

hash_of_plan(Newer, Plan) ->
    case ring_state:version(Newer) of
        {0, _} -> Plan;
        Version -> hash(Version)
    end.

replaced(Index, Holder, State, Sums) ->
    Before =
        case ring_state:holder(Index, State) of
            {ok, Previous} -> hash({Index, Previous});
            none -> 0
        end,
    Block = Index rem ?BLOCKS,
    Sum = maps:get(Block, Sums, 0) - Before + hash({Index, Holder}),
    Sums#{Block => (Sum + ?RANGE) rem ?RANGE}.

hash(Term) ->
    erlang:phash2(Term, ?RANGE).

differing(Plan, Sums, #gossip{plan = OwnPlan, sums = Own}) ->
    [plan || Plan =/= OwnPlan] ++
        [B || B <- lists:seq(0, ?BLOCKS - 1), maps:get(B, Sums, 0) =/= maps:get(B, Own, 0)].

part(Numbers, #gossip{state = State}) ->
    Wanted = maps:from_keys(Numbers, true),
    IsWanted = fun(Index) -> is_map_key(Index rem ?BLOCKS, Wanted) end,
    ring_state:part(is_map_key(plan, Wanted), IsWanted, State).

lacking(_Delta, none, _Gossip) ->
    none;
lacking(Delta, Numbers, Gossip) ->
    Newer = ring_state:difference(part(Numbers, Gossip), Delta),
    case ring_state:size(Newer) of
        0 -> none;
        _ -> {state, Newer, none}
    end.

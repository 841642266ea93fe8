-module(ring_gossip_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

%% Whatever two nodes know, one comparison ends with both knowing all of it, and with equal digests.
comparison_test_() ->
    {timeout, 600,
        ?_assert(proper:quickcheck(prop_comparison(), [{to_file, user}, {numtests, 200}]))}.

prop_comparison() ->
    ?FORALL(
        {A, B},
        {list(change()), list(change())},
        begin
            {Left, Right, _} = compared(known(A), known(B)),
            All = lists:foldl(fun ring_state:merge/2, ring_state:new(), A ++ B),
            {All, All} =:= {ring_gossip:state(Left), ring_gossip:state(Right)} andalso
                ring_gossip:digest(Left) =:= ring_gossip:digest(Right)
        end
    ).

change() ->
    oneof([
        ?LET(
            {Epoch, Count},
            {integer(1, 3), integer(3, 5)},
            ring_state:plan(Epoch, #{
                partitions => 192,
                replication => 3,
                members => [name(I) || I <- lists:seq(1, Count)]
            })
        ),
        ?LET(
            {Index, Epoch, Start, Node},
            {integer(0, 191), integer(1, 3), integer(1, 3), integer(1, 5)},
            ring_state:held(Index, {Epoch, Start}, name(Node))
        )
    ]).

%% One that knows nothing gets everything; of two that differ in one index, its block is sent.
only_blocks_that_differ_are_sent_test() ->
    Held = [ring_state:held(I, {1, I + 1}, name(1)) || I <- lists:seq(0, 191)],
    Full = known(Held),
    {Learnt, _, _} = compared(ring_gossip:new(), Full),
    ?assertEqual(ring_gossip:state(Full), ring_gossip:state(Learnt)),
    Moved = ring_state:held(70, {2, 500}, name(2)),
    {_, _, Messages} = compared(Full, known([Moved | Held])),
    ?assertEqual(
        [[6, 70, 134], [70]],
        [
            lists:sort(maps:keys(ring_state:holders(State)))
         || {state, State, _} <- Messages
        ]
    ),
    ?assertMatch({_, _, [{digest, _}]}, compared(Full, Learnt)).

%% What both know after the first has compared its state with the second one's, and the messages.
compared(Left, Right) ->
    exchanged(ring_gossip:digest(Left), Right, Left, []).

exchanged(none, To, From, Messages) when length(Messages) rem 2 =:= 0 ->
    {From, To, lists:reverse(Messages)};
exchanged(none, To, From, Messages) ->
    {To, From, lists:reverse(Messages)};
exchanged(Message, To, From, Messages) ->
    {_, Answer, Next} = ring_gossip:handle(Message, To),
    exchanged(Answer, From, Next, [Message | Messages]).

known(Changes) ->
    lists:foldl(
        fun(Change, Gossip) ->
            case ring_gossip:learn(Change, Gossip) of
                known -> Gossip;
                {grown, _, Next} -> Next
            end
        end,
        ring_gossip:new(),
        Changes
    ).

name(I) ->
    <<"kv-", (integer_to_binary(I))/binary>>.

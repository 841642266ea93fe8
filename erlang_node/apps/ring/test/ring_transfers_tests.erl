-module(ring_transfers_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(PARTITIONS, 24).

%% From any plan to any other, transfers keep within the bounds of both ends, and all of them end,
%% in whatever order those that run end.
all_transfers_end_test_() ->
    {timeout, 600, ?_assert(proper:quickcheck(prop_all_end(), [{to_file, user}, {numtests, 150}]))}.

prop_all_end() ->
    ?FORALL(
        {Before, After, Most, Seed},
        {integer(3, 8), integer(3, 8), integer(1, 4), integer()},
        run(planned(2, After, held(plan(1, Before))), [], Most, rand:seed_s(exsss, Seed))
    ).

run(State, Before, Most, Random) ->
    View = ring_view:new(State),
    Moving = Before ++ [{I, Node} || Node <- members(8), I <- due(Node, Before, Most, View)],
    Transfers = [T || {I, _, To} = T <- ring_view:transfers(View), lists:member({I, To}, Moving)],
    Ends = [{from, From} || {_, From, _} <- Transfers] ++ [{to, To} || {_, _, To} <- Transfers],
    IsBounded = lists:all(fun(End) -> length([E || E <- Ends, E =:= End]) =< Most end, Ends),
    case {IsBounded, Moving} of
        {false, _} ->
            false;
        {true, []} ->
            ring_view:transfers(View) =:= [];
        {true, _} ->
            {N, Next} = rand:uniform_s(length(Moving), Random),
            {I, Node} = Ended = lists:nth(N, Moving),
            Held = ring_state:merge(State, ring_state:held(I, {2, 1}, Node)),
            run(Held, lists:delete(Ended, Moving), Most, Next)
    end.

due(Node, Moving, Most, View) ->
    Mine = [I || {I, To} <- Moving, To =:= Node],
    New = [I || {I, _, To} <- ring_view:transfers(View), To =:= Node],
    ring_transfers:due(Node, New -- Mine, Mine, [], Most, View).

%% What has no living holder does not wait, and what stands still or cannot begin holds up nothing.
exceptions_test() ->
    State = planned(2, 4, held(plan(1, 3))),
    View = ring_view:new(State),
    Node = <<"kv-3">>,
    [{First, From, _} | _] = ring_view:transfers(View),
    New = ring_view:owned(Node, View),
    ?assertEqual(6, length(New)),
    ?assertEqual([First], ring_transfers:due(Node, New, [], [], 1, View)),
    ?assertEqual(New, ring_transfers:due(Node, New, [], [], infinity, View)),
    Rest = New -- [First],
    ?assertEqual([], ring_transfers:due(Node, Rest, [First], [], 1, View)),
    ?assertMatch([_], ring_transfers:due(Node, Rest, [], [], 1, View)),
    Lost = [I || {I, Of, _} <- ring_view:transfers(View), Of =:= From],
    Due = ring_transfers:due(Node, New, [], [From], 1, View),
    ?assertEqual([], Lost -- Due),
    ?assertEqual(1, length(Due -- Lost)),
    Fresh = ring_view:new(plan(1, 4)),
    Owned = ring_view:owned(Node, Fresh),
    ?assertEqual(Owned, ring_transfers:due(Node, Owned, [], [], 1, Fresh)).

members(Count) ->
    [<<"kv-", (integer_to_binary(I))/binary>> || I <- lists:seq(0, Count - 1)].

plan(Epoch, Count) ->
    ring_state:plan(Epoch, #{
        partitions => ?PARTITIONS, replication => 3, members => members(Count)
    }).

planned(Epoch, Count, State) ->
    ring_state:merge(State, plan(Epoch, Count)).

%% Every index is held by its owner.
held(State) ->
    View = ring_view:new(State),
    lists:foldl(
        fun(I, Acc) ->
            ring_state:merge(Acc, ring_state:held(I, {1, 1}, ring_view:owner(I, View)))
        end,
        State,
        lists:seq(0, ?PARTITIONS - 1)
    ).

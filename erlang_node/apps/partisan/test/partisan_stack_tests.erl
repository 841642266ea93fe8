%%% @doc The stack as a value: effects of changes of the cluster's size and seeds.
-module(partisan_stack_tests).

-include_lib("eunit/include/eunit.hrl").

%% A single node counts as joined, one of several does not, whatever it was before.
size_test() ->
    {Alone, []} = reconfigured(#{replicas => 1}, stack(1, 3)),
    ?assert(partisan_stack:joined(Alone)),
    {OneOfThree, _} = reconfigured(#{replicas => 3, seeds => seeds([1, 2])}, Alone),
    ?assertNot(partisan_stack:joined(OneOfThree)).

%% A node that had no seed begins to look.
first_seeds_test() ->
    {Stack, Effects} = reconfigured(#{replicas => 2, seeds => seeds([1, 2])}, stack(1, 1)),
    ?assertMatch([2], sought(Effects)),
    % The same seeds again are no news.
    ?assertMatch({_, []}, reconfigured(#{replicas => 2, seeds => seeds([1, 2])}, Stack)).

%% A seed meets every other one, as at a start: each may have formed a group.
first_other_seeds_test() ->
    {Seed, Effects} = reconfigured(#{seeds => seeds([1, 2, 3])}, stack(1, 1)),
    [First] = sought(Effects),
    {Accepted, _} = partisan_stack:handle({peer_up, peer(First)}, Seed),
    Welcome = {overlay, {erlang:phash2({hyparview, #{}}), {welcome, []}}},
    {Joined, _} = partisan_stack:handle({message, peer(First), Welcome}, Accepted),
    ?assertMatch([#{name := _}], partisan_stack:neighbours(Joined)),
    {_, Later} = partisan_stack:handle({timer, {stack, seek}}, Joined),
    ?assertEqual([2, 3] -- [First], sought(Later)).

%% A node looking for the wrong seeds continues with the right ones, with a single timer.
other_seeds_test() ->
    {Stack, Effects} = reconfigured(#{seeds => seeds([4, 5])}, stack(2, 3)),
    ?assertEqual([], sought(Effects)),
    {_, Later} = partisan_stack:handle({timer, {stack, seek}}, Stack),
    ?assertMatch([Seed] when Seed =:= 4; Seed =:= 5, sought(Later)).

%% The next overlay gets the present seeds.
seeds_of_the_next_overlay_test() ->
    Servers = {client_server, #{servers => [<<"n7">>]}},
    Changes = #{overlay => Servers, seeds => seeds([7, 8])},
    {_, Effects} = reconfigured(Changes, stack(2, 3)),
    ?assert(lists:member(<<"n7">>, [Name || {connect, #{name := Name}} <- Effects])).

an_overlay_that_cannot_be_built_test() ->
    ?assertEqual(ok, partisan_stack:check(#{replicas => 2}, stack(1, 3))),
    ?assertEqual(ok, partisan_stack:check(#{overlay => {cyclon, #{}}}, stack(1, 3))),
    {error, Text} = partisan_stack:check(#{overlay => {static, #{edges => 3}}}, stack(1, 3)),
    ?assertEqual("overlay: static cannot be built", lists:sublist(Text, 31)).

%% So that the requests of all nodes together are few enough for one seed to answer.
a_node_of_a_large_cluster_asks_less_often_test() ->
    Longest = fun(Replicas) ->
        {Delays, _} = lists:mapfoldl(
            fun(_, Stack0) ->
                {Stack, Effects} = partisan_stack:handle({timer, {stack, seek}}, Stack0),
                {hd([Delay || {start_timer, {stack, seek}, Delay} <- Effects]), Stack}
            end,
            stack(2, Replicas),
            lists:seq(1, 60)
        ),
        lists:max(Delays)
    end,
    ?assert(Longest(3) =< 5000),
    ?assert(Longest(1024) > 20000).

stack(Self, Replicas) ->
    {Stack, _} = partisan_stack:init(#{
        self => peer(Self),
        seed => {1, 2, 3},
        overlay => {hyparview, #{}},
        seeds => seeds([1]),
        replicas => Replicas
    }),
    Stack.

reconfigured(Changes, Stack) ->
    partisan_stack:handle({reconfigure, Changes}, Stack).

%% The seeds asked to join the node.
sought(Effects) ->
    [binary_to_integer(N) || {send, #{name := <<"n", N/binary>>}, _} <- Effects].

seeds(Indices) -> [peer(Index) || Index <- Indices].

peer(Index) ->
    Name = <<"n", (integer_to_binary(Index))/binary>>,
    partisan_peer:new(Name, {127, 0, 0, Index}, 7946, Index).

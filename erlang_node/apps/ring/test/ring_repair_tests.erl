%%% A round of anti-entropy between replicas. Under faults: ring_campaign_tests.
-module(ring_repair_tests).

-include_lib("eunit/include/eunit.hrl").

-define(GRACE, 100).

%% However much differs, no answer has more than a few buckets, and one round makes all equal.
much_that_differs_test() ->
    Keys = [integer_to_binary(I) || I <- lists:seq(1, 3000)],
    Halves = [
        replica(Index, [K || {I, K} <- lists:zip(lists:seq(1, 3000), Keys), I rem 3 =/= Index])
     || Index <- [0, 1, 2]
    ],
    {Equal, Asked} = round_of(maps:from_list(lists:zip([0, 1, 2], Halves))),
    ?assert(length(Asked) > 1),
    ?assertEqual([], [Buckets || Buckets <- Asked, length(Buckets) > 32]),
    Once = lists:append(Asked),
    ?assertEqual(Once, lists:usort(Once)),
    Contents = [ring_kvs_vnode:fold(fun(K, S, Acc) -> [{K, S} | Acc] end, [], R)
        || R <- maps:values(Equal)],
    ?assertMatch([_], lists:usort(Contents)),
    ?assertEqual(3000, length(hd(Contents))),
    % The next round finds nothing.
    ?assertEqual({Equal, []}, round_of(Equal)).

%% The round ends when a replica does not serve, and at the latest after a third of the grace.
an_end_test() ->
    {Repair, [{start_timer, deadline, ?GRACE div 3} | _]} = ring_repair:new(0, view(), ?GRACE),
    [
        ?assertMatch({_, [{done, ok}]}, ring_repair:handle(Event, Repair))
     || Event <- [
            deadline,
            {unreachable, repair, 0},
            {lost, <<"kv-1">>},
            {answer, repair, 0, {not_serving, 0}}
        ]
    ].

%% Helpers.

%% Runs the round; the replicas after it, and the buckets whose contents were asked for.
round_of(Replicas) ->
    {Repair, [{start_timer, deadline, _} | Effects]} = ring_repair:new(0, view(), ?GRACE),
    run(Effects, Repair, Replicas, []).

run([{done, ok}], _Repair, Replicas, Asked) ->
    {Replicas, lists:usort(Asked)};
run([{command, repair, Index, _, 0, Command} | Effects], Repair, Replicas, Asked) ->
    #{Index := Replica} = Replicas,
    {reply, Reply, _, Next} =
        ring_kvs_vnode:handle_command(Command, #{partition => 0, now => 0}, Replica),
    Vote = {vote, Index, {1, 1}, ring_known:new(), Reply},
    {After, More} = ring_repair:handle({answer, repair, Index, Vote}, Repair),
    Buckets = [B || {contents, B} <- [Command]],
    run(Effects ++ More, After, Replicas#{Index := Next}, Buckets ++ Asked).

replica(Index, Keys) ->
    Empty = ring_kvs_vnode:init(#{index => Index, incarnation => {1, 1}, partitions => [0]}),
    ring_kvs_vnode:merge([{{0, Key}, set(Key)} || Key <- Keys], Empty).

set(Key) ->
    Dot = {{0, {1, 1}}, binary_to_integer(Key)},
    ring_dvv:write(Dot, {value, Key}, [], ring_dvv:new()).

view() ->
    Members = [<<"kv-", (integer_to_binary(I))/binary>> || I <- lists:seq(0, 2)],
    Plan = #{partitions => 12, replication => 3, members => Members},
    ring_view:new(ring_state:plan(1, Plan)).

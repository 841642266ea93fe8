%%% @doc Common requirements of the protocols that replicate everything: random overlays of replicas
%%% under random updates, losses, duplicates, reordering, partitions, broken connections and
%%% restarts that lose the replica. When the faults end, every replica becomes the join of what the
%%% living nodes hold: no surviving knowledge is lost, nothing is made up, and all agree that they
%%% are equal. Full state, one of the protocols, provides the same.
-module(lasp_sync_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(T, lasp_test_cluster).

%% Sums have their own tests: adcounter_aggregate_tests.
protocols() ->
    [lasp_sync:protocol(Mode) || Mode <- lasp_sync:modes() -- [aggregate]].

convergence_test_() ->
    [
        {atom_to_list(Protocol), {timeout, 300,
            ?_assert(
                proper:quickcheck(prop_converges(Protocol), [{to_file, user}, {numtests, 500}])
            )}}
     || Protocol <- protocols()
    ].

prop_converges(Protocol) ->
    ?FORALL(
        {Size, Chords, Steps},
        {integer(1, 7), list({nat(), nat()}), steps()},
        begin
            {Begun, Counts} = run(Steps, ?T:new(Protocol, lasp_gcounter, Size, Chords)),
            Healed = ?T:heal(?T:silence(Begun)),
            Expected = join([Protocol:value(R) || R <- ?T:replicas(Begun)]),
            Final = ?T:settle(Healed),
            Values = lists:usort([Protocol:value(R) || R <- ?T:replicas(Final)]),
            % A delta whose answer was lost is sent a few more times after all are equal.
            Rested = lists:foldl(fun(_, C) -> ?T:drain(?T:tick_all(C)) end, Final, [1, 2, 3, 4, 5]),
            Later = ?T:tick_all(Rested),
            ?WHENFAIL(
                io:format("~p~nexpected ~p~n", [Values, Expected]),
                conjunction([
                    {equal, Values =:= [Expected]},
                    {agreed, lists:all(fun Protocol:agreed/1, ?T:replicas(Final))},
                    {quiet, ?T:kinds(Later) -- [digest, tree] =:= []},
                    {never_more_than_counted,
                        lists:all(
                            fun({Actor, Count}) -> Count =< maps:get(Actor, Counts) end,
                            lasp_gcounter:entries(Expected)
                        )}
                ])
            )
        end
    ).

%% In a ring whose last two are neighbours, but far from each other in the tree, a change takes the
%% long path, and no node mistakes the delay for a loss.
detour_test() ->
    {Begun, _} = run([{update, 0}], ?T:new(lasp_sync_tree, lasp_gcounter, 12, [])),
    Settled = ?T:settle(Begun),
    {Changed, _} = run([{update, 5}], Settled),
    Later = lists:foldl(fun(_, C) -> without_states(?T:tick_all(C)) end, Changed, lists:seq(1, 12)),
    [_] = lists:usort([lasp_sync_tree:value(Replica) || Replica <- ?T:replicas(Later)]).

%% Delivers everything; none of the messages is a whole state.
without_states(Cluster) ->
    case ?T:kinds(Cluster) of
        [] ->
            Cluster;
        Kinds ->
            ?assertNot(lists:member(state, Kinds)),
            without_states(?T:step({deliver_next, 0}, Cluster))
    end.

%% Equal replicas send rarely: each of three in two of sixteen intervals.
calm_test_() ->
    [
        {atom_to_list(Protocol), fun() ->
            {Begun, _} = run([{update, 0}], ?T:new(Protocol, lasp_gcounter, 3, [])),
            {_, Settled} = talks(20, ?T:settle(?T:heal(?T:silence(Begun)))),
            {Talks, Calm} = talks(16, Settled),
            ?assert(Talks >= 2 andalso Talks =< 6),
            {Grown, _} = run([{update, 1}], Calm),
            {Again, _} = talks(4, Grown),
            ?assert(Again >= 3)
        end}
     || Protocol <- [lasp_sync_delta, lasp_sync_tree]
    ].

%% The intervals in which any node sends anything.
talks(Intervals, Cluster) ->
    lists:foldl(
        fun(_, {Talks, C}) ->
            Ticked = ?T:tick_all(C),
            {Talks + min(1, length(?T:kinds(Ticked))), ?T:drain(Ticked)}
        end,
        {0, Cluster},
        lists:seq(1, Intervals)
    ).

%% Everything handed over is held by every neighbour.
handover_test_() ->
    [
        {atom_to_list(Protocol), {timeout, 300,
            ?_assert(
                proper:quickcheck(prop_hands_over(Protocol), [{to_file, user}, {numtests, 500}])
            )}}
     || Protocol <- protocols()
    ].

prop_hands_over(Protocol) ->
    ?FORALL(
        {Size, Chords, Steps, I},
        {integer(2, 6), list({nat(), nat()}), steps(), nat()},
        begin
            {Begun, _} = run(Steps, ?T:new(Protocol, lasp_gcounter, Size, Chords)),
            hands_over(Protocol, ?T:pick(I, Begun), Begun)
        end
    ).

%% The neighbour is known to be equal, from another message than an answer to the handover.
handover_to_an_equal_neighbour_test_() ->
    Overtaken = [{update, 0}, {tick, 0}, {cut, 2}, {deliver, 0}, {tick, 0}],
    Delivered = [{deliver, 0}, {deliver, 0}, {update, 1}, {deliver, 0}, {deliver, 0}, {deliver, 0}],
    CaughtUp = Delivered ++ [{tick, 1}, {tick, 1}, {deliver, 3}],
    [
        {atom_to_list(Protocol), fun() ->
            {Begun, _} = run(Steps, ?T:new(Protocol, lasp_gcounter, Size, [])),
            ?assert(hands_over(Protocol, Name, Begun))
        end}
     || Protocol <- protocols(),
        {Size, Steps, Name} <- [{3, Overtaken, <<"1">>}, {2, CaughtUp, <<"0">>}]
    ].

hands_over(Protocol, Name, Cluster) ->
    Held = Protocol:value(?T:replica(Name, Cluster)),
    Done = hand_over(Name, ?T:event(Name, handover, Cluster), 10),
    ?T:handed_over(Done) =:= [Name] andalso
        lists:all(
            fun(Neighbour) ->
                Value = Protocol:value(?T:replica(Neighbour, Done)),
                lasp_gcounter:difference(Held, Value) =:= lasp_gcounter:new()
            end,
            ?T:neighbours(Name, Done)
        ).

hand_over(Name, Cluster, Rounds) ->
    Drained = ?T:drain(Cluster),
    case ?T:handed_over(Drained) of
        [] when Rounds > 0 ->
            hand_over(Name, ?T:event(Name, {timer, propagate}, Drained), Rounds - 1);
        _ ->
            Drained
    end.

%% Steps.

steps() ->
    ?T:steps([{6, update}, {1, restart}]).

run(Steps, Cluster) ->
    lists:foldl(fun step/2, {Cluster, #{}}, Steps).

step({update, I}, {Cluster, Counts}) ->
    Name = ?T:pick(I, Cluster),
    Actor = <<Name/binary, $/, (integer_to_binary(?T:starts(Name, Cluster)))/binary>>,
    % Some steps are larger than others.
    Count = maps:get(Actor, Counts, 0) + 1 + I * I,
    Updated = ?T:event(Name, {update, lasp_gcounter:entry(Actor, Count)}, Cluster),
    {Updated, Counts#{Actor => Count}};
step({restart, I}, {Cluster, Counts}) ->
    {?T:restart(?T:pick(I, Cluster), Cluster), Counts};
step(Step, {Cluster, Counts}) ->
    {?T:step(Step, Cluster), Counts}.

join(Values) ->
    lists:foldl(fun lasp_gcounter:merge/2, lasp_gcounter:new(), Values).

%%% @doc The ad counter with synchronisation of sums only: never more than has been counted,
%%% whatever happens, and all of it when the faults end.
-module(adcounter_aggregate_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(T, lasp_test_cluster).
-define(S, adcounter_state).
-define(P, lasp_sync_aggregate).

%% `actors': the actor of every node. `counts': each actor's counts, of ads 0 and 1.
-record(run, {
    cluster :: term(),
    actors = #{} :: #{binary() => {Name :: binary(), Incarnation :: pos_integer()}},
    counts = #{} :: #{{Name :: binary(), pos_integer()} => #{0..1 => pos_integer()}},
    % Whether no node has ever seen more than had been counted.
    sound = true :: boolean()
}).

never_more_than_counted_test_() ->
    Property = ?FORALL(
        {Size, Chords, Steps},
        {integer(1, 7), list({nat(), nat()}), ?T:steps([{6, count}, {1, lose_all}, {1, restart}])},
        begin
            Run = rest(lists:foldl(fun step/2, begun(Size, Chords), Steps)),
            Totals = totals(Run),
            conjunction([{sound, Run#run.sound}, {equal, length(lists:usort(Totals)) =:= 1}])
        end
    ),
    holds(Property, 200).

%% Nodes that restart unchanged: eventually everything is counted once.
exact_test_() ->
    Property = ?FORALL(
        {Size, Chords, Steps},
        {integer(1, 7), list({nat(), nat()}), ?T:steps([{6, count}, {1, restart}])},
        begin
            Run = rest(lists:foldl(fun step/2, begun(Size, Chords), Steps)),
            ?WHENFAIL(
                io:format("~p~ncounted ~p~n", [totals(Run), counted(Run)]),
                conjunction([
                    {sound, Run#run.sound},
                    {exact, lists:usort(totals(Run)) =:= [counted(Run)]},
                    {agreed, lists:all(fun ?P:agreed/1, ?T:replicas(Run#run.cluster))},
                    {same_digest,
                        length(lists:usort([?S:counters_digest(V) || V <- values(Run)])) =:= 1},
                    {quiet,
                        ?T:kinds(?T:tick_all(Run#run.cluster)) -- [digest, tree, question] =:= []}
                ])
            )
        end
    ),
    holds(Property, 200).

%% One node after the other loses everything, or leaves; others keep its counts.
departures_test_() ->
    Property = ?FORALL(
        {Size, Chords, Departures},
        {integer(3, 7), list({nat(), nat()}), list({oneof([lose_all, leave]), nat(), counts()})},
        begin
            Run = lists:foldl(
                fun({Kind, I, Counts}, R) ->
                    Rested = rest(lists:foldl(fun step/2, R, [{count, N} || N <- Counts])),
                    case {Kind, ?T:names(Rested#run.cluster)} of
                        {leave, [_, _]} -> Rested;
                        _ -> rest(step({Kind, I}, Rested))
                    end
                end,
                begun(Size, Chords),
                Departures
            ),
            ?WHENFAIL(
                io:format("~p~ncounted ~p~n", [totals(Run), counted(Run)]),
                conjunction([
                    {sound, Run#run.sound},
                    {exact, lists:usort(totals(rest(Run))) =:= [counted(Run)]}
                ])
            )
        end
    ),
    holds(Property, 60).

all_nodes_are_done_when_each_has_reported_it_test() ->
    Run = rest(begun(5, [])),
    Names = ?T:names(Run#run.cluster),
    AllButOne = rest(lists:foldl(fun done/2, Run, tl(Names))),
    ?assertEqual([4], lists:usort([?S:nodes_done(Names, ?S:seen(V)) || V <- values(AllButOne)])),
    All = rest(done(hd(Names), AllButOne)),
    ?assertEqual([5], lists:usort([?S:nodes_done(Names, ?S:seen(V)) || V <- values(All)])).

a_malformed_question_or_answer_changes_nothing_test_() ->
    Options = #{
        name => <<"a">>,
        incarnation => 1,
        type => ?S,
        scope => <<"run">>,
        interval => 100,
        seed => {1, 2, 3}
    },
    {State, _} = ?P:init(Options),
    [
        ?_assertMatch(
            {State, [{count, Kind, received, _}, {count, malformed, received, _}]},
            ?P:handle({message, <<"b">>, {Kind, <<"run">>, Bytes}}, State)
        )
     || Kind <- [question, answer],
        Bytes <- [<<>>, <<"123456">>, <<"123456", 0, 0>>, <<"123456", 1, 9>>, <<"123456", 1, 1, 7>>]
    ].

%% Helpers.

holds(Property, Tests) ->
    {timeout, 300, ?_assert(proper:quickcheck(Property, [{to_file, user}, {numtests, Tests}]))}.

counts() ->
    list(nat()).

begun(Size, Chords) ->
    Cluster = ?T:new(?P, ?S, Size, Chords),
    lists:foldl(fun present/2, #run{cluster = Cluster}, ?T:names(Cluster)).

%% Announces a new actor.
present(Name, #run{cluster = Cluster, actors = Actors} = Run) ->
    Actor = {Name, 1000000 * ?T:starts(Name, Cluster)},
    reported(false, Name, Run#run{actors = Actors#{Name => Actor}}).

reported(Done, Name, #run{actors = Actors} = Run) ->
    #{Name := {Name, Incarnation}} = Actors,
    update(Name, ?S:report(Name, Incarnation, Done, 0), Run).

done(Name, Run) ->
    reported(true, Name, Run).

step({count, I}, #run{cluster = Cluster, actors = Actors, counts = Counts} = Run) ->
    Name = ?T:pick(I, Cluster),
    Actor = maps:get(Name, Actors),
    Own = maps:get(Actor, Counts, #{}),
    Counted = Own#{I rem 2 => maps:get(I rem 2, Own, 0) + 1 + I * I},
    record(Name, Counted, Run#run{counts = Counts#{Actor => Counted}});
step({restart, I}, #run{cluster = Cluster, actors = Actors, counts = Counts} = Run) ->
    Name = ?T:pick(I, Cluster),
    Restarted = Run#run{cluster = ?T:restart(Name, ?T:end_questions(Cluster))},
    Restored = record(Name, maps:get(maps:get(Name, Actors), Counts, #{}), Restarted),
    reported(false, Name, Restored);
step({lose_all, I}, #run{cluster = Cluster} = Run) ->
    Name = ?T:pick(I, Cluster),
    present(Name, Run#run{cluster = ?T:restart(Name, Cluster)});
step({leave, I}, #run{cluster = Cluster} = Run) ->
    Name = ?T:pick(I, Cluster),
    Left = ?T:drain(?T:event(Name, handover, Cluster)),
    look(Run#run{cluster = ?T:leave(Name, Left)});
step(Step, #run{cluster = Cluster} = Run) ->
    look(Run#run{cluster = ?T:step(Step, Cluster)}).

record(Name, Counted, #run{actors = Actors} = Run) ->
    {Name, Incarnation} = maps:get(Name, Actors),
    maps:fold(
        fun(Ad, N, R) -> update(Name, ?S:counted(Ad, {Name, Incarnation}, N), R) end,
        Run,
        Counted
    ).

update(Name, Delta, #run{cluster = Cluster} = Run) ->
    look(Run#run{cluster = ?T:event(Name, {update, Delta}, Cluster)}).

%% Rounds without faults, until the last root has asked all of them several times.
rest(#run{cluster = Cluster} = Run) ->
    lists:foldl(
        fun(_, #run{cluster = C} = R) -> look(R#run{cluster = ?T:drain(?T:tick_all(C))}) end,
        Run#run{cluster = ?T:settle(?T:heal(?T:silence(Cluster)))},
        lists:seq(1, 40)
    ).

look(#run{sound = Sound} = Run) ->
    Counted = counted(Run),
    Run#run{sound = Sound andalso lists:all(fun(T) -> T =< Counted end, totals(Run))}.

counted(#run{counts = Counts}) ->
    lists:sum([N || Own <- maps:values(Counts), N <- maps:values(Own)]).

totals(Run) ->
    [?S:total(Value) || Value <- values(Run)].

values(#run{cluster = Cluster}) ->
    [?P:value(Replica) || Replica <- ?T:replicas(Cluster)].

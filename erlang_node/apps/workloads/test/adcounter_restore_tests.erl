%%% @doc A restored cluster counts on exactly, in every mode of synchronisation and whatever the
%%% network does: the total is that of the backup and what was counted since, once.
-module(adcounter_restore_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(T, lasp_test_cluster).
-define(S, adcounter_state).
-define(INCARNATION, 1000).

exact_test_() ->
    [
        {atom_to_list(Mode), {timeout, 300,
            ?_assert(proper:quickcheck(prop_exact(Mode), [{to_file, user}, {numtests, 100}]))}}
     || Mode <- lasp_sync:modes()
    ].

prop_exact(Mode) ->
    ?FORALL(
        {Size, Chords, Backup, Steps},
        {integer(1, 5), list({nat(), nat()}), backup(), ?T:steps([{6, count}, {1, restart}])},
        begin
            Protocol = lasp_sync:protocol(Mode),
            New = ?T:new(Protocol, ?S, Size, Chords),
            Begun = lists:foldl(
                fun(Name, C) -> begin_node(Name, 0, Backup, C) end, New, ?T:names(New)
            ),
            {Own, Run} = lists:foldl(
                fun(Step, State) -> step(Step, Backup, State) end, {#{}, Begun}, Steps
            ),
            Wanted = lists:sum([N || {_, _, N} <- Backup]) + lists:sum(maps:values(Own)),
            Values = [Protocol:value(Replica) || Replica <- ?T:replicas(rest(Run))],
            ?WHENFAIL(
                io:format("wanted ~p, not ~p~n", [Wanted, [?S:total(Value) || Value <- Values]]),
                conjunction([
                    {total, lists:all(fun(Value) -> ?S:total(Value) =:= Wanted end, Values)},
                    {superseded,
                        lists:all(fun(Value) -> superseded(Value) =:= Backup end, Values)}
                ])
            )
        end
    ).

%% As in adcounter: what it knows of its own, its report, then the backup.
begin_node(Name, Own, Backup, Cluster) ->
    Actor = {Name, ?INCARNATION},
    lists:foldl(
        fun(Event, C) -> ?T:event(Name, Event, C) end,
        Cluster,
        [{update, ?S:counted(0, Actor, Own)} || Own > 0] ++ [
            {update, ?S:report(Name, ?INCARNATION, false, Own)},
            {restore, adcounter_backup:state(Backup, ?T:names(Cluster))}
        ]
    ).

step({count, I}, _Backup, {Own, Cluster}) ->
    Name = ?T:pick(I, Cluster),
    Count = maps:get(Name, Own, 0) + 1 + I,
    Delta = ?S:counted(0, {Name, ?INCARNATION}, Count),
    {Own#{Name => Count}, ?T:event(Name, {update, Delta}, Cluster)};
step({restart, I}, Backup, {Own, Cluster}) ->
    Name = ?T:pick(I, Cluster),
    Restarted = ?T:restart(Name, ?T:end_questions(Cluster)),
    {Own, begin_node(Name, maps:get(Name, Own, 0), Backup, Restarted)};
step(Step, _Backup, {Own, Cluster}) ->
    {Own, ?T:step(Step, Cluster)}.

%% Rounds without faults, until the last root has asked all of them several times.
rest(Cluster) ->
    lists:foldl(
        fun(_, C) -> ?T:drain(?T:tick_all(C)) end,
        ?T:settle(?T:heal(?T:silence(Cluster))),
        lists:seq(1, 40)
    ).

superseded(Value) ->
    Ended = ?S:superseded(Value),
    lists:sort([Entry || {_, Actor, _} = Entry <- ?S:counts(Value), is_map_key(Actor, Ended)]).

%% Some of its nodes are no members of the cluster.
backup() ->
    ?LET(
        Counts,
        list({{range(0, 1), {oneof([<<"0">>, <<"1">>, <<"8">>]), range(1, 3)}}, pos_integer()}),
        lists:sort([{Ad, Actor, N} || {{Ad, Actor}, N} <- maps:to_list(maps:from_list(Counts))])
    ).

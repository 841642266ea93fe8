-module(adcounter_backup_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(B, adcounter_backup).
-define(S, adcounter_state).
-define(ADS, 3).
-define(MEMBERS, [<<"ads-0">>, <<"ads-1">>]).

laws_test_() ->
    [
        {Law, {timeout, 60,
            ?_assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 300}]))}}
     || {Law, Property} <- [
            {"what is restored from a backup is what was backed up",
                ?FORALL(Counts, counts(), counts_of(restored(entries(Counts))) =:= Counts)},
            {"a backup that is joined to the state that it is of adds nothing to it",
                ?FORALL(
                    Counts,
                    counts(),
                    begin
                        State = restored(entries(Counts)),
                        ?S:merge(State, restored(entries(counts_of(State)))) =:= State
                    end
                )},
            {"of a later state a backup takes nothing away",
                ?FORALL(
                    {Earlier, More},
                    {counts(), counts()},
                    begin
                        Later = ?S:merge(restored(entries(Earlier)), restored(entries(More))),
                        ?S:merge(Later, restored(entries(Earlier))) =:= Later
                    end
                )},
            {"the join of the replicas is the larger count of each entry",
                ?FORALL(
                    {A, B},
                    {counts(), counts()},
                    maps:merge_with(fun(_, X, Y) -> max(X, Y) end, entries(A), entries(B)) =:=
                        entries(counts_of(?S:merge(restored(entries(A)), restored(entries(B)))))
                )}
        ]
    ].

%% Nodes that are no members will never say that their incarnations have ended.
absent_nodes_have_ended_test() ->
    Counts = [{0, {<<"ads-0">>, 7}, 5}, {1, {<<"ads-9">>, 3}, 4}, {0, {<<"ads-9">>, 8}, 2}],
    State = ?B:state(Counts, ?MEMBERS),
    ?assertEqual(#{{<<"ads-9">>, 3} => 4, {<<"ads-9">>, 8} => 2}, ?S:superseded(State)),
    ?assertEqual([], ?S:done(State)),
    ?assertEqual(none, ?S:started_at(State)).

foreign_entries_are_refused_test_() ->
    [
        ?_assertMatch({error, [_ | _]}, ?B:from_entries(?ADS, #{Key => 1}))
     || Key <- [
            <<"ads-0">>,
            <<"ads-0/7">>,
            <<"/7/0">>,
            <<"ads-0/7/0/0">>,
            <<"ads-0/seven/0">>,
            <<"ads-0/-7/0">>,
            <<"ads-0/+7/0">>,
            <<"ads-0/07/0">>,
            <<"ads-0/9223372036854775808/0">>,
            <<"ads-0/7/3">>,
            <<"ads-0/7/">>
        ]
    ].

%% A Kubernetes node's clock may be behind that of the one that counted.
a_node_starts_after_its_restored_incarnations_test() ->
    Options = #{name => <<"ads-0">>, incarnation => 5, parameters => #{ads => ?ADS}},
    ?assertEqual(Options, ?B:after_restored(Options)),
    Backup = workload_backup:encode(#{
        cluster => <<"ads">>,
        namespace => <<"default">>,
        workload => <<"adcounter">>,
        taken => 0,
        parameters => #{},
        entries => #{<<"ads-0/7/0">> => 1, <<"ads-1/9/0">> => 1}
    }),
    ?assertMatch(
        #{incarnation := 8, restored := Backup},
        ?B:after_restored(Options#{restored => Backup})
    ).

%% A volume that was restored from an older snapshot.
a_record_that_is_older_than_the_backup_is_dropped_test_() ->
    Record = #{run => <<"r">>, name => <<"ads-0">>, incarnation => 7, counts => #{0 => 5}},
    [
        ?_assertEqual(Expected, ?B:unless_older(Record, Counts))
     || {Expected, Counts} <- [
            {Record, []},
            {Record, [{0, {<<"ads-0">>, 7}, 5}]},
            {Record, [{0, {<<"ads-0">>, 6}, 9}, {0, {<<"ads-1">>, 7}, 9}]},
            {none, [{0, {<<"ads-0">>, 7}, 6}]},
            {none, [{1, {<<"ads-0">>, 7}, 1}]}
        ]
    ] ++ [?_assertEqual(none, ?B:unless_older(none, []))].

entries(Counts) ->
    ?B:to_entries(Counts).

restored(Entries) ->
    {ok, Counts} = ?B:from_entries(?ADS, Entries),
    ?B:state(Counts, ?MEMBERS).

counts_of(State) ->
    lists:sort(?S:counts(State)).

%% Of few actors, so that two of them have some in common.
counts() ->
    ?LET(
        Counts,
        list({{range(0, ?ADS - 1), actor()}, pos_integer()}),
        [{Ad, Actor, N} || {{Ad, Actor}, N} <- maps:to_list(maps:from_list(Counts))]
    ).

actor() ->
    {oneof([<<"ads-0">>, <<"ads-1">>, <<"ads-s1-250">>]), range(1, 3)}.

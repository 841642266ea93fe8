%%% @doc The ad counter step by step: when a node counts, and what is kept.
-module(adcounter_core_tests).

-include_lib("eunit/include/eunit.hrl").

-define(C, adcounter_core).

a_new_node_is_a_new_actor_and_records_it_first_test() ->
    {Node, [{persist, Record} | _]} = ?C:init(options(#{})),
    ?assertEqual({<<"ads-0">>, 17}, ?C:actor(Node)),
    ?assertMatch(#{run := <<"r1">>, incarnation := 17, counts := #{}}, Record).

a_record_of_this_run_continues_its_actor_test() ->
    Record = record(#{counts => #{0 => 4, 1 => 1}}),
    {Node, Effects} = ?C:init(options(#{incarnation => 99, record => Record})),
    ?assertEqual({<<"ads-0">>, 17}, ?C:actor(Node)),
    ?assertEqual(5, ?C:increments(Node)),
    ?assertEqual([], [R || {persist, R} <- Effects]),
    % The recorded counts are in the replica again.
    ?assertEqual(5, adcounter_state:count({<<"ads-0">>, 17}, replica(Effects))).

a_record_of_another_run_or_node_is_discarded_with_its_actor_test_() ->
    [
        fun() ->
            {Node, Effects} = ?C:init(options(#{incarnation => 99, record => Record})),
            ?assertEqual({<<"ads-0">>, 99}, ?C:actor(Node)),
            ?assertEqual(0, ?C:increments(Node)),
            ?assertEqual(0, adcounter_state:total(replica(Effects)))
        end
     || Record <- [record(#{run => <<"r0">>}), record(#{name => <<"ads-1">>})]
    ].

the_run_starts_only_on_command_test() ->
    {Node, Effects} = ?C:init(options(#{})),
    {Waiting, []} = seen(replica(Effects), 1, Node),
    ?assertEqual(waiting, ?C:phase(Waiting)),
    ?assertEqual({error, {other_run, <<"r1">>}}, ?C:start(<<"r2">>, 5, Waiting)),
    {ok, [{update, Start}]} = ?C:start(<<"r1">>, 5, Waiting),
    {Running, Started} = seen(merge(Start, replica(Effects)), 6, Waiting),
    ?assertEqual(running, ?C:phase(Running)),
    [Phase] = [Ms || {start_timer, increment, Ms} <- Started],
    ?assert(Phase >= 1 andalso Phase =< 1000),
    ?assertEqual({ok, []}, ?C:start(<<"r1">>, 7, Running)).

a_count_is_recorded_before_it_is_shown_test() ->
    {Node, _} = running(#{}),
    {Counted, Effects} = ?C:handle({timer, increment}, Node),
    ?assertMatch(
        [{persist, #{counts := _}}, {update, _}, impression, {start_timer, increment, 1000}],
        Effects
    ),
    ?assertEqual(1, ?C:increments(Counted)).

an_ad_is_disabled_at_its_threshold_test() ->
    {Node, Replica} = running(#{}),
    Full = merge(adcounter_state:counted(0, <<"ads-1/3">>, 10), Replica),
    {Left, []} = seen(Full, 7, Node),
    ?assertEqual([1], ?C:enabled(Left)),
    {_, [{persist, #{counts := Counts}} | _]} = ?C:handle({timer, increment}, Left),
    ?assertEqual(#{1 => 1}, Counts).

with_no_ad_left_the_node_is_done_test() ->
    {Node, Replica} = running(#{}),
    Full = full(Replica),
    {Done, Effects} = seen(Full, 7, Node),
    ?assertEqual([<<"ads-0">>], adcounter_state:done(merge(replica(Effects), Full))),
    ?assertEqual({Done, []}, ?C:handle({timer, increment}, Done)),
    ?assertEqual({Done, []}, seen(Full, 8, Done)),
    ?assertEqual(running, ?C:phase(Done)).

the_run_is_finished_when_all_members_are_done_test() ->
    {Node, Replica} = running(#{}),
    All = lists:foldl(fun merge/2, full(Replica), [report(N, true) || N <- [0, 1]]),
    {Finished, _} = seen(All, 7, Node),
    ?assertEqual(finished, ?C:phase(Finished)),
    ?assertEqual({ok, 7}, ?C:finished_at(Finished)),
    % A member that is replaced has to become done again; a finished run stays finished.
    Replaced = merge(adcounter_state:report(<<"ads-1">>, 99, false, 0), All),
    {Later, _} = seen(Replaced, 9, Finished),
    ?assertEqual(finished, ?C:phase(Later)),
    ?assertEqual({ok, 7}, ?C:finished_at(Later)),
    ?assertNot(?C:all_done(Later)),
    ?assertEqual(1, ?C:nodes_done(Later)).

a_non_member_is_not_waited_for_test() ->
    {Node, Replica} = running(#{members => [<<"ads-0">>]}),
    All = merge(report(1, false), merge(report(0, true), full(Replica))),
    ?assertEqual(finished, ?C:phase(element(1, seen(All, 7, Node)))).

a_node_that_comes_after_the_end_counts_nothing_test() ->
    {Node, Effects} = ?C:init(options(#{})),
    Others = full(adcounter_state:started(3)),
    {Late, _} = seen(merge(Others, replica(Effects)), 9, Node),
    ?assertEqual({Late, []}, ?C:handle({timer, increment}, Late)),
    ?assertEqual(0, ?C:increments(Late)).

a_leaving_node_counts_no_more_test() ->
    {Node, _} = running(#{}),
    {Leaving, []} = ?C:handle(leave, Node),
    ?assertEqual({Leaving, []}, ?C:handle({timer, increment}, Leaving)).

%% Helpers.

options(Changes) ->
    maps:merge(
        #{
            name => <<"ads-0">>,
            incarnation => 17,
            run => <<"r1">>,
            members => [<<"ads-0">>, <<"ads-1">>],
            ads => 2,
            impressions => 10,
            increment_interval => 1000,
            seed => {1, 2, 3},
            record => none
        },
        Changes
    ).

record(Changes) ->
    Record = #{run => <<"r1">>, name => <<"ads-0">>, incarnation => 17, counts => #{0 => 4}},
    maps:merge(Record, Changes).

running(Changes) ->
    {Node, Effects} = ?C:init(options(Changes)),
    Replica = merge(adcounter_state:started(5), replica(Effects)),
    {Running, _} = seen(Replica, 6, Node),
    {Running, Replica}.

full(Replica) ->
    Counts = [adcounter_state:counted(Ad, <<"ads-1/3">>, 10) || Ad <- [0, 1]],
    lists:foldl(fun merge/2, Replica, Counts).

report(I, Done) ->
    adcounter_state:report(<<"ads-", (integer_to_binary(I))/binary>>, 17, Done, 0).

seen(Replica, Now, Node) ->
    ?C:handle({seen, adcounter_state:seen(Replica), Now}, Node).

replica(Effects) ->
    Deltas = [Delta || {update, Delta} <- Effects],
    lists:foldl(fun merge/2, adcounter_state:new(), Deltas).

merge(A, B) ->
    adcounter_state:merge(A, B).

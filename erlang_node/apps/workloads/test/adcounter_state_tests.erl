-module(adcounter_state_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(S, adcounter_state).

laws_test_() ->
    [
        {Law, {timeout, 60,
            ?_assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 200}]))}}
     || {Law, Property} <- [
            {"merge is idempotent", ?FORALL(A, state(), ?S:merge(A, A) =:= A)},
            {"merge is commutative",
                ?FORALL({A, B}, {state(), state()}, ?S:merge(A, B) =:= ?S:merge(B, A))},
            {"merge is associative",
                ?FORALL(
                    {A, B, C},
                    {state(), state(), state()},
                    ?S:merge(A, ?S:merge(B, C)) =:= ?S:merge(?S:merge(A, B), C)
                )},
            {"what is encoded decodes to itself",
                ?FORALL(
                    A, state(), lasp_lattice:decode(?S, lasp_lattice:encode(?S, A)) =:= {ok, A}
                )},
            {"a value is the join of its parts, each at its key",
                ?FORALL(
                    A,
                    state(),
                    lasp_lattice:join(?S, lasp_lattice:keyed(?S, A), ?S:new()) =:=
                        {ok, lists:reverse(lasp_lattice:keyed(?S, A)), A} andalso
                        [{?S:path(Key), Leaf} || {Key, Leaf} <- lasp_lattice:keyed(?S, A)] =:=
                            ?S:to_parts(A)
                )},
            {"the difference joins to the same, and contains nothing known",
                ?FORALL(
                    {A, B},
                    {state(), state()},
                    ?S:merge(?S:difference(A, B), B) =:= ?S:merge(A, B) andalso
                        ?S:difference(B, ?S:merge(A, B)) =:= ?S:new()
                )},
            {"the total is the sum of the ads",
                ?FORALL(
                    A,
                    state(),
                    ?S:total(A) =:= lists:sum([?S:value(Ad, ?S:seen(A)) || Ad <- lists:seq(0, 2)])
                )}
        ]
    ].

the_first_start_counts_test() ->
    ?assertEqual({ok, 3}, ?S:started_at(?S:merge(?S:started(3), ?S:started(9)))).

a_later_incarnation_replaces_the_report_of_an_earlier_one_test() ->
    Done = ?S:report(<<"a">>, 1, true, 7),
    ?assertEqual([<<"a">>], ?S:done(Done)),
    ?assertEqual([], ?S:done(?S:merge(Done, ?S:report(<<"a">>, 2, false, 0)))),
    ?assertEqual([<<"a">>], ?S:done(?S:merge(Done, ?S:report(<<"a">>, 1, false, 9)))).

entries_of_previous_incarnations_are_superseded_and_still_count_test() ->
    Counts = [
        ?S:counted(0, {<<"a">>, 1}, 5),
        ?S:counted(1, {<<"a">>, 1}, 2),
        ?S:counted(0, {<<"a">>, 2}, 3),
        ?S:counted(0, {<<"b">>, 1}, 4),
        ?S:report(<<"a">>, 2, false, 0)
    ],
    State = lists:foldl(fun ?S:merge/2, ?S:new(), Counts),
    ?assertEqual(#{{<<"a">>, 1} => 7}, ?S:superseded(State)),
    ?assertEqual(14, ?S:total(State)).

the_digest_is_of_the_counters_alone_test() ->
    A = ?S:counted(0, {<<"a">>, 1}, 5),
    B = ?S:merge(?S:report(<<"a">>, 2, true, 5), ?S:merge(?S:started(1), A)),
    ?assertEqual(?S:counters_digest(A), ?S:counters_digest(B)),
    ?assertNotEqual(?S:counters_digest(A), ?S:counters_digest(?S:counted(0, {<<"a">>, 1}, 6))).

sums_are_compared_alone_test() ->
    Sums = ?S:total(#{0 => 9}, ?S:new()),
    A = ?S:merge(Sums, ?S:counted(0, {<<"a">>, 1}, 5)),
    B = ?S:merge(Sums, ?S:counted(0, {<<"b">>, 1}, 4)),
    ?assertEqual(9, ?S:total(A)),
    ?assertEqual(?S:counters_digest(A), ?S:counters_digest(B)).

counts_of_an_ended_incarnation_are_added_once_test() ->
    Own = ?S:merge(?S:counted(0, {<<"a">>, 1}, 5), ?S:report(<<"a">>, 1, true, 5)),
    % While it may be alive it contributes for itself.
    Kept = ?S:kept(Own),
    ?assertEqual(#{0 => 5, -1 => 1}, ?S:contribution(Own, Kept)),
    ?assertEqual(5, ?S:total(?S:total(?S:contribution(Own, Kept), Kept))),
    % The next incarnation reports that it has ended.
    Next = ?S:report(<<"a">>, 2, false, 0),
    Over = ?S:merge(Kept, ?S:succeeded(Next, Kept)),
    ?assertEqual(5, ?S:total(?S:total(?S:contribution(Next, Over), Over))),
    ?assertEqual(?S:new(), ?S:succeeded(Next, Over)),
    % A node that has left and is back adds its counts since.
    Back = ?S:merge(Own, ?S:counted(0, {<<"a">>, 1}, 7)),
    Left = ?S:departed(Own),
    ?assertEqual(#{0 => 2, -1 => 1}, ?S:contribution(Back, Left)),
    ?assertEqual(7, ?S:total(?S:total(?S:contribution(Back, Left), Left))).

malformed_parts_are_refused_test_() ->
    [
        ?_assertEqual(error, lasp_lattice:decode(?S, lasp_parts:encode([Part])))
     || Part <- [
            {[], []},
            {[1], [0]},
            {[-2], [1]},
            {[<<"a">>], [1]},
            {[<<"a">>, 1], [1]},
            {[<<"a">>, 1, 0], [0]},
            {[<<"a">>, 1, -1], [1]},
            {[<<"a">>, <<"b">>, 0], [1]}
        ]
    ].

state() ->
    ?LET(
        Deltas,
        list(
            oneof([
                ?LET(At, nat(), ?S:started(At)),
                ?LET({Ad, Actor, N}, {integer(0, 2), actor(), nat()}, ?S:counted(Ad, Actor, N)),
                ?LET({What, N}, {integer(-1, 2), pos_integer()}, ?S:total(#{What => N}, ?S:new())),
                ?LET(
                    {Name, Incarnation, Done, N},
                    {name(), integer(1, 3), boolean(), nat()},
                    ?S:report(Name, Incarnation, Done, N)
                )
            ])
        ),
        lists:foldl(fun ?S:merge/2, ?S:new(), Deltas)
    ).

actor() ->
    {name(), integer(1, 3)}.

name() ->
    oneof([<<"a">>, <<"b">>]).

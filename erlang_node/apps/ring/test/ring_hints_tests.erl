-module(ring_hints_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(K, <<"k">>).
-define(INFO(Now, N), #{partition => 3, now => Now, actor => {12, {1, N}}}).

%% Only a confirmed delivery of what is kept now ends a hint; another one is repeated after a while.
a_hint_is_kept_until_it_is_delivered_test() ->
    {{kept, stored}, Kept} = ring_hints:handle({keep, ?K, set(1), 2}, ?INFO(0, 1), new()),
    ?assertEqual({[], [], Kept}, ring_hints:due(0, fun(_, _) -> false end, Kept)),
    {[{3, ?K, Set, 2}], [], Sent} = ring_hints:due(0, fun ready/2, Kept),
    ?assertEqual({[], [], Sent}, ring_hints:due(2000, fun ready/2, Sent)),
    Failed = ring_hints:delivered(3, ?K, Set, error, Sent),
    ?assertMatch({[], [], _}, ring_hints:due(999, fun ready/2, Failed)),
    ?assertMatch({[{3, ?K, Set, 2}], [], _}, ring_hints:due(1000, fun ready/2, Failed)),
    {{kept, stored}, Grown} = ring_hints:handle({keep, ?K, set(2), 3}, ?INFO(5, 2), Sent),
    Before = ring_hints:delivered(3, ?K, Set, ok, Grown),
    {[{3, ?K, Both, 3}], [], _} = ring_hints:due(6, fun ready/2, Before),
    ?assertEqual(ring_dvv:merge(set(1), set(2)), Both),
    ?assertEqual(0, ring_hints:count(ring_hints:delivered(3, ?K, Both, ok, Before))).

%% A delivery without a result is repeated at last.
a_lost_result_test() ->
    {_, Kept} = ring_hints:handle({keep, ?K, set(1), 2}, ?INFO(0, 1), new()),
    {[_], [], Sent} = ring_hints:due(0, fun ready/2, Kept),
    ?assertMatch({[], [], _}, ring_hints:due(29999, fun ready/2, Sent)),
    ?assertMatch({[_], [], _}, ring_hints:due(30000, fun ready/2, Sent)).

%% The actor goes with the hint, because the next set of the key lacks the earlier writes.
a_stand_in_numbers_its_writes_test() ->
    Write = {write, ?K, {value, a}, [], 2},
    {{kept, {written, First, _}}, One} = ring_hints:handle(Write, ?INFO(0, 1), new()),
    {{kept, {written, Second, Set}}, Two} = ring_hints:handle(Write, ?INFO(1, 2), One),
    ?assertEqual([{{12, {1, 1}}, 1}, {{12, {1, 1}}, 2}], [First, Second]),
    ?assertEqual([a, a], ring_dvv:values(Set)),
    Gone = ring_hints:delivered(3, ?K, Set, ok, Two),
    {{kept, {written, Third, _}}, _} = ring_hints:handle(Write, ?INFO(2, 3), Gone),
    ?assertEqual({{12, {1, 3}}, 1}, Third),
    NoMember = #{partition => 3, now => 0, actor => none},
    ?assertMatch({refused, _}, ring_hints:handle(Write, NoMember, new())).

%% Given up, and reported, by the age of the oldest write; and there are none if the age is zero.
an_old_hint_is_given_up_test() ->
    {_, One} = ring_hints:handle({keep, ?K, set(1), 2}, ?INFO(0, 1), new()),
    {_, Two} = ring_hints:handle({keep, ?K, set(2), 2}, ?INFO(50000, 1), One),
    {[], [], _} = ring_hints:due(59999, fun(_, _) -> false end, Two),
    {[], [{3, ?K, Both, 2}], None} = ring_hints:due(60000, fun ready/2, Two),
    ?assertEqual(ring_dvv:merge(set(1), set(2)), Both),
    ?assertEqual({0, []}, {ring_hints:count(None), ring_hints:sets(None)}),
    Strict = ring_hints:new(#{count => 5, bytes => 1000, age => 0}),
    ?assertEqual(
        {refused, Strict}, ring_hints:handle({keep, ?K, set(1), 2}, ?INFO(0, 1), Strict)
    ).

%% Whatever comes: within the bounds; refused means unchanged; nothing kept is missing.
bounds_test_() ->
    {timeout, 600, ?_assert(proper:quickcheck(prop_bounds(), [{to_file, user}, {numtests, 200}]))}.

prop_bounds() ->
    ?FORALL(
        Steps,
        list({integer(1, 9), integer(0, 300)}),
        begin
            Hints = lists:foldl(fun step/2, new(), Steps),
            Sets = ring_hints:sets(Hints),
            length(Sets) =< 5 andalso
                lists:sum([erlang:external_size({{3, K}, S}) || {K, S} <- Sets]) =< 1000
        end
    ).

step({N, Size}, Hints) ->
    Value = {N, binary:copy(<<"v">>, Size)},
    Command = {write, integer_to_binary(N), {value, Value}, [], 2},
    case ring_hints:handle(Command, ?INFO(0, N), Hints) of
        {refused, Same} ->
            ?assertEqual(Hints, Same),
            Same;
        {{kept, {written, _, Set}}, Next} ->
            ?assert(lists:member({integer_to_binary(N), Set}, ring_hints:sets(Next))),
            ?assert(lists:member(Value, ring_dvv:values(Set))),
            Next
    end.

new() ->
    ring_hints:new(#{count => 5, bytes => 1000, age => 60000}).

set(N) ->
    ring_dvv:write({{N, {1, 1}}, 1}, {value, N}, [], ring_dvv:new()).

ready(_Partition, _Quorum) ->
    true.

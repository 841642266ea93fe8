%%% @doc The example protocols against what their papers state.
-module(verify_protocols_tests).

-include_lib("eunit/include/eunit.hrl").

explore(Search) ->
    #{complete := true} = Result = verify_explore:run(maps:merge(#{nodes => 4}, Search)),
    Result.

%% Direct mail.

direct_mail_loses_what_the_mail_loses_test() ->
    ?assertMatch(
        #{raw := #{executions := 8, failing := 7}, fewest := #{decisions := 1, classes := 1}},
        explore(#{module => direct_mail, scope => base})
    ).

acknowledged_mail_survives_omissions_test() ->
    Search = #{module => direct_mail, options => #{acknowledged => true}, most => 3},
    ?assertMatch(#{failing := 0}, explore(Search)),
    All = Search#{decisions => [drop, late, duplicate, crash]},
    ?assertMatch(#{failing := 0}, explore(All)).

%% The answer names those that lack the mail: all attempts at n2 are lost.
acknowledged_mail_gives_up_test() ->
    Lost = [{{<<"n1">>, <<"n2">>, mail, N}, drop} || N <- [1, 2]],
    World0 = world(direct_mail, #{acknowledged => true, attempts => 2}, 3),
    {World, []} = verify_schedule:run(Lost, call(<<"n1">>, {broadcast, v}, World0)),
    ?assertMatch(
        [{<<"n1">>, call, {error, {unacknowledged, [<<"n2">>]}}}], verify_world:replies(World)
    ),
    ?assertEqual([[v], [], [v]], [verify_world:delivered(N, World) || N <- names(3)]).

%% Anti-entropy.

anti_entropy_survives_omissions_test() ->
    Search = #{module => anti_entropy, options => #{exchanges => 4}, most => 3},
    #{executions := Executions, failing := Failing} = explore(Search),
    ?assert(Executions > 900),
    ?assertEqual(0, Failing).

%% Push-pull: what is left without the update is squared in each cycle, so that 64 nodes have it
%% after a few cycles more than the logarithm of their number.
anti_entropy_is_fast_test() ->
    World0 = world(anti_entropy, #{exchanges => 10}, 64),
    World = run(call(<<"n1">>, {broadcast, v}, World0)),
    ?assertEqual([], [N || N <- names(64), verify_world:delivered(N, World) =/= [v]]).

%% Rumor mongering.

rumors_are_delivered_once_test() ->
    Search = #{module => rumor_mongering, most => 2, decisions => [drop, duplicate, late]},
    ?assertMatch(#{failing := 0}, explore(Search)).

%% The paper's tables for 1,000 nodes: the share of them that a rumor misses, and messages per node.
%% Its cycles are synchronous, ours are not: a node may hear in a cycle what another has heard in
%% it. So a few more contacts with feedback are unnecessary here.
residue_test_() ->
    [
        {lists:concat([Table, " k ", K]), {timeout, 600, fun() ->
            {Missed, Sent} = spread(Options#{k => K}),
            ?assert(abs(Missed - Residue) =< 0.015 + Residue / 10),
            ?assert(abs(Sent - Traffic) =< 0.02 + Traffic / 10)
        end}}
     || {Table, Options, Rows} <- [
            {"feedback and counter", #{}, [
                {1, 0.18, 1.7}, {2, 0.037, 3.3}, {3, 0.011, 4.5}
            ]},
            {"blind and coin", #{feedback => false, interest => coin}, [
                {1, 0.96, 0.04}, {2, 0.205, 1.59}, {3, 0.060, 2.82}
            ]}
        ],
        {K, Residue, Traffic} <- Rows
    ].

spread(Options) ->
    Size = 1000,
    Rumors = [a, b],
    Results = [
        begin
            World0 = world(rumor_mongering, Options, Size, Seed),
            World = run(call(<<"n1">>, {broadcast, Rumor}, World0)),
            Missed = [N || N <- names(Size), verify_world:delivered(N, World) =:= []],
            Sent = [1 || {_, {message, {_, _, rumors, _}, _, _, _}} <- verify_world:trace(World)],
            {length(Missed) / Size, length(Sent) / Size}
        end
     || {Seed, Rumor} <- lists:zip(lists:seq(1, length(Rumors)), Rumors)
    ],
    {Missed, Sent} = lists:unzip(Results),
    {lists:sum(Missed) / length(Missed), lists:sum(Sent) / length(Sent)}.

%% Primary and backups.

primary_backup_is_two_host_resilient_test_() ->
    [
        ?_assertMatch(#{failing := 0}, explore(Search#{module => primary_backup, nodes => Nodes}))
     || Nodes <- [2, 3, 4],
        Search <- [
            #{most => 3},
            #{most => 2, decisions => [drop, late, duplicate, crash]},
            #{most => 3, decisions => [drop, crash], world => #{restart => 2500}}
        ]
    ].

%% The primary is lost, and the others are informed: an acknowledged update survives.
takeover_test_() ->
    [Primary | Others] = names(4),
    Scenario =
        [
            {0, <<"n4">>, {call, update, {update, key, value}}},
            {20000, <<"n2">>, {call, query, {query, key}}}
        ] ++ [{10000, Name, {members, Others}} || Name <- Others],
    Property = fun(World) ->
        Replies = [{Ref, Answer} || {_, Ref, Answer} <- verify_world:replies(World)],
        Lost = lists:member({update, ok}, Replies) andalso
            not lists:member({query, {ok, value}}, Replies),
        IsLost = [Name || Name <- names(4), not verify_world:is_up(Name, World)] =:= [Primary],
        case IsLost andalso Lost of
            true -> {violated, "an acknowledged update is lost"};
            false -> ok
        end
    end,
    ?_assertMatch(
        #{failing := 0},
        explore(#{
            module => primary_backup,
            decisions => [drop, late, crash],
            most => 2,
            scenario => Scenario,
            property => Property
        })
    ).

%% Every backup has the updates in the order in which the primary performed them.
order_test() ->
    Names = names(4),
    World0 = lists:foldl(
        fun({N, Name}, W) -> verify_world:inject(Name, {call, N, {update, key, N}}, W) end,
        world(primary_backup, #{}, 4),
        [{N, lists:nth(1 + N rem 4, Names)} || N <- lists:seq(1, 20)]
    ),
    World = run(World0),
    Histories = [primary_backup:history(verify_world:state(Name, World)) || Name <- Names],
    ?assertEqual(20, length(hd(Histories))),
    ?assertMatch([_], lists:usort(Histories)),
    ?assertEqual(20, length([ok || {_, _, ok} <- verify_world:replies(World)])).

a_single_host_is_not_resilient_test() ->
    World = run(call(<<"n1">>, {update, key, value}, world(primary_backup, #{}, 1))),
    ?assertMatch([{_, _, {error, not_resilient}}], verify_world:replies(World)).

an_update_of_a_previous_primary_test() ->
    % n1 sends its first update to n2 late; n2 has become the primary and given the number to
    % another update: it must not acknowledge that of n1.
    World0 = call(<<"n1">>, {update, key, old}, world(primary_backup, #{attempts => 1}, 3)),
    Late = [{{<<"n1">>, <<"n2">>, cooperate, 1}, late}],
    {World, []} = verify_schedule:run(Late, at_members(World0)),
    Replies = verify_world:replies(World),
    ?assertMatch({_, new, ok}, lists:keyfind(new, 2, Replies)),
    ?assertMatch({_, call, {error, timeout}}, lists:keyfind(call, 2, Replies)).

at_members(World) ->
    Members = {members, [<<"n2">>, <<"n3">>]},
    Informed = [verify_world_at(100, Name, Members) || Name <- [<<"n2">>, <<"n3">>]],
    Update = verify_world_at(200, <<"n3">>, {call, new, {update, key, new}}),
    lists:foldl(fun(Inject, W) -> Inject(W) end, World, Informed ++ [Update]).

verify_world_at(At, Name, Event) ->
    fun(World) -> verify_world:inject_at(At, Name, Event, World) end.

%% The quorum store.

quorum_kv_test_() ->
    [
        ?_assertMatch(#{failing := 0}, explore(Search#{module => quorum_kv}))
     || Search <- [
            #{nodes => 3, most => 4},
            #{nodes => 3, most => 3, decisions => [drop, late, duplicate, crash]},
            #{nodes => 5, most => 2}
        ]
    ].

%% Quorums of one do not intersect.
quorums_that_do_not_intersect_test() ->
    ?assertMatch(
        #{fewest := #{decisions := 1}},
        explore(#{
            module => quorum_kv, nodes => 3, options => #{read_quorum => 1, write_quorum => 1}
        })
    ).

a_proposal_that_is_too_old_is_refused_test() ->
    % n1 and n2 have three versions, of which n3 has none.
    [N1, N2, N3] = names(3),
    Lost = [{{N1, N3, propose, N}, drop} || N <- [1, 2, 3]],
    World0 = lists:foldl(
        fun({At, Name, N}, W) -> verify_world:inject_at(At, Name, {call, N, {write, x, N}}, W) end,
        world(quorum_kv, #{}, 3),
        [{0, N1, 1}, {10, N1, 2}, {20, N1, 3}, {30, N3, 4}, {40, N3, 5}]
    ),
    {World, []} = verify_schedule:run(Lost, World0),
    ?assertEqual(
        [{1, ok}, {2, ok}, {3, ok}, {4, {error, conflict}}, {5, ok}],
        [{Ref, Answer} || {_, Ref, Answer} <- verify_world:replies(World)]
    ),
    ?assertEqual(
        [[{x, 5}], [{x, 5}], [{x, 5}]],
        [quorum_kv:contents(verify_world:state(Name, World)) || Name <- [N1, N2, N3]]
    ).

%% A late reply to the request of an incarnation is none to that of the next.
incarnations_test() ->
    Options = #{self => <<"n1">>, members => names(3), seed => {1, 2, 3}},
    {First, [{persist, Persisted}]} = quorum_kv:init(Options),
    {_, Asked} = quorum_kv:handle({call, a, {read, x}}, First),
    [Id] = [Id || {send, <<"n2">>, {query, Id, x}} <- Asked],
    {Second, _} = quorum_kv:init(Options#{persisted => Persisted}),
    {Reading, _} = quorum_kv:handle({call, b, {read, y}}, Second),
    Late = {message, <<"n2">>, {value, Id, {1, <<"n2">>}, of_x}},
    ?assertEqual({Reading, []}, quorum_kv:handle(Late, Reading)).

%% Worlds.

names(Size) ->
    verify_execution:names(Size).

world(Module, Options, Size) ->
    world(Module, Options, Size, 1).

world(Module, Options, Size, Seed) ->
    verify_world:new(#{module => Module, nodes => names(Size), options => Options, seed => Seed}).

call(Name, Request, World) ->
    verify_world:inject(Name, {call, call, Request}, World).

run(World0) ->
    {World, none} = verify_world:run(fun(_Point, none) -> {deliver, none} end, none, World0),
    World.

%%% The key-value store under faults, in virtual time, and the planted bugs that the checker finds.
-module(ring_campaign_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

%% Campaigns, of which `make test-fast' runs a part; RING_CAMPAIGNS is another number.
-define(CAMPAIGNS, 200).
-define(QUICK_CAMPAIGNS, 30).

campaigns_test_() ->
    {timeout, 3600, fun() ->
        Reports = [report(Seed) || Seed <- lists:seq(1, campaigns())],
        % They have done something.
        ?assert(lists:sum([W || #{writes := W} <- Reports]) > 30 * campaigns()),
        ?assert(lists:sum([R || #{reads := R} <- Reports]) > 30 * campaigns())
    end}.

report(Seed) ->
    #{violations := Violations, settled := Settled} =
        Report = ring_campaign:run(#{seed => Seed}),
    ?assertEqual({Seed, [], true}, {Seed, Violations, Settled}),
    Report.

campaigns() ->
    case {os:getenv("RING_CAMPAIGNS"), os:getenv("QUICK")} of
        {[_ | _] = Count, _} -> list_to_integer(Count);
        {_, "1"} -> ?QUICK_CAMPAIGNS;
        {_, _} -> ?CAMPAIGNS
    end.

%% Two plans of one epoch, against the rule: one of them is lost, but no data, and the ring settles.
%% A holder once went on sending to the node of the plan that was lost (seed 353).
two_writers_test_() ->
    {timeout, 3600, fun() ->
        [
            begin
                {Faults, _} = ring_faults:random(10, rand:seed_s(exsss, {Seed, 8, 8})),
                Both = lists:append([both(F) || F <- Faults]),
                #{violations := Violations, settled := Settled} =
                    ring_campaign:run(#{seed => Seed, faults => Both}),
                ?assertEqual({Seed, [], true}, {Seed, Violations, Settled})
            end
         || Seed <- [353 | lists:seq(1, 20)]
        ]
    end}.

both({_, {plan, I}} = Fault) -> [Fault, {0, {rival_plan, I}}];
both(Fault) -> [Fault].

%% Courses in which nodes did not settle: pulls of a node that is lost took an index with them, and
%% a node that got an index back began from copies though another one served it.
settled_courses_test_() ->
    [
        {timeout, 600,
            ?_assertMatch(#{violations := [], settled := true}, ring_campaign:run(Course))}
     || Course <- [
            #{
                seed => 707,
                faults => [
                    {297, {delay, pull}},
                    {318, {trap, may_go, receiver, false}},
                    {256, {plan, 1}},
                    {269, {plan, 1}},
                    {299, {suspect, 0, 3}},
                    {672, {trap, store, sender, false}},
                    {72, heal}
                ]
            },
            #{
                seed => 4826,
                faults => [
                    {238, {cut, 4}},
                    {41, {kill, 1}},
                    {103, {plan, 1}},
                    {380, {cut, 0}},
                    {438, {plan, 0}},
                    {62, {plan, 2}},
                    {359, {kill, 3}},
                    {505, {plan, 1}}
                ]
            }
        ]
    ].

%% All transfers end if one at a time goes into and out of a node.
bounded_transfers_test_() ->
    {timeout, 3600, fun() ->
        _ = [
            ?assertMatch(
                {Seed, #{violations := [], settled := true}},
                {Seed, ring_campaign:run(#{seed => Seed, world => #{transfers => 1}})}
            )
         || Seed <- lists:seq(1, campaigns() div 2)
        ]
    end}.

%% With stand-ins: hinted writes are in the final state, unless their hints were lost with a node.
sloppy_campaigns_test_() ->
    {timeout, 3600, fun() ->
        Reports = [sloppy_report(Seed) || Seed <- lists:seq(1, campaigns() div 2)],
        ?assert(lists:sum([H || #{hinted := H} <- Reports]) > campaigns() div 4)
    end}.

sloppy_report(Seed) ->
    #{violations := Violations, settled := Settled} =
        Report = ring_campaign:run(#{seed => Seed, availability => sloppy}),
    ?assertEqual({Seed, [], true}, {Seed, Violations, Settled}),
    Report.

%% Any faults; PropEr looks for the fewest that do harm. Some combinations leave a partition
%% unavailable, but none may be wrong.
any_faults_test_() ->
    {timeout, 3600,
        ?_assert(
            proper:quickcheck(prop_any_faults(), [
                {numtests, campaigns() div 2}, {to_file, user}
            ])
        )}.

prop_any_faults() ->
    ?FORALL(
        {Seed, Faults, Availability, Transfers},
        {nat(), list(fault()), oneof([strict, sloppy]), oneof([1, infinity])},
        begin
            #{violations := Violations} = ring_campaign:run(#{
                seed => Seed,
                faults => Faults,
                availability => Availability,
                world => #{transfers => Transfers}
            }),
            ?WHENFAIL(io:format(user, "~p~n", [Violations]), Violations =:= [])
        end
    ).

fault() ->
    ?LET(
        {Delay, Seed},
        {integer(0, 400), integer()},
        begin
            {{_, Action}, _} = ring_faults:random(rand:seed_s(exsss, Seed)),
            {Delay, Action}
        end
    ).

%% Each planted bug is found, by its own kind of violation.
planted_bugs_test_() ->
    [
        {atom_to_list(Name),
            {timeout, 600,
                ?_assertMatch([_ | _], found(ring_mutants:load(Name), Kinds, course(Name), 1))}}
     || {Name, Kinds} <- [
            {vote_before_seal, [lost]},
            {dirty_writes_dropped, [lost]},
            {old_acknowledgement_counted, [lost]},
            {dot_reused, [dot_reused]},
            {write_executed_twice, [executed_twice]},
            {undelivered_hint_dropped, [lost]}
        ]
    ].

%% An acknowledgement is old if its replica is lost and rebuilt before the others have the write.
slow_writes_test_() ->
    {timeout, 3600, fun() ->
        _ = [
            ?assertMatch(
                {Seed, #{violations := []}},
                {Seed, ring_campaign:run((course(old_acknowledgement_counted))#{seed => Seed})}
            )
         || Seed <- lists:seq(1, campaigns() div 4)
        ]
    end}.

course(old_acknowledgement_counted) ->
    Once = [{300, {delay, store}}, {20, {trap, written, sender, true}}, {4000, heal}],
    #{
        faults => lists:append(lists:duplicate(8, Once)),
        mode => quorum,
        slowest => 6000,
        sessions => 20
    };
%% Long enough for a delivery to fail, on a side where no holder has the write.
course(undelivered_hint_dropped) ->
    Once = [[{0, {plan, 2}}, {500, {split, I}}, {1500, heal}] || I <- lists:seq(0, 4)],
    % A client that writes the key again would cover what was lost.
    #{availability => sloppy, faults => lists:append(Once), sessions => 20, keys => 100};
course(_) ->
    #{}.

%% The violations of the first campaign that has some of these kinds.
found(Modules, Kinds, Course, Seed) when Seed =< 400 ->
    #{violations := Violations} = ring_campaign:run(Course#{seed => Seed, modules => Modules}),
    case [V || {Kind, _, _} = V <- Violations, lists:member(Kind, Kinds)] of
        [] -> found(Modules, Kinds, Course, Seed + 1);
        Found -> Found
    end;
found(_Modules, _Kinds, _Course, _Seed) ->
    [].

%% With two of three replicas lost, the store refuses instead of answering that there is nothing.
two_lost_replicas_are_reported_test() ->
    World = settled(4711),
    Written = await_done(put, {put, <<"key">>, {value, 1}}, World),
    {{ok, _, _, _}, Before} = Written,
    Stopped = lists:foldl(fun ring_simulation:stop/2, Before, [<<"kv-0">>, <<"kv-1">>]),
    Restarted = lists:foldl(fun ring_simulation:start/2, Stopped, [<<"kv-0">>, <<"kv-1">>]),
    Later = ring_simulation:advance(ring_world:now(Restarted) + 5000, Restarted),
    ?assertEqual(1, ring_world_checks:strength([], Later)),
    {{error, unavailable}, _} = await_done(get, {get, <<"key">>}, Later).

settled(Seed) ->
    Names = [<<"kv-0">>, <<"kv-1">>, <<"kv-2">>],
    Empty = ring_world:new(#{seed => Seed, partitions => 6, replication => 3}),
    Started = lists:foldl(fun ring_simulation:start/2, Empty, Names),
    World = ring_simulation:advance(3000, ring_simulation:plan(Names, Started)),
    ?assert(ring_world_checks:is_settled(World)),
    World.

await_done(Id, Operation, World) ->
    Options = #{timeout => 2000},
    {true, Asked} = ring_world_requests:request(<<"kv-2">>, Id, Operation, Options, World),
    Later = ring_simulation:advance(ring_world:now(Asked) + 2500, Asked),
    {[{Id, Result}], Next} = ring_world:take_done(Later),
    {Result, Next}.

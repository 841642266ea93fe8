-module(verify_world_tests).

-include_lib("eunit/include/eunit.hrl").

-behaviour(partisan_process).

-export([init/1, handle/2]).

%% A process that obeys its caller.

init(Options) ->
    {maps:get(persisted, Options, fresh), maps:get(effects, Options, [])}.

handle({call, _Ref, {effects, Effects}}, State) -> {State, Effects};
handle({call, _Ref, {become, State}}, _State) -> {State, [{persist, State}]};
handle({call, _Ref, crash}, _State) -> error(ordered);
handle({call, _Ref, loop}, State) -> loop(State);
handle({call, _Ref, {return, Value}}, _State) -> Value;
handle({message, _From, {again, Effects}}, State) -> {State, Effects};
handle({message, _From, echo} = Echo, State) -> {State, [{send, element(2, Echo), echo}]};
handle(Event, State) -> {State, [{deliver, Event}]}.

loop(State) -> loop([State]).

world(Setup) ->
    Nodes = [<<"n1">>, <<"n2">>, <<"n3">>],
    verify_world:new(maps:merge(#{module => ?MODULE, nodes => Nodes}, Setup)).

world(Calls, Setup) ->
    Inject = fun({At, Name, Request}, W) ->
        verify_world:inject_at(At, Name, {call, ref, Request}, W)
    end,
    lists:foldl(Inject, world(Setup), Calls).

deliver(_Point, Acc) -> {deliver, Acc}.

finish(World0) ->
    {World, none} = verify_world:run(fun deliver/2, none, World0),
    World.

decide(Decision, World0) ->
    {choice, _Point, World} = verify_world:next(World0),
    finish(verify_world:choose(Decision, World)).

one_message() ->
    world([{0, <<"n1">>, {effects, [{send, <<"n2">>, {hello, 1}}]}}], #{}).

received(World) ->
    verify_world:delivered(<<"n2">>, World).

%% Decisions.

a_message_waits_for_its_decision_test() ->
    {choice, Point, World} = verify_world:next(one_message()),
    ?assertEqual({message, {<<"n1">>, <<"n2">>, hello, 1}, {hello, 1}}, Point),
    ?assertMatch({choice, Point, World}, verify_world:next(World)).

each_decision_does_what_it_says_test() ->
    Hello = {message, <<"n1">>, {hello, 1}},
    World = one_message(),
    ?assertEqual([Hello], received(decide(deliver, World))),
    ?assertEqual([], received(decide(drop, World))),
    ?assertEqual([Hello], received(decide(late, World))),
    ?assertEqual(3001, verify_world:now(decide(late, World))),
    ?assertEqual([Hello, Hello], received(decide(duplicate, World))),
    Corrupt = {corrupt, fun({hello, N}) -> {hello, -N} end},
    ?assertEqual([{message, <<"n1">>, {hello, -1}}], received(decide(Corrupt, World))).

a_schedule_repeats_an_execution_test() ->
    Nodes = [<<"n1">>, <<"n2">>, <<"n3">>],
    Run = fun(Schedule) ->
        World = verify_world:new(#{module => two_phase_commit, nodes => Nodes}),
        Call = {call, ref, {broadcast, value}},
        verify_schedule:run(Schedule, verify_world:inject(<<"n1">>, Call, World))
    end,
    Schedule = [
        {{<<"n1">>, <<"n2">>, prepare, 1}, late},
        {{<<"n2">>, <<"n1">>, abort_ack, 1}, duplicate},
        {{<<"n1">>, <<"n3">>, abort, 1}, drop}
    ],
    {World, []} = Run(Schedule),
    Met = verify_schedule:from_trace(verify_world:trace(World)),
    ?assertEqual(verify_schedule:canonical(Schedule), verify_schedule:canonical(Met)),
    {Again, []} = Run(Met),
    ?assertEqual(verify_world:digest(World), verify_world:digest(Again)),
    {Other, []} = Run(lists:droplast(Met)),
    ?assertNotEqual(verify_world:digest(World), verify_world:digest(Other)),
    Foreign = {{<<"n9">>, <<"n1">>, abort, 1}, drop},
    {_, Unmet} = Run([Foreign]),
    ?assertEqual([Foreign], Unmet).

rules_inject_a_schedule_test() ->
    Schedule = [
        {{<<"n1">>, <<"n2">>, precommit, 1}, late},
        {{<<"n1">>, <<"n3">>, abort, 1}, drop},
        {{<<"n1">>, <<"n3">>, prepare, 1}, duplicate},
        {{<<"n3">>, <<"n1">>, prepared, 1}, {corrupt, bit_flip}},
        {{crash, <<"n2">>, 2}, crash}
    ],
    New = fun(Setup) ->
        Nodes = [<<"n1">>, <<"n2">>, <<"n3">>],
        World = verify_world:new(Setup#{module => three_phase_commit, nodes => Nodes}),
        verify_world:inject(<<"n1">>, {call, ref, {broadcast, value}}, World)
    end,
    [
        begin
            {World, []} = verify_schedule:run(Steps, New(#{crashes => true})),
            Ruled = finish(verify_world:set_rules(verify_schedule:rules(Steps), New(#{}))),
            ?assertEqual(verify_world:outcome(World), verify_world:outcome(Ruled))
        end
     || Steps <- [[Step] || {Key, _} = Step <- Schedule, element(3, Key) =/= abort] ++
            [lists:sublist(Schedule, 2)]
    ].

%% Order and time.

a_message_to_oneself_is_the_next_event_test() ->
    Inner = {again, [{send, <<"n1">>, c}]},
    Sends = [{send, <<"n1">>, a}, {send, <<"n1">>, Inner}, {send, <<"n1">>, b}],
    Calls = [{0, <<"n1">>, {effects, Sends}}, {0, <<"n1">>, {effects, [{deliver, d}]}}],
    World = finish(world(Calls, #{})),
    Self = fun(Msg) -> {message, <<"n1">>, Msg} end,
    ?assertEqual([Self(a), Self(b), Self(c), d], verify_world:delivered(<<"n1">>, World)).

events_happen_in_the_order_of_their_times_test() ->
    Timers = [{start_timer, Ms, Ms} || Ms <- [5, 3, 0, 4]],
    World = finish(world([{0, <<"n1">>, {effects, Timers}}], #{})),
    Fired = [{timer, Ms} || Ms <- [0, 3, 4, 5]],
    ?assertEqual(Fired, verify_world:delivered(<<"n1">>, World)).

a_timer_restarts_and_stops_test() ->
    Calls = [
        {0, <<"n1">>, {effects, [{start_timer, a, 10}, {start_timer, b, 10}]}},
        {5, <<"n1">>, {effects, [{start_timer, a, 10}, {cancel_timer, b}, {cancel_timer, c}]}}
    ],
    World = finish(world(Calls, #{})),
    ?assertEqual([{timer, a}], verify_world:delivered(<<"n1">>, World)),
    ?assertEqual(15, verify_world:now(World)).

a_run_ends_at_its_time_test() ->
    World0 = world([{0, <<"n1">>, {effects, [{start_timer, a, 10}]}}], #{}),
    {World1, none} = verify_world:run_until(7, fun deliver/2, none, World0),
    ?assertEqual(7, verify_world:now(World1)),
    ?assertEqual([], verify_world:delivered(<<"n1">>, World1)),
    {World2, none} = verify_world:run_until(10, fun deliver/2, none, World1),
    ?assertEqual([{timer, a}], verify_world:delivered(<<"n1">>, World2)).

%% Crashes.

a_node_that_is_down_loses_messages_and_timers_test() ->
    Calls = [
        {0, <<"n2">>, {effects, [{start_timer, a, 1}]}},
        {0, <<"n1">>, {effects, [{send, <<"n2">>, hello}]}}
    ],
    {World, none} = verify_world:run_until(0, fun deliver/2, none, world(Calls, #{})),
    Down = finish(verify_world:crash(<<"n2">>, World)),
    ?assertEqual([], received(Down)),
    ?assertNot(verify_world:is_up(<<"n2">>, Down)),
    Lost = [Key || {1, {message, Key, hello, 0, lost}} <- verify_world:trace(Down)],
    ?assertEqual([{<<"n1">>, <<"n2">>, hello, 1}], Lost).

a_restarted_node_has_what_it_persisted_test() ->
    World = finish(world([{0, <<"n1">>, {become, wise}}], #{})),
    Restarted = verify_world:restart(<<"n1">>, verify_world:crash(<<"n1">>, World)),
    ?assertEqual(wise, verify_world:state(<<"n1">>, Restarted)),
    Other = verify_world:restart(<<"n2">>, verify_world:crash(<<"n2">>, World)),
    ?assertEqual(fresh, verify_world:state(<<"n2">>, Other)).

a_crash_precedes_any_event_test() ->
    Calls = [{0, <<"n1">>, {effects, [{send, <<"n2">>, hello}]}}],
    World0 = world(Calls, #{crashes => true, restart => 5}),
    {choice, {event, {crash, <<"n1">>, 1}}, World1} = verify_world:next(World0),
    Deliver = fun(World) -> verify_world:next(verify_world:choose(deliver, World)) end,
    {choice, {message, Key, hello}, World2} = Deliver(World1),
    {choice, {event, {crash, <<"n2">>, 1}}, World3} = Deliver(World2),
    {quiet, World} = verify_world:next(verify_world:choose(crash, World3)),
    ?assertEqual([], received(World)),
    ?assert(verify_world:is_up(<<"n2">>, World)),
    Expected = [
        {1, {message, Key, hello, 0, lost}}, {1, {crash, <<"n2">>, 1}}, {6, {restart, <<"n2">>}}
    ],
    ?assertEqual(Expected, tl(verify_world:trace(World))).

%% Failures of the process itself.

a_callback_that_fails_ends_the_world_test() ->
    Failure = fun(Request, Setup) ->
        verify_world:error(finish(world([{0, <<"n1">>, Request}], Setup)))
    end,
    Crash = Failure(crash, #{}),
    ?assertMatch({crashed, <<"n1">>, {call, ref, crash}, error, ordered, [_ | _]}, Crash),
    ?assertMatch(
        {crashed, _, _, error, {bad_return_value, nonsense}, _}, Failure({return, nonsense}, #{})
    ),
    ?assertMatch({crashed, _, _, error, {bad_effect, bang}, _}, Failure({effects, [bang]}, #{})),
    Atom = {send, n2, hello},
    ?assertMatch({crashed, _, _, error, {bad_effect, Atom}, _}, Failure({effects, [Atom]}, #{})),
    Loops = {looping, <<"n1">>, {call, ref, loop}},
    ?assertEqual(Loops, Failure(loop, #{guard => true, reductions => 100000})),
    ?assertEqual(none, Failure({effects, []}, #{guard => true})).

an_endless_exchange_is_a_loop_test() ->
    Echo = {effects, [{send, <<"n1">>, echo}]},
    World = finish(world([{0, <<"n1">>, Echo}], #{})),
    ?assertEqual({looping, <<"n1">>, {message, <<"n1">>, echo}}, verify_world:error(World)),
    Pong = {effects, [{send, <<"n2">>, echo}]},
    Endless = finish(world([{0, <<"n1">>, Pong}], #{events => 1000})),
    ?assertMatch({looping, _, events}, verify_world:error(Endless)).

%% Values.

maps_of_any_size_and_order_have_one_digest_test() ->
    Large = [{N, {N, #{N => N}}} || N <- lists:seq(1, 100)],
    Digest = verify_digest:term(maps:from_list(Large)),
    ?assertEqual(Digest, verify_digest:term(maps:from_list(lists:reverse(Large)))),
    % The same on every release.
    Hex = binary:encode_hex(verify_digest:term(#{a => [1, 2]})),
    ?assertEqual(<<"D38B7932E0DA307885E726831C1D652F">>, Hex).

equal_situations_test() ->
    World = one_message(),
    {choice, _Point, Waiting} = verify_world:next(World),
    Dropped = verify_world:choose(drop, Waiting),
    Delivered = verify_world:choose(deliver, Waiting),
    ?assertNotEqual(verify_world:situation(Dropped), verify_world:situation(Delivered)),
    Nothing = finish(world([{0, <<"n1">>, {effects, []}}], #{})),
    ?assertEqual(verify_world:situation(Nothing), verify_world:situation(Dropped)).

the_queue_is_a_sorted_list_test() ->
    Random = fun(N) -> {erlang:phash2({time, N}, 20), N, {value, N}} end,
    Events = [Random(N) || N <- lists:seq(1, 200)],
    Insert = fun({Time, N, Value}, Queue) -> verify_queue:insert(Time, N, Value, Queue) end,
    Queue = lists:foldl(Insert, verify_queue:new(), Events),
    ?assertEqual(lists:sort(Events), verify_queue:to_list(Queue)),
    ?assertEqual(lists:sort(Events), taken(Queue)).

taken(Queue) ->
    case verify_queue:take(Queue) of
        empty -> [];
        {Time, Number, Value, Rest} -> [{Time, Number, Value} | taken(Rest)]
    end.

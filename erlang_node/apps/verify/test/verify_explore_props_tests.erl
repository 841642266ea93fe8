%% Property tests of the explorer, with processes of random behaviour.
-module(verify_explore_props_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-export([program/0]).

-define(STATES, 2).
-define(LIMIT, 1000).

explorer_test_() ->
    Options = [{to_file, user}, {numtests, 60}],
    [
        {timeout, 600, ?_assert(proper:quickcheck(Property, Options))}
     || Property <- [
            prop_the_tree_is_brute_force(),
            prop_merging_finds_the_same_outcomes(),
            prop_symmetric_outcomes_are_the_same_up_to_names()
        ]
    ].

%% The number of executions and their outcomes are those of enumerating the sequences of decisions,
%% each run from the beginning.
prop_the_tree_is_brute_force() ->
    ?FORALL({Program, Decisions}, {program(), decisions()}, begin
        Search = search(Program, #{decisions => Decisions}),
        {#{executions := Executions, complete := Complete}, Outcomes} = explored(Search),
        not Complete orelse begin
            Enumerated = enumerate(verify_search:complete(Search)),
            Executions =:= length(Enumerated) andalso Outcomes =:= lists:usort(Enumerated)
        end
    end).

prop_merging_finds_the_same_outcomes() ->
    Generator = {program(), decisions(), oneof([2, infinity]), world()},
    ?FORALL({Program, Decisions, Most, World}, Generator, begin
        Search = search(Program, #{decisions => Decisions, most => Most, world => World}),
        {#{complete := Complete, executions := All}, Outcomes} = explored(Search),
        not Complete orelse begin
            {#{executions := Fewer}, Merged} = explored(Search#{merge => true}),
            Merged =:= Outcomes andalso Fewer =< All
        end
    end).

prop_symmetric_outcomes_are_the_same_up_to_names() ->
    ?FORALL({Program, Decisions}, {symmetric_program(), decisions([drop, late, duplicate])}, begin
        Search = search(Program, #{decisions => Decisions}),
        {#{complete := Complete, executions := All}, Outcomes} = explored(Search),
        not Complete orelse begin
            {#{executions := Fewer}, Symmetric} = explored(Search#{order => symmetric}),
            Classes = fun(Of) -> lists:usort([[F | lists:sort(Others)] || [F | Others] <- Of]) end,
            Classes(Symmetric) =:= Classes(Outcomes) andalso Fewer =< All
        end
    end).

%% Generators.

%% A horizon ends equal situations at different distances.
world() ->
    ?LET(
        {Horizon, Restart},
        {oneof([infinity, 12, 20]), oneof([never, 3])},
        #{horizon => Horizon, restart => Restart, late => 10}
    ).

decisions() ->
    decisions([drop, late, duplicate, crash]).

decisions(Kinds) ->
    ?LET(Some, non_empty(list(oneof(Kinds))), lists:usort(Some)).

program() ->
    ?LET(
        Rules,
        list({{state(), oneof([m1, m2, timer])}, {state(), list(action())}}),
        (maps:from_list(Rules))#{{0, start} => {0, [{all, m1}]}}
    ).

%% The order of simultaneous messages is by name. With one state it does not matter.
symmetric_program() ->
    ?LET(Program, program(), maps:map(fun(_, {_, Actions}) -> {0, Actions} end, Program)).

state() -> integer(0, ?STATES - 1).

action() -> oneof([{all, m2}, {back, m1}, {back, m2}, timer, deliver, persist]).

%% Helpers.

search(Program, Further) ->
    Self = self(),
    maps:merge(
        #{
            module => verify_random_process,
            nodes => 3,
            options => #{program => Program},
            executions => ?LIMIT,
            property => fun(World) ->
                Self ! {outcome, outcome(World)},
                ok
            end
        },
        Further
    ).

%% By node, the first is the one that the scenario calls.
outcome(World) ->
    [
        {verify_world:delivered(Name, World), seen(verify_world:state(Name, World))}
     || Name <- verify_world:nodes(World)
    ].

seen(#{state := State, handled := Handled}) -> {State, lists:sort(maps:values(Handled))};
seen(undefined) -> down.

explored(Search) ->
    Result = verify_explore:run(Search),
    {Result, lists:usort(outcomes())}.

outcomes() ->
    receive
        {outcome, Outcome} -> [Outcome | outcomes()]
    after 0 -> []
    end.

%% Every sequence of choices, as numbers, run from the beginning: the odometer is incremented at the
%% end of the last sequence.
enumerate(#{decisions := Kinds} = Search) ->
    Message = [deliver | lists:delete(crash, Kinds)],
    Event = [deliver | [crash || lists:member(crash, Kinds)]],
    enumerate([], {Message, Event}, verify_search:world(Search)).

enumerate(Choices, {Message, Event} = Kinds, World0) ->
    Decide = fun(Point, {Left, Taken}) ->
        Offered =
            case Point of
                {message, _, _} -> Message;
                {event, _} -> Event
            end,
        {Choice, Rest} =
            case Left of
                [] -> {1, []};
                [Next | Later] -> {Next, Later}
            end,
        {lists:nth(Choice, Offered), {Rest, [{Choice, length(Offered)} | Taken]}}
    end,
    {World, {[], Taken}} = verify_world:run(Decide, {Choices, []}, World0),
    case lists:dropwhile(fun({Choice, Offered}) -> Choice =:= Offered end, Taken) of
        [] ->
            [outcome(World)];
        [{Choice, _} | Before] ->
            Next = lists:reverse([Choice + 1 | [Earlier || {Earlier, _} <- Before]]),
            [outcome(World) | enumerate(Next, Kinds, World0)]
    end.

%%% @doc One execution of a model: steps run in a world of virtual time, and the model judges their
%%% results.
%%%
%%% Deterministic: equal configurations and steps have equal results. A step that is not allowed at
%%% its turn, by the model's precondition or by the tolerance of faults, is skipped, so that every
%%% list of steps is an execution.
-module(verify_execution).

-export([run/2]).
-export([generate/3]).
-export([new/1]).
-export([take/2]).
-export([finish/1]).
-export([steps/1]).
-export([results/1]).
-export([outcome/1]).
-export([world/1]).
-export([generated/1]).
-export([names/1]).

-type name() :: partisan_process:name().

%% `nodes': their number. `seed': of the nodes' random generators. `wait': milliseconds for an
%% answer; `settle': milliseconds after the end of all faults until the final check. `guard' (true):
%% whether a callback that loops is stopped.
-type configuration() :: #{
    model := module(),
    nodes := pos_integer(),
    options := map(),
    seed := integer(),
    tolerance := non_neg_integer(),
    faults := [verify_faults:kind()],
    wait := pos_integer(),
    settle := pos_integer(),
    guard => boolean(),
    _ => _
}.

-type outcome() :: passed | {failed, postcondition | final | crash | loop, Description :: binary()}.

-record(execution, {
    nodes :: [name()],
    module :: module(),
    wait :: pos_integer(),
    settle :: pos_integer(),
    model :: verify_model:model(),
    faults :: verify_faults:t(),
    world :: verify_world:t(),
    calls = 0 :: non_neg_integer(),
    % Newest first, with the model before the step.
    taken = [] :: [{verify_model:step(), verify_model:result(), verify_model:model()}],
    outcome = passed :: outcome()
}).

-opaque t() :: #execution{}.
-export_type([t/0, configuration/0, outcome/0]).

%% Draws in vain before an execution ends early: no step seems possible any more.
-define(DRAWS, 30).
%% Commands are drawn so much more often than faults.
-define(COMMANDS, 3).

%% @doc Runs these steps, up to the first that fails.
-spec run(configuration(), [verify_model:step()]) -> t().
run(Configuration, Steps) ->
    finish(lists:foldl(fun take/2, new(Configuration), Steps)).

%% @doc Runs that many random steps at most, up to the first that fails.
-spec generate(configuration(), Length :: non_neg_integer(), rand:state()) -> t().
generate(Configuration, Length, Random) ->
    finish(draw(Length, ?DRAWS, Random, new(Configuration))).

%% @doc An execution without a step. The nodes are n1, n2 ...
-spec new(configuration()) -> t().
new(#{model := Module, nodes := Size, options := Options, seed := Seed} = Configuration) ->
    #{tolerance := Tolerance, faults := Kinds, wait := Wait, settle := Settle} = Configuration,
    Nodes = names(Size),
    #{module := Process, options := Given} = Module:process(Nodes, Options),
    #execution{
        nodes = Nodes,
        module = Module,
        wait = Wait,
        settle = Settle,
        model = Module:initial(Nodes),
        faults = verify_faults:new(Nodes, Tolerance, Kinds, verify_model:custom_faults(Module)),
        world = verify_world:new(#{
            module => Process,
            nodes => Nodes,
            options => Given,
            seed => Seed,
            guard => maps:get(guard, Configuration, true)
        })
    }.

%% @doc Takes a step if it is allowed.
-spec take(verify_model:step(), t()) -> t().
take(Step, #execution{} = E) ->
    case is_allowed(Step, E) of
        true -> taken(Step, E);
        false -> E
    end.

%% @doc Ends all faults, lets the cluster settle and checks its final state. No-op after a failure.
-spec finish(t()) -> t().
finish(#execution{outcome = passed, faults = Faults, module = Module, model = Model} = E0) ->
    {Rules, Actions, Resolved} = verify_faults:inject({fault, resolve_all, []}, Faults),
    E1 = act(Actions, ruled(Rules, E0#execution{faults = Resolved})),
    World = run_until(verify_world:now(E1#execution.world) + E1#execution.settle, E1),
    E = checked(E1#execution{world = World}),
    case E of
        #execution{outcome = passed} ->
            judged(final, Module:final(Model, verify_world:states(World)), E);
        #execution{} ->
            E
    end;
finish(#execution{} = E) ->
    E.

%% @doc The steps taken, in order.
-spec steps(t()) -> [verify_model:step()].
steps(#execution{taken = Taken}) ->
    [Step || {Step, _, _} <- lists:reverse(Taken)].

%% @doc The steps taken with their results, in order.
-spec results(t()) -> [{verify_model:step(), verify_model:result()}].
results(#execution{taken = Taken}) ->
    [{Step, Result} || {Step, Result, _} <- lists:reverse(Taken)].

%% @doc Whether a step or the final state violated the model, or a node failed.
-spec outcome(t()) -> outcome().
outcome(#execution{outcome = Outcome}) ->
    Outcome.

%% @doc The world as it is, for its trace.
-spec world(t()) -> verify_world:t().
world(#execution{world = World}) ->
    World.

%% @doc The steps taken, in order, with the generators of their arguments.
-spec generated(t()) -> [{verify_model:step(), [verify_generate:generator()]}].
generated(#execution{taken = Taken} = E) ->
    [{Step, generators(Step, Model, E)} || {Step, _, Model} <- lists:reverse(Taken)].

%% @doc The names of that many nodes.
-spec names(pos_integer()) -> [name()].
names(Size) ->
    [iolist_to_binary(["n", integer_to_list(Number)]) || Number <- lists:seq(1, Size)].

%% Internals: steps.

is_allowed(_Step, #execution{outcome = {failed, _, _}}) ->
    false;
is_allowed({fault, _, _} = Fault, #execution{faults = Faults}) ->
    verify_faults:allows(Fault, Faults);
is_allowed(Command, #execution{module = Module, model = Model, world = World}) ->
    Module:precondition(Model, Command) andalso
        lists:all(
            fun(Action) -> verify_world:is_up(element(2, Action), World) end,
            Module:perform(Model, Command)
        ).

taken({fault, _, _} = Fault, #execution{faults = Faults} = E0) ->
    {Rules, Actions, Injected} = verify_faults:inject(Fault, Faults),
    E = act(Actions, ruled(Rules, E0#execution{faults = Injected})),
    noted(Fault, ok, checked(E));
taken(Command, #execution{module = Module, model = Model} = E0) ->
    Actions = Module:perform(Model, Command),
    E1 = act(Actions, E0),
    Result =
        case lists:reverse(Actions) of
            [{call, _, _} | _] -> answer(E1);
            _ -> ok
        end,
    case checked(noted(Command, Result, E1)) of
        #execution{outcome = passed} = E ->
            judged(postcondition, Module:postcondition(Model, Command, Result), E);
        E ->
            E
    end.

noted(Step, Result, #execution{module = Module, model = Model, taken = Taken} = E) ->
    E#execution{
        model = Module:next(Model, Step, Result), taken = [{Step, Result, Model} | Taken]
    }.

judged(Callback, Verdict, E) ->
    case verify_model:verdict(Callback, Verdict) of
        ok -> E;
        {violated, Text} -> failed(Callback, Text, E)
    end.

%% A callback of a node that crashes or loops fails the execution.
checked(#execution{outcome = passed, world = World} = E) ->
    case verify_world:error(World) of
        none ->
            E;
        {crashed, Name, Event, Class, Reason, _Stack} ->
            Arguments = [Name, Class, Reason, 12, Event, 12],
            failed(crash, io_lib:format("~ts crashes with ~ts:~0tP on ~0tP", Arguments), E);
        {looping, Name, Event} ->
            failed(loop, io_lib:format("~ts loops on ~0tP", [Name, Event, 12]), E)
    end;
checked(E) ->
    E.

failed(Kind, Text, E) ->
    E#execution{outcome = {failed, Kind, unicode:characters_to_binary(Text)}}.

%% Internals: the world.

act(Actions, #execution{} = E) ->
    Acted = lists:foldl(fun act_one/2, E, Actions),
    % What happens at once.
    Acted#execution{world = run_until(verify_world:now(Acted#execution.world), Acted)}.

act_one({event, Name, Event}, #execution{world = World} = E) ->
    E#execution{world = verify_world:inject(Name, Event, World)};
act_one({call, Name, Request}, #execution{world = World, calls = Calls} = E0) ->
    Ref = Calls + 1,
    Now = verify_world:now(World),
    % Clients have a latency as nodes have: time passes even if the node answers at once.
    Called = verify_world:inject_at(Now + 1, Name, {call, Ref, Request}, World),
    E = E0#execution{calls = Ref, world = Called},
    E#execution{world = await(Name, Ref, Now + E#execution.wait, E)};
act_one({crash, Name}, #execution{world = World} = E) ->
    E#execution{world = verify_world:crash(Name, World)};
act_one({forget, Name}, #execution{world = World} = E) ->
    E#execution{world = verify_world:forget(Name, World)};
act_one({restart, Name}, #execution{world = World} = E) ->
    E#execution{world = verify_world:restart(Name, World)}.

ruled(Rules, #execution{world = World} = E) ->
    E#execution{world = verify_world:set_rules(Rules, World)}.

%% Stops at the answer, so that what comes after it is under way at the next command.
await(Name, Ref, Deadline, #execution{world = World} = E) ->
    Now = verify_world:now(World),
    % A number is less than any atom.
    Next = min(Deadline, verify_world:next_at(World)),
    IsOver = is_answered(Ref, World) orelse Now >= Deadline orelse
        verify_world:error(World) =/= none orelse not verify_world:is_up(Name, World),
    case IsOver of
        true -> World;
        false -> await(Name, Ref, Deadline, E#execution{world = run_until(Next, E)})
    end.

is_answered(Ref, World) ->
    lists:keymember(Ref, 2, verify_world:replies(World)).

answer(#execution{calls = Ref, world = World}) ->
    case lists:keyfind(Ref, 2, verify_world:replies(World)) of
        {_, Ref, Answer} -> Answer;
        false -> timeout
    end.

run_until(At, #execution{world = World}) ->
    {Run, none} = verify_world:run_until(At, fun(_Point, none) -> {deliver, none} end, none, World),
    Run.

%% Internals: generation.

draw(0, _Draws, _Random, E) ->
    E;
draw(_Length, 0, _Random, E) ->
    E;
draw(_Length, _Draws, _Random, #execution{outcome = {failed, _, _}} = E) ->
    E;
draw(Length, Draws, Random0, #execution{} = E) ->
    case choices(E) of
        [] ->
            E;
        Choices ->
            {Chosen, Random1} = verify_generate:weighted(Choices, Random0),
            {Step, Random} = drawn(Chosen, E#execution.nodes, Random1),
            case is_allowed(Step, E) of
                true -> draw(Length - 1, ?DRAWS, Random, taken(Step, E));
                false -> draw(Length, Draws - 1, Random, E)
            end
    end.

choices(#execution{module = Module, model = Model, faults = Faults}) ->
    Commands = [{?COMMANDS * Weight, Command} || {Weight, Command} <- Module:commands(Model)],
    Commands ++ verify_faults:choices(Faults).

drawn({fault, Name, Generators}, Nodes, Random0) ->
    {Arguments, Random} = verify_generate:values(Generators, Nodes, Random0),
    {{fault, Name, Arguments}, Random};
drawn({Name, Generators}, Nodes, Random0) ->
    {Arguments, Random} = verify_generate:values(Generators, Nodes, Random0),
    {{Name, Arguments}, Random}.

generators({fault, Name, _}, _Model, #execution{faults = Faults}) ->
    verify_faults:generators(Name, Faults);
generators({Name, _}, Model, #execution{module = Module}) ->
    hd([Generators || {_, {Known, Generators}} <- Module:commands(Model), Known =:= Name]).

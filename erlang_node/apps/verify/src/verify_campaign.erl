%%% @doc A campaign: random executions of a model, and a minimal counterexample of each kind that is
%%% found.
%%%
%%% ```
%%% verify_campaign:run(#{model => quorum_kv_strong, executions => 100, seed => 1}).
%%% '''
%%%
%%% Each execution is drawn from the seed and its number alone, so that campaigns of the same seed
%%% are equal, and the executions of a campaign can be divided among several (`first').
-module(verify_campaign).

-export([check/1]).
-export([run/1]).
-export([replay/1]).
-export([shrink/2]).

%% `model' is required; the others with their defaults:
%% `executions' (100), `first' (1): their numbers; `seed' (1); `nodes' (3).
%% `tolerance' (1): nodes that may be faulty at a time; `faults' (the model's): kinds of faults.
%% `length' (24): steps of an execution at most. `options' (#{}): of the model's process.
%% `counterexamples' (8): that many failures at most are shrunk; the rest are counted.
%% `wait' (5,000), `settle' (30,000): milliseconds of {@link verify_execution}.
%% `progress': called after each execution with the numbers executed and failed.
-type configuration() :: #{
    model := module(),
    executions => non_neg_integer(),
    first => pos_integer(),
    seed => integer(),
    nodes => pos_integer(),
    tolerance => non_neg_integer(),
    faults => [verify_faults:kind()],
    length => pos_integer(),
    options => map(),
    counterexamples => non_neg_integer(),
    wait => pos_integer(),
    settle => pos_integer(),
    progress => fun((Executed :: non_neg_integer(), Failed :: non_neg_integer()) -> term())
}.

%% All that a replay needs: small, printable data.
-type counterexample() :: #{
    model := module(),
    nodes := pos_integer(),
    tolerance := non_neg_integer(),
    faults := [verify_faults:kind()],
    options := map(),
    wait := pos_integer(),
    settle := pos_integer(),
    % Of the nodes' random generators.
    seed := integer(),
    steps := [{verify_model:step(), verify_model:result()}],
    kind := postcondition | final | crash | loop,
    violated := binary()
}.

-type report() :: #{
    executions := non_neg_integer(),
    passed := non_neg_integer(),
    failed := non_neg_integer(),
    % Different ones, the shortest first.
    counterexamples := [counterexample()]
}.

-export_type([configuration/0, counterexample/0, report/0]).

-define(DEFAULTS, #{
    executions => 100,
    first => 1,
    seed => 1,
    nodes => 3,
    tolerance => 1,
    length => 24,
    options => #{},
    counterexamples => 8,
    wait => 5000,
    settle => 30000,
    progress => fun(_, _) -> ok end
}).

%% @doc Whether a campaign can run; otherwise the description names the field and the fix.
-spec check(configuration()) -> ok | {error, Description :: string()}.
check(#{model := Module} = Given) when is_atom(Module) ->
    Fields = [model, faults | lists:sort(maps:keys(?DEFAULTS))],
    case {lists:sort(maps:keys(Given)) -- Fields, verify_model:check(Module)} of
        {[Unknown | _], _} -> refused("`~tp` is unknown; there are ~0tp", [Unknown, Fields]);
        {[], ok} -> check_values(completed(Given));
        {[], Error} -> Error
    end;
check(_) ->
    refused("`model` is missing; name a module with the behaviour verify_model", []).

%% @doc Runs a campaign. Raises `{invalid_campaign, Description}'.
-spec run(configuration()) -> report().
run(Given) ->
    case check(Given) of
        ok ->
            Limits = #{progress => none, executions => infinity, deadline => infinity},
            Configuration = completed(Given),
            {Report, _Memory} = verify_watch:run(fun(W) -> executed(Configuration, W) end, Limits),
            Report;
        {error, Description} ->
            error({invalid_campaign, Description})
    end.

%% @doc Runs the steps of a counterexample again. Are results and violation the same? With the
%% execution.
-spec replay(counterexample()) -> {same | different, verify_execution:t()}.
replay(#{steps := Steps, kind := Kind, violated := Violated} = Counterexample) ->
    Execution = verify_execution:run(Counterexample, [Step || {Step, _} <- Steps]),
    case {verify_execution:results(Execution), verify_execution:outcome(Execution)} of
        {Steps, {failed, Kind, Violated}} -> {same, Execution};
        _ -> {different, Execution}
    end.

%% @doc A minimal counterexample with the failure of this execution. 1-minimal: without any one of
%% its steps there is no failure of its kind.
-spec shrink(verify_execution:configuration(), verify_execution:t()) -> counterexample().
shrink(Configuration, Failed) ->
    shrink(Configuration, Failed, fun() -> ok end).

%% Internals.

shrink(Configuration, Failed, Began) ->
    {failed, Kind, _} = verify_execution:outcome(Failed),
    Run = fun(Steps) ->
        _ = Began(),
        verify_execution:run(Configuration, Steps)
    end,
    Fails = fun(Steps) ->
        Execution = Run(Steps),
        case verify_execution:outcome(Execution) of
            {failed, Kind, _} -> {true, verify_execution:steps(Execution)};
            _ -> false
        end
    end,
    Nodes = verify_execution:names(maps:get(nodes, Configuration)),
    Simpler = fun(Steps) ->
        verify_simplify:simpler(verify_execution:generated(Run(Steps)), Nodes)
    end,
    Minimal = Run(verify_shrink:minimal(Fails, Simpler, verify_execution:steps(Failed))),
    {failed, Kind, Violated} = verify_execution:outcome(Minimal),
    Kept = maps:with([model, nodes, tolerance, faults, options, wait, settle, seed], Configuration),
    Kept#{steps => verify_execution:results(Minimal), kind => Kind, violated => Violated}.

executed(#{first := First, executions := Executions} = Configuration, Worker) ->
    Report = #{executions => 0, passed => 0, failed => 0, counterexamples => []},
    executed(First, First + Executions, Configuration, Worker, Report).

%% A list of the numbers might not fit into the worker's heap.
executed(End, End, _Configuration, _Worker, Report) ->
    Report;
executed(Number, End, Configuration, Worker, Report) ->
    Next = execute(Number, Configuration, Worker, Report),
    executed(Number + 1, End, Configuration, Worker, Next).

execute(Number, Configuration0, Worker, #{executions := Executed} = R) ->
    #{passed := Passed, failed := Failed} = R,
    #{seed := Seed, length := Length, progress := Progress} = Configuration0,
    % Hashed, since the generator's seeding does not tell {1, 2} from some other small numbers.
    [Drawn, Other, OfNodes] = [erlang:phash2({Seed, Number, N}, 1 bsl 32) || N <- [1, 2, 3]],
    Random = rand:seed_s(exsss, {Drawn, Other, 0}),
    Guard = verify_watch:is_guarded(Executed, Worker),
    Configuration = Configuration0#{seed := OfNodes, guard => Guard},
    Execution = verify_execution:generate(Configuration, Length, Random),
    Report =
        case verify_execution:outcome(Execution) of
            passed -> R#{passed := Passed + 1};
            {failed, _, _} -> found(Configuration, Execution, Worker, R#{failed := Failed + 1})
        end,
    #{failed := FailedNow} = Report,
    continue = verify_watch:count(Executed + 1, FailedNow, Worker),
    _ = Progress(Executed + 1, FailedNow),
    Report#{executions := Executed + 1}.

found(#{counterexamples := Most}, _, _, #{failed := Failed} = Report) when Failed > Most ->
    Report;
found(Configuration, Execution, Worker, #{counterexamples := Known} = Report) ->
    Began = fun() -> verify_watch:merged(Worker) end,
    #{steps := Steps} = Counterexample = shrink(Configuration, Execution, Began),
    case [Same || #{steps := Same} <- Known, Same =:= Steps] of
        [] -> Report#{counterexamples := lists:sort(fun is_shorter/2, [Counterexample | Known])};
        [_] -> Report
    end.

is_shorter(#{steps := A}, #{steps := B}) ->
    {length(A), A} =< {length(B), B}.

completed(#{model := Module} = Given) ->
    Faults = #{faults => verify_model:default_faults(Module)},
    maps:merge(maps:merge(?DEFAULTS, Faults), Given).

check_values(#{model := Module, nodes := Nodes, tolerance := Tolerance, faults := Faults} = C) ->
    Custom = [Name || #{name := Name} <- verify_model:custom_faults(Module)],
    Kinds = verify_faults:kinds() ++ Custom,
    Least = fun(Name, Number) ->
        #{Name := Value} = C,
        Wanted = io_lib:format("an integer from ~b on", [Number]),
        {Name, is_integer(Value) andalso Value >= Number, Wanted}
    end,
    Fields =
        [Least(Name, 0) || Name <- [executions, tolerance, counterexamples]] ++
            [Least(Name, 1) || Name <- [first, nodes, length, wait, settle]] ++
            [
                {nodes, Nodes =< 64, "64 at most"},
                {tolerance, Tolerance < Nodes, "less than `nodes`"},
                {faults, are_some(Faults, Kinds),
                    io_lib:format("some of ~0tp", [Kinds])},
                {seed, is_integer(map_get(seed, C)), "an integer"},
                {options, is_map(map_get(options, C)), "a map"},
                {progress, is_function(map_get(progress, C), 2), "a function of two numbers"}
            ],
    case [{Name, Wanted} || {Name, false, Wanted} <- Fields] of
        [] -> ok;
        [{Name, Wanted} | _] -> refused("`~ts` is ~0tp; give ~ts", [Name, map_get(Name, C), Wanted])
    end.

%% An improper list is none.
are_some([Fault | Faults], Kinds) -> lists:member(Fault, Kinds) andalso are_some(Faults, Kinds);
are_some(End, _Kinds) -> End =:= [].

refused(Format, Arguments) ->
    {error, lists:flatten(io_lib:format(Format, Arguments))}.

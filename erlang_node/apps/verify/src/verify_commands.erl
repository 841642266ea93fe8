%%% @doc The commands of `partisan_verify' that search: `explore', `orders', `own' and `check'.
-module(verify_commands).

-export([explore/1]).
-export([orders/1]).
-export([own/1]).
-export([check/1]).

-import(verify_cli, [deadline/1, loaded/1, module/2, parsed/2, progress/1, refused/1, report/3]).
-import(verify_cli, [has_directory/1, written/2]).

%% @doc Explores the schedules of a protocol.
-spec explore([string()]) -> verify_cli:status().
explore(Arguments) ->
    explore_with(parsed(Arguments, explore_options())).

%% @doc Explores the orders of deliveries of a protocol.
-spec orders([string()]) -> verify_cli:status().
orders(Arguments) ->
    orders_with(parsed(Arguments, orders_options())).

%% @doc Searches through a protocol of the runtime.
-spec own([string()]) -> verify_cli:status().
own(Arguments) ->
    own_with(parsed(Arguments, own_options())).

%% @doc Runs a campaign of a model.
-spec check([string()]) -> verify_cli:status().
check(Arguments) ->
    check_with(parsed(Arguments, check_options())).

%% Internals.

explore_options() ->
    #{
        nodes => {integer, 1, 64, 4},
        scope => {one_of, [raw, base, recursive], recursive},
        order => {one_of, [distinct, symmetric], distinct},
        decisions => {some_of, [drop, late, duplicate, corrupt, crash], [drop]},
        inert => {one_of, [none, learn], none},
        merge => flag,
        restart => {integer, 0, infinity, never},
        % Virtual milliseconds: what repeats for ever has no end.
        horizon => {integer, 1, infinity, 10000},
        options => {term, fun is_map/1, "a map of Erlang, #{key => value}", #{}},
        most => {integer, 0, infinity, infinity},
        executions => {integer, 1, infinity, infinity},
        seconds => {integer, 1, infinity, infinity},
        out => {text, "."},
        code => {text, none},
        json => flag
    }.

explore_with({[Subject], #{decisions := Kinds, out := Out} = Options}) ->
    true = has_directory(Options),
    Module = module(Subject, Options),
    Hosted = loaded(verify_host:load(Module)),
    Given = (maps:with([nodes, scope, order, merge, options, most, executions], Options))#{
        module => Module,
        world => maps:with([restart, horizon], Options),
        decisions => [decision(Kind) || Kind <- Kinds],
        inert => inert(Options),
        deadline => deadline(Options)
    },
    Result = verify_explore:run(Given#{module := Hosted, progress => progress(Options)}),
    Files = [written(Out, Counterexample) || Counterexample <- fewest(Given, Result)],
    report(Options, explored(Given, Hosted, Result, Files), fun() ->
        verify_report:explored(Given, Result),
        [verify_report:counterexample(File, Subject) || File <- Files]
    end),
    status(Result);
explore_with(_) ->
    refused("explore: name one protocol, a module or FILE.erl; `partisan_verify list' lists ours").

%% See verify_main.
status(#{failing := Failing}) when Failing > 0 -> 1;
status(#{complete := false}) -> 3;
status(#{complete := true}) -> 0.

decision(corrupt) -> {corrupt, bit_flip};
decision(Kind) -> Kind.

inert(#{inert := none}) -> [];
inert(#{inert := learn}) -> learn.

%% The first of the counterexamples with the fewest decisions.
fewest(Given, #{examples := [#{schedule := Schedule, violated := Violated} | _]}) ->
    [verify_counterexample:of_schedule(Given, Schedule, Violated)];
fewest(_Given, #{examples := []}) ->
    [].

explored(#{module := Module} = Given, Hosted, Result, Files) ->
    #{fewest := Fewest} = Result,
    (maps:with([executions, failing, complete, frontier, messages], Result))#{
        protocol => Module,
        nodes => map_get(nodes, Given),
        scope => map_get(scope, Given),
        order => map_get(order, Given),
        hosted => Hosted =/= Module,
        raw => maps:get(raw, Result, null),
        fewest =>
            case Fewest of
                none -> null;
                _ -> Fewest
            end,
        counterexamples => [unicode:characters_to_binary(File) || File <- Files],
        executions_per_s => map_get(executions_per_s, Result),
        seconds => map_get(seconds, Result),
        memory_mb => map_get(memory_mb, Result)
    }.

orders_options() ->
    #{
        nodes => {integer, 1, 64, 4},
        options => {term, fun is_map/1, "a map of Erlang, #{key => value}", #{}},
        horizon => {integer, 1, infinity, 10000},
        executions => {integer, 1, infinity, infinity},
        seconds => {integer, 1, infinity, infinity},
        code => {text, none},
        json => flag
    }.

orders_with({[Subject], Options}) ->
    Module = module(Subject, Options),
    Given = maps:with([nodes, options, executions], Options),
    Result = verify_order:run(Given#{
        module => loaded(verify_host:load(Module)),
        world => maps:with([horizon], Options),
        deadline => deadline(Options),
        progress => progress(Options)
    }),
    Cell = maps:without([examples], Result),
    report(Options, Cell#{protocol => Module, nodes => map_get(nodes, Options)}, fun() ->
        verify_report:ordered(Module, Result)
    end),
    status(Result);
orders_with(_) ->
    refused("orders: name one protocol, a module or FILE.erl; `partisan_verify list' lists ours").

own_options() ->
    #{mutation => {text, "none"}, quick => flag, json => flag}.

own_with({[Name], #{mutation := Mutated, quick := Quick} = Options}) ->
    Protocol = one_of(Name, verify_own:protocols(), "own: a protocol, "),
    Mutation = one_of(Mutated, [none | verify_own:mutations(Protocol)], "mutation="),
    Result = verify_own:run(Protocol, #{mutation => Mutation, quick => Quick}),
    Fields = [protocol, nodes, faults, executions, failing, complete, seconds, executions_per_s],
    Cell = (maps:with(Fields, Result))#{
        scope => recursive,
        order => distinct,
        hosted => false,
        mutation =>
            case Mutation of
                none -> null;
                _ -> Mutation
            end,
        memory_mb => erlang:memory(total) / 1000000
    },
    report(Options, Cell, fun() -> verify_report:own(Result) end),
    status(Result);
own_with(_) ->
    refused("own: name one protocol of the runtime; `partisan_verify list' lists them").

one_of(Text, Names, Before) ->
    case [Name || Name <- Names, atom_to_list(Name) =:= Text] of
        [Name] -> Name;
        [] -> refused([Before, "one of ", lists:join(", ", [atom_to_list(N) || N <- Names])])
    end.

check_options() ->
    #{
        executions => {integer, 1, infinity, 100},
        seed => {integer, 0, infinity, 1},
        nodes => {integer, 1, 64, 3},
        tolerance => {integer, 0, 63, 1},
        length => {integer, 1, 1000, 24},
        counterexamples => {integer, 0, 64, 8},
        out => {text, "."},
        code => {text, none},
        json => flag
    }.

check_with({[Subject], #{out := Out} = Options}) ->
    true = has_directory(Options),
    Module = module(Subject, Options),
    Started = erlang:monotonic_time(microsecond),
    Given = maps:with(
        [executions, seed, nodes, tolerance, length, counterexamples], Options
    ),
    Progress = progress(Options),
    Report = verify_campaign:run(Given#{
        model => Module,
        progress => fun(Executions, Failing) ->
            Progress(#{executions => Executions, failing => Failing})
        end
    }),
    Seconds = (erlang:monotonic_time(microsecond) - Started) / 1000000,
    #{executions := Executions, passed := Passed, failed := Failed} = Report,
    Files = [
        written(Out, verify_counterexample:of_model(Counterexample, world(Counterexample)))
     || Counterexample <- map_get(counterexamples, Report)
    ],
    Cell = #{
        model => Module,
        seed => map_get(seed, Options),
        nodes => map_get(nodes, Options),
        executions => Executions,
        passed => Passed,
        failed => Failed,
        counterexamples => [described(File) || File <- Files],
        seconds => Seconds,
        executions_per_s => Executions / max(Seconds, 1.0e-6),
        memory_mb => erlang:memory(total) / 1000000
    },
    report(Options, Cell, fun() ->
        verify_report:checked(Module, Report),
        [verify_report:counterexample(File, Subject) || File <- Files]
    end),
    min(Failed, 1);
check_with(_) ->
    refused("check: name one model, a module or FILE.erl; `partisan_verify list' lists ours").

world(Counterexample) ->
    {same, Execution} = verify_campaign:replay(Counterexample),
    verify_execution:world(Execution).

described(File) ->
    {ok, Counterexample} = verify_counterexample:read(File),
    Text = unicode:characters_to_binary(verify_counterexample:text(Counterexample)),
    #{
        file => unicode:characters_to_binary(File),
        lines => length(binary:split(Text, <<"\n">>, [global, trim])),
        text => Text
    }.

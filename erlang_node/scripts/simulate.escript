#!/usr/bin/env escript
%% Runs one of the experiments of the modules below and writes one JSON object per line: the cells,
%% then what it took. Progress goes to standard error. Needs `rebar3 compile' to have run.
%%
%%     simulate.escript EXPERIMENT KEY=NUMBER...
%%
%% Keys, each with a default: nodes, seed, cycles, messages, simulated, failure_cycles,
%% healing_cycles, increments. Without an experiment the names of all are written, one per line.

-mode(compile).

main(Arguments) ->
    Build = filename:join([filename:dirname(escript:script_name()), "..", "_build"]),
    Library = filename:join([os:getenv("REBAR_BASE_DIR", Build), "default", "lib"]),
    Compiled = [
        code:add_patha(filename:join([Library, Application, "ebin"]))
     || Application <- ["partisan", "lasp", "ring", "workloads", "node", "simulator", "experiments"]
    ],
    case lists:usort(Compiled) of
        [true] -> start(Arguments);
        _ -> refuse("the node is not compiled: run `rebar3 compile' in erlang_node", [])
    end.

experiments() ->
    [
        {Name, Module}
     || Module <- [
            experiments_papers,
            experiments_churn,
            experiments_synchronization,
            experiments_counter_churn,
            experiments_ring,
            experiments_ring_scale,
            experiments_scale
        ],
        Name <- Module:names()
    ].

start([]) ->
    [io:format("~s~n", [Name]) || {Name, _} <- experiments()];
start([Name | Settings]) ->
    case [Found || {N, _} = Found <- experiments(), atom_to_list(N) =:= Name] of
        [Experiment] -> run(Experiment, maps:merge(defaults(), parse(Settings)));
        [] -> refuse("no experiment ~s: there are ~p", [Name, [N || {N, _} <- experiments()]])
    end.

run({Name, Module}, Options) ->
    Started = erlang:monotonic_time(millisecond),
    Emit = fun(Cell) -> write(Cell) end,
    Progress = fun(Text) ->
        Seconds = (erlang:monotonic_time(millisecond) - Started) div 1000,
        io:format(standard_error, "~4b s  ~s: ~s~n", [Seconds, Name, Text])
    end,
    {Pid, Monitor} = spawn_monitor(
        fun() -> Module:run(Name, Options#{emit => Emit, progress => Progress}) end
    ),
    receive
        {'DOWN', Monitor, process, Pid, normal} ->
            Seconds = (erlang:monotonic_time(millisecond) - Started) / 1000,
            {CpuMilliseconds, _} = statistics(runtime),
            write(#{
                finished => Name,
                seconds => Seconds,
                cpu_seconds => CpuMilliseconds / 1000,
                otp => list_to_binary(erlang:system_info(otp_release)),
                options => Options
            });
        {'DOWN', Monitor, process, Pid, Reason} ->
            refuse("~s failed: ~p", [Name, Reason])
    end.

parse(Settings) ->
    maps:from_list([parse_one(string:split(Setting, "="), Setting) || Setting <- Settings]).

parse_one([Key, Digits], Setting) ->
    Known = [K || K <- maps:keys(defaults()), atom_to_list(K) =:= Key],
    case {Known, string:to_integer(Digits)} of
        {[Name], {Number, ""}} when Number >= 0 -> {Name, Number};
        _ -> refuse("~s: not KEY=NUMBER with one of ~p", [Setting, maps:keys(defaults())])
    end;
parse_one(_, Setting) ->
    refuse("~s: not KEY=NUMBER", [Setting]).

defaults() ->
    #{
        nodes => 1000,
        seed => 1,
        cycles => 10,
        messages => 100,
        simulated => 10,
        failure_cycles => 10,
        healing_cycles => 50,
        increments => 180
    }.

write(Term) ->
    io:put_chars([json(Term), $\n]).

%% Maps, atoms, numbers and a release are all there is.
json(Map) when is_map(Map) ->
    Members = [[$", atom_to_list(K), "\":", json(V)] || {K, V} <- lists:sort(maps:to_list(Map))],
    [${, lists:join($,, Members), $}];
json(Release) when is_binary(Release) -> [$", Release, $"];
json(Atom) when is_atom(Atom) -> [$", atom_to_list(Atom), $"];
json(Integer) when is_integer(Integer) -> integer_to_list(Integer);
json(Float) when is_float(Float) -> float_to_list(Float, [{decimals, 6}, compact]).

refuse(Format, Arguments) ->
    io:format(standard_error, Format ++ "~n", Arguments),
    halt(1).

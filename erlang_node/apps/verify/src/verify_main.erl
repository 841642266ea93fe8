%%% @doc The program `partisan_verify'.
%%%
%%% ```
%%% partisan_verify list
%%% partisan_verify explore three_phase_commit nodes=4
%%% partisan_verify check quorum_kv_strong executions=100 seed=1
%%% partisan_verify replay three_phase_commit-3f9a.counterexample --step
%%% '''
%%%
%%% Exit status: 0, nothing violated or the same again; 1, violated or not the same again; 2, an
%%% error in the command, in one line; 3, not all was explored and nothing was violated so far.
-module(verify_main).

-export([main/0]).
-export([run/1]).

%% @doc Runs the command of the emulator's plain arguments, and ends the emulator.
-spec main() -> no_return().
main() ->
    ok = io:setopts([{encoding, unicode}]),
    Result = run(init:get_plain_arguments()),
    ok = verify_source:clean(),
    case Result of
        {refused, Text} ->
            io:format(standard_error, "partisan_verify: ~ts~n", [Text]),
            halt(2);
        Status ->
            halt(Status)
    end.

%% @doc Runs a command. What it finds is written to standard output.
-spec run([string()]) -> verify_cli:status() | {refused, unicode:chardata()}.
run(Arguments) ->
    try
        command(Arguments)
    catch
        error:{invalid_search, Text} -> {refused, Text};
        error:{invalid_campaign, Text} -> {refused, Text};
        exit:{search_died, killed} ->
            {refused, "out of memory: an execution has too many events; give a smaller horizon="};
        throw:{refused, Text} -> {refused, Text};
        % A function of a user's module, most likely: the place is in the stack.
        Class:Reason:Stack -> {refused, crash(Class, Reason, Stack)}
    end.

%% Internals: commands.

crash(Class, Reason, Stack) ->
    Frames = [frame(Frame) || Frame <- lists:sublist(Stack, 3)],
    io_lib:format("~ts: ~0tP in ~ts", [Class, Reason, 20, lists:join(", called by ", Frames)]).

frame({Module, Function, Arguments, Place}) when is_list(Arguments) ->
    frame({Module, Function, length(Arguments), Place});
frame({Module, Function, Arity, Place}) ->
    Line = [io_lib:format(", line ~b", [Line]) || {line, Line} <- Place],
    io_lib:format("~tp:~tp/~b~ts", [Module, Function, Arity, Line]).

command(["list"]) -> list();
command(["explore" | Arguments]) -> verify_commands:explore(Arguments);
command(["orders" | Arguments]) -> verify_commands:orders(Arguments);
command(["check" | Arguments]) -> verify_commands:check(Arguments);
command(["own" | Arguments]) -> verify_commands:own(Arguments);
command(["replay" | Arguments]) -> verify_again:replay(Arguments);
command(["draw" | Arguments]) -> verify_again:draw(Arguments);
command(_) -> {refused, usage()}.

usage() ->
    "give a command:\n"
    "  list                          what there is for explore, check and own\n"
    "  explore PROTOCOL [KEY=VALUE]  every schedule of faults of a protocol: a module or FILE.erl\n"
    "  orders PROTOCOL [KEY=VALUE]   every order of deliveries, without faults\n"
    "  check MODEL [KEY=VALUE]       random executions of a model\n"
    "  own PROTOCOL [KEY=VALUE]      a protocol of the runtime itself under faults\n"
    "  replay FILE [--step]          a counterexample again\n"
    "  draw FILE [out=DIRECTORY]     its space-time diagram, and the live page's file\n"
    "and an unknown option to see those that there are.".

list() ->
    io:format("Protocols (explore):~n"),
    [io:format("  ~ts~n", [Name]) || Name <- modules(protocols, {verdict, 1})],
    io:format("Models (check):~n"),
    [io:format("  ~ts~n", [Name]) || Name <- modules(verify, {postcondition, 3})],
    io:format("Protocols of the runtime (own), with mutations:~n"),
    [
        io:format("  ~ts: ~ts~n", [Name, lists:join(", ", mutations(Name))])
     || Name <- verify_own:protocols()
    ],
    0.

mutations(Protocol) ->
    [atom_to_list(Mutation) || Mutation <- verify_own:mutations(Protocol)].

modules(Application, {Function, Arity}) ->
    _ = application:load(Application),
    {ok, Modules} = application:get_key(Application, modules),
    [
        Module
     || Module <- lists:sort(Modules),
        {module, Module} =:= code:ensure_loaded(Module),
        erlang:function_exported(Module, Function, Arity),
        Module =/= atomic_commit
    ].

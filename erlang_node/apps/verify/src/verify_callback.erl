%%% @doc Calls of callbacks that may crash, loop or return nonsense.
%%%
%%% `direct' is free, and does not return if the callback does not. `{guarded, Reductions}' runs the
%%% callback in a process of its own, which is stopped when it needs more reductions or more than
%%% 128 MB.
-module(verify_callback).

-export([run/4]).

-type mode() :: direct | {guarded, Reductions :: pos_integer()}.
-type failure() ::
    {crashed, Class :: error | exit | throw, Reason :: term(), Stack :: [term()]} | looping.

-export_type([mode/0, failure/0]).

%% How often the reductions of a callback are checked, in milliseconds.
-define(CHECK, 20).
-define(HEAP_WORDS, 16 * 1024 * 1024).

%% @doc The new state and the effects of `init' or `handle', or its failure.
-spec run(mode(), module(), init | handle, [term()]) ->
    {ok, State :: term(), Effects :: [term()]} | failure().
run(direct, Module, Function, Arguments) ->
    call(Module, Function, Arguments);
run({guarded, Budget}, Module, Function, Arguments) ->
    Work = fun() ->
        Result = call(Module, Function, Arguments),
        {reductions, Used} = process_info(self(), reductions),
        exit({finished, Used, Result})
    end,
    Heap = #{size => ?HEAP_WORDS, kill => true, error_logger => false},
    {Pid, Monitor} = spawn_opt(Work, [monitor, {max_heap_size, Heap}]),
    await(Pid, Monitor, Budget).

%% Internals.

call(Module, handle, [Event, State]) ->
    try Module:handle(Event, State) of
        Result -> result(Result)
    catch
        Class:Reason:Stack -> {crashed, Class, Reason, Stack}
    end;
call(Module, handle, [Event, Now, State]) ->
    try Module:handle(Event, Now, State) of
        Result -> result(Result)
    catch
        Class:Reason:Stack -> {crashed, Class, Reason, Stack}
    end;
call(Module, init, [Options]) ->
    try Module:init(Options) of
        Result -> result(Result)
    catch
        Class:Reason:Stack -> {crashed, Class, Reason, Stack}
    end.

result({State, Effects}) when is_list(Effects) -> {ok, State, Effects};
result(Other) -> {crashed, error, {bad_return_value, Other}, []}.

await(Pid, Monitor, Budget) ->
    receive
        {'DOWN', Monitor, process, Pid, {finished, Used, Result}} when Used =< Budget -> Result;
        {'DOWN', Monitor, process, Pid, _} -> looping
    after ?CHECK ->
        case process_info(Pid, reductions) of
            {reductions, Used} when Used > Budget ->
                true = demonitor(Monitor, [flush]),
                true = exit(Pid, kill),
                looping;
            _ ->
                await(Pid, Monitor, Budget)
        end
    end.

%%% @doc Calls of callbacks that may crash, loop or return nonsense.
%%%
%%% `direct' is free, and does not return if the callback does not. `{guarded, Reductions}' runs the
%%% callback in a process of its own, which is stopped when it needs more reductions or more than
%%% 128 MB.
-module(verify_callback).

-export([run/4]).
-export([handle/4]).
-export([guarded/2]).

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
    guarded(fun() -> call(Module, Function, Arguments) end, Budget).

%% @doc As {@link run/4} with `handle'.
-spec handle(mode(), module(), partisan_process:event(), State :: term()) ->
    {ok, State :: term(), Effects :: [term()]} | failure().
handle(direct, Module, Event, State) ->
    try Module:handle(Event, State) of
        Result -> result(Result)
    catch
        Class:Reason:Stack -> {crashed, Class, Reason, Stack}
    end;
handle(Mode, Module, Event, State) ->
    run(Mode, Module, handle, [Event, State]).

%% @doc The result of a function that raises nothing, unless it needs more reductions or memory.
-spec guarded(fun(() -> Result), Reductions :: pos_integer()) -> Result | looping.
guarded(Fun, Budget) ->
    Reply = make_ref(),
    Parent = self(),
    Work = fun() ->
        Result = Fun(),
        {reductions, Used} = process_info(self(), reductions),
        Parent ! {Reply, Used, Result}
    end,
    Heap = #{size => ?HEAP_WORDS, kill => true, error_logger => false},
    {Pid, Monitor} = spawn_opt(Work, [monitor, {max_heap_size, Heap}]),
    await(Reply, Pid, Monitor, Budget).

%% Internals.

call(Module, handle, [Event, State]) ->
    handle(direct, Module, Event, State);
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

await(Reply, Pid, Monitor, Budget) ->
    receive
        {Reply, Used, Result} ->
            true = demonitor(Monitor, [flush]),
            if
                Used =< Budget -> Result;
                true -> looping
            end;
        % It needs too much memory.
        {'DOWN', Monitor, process, Pid, _} ->
            looping
    after ?CHECK ->
        case process_info(Pid, reductions) of
            {reductions, Used} when Used > Budget -> stop(Reply, Pid, Monitor);
            _ -> await(Reply, Pid, Monitor, Budget)
        end
    end.

stop(Reply, Pid, Monitor) ->
    true = exit(Pid, kill),
    receive
        {'DOWN', Monitor, process, Pid, _} -> ok
    end,
    receive
        {Reply, _Used, _Result} -> looping
    after 0 -> looping
    end.

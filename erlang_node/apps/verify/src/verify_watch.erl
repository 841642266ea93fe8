%%% @doc Runs a search in a process of its own, within limits of executions and time, and survives
%%% callbacks that do not return.
%%%
%%% Callbacks run unguarded, at full speed. If the search comes to no end of an execution while it
%%% uses more reductions than one callback may, it is stopped and repeated: unguarded up to that
%%% execution, and from there with each callback in a process that is stopped after its budget
%%% ({@link verify_callback}). Executions are deterministic, so the repetition reaches the same
%%% callback. That the search is only slow, and nothing loops, costs time, never a wrong verdict.
-module(verify_watch).

-export([run/2]).
-export([count/3]).
-export([merged/1]).
-export([is_guarded/2]).

-record(worker, {
    parent :: pid(),
    % Executions, failing executions, the VM's memory at its maximum in bytes, merged subtrees.
    counters :: counters:counters_ref(),
    % Executions after which callbacks are guarded.
    guard :: non_neg_integer() | infinity,
    executions :: pos_integer() | infinity,
    % Monotonic milliseconds.
    deadline :: integer() | infinity
}).

%% The search from outside.
-record(watch, {
    reply :: reference(),
    monitor :: reference(),
    pid :: pid(),
    report :: none | fun((map()) -> term()),
    checks = 0 :: non_neg_integer(),
    % Executions and merged subtrees, the check at which they last grew, and reductions then.
    progress = 0 :: non_neg_integer(),
    since = 0 :: non_neg_integer(),
    used = 0 :: non_neg_integer()
}).

-opaque worker() :: #worker{}.
%% `deadline': milliseconds. `progress' is called at the beginning and about every second.
-type limits() :: #{
    progress := none | fun((#{executions := integer(), failing := integer()}) -> term()),
    executions := pos_integer() | infinity,
    deadline := pos_integer() | infinity,
    _ => _
}.

-export_type([worker/0, limits/0]).

%% Milliseconds between two checks, and checks without progress before a search is suspected.
-define(CHECK, 100).
-define(CHECKS, 5).
-define(CHECKS_PER_REPORT, 10).
-define(REDUCTIONS, 4000000).
%% Executions between two checks of the clock.
-define(BATCH, 256).
%% Of the searching process. Its garbage is collected less often from the beginning, and in the
%% processor's cache.
-define(HEAP_WORDS, 48 * 1024 * 1024).
-define(LEAST_HEAP_WORDS, 64 * 1024).

%% @doc The result of the function, and the maximum of the VM's memory in bytes while it ran.
%% Exceptions of the function are raised here.
-spec run(fun((worker()) -> Result), limits()) -> {Result, Bytes :: non_neg_integer()}.
run(Fun, #{deadline := Deadline, executions := Executions, progress := Progress}) ->
    Worker = #worker{
        parent = self(),
        counters = counters:new(4, []),
        guard = infinity,
        executions = Executions,
        deadline =
            case Deadline of
                infinity -> infinity;
                _ -> erlang:monotonic_time(millisecond) + Deadline
            end
    },
    attempt(Fun, Worker, Progress).

%% @doc Counts the executions so far. Whether the search has reached a limit.
-spec count(Executions :: non_neg_integer(), Failing :: non_neg_integer(), worker()) ->
    continue | stop.
count(Executions, _Failing, #worker{executions = Executions} = W) ->
    ok = counters:put(W#worker.counters, 1, Executions),
    stop;
count(Executions, Failing, #worker{counters = Counters} = W) when Executions rem ?BATCH =:= 0 ->
    ok = counters:put(Counters, 1, Executions),
    ok = counters:put(Counters, 2, Failing),
    sample(Counters),
    is_alive(W#worker.parent) orelse exit(normal),
    in_time(W);
count(Executions, _Failing, #worker{counters = Counters}) ->
    ok = counters:put(Counters, 1, Executions),
    continue.

%% @doc Notes progress without an execution. Whether the search has reached its deadline.
-spec merged(worker()) -> continue | stop.
merged(#worker{counters = Counters} = W) ->
    ok = counters:add(Counters, 4, 1),
    in_time(W).

%% @doc Whether callbacks are guarded after so many executions.
-spec is_guarded(Executions :: non_neg_integer(), worker()) -> boolean().
is_guarded(Executions, #worker{guard = Guard}) ->
    Executions >= Guard.

%% Internals.

attempt(Fun, #worker{counters = Counters} = Worker, Progress) ->
    Reply = make_ref(),
    Parent = self(),
    Work = fun() ->
        Result = outcome(Fun, Worker),
        sample(Counters),
        Parent ! {Reply, Result}
    end,
    Heap = #{size => ?HEAP_WORDS, kill => true, error_logger => false},
    Options = [monitor, {max_heap_size, Heap}, {min_heap_size, ?LEAST_HEAP_WORDS}],
    {Pid, Monitor} = spawn_opt(Work, Options),
    Watch = #watch{reply = Reply, monitor = Monitor, pid = Pid, report = Progress},
    case awaited(Watch, Worker) of
        {ok, Result} ->
            {Result, counters:get(Counters, 3)};
        {raised, Class, Reason, Stack} ->
            erlang:raise(Class, Reason, Stack);
        {suspected, At} ->
            ok = counters:put(Counters, 1, 0),
            attempt(Fun, Worker#worker{guard = At}, Progress)
    end.

outcome(Fun, Worker) ->
    try
        {ok, Fun(Worker)}
    catch
        Class:Reason:Stack -> {raised, Class, Reason, Stack}
    end.

awaited(#watch{pid = Pid, monitor = Monitor} = Watch, Worker) ->
    try
        await(Watch, Worker)
    after
        % If `progress' has failed, no process waits for the search any more.
        true = exit(Pid, kill),
        true = demonitor(Monitor, [flush])
    end.

await(#watch{reply = Reply, monitor = Monitor, pid = Pid} = Watch, Worker) ->
    receive
        {Reply, Result} ->
            Result;
        {'DOWN', Monitor, process, Pid, Reason} ->
            died(Reason, Worker)
    after ?CHECK ->
        report(Watch, Worker),
        check(process_info(Pid, reductions), Watch, Worker)
    end.

%% Too large a heap: of a callback, or of the search itself.
died(_Killed, #worker{guard = infinity, counters = Counters}) ->
    {suspected, counters:get(Counters, 1)};
died(Reason, _Worker) ->
    {raised, exit, {search_died, Reason}, []}.

check({reductions, Reductions}, Watch, #worker{counters = Counters, guard = Guard} = Worker) ->
    #watch{checks = Checks, progress = Before, since = Since, used = Used, pid = Pid} = Watch,
    Next = Watch#watch{checks = Checks + 1},
    case counters:get(Counters, 1) + counters:get(Counters, 4) of
        Before when Guard =/= infinity; Checks - Since < ?CHECKS; Reductions - Used < ?REDUCTIONS ->
            await(Next, Worker);
        Before ->
            true = exit(Pid, kill),
            await(Next, Worker);
        Progress ->
            await(Next#watch{progress = Progress, since = Checks, used = Reductions}, Worker)
    end;
check(undefined, Watch, Worker) ->
    await(Watch, Worker).

report(#watch{report = none}, _Worker) ->
    ok;
report(#watch{report = Progress, checks = Checks}, #worker{counters = Counters}) when
    Checks rem ?CHECKS_PER_REPORT =:= 0
->
    _ = Progress(#{
        executions => counters:get(Counters, 1), failing => counters:get(Counters, 2)
    }),
    ok;
report(_Watch, _Worker) ->
    ok.

in_time(#worker{deadline = Deadline}) ->
    % An atom is greater than any number.
    case erlang:monotonic_time(millisecond) < Deadline of
        true -> continue;
        false -> stop
    end.

sample(Counters) ->
    ok = counters:put(Counters, 3, max(counters:get(Counters, 3), erlang:memory(total))).

is_alive(Pid) ->
    node(Pid) =/= node() orelse is_process_alive(Pid).

%%% @doc Starts groups of virtual machines ({@link bench_group}), runs cells on them in the given
%%% order, and writes each as one line of JSON. Progress goes to standard error.
-module(bench_driver).

-export([main/1]).
-export([run/2]).

-import(bench_group, [call/4]).

%% A cell without a message for this long has failed.
-define(STALL_MS, 120000).
-define(LOOK_MS, 10).

-type cell() :: #{
    experiment := throughput | ack | ring | history | ping | dispatch,
    system := atom(),
    atom() => term()
}.
-type plan() :: #{
    hosts := [bench_group:host()],
    systems := #{Label :: atom() => bench_group:system()},
    % How many groups run at a time: all by default, which are started once; or one, which is
    % started for its cell.
    alive => all | one,
    cells := [cell()]
}.

%% @doc Runs the plan in a file, an Erlang term: `erl -run bench_driver main FILE'.
-spec main([File :: string()]) -> no_return().
main([File]) ->
    {ok, [Plan]} = file:consult(File),
    {Pid, Monitor} = spawn_monitor(fun() -> run(Plan, fun print/1) end),
    receive
        {'DOWN', Monitor, process, Pid, normal} ->
            halt(0);
        {'DOWN', Monitor, process, Pid, Reason} ->
            io:format(standard_error, "bench: ~0p~n", [Reason]),
            halt(1)
    end.

%% @doc Runs a plan; the function is called with each cell and its figures.
-spec run(plan(), fun((map()) -> ok)) -> ok.
run(#{cells := Cells} = Plan, Report) ->
    Groups = lists:foldl(
        fun(#{system := Label} = Cell, Before) ->
            #{Label := #{a := A} = Group} = After = with_group(Label, Before, Plan),
            Release = call(A, erlang, system_info, [otp_release]),
            Figures = (measure(Cell, Group))#{otp => list_to_binary(Release)},
            ok = Report(maps:merge(Cell, Figures)),
            After
        end,
        #{},
        Cells
    ),
    stop(Groups).

%% Internals.

print(Cell) ->
    io:format("~ts~n", [node_json:encode(Cell)]).

with_group(Label, Groups, #{alive := one} = Plan) ->
    ok = stop(Groups),
    #{Label => start(Label, Plan)};
with_group(Label, Groups, _Plan) when is_map_key(Label, Groups) ->
    Groups;
with_group(Label, Groups, Plan) ->
    Groups#{Label => start(Label, Plan)}.

start(Label, #{hosts := Hosts, systems := Systems}) ->
    #{Label := System} = Systems,
    Count = maps:get(nodes, System, 2),
    Names = [list_to_atom([$a + I]) || I <- lists:seq(0, Count - 1)],
    Number = length([L || L <- maps:keys(Systems), L < Label]),
    bench_group:start(Names, System, lists:sublist(Hosts, Count), Number).

stop(Groups) ->
    lists:foreach(fun bench_group:stop/1, maps:values(Groups)).

%% Internals: the experiments.

-spec measure(cell(), bench_group:t()) -> map().
measure(#{experiment := throughput} = Cell, Pair) ->
    throughput(Cell, Pair);
measure(#{experiment := ack} = Cell, Pair) ->
    acknowledged(Cell, Pair);
measure(#{experiment := ring} = Cell, Group) ->
    ring(Cell, Group);
measure(#{experiment := history} = Cell, Group) ->
    history(Cell, Group);
measure(#{experiment := ping, milliseconds := Milliseconds, payload := Size} = Cell, Pair) ->
    #{a := A, b := B, module := Module} = Pair,
    ok = call(B, bench_ping, echo_start, [Module]),
    _Warm = call(A, bench_ping, measure, [Module, Size, 200]),
    Idle = call(A, bench_ping, measure, [Module, Size, Milliseconds]),
    % The bulk starts before the pings and lasts until after them.
    Bulk = Cell#{
        payload => maps:get(bulk, Cell),
        pairs => 1,
        channel => bulk,
        affinity => true,
        milliseconds => Milliseconds + 1000
    },
    Carrying = bench_worker:start(fun() -> throughput(Bulk, Pair) end),
    timer:sleep(500),
    Loaded = call(A, bench_ping, measure, [Module, Size, Milliseconds]),
    #{mb_per_s := Carried} = bench_worker:await(Carrying),
    #{idle => Idle, loaded => Loaded, bulk_mb_per_s => Carried};
measure(#{experiment := dispatch} = Cell, #{a := A}) ->
    call(A, bench_dispatch, run, [Cell]).

throughput(#{payload := Size} = Cell, #{a := A, b := B, module := Module} = Pair) ->
    ok = call(B, bench_traffic, receive_start, [Cell]),
    _ = [ok = call(Node, bench_vm, reset_peak, []) || Node <- [A, B]],
    Before = cpu_seconds(Pair),
    #{started_at := StartedAt, messages := Sent} = call(A, bench_traffic, send, [Module, Cell]),
    LastAt = await_all(B, Sent, 0, deadline()),
    CpuSeconds = cpu_seconds(Pair) - Before,
    Memory = lists:sum([call(Node, bench_vm, peak_mb, []) || Node <- [A, B]]),
    Latency = call(B, bench_traffic, receive_stop, []),
    Seconds = (LastAt - StartedAt) / 1.0e9,
    Latency#{
        messages => Sent,
        seconds => Seconds,
        mb_per_s => Sent * Size / Seconds / 1.0e6,
        msgs_per_s => Sent / Seconds,
        cpu_s => CpuSeconds,
        cpu_us_per_message => CpuSeconds * 1.0e6 / Sent,
        memory_mb => Memory
    }.

acknowledged(#{payload := Size} = Cell, #{a := A, b := B, module := Module} = Pair) ->
    ok = call(B, bench_ack, receive_start, [Module, Cell]),
    Before = cpu_seconds(Pair),
    Done = call(A, bench_ack, send, [Module, Cell]),
    #{started_at := StartedAt, ended_at := EndedAt, sent := Sent, acknowledged := Count} = Done,
    _LastAt = await_all(B, Sent, 0, deadline()),
    CpuSeconds = cpu_seconds(Pair) - Before,
    Latency = call(B, bench_traffic, receive_stop, []),
    Seconds = (EndedAt - StartedAt) / 1.0e9,
    Latency#{
        relayed => is_relayed(Cell, Pair),
        sent => Sent,
        acknowledged => Count,
        seconds => Seconds,
        ops_per_s => Count / Seconds,
        mb_per_s => Count * Size / Seconds / 1.0e6,
        cpu_s => CpuSeconds
    }.

%% The ring is this cell's alone. The function runs in each virtual machine's worker.
with_ring(#{service := Service, partitions := Partitions} = Cell, Group, Function) ->
    #{nodes := [First | _] = Nodes, names := Names, module := Module} = Group,
    #{milliseconds := Milliseconds} = Cell,
    Transport = transport(Module),
    _ = [
        ok = call(Node, bench_ring, start, [Transport, Name, Cell])
     || {Node, Name} <- lists:zip(Nodes, Names)
    ],
    ok = call(First, bench_ring, plan, [Service, Names, Partitions]),
    ok = await_settled(Service, Nodes, deadline()),
    _ = [ok = call(Node, bench_ring, fill, [Partitions, Cell]) || Node <- Nodes],
    Before = cpu_seconds(Group),
    Until = bench_system:now() + Milliseconds * 1_000_000,
    Running = [
        bench_worker:start(fun() -> Function(Number, Node, Until) end)
     || {Number, Node} <- lists:zip(lists:seq(1, length(Nodes)), Nodes)
    ],
    Done = [bench_worker:await(Run) || Run <- Running],
    CpuSeconds = cpu_seconds(Group) - Before,
    _ = [ok = call(Node, bench_ring, stop, [Service]) || Node <- Nodes],
    {Done, CpuSeconds}.

%% What clients of the store saw, judged and written to a file for another judge.
history(#{file := File} = Cell, Group) ->
    {Seen, _} = with_ring(Cell, Group, fun(Number, Node, Until) ->
        call(Node, bench_ring_history, run, [Number, Cell, Until])
    end),
    Events = lists:append(Seen),
    ok = ring_registers:write(atom_to_list(File), Events),
    #{operations => length(Events), violations => length(ring_history:check(Events))}.

ring(#{milliseconds := Milliseconds, payload := Size} = Cell, Group) ->
    {Done, CpuSeconds} = with_ring(Cell, Group, fun(_Number, Node, Until) ->
        call(Node, bench_ring, run, [Cell, Until])
    end),
    Sum = fun(Key) -> lists:sum([maps:get(Key, Figures) || Figures <- Done]) end,
    [One | Others] = [Counts || #{latency := Counts} <- Done],
    Latency = lists:foldl(fun(A, B) -> lists:zipwith(fun erlang:'+'/2, A, B) end, One, Others),
    Rate = Sum(done) * 1000 / Milliseconds,
    #{
        ops_per_s => Rate,
        remote_per_s => Sum(remote) * 1000 / Milliseconds,
        mb_per_s => Rate * Size / 1.0e6,
        p50_ms => bench_histogram:percentile_of(Latency, 0.5),
        p99_ms => bench_histogram:percentile_of(Latency, 0.99),
        found => share(Sum(found), Sum(reads_done)),
        timeouts => Sum(timeouts),
        refused => Sum(refused),
        cpu_s => CpuSeconds
    }.

transport(bench_ours) -> ring_partisan;
transport(bench_disterl) -> bench_ring_disterl;
transport(bench_ring_raw) -> bench_ring_raw.

share(_Part, 0) -> null;
share(Part, Whole) -> Part / Whole.

await_settled(Service, Nodes, Deadline) ->
    case lists:all(fun(Node) -> call(Node, bench_ring, is_settled, [Service]) end, Nodes) of
        true ->
            ok;
        false ->
            erlang:monotonic_time(millisecond) < Deadline orelse error(ring_not_settled),
            timer:sleep(?LOOK_MS),
            await_settled(Service, Nodes, Deadline)
    end.

%% A pair that have become neighbours meanwhile have not measured what was asked for.
is_relayed(#{overlay := Overlay}, #{a := A, module := bench_ours}) when Overlay =/= full_mesh ->
    call(A, bench_ours, is_distant, []) orelse error(neighbours_now);
is_relayed(_Cell, _Group) ->
    false.

await_all(B, Sent, Before, Deadline) ->
    case call(B, bench_traffic, received, []) of
        #{faults := Faults} when Faults > 0 ->
            error({messages_wrong_or_out_of_order, Faults});
        #{messages := Sent, last_at := LastAt} ->
            LastAt;
        #{messages := Received} when Received > Sent ->
            error({more_than_were_sent, Received, Sent});
        #{messages := Before} ->
            erlang:monotonic_time(millisecond) < Deadline orelse error({lost, Sent - Before}),
            timer:sleep(?LOOK_MS),
            await_all(B, Sent, Before, Deadline);
        #{messages := Received} ->
            timer:sleep(?LOOK_MS),
            await_all(B, Sent, Received, deadline())
    end.

deadline() ->
    erlang:monotonic_time(millisecond) + ?STALL_MS.

cpu_seconds(#{nodes := Nodes}) ->
    lists:sum([call(Node, bench_vm, cpu_seconds, []) || Node <- Nodes]).

%%% @doc Starts groups of virtual machines ({@link bench_group}), runs cells on them in the given
%%% order, and writes each as one line of JSON. Progress goes to standard error.
-module(bench_driver).

-export([main/1]).

-import(bench_group, [call/4]).

%% A cell without a message for this long has failed.
-define(STALL_MS, 120000).
-define(LOOK_MS, 10).

-type cell() :: #{
    experiment := throughput | ack | ping | dispatch, system := atom(), atom() => term()
}.
-type plan() :: #{
    hosts := [bench_group:host()],
    systems := #{Label :: atom() => bench_group:system()},
    % How many groups run at a time: all by default, which are started once. Otherwise a group ends
    % when another system's turn has come.
    alive => all | one,
    cells := [cell()]
}.

%% @doc Runs the plan in a file, an Erlang term: `erl -run bench_driver main FILE'.
-spec main([File :: string()]) -> no_return().
main([File]) ->
    {ok, [Plan]} = file:consult(File),
    {Pid, Monitor} = spawn_monitor(fun() -> run(Plan) end),
    receive
        {'DOWN', Monitor, process, Pid, normal} ->
            halt(0);
        {'DOWN', Monitor, process, Pid, Reason} ->
            io:format(standard_error, "bench: ~0p~n", [Reason]),
            halt(1)
    end.

%% Internals.

-spec run(plan()) -> ok.
run(#{cells := Cells} = Plan) ->
    Groups = lists:foldl(fun(Cell, Groups) -> run(Cell, Groups, Plan) end, #{}, Cells),
    stop(Groups).

run(#{system := Label} = Cell, Groups, Plan) ->
    case Groups of
        #{Label := #{a := A} = Group} ->
            Release = call(A, erlang, system_info, [otp_release]),
            Figures = (measure(Cell, Group))#{otp => list_to_binary(Release)},
            io:format("~ts~n", [node_json:encode(maps:merge(Cell, Figures))]),
            Groups;
        #{} ->
            Others = kept(Groups, Plan),
            run(Cell, Others#{Label => start(Label, Plan)}, Plan)
    end.

kept(Groups, #{alive := one}) ->
    ok = stop(Groups),
    #{};
kept(Groups, _Plan) ->
    Groups.

start(Label, #{hosts := Hosts, systems := Systems}) ->
    #{Label := System} = Systems,
    Count = maps:get(nodes, System, 2),
    Names = [list_to_atom([$a + I]) || I <- lists:seq(0, Count - 1)],
    Number = length([L || L <- maps:keys(Systems), L < Label]),
    #{b := B, module := Module} =
        Group = bench_group:start(Names, System, lists:sublist(Hosts, Count), Number),
    ok = call(B, bench_ping, echo_start, [Module]),
    Group.

stop(Groups) ->
    lists:foreach(fun bench_group:stop/1, maps:values(Groups)).

%% Internals: the experiments.

-spec measure(cell(), bench_group:t()) -> map().
measure(#{experiment := throughput} = Cell, Pair) ->
    throughput(Cell, Pair);
measure(#{experiment := ack} = Cell, Pair) ->
    acknowledged(Cell, Pair);
measure(#{experiment := ping, milliseconds := Milliseconds, payload := Size} = Cell, Pair) ->
    #{a := A, module := Module} = Pair,
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

%% Whether the pair are still no neighbours.
is_relayed(#{overlay := Overlay}, #{a := A, module := bench_ours}) when Overlay =/= full_mesh ->
    call(A, bench_ours, is_distant, []);
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

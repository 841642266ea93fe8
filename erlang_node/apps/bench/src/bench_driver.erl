%%% @doc Starts pairs of virtual machines, runs cells on them in the given order, and writes each as
%%% one line of JSON. Progress goes to standard error.
%%%
%%% Both virtual machines of a pair are controlled over their standard input and output, so that
%%% only the measured messages are on the wire between them.
-module(bench_driver).

-export([main/1]).

-define(BOOT_MS, 60000).
-define(CALL_MS, 600000).
%% A cell without a message for this long has failed.
-define(STALL_MS, 120000).
-define(LOOK_MS, 10).
-define(DISTERL_PORT, 4370).
-define(PORT, 7946).

%% One of the two places that virtual machines run in.
-type host() :: #{ip := inet:ip4_address(), command := [string()]}.
-type system() :: #{
    % For example bench_ours.
    module := module(),
    arguments := [string()],
    environment := [{string(), string()}],
    % Instead of the default channels.
    channels => [{bench_system:channel(), Lanes :: pos_integer()}],
    % Directories of the code that it runs, by default those of the driver's own.
    paths => [file:filename()]
}.
-type cell() :: #{
    experiment := throughput | ack | ping | dispatch, system := atom(), atom() => term()
}.
-type plan() :: #{
    hosts := [host()],
    systems := #{Label :: atom() => system()},
    cells := [cell()]
}.
-type pair() :: #{a := pid(), b := pid(), module := module()}.

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
    Pairs = lists:foldl(fun(Cell, Pairs) -> run(Cell, Pairs, Plan) end, #{}, Cells),
    lists:foreach(fun stop/1, maps:values(Pairs)).

run(#{system := Label} = Cell, Pairs, Plan) ->
    case Pairs of
        #{Label := #{a := A} = Pair} ->
            Release = call(A, erlang, system_info, [otp_release]),
            Figures = (measure(Cell, Pair))#{otp => list_to_binary(Release)},
            io:format("~ts~n", [node_json:encode(maps:merge(Cell, Figures))]),
            Pairs;
        #{} ->
            run(Cell, Pairs#{Label => start(Label, Plan)}, Plan)
    end.

%% Internals: the virtual machines.

-spec start(atom(), plan()) -> pair().
start(Label, #{hosts := [HostA, HostB], systems := Systems}) ->
    #{Label := #{module := Module} = System} = Systems,
    % Pairs of all systems share the hosts.
    Number = length([L || L <- maps:keys(Systems), L < Label]),
    Port = ?PORT + Number,
    [AddressA, AddressB] = [
        #{name => Name, ip => Ip, port => Port + Offset}
     || {Name, #{ip := Ip}, Offset} <- [{a, HostA, 0}, {b, HostB, 100}]
    ],
    [A, B] = [boot(Host, System, ?DISTERL_PORT + Number) || Host <- [HostA, HostB]],
    Channels = maps:get(channels, System, bench_system:channels()),
    _ = [ok = call(Node, bench_system, set_channels, [Channels]) || Node <- [A, B]],
    ok = call(A, Module, start, [AddressA, AddressB]),
    ok = call(B, Module, start, [AddressB, AddressA]),
    _ = [ok = call(Node, Module, connect, []) || Node <- [A, B]],
    ok = call(B, bench_ping, echo_start, [Module]),
    #{a => A, b => B, module => Module}.

boot(#{command := Command}, System, DisterlPort) ->
    #{arguments := Arguments, environment := Environment} = System,
    [Program | Before] = Command ++ ["erl"],
    Ours = [Path || Path <- code:get_path(), is_ours(Path)],
    Paths = lists:append([["-pa", Path] || Path <- maps:get(paths, System, Ours)]),
    {ok, Node, _} = peer:start(#{
        connection => standard_io,
        exec => {os:find_executable(Program), Before},
        wait_boot => ?BOOT_MS,
        env => Environment,
        args => Arguments ++ Paths ++ [
            "-start_epmd", "false", "-erl_epmd_port", integer_to_list(DisterlPort),
            "-kernel", "logger_level", "critical"
        ]
    }),
    Node.

is_ours(Path) ->
    string:find(Path, "_build") =/= nomatch.

stop(#{a := A, b := B}) ->
    lists:foreach(fun peer:stop/1, [A, B]).

call(Node, Module, Function, Arguments) ->
    peer:call(Node, Module, Function, Arguments, ?CALL_MS).

%% Internals: the experiments.

-spec measure(cell(), pair()) -> map().
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

throughput(#{payload := Size} = Cell, #{a := A, b := B, module := Module}) ->
    ok = call(B, bench_traffic, receive_start, [Cell]),
    _ = [ok = call(Node, bench_vm, reset_peak, []) || Node <- [A, B]],
    Before = cpu_seconds(A, B),
    #{started_at := StartedAt, messages := Sent} = call(A, bench_traffic, send, [Module, Cell]),
    LastAt = await_all(B, Sent, 0, deadline()),
    CpuSeconds = cpu_seconds(A, B) - Before,
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

acknowledged(#{payload := Size} = Cell, #{a := A, b := B, module := Module}) ->
    ok = call(B, bench_ack, receive_start, [Module, Cell]),
    Before = cpu_seconds(A, B),
    Done = call(A, bench_ack, send, [Module, Cell]),
    #{started_at := StartedAt, ended_at := EndedAt, sent := Sent, acknowledged := Count} = Done,
    _LastAt = await_all(B, Sent, 0, deadline()),
    CpuSeconds = cpu_seconds(A, B) - Before,
    Latency = call(B, bench_traffic, receive_stop, []),
    Seconds = (EndedAt - StartedAt) / 1.0e9,
    Latency#{
        sent => Sent,
        acknowledged => Count,
        seconds => Seconds,
        ops_per_s => Count / Seconds,
        mb_per_s => Count * Size / Seconds / 1.0e6,
        cpu_s => CpuSeconds
    }.

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

cpu_seconds(A, B) ->
    lists:sum([call(Node, bench_vm, cpu_seconds, []) || Node <- [A, B]]).

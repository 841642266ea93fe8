%%% @doc This virtual machine's processor time and memory, from the kernel.
-module(bench_vm).

-export([cpu_seconds/0]).
-export([machine_cpu_seconds/0]).
-export([reset_peak/0]).
-export([peak_mb/0]).

%% `sysconf(_SC_CLK_TCK)', the same on every Linux.
-define(TICKS, 100).

%% @doc Processor time of all threads of this virtual machine since its start.
-spec cpu_seconds() -> float().
cpu_seconds() ->
    {ok, Text} = file:read_file("/proc/self/stat"),
    % The name of the program, in brackets, may contain spaces; what follows has no brackets.
    Fields = string:lexemes(lists:last(binary:split(Text, <<")">>, [global])), " "),
    [User, System] = [binary_to_integer(lists:nth(N, Fields)) || N <- [12, 13]],
    (User + System) / ?TICKS.

%% @doc Time that the machine's processors were busy since its start, their sum.
-spec machine_cpu_seconds() -> float().
machine_cpu_seconds() ->
    {ok, Text} = file:read_file("/proc/stat"),
    [First | _] = binary:split(Text, <<"\n">>),
    [<<"cpu">> | Fields] = string:lexemes(First, " "),
    % The fourth and fifth are idle; from the ninth on, guests, whom user time includes.
    [User, Nice, System, _, _, Irq, SoftIrq, Stolen | _] = [binary_to_integer(F) || F <- Fields],
    (User + Nice + System + Irq + SoftIrq + Stolen) / ?TICKS.

%% @doc Resets the peak of `peak_mb/0'.
-spec reset_peak() -> ok.
reset_peak() ->
    _ = [erlang:garbage_collect(Pid) || Pid <- processes()],
    ok = file:write_file("/proc/self/clear_refs", "5").

%% @doc Peak resident memory, in units of 10^6 bytes.
-spec peak_mb() -> float().
peak_mb() ->
    {ok, Text} = file:read_file("/proc/self/status"),
    Options = [{capture, all_but_first, binary}],
    {match, [Kilobytes]} = re:run(Text, "VmHWM:\\s+([0-9]+) kB", Options),
    binary_to_integer(Kilobytes) * 1024 / 1.0e6.

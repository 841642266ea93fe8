%%% @doc This virtual machine's processor time and memory, from the kernel.
-module(bench_vm).

-export([cpu_seconds/0]).
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

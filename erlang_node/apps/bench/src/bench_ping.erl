%%% @doc Round trips of a small message, one at a time.
-module(bench_ping).

-export([echo_start/1]).
-export([measure/3]).

-define(PAUSE_MS, 1).
-define(TIMEOUT_MS, 60000).
%% From this time on, the begin and end of a ping are recorded.
-define(SLOW_NS, 2_000_000).

%% @doc Starts the process that answers pings, unless it runs.
-spec echo_start(System :: module()) -> ok.
echo_start(System) ->
    Start = fun() -> register(bench_echo, spawn(fun() -> echo(System) end)) end,
    true = whereis(bench_echo) =/= undefined orelse Start(),
    ok.

%% @doc Pings for that many milliseconds; the figures are round trips. For those over two
%% milliseconds it returns when they began and ended, by the kernel's monotonic clock.
-spec measure(System :: module(), Payload :: pos_integer(), Milliseconds :: pos_integer()) ->
    #{
        p50_ms := float() | null,
        p99_ms := float() | null,
        messages := pos_integer(),
        slow_ns := [[integer(), ...]]
    }.
measure(System, Size, Milliseconds) ->
    true = register(bench_ping, self()),
    Histogram = bench_histogram:new(),
    Payload = bench_traffic:payload(Size),
    Until = bench_system:now() + Milliseconds * 1_000_000,
    {Count, Slow} = ping(System, Payload, Histogram, {1, []}, Until),
    true = unregister(bench_ping),
    #{
        p50_ms => bench_histogram:percentile(Histogram, 0.5),
        p99_ms => bench_histogram:percentile(Histogram, 0.99),
        messages => Count,
        slow_ns => lists:reverse(Slow)
    }.

%% Internals.

echo(System) ->
    receive
        {bench, _, _, _} = Ping ->
            ok = System:send(ping, 0, bench_ping, Ping),
            echo(System)
    end.

ping(System, Payload, Histogram, {Seq, Slow}, Until) ->
    SentAt = bench_system:now(),
    ok = System:send(ping, 0, bench_echo, {bench, Seq, SentAt, Payload}),
    receive
        {bench, Seq, SentAt, Payload} -> ok
    after ?TIMEOUT_MS -> error({lost_ping, Seq})
    end,
    Now = bench_system:now(),
    ok = bench_histogram:add(Histogram, Now - SentAt),
    Spans = [[SentAt, Now] || Now - SentAt > ?SLOW_NS] ++ Slow,
    case Now < Until of
        true ->
            timer:sleep(?PAUSE_MS),
            ping(System, Payload, Histogram, {Seq + 1, Spans}, Until);
        false ->
            {Seq, Spans}
    end.

%%% @doc Work that keeps a processor busy for a given time: 64 bytes are hashed again and again.
%%%
%%% The number of hashes a microsecond is calibrated, not assumed. Other processes can only make a
%%% calibration slower, so the fastest of several counts.
-module(bench_busy).

-export([calibrate/0]).
-export([calibrate/2]).
-export([take/1]).

-define(ROUNDS, 50).
-define(ITERATIONS, 5000).
%% As long as a call, which is a reduction, often takes: so schedulers switch as often as elsewhere.
-define(HASHED, <<0:512>>).

%% @doc Iterations of `take/1' per microsecond on this machine.
-spec calibrate() -> float().
calibrate() ->
    calibrate(fun() -> timed(?ITERATIONS) end, ?ROUNDS).

%% @doc The largest of so many measurements, each of iterations and their nanoseconds.
-spec calibrate(fun(() -> {pos_integer(), pos_integer()}), Rounds :: pos_integer()) -> float().
calibrate(Measure, Rounds) ->
    Measured = [Measure() || _ <- lists:seq(1, Rounds)],
    lists:max([1000 * Iterations / Nanoseconds || {Iterations, Nanoseconds} <- Measured]).

%% @doc Hashes that many times.
-spec take(Iterations :: non_neg_integer()) -> ok.
take(0) ->
    ok;
take(Iterations) ->
    _ = erlang:phash2(?HASHED),
    take(Iterations - 1).

%% Internals.

timed(Iterations) ->
    Begin = bench_system:now(),
    ok = take(Iterations),
    {Iterations, bench_system:now() - Begin}.

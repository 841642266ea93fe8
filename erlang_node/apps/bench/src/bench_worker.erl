%%% @doc Runs a function in a process of its own, with a heap of its own, and returns its result.
-module(bench_worker).

-export([start/1]).
-export([await/1]).
-export([run/1]).

-opaque t() :: {pid(), reference()}.
-export_type([t/0]).

%% @doc Starts a worker that runs the function.
-spec start(fun(() -> term())) -> t().
start(Function) ->
    spawn_monitor(?MODULE, run, [Function]).

%% @doc The result of the function; the error `{worker, Reason}' if it has failed.
-spec await(t()) -> term().
await({Pid, Monitor}) ->
    receive
        {'DOWN', Monitor, process, Pid, {done, Result}} -> Result;
        {'DOWN', Monitor, process, Pid, Reason} -> error({worker, Reason})
    end.

%% @private
-spec run(fun(() -> term())) -> no_return().
run(Function) ->
    exit({done, Function()}).

%%% @doc A function in a process of its own, whose heap holds nothing else, and what it returns.
-module(bench_worker).

-export([start/1]).
-export([await/1]).
-export([run/1]).

-opaque t() :: {pid(), reference()}.
-export_type([t/0]).

-spec start(fun(() -> term())) -> t().
start(Function) ->
    spawn_monitor(?MODULE, run, [Function]).

%% @doc What the function has returned; an error, `{worker, Reason}', where it has failed.
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

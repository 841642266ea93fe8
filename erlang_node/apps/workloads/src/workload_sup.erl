%%% @doc The processes of the node's workload. When one fails, those started after it depend on its
%%% state and are restarted with it.
-module(workload_sup).
-behaviour(supervisor).

-export([start_link/2]).
-export([init/1]).

%% @doc Starts the processes of a workload.
-spec start_link(module(), workload:options()) -> {ok, pid()} | {error, term()}.
start_link(Module, Options) ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, {Module, Options}).

%% @private
-spec init({module(), workload:options()}) ->
    {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init({Module, Options}) ->
    Flags = #{strategy => rest_for_one, intensity => 3, period => 10},
    {ok, {Flags, Module:child_specs(Options)}}.

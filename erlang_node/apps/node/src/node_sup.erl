%%% @doc The processes of a node beside the runtime: the workload, the settings that may change and
%%% the HTTP server. None needs another to be restarted.
-module(node_sup).
-behaviour(supervisor).

-export([start_link/1]).
-export([init/1]).

%% @doc Start them.
-spec start_link(node_config:t()) -> {ok, pid()} | {error, term()}.
start_link(Config) ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, Config).

%% @private
-spec init(node_config:t()) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init(Config) ->
    Flags = #{strategy => one_for_one, intensity => 5, period => 60},
    {ok, {Flags, workload(Config) ++ [settings(Config), http(Config)]}}.

%% Internals.

workload(#{workload := none}) ->
    [];
workload(#{workload := {Module, Options}}) ->
    [
        #{
            id => workload_sup,
            type => supervisor,
            start => {workload_sup, start_link, [Module, Options]}
        }
    ].

settings(Config) ->
    #{id => node_settings, start => {node_settings, start_link, [Config]}}.

http(Config) ->
    #{id => http, type => supervisor, start => {node_http, start_link, [Config]}}.

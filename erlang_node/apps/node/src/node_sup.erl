%%% @doc The processes of a node other than the runtime: the workload, its stop when the cluster is
%%% deleted, the run-time settings and the HTTP server. They restart independently of one another.
-module(node_sup).
-behaviour(supervisor).

-export([start_link/2]).
-export([init/1]).

%% @doc Starts them; HTTP requests come from the socket.
-spec start_link(node_config:t(), gen_tcp:socket()) -> {ok, pid()} | {error, term()}.
start_link(Config, Socket) ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, {Config, Socket}).

%% @private
-spec init({node_config:t(), gen_tcp:socket()}) ->
    {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init({Config, Socket}) ->
    Flags = #{strategy => one_for_one, intensity => 5, period => 60},
    Others = [dissolution(), console(Config), settings(Config), http(Config, Socket)],
    {ok, {Flags, workload(Config) ++ Others}}.

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

dissolution() ->
    #{id => node_dissolution, start => {node_dissolution, start_link, []}}.

console(#{directory := Directory}) ->
    #{id => node_console, start => {node_console, start_link, [Directory]}}.

settings(Config) ->
    #{id => node_settings, start => {node_settings, start_link, [Config]}}.

http(Config, Socket) ->
    #{id => http, start => {node_http, start_link, [Socket, Config]}}.

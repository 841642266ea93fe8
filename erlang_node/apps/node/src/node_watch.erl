%%% @doc Notices that the cluster has been scaled.
%%%
%%% A run ends when every member is done, and scaling changes who is a member without restarting
%%% anybody: the mounted configuration file changes under the running node, through a symbolic link
%%% and without any other sign. So it is looked at every few seconds, and read when its time of
%%% modification has changed.
-module(node_watch).
-behaviour(gen_server).

-export([start_link/1]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-include_lib("kernel/include/logger.hrl").
-include_lib("kernel/include/file.hrl").

-define(PERIOD_MS, 5000).

-record(watch, {
    file :: file:filename(),
    cluster :: binary(),
    workload :: module(),
    replicas :: pos_integer(),
    modified :: term()
}).

%% @doc Start the watch.
-spec start_link(node_config:t()) -> {ok, pid()} | {error, term()}.
start_link(Config) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Config, []).

%% @private
-spec init(node_config:t()) -> {ok, #watch{}}.
init(#{file := File, cluster := Cluster, workload := {Module, _}, partisan := Partisan}) ->
    ok = again(),
    {ok, #watch{
        file = File,
        cluster = Cluster,
        workload = Module,
        replicas = maps:get(replicas, Partisan),
        %% Read at the first look: it may have changed since the node has read it.
        modified = unknown
    }}.

%% @private
-spec handle_call(term(), gen_server:from(), #watch{}) -> {reply, {error, unknown}, #watch{}}.
handle_call(_Unexpected, _From, State) ->
    {reply, {error, unknown}, State}.

%% @private
-spec handle_cast(term(), #watch{}) -> {noreply, #watch{}}.
handle_cast(_Unexpected, State) ->
    {noreply, State}.

%% @private
-spec handle_info(term(), #watch{}) -> {noreply, #watch{}}.
handle_info(look, State = #watch{file = File, modified = Modified}) ->
    ok = again(),
    case file:read_file_info(File, [raw, {time, posix}]) of
        {ok, #file_info{mtime = Modified}} -> {noreply, State};
        {ok, #file_info{mtime = Now}} -> {noreply, reread(State#watch{modified = Now})};
        {error, Reason} -> {noreply, unreadable(Reason, State)}
    end;
handle_info(_Unexpected, State) ->
    {noreply, State}.

%% Internals.

again() ->
    _ = erlang:send_after(?PERIOD_MS, self(), look),
    ok.

reread(State = #watch{file = File, replicas = Replicas}) ->
    case node_config:replicas(File) of
        {ok, Replicas} -> State;
        {ok, Changed} -> scaled(Changed, State);
        {error, Text} -> unreadable(Text, State)
    end.

scaled(Replicas, State = #watch{cluster = Cluster, workload = Module}) ->
    ?LOG_NOTICE(#{event => cluster_scaled, replicas => Replicas}),
    ok = Module:members(node_config:members(Cluster, Replicas)),
    State#watch{replicas = Replicas}.

%% What the node knew stays in force.
unreadable(Reason, State) ->
    ?LOG_WARNING(#{event => configuration_unreadable, reason => Reason}),
    State.

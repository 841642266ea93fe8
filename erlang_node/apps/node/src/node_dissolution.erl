%%% @doc Handles the deletion of the cluster ({@link partisan:dissolve/0}): stops the workload
%%% without a hand-over, and waits for the deletion of the pod.
%%%
%%% The node does not exit by itself, since Kubernetes would restart it; for the same reason it
%%% still answers probes. A node that is not deleted was dissolved by mistake: it exits after a
%%% while, and the container's next start rejoins the cluster.
-module(node_dissolution).
-behaviour(gen_server).

-export([start_link/0]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-include_lib("kernel/include/logger.hrl").

%% Several times the deletion time of the largest cluster.
-define(FORGET_AFTER_MS, 1800000).

%% @doc Starts the process.
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @private
-spec init([]) -> {ok, none}.
init([]) ->
    ok = partisan:subscribe(self()),
    % The order may have come earlier, and ended a previous process of this name.
    _ = partisan:dissolved() andalso (self() ! {partisan, dissolved}),
    {ok, none}.

%% @private
-spec handle_call(term(), gen_server:from(), none) -> {reply, {error, unknown_request}, none}.
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), none) -> {noreply, none}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), none) -> {noreply, none}.
handle_info({partisan, dissolved}, none) ->
    ?LOG_NOTICE(#{event => dissolved}),
    _ = erlang:send_after(?FORGET_AFTER_MS, self(), forgotten),
    _ = supervisor:terminate_child(node_sup, workload_sup),
    {noreply, none};
handle_info(forgotten, none) ->
    ok = node_exit_reason:write("the cluster was being deleted, but this node was not"),
    erlang:halt(1);
handle_info({partisan, _Neighbours}, none) ->
    {noreply, none};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%%% @doc What a node does once its cluster is being deleted ({@link partisan:dissolve/0}): it stops
%%% the workload without a hand-over, and waits for its own deletion.
%%%
%%% It does not end by itself, since Kubernetes would start it again. For the same reason probes are
%%% still answered. A node that is not deleted was dissolved by mistake: it ends after a while, and
%%% the container's next start joins the cluster anew.
-module(node_dissolution).
-behaviour(gen_server).

-export([start_link/0]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-include_lib("kernel/include/logger.hrl").

%% Several times what the deletion of the largest cluster takes.
-define(PATIENCE_MS, 1800000).

%% @doc Start the process.
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @private
-spec init([]) -> {ok, none}.
init([]) ->
    ok = partisan:subscribe(self()),
    % The order may have come before, and another process of this name have died of it.
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
    _ = erlang:send_after(?PATIENCE_MS, self(), forgotten),
    _ = supervisor:terminate_child(node_sup, workload_sup),
    {noreply, none};
handle_info(forgotten, none) ->
    ok = node_last_words:say("the cluster was to be deleted, and this node still runs"),
    erlang:halt(1);
handle_info({partisan, _Neighbours}, none) ->
    {noreply, none};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

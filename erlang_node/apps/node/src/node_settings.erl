%%% @doc Settings that may change at run time: the overlay, the lanes of channels, the seeds and the
%%% cluster size.
%%%
%%% The operator sends the whole configuration, the same text as in the mounted file, and asks the
%%% node for the revision in force. The node reads the file only at its start: the kubelet decides
%%% when a change shows in a running pod, and a node that has read an old file is sent the new
%%% configuration.
%%%
%%% Changes are applied one after the other here, so that the reported revision is the one in force.
-module(node_settings).
-behaviour(gen_server).

-export([start_link/1]).
-export([change/1]).
-export([revision/0]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-include_lib("kernel/include/logger.hrl").

%% Outlives this process, as the settings do.
-define(REVISION, revision).

%% @doc Starts the process; the node's start configuration is in force.
-spec start_link(node_config:t()) -> {ok, pid()} | {error, term()}.
start_link(Config) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Config, []).

%% @doc Applies a configuration, given as the text of the file, as far as a running node can. An
%% invalid one changes nothing; the error is one line.
-spec change(Text :: binary()) -> ok | {error, string()}.
change(Text) ->
    gen_server:call(?MODULE, {change, Text}, infinity).

%% @doc The revision of the configuration applied last.
-spec revision() -> binary().
revision() ->
    {ok, Revision} = application:get_env(node, ?REVISION),
    Revision.

%% @private
-spec init(node_config:t()) -> {ok, node_config:t()}.
init(#{revision := AtStart} = Config) ->
    ok = followed(application:get_env(node, ?REVISION, AtStart)),
    {ok, Config}.

%% @private
-spec handle_call(term(), gen_server:from(), node_config:t()) ->
    {reply, ok | {error, string() | unknown_request}, node_config:t()}.
handle_call({change, Text}, _From, Config) ->
    {reply, follow(node_config:changes(Text, Config), Config), Config};
handle_call(Unknown, _From, Config) ->
    {reply, partisan_stray:call(Unknown), Config}.

%% @private
-spec handle_cast(term(), node_config:t()) -> {noreply, node_config:t()}.
handle_cast(Unknown, Config) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, Config}.

%% @private
-spec handle_info(term(), node_config:t()) -> {noreply, node_config:t()}.
handle_info(Unknown, Config) ->
    ok = partisan_stray:message(Unknown),
    {noreply, Config}.

%% Internals.

follow({ok, #{revision := Revision, partisan := Settings, members := Members}}, Config) ->
    case partisan:reconfigure(Settings) of
        ok ->
            ok = set_members(Members, Config),
            ok = followed(Revision),
            #{overlay := {Kind, _}} = Settings,
            ?LOG_NOTICE(#{event => reconfigured, revision => Revision, overlay => Kind});
        {error, _} = Error ->
            Error
    end;
follow({error, _} = Error, _Config) ->
    Error.

set_members(_Members, #{workload := none}) -> ok;
set_members(Members, #{workload := {Module, _}}) -> Module:members(Members).

followed(Revision) ->
    application:set_env(node, ?REVISION, Revision).

%%% @doc The release's application: reads the pod's configuration, starts the runtime and what runs
%%% on it, and makes sure that a shutdown loses nothing.
%%%
%%% On SIGTERM the emulator stops its applications in reverse start order, this one first. Before
%%% any process stops, the workload hands over what only this node knows. Then `partisan' leaves the
%%% overlay and flushes its queues. Both together take a few seconds at most, well within a pod's
%%% grace period of thirty. A node of a cluster that is being deleted exits at once instead.
-module(node_app).
-behaviour(application).

-export([start/2]).
-export([prep_stop/1]).
-export([stop/1]).

-include_lib("kernel/include/logger.hrl").

-define(HANDOVER_MS, 10000).

%% @private
-spec start(application:start_type(), term()) -> {ok, pid(), node_config:t()} | {error, term()}.
start(_Type, _Arguments) ->
    case node_config:load(fun os:getenv/1) of
        {ok, #{name := Name, development := Development} = Read, Warnings} ->
            ok = unload(application:get_env(node, start_code, [])),
            ok = node_log:install(Name),
            ok = node_code:permit(Development),
            _ = [?LOG_WARNING(#{event => configuration, text => Text}) || Text <- Warnings],
            Socket = listen(Read),
            ok = use_storage(Read),
            ok = start_partisan(Read),
            Config = node_config:without_token(Read),
            ok = watch_workload(Config),
            case node_sup:start_link(Config, Socket) of
                {ok, Supervisor} ->
                    ?LOG_NOTICE(#{event => node_started, version => node_report:version()}),
                    {ok, Supervisor, Config};
                {error, _} = Error ->
                    ok = node_exit_reason:write_failure(),
                    Error
            end;
        {error, Text} ->
            refuse(Text)
    end.

%% @private
-spec prep_stop(node_config:t()) -> node_config:t().
prep_stop(Config) ->
    % Stopping the applications would take as long as starting them.
    _ = partisan:dissolved() andalso erlang:halt(0, [{flush, false}]),
    hand_over(Config).

%% @private
-spec stop(node_config:t()) -> ok.
stop(_Config) ->
    ok.

%% Internals.

hand_over(#{workload := none} = Config) ->
    Config;
hand_over(#{workload := {Module, _}} = Config) ->
    ?LOG_NOTICE(#{event => node_stopping}),
    % Without its supervisor the node is not shutting down, but has failed.
    _ = whereis(node_sup) =:= undefined andalso node_exit_reason:write_failure(),
    try
        workload:leave(Module, ?HANDOVER_MS)
    catch
        % The workload is down: there is nothing to hand over, and the rest still has to stop.
        exit:Reason -> ?LOG_WARNING(#{event => handover_failed, reason => Reason})
    end,
    Config.

%% Modules that only the start needs (vm.args). They are loaded again on demand; until then their
%% memory is that of modules that follow.
unload(Modules) ->
    _ = [code:purge(Module) || Module <- Modules, code:delete(Module)],
    ok.

%% Before the rest is loaded: an early probe is answered as soon as the node has joined, without a
%% second attempt.
listen(Config) ->
    case node_http:listen(Config) of
        {ok, Socket} -> Socket;
        {error, Text} -> refuse(Text)
    end.

use_storage(#{storage := memory}) -> ok;
use_storage(#{storage := disk}) -> partisan_record:use_disk().

watch_workload(#{workload := none}) -> ok;
watch_workload(#{workload := {Module, _}}) -> node_exit_reason:install(Module).

%% Settings without a field in the configuration can be set for an experiment on the emulator's
%% command line: `-partisan settings #{mailbox_messages=>100000}'.
start_partisan(#{partisan := Settings}) ->
    Others = application:get_env(partisan, settings, #{}),
    case partisan_config:set(maps:merge(Others, Settings)) of
        ok ->
            {ok, _} = application:ensure_all_started(partisan, permanent),
            ok;
        {error, Text} ->
            refuse(Text)
    end.

%% One line, without a crash report that would hide it.
-spec refuse(iolist()) -> no_return().
refuse(Text) ->
    Line = ["configuration: ", Text],
    io:put_chars(standard_error, ["node: ", Line, $\n]),
    ok = node_exit_reason:write(Line),
    erlang:halt(1, [{flush, true}]).

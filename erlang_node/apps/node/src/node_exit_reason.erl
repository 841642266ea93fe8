%%% @doc The reason of a node's exit, in the pod's status.
%%%
%%% The contents of the container's termination log at its exit become part of the pod's status, and
%%% so of the cluster's: one line that says what to do, instead of an exit status.
%%%
%%% An invalid configuration is already such a line. A workload that fails repeatedly ends its
%%% supervisor, then the node, when the original reason is long gone: this module is also a logger
%%% handler, which keeps the reason of the last failure reported by the workload's supervisor.
-module(node_exit_reason).

-export([install/1]).
-export([write/1]).
-export([write_failure/0]).
%% Callback of a logger handler.
-export([log/2]).

-include_lib("kernel/include/logger.hrl").

%% Created by the kubelet, world-writable; does not exist outside a pod.
-define(TERMINATION_LOG, "/dev/termination-log").
-define(FAILURE, last_failure).
%% The kubelet keeps 4096 bytes.
-define(MAX_CHARACTERS, 1000).
-define(DEPTH, 12).

%% @doc Starts recording the failures of workload processes.
-spec install(Kind :: atom()) -> ok.
install(Kind) ->
    case logger:add_handler(?MODULE, ?MODULE, #{level => error, config => #{kind => Kind}}) of
        ok -> ok;
        {error, {already_exist, ?MODULE}} -> ok
    end.

%% @doc Writes a line for the container's status.
-spec write(unicode:chardata()) -> ok.
write(Text) ->
    File = os:getenv("PARTISAN_TERMINATION_LOG", ?TERMINATION_LOG),
    % Not created if missing: this is not a pod.
    _ = filelib:is_file(File) andalso write(File, unicode:characters_to_binary([Text, $\n])),
    ok.

%% @doc Writes the last failure of the workload, if there was one.
-spec write_failure() -> ok.
write_failure() ->
    case application:get_env(node, ?FAILURE) of
        {ok, Text} -> write(Text);
        undefined -> ok
    end.

%% @private
-spec log(logger:log_event(), logger:handler_config()) -> ok.
log(#{msg := {report, #{label := {supervisor, Context}, report := Report}}}, Handler) ->
    #{config := #{kind := Kind}} = Handler,
    #{supervisor := Supervisor, reason := Reason, offender := Child} = maps:from_list(Report),
    case is_cause(Supervisor, Context, Child, Reason) of
        true -> application:set_env(node, ?FAILURE, failure(Kind, Context, Child, Reason));
        false -> ok
    end;
log(_Event, _Handler) ->
    ok.

%% Internals.

%% A supervisor's shutdown is only a consequence. Missing or invalid child specifications are known
%% only to the supervisor above.
is_cause({local, workload_sup}, Context, _Child, _Reason) ->
    lists:member(Context, [child_terminated, start_error]);
is_cause({local, node_sup}, start_error, Child, Reason) ->
    id(Child) =:= workload_sup andalso not is_tuple_of(shutdown, Reason);
is_cause(_Supervisor, _Context, _Child, _Reason) ->
    false.

is_tuple_of(Tag, Term) ->
    is_tuple(Term) andalso element(1, Term) =:= Tag.

id(Child) ->
    proplists:get_value(id, Child).

failure(Kind, Context, Child, Reason) ->
    Did =
        case Context of
            child_terminated -> "failed again and again";
            start_error -> "does not start"
        end,
    Format = "workload: ~0tP of the module ~p ~s, last because of ~0tP",
    Arguments = [id(Child), ?DEPTH, Kind, Did, Reason, ?DEPTH],
    io_lib:format(Format, Arguments, [{chars_limit, ?MAX_CHARACTERS}]).

write(File, Text) ->
    case file:write_file(File, Text) of
        ok -> ok;
        {error, Reason} -> ?LOG_WARNING(#{event => unwritten, file => File, reason => Reason})
    end.

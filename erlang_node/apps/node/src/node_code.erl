%%% @doc Replaces modules of the running virtual machine, for development.
%%%
%%% Refused unless the configuration has `development => true'. The code is in memory alone: a
%%% restarted node has that of its image.
-module(node_code).

-export([permit/1]).
-export([load/1]).

-include_lib("kernel/include/logger.hrl").

%% `old': processes that still run the version before. The next load of the module ends them.
-type outcome() :: #{module := module(), loaded := boolean(), old := non_neg_integer()}.

%% @doc Whether modules may be replaced from now on.
-spec permit(boolean()) -> ok.
permit(Development) ->
    ok = application:set_env(node, development, Development),
    Text = <<"spec.development is true: modules may be replaced. Not for production">>,
    _ = Development andalso ?LOG_WARNING(#{event => development, text => Text}),
    ok.

%% @doc Makes a compiled module the current version of its name, unless it is already.
-spec load(Compiled :: binary()) -> {ok, outcome()} | {error, iolist()}.
load(Compiled) ->
    case {application:get_env(node, development), beam_lib:chunks(Compiled, [])} of
        {{ok, true}, {ok, {Module, []}}} ->
            replace(Module, Compiled);
        {{ok, true}, {error, beam_lib, _}} ->
            {error, "this is no compiled module"};
        _ ->
            {error,
                "hot code loading is off: set spec.development of the cluster to true, which "
                "replaces the pods, and never in production"}
    end.

%% Internals.

replace(Module, Compiled) ->
    case is_current(Module, Compiled) of
        true -> {ok, outcome(Module, false)};
        false -> loaded(Module, Compiled)
    end.

is_current(Module, Compiled) ->
    % If the module is not loaded, its file in the release counts.
    case code:ensure_loaded(Module) of
        {module, Module} -> Module:module_info(md5) =:= code:module_md5(Compiled);
        {error, _} -> false
    end.

loaded(Module, Compiled) ->
    % As `c:l/1' does: at most two versions of a module can be in use.
    _ = code:purge(Module),
    case code:load_binary(Module, "hot-loaded", Compiled) of
        {module, Module} ->
            ?LOG_NOTICE(#{event => module_loaded, module => Module}),
            {ok, outcome(Module, true)};
        {error, Reason} ->
            {error, [atom_to_list(Module), " is not loaded: ", reason(Reason)]}
    end.

outcome(Module, Loaded) ->
    Old = [Pid || Pid <- processes(), erlang:check_process_code(Pid, Module)],
    #{module => Module, loaded => Loaded, old => length(Old)}.

reason(badfile) ->
    ["compile it with OTP ", erlang:system_info(otp_release), " or an earlier one"];
reason(sticky_directory) ->
    "it is a module of Erlang itself";
reason(Other) ->
    io_lib:format("~0tp", [Other]).

%%% @doc The behaviour of an application model: commands for a cluster, and what their results must
%%% be.
%%%
%%% A model is engine-neutral. Our generator ({@link verify_campaign}) draws commands and faults
%%% from a seed, runs them in virtual time and shrinks what fails; in tests PropEr runs the same
%%% models.
%%% Commands run one after another; the model's state is what their results imply.
%%%
%%% == A step ==
%%% A command is `{Name, Arguments}', as `{write, [<<"n1">>, x, 1]}'; a fault `{fault, Name,
%%% Arguments}' ({@link verify_faults}). Arguments are data, drawn by {@link verify_generate}.
%%% `precondition/2' is asked for commands, `next/3' is called for both. The result of a command is
%%% the answer to its call, `timeout' if there is none within `wait' milliseconds or the node goes
%%% down, or `ok' without a call.
-module(verify_model).

-export([check/1]).
-export([custom_faults/1]).
-export([default_faults/1]).
-export([text/4]).
-export([verdict/2]).
-export([is_verdict/1]).

-type name() :: partisan_process:name().
-type model() :: term().
-type command() :: {Name :: atom(), Arguments :: [term()]}.
-type fault() :: {fault, Name :: atom(), Arguments :: [term()]}.
-type step() :: command() | fault().
-type result() :: term().

%% What a command or a fault does. Only the last one may be a call.
-type action() ::
    {event, name(), partisan_process:event()}
    | {call, name(), Request :: term()}
    | {crash, name()}
    % A node that is down loses what it has persisted.
    | {forget, name()}
    | {restart, name()}.

%% A fault of the application: `blames' are the nodes that it makes faulty. It ends with
%% `resolve_all': rules are removed, nodes that are down restart.
-type custom_fault() :: #{
    name := atom(),
    arguments := [verify_generate:generator()],
    blames := fun((Arguments :: [term()]) -> [name()]),
    rules => fun((Arguments :: [term()]) -> [partisan_fault:rule()]),
    actions => fun((Arguments :: [term()]) -> [action()])
}.

%% The process and its options as those of {@link verify_world}, from the options of a campaign.
-type process() :: #{module := module(), options := map() | fun((name()) -> map())}.

-export_type([model/0, command/0, fault/0, step/0, result/0, action/0, custom_fault/0, process/0]).

-callback process(Nodes :: [name()], Options :: map()) -> process().
-callback initial(Nodes :: [name()]) -> model().
-callback commands(model()) ->
    [{Weight :: pos_integer(), {Name :: atom(), [verify_generate:generator()]}}].
-callback precondition(model(), command()) -> boolean().
-callback perform(model(), command()) -> [action()].
-callback next(model(), step(), result()) -> model().
-callback postcondition(model(), command(), result()) -> ok | {violated, iodata()}.
%% After the last step: all faults have ended, and the cluster had time to settle.
-callback final(model(), #{name() => State :: term()}) -> ok | {violated, iodata()}.
%% Faults of the application, and the kinds of faults that campaigns inject unless they name some:
%% by default {@link verify_faults:kinds/0}.
-callback faults() -> [custom_fault()].
-callback default_faults() -> [verify_faults:kind()].
%% A command and its result in the notation of {@link verify_notation}.
-callback text(model(), command(), result()) -> {Command :: iodata(), Result :: iodata()}.
-optional_callbacks([faults/0, default_faults/0, text/3]).

-define(CALLBACKS, [
    {process, 2},
    {initial, 1},
    {commands, 1},
    {precondition, 2},
    {perform, 2},
    {next, 3},
    {postcondition, 3},
    {final, 2}
]).

%% @doc Whether a module is a model; otherwise the description names what is missing.
-spec check(module()) -> ok | {error, Description :: string()}.
check(Module) ->
    case code:ensure_loaded(Module) of
        {module, Module} ->
            case [C || {Name, Arity} = C <- ?CALLBACKS, not exported(Module, Name, Arity)] of
                [] ->
                    ok;
                [{Name, Arity} | _] ->
                    Format = "~ts is no model: it lacks ~ts/~b; export it (behaviour verify_model)",
                    {error, lists:flatten(io_lib:format(Format, [Module, Name, Arity]))}
            end;
        {error, Reason} ->
            Format = "no module ~ts (~tp); compile it and add its directory to the code path",
            {error, lists:flatten(io_lib:format(Format, [Module, Reason]))}
    end.

%% @doc The faults of the application.
-spec custom_faults(module()) -> [custom_fault()].
custom_faults(Module) ->
    case exported(Module, faults, 0) of
        true -> Module:faults();
        false -> []
    end.

%% @doc The kinds of faults that a campaign injects by default.
-spec default_faults(module()) -> [verify_faults:kind()].
default_faults(Module) ->
    case exported(Module, default_faults, 0) of
        true -> Module:default_faults();
        false -> verify_faults:kinds()
    end.

%% @doc A command and its result as text.
-spec text(module(), model(), command(), result()) -> {Command :: iodata(), Result :: iodata()}.
text(Module, Model, Command, Result) ->
    case exported(Module, text, 3) of
        true -> Module:text(Model, Command, Result);
        false -> {verify_notation:command(Command), verify_notation:result(Result)}
    end.

%% @doc The verdict that a callback has returned. Raises `{invalid_campaign, Description}' for any
%% other term.
-spec verdict(postcondition | final, Returned :: term()) -> ok | {violated, iodata()}.
verdict(Callback, Returned) ->
    case is_verdict(Returned) of
        true ->
            Returned;
        false ->
            Format = "~ts: ~0tP is neither ok nor {violated, Text}",
            Text = io_lib:format(Format, [Callback, Returned, 12]),
            error({invalid_campaign, lists:flatten(Text)})
    end.

%% @doc Whether a term is `ok', or `{violated, Text}' with a text.
-spec is_verdict(term()) -> boolean().
is_verdict(ok) ->
    true;
is_verdict({violated, Text}) ->
    try
        is_binary(unicode:characters_to_binary(Text))
    catch
        error:badarg -> false
    end;
is_verdict(_) ->
    false.

%% Internals.

exported(Module, Name, Arity) ->
    erlang:function_exported(Module, Name, Arity).

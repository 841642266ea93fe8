%%% @doc Copies of modules of a node whose calls to the outside go to another module.
%%%
%%% Some protocols of a node are not values: they read the clock and send by themselves. A copy is
%%% made of the module's own code, the abstract code in its object file, under another name. In it
%%% the given calls are redirected, and calls among the copied modules stay among the copies; all
%%% else is as in the original, which keeps running unchanged ({@link verify_rewrite}).
%%%
%%% A copy may differ further by a mutation: functions replaced by others, given as source text.
-module(verify_own_code).

-export([load/1]).

-type function_name() :: {atom(), arity()}.
%% `modules': the originals. `prefix': of the names of the copies. `calls': the module to call
%% instead. `replaced': functions of the originals in source text.
-type options() :: #{
    modules := [module()],
    prefix := string(),
    calls := #{mfa() => module()},
    replaced => #{module() => #{function_name() => string()}}
}.
-type copies() :: #{Original :: module() => Copy :: module()}.

-export_type([options/0, copies/0]).

%% @doc Loads the copies, unless they are loaded. An original without abstract code is an error
%% `{no_debug_info, Module}': compile it with `debug_info'.
-spec load(options()) -> copies().
load(#{modules := Modules, prefix := Prefix} = Options) ->
    Copies = maps:from_list([
        {Module, list_to_atom(Prefix ++ atom_to_list(Module))}
     || Module <- Modules
    ]),
    lists:foreach(
        fun({Module, Copy}) ->
            code:is_loaded(Copy) =/= false orelse load(Module, Copy, Copies, Options)
        end,
        maps:to_list(Copies)
    ),
    Copies.

%% Internals.

load(Module, Copy, Copies, #{calls := Calls} = Options) ->
    Replaced = maps:get(Module, maps:get(replaced, Options, #{}), #{}),
    Visit = fun
        ({_Line, {remote, M, F, A}}) -> home({M, F, A}, Calls, Copies);
        (_) -> keep
    end,
    Forms = verify_rewrite:module(Copy, Visit, [replace(F, Replaced) || F <- forms(Module)]),
    {ok, Copy, Code} = compile:forms(Forms, [nowarn_unused_function, nowarn_unused_type]),
    {module, Copy} = code:load_binary(Copy, atom_to_list(Copy), Code),
    true.

home({M, F, _} = Function, Calls, Copies) ->
    case {Calls, Copies} of
        {#{Function := Home}, _} -> {call, Home, F};
        {_, #{M := Copy}} -> {call, Copy, F};
        _ -> keep
    end.

forms(Module) ->
    {Module, Object, _File} = code:get_object_code(Module),
    case beam_lib:chunks(Object, [abstract_code]) of
        {ok, {Module, [{abstract_code, {raw_abstract_v1, Forms}}]}} -> Forms;
        _ -> error({no_debug_info, Module})
    end.

replace({function, Line, Name, Arity, _} = Form, Replaced) ->
    case Replaced of
        #{{Name, Arity} := Source} ->
            {ok, Tokens, _} = erl_scan:string(Source, Line),
            {ok, New} = erl_parse:parse_form(Tokens),
            New;
        #{} ->
            Form
    end;
replace(Form, _Replaced) ->
    Form.

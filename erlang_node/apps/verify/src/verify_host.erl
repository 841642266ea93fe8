%%% @doc Hosts an ordinary `gen_server' or `gen_statem' as a {@link partisan_process}.
%%%
%%% `load/1' reads the abstract code of the module from its debug information and follows its calls
%%% from the callbacks, into other modules as well. The calls that do more than compute are replaced
%%% in a copy ({@link verify_calls}, {@link verify_rewrite}), and so are the modules on the way to
%%% them; the originals stay as they are. What runs is a generated module:
%%%
%%% ```
%%% {ok, Hosted} = verify_host:load(rumours),
%%% World = verify_world:new(#{module => Hosted, nodes => [<<"n1">>, <<"n2">>]}).
%%% '''
%%%
%%% `init/1' of the original gets the option `argument'. Without that option a {@link workload} gets
%%% the options of a node with default parameters, and any other module those of a
%%% `partisan_process', with `name' in addition ({@link verify_hosted}).
-module(verify_host).

-export([load/1]).
-export([modules/1]).

-record(code, {
    forms :: [erl_parse:abstract_form()],
    visits :: #{verify_rewrite:function_name() | record => [verify_rewrite:visit()]},
    md5 :: binary()
}).

%% A function and the line of a call of it.
-type place() :: {module(), Line :: non_neg_integer()}.

-record(search, {
    code = #{} :: #{module() => #code{} | opaque},
    seen = #{} :: #{{module(), verify_rewrite:function_name() | record} => true},
    % Modules that call one another, and those with a call that is replaced.
    edges = [] :: [{module(), module()}],
    effectful = [] :: [module()],
    random = false :: boolean(),
    refused = [] :: [{place(), Text :: iolist()}]
}).

%% @doc Hosts a module. Returns the module to explore, the module itself if it is a
%% `partisan_process' already. An error is one line with the module, the line and the remedy.
-spec load(module()) -> {ok, Hosted :: module()} | {error, iodata()}.
load(Module) ->
    case read(Module) of
        {ok, Code} -> behaviour(Module, Code);
        {error, _} = Error -> Error
    end.

%% @doc The original modules that run in a hosted one, each with the MD5 of its code.
-spec modules(Hosted :: module()) -> [{module(), MD5 :: binary()}].
modules(Hosted) ->
    case erlang:function_exported(Hosted, hosts, 0) of
        true -> Hosted:hosts();
        false -> [{Hosted, Hosted:module_info(md5)}]
    end.

%% Internals: one module.

read(Module) ->
    case code:get_object_code(Module) of
        {Module, Beam, _File} ->
            case beam_lib:chunks(Beam, [debug_info]) of
                {ok, {_, [{debug_info, {debug_info_v1, Backend, Data}}]}} ->
                    abstract(Module, Beam, Backend:debug_info(erlang_v1, Module, Data, []));
                _ ->
                    no_debug_info(Module)
            end;
        error ->
            {error, [name(Module), ": no such module: add its directory to the code path"]}
    end.

abstract(_Module, Beam, {ok, Forms}) ->
    {ok, {_, MD5}} = beam_lib:md5(Beam),
    {ok, #code{forms = Forms, visits = verify_rewrite:functions(Forms), md5 = MD5}};
abstract(Module, _Beam, {error, _}) ->
    no_debug_info(Module).

no_debug_info(Module) ->
    {error, [name(Module), ": no debug_info: compile it with the option debug_info"]}.

name(Module) -> atom_to_list(Module).

%% Internals: behaviours.

behaviour(Module, #code{forms = Forms} = Code) ->
    Declared = [B || {attribute, _, Name, B} <- Forms, Name =:= behaviour orelse Name =:= behavior],
    case [B || B <- Declared, callbacks(B) =/= none] of
        [Behaviour | _] -> callbacks(Behaviour, Module, Code);
        [] -> {error, [name(Module), ": declares none of the behaviours gen_server, gen_statem and "
            "partisan_process: add one, and its callbacks"]}
    end.

callbacks(partisan_process) -> {[{init, 1}, {handle, 2}], []};
callbacks(gen_server) ->
    {[{init, 1}, {handle_call, 3}, {handle_cast, 2}],
        [{handle_info, 2}, {handle_continue, 2}, {terminate, 2}]};
callbacks(gen_statem) ->
    {[{init, 1}, {callback_mode, 0}], [{handle_event, 4}, {terminate, 3}]};
callbacks(_) -> none.

callbacks(Behaviour, Module, #code{forms = Forms} = Code) ->
    {Required, Optional} = callbacks(Behaviour),
    Exported = lists:append([FAs || {attribute, _, export, FAs} <- Forms]),
    case Required -- Exported of
        [] when Behaviour =:= partisan_process ->
            {ok, Module};
        [] ->
            States = [FA || {_, 3} = FA <- Exported, Behaviour =:= gen_statem],
            Present = [FA || FA <- Optional, lists:member(FA, Exported)],
            host(Behaviour, Module, lists:usort(Required ++ Present ++ States), Code);
        Missing ->
            Names = [[$\s, function(FA)] || FA <- Missing],
            {error, [name(Module), ": is no ", name(Behaviour), ": it lacks", Names]}
    end.

function({F, A}) -> io_lib:format("~tw/~b", [F, A]).

%% Internals: the search from the callbacks.

host(Behaviour, Module, Callbacks, Code) ->
    Roots = [{Module, FA, Module} || FA <- Callbacks],
    case search(Roots, #search{code = #{Module => Code}}) of
        #search{refused = []} = Search ->
            {ok, generate(Behaviour, Module, Search)};
        #search{refused = Refused} ->
            {error, first(Module, lists:sort(Refused))}
    end.

%% A line of the module itself, if there is one, before those of others.
first(Module, Refused) ->
    {Own, Others} = lists:partition(fun({{M, _}, _}) -> M =:= Module end, Refused),
    [{{At, Line}, Text} | More] = Own ++ Others,
    [name(At), $:, integer_to_list(Line), ": ", Text,
        [io_lib:format(" (and ~b more)", [length(More)]) || More =/= []]].

search([], Search) ->
    Search;
search([{Module, FA, Caller} | Next], #search{seen = Seen} = Search0) ->
    case Seen of
        #{{Module, FA} := true} ->
            search(Next, edge(Caller, Module, Search0));
        #{} ->
            Search = edge(Caller, Module, Search0#search{seen = Seen#{{Module, FA} => true}}),
            {Reached, Found} = visits(Module, FA, Search),
            search(Reached ++ Next, Found)
    end.

edge(Module, Module, Search) -> Search;
edge(Caller, Module, #search{edges = Edges} = Search) ->
    Search#search{edges = [{Caller, Module} | Edges]}.

visits(Module, FA, Search0) ->
    case code(Module, Search0) of
        {opaque, Search} ->
            {[], Search};
        {#code{visits = Visits}, Search} ->
            Own = maps:get(FA, Visits, []),
            Reached = [{Module, record, Module} || FA =/= record],
            lists:foldl(fun(Visit, Acc) -> visit(Module, Visit, Acc) end, {Reached, Search}, Own)
    end.

%% Modules of OTP are not examined, nor those without debug information.
code(Module, #search{code = Known} = Search) ->
    case Known of
        #{Module := Code} ->
            {Code, Search};
        #{} ->
            Code =
                case is_otp(code:which(Module)) orelse read(Module) of
                    {ok, Read} -> Read;
                    _ -> opaque
                end,
            {Code, Search#search{code = Known#{Module => Code}}}
    end.

is_otp(File) when is_list(File) -> lists:prefix(code:lib_dir(), File);
is_otp(Other) -> Other =:= preloaded.

visit(Module, {_Line, {local, F, A}}, {Reached, Search}) ->
    {[{Module, {F, A}, Module} | Reached], Search};
visit(Module, {_Line, dynamic}, {Reached, Search}) ->
    {Reached, effectful(Module, Search)};
visit(Module, {Line, {remote, M, F, A} = Target}, {Reached, Search}) ->
    case verify_calls:classify(M, F, A) of
        pure -> {[{M, {F, A}, Module} || M =/= erlang] ++ Reached, random(M, F, Search)};
        {refused, _} -> {Reached, refuse(Module, Line, Target, Search)};
        {replaced, _, _} -> {Reached, effectful(Module, random(M, F, Search))};
        {value, _} -> {Reached, effectful(Module, Search)}
    end;
visit(Module, {Line, Target}, {Reached, Search}) ->
    {Reached, refuse(Module, Line, Target, Search)}.

effectful(Module, #search{effectful = Modules} = Search) ->
    Search#search{effectful = [Module | Modules]}.

random(Module, Function, Search) when
    Module =:= rand;
    Module =:= crypto, Function =:= strong_rand_bytes;
    Module =:= lists, Function =:= shuffle
->
    Search#search{random = true};
random(_Module, _Function, Search) ->
    Search.

refuse(Module, Line, Target, #search{refused = Refused} = Search) ->
    Search#search{refused = [{{Module, Line}, refusal(Target)} | Refused]}.

refusal({remote, M, F, A}) -> verify_calls:refusal(M, F, A);
refusal('receive') -> "receive cannot be hosted: handle the message in a callback";
refusal({guard, F}) ->
    io_lib:format("~tw() in a guard cannot be hosted: bind it to a variable before", [F]).

%% Internals: the copies, and the module that runs them.

generate(Behaviour, Module, #search{code = Code, random = Random} = Search) ->
    Copied = lists:sort(copied([Module | Search#search.effectful], Search#search.edges)),
    % Of its own, since another module may reach other functions of the same helper.
    Copies = maps:from_list([{M, list_to_atom(name(M) ++ "@" ++ name(Module))} || M <- Copied]),
    Hosts = [{M, MD5} || M <- Copied, #{M := #code{md5 = MD5}} <- [Code]],
    Hosted = list_to_atom(name(Module) ++ "@hosted"),
    Spec = #{
        behaviour => Behaviour,
        module => Module,
        names => names(Module, maps:get(Module, Code)),
        modules => Copies,
        random => Random
    },
    case erlang:function_exported(Hosted, hosts, 0) andalso Hosted:hosts() =:= Hosts of
        true ->
            Hosted;
        false ->
            maps:foreach(fun(M, Copy) -> copy(M, Copy, Copies, maps:get(M, Code)) end, Copies),
            compile_and_load(facade(Hosted, Spec, Hosts))
    end.

%% The modules from which a call leads to an effectful one.
copied(Modules, Edges) ->
    Known = lists:usort(Modules),
    case lists:usort([From || {From, To} <- Edges, lists:member(To, Known)] ++ Known) of
        Known -> Known;
        More -> copied(More, Edges)
    end.

%% Its own name, and those under which it starts.
names(Module, #code{forms = Forms}) ->
    [Module | lists:usort(local_names(Forms)) -- [Module]].

local_names({tuple, _, [{atom, _, local}, {atom, _, Name}]}) -> [Name];
local_names(Tuple) when is_tuple(Tuple) -> local_names(tuple_to_list(Tuple));
local_names([Head | Tail]) -> local_names(Head) ++ local_names(Tail);
local_names(_) -> [].

copy(Module, Copy, Copies, #code{forms = Forms}) ->
    Visit = fun(Visited) -> replacement(Visited, Module, Copies) end,
    compile_and_load(verify_rewrite:module(Copy, Visit, Forms)).

replacement({_Line, {local, _, _}}, _Module, _Copies) -> keep;
replacement({_Line, dynamic}, _Module, _Copies) -> {call, verify_replaced, apply};
replacement({_Line, {guard, _}}, _Module, _Copies) -> keep;
replacement({Line, {remote, M, F, A} = Target}, Module, Copies) ->
    case verify_calls:classify(M, F, A) of
        pure when is_map_key(M, Copies) -> {call, map_get(M, Copies), F};
        pure -> keep;
        {replaced, By, Function} -> {call, By, Function};
        {value, _} = Value -> Value;
        {refused, _} -> unreachable(Module, Line, Target)
    end;
replacement({Line, Target}, Module, _Copies) -> unreachable(Module, Line, Target).

%% From the callbacks at least.
unreachable(Module, Line, Target) ->
    {error, [name(Module), $:, integer_to_list(Line), ": ", refusal(Target)]}.

facade(Hosted, Spec, Hosts) ->
    Line = erl_anno:new(0),
    Var = fun(Name) -> {var, Line, Name} end,
    Function = fun(Name, Parameters, Body) ->
        Clause = {clause, Line, Parameters, [], [Body]},
        {function, Line, Name, length(Parameters), [Clause]}
    end,
    Call = fun(Name, Arguments) ->
        {call, Line, {remote, Line, {atom, Line, verify_hosted}, {atom, Line, Name}}, Arguments}
    end,
    [
        {attribute, Line, module, Hosted},
        {attribute, Line, behaviour, partisan_process},
        {attribute, Line, export, [{init, 1}, {handle, 2}, {hosts, 0}]},
        Function(init, [Var('O')], Call(init, [erl_parse:abstract(Spec), Var('O')])),
        Function(handle, [Var('E'), Var('S')], Call(handle, [Var('E'), Var('S')])),
        Function(hosts, [], erl_parse:abstract(Hosts))
    ].

compile_and_load(Forms) ->
    {ok, Module, Beam} = compile:forms(Forms, [nowarn_unused_function, return_errors]),
    _ = code:purge(Module),
    {module, Module} = code:load_binary(Module, name(Module), Beam),
    Module.

%%% @doc Hosts an ordinary `gen_server' or `gen_statem' as a {@link partisan_process}.
%%%
%%% `load/1' reads the abstract code of the module from its debug information and follows its calls
%%% from the callbacks, into other modules as well ({@link verify_reach}). The calls that do more
%%% than compute are replaced in a copy ({@link verify_calls}, {@link verify_rewrite}), and so are
%%% the modules on the way to them; the originals stay as they are. What runs is a generated module:
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

%% @doc Hosts a module. Returns the module to explore, the module itself if it is a
%% `partisan_process' already. An error is one line with the module, the line and the remedy.
-spec load(module()) -> {ok, Hosted :: module()} | {error, iodata()}.
load(Module) ->
    case code:ensure_loaded(Module) of
        {module, Module} ->
            load(behaviours(Module), Module);
        {error, nofile} ->
            Remedy = "compile it and add its directory to the code path",
            {error, [name(Module), ": no such module: ", Remedy]};
        {error, Reason} ->
            {error, [name(Module), ": cannot be loaded (", name(Reason), "): compile it with OTP ",
                erlang:system_info(otp_release)]}
    end.

%% @doc The original modules that run in a hosted one, each with the MD5 of its code.
-spec modules(Hosted :: module()) -> [{module(), MD5 :: binary()}].
modules(Hosted) ->
    case erlang:function_exported(Hosted, hosts, 0) of
        true -> Hosted:hosts();
        false -> [{Hosted, Hosted:module_info(md5)}]
    end.

%% Internals: behaviours.

behaviours(Module) ->
    Declared = lists:append([
        Behaviours
     || {Name, Behaviours} <- Module:module_info(attributes),
        Name =:= behaviour orelse Name =:= behavior
    ]),
    [Behaviour || Behaviour <- Declared, required(Behaviour) =/= none].

required(partisan_process) -> [{init, 1}, {handle, 2}];
required(gen_server) -> [{init, 1}, {handle_call, 3}, {handle_cast, 2}];
required(gen_statem) -> [{init, 1}, {callback_mode, 0}];
required(_) -> none.

%% Any function of three arguments may be a state of a `gen_statem'.
is_callback({handle_info, 2}, gen_server) -> true;
is_callback({handle_continue, 2}, gen_server) -> true;
is_callback({terminate, 2}, gen_server) -> true;
is_callback({handle_event, 4}, gen_statem) -> true;
is_callback({_State, 3}, gen_statem) -> true;
is_callback(_, _) -> false.

load([], Module) ->
    {error, [name(Module), ": declares none of the behaviours gen_server, gen_statem and "
        "partisan_process: add one, and its callbacks"]};
load([Behaviour | _], Module) ->
    Exported = Module:module_info(exports),
    case required(Behaviour) -- Exported of
        [] when Behaviour =:= partisan_process ->
            {ok, Module};
        [] ->
            Optional = [FA || FA <- Exported, is_callback(FA, Behaviour)],
            host(Behaviour, Module, lists:usort(required(Behaviour) ++ Optional));
        Missing ->
            Names = [io_lib:format(" ~tw/~b", [F, A]) || {F, A} <- Missing],
            {error, [name(Module), ": is no ", name(Behaviour), ": it lacks", Names]}
    end.

host(Behaviour, Module, Callbacks) ->
    case verify_reach:search(Module, Callbacks) of
        {ok, Reach} ->
            {ok, generate(Behaviour, Module, Reach)};
        {error, {At, Line, Target, 0}} ->
            {error, refusal(At, Line, Target)};
        {error, {At, Line, Target, More}} ->
            {error, [refusal(At, Line, Target), io_lib:format(" (and ~b more)", [More])]};
        {error, _} = Error ->
            Error
    end.

refusal(Module, Line, Target) ->
    [name(Module), $:, integer_to_list(Line), ": ", refusal(Target)].

refusal({remote, M, F, A}) -> verify_calls:refusal(M, F, A);
refusal('receive') -> "receive cannot be hosted: handle the message in a callback";
refusal({guard, F}) ->
    io_lib:format("~tw() in a guard cannot be hosted: bind it to a variable before", [F]).

name(Name) -> atom_to_list(Name).

%% Internals: the copies, and the module that runs them.

generate(Behaviour, Module, #{copied := Copied, random := Random, clocked := Clocked}) ->
    % Of its own, since another module may reach other functions of the same helper.
    Copy = fun(M) -> list_to_atom(name(M) ++ "@" ++ name(Module)) end,
    Copies = maps:from_list([{M, Copy(M)} || M <- maps:keys(Copied)]),
    #{Module := #{forms := Forms}} = Copied,
    Spec = #{
        behaviour => Behaviour,
        module => Module,
        names => [Module | lists:usort(local_names(Forms)) -- [Module]],
        modules => Copies,
        random => Random
    },
    Hosts = lists:sort([{M, MD5} || {M, #{md5 := MD5}} <- maps:to_list(Copied)]),
    Hosted = list_to_atom(name(Module) ++ "@hosted"),
    case erlang:function_exported(Hosted, hosts, 0) andalso Hosted:hosts() =:= Hosts of
        true ->
            Hosted;
        false ->
            maps:foreach(
                fun(M, #{forms := Original}) ->
                    Visit = fun(Visited) -> replacement(Visited, M, Copies) end,
                    compile_and_load(verify_rewrite:module(map_get(M, Copies), Visit, Original))
                end,
                Copied
            ),
            compile_and_load(facade(Hosted, Spec, Clocked, Hosts))
    end.

%% The names under which a process of the module starts: the literals `{local, Name}'.
local_names({tuple, _, [{atom, _, local}, {atom, _, Name}]}) -> [Name];
local_names(Tuple) when is_tuple(Tuple) -> local_names(tuple_to_list(Tuple));
local_names([Head | Tail]) -> local_names(Head) ++ local_names(Tail);
local_names(_) -> [].

replacement({_Line, {local, _, _}}, _Module, _Copies) -> keep;
replacement({_Line, {guard, _}}, _Module, _Copies) -> keep;
replacement({_Line, dynamic}, _Module, _Copies) -> {call, verify_replaced, apply};
replacement({Line, {remote, M, F, A} = Target}, Module, Copies) ->
    case verify_calls:classify(M, F, A) of
        pure when is_map_key(M, Copies) -> {call, map_get(M, Copies), F};
        pure -> keep;
        {replaced, By, Function} -> {call, By, Function};
        {value, _} = Value -> Value;
        {refused, _} -> {error, refusal(Module, Line, Target)}
    end;
replacement({Line, 'receive'}, Module, _Copies) ->
    {error, refusal(Module, Line, 'receive')}.

%% `handle/3', with the time, for a process that reads it. What the original exports for the
%% explorer is passed on.
facade(Hosted, #{module := Module} = Spec, IsClocked, Hosts) ->
    Exported = Module:module_info(exports),
    Passed = [F || F <- [scenario, verdict, symmetry], lists:member({F, 1}, Exported)],
    Functions =
        [passed(init, 1, [erl_parse:abstract(Spec)]), passed(handle, 2, [])] ++
            [passed(handle, 3, []) || IsClocked] ++
            [passed(F, 1, [erl_parse:abstract(Module)]) || F <- Passed] ++
            [function(hosts, [], erl_parse:abstract(Hosts))],
    Line = erl_anno:new(0),
    [
        {attribute, Line, module, Hosted},
        {attribute, Line, behaviour, partisan_process},
        {attribute, Line, export, [{F, A} || {function, _, F, A, _} <- Functions]}
        | Functions
    ].

%% A call of the same name in verify_hosted, with these arguments first.
passed(Name, Arity, First) ->
    Line = erl_anno:new(0),
    Parameters = lists:sublist([{var, Line, 'A'}, {var, Line, 'B'}, {var, Line, 'C'}], Arity),
    Remote = {remote, Line, {atom, Line, verify_hosted}, {atom, Line, Name}},
    function(Name, Parameters, {call, Line, Remote, First ++ Parameters}).

function(Name, Parameters, Body) ->
    Line = erl_anno:new(0),
    {function, Line, Name, length(Parameters), [{clause, Line, Parameters, [], [Body]}]}.

compile_and_load(Forms) ->
    {ok, Module, Beam} = compile:forms(Forms, [nowarn_unused_function, return_errors]),
    _ = code:purge(Module),
    {module, Module} = code:load_binary(Module, name(Module), Beam),
    Module.

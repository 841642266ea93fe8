%%% @doc The code that a hosted process reaches: follows the calls of its callbacks through the
%%% module and those that it calls, and collects what must be replaced and what is refused.
%%%
%%% Only functions that a callback reaches count: what clients call (`start_link', or an API of
%%% `gen_server:call') may do anything. Modules of OTP are not examined, nor those without debug
%%% information.
-module(verify_reach).

-export([read/1]).
-export([search/2]).
-export([is_pure/3]).

-type code() :: #{
    forms := [erl_parse:abstract_form()],
    visits := #{verify_rewrite:function_name() | record => [verify_rewrite:visit()]},
    md5 := binary()
}.

%% `copied': the modules of which the process needs a copy, those from which a call leads to one
%% that is replaced. `random', `clocked': whether it draws random numbers or reads the time.
-type reach() :: #{
    copied := #{module() => code()},
    random := boolean(),
    clocked := boolean()
}.
-export_type([code/0, reach/0]).

%% Functions whose results depend on the time.
-define(CLOCK, [monotonic_time, system_time, timestamp, now, cancel_timer, read_timer]).

-record(search, {
    code = #{} :: #{module() => code() | opaque},
    seen = #{} :: #{{module(), verify_rewrite:function_name() | record} => true},
    % Modules that call one another, and those with a call that is replaced.
    edges = [] :: [{module(), module()}],
    effectful = [] :: [module()],
    random = false :: boolean(),
    clocked = false :: boolean(),
    refused = [] :: [{module(), Line :: non_neg_integer(), verify_rewrite:target()}]
}).

%% @doc The abstract code of a module.
-spec read(module()) -> {ok, code()} | {error, iodata()}.
read(Module) ->
    case code:get_object_code(Module) of
        {Module, Beam, _File} ->
            case beam_lib:chunks(Beam, [debug_info]) of
                {ok, {_, [{debug_info, {debug_info_v1, Backend, Data}}]}} ->
                    code(Module, Beam, Backend:debug_info(erlang_v1, Module, Data, []));
                _ ->
                    no_debug_info(Module)
            end;
        error ->
            no_debug_info(Module)
    end.

%% @doc The code that these functions of a module reach; or the first call that is refused, one of
%% the module itself if there is any, and the number of the others.
-spec search(module(), [verify_rewrite:function_name()]) ->
    {ok, reach()}
    | {error, {module(), Line :: non_neg_integer(), verify_rewrite:target(), Others :: integer()}}
    | {error, iodata()}.
search(Module, Functions) ->
    case read(Module) of
        {ok, Code} ->
            Roots = [{Module, FA, Module} || FA <- Functions],
            reached(Module, search_from(Roots, #search{code = #{Module => Code}}));
        {error, _} = Error ->
            Error
    end.

%% @doc Whether a function reaches no call that must be replaced.
-spec is_pure(module(), Function :: atom(), arity()) -> boolean().
is_pure(Module, Function, Arity) ->
    Root = {Module, {Function, Arity}, Module},
    #search{effectful = Effectful, refused = Refused} = search_from([Root], #search{}),
    Effectful =:= [] andalso Refused =:= [].

%% Internals: reading.

code(_Module, Beam, {ok, Forms}) ->
    {ok, {_, MD5}} = beam_lib:md5(Beam),
    {ok, #{forms => Forms, visits => verify_rewrite:functions(Forms), md5 => MD5}};
code(Module, _Beam, {error, _}) ->
    no_debug_info(Module).

no_debug_info(Module) ->
    {error, [atom_to_list(Module), ": no debug_info: compile it with the option debug_info"]}.

%% Internals: the result.

reached(Module, #search{refused = [], code = Code} = Search) ->
    Copied = copied([Module | Search#search.effectful], Search#search.edges),
    {ok, #{
        copied => maps:with(Copied, Code),
        random => Search#search.random,
        clocked => Search#search.clocked
    }};
reached(Module, #search{refused = Refused}) ->
    {Own, Others} = lists:partition(fun({M, _, _}) -> M =:= Module end, lists:usort(Refused)),
    [{At, Line, Target} | More] = Own ++ Others,
    {error, {At, Line, Target, length(More)}}.

%% With the modules that call them.
copied(Modules, Edges) ->
    Known = lists:usort(Modules),
    case lists:usort([From || {From, To} <- Edges, lists:member(To, Known)] ++ Known) of
        Known -> Known;
        More -> copied(More, Edges)
    end.

%% Internals: the search.

search_from([], Search) ->
    Search;
search_from([{Module, FA, Caller} | Next], #search{seen = Seen} = Search0) ->
    case Seen of
        #{{Module, FA} := true} ->
            search_from(Next, edge(Caller, Module, Search0));
        #{} ->
            Search1 = edge(Caller, Module, Search0#search{seen = Seen#{{Module, FA} => true}}),
            {Reached, Search} = visits(Module, FA, known(Module, Search1)),
            search_from(Reached ++ Next, Search)
    end.

edge(Module, Module, Search) -> Search;
edge(Caller, Module, #search{edges = Edges} = Search) ->
    Search#search{edges = [{Caller, Module} | Edges]}.

known(Module, #search{code = Known} = Search) when is_map_key(Module, Known) ->
    Search;
known(Module, #search{code = Known} = Search) ->
    Code =
        case is_otp(code:which(Module)) orelse read(Module) of
            {ok, Read} -> Read;
            _ -> opaque
        end,
    Search#search{code = Known#{Module => Code}}.

is_otp(File) when is_list(File) -> lists:prefix(code:lib_dir(), File);
is_otp(Other) -> Other =:= preloaded.

visits(Module, FA, #search{code = Known} = Search) ->
    case Known of
        #{Module := opaque} ->
            {[], Search};
        #{Module := #{visits := Visits}} ->
            Reached = [{Module, record, Module} || FA =/= record],
            Visit = fun(V, Acc) -> visit(Module, V, Acc) end,
            lists:foldl(Visit, {Reached, Search}, maps:get(FA, Visits, []))
    end.

visit(Module, {_Line, {local, F, A}}, {Reached, Search}) ->
    {[{Module, {F, A}, Module} | Reached], Search};
visit(Module, {_Line, dynamic}, {Reached, Search}) ->
    {Reached, effectful(Module, Search)};
visit(Module, {Line, {remote, M, F, A} = Target}, {Reached, Search}) ->
    case verify_calls:classify(M, F, A) of
        pure -> {[{M, {F, A}, Module} || M =/= erlang] ++ Reached, drawn(M, F, Search)};
        {refused, _} -> {Reached, refused(Module, Line, Target, Search)};
        {replaced, _, _} -> {Reached, effectful(Module, clocked(F, drawn(M, F, Search)))};
        {value, _} -> {Reached, effectful(Module, Search)}
    end;
visit(Module, {Line, Target}, {Reached, Search}) ->
    {Reached, refused(Module, Line, Target, Search)}.

effectful(Module, #search{effectful = Modules} = Search) ->
    Search#search{effectful = [Module | Modules]}.

clocked(Function, #search{clocked = Clocked} = Search) ->
    Search#search{clocked = Clocked orelse lists:member(Function, ?CLOCK)}.

%% The generator of a process is kept by `rand' in the process dictionary.
drawn(Module, Function, Search) when
    Module =:= rand;
    Module =:= crypto, Function =:= strong_rand_bytes;
    Module =:= lists, Function =:= shuffle
->
    Search#search{random = true};
drawn(_Module, _Function, Search) ->
    Search.

refused(Module, Line, Target, #search{refused = Refused} = Search) ->
    Search#search{refused = [{Module, Line, Target} | Refused]}.

%%% @doc The calls in a module's abstract code: finds them, and replaces them.
%%%
%%% One traversal serves both. It visits every call, external fun and `receive' of the code with a
%%% function that returns what to put there. Patterns and types are left alone; a guard cannot hold
%%% a call of a replacement, so one that depends on the process is visited too, to be refused.
-module(verify_rewrite).

-export([functions/1]).
-export([module/3]).

%% What is visited, and on which line. `local': a function of the module itself. `dynamic': the
%% module or function is computed.
-type target() ::
    {local, Function :: atom(), arity()}
    | {remote, module(), Function :: atom(), arity()}
    | dynamic
    | 'receive'
    | {guard, Function :: atom()}.
-type visit() :: {Line :: non_neg_integer(), target()}.

%% `{call, Module, Function}': call that instead, with the same arguments. `{value, Term}':
%% evaluate the arguments alone. `{error, Text}': fail with it if it is executed.
-type replacement() ::
    keep | {call, module(), Function :: atom()} | {value, term()} | {error, iodata()}.
-type function_name() :: {Function :: atom(), arity()}.
-export_type([target/0, visit/0, replacement/0, function_name/0]).

-record(env, {
    functions :: #{function_name() => true},
    imports :: #{function_name() => module()},
    visit :: fun((visit()) -> replacement())
}).

%% Attributes that a copy does without: types, and what is for others than the compiler.
-define(LEFT_OUT, [
    spec, type, opaque, nominal, export_type, callback, optional_callbacks, behaviour, behavior,
    dialyzer, deprecated, removed, on_load, doc, moduledoc
]).

%% Functions that are allowed in guards and depend on the process.
-define(IS_IN_GUARD(Function), Function =:= self; Function =:= node).

%% @doc The visits of each function of a module, in order. Under `record': the defaults of fields.
-spec functions(Forms :: [erl_parse:abstract_form()]) -> #{function_name() | record => [visit()]}.
functions(Forms) ->
    Env = env(Forms, fun collect/1),
    lists:foldl(fun(Form, Found) -> visits(Form, Env, Found) end, #{record => []}, Forms).

%% @doc The module under another name with replaced calls. Its compiler options are left out, except
%% those that change the meaning of the code.
-spec module(module(), fun((visit()) -> replacement()), Forms) -> Forms when
    Forms :: [erl_parse:abstract_form()].
module(Name, Visit, Forms) ->
    Env = env(Forms, Visit),
    lists:append([form(Form, Name, Env) || Form <- Forms]).

%% Internals: forms.

env(Forms, Visit) ->
    #env{
        functions = maps:from_list([{{F, A}, true} || {function, _, F, A, _} <- Forms]),
        imports = maps:from_list([
            {FA, Module}
         || {attribute, _, import, {Module, FAs}} <- Forms, FA <- FAs
        ]),
        visit = Visit
    }.

%% The visits are collected aside, so that the traversal need not carry them.
collect(Visit) ->
    _ = put(?MODULE, [Visit | get(?MODULE)]),
    keep.

collected(Fun) ->
    _ = put(?MODULE, []),
    _ = Fun(),
    lists:reverse(erase(?MODULE)).

visits({function, _, Name, Arity, Clauses}, Env, Found) ->
    Found#{{Name, Arity} => collected(fun() -> expression(Clauses, Env) end)};
visits({attribute, _, record, _} = Form, Env, #{record := Before} = Found) ->
    Found#{record := Before ++ collected(fun() -> record(Form, Env) end)};
visits(_Form, _Env, Found) ->
    Found.

form({attribute, Line, module, _}, Name, _Env) -> [{attribute, Line, module, Name}];
form({attribute, _, record, _} = Form, _Name, Env) -> [record(Form, Env)];
form({attribute, Line, compile, Options}, _Name, _Env) ->
    [{attribute, Line, compile, Option} || Option <- lists:flatten([Options]), is_kept(Option)];
form({attribute, _, Name, _} = Form, _Name, _Env) ->
    [Form || not lists:member(Name, ?LEFT_OUT)];
form({function, Line, F, A, Clauses}, _Name, Env) ->
    [{function, Line, F, A, expression(Clauses, Env)}];
form({eof, _} = Form, _Name, _Env) -> [Form];
form(_Warning, _Name, _Env) -> [].

is_kept(Option) when is_tuple(Option) ->
    lists:member(element(1, Option), [no_auto_import, inline]);
is_kept(Option) ->
    lists:member(Option, [no_auto_import, inline]).

record({attribute, Line, record, {Name, Fields}}, Env) ->
    {attribute, Line, record, {Name, [field(Field, Env) || Field <- Fields]}}.

field({typed_record_field, Field, _Type}, Env) -> field(Field, Env);
field({record_field, Line, Name, Default}, Env) ->
    {record_field, Line, Name, expression(Default, Env)};
field(Field, _Env) -> Field.

%% Internals: expressions.

expression({clause, Line, Patterns, Guards, Body}, Env) ->
    ok = guards(Guards, Env),
    {clause, Line, Patterns, Guards, expression(Body, Env)};
expression({match, Line, Pattern, Value}, Env) ->
    {match, Line, Pattern, expression(Value, Env)};
expression({op, Line, '!', Destination, Msg}, Env) ->
    Send = {op, Line, '!', Destination, Msg},
    call(Line, Send, {remote, erlang, '!', 2}, [Destination, Msg], Env);
expression({'receive', Line, _} = Receive, Env) ->
    visit(Line, 'receive', Receive, Env);
expression({'receive', Line, _, _, _} = Receive, Env) ->
    visit(Line, 'receive', Receive, Env);
expression({call, Line, {atom, _, F} = Name, Arguments}, Env) ->
    Target = target(F, length(Arguments), Env),
    call(Line, {call, Line, Name, Arguments}, Target, Arguments, Env);
expression({call, Line, {remote, _, {atom, _, M}, {atom, _, F}} = Name, Arguments}, Env) ->
    Target = {remote, M, F, length(Arguments)},
    call(Line, {call, Line, Name, Arguments}, Target, Arguments, Env);
expression({call, Line, {remote, L, Module, Function}, Arguments0}, Env) ->
    Arguments = expression(Arguments0, Env),
    Computed = [expression(Module, Env), expression(Function, Env)],
    case visit(Line, dynamic, keep, Env) of
        {call, M, F} -> invoke(Line, M, F, Computed ++ [list(Line, Arguments)]);
        keep -> {call, Line, list_to_tuple([remote, L | Computed]), Arguments}
    end;
expression({'fun', Line, {function, F, A}} = Fun, Env) ->
    external(Line, Fun, target(F, A, Env), Env);
expression({'fun', Line, {function, {atom, _, M}, {atom, _, F}, {integer, _, A}}} = Fun, Env) ->
    external(Line, Fun, {remote, M, F, A}, Env);
expression({'fun', Line, {function, M, F, A}} = Fun, Env) ->
    case visit(Line, dynamic, Fun, Env) of
        {call, Module, _} -> invoke(Line, Module, external, [M, F, A]);
        Fun -> Fun
    end;
expression(Tuple, Env) when is_tuple(Tuple) ->
    list_to_tuple(expression(tuple_to_list(Tuple), Env));
expression([Head | Tail], Env) ->
    [expression(Head, Env) | expression(Tail, Env)];
expression(Other, _Env) ->
    Other.

target(F, A, #env{functions = Functions, imports = Imports}) ->
    case {Functions, Imports} of
        {#{{F, A} := true}, _} -> {local, F, A};
        {_, #{{F, A} := Module}} -> {remote, Module, F, A};
        _ -> {remote, erlang, F, A}
    end.

call(Line, Call, Target, Arguments0, Env) ->
    Replacement = visit(Line, Target, keep, Env),
    Arguments = expression(Arguments0, Env),
    case Replacement of
        keep -> with_arguments(Call, Arguments);
        {call, M, F} -> invoke(Line, M, F, Arguments);
        {value, Value} ->
            Nothing = [erl_parse:abstract(Value, erl_anno:line(Line)), list(Line, Arguments)],
            invoke(Line, verify_replaced, value, Nothing);
        Failure -> Failure
    end.

with_arguments({op, Line, '!', _, _}, [Destination, Msg]) -> {op, Line, '!', Destination, Msg};
with_arguments({call, Line, Name, _}, Arguments) -> {call, Line, Name, Arguments}.

external(Line, Fun, Target, Env) ->
    case {visit(Line, Target, keep, Env), Target} of
        {keep, _} ->
            Fun;
        {{call, Module, F}, {remote, _, _, A}} ->
            {'fun', Line, {function, {atom, Line, Module}, {atom, Line, F}, {integer, Line, A}}};
        {{value, _}, {remote, M, F, A}} ->
            Named = [{atom, Line, M}, {atom, Line, F}, {integer, Line, A}],
            invoke(Line, verify_replaced, external, Named);
        {Failure, _} ->
            Failure
    end.

visit(Line, Target, Kept, #env{visit = Visit}) ->
    case Visit({erl_anno:line(Line), Target}) of
        keep -> Kept;
        {error, _} = Error -> failure(Line, Error);
        Replacement -> Replacement
    end.

failure(Line, {error, Text}) ->
    invoke(Line, verify_replaced, refused, [{string, Line, unicode:characters_to_list(Text)}]).

guards(Guards, Env) when is_list(Guards) ->
    lists:foreach(fun(Guard) -> guards(Guard, Env) end, Guards);
guards({call, Line, {atom, _, F}, Arguments}, Env) ->
    ok = guard(Line, F, Arguments, Env);
guards({call, Line, {remote, _, {atom, _, erlang}, {atom, _, F}}, Arguments}, Env) ->
    ok = guard(Line, F, Arguments, Env);
guards(Tuple, Env) when is_tuple(Tuple) ->
    guards(tuple_to_list(Tuple), Env);
guards(_, _Env) ->
    ok.

guard(Line, F, [], Env) when ?IS_IN_GUARD(F) ->
    _ = visit(Line, {guard, F}, keep, Env),
    ok;
guard(_Line, _F, Arguments, Env) ->
    guards(Arguments, Env).

invoke(Line, Module, Function, Arguments) ->
    {call, Line, {remote, Line, {atom, Line, Module}, {atom, Line, Function}}, Arguments}.

list(Line, Elements) ->
    lists:foldr(fun(Element, Rest) -> {cons, Line, Element, Rest} end, {nil, Line}, Elements).

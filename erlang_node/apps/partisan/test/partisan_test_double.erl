%%% Replaces a module that touches the outside world.
-module(partisan_test_double).

-export([replace/3, restore/1]).

%% Replaces functions of a module by those of the same names of another one, until restored.
replace(Module, Functions, Double) ->
    File = code:which(Module),
    {ok, {_, [{abstract_code, {_, Forms}}]}} = beam_lib:chunks(File, [abstract_code]),
    Replaced = [
        case Form of
            {function, Line, Name, Arity, _} ->
                case lists:member({Name, Arity}, Functions) of
                    true -> delegated(Line, Name, Arity, Double);
                    false -> Form
                end;
            _ ->
                Form
        end
     || Form <- Forms
    ],
    {ok, Module, Code} = compile:forms(Replaced, [nowarn_unused_type]),
    _ = code:purge(Module),
    {module, Module} = code:load_binary(Module, File, Code),
    ok.

delegated(Line, Name, Arity, Double) ->
    Arguments = [{var, Line, list_to_atom("A" ++ integer_to_list(I))} || I <- lists:seq(1, Arity)],
    Call = {call, Line, {remote, Line, {atom, Line, Double}, {atom, Line, Name}}, Arguments},
    {function, Line, Name, Arity, [{clause, Line, Arguments, [], [Call]}]}.

restore(Module) ->
    _ = code:purge(Module),
    {module, Module} = code:load_file(Module),
    ok.

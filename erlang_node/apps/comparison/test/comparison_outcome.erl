%%% Outcomes of calls in a form that is the same over both systems.
-module(comparison_outcome).

-export([of_call/1, text/1]).

%% The result of a function of no argument: what it returns, or the class and reason of its end.
of_call(Fun) ->
    try
        {ok, normal(Fun())}
    catch
        Class:Reason -> {Class, normal(Reason)}
    end.

%% Long ones are cut: the rest is a hash.
text(Outcome) ->
    case unicode:characters_to_binary(io_lib:format("~0tp", [Outcome])) of
        Text when byte_size(Text) =< 200 -> Text;
        Text -> iolist_to_binary([string:slice(Text, 0, 160), " ... ", hash(Outcome)])
    end.

hash(Outcome) ->
    integer_to_list(erlang:phash2(Outcome), 16).

%% Process identifiers, references and names of nodes become words; the call that an exit names
%% becomes `call', and a stack trace `stack'.
normal(Term) ->
    case maps:find(Term, names()) of
        {ok, Name} -> Name;
        error -> normal_term(Term)
    end.

normal_term(Pid) when is_pid(Pid) -> pid;
normal_term(Reference) when is_reference(Reference) -> reference;
normal_term(Port) when is_port(Port) -> port;
normal_term({partisan_ref, _, _, process, _}) -> pid;
normal_term({partisan_ref, _, _, reference, _}) -> reference;
normal_term({via, partisan, Target}) -> normal(Target);
normal_term({Reason, {Module, Function, Arguments}}) when
    is_atom(Module), is_atom(Function), is_list(Arguments)
->
    {normal(Reason), call};
normal_term([{Module, Function, Arity, Location} | _]) when
    is_atom(Module), is_atom(Function), is_list(Location), is_integer(Arity);
    is_atom(Module), is_atom(Function), is_list(Location), is_list(Arity)
->
    stack;
normal_term(Tuple) when is_tuple(Tuple) -> list_to_tuple(normal_list(tuple_to_list(Tuple)));
normal_term(List) when is_list(List) -> normal_list(List);
normal_term(Map) when is_map(Map) ->
    maps:from_list([{normal(K), normal(V)} || {K, V} <- maps:to_list(Map)]);
normal_term(Binary) when bit_size(Binary) > 800 -> {binary, erlang:phash2(Binary)};
normal_term(Atom) when is_atom(Atom) ->
    case lists:prefix("fixture_", atom_to_list(Atom)) of
        true -> fixture;
        false -> Atom
    end;
normal_term(Fun) when is_function(Fun) -> function;
normal_term(Term) -> Term.

normal_list([Head | Tail]) -> [normal(Head) | normal_list(Tail)];
normal_list([]) -> [];
normal_list(Tail) -> normal(Tail).

names() ->
    maps:from_list([{Node, Name} || {Name, Node} <- maps:to_list(comparison_run:roles())]).

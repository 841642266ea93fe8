%%% @doc Simpler steps than those of an execution, for {@link verify_shrink}.
-module(verify_simplify).

-export([simpler/2]).

-type name() :: partisan_process:name().

%% @doc As many steps that are simpler: with a simpler argument, everywhere or in one place, or with
%% two neighbours exchanged, faults last. Each step has the generators of its arguments. All are
%% smaller in the order of terms, so that simplification ends.
-spec simpler([{verify_model:step(), [verify_generate:generator()]}], [name(), ...]) ->
    [[verify_model:step()]].
simpler(Generated, Nodes) ->
    Steps = [Step || {Step, _} <- Generated],
    Places = [
        {Number, Place, Argument, Simpler}
     || {Number, {Step, Generators}} <- numbered(Generated),
        {Place, {Argument, Generator}} <- numbered(lists:zip(arguments(Step), Generators)),
        Simpler <- verify_generate:simpler(Generator, Nodes, Argument)
    ],
    Everywhere = [
        exchange(Argument, Simpler, Steps)
     || {Argument, Simpler} <- lists:usort([{A, S} || {_, _, A, S} <- Places])
    ],
    InPlace = [replace(Number, Place, Simpler, Steps) || {Number, Place, _, Simpler} <- Places],
    [Other || Other <- Everywhere ++ reordered(Steps) ++ InPlace, Other < Steps].

%% Internals.

numbered(List) ->
    lists:zip(lists:seq(1, length(List)), List).

arguments(Step) ->
    element(tuple_size(Step), Step).

replace(Number, Place, Argument, Steps) ->
    {Before, [Step | After]} = lists:split(Number - 1, Steps),
    {Left, [_ | Right]} = lists:split(Place - 1, arguments(Step)),
    Before ++ [setelement(tuple_size(Step), Step, Left ++ [Argument | Right]) | After].

exchange(A, B, A) -> B;
exchange(A, B, B) -> A;
exchange(A, B, [Head | Tail]) -> [exchange(A, B, Head) | exchange(A, B, Tail)];
exchange(A, B, T) when is_tuple(T) -> list_to_tuple(exchange(A, B, tuple_to_list(T)));
exchange(_, _, Other) -> Other.

%% With each two neighbours exchanged.
reordered([First, Second | Rest]) ->
    [[Second, First | Rest] | [[First | Other] || Other <- reordered([Second | Rest])]];
reordered(_) ->
    [].

%%% @doc Shrinking: a smaller list that still fails.
%%%
%%% First removes large parts, then smaller ones, as delta debugging does (Zeller, Hildebrandt,
%%% "Simplifying and isolating failure-inducing input", IEEE TSE 2002, section 3), then single
%%% elements until none can be removed. The result is 1-minimal: without any one of its elements it
%%% does not fail. It need not be the smallest list that fails.
-module(verify_shrink).

-export([minimal/2]).
-export([minimal/3]).
-export([is_minimal/2]).

%% Whether a list fails; `{true, Used}' if the elements that it needed are a part of it.
-type fails(Element) :: fun(([Element]) -> boolean() | {true, Used :: [Element]}).
-export_type([fails/1]).

%% @doc A 1-minimal part of a list that fails. Raises `not_failing' if it does not fail.
-spec minimal(fails(Element), [Element]) -> [Element].
minimal(Fails, List) ->
    minimal(Fails, fun(_) -> [] end, List).

%% @doc The same with simpler elements: the function returns lists of the same length that are
%% simpler than its argument, so that simplification ends.
-spec minimal(fails(Element), fun(([Element]) -> [[Element]]), [Element]) -> [Element].
minimal(Fails, Simpler, List) ->
    case failing(Fails, List) of
        {true, Used} -> shrink(Fails, Simpler, Used);
        false -> error(not_failing)
    end.

%% @doc Whether a list fails, and does not without any one of its elements.
-spec is_minimal(fails(Element), [Element]) -> boolean().
is_minimal(Fails, List) ->
    failing(Fails, List) =/= false andalso
        lists:all(fun(Part) -> failing(Fails, Part) =:= false end, without(1, List)).

%% Internals.

shrink(Fails, Simpler, List) ->
    Minimal = remove(max(1, length(List) div 2), Fails, List),
    case first_failing(Fails, Simpler(Minimal)) of
        {true, Simplified} -> shrink(Fails, Simpler, Simplified);
        false -> Minimal
    end.

%% Removes parts of that size while it can, then parts of half the size.
remove(_Size, _Fails, []) ->
    [];
remove(Size, Fails, List) ->
    case first_failing(Fails, without(Size, List)) of
        {true, Smaller} -> remove(min(Size, max(1, length(Smaller) div 2)), Fails, Smaller);
        false when Size > 1 -> remove(Size div 2, Fails, List);
        false -> List
    end.

%% The list without its first, second ... part of that size. The last part may be smaller.
without(Size, List) ->
    without(Size, [], List).

without(_Size, _Before, []) ->
    [];
without(Size, Before, List) ->
    {Part, After} = lists:split(min(Size, length(List)), List),
    [Before ++ After | without(Size, Before ++ Part, After)].

first_failing(_Fails, []) ->
    false;
first_failing(Fails, [List | Lists]) ->
    case failing(Fails, List) of
        false -> first_failing(Fails, Lists);
        Failing -> Failing
    end.

failing(Fails, List) ->
    case Fails(List) of
        true -> {true, List};
        {true, Used} -> {true, Used};
        false -> false
    end.

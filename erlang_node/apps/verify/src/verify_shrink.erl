%%% @doc Shrinking: a smaller list that still fails.
%%%
%%% First removes large parts, then smaller ones, as delta debugging does (Zeller, Hildebrandt,
%%% "Simplifying and isolating failure-inducing input", IEEE TSE 2002, section 3), then single
%%% elements and pairs until none can be removed. The result is 1-minimal: without any one of its
%%% elements it does not fail. It need not be the smallest list that fails.
-module(verify_shrink).

-export([minimal/2]).
-export([minimal/3]).
-export([is_minimal/2]).
-export([schedule/2]).

%% Whether a list fails; `{true, Used}' if the elements that it needed are a part of it.
-type fails(Element) :: fun(([Element]) -> boolean() | {true, Used :: [Element]}).
-export_type([fails/1]).

%% Pairs are removed from lists of this length at most.
-define(PAIRS, 16).

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

%% @doc A 1-minimal part of a schedule that violates the property of a search, as few omissions as
%% can be had by removing some. Raises `not_failing' if the schedule does not violate it.
-spec schedule(verify_search:t(), verify_schedule:t()) -> verify_schedule:t().
schedule(Search0, Schedule) ->
    Search = verify_search:complete(Search0),
    Fails = fun(Steps) ->
        {World, Unmet} = verify_schedule:run(Steps, verify_search:world(Search)),
        case verify_search:violation(Search, World) of
            ok -> false;
            {violated, _} -> {true, Steps -- Unmet}
        end
    end,
    minimal(Fails, Schedule).

%% Internals.

shrink(Fails, Simpler, List) ->
    Minimal = remove(max(1, length(List) div 2), Fails, List),
    case first_failing(Fails, without_pairs(Minimal) ++ Simpler(Minimal)) of
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

%% A fault and its end, for example, can often be removed only together. There are too many pairs of
%% a long list.
without_pairs(List) when length(List) > ?PAIRS ->
    [];
without_pairs([]) ->
    [];
without_pairs([Head | Tail]) ->
    without(1, Tail) ++ [[Head | Rest] || Rest <- without_pairs(Tail)].

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

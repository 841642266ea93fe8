%%% @doc Random choices for pure code: the generator's state goes in and comes out.
-module(partisan_random).

-export([pick/2]).
-export([sample/3]).

%% @doc A random element of a non-empty list.
-spec pick([Element, ...], rand:state()) -> {Element, rand:state()}.
pick(List, Rand0) ->
    {N, Rand} = rand:uniform_s(length(List), Rand0),
    {lists:nth(N, List), Rand}.

%% @doc Picks that many elements in random order, or all if there are fewer.
-spec sample(non_neg_integer(), [Element], rand:state()) -> {[Element], rand:state()}.
sample(Size, List, Rand) ->
    Elements = list_to_tuple(List),
    draw(min(Size, tuple_size(Elements)), tuple_size(Elements), Elements, #{}, [], Rand).

%% The first steps of a Fisher-Yates shuffle: one draw per element wanted, whatever the list's
%% length. `Moved' holds the elements that took the places of those drawn.
draw(0, _, _, _, Drawn, Rand) ->
    {Drawn, Rand};
draw(Size, Left, Elements, Moved, Drawn, Rand0) ->
    {Place, Rand} = rand:uniform_s(Left, Rand0),
    Element = at(Place, Elements, Moved),
    Next = Moved#{Place => at(Left, Elements, Moved)},
    draw(Size - 1, Left - 1, Elements, Next, [Element | Drawn], Rand).

at(Place, Elements, Moved) ->
    case Moved of
        #{Place := Element} -> Element;
        #{} -> element(Place, Elements)
    end.

%%% @doc Random choices of the pure overlays: the generator's state goes in and comes out.
-module(partisan_random).

-export([pick/2]).
-export([sample/3]).
-export([chance/2]).

%% @doc One element of a list that is not empty.
-spec pick([Element, ...], rand:state()) -> {Element, rand:state()}.
pick(List, Rand0) ->
    {N, Rand} = rand:uniform_s(length(List), Rand0),
    {lists:nth(N, List), Rand}.

%% @doc As many elements, in random order, or all when there are fewer.
-spec sample(non_neg_integer(), [Element], rand:state()) -> {[Element], rand:state()}.
sample(Size, List, Rand0) ->
    {Keyed, Rand} = lists:mapfoldl(
        fun(Element, R0) ->
            {Key, R} = rand:uniform_s(R0),
            {{Key, Element}, R}
        end,
        Rand0,
        List
    ),
    {lists:sublist([Element || {_, Element} <- lists:keysort(1, Keyed)], Size), Rand}.

%% @doc True once in `N' times.
-spec chance(pos_integer(), rand:state()) -> {boolean(), rand:state()}.
chance(N, Rand0) ->
    {Drawn, Rand} = rand:uniform_s(N, Rand0),
    {Drawn =:= 1, Rand}.

%%% @doc A counter and a register as one type: an example of a product.
-module(lasp_product_of_two).
-behaviour(lasp_lattice).

-export([new/0]).
-export([new/2]).
-export([merge/2]).
-export([difference/2]).
-export([to_parts/1]).
-export([size/1]).
-export([key/1]).
-export([path/1]).
-export([leaf/2]).
-export([join/3]).

-define(FIELDS, [{1, lasp_min}, {2, {map, lasp_gcounter}}]).

new() -> new(lasp_min:new(), lasp_gmap:new()).
new(First, Counters) -> {First, Counters}.
merge(A, B) -> lasp_product:merge(?FIELDS, A, B).
difference(A, B) -> lasp_product:difference(?FIELDS, A, B).
to_parts(Value) -> lasp_product:to_parts(?FIELDS, Value).
size(Value) -> lasp_product:size(?FIELDS, Value).
key([]) ->
    {ok, {1, []}};
key(Path) ->
    case lasp_gmap:key(lasp_gcounter, Path) of
        {ok, Key} -> {ok, {2, Key}};
        error -> error
    end.
path({1, []}) -> [];
path({2, Key}) -> lasp_gmap:path(lasp_gcounter, Key).
leaf(Key, Value) -> lasp_product:leaf(?FIELDS, Key, Value).
join(Key, Leaf, Value) -> lasp_product:join(?FIELDS, Key, Leaf, Value).

%%% @doc A map of counters as a type of its own: an example of a composite type.
-module(lasp_gmap_of_gcounter).
-behaviour(lasp_lattice).

-export([new/0]).
-export([merge/2]).
-export([difference/2]).
-export([to_parts/1]).
-export([size/1]).
-export([key/1]).
-export([path/1]).
-export([leaf/2]).
-export([join/3]).

new() -> lasp_gmap:new().
merge(A, B) -> lasp_gmap:merge(lasp_gcounter, A, B).
difference(A, B) -> lasp_gmap:difference(lasp_gcounter, A, B).
to_parts(Map) -> lasp_gmap:to_parts(lasp_gcounter, Map).
size(Map) -> lasp_gmap:size(lasp_gcounter, Map).
key(Path) -> lasp_gmap:key(lasp_gcounter, Path).
path(Key) -> lasp_gmap:path(lasp_gcounter, Key).
leaf(Key, Map) -> lasp_gmap:leaf(lasp_gcounter, Key, Map).
join(Key, Leaf, Map) -> lasp_gmap:join(lasp_gcounter, Key, Leaf, Map).

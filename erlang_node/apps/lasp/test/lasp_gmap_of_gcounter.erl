%%% @doc A map of counters as a type of its own: what a composite type looks like.
-module(lasp_gmap_of_gcounter).
-behaviour(lasp_lattice).

-export([new/0]).
-export([merge/2]).
-export([difference/2]).
-export([to_parts/1]).
-export([from_parts/1]).

new() -> lasp_gmap:new().
merge(A, B) -> lasp_gmap:merge(lasp_gcounter, A, B).
difference(A, B) -> lasp_gmap:difference(lasp_gcounter, A, B).
to_parts(Map) -> lasp_gmap:to_parts(lasp_gcounter, Map).
from_parts(Parts) -> lasp_gmap:from_parts(lasp_gcounter, Parts).

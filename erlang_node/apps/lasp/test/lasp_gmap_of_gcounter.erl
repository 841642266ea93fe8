%%% @doc A map of counters as a type of its own: what a composite type looks like.
-module(lasp_gmap_of_gcounter).
-behaviour(lasp_lattice).

-export([new/0]).
-export([merge/2]).
-export([to_term/1]).
-export([from_term/1]).

new() -> lasp_gmap:new().
merge(A, B) -> lasp_gmap:merge(lasp_gcounter, A, B).
to_term(Map) -> lasp_gmap:to_term(lasp_gcounter, Map).
from_term(Term) -> lasp_gmap:from_term(lasp_gcounter, Term).

%%% @doc A register that only falls: of two integers the smaller one stays, for "the first time that
%%% something happened".
-module(lasp_min).
-behaviour(lasp_lattice).

-export([new/0]).
-export([new/1]).
-export([value/1]).
-export([merge/2]).
-export([to_term/1]).
-export([from_term/1]).

-opaque t() :: [] | integer().

-export_type([t/0]).

%% @doc Nothing has been written.
-spec new() -> t().
new() ->
    [].

%% @doc The register that holds a value.
-spec new(integer()) -> t().
new(Value) ->
    Value.

%% @doc The smallest value written.
-spec value(t()) -> {ok, integer()} | none.
value([]) -> none;
value(Value) -> {ok, Value}.

%% @doc The smaller one. Integers come before the empty list in the order of terms.
-spec merge(t(), t()) -> t().
merge(A, B) ->
    min(A, B).

%% @private
-spec to_term(t()) -> term().
to_term(Register) ->
    Register.

%% @private
-spec from_term(term()) -> {ok, t()} | error.
from_term([]) -> {ok, []};
from_term(Value) when is_integer(Value) -> {ok, Value};
from_term(_) -> error.

%%% @doc A register that only rises: of two values the larger one stays.
%%%
%%% Values are tuples of integers of one size, compared from the left, which makes the register
%%% fit for "the newest report of one writer": `{Incarnation, ...}'. No clock decides; the writer
%%% numbers its reports itself.
-module(lasp_max).
-behaviour(lasp_lattice).

-export([new/0]).
-export([new/1]).
-export([value/1]).
-export([merge/2]).
-export([difference/2]).
-export([to_parts/1]).
-export([from_parts/1]).

-type value() :: tuple().
%% The empty tuple is the least: tuples are ordered by size first.
-opaque t() :: value().

-export_type([t/0, value/0]).

%% @doc Nothing has been written.
-spec new() -> t().
new() ->
    {}.

%% @doc The register that holds a value.
-spec new(value()) -> t().
new(Value) ->
    Value.

%% @doc The largest value written, `{}' where none has been.
-spec value(t()) -> value().
value(Register) ->
    Register.

%% @doc The larger one.
-spec merge(t(), t()) -> t().
merge(A, B) ->
    max(A, B).

%% @doc The register, if it is larger than the one known.
-spec difference(t(), Known :: t()) -> t().
difference(Register, Known) when Register > Known -> Register;
difference(_, _) -> new().

%% @private
-spec to_parts(t()) -> [lasp_parts:part()].
to_parts({}) -> [];
to_parts(Register) -> [{[], tuple_to_list(Register)}].

%% @private
-spec from_parts([lasp_parts:part()]) -> {ok, t()} | error.
from_parts(Parts) ->
    from_parts(Parts, new()).

%% Internals.

from_parts([{[], [_ | _] = Integers} | Parts], Register) ->
    from_parts(Parts, merge(list_to_tuple(Integers), Register));
from_parts([], Register) ->
    {ok, Register};
from_parts(_, _) ->
    error.

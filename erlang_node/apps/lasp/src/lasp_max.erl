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
-export([to_term/1]).
-export([from_term/1]).

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

%% @private
-spec to_term(t()) -> term().
to_term(Register) ->
    Register.

%% @private
-spec from_term(term()) -> {ok, t()} | error.
from_term(Tuple) when is_tuple(Tuple) ->
    case lists:all(fun is_integer/1, tuple_to_list(Tuple)) of
        true -> {ok, Tuple};
        false -> error
    end;
from_term(_) ->
    error.

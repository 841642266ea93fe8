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
-export([size/1]).
-export([key/1]).
-export([path/1]).
-export([leaf/2]).
-export([join/3]).

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
-spec size(t()) -> 0 | 1.
size({}) -> 0;
size(_) -> 1.

%% @private
-spec key(lasp_parts:path()) -> {ok, []} | error.
key([]) -> {ok, []};
key(_) -> error.

%% @private
-spec path([]) -> lasp_parts:path().
path([]) -> [].

%% @private
-spec leaf([], t()) -> lasp_parts:leaf() | none.
leaf([], {}) -> none;
leaf([], Register) -> tuple_to_list(Register).

%% @private
-spec join([], lasp_parts:leaf(), t()) -> known | {grown, t()} | malformed.
join([], [_ | _] = Leaf, Register) ->
    case list_to_tuple(Leaf) of
        Larger when Larger > Register -> {grown, Larger};
        _ -> known
    end;
join([], [], _Register) ->
    malformed.

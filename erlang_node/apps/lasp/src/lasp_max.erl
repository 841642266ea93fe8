%%% @doc A register that only rises: the larger of two values wins.
%%%
%%% Values are tuples of integers of one size, compared from the left, suitable for "the newest
%%% report of one writer": `{Incarnation, ...}'. No clock is involved; the writer numbers its
%%% reports.
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

%% @doc The empty register.
-spec new() -> t().
new() ->
    {}.

%% @doc A register with a value.
-spec new(value()) -> t().
new(Value) ->
    Value.

%% @doc The largest value written, `{}' if none.
-spec value(t()) -> value().
value(Register) ->
    Register.

%% @doc The larger of two registers.
-spec merge(t(), t()) -> t().
merge(A, B) ->
    max(A, B).

%% @doc The register, if larger than the known one.
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

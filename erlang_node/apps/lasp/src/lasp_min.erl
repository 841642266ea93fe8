%%% @doc A register that only falls: the smaller of two integers wins, for "the first time that
%%% something happened".
-module(lasp_min).
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

-opaque t() :: [] | integer().

-export_type([t/0]).

%% @doc The empty register.
-spec new() -> t().
new() ->
    [].

%% @doc A register with a value.
-spec new(integer()) -> t().
new(Value) ->
    Value.

%% @doc The smallest value written.
-spec value(t()) -> {ok, integer()} | none.
value([]) -> none;
value(Value) -> {ok, Value}.

%% @doc The smaller of two registers. Integers precede the empty list in term order.
-spec merge(t(), t()) -> t().
merge(A, B) ->
    min(A, B).

%% @doc The register, if smaller than the known one.
-spec difference(t(), Known :: t()) -> t().
difference(Register, Known) when Register < Known -> Register;
difference(_, _) -> new().

%% @private
-spec to_parts(t()) -> [lasp_parts:part()].
to_parts([]) -> [];
to_parts(Value) -> [{[], [Value]}].

%% @private
-spec size(t()) -> 0 | 1.
size([]) -> 0;
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
leaf([], []) -> none;
leaf([], Value) -> [Value].

%% @private
-spec join([], lasp_parts:leaf(), t()) -> known | {grown, t()} | malformed.
join([], [Value], Register) when Value < Register -> {grown, Value};
join([], [_], _Register) -> known;
join([], _, _Register) -> malformed.

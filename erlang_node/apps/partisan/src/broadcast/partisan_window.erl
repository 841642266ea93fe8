%%% @doc A set of seen numbers 1, 2, 3, ...: a watermark and the ranges above it.
%%%
%%% `{7, [{9, 10}, {13, 13}]}' means that 1 to 7, 9, 10 and 13 have been seen. Ranges are in order
%%% and touch neither each other nor the watermark, so the size reflects disorder, not history: a
%%% node that joins after a million messages holds one range. If gaps never close the window is
%%% bounded: past `MAX_RANGES' the oldest gap is given up and counts as seen.
-module(partisan_window).

-export([new/0]).
-export([seen/2]).
-export([add/2]).

-define(MAX_RANGES, 256).

-type range() :: {First :: pos_integer(), Last :: pos_integer()}.

-opaque t() :: {Watermark :: non_neg_integer(), Ahead :: [range()]}.
-export_type([t/0]).

%% @doc No number seen.
-spec new() -> t().
new() ->
    {0, []}.

%% @doc Whether a number counts as seen.
-spec seen(pos_integer(), t()) -> boolean().
seen(Number, {Watermark, Ahead}) ->
    Number =< Watermark orelse within(Number, Ahead).

within(Number, [{_, Last} | Ranges]) when Number > Last -> within(Number, Ranges);
within(Number, [{First, _} | _]) -> Number >= First;
within(_Number, []) -> false.

%% @doc Records a number as seen.
-spec add(pos_integer(), t()) -> t().
add(Number, {Watermark, _} = Window) when Number =< Watermark ->
    Window;
add(Number, {Watermark, Ahead}) ->
    bound(drain(Watermark, insert(Number, Ahead))).

insert(Number, []) ->
    [{Number, Number}];
insert(Number, [{First, _} | _] = Ahead) when Number < First - 1 ->
    [{Number, Number} | Ahead];
insert(Number, [{First, Last} | Ranges]) when Number =:= First - 1 ->
    [{Number, Last} | Ranges];
insert(Number, [{_, Last} | _] = Ahead) when Number =< Last ->
    Ahead;
insert(Number, [{First, Last}, {Number1, End} | Ranges]) when
    Number =:= Last + 1, Number1 =:= Number + 1
->
    [{First, End} | Ranges];
insert(Number, [{First, Last} | Ranges]) when Number =:= Last + 1 ->
    [{First, Number} | Ranges];
insert(Number, [Range | Ranges]) ->
    [Range | insert(Number, Ranges)].

%% Only the first range can touch the watermark, and only just after it was changed.
drain(Watermark, [{First, Last} | Ahead]) when First =:= Watermark + 1 ->
    {Last, Ahead};
drain(Watermark, Ahead) ->
    {Watermark, Ahead}.

bound({_, [{_, Last} | Ranges] = Ahead}) when length(Ahead) > ?MAX_RANGES ->
    {Last, Ranges};
bound(Window) ->
    Window.

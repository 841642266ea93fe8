%%% @doc Which of the numbers 1, 2, 3, ... have been seen: a watermark and what lies above it.
%%%
%%% `{7, [9, 10, 13]}' means: 1 to 7, 9, 10 and 13 have been seen. As gaps close the list drains
%%% into the watermark, so the size is that of the disorder, not of the history. Where a gap never
%%% closes the window is bounded: past `MAX_AHEAD' the oldest gaps are given up and count as seen.
-module(partisan_window).

-export([new/0]).
-export([seen/2]).
-export([add/2]).

-define(MAX_AHEAD, 1024).

-opaque t() :: {Watermark :: non_neg_integer(), Ahead :: ordsets:ordset(pos_integer())}.
-export_type([t/0]).

-spec new() -> t().
new() ->
    {0, []}.

-spec seen(pos_integer(), t()) -> boolean().
seen(Number, {Watermark, Ahead}) ->
    Number =< Watermark orelse ordsets:is_element(Number, Ahead).

-spec add(pos_integer(), t()) -> t().
add(Number, {Watermark, _} = Window) when Number =< Watermark ->
    Window;
add(Number, {Watermark, Ahead}) ->
    bound(drain(Watermark, ordsets:add_element(Number, Ahead))).

drain(Watermark, [Next | Ahead]) when Next =:= Watermark + 1 ->
    drain(Next, Ahead);
drain(Watermark, Ahead) ->
    {Watermark, Ahead}.

bound({_, [Oldest | Rest] = Ahead}) when length(Ahead) > ?MAX_AHEAD ->
    drain(Oldest, Rest);
bound(Window) ->
    Window.

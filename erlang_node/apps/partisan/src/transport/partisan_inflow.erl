%%% @doc The window of a connection: frames it may read before it checks their receivers.
%%%
%%% ```
%%% the last check           half of the window is left           its end
%%% -------|-----------------------------|---------------------------|
%%%                              check, and grant more      wait for the receivers
%%% '''
%%%
%%% The frames that may arrive unchecked are a *window*, sized by the recent frame weight. At half
%%% of it receivers are checked and, unless one is congested, the window is refilled, so that the
%%% socket never stops between windows: each stop would cost a turn of the scheduler and of the poll
%%% set. Half a window is more than the socket delivers at once if frames are small and many, and
%%% one frame if they are large.
-module(partisan_inflow).

-export([new/0]).
-export([taken/2]).
-export([average/1]).
-export([grant/2]).

%% Maximum weight of a window in bytes, and maximum number of frames.
-define(BYTES, 1048576).
-define(FRAMES, 512).

-record(inflow, {
    window = 1 :: pos_integer(),
    % Frames that may still come.
    left = 0 :: non_neg_integer(),
    % Since the last grant.
    frames = 0 :: non_neg_integer(),
    bytes = 0 :: non_neg_integer()
}).

-opaque t() :: #inflow{}.
-export_type([t/0]).

%% @doc A closed window. The first frame is expected to be as large as a window.
-spec new() -> t().
new() ->
    #inflow{frames = 1, bytes = ?BYTES}.

%% @doc Counts a received frame. `check': grant more unless a receiver is congested. `wait': the
%% window is used up; nothing comes until more is granted.
-spec taken(Bytes :: pos_integer(), t()) -> {go_on | check | wait, t()}.
taken(Size, #inflow{window = Window, left = Left, frames = Frames, bytes = Bytes} = Inflow) ->
    Taken = Inflow#inflow{left = Left - 1, frames = Frames + 1, bytes = Bytes + Size},
    case Left - 1 of
        0 -> {wait, Taken};
        Half when Half =:= Window div 2 -> {check, Taken};
        _ -> {go_on, Taken}
    end.

%% @doc Average frame size since the last grant, in bytes.
-spec average(t()) -> pos_integer().
average(#inflow{frames = Frames, bytes = Bytes}) ->
    max(1, Bytes div max(1, Frames)).

%% @doc Opens the next window, of at most that many frames and at least one; returns how many more
%% frames may come.
-spec grant(Most :: integer(), t()) -> {More :: non_neg_integer(), t()}.
grant(Most, #inflow{window = Window, left = Left} = Inflow) ->
    Next = max(1, lists:min([2 * Window, ?FRAMES, max(2, ?BYTES div average(Inflow)), Most])),
    {max(0, Next - Left), #inflow{window = Next, left = max(Left, Next)}}.

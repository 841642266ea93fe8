%%% @doc How many frames a connection may read before it looks at those who receive them.
%%%
%%% ```
%%% the last check           half of the window is left           its end
%%% -------|-----------------------------|---------------------------|
%%%                              check, and grant more      wait for the receivers
%%% '''
%%%
%%% What may arrive unchecked is a *window*, sized by what frames have recently weighed. At half of
%%% it receivers are checked and, unless one of them is congested, the window is filled again, so
%%% that the socket does not stop between two windows: one that stops costs a turn of the scheduler
%%% and of the poll set for each window. Half a window is more than the socket delivers in one go
%%% where many small frames arrive, and one frame where they are large.
-module(partisan_inflow).

-export([new/0]).
-export([taken/2]).
-export([average/1]).
-export([grant/2]).

%% What a window may weigh, and how many frames it may have.
-define(BYTES, 1048576).
-define(FRAMES, 512).

-record(inflow, {
    window = 1 :: pos_integer(),
    % The frames that may still come.
    left = 0 :: non_neg_integer(),
    % Since the last grant.
    frames = 0 :: non_neg_integer(),
    bytes = 0 :: non_neg_integer()
}).

-opaque t() :: #inflow{}.
-export_type([t/0]).

%% @doc Nothing may come yet. The first frame is expected to be as large as a window.
-spec new() -> t().
new() ->
    #inflow{frames = 1, bytes = ?BYTES}.

%% @doc A frame has come. `check': grant more if no receiver is congested. `wait': none comes until
%% that is so.
-spec taken(Bytes :: pos_integer(), t()) -> {go_on | check | wait, t()}.
taken(Size, #inflow{window = Window, left = Left, frames = Frames, bytes = Bytes} = Inflow) ->
    Taken = Inflow#inflow{left = Left - 1, frames = Frames + 1, bytes = Bytes + Size},
    case Left - 1 of
        0 -> {wait, Taken};
        Half when Half =:= Window div 2 -> {check, Taken};
        _ -> {go_on, Taken}
    end.

%% @doc What a frame has weighed since the last grant, in bytes.
-spec average(t()) -> pos_integer().
average(#inflow{frames = Frames, bytes = Bytes}) ->
    max(1, Bytes div max(1, Frames)).

%% @doc Opens the next window, of at most so many frames and of one at least; answers how many more
%% frames may come for it.
-spec grant(Most :: integer(), t()) -> {More :: non_neg_integer(), t()}.
grant(Most, #inflow{window = Window, left = Left} = Inflow) ->
    Next = max(1, lists:min([2 * Window, ?FRAMES, max(2, ?BYTES div average(Inflow)), Most])),
    {max(0, Next - Left), #inflow{window = Next, left = max(Left, Next)}}.

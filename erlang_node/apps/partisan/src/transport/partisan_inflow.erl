%%% @doc How many frames a connection may read before it looks at those who receive them.
%%%
%%% ```
%%% delivered, at the last check          few frames are left      the end of the window
%%% ---------------|------------------------------|---------------------------|
%%%                   frames that are read anyhow: check, grant more    wait for the receivers
%%% '''
%%%
%%% What may arrive unchecked is a *window*, sized by what frames have recently weighed. Before it
%%% ends the receivers are checked and, unless one of them is congested, the window is filled
%%% again, so that the socket does not stop between two windows; a socket that stops costs a turn
%%% of the scheduler and of the poll set for each window, which at three frames is most of the time.
%%% A check costs about as much as a small message, so a large window is used up further before it.
-module(partisan_inflow).

-export([new/0]).
-export([taken/2]).
-export([grant/2]).

%% What a window may weigh, and how many frames it may have.
-define(BYTES, 262144).
-define(FRAMES, 128).
%% Of a small window half is left when the receivers are checked, but no more than so many frames.
-define(FEW, 4).

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
    Low = max(min(Window div 2, ?FEW), Window div 4),
    case Left - 1 of
        0 -> {wait, Taken};
        _ when Left - 1 =:= Low -> {check, Taken};
        _ -> {go_on, Taken}
    end.

%% @doc Opens the next window, of at most so many frames and of one at least; answers how many more
%% frames may come for it.
-spec grant(Most :: integer(), t()) -> {More :: non_neg_integer(), t()}.
grant(Most, #inflow{window = Window, left = Left, frames = Frames, bytes = Bytes}) ->
    Average = max(1, Bytes div max(1, Frames)),
    Next = max(1, lists:min([2 * Window, ?FRAMES, ?BYTES div Average, Most])),
    {max(0, Next - Left), #inflow{window = Next, left = max(Left, Next)}}.

%%% @doc Which transfers run at a time: a bounded number into and out of each node, the others in
%%% order of their indexes.
%%%
%%% A transfer may run if it is among the first ones that are left of both its ends. All nodes
%%% compute this from the plan and the holders, so nothing is negotiated: a node starts the seat of
%%% an index that it is to get when it is its turn, and until then the previous holder serves. The
%%% end of a transfer, which spreads as a new holder, moves others forward and none back. So one
%%% that runs goes on, and one with the least index of all may always run.
%%%
%%% While a new plan or holder is not known everywhere, a node may give more than the bound.
%%%
%%% Not bounded: an index without a holder, or whose holder is lost, because it lacks a replica. A
%%% transfer from which nothing has come for a while is left out by the node that waits for it, so
%%% that it does not keep others from running.
-module(ring_transfers).

-export([due/6]).

-type index() :: ring_state:index().
-type member() :: ring_state:member().

%% @doc Of the indexes that a node owns and has no seat of, those to begin now. `Moving': its seats
%% that get data. `Lost': nodes that are believed to be lost. `Most': transfers at a time.
-spec due(
    member(), [index()], Moving :: [index()], Lost :: [member()], pos_integer() | infinity,
    ring_view:t()
) -> [index()].
due(_Self, [], _Moving, _Lost, _Most, _View) ->
    [];
due(_Self, New, _Moving, _Lost, infinity, _View) ->
    New;
due(Self, New, Moving, Lost, Most, View) ->
    Counted = maps:from_list([{I, counted} || I <- Moving ++ New]),
    Transfers = [
        Transfer
     || {I, From, To} = Transfer <- ring_view:transfers(View),
        From =/= none,
        not lists:member(From, [Self | Lost]),
        not lists:member(To, Lost),
        To =/= Self orelse is_map_key(I, Counted)
    ],
    Bounded = [I || {I, _, To} <- Transfers, To =:= Self],
    New -- (Bounded -- first(Transfers, Most)).

%% Internals.

%% The indexes that are among the first of both their ends.
first(Transfers, Most) ->
    {First, _} = lists:foldl(
        fun({Index, From, To}, {Acc, Counts}) ->
            Before = maps:get({from, From}, Counts, 0),
            Into = maps:get({to, To}, Counts, 0),
            Next = Counts#{{from, From} => Before + 1, {to, To} => Into + 1},
            {[Index || Before < Most, Into < Most] ++ Acc, Next}
        end,
        {[], #{}},
        Transfers
    ),
    First.

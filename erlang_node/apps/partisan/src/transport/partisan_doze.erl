%%% @doc When a connection gives its memory back: the clock is the caller's.
%%%
%%% A process that hibernates after a second of silence is woken twice for each message that comes
%%% by itself: for the message, and to hibernate. Of a thousand nodes on one machine that keep
%%% themselves company with a few messages a second each, every other waking is of this kind. So
%%% one that is spoken to now and then hibernates as soon as it has done what it was woken for, and
%%% only one that is woken again and again in short succession stays awake for more.
-module(partisan_doze).

-export([new/0]).
-export([patience/1]).
-export([asleep/2]).
-export([woken/2]).

%% How long one that is in demand waits for more, and what is short succession; milliseconds.
-define(PATIENCE, 1000).
%% So many in a row that it is in demand: a heartbeat with its answer, and a message, are not.
-define(IN_DEMAND, 4).

-record(doze, {
    % How often it has been woken within a short time of falling asleep, in a row.
    disturbed = 0 :: non_neg_integer(),
    asleep :: undefined | integer()
}).

-opaque t() :: #doze{}.
-export_type([t/0]).

%% @doc A process that has done nothing yet.
-spec new() -> t().
new() ->
    #doze{}.

%% @doc For how many milliseconds of silence the process stays awake.
-spec patience(t()) -> non_neg_integer().
patience(#doze{disturbed = Disturbed}) when Disturbed >= ?IN_DEMAND -> ?PATIENCE;
patience(#doze{}) -> 0.

%% @doc It hibernates now, after the silence that `patience/1' asks for. Now is in milliseconds.
-spec asleep(Now :: integer(), t()) -> t().
asleep(Now, #doze{disturbed = Disturbed}) when Disturbed >= ?IN_DEMAND ->
    #doze{asleep = Now};
asleep(Now, Doze) ->
    Doze#doze{asleep = Now}.

%% @doc Something came. Now is in milliseconds.
-spec woken(Now :: integer(), t()) -> t().
woken(Now, #doze{disturbed = Disturbed, asleep = Asleep} = Doze) when Now - Asleep < ?PATIENCE ->
    Doze#doze{disturbed = Disturbed + 1};
woken(_Now, Doze) ->
    Doze#doze{disturbed = 0}.

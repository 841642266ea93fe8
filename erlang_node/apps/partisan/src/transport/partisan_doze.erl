%%% @doc Decides when a connection hibernates to free its memory. Time is an argument.
%%%
%%% A process that hibernates after a second of silence is woken twice for each isolated message:
%%% for the message, and to hibernate. With a thousand nodes on one machine and a few messages a
%%% second each, that is every other wake-up. So a process hibernates as soon as it is done, unless
%%% it is woken repeatedly in quick succession.
-module(partisan_doze).

-export([new/0]).
-export([hibernate_after/1]).
-export([asleep/2]).
-export([woken/2]).

%% Milliseconds a busy process waits for more; also the bound of "quick succession".
-define(AWAKE, 1000).
%% Wake-ups in a row that make it busy: a heartbeat, its answer and a message do not.
-define(IN_DEMAND, 4).

-record(doze, {
    % Consecutive wake-ups within a short time of falling asleep.
    disturbed = 0 :: non_neg_integer(),
    asleep :: undefined | integer()
}).

-opaque t() :: #doze{}.
-export_type([t/0]).

%% @doc The state of a new process.
-spec new() -> t().
new() ->
    #doze{}.

%% @doc Milliseconds of silence after which the process hibernates.
-spec hibernate_after(t()) -> non_neg_integer().
hibernate_after(#doze{disturbed = Disturbed}) when Disturbed >= ?IN_DEMAND -> ?AWAKE;
hibernate_after(#doze{}) -> 0.

%% @doc The process hibernates now (milliseconds), after the silence of `hibernate_after/1'.
-spec asleep(Now :: integer(), t()) -> t().
asleep(Now, #doze{disturbed = Disturbed}) when Disturbed >= ?IN_DEMAND ->
    #doze{asleep = Now};
asleep(Now, Doze) ->
    Doze#doze{asleep = Now}.

%% @doc A message arrived now (milliseconds).
-spec woken(Now :: integer(), t()) -> t().
woken(Now, #doze{disturbed = Disturbed, asleep = Asleep} = Doze) when Now - Asleep < ?AWAKE ->
    Doze#doze{disturbed = Disturbed + 1};
woken(_Now, Doze) ->
    Doze#doze{disturbed = 0}.

%%% @doc The clock of a discrete-event simulation, and its pending events.
%%%
%%% Time is in whole milliseconds, so events are one list per millisecond. Those of one millisecond
%%% are due in the order of scheduling; an event scheduled without delay is due in the same
%%% millisecond, after them.
-module(simulator_clock).

-export([new/0]).
-export([now/1]).
-export([schedule/3]).
-export([due/2]).

-type milliseconds() :: non_neg_integer().

-record(events, {
    now = 0 :: milliseconds(),
    % Newest first.
    pending = #{} :: #{milliseconds() => [Event :: term(), ...]}
}).

-opaque t() :: #events{}.

-export_type([t/0, milliseconds/0]).

%% @doc Time zero, without events.
-spec new() -> t().
new() ->
    #events{}.

%% @doc The time.
-spec now(t()) -> milliseconds().
now(#events{now = Now}) ->
    Now.

%% @doc Schedules an event after a delay.
-spec schedule(Delay :: milliseconds(), Event :: term(), t()) -> t().
schedule(Delay, Event, #events{now = Now, pending = Pending} = E) ->
    At = Now + Delay,
    E#events{pending = Pending#{At => [Event | maps:get(At, Pending, [])]}}.

%% @doc Advances to the next millisecond with events, which are removed, or to this moment if there
%% are none. Call again until it has elapsed: events make events.
-spec due(Until :: milliseconds(), t()) -> {due, [Event :: term(), ...], t()} | {elapsed, t()}.
due(Until, #events{now = Now, pending = Pending} = E) ->
    case maps:take(Now, Pending) of
        {Newest, Later} -> {due, lists:reverse(Newest), E#events{pending = Later}};
        error when Now < Until -> due(Until, E#events{now = Now + 1});
        error -> {elapsed, E}
    end.

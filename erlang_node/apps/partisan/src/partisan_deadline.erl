%%% @doc Deadlines of waits in several steps, in milliseconds of monotonic time.
-module(partisan_deadline).

-export([new/1]).
-export([remaining/1]).

-type t() :: integer() | infinity.
-export_type([t/0]).

%% @doc The deadline of a wait that begins now.
-spec new(timeout()) -> t().
new(infinity) -> infinity;
new(Timeout) -> erlang:monotonic_time(millisecond) + Timeout.

%% @doc The milliseconds that are left: 0 once it has passed.
-spec remaining(t()) -> timeout().
remaining(infinity) -> infinity;
remaining(Deadline) -> max(0, Deadline - erlang:monotonic_time(millisecond)).

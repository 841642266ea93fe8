%%% @doc The pace at which a process announces a set: each announcement has the whole of it, so many
%%% changes of a large set share one. Otherwise they would be sent more than their lane can take.
-module(partisan_pace).

-export([new/0]).
-export([due/1]).
-export([sent/1]).
-export([ended/2]).

%% Of announcements, at most.
-define(BYTES_PER_MS, 1000).

%% The timer before whose end nothing is announced, and whether something is due then.
-opaque t() :: none | {reference(), IsDue :: boolean()}.
-export_type([t/0]).

%% @doc Nothing has been announced.
-spec new() -> t().
new() ->
    none.

%% @doc There is something to announce: at once, or at the end of the pause.
-spec due(t()) -> now | {later, t()}.
due(none) -> now;
due({Timer, _}) -> {later, {Timer, true}}.

%% @doc So many bytes were announced. The caller gets `{timeout, Timer, announce}' at the end of the
%% pause, if there is one.
-spec sent(Bytes :: non_neg_integer()) -> t().
sent(Bytes) when Bytes < ?BYTES_PER_MS -> none;
sent(Bytes) -> {erlang:start_timer(Bytes div ?BYTES_PER_MS, self(), announce), false}.

%% @doc That message has come. `unknown': its timer is none of this pace, as in a message that
%% another node made up.
-spec ended(Timer :: term(), t()) -> due | idle | unknown.
ended(Timer, {Timer, true}) -> due;
ended(Timer, {Timer, false}) -> idle;
ended(_Timer, _Pace) -> unknown.

%%% @doc The state of a lane that other processes read: its connection and its counters.
%%%
%%% One array of atomics, because every lookup of a lane copies a reference to it. The counters are
%%% the lane's own: they begin with it, and cost its owner two additions for each write to the
%%% socket, not for each message. The metrics of the channel count the same messages for all peers
%%% together ({@link partisan_channel}).
-module(partisan_lane_state).

-export([new/0]).
-export([connected/2]).
-export([disconnected/1]).
-export([is_connected/1]).
-export([version/1]).
-export([sent/3]).
-export([dropped/2]).
-export([counters/1]).

%% Version of the connection, and the latest there was.
-define(CONNECTED, 1).
-define(VERSION, 2).
-define(SENT_MESSAGES, 3).
-define(SENT_BYTES, 4).
-define(DROPPED, 5).

-opaque t() :: atomics:atomics_ref().
-type counters() :: #{
    sent_messages := non_neg_integer(),
    sent_bytes := non_neg_integer(),
    dropped := non_neg_integer()
}.
-export_type([t/0, counters/0]).

%% @doc No connection yet, and nothing sent.
-spec new() -> t().
new() ->
    atomics:new(?DROPPED, []).

%% @doc Notes a connection of this version.
-spec connected(t(), partisan_version:t()) -> ok.
connected(State, Version) ->
    ok = atomics:put(State, ?VERSION, Version),
    atomics:put(State, ?CONNECTED, Version).

%% @doc Notes that the connection is lost.
-spec disconnected(t()) -> ok.
disconnected(State) ->
    atomics:put(State, ?CONNECTED, 0).

%% @doc Whether there is a connection.
-spec is_connected(t()) -> boolean().
is_connected(State) ->
    atomics:get(State, ?CONNECTED) =/= 0.

%% @doc The version of the latest connection; `unknown' if there was none.
-spec version(t()) -> partisan_version:t() | unknown.
version(State) ->
    case atomics:get(State, ?VERSION) of
        0 -> unknown;
        Version -> Version
    end.

%% @doc Counts what a socket has accepted.
-spec sent(t(), Messages :: non_neg_integer(), Bytes :: non_neg_integer()) -> ok.
sent(State, Messages, Bytes) ->
    ok = atomics:add(State, ?SENT_MESSAGES, Messages),
    atomics:add(State, ?SENT_BYTES, Bytes).

%% @doc Counts messages that will not arrive.
-spec dropped(t(), Messages :: non_neg_integer()) -> ok.
dropped(State, Messages) ->
    atomics:add(State, ?DROPPED, Messages).

%% @doc The counters.
-spec counters(t()) -> counters().
counters(State) ->
    #{
        sent_messages => atomics:get(State, ?SENT_MESSAGES),
        sent_bytes => atomics:get(State, ?SENT_BYTES),
        dropped => atomics:get(State, ?DROPPED)
    }.

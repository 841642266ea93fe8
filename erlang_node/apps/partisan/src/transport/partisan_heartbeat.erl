%%% @doc When a node sends heartbeats, such that their cost does not grow with the cluster.
%%%
%%% Most of what an idle node does is for heartbeats, whose number is quadratic in a mesh, and most
%%% of what one costs is waking the emulator. Hence
%%%
%%% <ul>
%%% <li>beyond 64 peers the interval grows in proportion to them, unless it is long anyway;</li>
%%% <li>those of a node fall on few instants of each interval, whenever its links were made.</li>
%%% </ul>
-module(partisan_heartbeat).

-export([interval/0]).
-export([interval/2]).
-export([due/2]).

%% Peers that get a heartbeat each `heartbeat_interval'.
-define(PEERS, 64).
%% In milliseconds. A longer one has been chosen for its few heartbeats.
-define(LONG, 5000).
%% Instants of an interval.
-define(INSTANTS, 8).

%% @doc Milliseconds between two heartbeats of this node to the same peer, as of now.
-spec interval() -> pos_integer().
interval() ->
    interval(partisan_config:get(heartbeat_interval), partisan_listener:peers()).

%% @doc The interval in milliseconds of a node with that many peers.
-spec interval(Configured :: pos_integer(), Peers :: non_neg_integer()) -> pos_integer().
interval(Configured, Peers) ->
    max(Configured, min(Configured, ?LONG) * Peers div ?PEERS).

%% @doc The time of the next heartbeat: an interval from now or a little less, so that an answer to
%% a late one still has nearly the whole interval.
-spec due(Now :: integer(), Interval :: pos_integer()) -> integer().
due(Now, Interval) ->
    Pause = max(1, Interval div ?INSTANTS),
    (Now + Interval) - modulo(Now + Interval, Pause).

%% Internals.

%% Monotonic time is negative at first.
modulo(Time, Pause) ->
    ((Time rem Pause) + Pause) rem Pause.

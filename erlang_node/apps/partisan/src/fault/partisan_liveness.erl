%%% @doc Ends silently dead connections; their owners dial again.
%%%
%%% A data lane has no heartbeat: a ping would wait behind frames that its receivers, however slow,
%%% have not read. The kernel distinguishes the two: a slow receiver acknowledges every window
%%% probe, a dead connection nothing. Its own timeout is a quarter of an hour; TCP_USER_TIMEOUT is
%%% shorter, but also ends connections whose receiver answers with a closed window.
%%%
%%% So at the interval of heartbeats ({@link partisan_heartbeat}) each connection between nodes is
%%% judged by TCP_INFO (Linux), which is free for the lane, and also detects a lane blocked in a
%%% write over TLS. Idle connections are left to the kernel's keep-alive.
-module(partisan_liveness).

-behaviour(gen_server).

-export([start_link/0]).
-export([keepalive/1]).
-export([judge/4]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-type milliseconds() :: integer().

%% Intervals without an acknowledgement. TCP doubles its pauses, so this is up to twice the time of
%% the packet loss: an outage that the overlay's links survive must not lose data.
-define(SILENT_INTERVALS, 3).
%% Minimum retransmissions: a lost packet or a slow network is no evidence.
-define(RETRANSMITS, 2).
%% Unanswered probes of a closed window. The kernel sends them up to two minutes apart.
-define(PROBES, 3).

%% Intervals before an idle connection is probed, and unanswered probes after which it ends.
-define(IDLE_INTERVALS, 2).
-define(KEEPALIVE_PROBES, 3).
%% From linux/tcp.h.
-define(IPPROTO_TCP, 6).
-define(TCP_KEEPIDLE, 4).
-define(TCP_KEEPINTVL, 5).
-define(TCP_KEEPCNT, 6).
-define(KEEPALIVE_SECONDS_MAX, 32767).

-record(liveness, {
    % Possibly dead connections, and since when.
    doubts = #{} :: #{gen_tcp:socket() => milliseconds()}
}).

%% @doc Starts the check of connections that the kernel finds dead.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Socket options by which the kernel detects a dead idle connection after five intervals.
-spec keepalive(Interval :: pos_integer()) -> [gen_tcp:option()].
keepalive(Interval) ->
    [{keepalive, true} | keepalive(os:type(), (Interval + 999) div 1000)].

%% @doc Whether a connection is alive, and since when it is in doubt. Pure: pass the previous
%% answer.
-spec judge(
    partisan_tcp:progress(), Now :: milliseconds(), Interval :: pos_integer(), Doubted
) -> Doubted | dead when Doubted :: no | milliseconds().
judge(Progress, Now, Interval, Doubted) ->
    case is_unanswered(Progress) of
        true -> doubt(Now - maps:get(silent, Progress), Now, Interval, Doubted);
        false -> no
    end.

%% @private
-spec init([]) -> {ok, #liveness{}}.
init([]) ->
    ok = later(partisan_heartbeat:interval()),
    {ok, #liveness{}}.

%% @private
-spec handle_call(term(), gen_server:from(), #liveness{}) -> {reply, term(), #liveness{}}.
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #liveness{}) -> {noreply, #liveness{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #liveness{}) -> {noreply, #liveness{}}.
handle_info(observe, #liveness{doubts = Doubts}) ->
    Interval = partisan_heartbeat:interval(),
    ok = later(Interval),
    Doubted = lists:foldl(
        fun(Socket, Acc) -> observe(Socket, Interval, maps:get(Socket, Doubts, no), Acc) end,
        #{},
        partisan_tcp:sockets()
    ),
    {noreply, #liveness{doubts = Doubted}};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals.

later(Interval) ->
    _ = erlang:send_after(Interval, self(), observe),
    ok.

observe(Socket, Interval, Doubted, Doubts) ->
    case partisan_tcp:progress(Socket) of
        unknown ->
            Doubts;
        Progress ->
            Now = erlang:monotonic_time(millisecond),
            judged(judge(Progress, Now, Interval, Doubted), Socket, Doubts)
    end.

judged(no, _Socket, Doubts) ->
    Doubts;
judged(dead, Socket, Doubts) ->
    % Its owner, of plain TCP or TLS, reads the end of the connection.
    _ = gen_tcp:shutdown(Socket, read),
    Doubts;
judged(Since, Socket, Doubts) ->
    Doubts#{Socket => Since}.

is_unanswered(#{unacked := Unacked, retransmits := Retransmits, probes := Probes}) ->
    Unacked > 0 andalso Retransmits >= ?RETRANSMITS orelse Probes >= ?PROBES.

%% Acknowledged since then: what is unacknowledged now was sent later.
doubt(Acknowledged, Now, _Interval, Since) when Since =:= no; Acknowledged > Since -> Now;
doubt(_, Now, Interval, Since) when Now - Since >= ?SILENT_INTERVALS * Interval -> dead;
doubt(_, _Now, _Interval, Since) -> Since.

keepalive({unix, linux}, Seconds) ->
    [
        {raw, ?IPPROTO_TCP, Option, <<Value:32/native>>}
     || {Option, Value} <- [
            {?TCP_KEEPIDLE, min(?IDLE_INTERVALS * Seconds, ?KEEPALIVE_SECONDS_MAX)},
            {?TCP_KEEPINTVL, min(Seconds, ?KEEPALIVE_SECONDS_MAX)},
            {?TCP_KEEPCNT, ?KEEPALIVE_PROBES}
        ]
    ];
keepalive(_Other, _Seconds) ->
    [].

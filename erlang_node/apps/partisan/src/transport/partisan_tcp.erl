%%% @doc Bytes sent and received on connections to other nodes, as counted by the kernel.
%%%
%%% The counts are those of TCP_INFO (Linux 4.19 and later): TCP payload bytes, including
%%% retransmissions and TLS overhead, excluding TCP and IP headers. Other traffic of the node or its
%%% pod, such as HTTP answers and DNS, is not included.
%%%
%%% Sockets are registered when opened, read by the exporter and removed before they end, so that a
%%% node that is never scraped holds only as many entries as connections. Bytes since the last read
%%% are lost if a connection breaks or the peer ends it; a lane ends its connections itself, so this
%%% is very little.
-module(partisan_tcp).

-export([init/0]).
%% For sockets.
-export([opened/1]).
-export([ends/1]).
%% For liveness.
-export([sockets/0]).
-export([progress/1]).
%% For metrics.
-export([bytes/0]).

-define(SOCKETS, ?MODULE).
%% The total of ended connections.
-define(ENDED, ended).

%% From linux/tcp.h.
-define(IPPROTO_TCP, 6).
-define(TCP_INFO, 11).
-define(SIZE, 208).
-define(RECEIVED_AT, 128).
-define(SENT_AT, 200).
-define(UNACKED_AT, 24).
-define(ACK_RECEIVED_AT, 56).

-type progress() :: #{
    % Segments sent, and how often in a row the first of them was retransmitted.
    unacked := non_neg_integer(),
    retransmits := non_neg_integer(),
    % Of a closed window or an idle connection, since the last acknowledgement.
    probes := non_neg_integer(),
    % Milliseconds since the last acknowledgement.
    silent := non_neg_integer()
}.
-export_type([progress/0]).

%% @doc Creates the table, owned by the caller, and registers the metric.
-spec init() -> ok.
init() ->
    ?SOCKETS = ets:new(?SOCKETS, [named_table, public, set, {write_concurrency, true}]),
    true = ets:insert(?SOCKETS, {?ENDED, 0, 0}),
    partisan_metrics:new_function(
        counter,
        partisan_tcp_bytes_total,
        "Bytes on connections to other nodes as counted by the kernel, without TCP and IP headers.",
        [direction],
        {?MODULE, bytes}
    ).

%% For sockets.

%% @doc Registers a socket. No-op without the table.
-spec opened(gen_tcp:socket()) -> ok.
opened(Port) ->
    _ = ets:whereis(?SOCKETS) =/= undefined andalso ets:insert(?SOCKETS, {Port, 0, 0}),
    ok.

%% @doc Adds a socket that is about to end to the total, once.
-spec ends(gen_tcp:socket()) -> ok.
ends(Port) ->
    case ets:whereis(?SOCKETS) of
        undefined ->
            ok;
        _ ->
            _ = look(Port),
            settle(Port)
    end.

%% For liveness.

%% @doc The registered sockets.
-spec sockets() -> [gen_tcp:socket()].
sockets() ->
    [Socket || {Socket, _, _} <- ets:tab2list(?SOCKETS), Socket =/= ?ENDED].

%% @doc The peer's progress in acknowledging data.
-spec progress(gen_tcp:socket()) -> progress() | unknown.
progress(Port) ->
    case info(Port) of
        {ok, <<_:2/binary, Retransmits, Probes, _:(?UNACKED_AT - 4)/binary,
                Unacked:32/native, _:(?ACK_RECEIVED_AT - ?UNACKED_AT - 4)/binary,
                Silent:32/native, _/binary>>} ->
            #{unacked => Unacked, retransmits => Retransmits, probes => Probes, silent => Silent};
        _ ->
            unknown
    end.

%% For metrics.

%% @private
-spec bytes() -> [{[sent | received], non_neg_integer()}].
bytes() ->
    ok = lists:foreach(fun account/1, ets:tab2list(?SOCKETS)),
    {Sent, Received} = ets:foldl(
        fun({_, S, R}, {Sent, Received}) -> {Sent + S, Received + R} end, {0, 0}, ?SOCKETS
    ),
    [{[sent], Sent}, {[received], Received}].

%% Internals.

account({?ENDED, _, _}) ->
    ok;
account({Port, _, _}) ->
    case look(Port) of
        ok -> ok;
        ended -> settle(Port)
    end.

%% Records the kernel's counts so far.
look(Port) ->
    case counted(Port) of
        {Sent, Received} ->
            % A missing element has already been added to the total.
            _ = ets:update_element(?SOCKETS, Port, [{2, Sent}, {3, Received}]),
            ok;
        ended ->
            ended
    end.

%% Only one of several callers gets it.
settle(Port) ->
    lists:foreach(
        fun({_, Sent, Received}) ->
            ets:update_counter(?SOCKETS, ?ENDED, [{2, Sent}, {3, Received}])
        end,
        ets:take(?SOCKETS, Port)
    ).

%% An older kernel reports less.
counted(Port) ->
    case info(Port) of
        {ok, <<_:?RECEIVED_AT/binary, Received:64/native, Rest/binary>>} -> {sent(Rest), Received};
        {ok, _} -> {0, 0};
        {error, _} -> ended
    end.

info(Port) ->
    case inet:getopts(Port, [{raw, ?IPPROTO_TCP, ?TCP_INFO, ?SIZE}]) of
        {ok, [{raw, _, _, Info}]} -> {ok, Info};
        {ok, []} -> {ok, <<>>};
        {error, _} = Error -> Error
    end.

sent(<<_:(?SENT_AT - ?RECEIVED_AT - 8)/binary, Sent:64/native, _/binary>>) -> Sent;
sent(_) -> 0.

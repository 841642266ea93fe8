%%% @doc What the kernel has sent and received on connections to other nodes, by its own count.
%%%
%%% The figures are those of TCP_INFO (Linux 4.19 and later): the bytes of TCP's payload, with those
%%% that were sent again and with TLS's part, without the headers of TCP and IP. Nothing else that
%%% the node or its pod sends is among them: no answer over HTTP, no look-up of a name.
%%%
%%% Sockets are enrolled when they are made, looked at by the exporter, and struck off before they
%%% end, so that a node that nobody scrapes holds no more entries than it has connections. What a
%%% connection has carried since the last look is lost with one that breaks, or that the peer ends;
%%% a lane ends its connections itself, so that this is next to nothing.
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
%% The account of the connections that have ended.
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
    % Segments sent, and how often in a row the first of them was sent again.
    unacked := non_neg_integer(),
    retransmits := non_neg_integer(),
    % Of a closed window or an idle connection, since the last acknowledgement.
    probes := non_neg_integer(),
    % Milliseconds since the last acknowledgement.
    silent := non_neg_integer()
}.
-export_type([progress/0]).

%% @doc Makes the table, owned by the caller, and registers the metric.
-spec init() -> ok.
init() ->
    ?SOCKETS = ets:new(?SOCKETS, [named_table, public, set, {write_concurrency, true}]),
    true = ets:insert(?SOCKETS, {?ENDED, 0, 0}),
    partisan_metrics:new_function(
        counter,
        partisan_tcp_bytes_total,
        "Bytes on connections to other nodes by the kernel's count, without its headers.",
        [direction],
        {?MODULE, bytes}
    ).

%% For sockets.

%% @doc Enrols a socket. Nobody counts where there is no table.
-spec opened(gen_tcp:socket()) -> ok.
opened(Port) ->
    _ = ets:whereis(?SOCKETS) =/= undefined andalso ets:insert(?SOCKETS, {Port, 0, 0}),
    ok.

%% @doc Settles the account of a socket, which is about to end, once.
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

%% @doc The sockets that are enrolled.
-spec sockets() -> [gen_tcp:socket()].
sockets() ->
    [Socket || {Socket, _, _} <- ets:tab2list(?SOCKETS), Socket =/= ?ENDED].

%% @doc What the peer has left unacknowledged.
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

%% Notes what the kernel has counted so far.
look(Port) ->
    case counted(Port) of
        {Sent, Received} ->
            % An element that is gone was added to the account of those that have ended.
            _ = ets:update_element(?SOCKETS, Port, [{2, Sent}, {3, Received}]),
            ok;
        ended ->
            ended
    end.

%% Of several who settle one gets it.
settle(Port) ->
    lists:foreach(
        fun({_, Sent, Received}) ->
            ets:update_counter(?SOCKETS, ?ENDED, [{2, Sent}, {3, Received}])
        end,
        ets:take(?SOCKETS, Port)
    ).

%% An older kernel tells less.
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

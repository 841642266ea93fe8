%%% @doc What the kernel has sent and received on connections to other nodes, by its own count.
%%%
%%% The figures are those of TCP_INFO (Linux 4.19 and later): the bytes of TCP's payload, with those
%%% that were sent again and with TLS's part, without the headers of TCP and IP. Nothing else that
%%% the node or its pod sends is among them: no answer over HTTP, no look-up of a name.
%%%
%%% Sockets are enrolled when they are made, and looked at by the exporter and before they end. What
%%% a connection has carried since the last look is lost with one that breaks, or that the peer
%%% ends; a lane ends its connections itself, so that this is next to nothing.
-module(partisan_tcp).

-export([init/0]).
%% For sockets.
-export([opened/1]).
-export([look/1]).
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

%% @doc Keeps what the kernel has counted on a socket so far: it is about to end.
-spec look(gen_tcp:socket()) -> ok.
look(Port) ->
    case counted(Port) of
        {Sent, Received} ->
            % An element that is gone was added to the account of those that have ended.
            _ = ets:whereis(?SOCKETS) =/= undefined andalso
                ets:update_element(?SOCKETS, Port, [{2, Sent}, {3, Received}]),
            ok;
        ended ->
            ok
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
    case counted(Port) of
        {Sent, Received} ->
            _ = ets:update_element(?SOCKETS, Port, [{2, Sent}, {3, Received}]),
            ok;
        ended ->
            % Of several exporters one gets it.
            lists:foreach(fun end_account/1, ets:take(?SOCKETS, Port))
    end.

end_account({_, Sent, Received}) ->
    _ = ets:update_counter(?SOCKETS, ?ENDED, [{2, Sent}, {3, Received}]),
    ok.

%% An older kernel tells less.
counted(Port) ->
    case inet:getopts(Port, [{raw, ?IPPROTO_TCP, ?TCP_INFO, ?SIZE}]) of
        {ok, [{raw, _, _, <<_:?RECEIVED_AT/binary, Received:64/native, Rest/binary>>}]} ->
            {sent(Rest), Received};
        {ok, _} ->
            {0, 0};
        {error, _} ->
            ended
    end.

sent(<<_:(?SENT_AT - ?RECEIVED_AT - 8)/binary, Sent:64/native, _/binary>>) -> Sent;
sent(_) -> 0.

%%% @doc Raw `gen_tcp' sockets, as many as the channel has lanes: the upper bound.
%%%
%%% ```
%%% +-----------+-------------+--------+------------+---------+
%%% | length 32 | receiver 16 | seq 64 | sent at 64 | payload |
%%% +-----------+-------------+--------+------------+---------+
%%% '''
%%%
%%% Senders write to the socket themselves; the reader passes the payload on as a part of the frame.
%%% There is no queue, term, counter or bound other than the sockets' own.
-module(bench_raw).
-behaviour(bench_system).

-export([start/2]).
-export([connect/0]).
-export([send/4]).
%% For a ring over such sockets.
-export([listen/3]).
-export([open/4]).

-define(BACKLOG, 64).
-define(WINDOW, 32).

%% @private
-spec start(bench_system:address(), [bench_system:address(), ...]) -> ok.
start(#{ip := Ip, port := Port}, [Peer | _]) ->
    ok = bench_system:set_peer(Peer),
    Names = bench_system:receivers(),
    Indexed = maps:from_list(lists:zip(Names, lists:seq(1, length(Names)))),
    ok = persistent_term:put({?MODULE, receivers}, Indexed),
    Receivers = list_to_tuple(Names),
    listen(Ip, Port, fun(<<Index:16, Seq:64, SentAt:64, Payload/binary>>) ->
        element(Index, Receivers) ! {bench, Seq, SentAt, Payload}
    end).

%% @private
-spec connect() -> ok.
connect() ->
    #{ip := Ip, port := Port} = bench_system:peer(),
    _ = [
        ok = open(Ip, Port, Lanes, {?MODULE, Channel})
     || {Channel, Lanes} <- bench_system:channels()
    ],
    ok.

%% @doc Listens; the function is called with each frame, in its connection's process.
-spec listen(inet:ip4_address(), inet:port_number(), fun((binary()) -> term())) -> ok.
listen(Ip, Port, Deliver) ->
    keep(fun() ->
        {ok, Listen} = gen_tcp:listen(Port, [{ip, Ip}, {backlog, ?BACKLOG} | options()]),
        {ok, fun() -> accept(Listen, Deliver) end}
    end).

%% @doc Opens so many connections, and stores their sockets as a persistent term, a tuple.
-spec open(inet:ip4_address(), inet:port_number(), pos_integer(), Term :: term()) -> ok.
open(Ip, Port, Lanes, Term) ->
    keep(fun() ->
        Sockets = [connected(Ip, Port) || _ <- lists:seq(1, Lanes)],
        ok = persistent_term:put(Term, list_to_tuple(Sockets)),
        {ok, fun() -> timer:sleep(infinity) end}
    end).

%% @private
-spec send(bench_system:channel(), integer(), atom(), bench_system:message()) -> ok.
send(Channel, Key, Receiver, {bench, Seq, SentAt, Payload}) ->
    Sockets = persistent_term:get({?MODULE, Channel}),
    #{Receiver := Index} = persistent_term:get({?MODULE, receivers}),
    Socket = element(1 + erlang:phash2(Key, tuple_size(Sockets)), Sockets),
    gen_tcp:send(Socket, [<<Index:16, Seq:64, SentAt:64>>, Payload]).

%% Internals.

connected(Ip, Port) ->
    {ok, Socket} = gen_tcp:connect(Ip, Port, options()),
    Socket.

%% As in our own connections.
options() ->
    [
        binary,
        {packet, 4},
        {active, false},
        {nodelay, true},
        {reuseaddr, true},
        {buffer, 65536},
        {high_watermark, 131072},
        {low_watermark, 32768}
    ].

accept(Listen, Deliver) ->
    {ok, Socket} = gen_tcp:accept(Listen),
    Reader = spawn_link(fun() ->
        receive
            go -> read(Socket, Deliver)
        end
    end),
    ok = gen_tcp:controlling_process(Socket, Reader),
    Reader ! go,
    accept(Listen, Deliver).

read(Socket, Deliver) ->
    ok = inet:setopts(Socket, [{active, ?WINDOW}]),
    loop(Socket, Deliver).

loop(Socket, Deliver) ->
    receive
        {tcp, Socket, Frame} ->
            _ = Deliver(Frame),
            loop(Socket, Deliver);
        {tcp_passive, Socket} ->
            read(Socket, Deliver);
        {tcp_closed, Socket} ->
            ok
    end.

%% Sockets belong to a process that outlives the call.
keep(Start) ->
    Caller = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        {ok, Serve} = Start(),
        Caller ! {self(), ready},
        Serve()
    end),
    receive
        {Pid, ready} ->
            true = demonitor(Monitor, [flush]),
            ok;
        {'DOWN', Monitor, process, Pid, Reason} ->
            error(Reason)
    end.

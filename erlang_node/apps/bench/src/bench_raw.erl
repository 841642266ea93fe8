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

-define(BACKLOG, 64).
-define(WINDOW, 32).

%% @private
-spec start(bench_system:address(), [bench_system:address(), ...]) -> ok.
start(#{ip := Ip, port := Port}, [Peer | _]) ->
    ok = bench_system:set_peer(Peer),
    Receivers = bench_system:receivers(),
    Indexed = maps:from_list(lists:zip(Receivers, lists:seq(1, length(Receivers)))),
    ok = persistent_term:put({?MODULE, receivers}, Indexed),
    keep(fun() ->
        {ok, Listen} = gen_tcp:listen(Port, [{ip, Ip}, {backlog, ?BACKLOG} | options()]),
        {ok, fun() -> accept(Listen, list_to_tuple(Receivers)) end}
    end).

%% @private
-spec connect() -> ok.
connect() ->
    #{ip := Ip, port := Port} = bench_system:peer(),
    keep(fun() ->
        lists:foreach(
            fun({Channel, Lanes}) ->
                Sockets = [open(Ip, Port) || _ <- lists:seq(1, Lanes)],
                persistent_term:put({?MODULE, Channel}, list_to_tuple(Sockets))
            end,
            bench_system:channels()
        ),
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

open(Ip, Port) ->
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

accept(Listen, Receivers) ->
    {ok, Socket} = gen_tcp:accept(Listen),
    Reader = spawn_link(fun() ->
        receive
            go -> read(Socket, Receivers)
        end
    end),
    ok = gen_tcp:controlling_process(Socket, Reader),
    Reader ! go,
    accept(Listen, Receivers).

read(Socket, Receivers) ->
    ok = inet:setopts(Socket, [{active, ?WINDOW}]),
    loop(Socket, Receivers).

loop(Socket, Receivers) ->
    receive
        {tcp, Socket, <<Index:16, Seq:64, SentAt:64, Payload/binary>>} ->
            element(Index, Receivers) ! {bench, Seq, SentAt, Payload},
            loop(Socket, Receivers);
        {tcp_passive, Socket} ->
            read(Socket, Receivers);
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

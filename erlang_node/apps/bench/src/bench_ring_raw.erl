%%% @doc A ring over raw sockets, as many for each lane as ours has connections: the upper bound.
%%%
%%% Senders write to the socket themselves. A frame is the receiver and the message, encoded as ours
%%% ({@link partisan_term}). There is no queue but the sockets' own. Nodes do not fail in a
%%% benchmark.
-module(bench_ring_raw).
-behaviour(bench_system).
-behaviour(ring_transport).

%% bench_system.
-export([start/2]).
-export([connect/0]).
-export([send/4]).
%% ring_transport.
-export([check/0]).
-export([self/0]).
-export([send/6]).
-export([monitor/1]).

-compile({no_auto_import, [self/0, monitor/1]}).

-define(ROOM_BYTES, 131072).

%% @private
-spec start(bench_system:address(), [bench_system:address(), ...]) -> ok.
start(#{ip := Ip, port := Port}, Others) ->
    ok = persistent_term:put(?MODULE, Others),
    bench_raw:listen(Ip, Port, fun received/1).

%% @private
-spec connect() -> ok.
connect() ->
    _ = [
        ok = bench_raw:open(Ip, Port, Lanes, {?MODULE, atom_to_binary(Name), Channel})
     || #{name := Name, ip := Ip, port := Port} <- persistent_term:get(?MODULE),
        {Channel, Lanes} <- bench_system:channels()
    ],
    ok.

%% @private The ring's messages alone are measured.
-spec send(bench_system:channel(), integer(), atom(), bench_system:message()) -> no_return().
send(_Channel, _Key, _Receiver, _Message) ->
    error(not_supported).

%% @private
-spec check() -> ok.
check() -> ok.

%% @private
-spec self() -> ring_state:member().
self() ->
    bench_ring:self().

%% @private
-spec send(
    ring_state:member(), atom(), ring_transport:lane(), term(), term(), ring_transport:busy()
) -> ok | {error, busy | inet:posix() | closed}.
send(Node, Receiver, Lane, Key, Message, Busy) ->
    Sockets = persistent_term:get({?MODULE, Node, ring_partisan:channel(Lane)}),
    Socket = element(1 + erlang:phash2(Key, tuple_size(Sockets)), Sockets),
    case Busy =:= error andalso is_full(Socket) of
        true -> {error, busy};
        false -> gen_tcp:send(Socket, partisan_term:encode({Receiver, Message}))
    end.

%% @private
-spec monitor(ring_state:member()) -> ok.
monitor(_Node) ->
    ok.

%% Internals.

is_full(Socket) ->
    {ok, [{send_pend, Waiting}]} = inet:getstat(Socket, [send_pend]),
    Waiting >= ?ROOM_BYTES.

received(Frame) ->
    {ok, {Receiver, Message}} = partisan_term:decode(Frame),
    case whereis(Receiver) of
        undefined -> ok;
        Pid -> Pid ! Message
    end.

%%% @doc A ring over Distributed Erlang: one connection, whatever the lane. Nodes do not fail in a
%%% benchmark.
-module(bench_ring_disterl).
-behaviour(ring_transport).

-export([check/0]).
-export([self/0]).
-export([send/6]).
-export([monitor/1]).

-compile({no_auto_import, [self/0, monitor/1]}).

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
) -> ok | {error, busy | noconnect}.
send(Node, Receiver, _Lane, _Key, Message, Busy) ->
    Options =
        case Busy of
            block -> [noconnect];
            error -> [noconnect, nosuspend]
        end,
    case erlang:send({Receiver, bench_disterl:node_of(Node)}, Message, Options) of
        ok -> ok;
        nosuspend -> {error, busy};
        noconnect -> {error, noconnect}
    end.

%% @private
-spec monitor(ring_state:member()) -> ok.
monitor(_Node) ->
    ok.

%%% A transport without a network: the node is alone.
-module(ring_test_transport).
-behaviour(ring_transport).

-export([check/0, self/0, send/6, monitor/1]).

-compile({no_auto_import, [self/0, monitor/1]}).

check() -> ok.

self() -> <<"alone">>.

send(_Node, _Receiver, _Lane, _Key, _Message, _Busy) -> {error, not_connected}.

monitor(_Node) -> ok.

%%% @doc The behaviour of the network under a ring: how its nodes reach one another.
%%%
%%% The ring's protocols repair losses: a message may be lost or late, and nothing needs an order.
%%% Messages between seats may also be repeated. Those of requests, and their answers, must not be:
%%% a write that arrived twice would be executed twice. A message of another incarnation of a node
%%% is recognised and dropped.
-module(ring_transport).

-type member() :: ring_state:member().
%% `request': of clients, with their answers, and short messages between seats. `handoff': the bulk
%% of data that move, which must not delay requests. `gossip': the state of the ring.
-type lane() :: request | handoff | gossip.
%% What a sender does while the path is full.
-type busy() :: block | error.

-export_type([lane/0, busy/0]).

%% Whether the transport can serve a ring; the error names the setting and the fix.
-callback check() -> ok | {error, Description :: string()}.
%% The name of this node.
-callback self() -> member().
%% Sends to the process registered as `Receiver' on another node. Messages with different keys may
%% use different connections. An error means that the message has not left this node; `busy': the
%% path is full.
-callback send(member(), Receiver :: atom(), lane(), Key :: term(), Message :: term(), busy()) ->
    ok | {error, busy | term()}.
%% The calling process gets `{nodedown, Node}' when the node is lost or restarts, once however often
%% it has asked since.
-callback monitor(member()) -> ok.

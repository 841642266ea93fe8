%%% @doc The nodes of a simulation: their incarnations, stacks and timers.
%%%
%%% A restarted node is another incarnation with its own stack; of a stopped node only the number of
%%% incarnations remains.
-module(simulator_nodes).

-export([new/0]).
-export([start/3]).
-export([stop/2]).
-export([alive/1]).
-export([is_alive/2]).
-export([incarnation/2]).
-export([peer/2]).
-export([stack/2]).
-export([put_stack/3]).
-export([neighbours/2]).
-export([links/1]).
-export([start_timer/3]).
-export([is_running/4]).

-type index() :: simulator_peer:index().
%% Serial number of a timer's starts.
-type serial() :: pos_integer().

-record(node, {
    stack :: partisan_stack:t(),
    peer :: partisan_peer:t(),
    % The newest start of each timer; events of older ones are stale.
    timers = #{} :: #{term() => serial()}
}).

-record(nodes, {
    alive = #{} :: #{index() => #node{}},
    incarnations = #{} :: #{index() => partisan_peer:incarnation()},
    serial = 0 :: non_neg_integer()
}).

-opaque t() :: #nodes{}.
-export_type([t/0]).

%% @doc No nodes.
-spec new() -> t().
new() ->
    #nodes{}.

%% @doc Starts an incarnation of a node, given by the peer, with this stack.
-spec start(partisan_peer:t(), partisan_stack:t(), t()) -> t().
start(#{incarnation := Incarnation} = Peer, Stack, #nodes{} = N) ->
    #nodes{alive = Alive, incarnations = Incarnations} = N,
    Index = simulator_peer:index(Peer),
    N#nodes{
        alive = Alive#{Index => #node{stack = Stack, peer = Peer}},
        incarnations = Incarnations#{Index => Incarnation}
    }.

%% @doc A node stops.
-spec stop(index(), t()) -> t().
stop(Index, #nodes{alive = Alive} = N) ->
    N#nodes{alive = maps:remove(Index, Alive)}.

%% @doc The living nodes.
-spec alive(t()) -> [index()].
alive(#nodes{alive = Alive}) ->
    maps:keys(Alive).

%% @doc Whether a node is alive.
-spec is_alive(index(), t()) -> boolean().
is_alive(Index, #nodes{alive = Alive}) ->
    is_map_key(Index, Alive).

%% @doc The number of a node's newest incarnation, whether alive or not; 0 without any.
-spec incarnation(index(), t()) -> partisan_peer:incarnation().
incarnation(Index, #nodes{incarnations = Incarnations}) ->
    maps:get(Index, Incarnations, 0).

%% @doc The description of a living node for others.
-spec peer(index(), t()) -> partisan_peer:t().
peer(Index, #nodes{alive = Alive}) ->
    #{Index := #node{peer = Peer}} = Alive,
    Peer.

%% @doc The stack of a living node.
-spec stack(index(), t()) -> partisan_stack:t().
stack(Index, #nodes{alive = Alive}) ->
    #{Index := #node{stack = Stack}} = Alive,
    Stack.

%% @doc Replaces the stack of a living node.
-spec put_stack(index(), partisan_stack:t(), t()) -> t().
put_stack(Index, Stack, #nodes{alive = Alive} = N) ->
    #{Index := Node} = Alive,
    N#nodes{alive = Alive#{Index := Node#node{stack = Stack}}}.

%% @doc The neighbours of a node; none if it is not alive.
-spec neighbours(index(), t()) -> [index()].
neighbours(Index, #nodes{alive = Alive}) ->
    case Alive of
        #{Index := Node} -> neighbours(Node);
        #{} -> []
    end.

%% @doc The neighbours of every node.
-spec links(t()) -> #{index() => [index()]}.
links(#nodes{alive = Alive}) ->
    maps:map(fun(_, Node) -> neighbours(Node) end, Alive).

%% @doc Starts a timer of a living node, replacing an earlier one.
-spec start_timer(index(), Timer :: term(), t()) -> {serial(), t()}.
start_timer(Index, Timer, #nodes{alive = Alive, serial = Before} = N) ->
    #{Index := #node{timers = Timers} = Node} = Alive,
    Serial = Before + 1,
    Started = Node#node{timers = Timers#{Timer => Serial}},
    {Serial, N#nodes{alive = Alive#{Index := Started}, serial = Serial}}.

%% @doc Whether this is the newest start of a timer of a living node.
-spec is_running(index(), Timer :: term(), serial(), t()) -> boolean().
is_running(Index, Timer, Serial, #nodes{alive = Alive}) ->
    case Alive of
        #{Index := #node{timers = #{Timer := Serial}}} -> true;
        #{} -> false
    end.

%% Internals.

neighbours(#node{stack = Stack}) ->
    [simulator_peer:index(Peer) || Peer <- partisan_stack:neighbours(Stack)].

%%% @doc The nodes of a simulation: their lives, stacks and timers.
%%%
%%% A node that is started again is another life of it, with a stack of its own; of a node that is
%%% stopped nothing is left but how many lives it has had.
-module(simulator_nodes).

-export([new/0]).
-export([start/3]).
-export([stop/2]).
-export([alive/1]).
-export([is_alive/2]).
-export([life/2]).
-export([peer/2]).
-export([stack/2]).
-export([put_stack/3]).
-export([neighbours/2]).
-export([links/1]).
-export([start_timer/3]).
-export([is_running/4]).

-type index() :: simulator_peer:index().
%% Which start of a timer it is.
-type serial() :: pos_integer().

-record(node, {
    stack :: partisan_stack:t(),
    peer :: partisan_peer:t(),
    % The newest start of each timer; an event of an older start is stale.
    timers = #{} :: #{term() => serial()}
}).

-record(nodes, {
    alive = #{} :: #{index() => #node{}},
    lives = #{} :: #{index() => partisan_peer:incarnation()},
    serial = 0 :: non_neg_integer()
}).

-opaque t() :: #nodes{}.
-export_type([t/0]).

%% @doc None.
-spec new() -> t().
new() ->
    #nodes{}.

%% @doc A life of a node, which the peer tells, begins with this stack.
-spec start(partisan_peer:t(), partisan_stack:t(), t()) -> t().
start(#{incarnation := Life} = Peer, Stack, #nodes{alive = Alive, lives = Lives} = N) ->
    Index = simulator_peer:index(Peer),
    N#nodes{
        alive = Alive#{Index => #node{stack = Stack, peer = Peer}}, lives = Lives#{Index => Life}
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

%% @doc The number of a node's newest life, be it over or not; 0 where there has been none.
-spec life(index(), t()) -> partisan_peer:incarnation().
life(Index, #nodes{lives = Lives}) ->
    maps:get(Index, Lives, 0).

%% @doc How a living node is known to others.
-spec peer(index(), t()) -> partisan_peer:t().
peer(Index, #nodes{alive = Alive}) ->
    #{Index := #node{peer = Peer}} = Alive,
    Peer.

%% @doc The stack of a living node.
-spec stack(index(), t()) -> partisan_stack:t().
stack(Index, #nodes{alive = Alive}) ->
    #{Index := #node{stack = Stack}} = Alive,
    Stack.

%% @doc What a living node's stack has become.
-spec put_stack(index(), partisan_stack:t(), t()) -> t().
put_stack(Index, Stack, #nodes{alive = Alive} = N) ->
    #{Index := Node} = Alive,
    N#nodes{alive = Alive#{Index := Node#node{stack = Stack}}}.

%% @doc Whom a node considers a neighbour; nobody if it is not alive.
-spec neighbours(index(), t()) -> [index()].
neighbours(Index, #nodes{alive = Alive}) ->
    case Alive of
        #{Index := Node} -> neighbours(Node);
        #{} -> []
    end.

%% @doc Who considers whom a neighbour.
-spec links(t()) -> #{index() => [index()]}.
links(#nodes{alive = Alive}) ->
    maps:map(fun(_, Node) -> neighbours(Node) end, Alive).

%% @doc A living node starts a timer, in place of one that it has started before.
-spec start_timer(index(), Timer :: term(), t()) -> {serial(), t()}.
start_timer(Index, Timer, #nodes{alive = Alive, serial = Before} = N) ->
    #{Index := #node{timers = Timers} = Node} = Alive,
    Serial = Before + 1,
    Started = Node#node{timers = Timers#{Timer => Serial}},
    {Serial, N#nodes{alive = Alive#{Index := Started}, serial = Serial}}.

%% @doc Is this the newest start of a timer of a living node?
-spec is_running(index(), Timer :: term(), serial(), t()) -> boolean().
is_running(Index, Timer, Serial, #nodes{alive = Alive}) ->
    case Alive of
        #{Index := #node{timers = #{Timer := Serial}}} -> true;
        #{} -> false
    end.

%% Internals.

neighbours(#node{stack = Stack}) ->
    [simulator_peer:index(Peer) || Peer <- partisan_stack:neighbours(Stack)].

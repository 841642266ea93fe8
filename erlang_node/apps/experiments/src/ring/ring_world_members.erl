%%% @doc The seats and the ring's state of a simulated node, as a node's `ring_manager' and
%%% `ring_seat_server's keep them.
%%%
%%% Ring states spread by gossip: nodes send their own to one another, which suits a few nodes, or
%%% do as real ones ({@link ring_gossip}). For thousands of nodes, equal states are one term, and
%%% the ring of a plan is computed once.
-module(ring_world_members).

-include("ring_world.hrl").

%% Seats.
-export([reconcile/2]).
-export([each_seat/3]).
-export([seat/4]).
-export([no_seat/5]).
%% Ring states.
-export([announce/3]).
-export([is_known/3]).
-export([gossip/2]).
-export([learn/3]).
-export([heard/4]).

-import(ring_world, [incarnation/2, module/2, now/1, put_node/3, random_peer/2, state/2]).
-import(ring_world_network, [send/4]).

-type name() :: ring_state:member().
-type t() :: ring_world:t().

%% Seats.

%% @doc Makes the seats of a node follow the plan.
-spec reconcile(name(), t()) -> t().
reconcile(Name, #world{nodes = Nodes, options = #{transfers := Most}} = W) ->
    case Nodes of
        #{Name := #node{view = none}} ->
            W;
        #{Name := #node{view = View, seats = Seats, lost = Lost}} ->
            Owned = ring_view:owned(Name, View),
            W1 = lists:foldl(
                fun(I, Acc) -> seat_there(Name, I, Acc) end,
                W,
                lists:sort(maps:keys(Seats))
            ),
            #world{nodes = #{Name := #node{seats = Left}}} = W1,
            New = [I || I <- Owned, not is_map_key(I, Left)],
            Moving = [I || {I, S} <- maps:to_list(Left), (module(seat, W)):phase(S) =:= moving],
            Due = ring_transfers:due(Name, New, Moving, Lost, Most, View),
            lists:foldl(fun(I, Acc) -> new_seat(Name, I, Acc) end, W1, Due)
    end.

%% @doc An event of all seats of a node.
-spec each_seat(name(), ring_seat:event(), t()) -> t().
each_seat(Name, Event, #world{nodes = Nodes} = W) ->
    #{Name := #node{seats = Seats}} = Nodes,
    lists:foldl(fun(I, Acc) -> seat(Name, I, Event, Acc) end, W, lists:sort(maps:keys(Seats))).

%% @doc An event of one seat.
-spec seat(name(), ring_state:index(), ring_seat:event(), t()) -> t().
seat(Name, Index, Event, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{seats = #{Index := Seat}}} ->
            {Next, Effects} = (module(seat, W)):handle(Event, now(W), Seat),
            seated(Name, Index, Next, Effects, W);
        #{} ->
            W
    end.

%% @doc A message for a seat that the node has lost or handed over.
-spec no_seat(name(), name(), ring_state:index(), ring_seat:message(), t()) -> t().
no_seat(From, To, Index, Message, #world{nodes = Nodes} = W) ->
    #{To := #node{view = View}} = Nodes,
    case ring_absent:message(Index, To, View, Message) of
        {ok, Answer} -> send(To, From, {seat, Index, Answer}, W);
        none -> W
    end.

%% Ring states.

%% @doc A node learns what has happened at it, and sends it to the others.
-spec announce(ring_state:t(), name(), t()) -> t().
announce(Delta, Name, #world{nodes = Nodes, options = #{gossip := How}} = W) ->
    #{Name := #node{gossip = Gossip}} = Nodes,
    case ring_gossip:learn(Delta, Gossip) of
        known ->
            W;
        {grown, Newer, Next} ->
            Learnt = learnt(Newer, Next, Name, W),
            case How of
                states -> Learnt;
                as_nodes -> to_all(ring_gossip:announcement(Delta), Name, Learnt)
            end
    end.

%% @doc Whether a node knows all of a ring state.
-spec is_known(ring_state:t(), name(), t()) -> boolean().
is_known(Delta, Name, W) ->
    ring_state:size(ring_state:difference(Delta, state(Name, W))) =:= 0.

%% @doc A node's round of gossip.
-spec gossip(name(), t()) -> t().
gossip(_Name, #world{forming = Forming} = W) when Forming =/= none ->
    W;
gossip(Name, #world{nodes = Nodes, options = #{gossip := How}} = W) ->
    #{Name := #node{gossip = Gossip}} = Nodes,
    case {random_peer(Name, W), How} of
        {{none, Next}, _} -> Next;
        {{Peer, Next}, states} -> send(Name, Peer, {state, ring_gossip:state(Gossip)}, Next);
        {{Peer, Next}, as_nodes} -> gossip_to(Name, Peer, ring_gossip:digest(Gossip), Next)
    end.

%% @doc A node is sent a whole ring state.
-spec learn(ring_state:t(), name(), t()) -> t().
learn(New, Name, #world{nodes = Nodes} = W) ->
    #{Name := #node{gossip = Gossip}} = Nodes,
    case ring_gossip:learn(New, Gossip) of
        known -> W;
        {grown, Newer, Next} -> learnt(Newer, Next, Name, W)
    end.

%% @doc A node is sent a message of gossip.
-spec heard(name(), name(), ring_gossip:message(), t()) -> t().
heard(From, To, Message, #world{nodes = Nodes} = W) ->
    #{To := #node{gossip = Gossip}} = Nodes,
    case ring_gossip:handle(Message, Gossip) of
        {none, none, _} when element(1, Message) =:= digest ->
            share(From, To, W);
        {Newer, Answer, Next} ->
            Learnt =
                case Newer of
                    none -> W;
                    _ -> learnt(Newer, Next, To, W)
                end,
            case Answer of
                none -> Learnt;
                _ -> gossip_to(To, From, Answer, Learnt)
            end
    end.

%% Internals: seats.

seat_there(Name, Index, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{seats = #{Index := Seat}, view = View, lost = Lost}} ->
            case (module(seat, W)):duty(Seat) of
                drop ->
                    drop_seat(Name, Index, W);
                renew ->
                    {Incarnation, Next} = incarnation(View, W),
                    seat(Name, Index, {renew, Incarnation, Lost}, Next);
                keep ->
                    W
            end;
        #{} ->
            W
    end.

new_seat(Name, Index, #world{nodes = Nodes} = W) ->
    #{Name := #node{view = View, lost = Lost}} = Nodes,
    {Incarnation, W1} = incarnation(View, W),
    {Seat, Effects} = (module(seat, W)):new(#{
        index => Index,
        node => Name,
        incarnation => Incarnation,
        module => module(service, W),
        replicated => true,
        view => View
    }),
    W2 = seated(Name, Index, Seat, Effects, W1),
    lists:foldl(fun(Other, Acc) -> seat(Name, Index, {lost, Other}, Acc) end, W2, Lost).

drop_seat(Name, Index, #world{nodes = Nodes} = W) ->
    #{Name := #node{seats = Seats} = Node} = Nodes,
    put_node(Name, Node#node{seats = maps:remove(Index, Seats)}, W).

seated(Name, Index, Seat, Effects, #world{nodes = Nodes} = W) ->
    #{Name := #node{seats = Seats} = Node} = Nodes,
    Put = put_node(Name, Node#node{seats = Seats#{Index => Seat}}, W),
    lists:foldl(fun(E, Acc) -> seat_effect(E, Name, Index, Acc) end, Put, Effects).

seat_effect({answer, {Node, Id, Tag, Index}, Answer}, Name, Index, W) ->
    send(Name, Node, {answer, Id, Tag, Index, Answer}, W);
seat_effect({send, To, Index, Message}, Name, _, W) ->
    send(Name, To, {seat, Index, Message}, W);
seat_effect({held, Index, Incarnation, Node}, Name, _, #world{forming = none} = W) ->
    announce(ring_state:held(Index, Incarnation, Node), Name, W);
seat_effect({held, Index, Incarnation, Node}, _Name, _, #world{forming = Gossip} = W) ->
    case ring_gossip:learn(ring_state:held(Index, Incarnation, Node), Gossip) of
        known -> W;
        {grown, _, Next} -> W#world{forming = Next}
    end;
seat_effect(finished, Name, Index, W) ->
    reconcile(Name, drop_seat(Name, Index, W)).

%% Internals: ring states.

to_all(Message, Name, #world{names = Names} = W) ->
    Bytes = erlang:external_size(Message),
    lists:foldl(
        fun(Other, Acc) -> send(Name, Other, {gossip, Message}, of_gossip(Bytes, Acc)) end,
        W,
        lists:delete(Name, tuple_to_list(Names))
    ).

of_gossip(Bytes, #world{gossiped = {Messages, Sum}} = W) ->
    W#world{gossiped = {Messages + 1, Sum + Bytes}}.

gossip_to(From, To, Message, W) ->
    send(From, To, {gossip, Message}, of_gossip(erlang:external_size(Message), W)).

learnt(Newer, Gossip, Name, #world{nodes = Nodes} = W) ->
    #{Name := #node{view = Before} = Node} = Nodes,
    {View, Shared} = viewed(ring_gossip:state(Gossip), Before, W),
    Next = put_node(Name, Node#node{gossip = Gossip, view = View}, Shared),
    case View of
        none -> Next;
        _ -> informed(Name, Newer, View, Next)
    end.

%% The ring of a plan is computed once.
viewed(State, Before, #world{last = Last} = W) ->
    Epoch = ring_state:epoch(State),
    Base =
        case Before =/= none andalso ring_view:epoch(Before) =:= Epoch of
            true -> Before;
            false -> Last
        end,
    View = ring_view:update(State, Base),
    case View =/= none andalso (Last =:= none orelse Epoch > ring_view:epoch(Last)) of
        true -> {View, W#world{last = View}};
        false -> {View, W}
    end.

%% Real nodes inform the seats around a change only.
informed(Name, Newer, View, #world{nodes = Nodes, options = #{gossip := How}} = W) ->
    #{Name := #node{seats = Seats}} = Nodes,
    IsNear = fun(Index) ->
        lists:any(
            fun(I) -> is_map_key(I, ring_state:holders(Newer)) end,
            ring_view:neighbours(Index, View)
        )
    end,
    case How =:= states orelse ring_state:epoch(Newer) > 0 of
        true ->
            reconcile(Name, each_seat(Name, {view, View}, W));
        false ->
            lists:foldl(
                fun(I, Acc) -> seat_there(Name, I, seat(Name, I, {view, View}, Acc)) end,
                W,
                [I || I <- lists:sort(maps:keys(Seats)), IsNear(I)]
            )
    end.

%% An equal state becomes the same term.
share(From, To, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{From := #node{gossip = Gossip, view = View}, To := #node{gossip = Own} = Node} ->
            case ring_gossip:digest(Gossip) =:= ring_gossip:digest(Own) of
                true -> put_node(To, Node#node{gossip = Gossip, view = View}, W);
                false -> W
            end;
        #{} ->
            W
    end.

%%% @doc A ring that has settled, of thousands of simulated nodes, to begin with.
-module(ring_world_formation).

-include("ring_world.hrl").

-export([form/3]).

-import(ring_world, [module/2, named/1, now/1, put_node/3]).

-type name() :: ring_state:member().
-type t() :: ring_world:t().

%% @doc Starts nodes with a ring that has settled: all know the plan, and who holds what. The ring
%% forms among its members as always, but without loss, and without gossip: with thousands of nodes
%% most of its time would go into that.
-spec form([name()], Others :: [name()], t()) -> t().
form(Members, Others, #world{options = Options} = W0) ->
    Plan = ring_state:plan(1, (maps:with([partitions, replication], Options))#{members => Members}),
    {grown, _, Gossip} = ring_gossip:learn(Plan, ring_gossip:new()),
    Names = lists:sort(Members ++ Others),
    Starts = maps:from_keys(Names, 1),
    View = ring_view:new(Plan),
    #{hints := Limits} = Options,
    Node = #node{
        start = 1,
        hints = (module(hints, W0)):new(Limits),
        peers = Starts,
        gossip = Gossip,
        view = View
    },
    W1 = named(W0#world{
        nodes = maps:map(fun(_, _) -> Node end, Starts),
        starts = Starts,
        plan = Plan,
        epoch = 1,
        members = Members,
        last = View,
        forming = Gossip,
        options = Options#{slow := 0, duplicates := 0}
    }),
    Ticking = lists:foldl(fun ring_world:begin_ticks/2, W1, Names),
    Formed = forms(lists:foldl(fun ring_world_members:reconcile/2, Ticking, Members)),
    Held = Formed#world.forming,
    Last = ring_view:update(ring_gossip:state(Held), View),
    lists:foldl(
        fun(Name, #world{nodes = Nodes} = Acc) ->
            #{Name := One} = Nodes,
            Put = put_node(Name, One#node{gossip = Held, view = Last}, Acc),
            ring_world_members:each_seat(Name, {view, Last}, Put)
        end,
        Formed#world{forming = none, last = Last, options = Options},
        Names
    ).

%% Internals.

%% Until every index is served.
forms(#world{options = #{partitions := Partitions}} = W) ->
    Seat = module(seat, W),
    case length([S || {_, S} <- ring_world:seats(W), Seat:is_serving(S)]) of
        Partitions -> W;
        _ -> forms(ring_simulation:advance(now(W) + 100, W))
    end.

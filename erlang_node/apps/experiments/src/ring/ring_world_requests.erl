%%% @doc The requests, hints and anti-entropy of a simulated node, which a node's `ring_coordinator'
%%% and `ring_hint_server' run.
-module(ring_world_requests).

-include("ring_world.hrl").

-export([request/5]).
-export([each_request/3]).
-export([timer/4]).
-export([answered/6]).
-export([hint/4]).
-export([deliver_hints/2]).
-export([repair/2]).

-import(ring_world, [enqueue/3, forget/2, incarnation/2, module/2, now/1, put_node/3, view/2]).
-import(ring_world_network, [send/4]).

-type name() :: ring_state:member().
-type t() :: ring_world:t().

%% Of the request that delivers a hint.
-define(DELIVERY_MS, 2000).

%% @doc Begins a request at a node that knows the ring. `false': it does not, or is not there.
-spec request(name(), Id :: term(), ring_request:operation(), ring_request:options(), t()) ->
    {boolean(), t()}.
request(Name, Id, Operation, Options, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{view = View}} when View =/= none ->
            {Request, Effects} = (module(request, W)):new(Operation, View, Options),
            {true, requested(Name, Id, Request, Effects, W)};
        #{} ->
            {false, W}
    end.

%% @doc An event of all requests of a node.
-spec each_request(name(), ring_request:event(), t()) -> t().
each_request(Name, Event, #world{nodes = Nodes} = W) ->
    #{Name := #node{requests = Requests}} = Nodes,
    lists:foldl(fun(Id, Acc) -> step(Name, Id, Event, Acc) end, W, lists:sort(maps:keys(Requests))).

%% @doc A timer of a request.
-spec timer(name(), Id :: term(), Timer :: term(), t()) -> t().
timer(Name, Id, retry, W) ->
    step(Name, Id, {retry, view(Name, W)}, W);
timer(Name, Id, Event, W) ->
    step(Name, Id, Event, W).

%% @doc The answer to a command of a request, or of a round of anti-entropy.
-spec answered(name(), Id :: term(), Tag :: term(), Place :: term(), Answer :: term(), t()) -> t().
answered(Name, {repair, _} = Id, _Tag, Index, Answer, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{repairs = #{Id := Repair}}} ->
            {Next, Effects} = ring_repair:handle({answer, repair, Index, Answer}, Repair),
            repaired(Name, Id, Next, Effects, W);
        #{} ->
            W
    end;
answered(Name, Id, Tag, Index, Answer, W) ->
    step(Name, Id, {answer, Tag, Index, Answer}, W).

%% @doc A node is to keep a hint.
-spec hint(name(), ring_view:partition(), Command :: term(), t()) -> {Answer :: term(), t()}.
hint(Name, Partition, Command, #world{nodes = Nodes} = W) ->
    #{Name := #node{view = View, hints = Hints} = Node} = Nodes,
    {Actor, Next} = actor(View =/= none andalso ring_view:actor(Name, View), View, W),
    Info = #{partition => Partition, now => now(W), actor => Actor},
    {Answer, Kept} = (module(hints, W)):handle(Command, Info, Hints),
    {Answer, put_node(Name, Node#node{hints = Kept}, Next)}.

%% @doc A node delivers the hints that are due.
-spec deliver_hints(name(), t()) -> t().
deliver_hints(Name, #world{nodes = Nodes} = W) ->
    #{Name := #node{hints = Hints, view = View, lost = Lost} = Node} = Nodes,
    IsReady = fun(P, Quorum) ->
        View =/= none andalso
            length([To || {_, To} <- ring_view:preference(P, View), not lists:member(To, Lost)]) >=
                Quorum
    end,
    {Due, Expired, Left} = (module(hints, W)):due(now(W), IsReady, Hints),
    Put = put_node(Name, Node#node{hints = Left}, W),
    lists:foldl(
        fun(Delivery, Acc) -> deliver_hint(Name, Delivery, View, Acc) end,
        forget([{Key, Set} || {_, Key, Set, _} <- Expired], Put),
        Due
    ).

%% @doc A round of anti-entropy, for the partitions whose first index the node serves.
-spec repair(name(), t()) -> t().
repair(Name, #world{nodes = Nodes, options = #{grace := Grace, hints := #{age := Age}}} = W) ->
    #{Name := #node{seats = Seats, view = View}} = Nodes,
    lists:foldl(
        fun(P, #world{serial = Serial} = Acc) ->
            Id = {repair, Serial},
            {Repair, Effects} = ring_repair:new(P, View, Grace + Age),
            repaired(Name, Id, Repair, Effects, Acc#world{serial = Serial + 1})
        end,
        W,
        [I || {I, Seat} <- lists:sort(maps:to_list(Seats)), (module(seat, W)):is_serving(Seat)]
    ).

%% Internals: requests.

step(Name, Id, Event, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{requests = #{Id := Request}}} ->
            {Next, Effects} = (module(request, W)):handle(Event, Request),
            requested(Name, Id, Next, Effects, W);
        #{} ->
            W
    end.

requested(Name, Id, Request, Effects, #world{nodes = Nodes} = W) ->
    #{Name := #node{requests = Requests} = Node} = Nodes,
    Put = put_node(Name, Node#node{requests = Requests#{Id => Request}}, W),
    lists:foldl(fun(E, Acc) -> request_effect(E, Name, Id, Acc) end, Put, Effects).

request_effect({command, Tag, Index, To, Partition, Command}, Name, Id, W) ->
    #world{nodes = #{Name := #node{lost = Lost, start = Start}}} = W,
    case lists:member(To, Lost) orelse ring_world_network:is_cut_off(Name, To, W) of
        % Noticed at once, but after this step.
        true -> enqueue(1, {timer, Name, Start, Id, {unreachable, Tag, Index}}, W);
        false -> send(Name, To, {request, Id, Tag, Index, Partition, Command}, W)
    end;
request_effect({start_timer, Timer, Delay}, Name, Id, #world{starts = Starts} = W) ->
    enqueue(Delay, {timer, Name, map_get(Name, Starts), Id, Timer}, W);
request_effect({done, Result}, Name, Id, #world{nodes = Nodes} = W) ->
    #{Name := #node{requests = Requests} = Node} = Nodes,
    ended(Id, Result, Name, put_node(Name, Node#node{requests = maps:remove(Id, Requests)}, W)).

ended({hint, _, P, Key, Set}, Result, Name, #world{nodes = Nodes} = W) ->
    #{Name := #node{hints = Hints} = Node} = Nodes,
    Outcome =
        case Result of
            {ok, _, _} -> ok;
            {error, _} -> error
        end,
    Left = (module(hints, W)):delivered(P, Key, Set, Outcome, Hints),
    put_node(Name, Node#node{hints = Left}, W);
ended(Id, Result, _Name, #world{done = Done} = W) ->
    W#world{done = [{Id, Result} | Done]}.

%% Internals: hints.

actor(Index, View, W) when is_integer(Index) ->
    {Incarnation, Next} = incarnation(View, W),
    {{Index, Incarnation}, Next};
actor(_NoMember, _View, W) ->
    {none, W}.

deliver_hint(Name, {P, Key, Set, Quorum}, View, #world{serial = Serial} = W) ->
    Options = #{write => Quorum, timeout => ?DELIVERY_MS},
    {Request, Effects} = (module(request, W)):new({store, Key, Set}, View, Options),
    requested(Name, {hint, Serial, P, Key, Set}, Request, Effects, W#world{serial = Serial + 1}).

%% Internals: anti-entropy.

repaired(Name, Id, Repair, Effects, #world{nodes = Nodes} = W) ->
    #{Name := #node{repairs = Repairs} = Node} = Nodes,
    Put = put_node(Name, Node#node{repairs = Repairs#{Id => Repair}}, W),
    lists:foldl(fun(E, Acc) -> repair_effect(E, Name, Id, Acc) end, Put, Effects).

repair_effect({command, Tag, Index, To, Partition, Command}, Name, Id, W) ->
    send(Name, To, {request, Id, Tag, Index, Partition, Command}, W);
repair_effect({start_timer, deadline, Delay}, Name, Id, #world{starts = Starts} = W) ->
    enqueue(Delay, {repair_deadline, Name, map_get(Name, Starts), Id}, W);
repair_effect({dropped, Tombstones}, _Name, _Id, #world{dropped = Dropped} = W) ->
    W#world{dropped = [{Key, Context, now(W)} || {Key, Context} <- Tombstones] ++ Dropped};
repair_effect({done, ok}, Name, Id, #world{nodes = Nodes} = W) ->
    #{Name := #node{repairs = Repairs} = Node} = Nodes,
    put_node(Name, Node#node{repairs = maps:remove(Id, Repairs)}, W).

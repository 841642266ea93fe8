%%% @doc The ring's nodes in virtual time: their seats, requests and ring states, on a network that
%%% delays, reorders, duplicates and loses messages.
%%%
%%% The protocol modules are those of a node. The interpreter is the only difference: it keeps what
%%% a node's processes would keep ({@link ring_world}), and sends messages with random delays. A
%%% message reaches only the incarnation it was sent to. A stopped node loses everything; others
%%% learn of it after a while.
-module(ring_simulation).

-include("ring_world.hrl").

-export([start/2]).
-export([stop/2]).
-export([plan/2]).
-export([rival_plan/3]).
-export([suspect/3]).
-export([advance/2]).

-import(ring_world, [
    alive/4, begin_ticks/2, enqueue/3, forget/2, later/3, module/2, named/1, put_node/3, state/2,
    uniform/2
]).
-import(ring_world_network, [send/4]).

-type name() :: ring_state:member().
-type t() :: ring_world:t().
-type milliseconds() :: simulator_clock:milliseconds().

-define(AUTHORITY_MS, 300).
%% Until others notice the loss of a node.
-define(DETECTION_MS, {100, 600}).

%% @doc Starts a node, for the first time or again, without data.
-spec start(name(), t()) -> t().
start(Name, #world{nodes = Nodes, starts = Starts, options = #{hints := Limits}} = W0) ->
    Start = maps:get(Name, Starts, 0) + 1,
    Node = #node{start = Start, hints = (module(hints, W0)):new(Limits)},
    W = named(W0#world{nodes = Nodes#{Name => Node}, starts = Starts#{Name => Start}}),
    % Others notice the new incarnation when they are connected again.
    Others = maps:keys(maps:remove(Name, Nodes)),
    Noticed = lists:foldl(
        fun(Other, Acc) -> later(?DETECTION_MS, {back, Other, Name, Start}, Acc) end, W, Others
    ),
    begin_ticks(Name, Noticed).

%% @doc Stops a node at once.
-spec stop(name(), t()) -> t().
stop(Name, #world{nodes = Nodes, stopped = Stopped} = W) ->
    case maps:take(Name, Nodes) of
        {#node{start = Start, hints = Hints}, Others} ->
            lists:foldl(
                fun(Other, Acc) -> later(?DETECTION_MS, {lost, Other, Name, Start}, Acc) end,
                forget(
                    (module(hints, W)):sets(Hints),
                    W#world{nodes = Others, stopped = [Name | Stopped]}
                ),
                maps:keys(Others)
            );
        error ->
            W
    end.

%% @doc The authority gives the ring to these members, and informs one of the living nodes.
-spec plan([name()], t()) -> t().
plan(Members, #world{epoch = Before, options = Options} = W) ->
    Epoch = Before + 1,
    Plan = (maps:with([partitions, replication], Options))#{members => Members},
    State = ring_state:plan(Epoch, Plan),
    inform(W#world{epoch = Epoch, members = Members, plan = State}).

%% @doc A second authority, at that node, gives the ring to these members under the present epoch.
-spec rival_plan([name()], name(), t()) -> t().
rival_plan(Members, Name, #world{epoch = Epoch, plan = First, options = Options} = W) ->
    Plan = (maps:with([partitions, replication], Options))#{members => Members},
    Second = ring_state:plan(Epoch, Plan),
    % All nodes keep the same one of the two.
    Kept = ring_state:merge(First, Second),
    {ok, #{members := Remaining}} = ring_state:current(Kept),
    Holders = ring_state:part(false, fun(_) -> true end, state(Name, W)),
    ring_world_members:announce(
        ring_state:merge(Second, Holders), Name, W#world{members = Remaining, plan = Kept}
    ).

%% @doc A node believes that another one is lost.
-spec suspect(name(), name(), t()) -> t().
suspect(Name, Other, #world{starts = Starts} = W) ->
    occur({lost, Name, Other, maps:get(Other, Starts, 0)}, W).

%% @doc Advances time to this moment.
-spec advance(milliseconds(), t()) -> t().
advance(Until, #world{clock = Clock} = W) ->
    case simulator_clock:due(Until, Clock) of
        {due, Due, Later} -> advance(Until, lists:foldl(fun occur/2, W#world{clock = Later}, Due));
        {elapsed, Elapsed} -> W#world{clock = Elapsed}
    end.

%% Internals: time.

%% The authority repeats the plan, to one node each time.
inform(#world{plan = Plan, nodes = Nodes, epoch = Epoch} = W) ->
    Later = enqueue(?AUTHORITY_MS, {authority, Epoch}, W),
    case map_size(Nodes) of
        0 ->
            Later;
        Count ->
            {I, Next} = uniform(Count, Later),
            Name = lists:nth(I, lists:sort(maps:keys(Nodes))),
            case ring_world_members:is_known(Plan, Name, Next) of
                true -> Next;
                % With the holders known there, as a node announces a plan.
                false ->
                    Merged = ring_state:merge(Plan, state(Name, Next)),
                    ring_world_members:announce(Merged, Name, Next)
            end
    end.

occur({tick, Name, Start, Count}, W) ->
    Next = {tick, Name, Start, Count + 1},
    #world{options = #{tick := Tick}} = W,
    alive(Name, Start, fun() -> tick(Name, Count, enqueue(Tick, Next, W)) end, W);
occur({authority, Epoch}, #world{epoch = Epoch} = W) ->
    inform(W);
occur({authority, _Older}, W) ->
    W;
occur({deliver, From, FromStart, To, ToStart, Payload}, #world{side = Side, starts = Starts} = W) ->
    % A connection ends with either incarnation.
    case Side(From) =:= Side(To) andalso map_get(From, Starts) =:= FromStart of
        true ->
            Arrive = fun() -> arrive(From, To, Payload, met(To, From, FromStart, W)) end,
            alive(To, ToStart, Arrive, W);
        false -> W
    end;
occur({timer, Name, Start, Id, Timer}, W) ->
    alive(Name, Start, fun() -> ring_world_requests:timer(Name, Id, Timer, W) end, W);
occur({repair_deadline, Name, Start, Id}, #world{nodes = Nodes} = W) ->
    alive(
        Name,
        Start,
        fun() ->
            #{Name := #node{repairs = Repairs} = Node} = Nodes,
            put_node(Name, Node#node{repairs = maps:remove(Id, Repairs)}, W)
        end,
        W
    );
occur({lost, Name, Other, Start}, #world{nodes = Nodes, starts = Starts} = W) ->
    case {Nodes, Starts} of
        {#{Name := #node{lost = Lost} = Node}, #{Other := Start}} ->
            Marked = put_node(Name, Node#node{lost = lists:usort([Other | Lost])}, W),
            lost(Name, Other, Marked);
        _ ->
            W
    end;
occur({back, Name, Other, Start}, #world{nodes = Nodes, starts = Starts} = W) ->
    case {Nodes, Starts} of
        {#{Name := #node{}}, #{Other := Start}} -> met(Name, Other, Start, W);
        _ -> W
    end.

%% A node that hears of the next incarnation of another one has lost the previous one.
met(Name, Other, Start, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{peers = #{Other := Start}, lost = Lost} = Node} ->
            % Not lost after all.
            put_node(Name, Node#node{lost = Lost -- [Other]}, W);
        #{Name := #node{peers = Peers} = Node} ->
            Met = put_node(Name, Node#node{peers = Peers#{Other => Start}}, W),
            Informed =
                case is_map_key(Other, Peers) of
                    true -> lost(Name, Other, Met);
                    false -> Met
                end,
            #world{nodes = #{Name := #node{lost = Lost} = Next}} = Informed,
            put_node(Name, Next#node{lost = Lost -- [Other]}, Informed);
        #{} ->
            W
    end.

lost(Name, Other, W) ->
    Informed = ring_world_members:each_seat(Name, {lost, Other}, W),
    ring_world_requests:each_request(Name, {lost, Other}, Informed).

tick(Name, Count, #world{options = #{repair := Repair, tick := Tick}} = W) ->
    Gossiped = ring_world_members:gossip(Name, W),
    Older = ring_world_members:each_seat(Name, tick, Gossiped),
    Ticked = ring_world_requests:deliver_hints(Name, ring_world_members:reconcile(Name, Older)),
    case Count rem (Repair div Tick) of
        0 -> ring_world_requests:repair(Name, Ticked);
        _ -> Ticked
    end.

%% Internals: messages.

arrive(From, To, Payload, #world{trap = Trap} = W) ->
    Kind = ring_world_network:kind(Payload),
    case Trap of
        {Kind, Role, Delivered} ->
            Victim =
                case Role of
                    sender -> From;
                    receiver -> To
                end,
            Sprung = W#world{trap = none},
            case {ring_world_checks:strength([Victim], W) >= 2, Delivered} of
                {false, _} -> arrived(From, To, Payload, W);
                {true, true} -> stop(Victim, arrived(From, To, Payload, Sprung));
                {true, false} -> stop(Victim, Sprung)
            end;
        _ ->
            arrived(From, To, Payload, W)
    end.

arrived(_From, To, {state, State}, W) ->
    ring_world_members:learn(State, To, W);
arrived(From, To, {gossip, Message}, W) ->
    ring_world_members:heard(From, To, Message, W);
arrived(From, To, {seat, Index, Message}, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{To := #node{seats = #{Index := _}}} ->
            ring_world_members:seat(To, Index, {message, From, Message}, W);
        #{} ->
            ring_world_members:no_seat(From, To, Index, Message, W)
    end;
arrived(From, To, {request, Id, Tag, {hints, To} = Place, Partition, Command}, W) ->
    {Answer, Next} = ring_world_requests:hint(To, Partition, Command, W),
    send(To, From, {answer, Id, Tag, Place, Answer}, Next);
arrived(From, To, {request, Id, Tag, Index, Partition, Command}, #world{nodes = Nodes} = W) ->
    Ref = {From, Id, Tag, Index},
    case Nodes of
        #{To := #node{seats = #{Index := _}}} ->
            ring_world_members:seat(To, Index, {request, Ref, Partition, Command}, W);
        #{To := #node{view = View}} ->
            send(To, From, {answer, Id, Tag, Index, ring_absent:request(Index, To, View)}, W)
    end;
arrived(_From, To, {answer, Id, Tag, Index, Answer}, W) ->
    ring_world_requests:answered(To, Id, Tag, Index, Answer, W).

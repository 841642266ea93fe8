%%% @doc The ring's nodes in virtual time: their seats, requests and ring states, on a network that
%%% delays, reorders, duplicates and loses messages.
%%%
%%% The protocol modules are those of a node. The interpreter is the only difference: it keeps what
%%% a node's processes would keep, and sends messages with random delays. A message reaches only the
%%% incarnation it was sent to. A stopped node loses everything; others learn of it after a while.
%%% Ring states spread by gossip: nodes send their own to one another, which suits a few nodes, or
%%% do as real ones ({@link ring_gossip}).
%%%
%%% For thousands of nodes, equal states are one term, a ring is computed once, and `form/3' begins
%%% with a ring that has settled.
%%%
%%% The results of requests, and what a checker must know, come out by `take_...' functions.
%%%
%%% Longer than 300 lines: an interpreter of five protocols and the network between them.
-module(ring_simulation).

-export([new/1]).
-export([form/3]).
-export([start/2]).
-export([stop/2]).
-export([cut/2]).
-export([plan/2]).
-export([suspect/3]).
-export([trap/3]).
-export([delay/2]).
-export([request/5]).
-export([advance/2]).
-export([take_done/1]).
-export([take_stopped/1]).
-export([take_dropped/1]).
-export([forgotten/1]).
-export([now/1]).
-export([uniform/2]).
-export([nodes/1]).
-export([plan_of/1]).
-export([seats/1]).
-export([view/2]).
-export([strength/2]).
-export([is_settled/1]).
-export([messages/1]).
-export([restarts/1]).
-export([informed/1]).
-export([state/2]).
-export([gossiped/1]).

-type name() :: ring_state:member().
-type milliseconds() :: simulator_clock:milliseconds().

%% `delay': of a message, from and to. `slow': messages in a thousand that take up to `slowest'.
%% `duplicates': messages between seats in a thousand that arrive twice.
%% `modules': seat, request and service of the nodes, which a test may replace by faulty ones.
%% `tick': of seats and gossip. `gossip': whole states, or as real nodes.
%% `repair': milliseconds between two rounds of anti-entropy, `grace': age at which tombstones go,
%% in addition to that of hints. `hints': their bounds on a node. `detects_cuts': whether a request
%% learns after a while that a node is on another side. `transfers': at a time, see ring_transfers.
-type options() :: #{
    seed := integer(),
    partitions := pos_integer(),
    replication := pos_integer(),
    delay => {milliseconds(), milliseconds()},
    slow => non_neg_integer(),
    slowest => milliseconds(),
    duplicates => non_neg_integer(),
    tick => pos_integer(),
    gossip => states | as_nodes,
    repair => pos_integer(),
    grace => pos_integer(),
    hints => ring_hints:limits(),
    detects_cuts => boolean(),
    transfers => pos_integer() | infinity,
    modules => #{seat | request | service | hints => module()}
}.

-record(node, {
    start :: pos_integer(),
    gossip = ring_gossip:new() :: ring_gossip:t(),
    view = none :: ring_view:t() | none,
    seats = #{} :: #{ring_state:index() => term()},
    requests = #{} :: #{term() => term()},
    repairs = #{} :: #{term() => ring_repair:t()},
    hints :: term(),
    % Nodes whose present incarnation is believed to be lost.
    lost = [] :: [name()],
    % The incarnations that this node has heard of.
    peers = #{} :: #{name() => pos_integer()}
}).

-record(world, {
    % The last plan, of which the authority informs a node now and then.
    plan = none :: none | ring_state:t(),
    options :: options(),
    random :: rand:state(),
    clock = simulator_clock:new() :: simulator_clock:t(),
    nodes = #{} :: #{name() => #node{}},
    starts = #{} :: #{name() => pos_integer()},
    % The names in order, and the place of each.
    names = {} :: tuple(),
    places = #{} :: #{name() => pos_integer()},
    % The view of the last plan.
    last = none :: ring_view:t() | none,
    % What the seats of a ring that forms have reported.
    forming = none :: none | ring_gossip:t(),
    serial = 0 :: non_neg_integer(),
    side = fun(_) -> all end :: fun((name()) -> term()),
    % When it last changed.
    cut_at = 0 :: milliseconds(),
    epoch = 0 :: non_neg_integer(),
    members = [] :: [name()],
    % Kills a node at the next message of a kind.
    trap = none :: none | {Kind :: atom(), sender | receiver, Delivered :: boolean()},
    % The kind of messages that are slow.
    delayed = none :: atom(),
    done = [] :: [{term(), term()}],
    stopped = [] :: [name()],
    dropped = [] :: [{ring_replica:key(), ring_dvv:context(), milliseconds()}],
    % The hints that were lost with their node, or given up.
    forgotten = [] :: [{ring_replica:key(), ring_dvv:context()}],
    messages = 0 :: non_neg_integer(),
    % Messages and bytes of gossip as of real nodes.
    gossiped = {0, 0} :: {non_neg_integer(), non_neg_integer()}
}).

-opaque t() :: #world{}.

-export_type([t/0, options/0]).

-define(AUTHORITY_MS, 300).
%% Until others notice the loss of a node.
-define(DETECTION_MS, {100, 600}).
-define(CUT_DETECTION_MS, 600).
%% Of the request that delivers a hint.
-define(DELIVERY_MS, 2000).

%% @doc A world without nodes.
-spec new(options()) -> t().
new(#{seed := Seed} = Options) ->
    Defaults = #{
        delay => {1, 20},
        slow => 20,
        slowest => 2000,
        duplicates => 20,
        tick => 50,
        gossip => states,
        repair => 400,
        grace => 3000,
        hints => #{count => 0, bytes => 0, age => 0},
        detects_cuts => false,
        transfers => infinity,
        modules => #{}
    },
    #world{
        options = maps:merge(Defaults, Options),
        random = rand:seed_s(exsss, {Seed, Seed + 1, 17})
    }.

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
    Ticking = lists:foldl(fun begin_ticks/2, W1, Names),
    Formed = forms(lists:foldl(fun reconcile/2, Ticking, Members)),
    Held = Formed#world.forming,
    Last = ring_view:update(ring_gossip:state(Held), View),
    lists:foldl(
        fun(Name, #world{nodes = Nodes} = Acc) ->
            #{Name := One} = Nodes,
            Put = put_node(Name, One#node{gossip = Held, view = Last}, Acc),
            each_seat(Name, {view, Last}, Put)
        end,
        Formed#world{forming = none, last = Last, options = Options},
        Names
    ).

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

%% @doc Partitions the network: nodes with different results cannot reach each other.
-spec cut(fun((name()) -> term()), t()) -> t().
cut(Side, W) ->
    W#world{side = Side, cut_at = now(W)}.

%% @doc The authority gives the ring to these members, and informs one of the living nodes.
-spec plan([name()], t()) -> t().
plan(Members, #world{epoch = Before, options = Options} = W) ->
    Epoch = Before + 1,
    Plan = (maps:with([partitions, replication], Options))#{members => Members},
    State = ring_state:plan(Epoch, Plan),
    inform(W#world{epoch = Epoch, members = Members, plan = State}).

%% @doc A node believes that another one is lost.
-spec suspect(name(), name(), t()) -> t().
suspect(Name, Other, #world{starts = Starts} = W) ->
    occur({lost, Name, Other, maps:get(Other, Starts, 0)}, W).

%% @doc Kills the sender or receiver of the next message of that kind, which is delivered or not.
-spec trap(Kind :: atom(), {sender | receiver, Delivered :: boolean()}, t()) -> t().
trap(Kind, {Role, Delivered}, W) ->
    W#world{trap = {Kind, Role, Delivered}}.

%% @doc Delays messages of a kind, by up to the slowest time, until another kind or `none' is given.
-spec delay(Kind :: atom(), t()) -> t().
delay(Kind, W) ->
    W#world{delayed = Kind}.

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

%% @doc Advances time to this moment.
-spec advance(milliseconds(), t()) -> t().
advance(Until, #world{clock = Clock} = W) ->
    case simulator_clock:due(Until, Clock) of
        {due, Due, Later} -> advance(Until, lists:foldl(fun occur/2, W#world{clock = Later}, Due));
        {elapsed, Elapsed} -> W#world{clock = Elapsed}
    end.

%% @doc The requests that have ended, with their results, first one first.
-spec take_done(t()) -> {[{Id :: term(), ring_request:result()}], t()}.
take_done(#world{done = Done} = W) ->
    {lists:reverse(Done), W#world{done = []}}.

%% @doc The nodes that have been stopped.
-spec take_stopped(t()) -> {[name()], t()}.
take_stopped(#world{stopped = Stopped} = W) ->
    {lists:reverse(Stopped), W#world{stopped = []}}.

%% @doc The tombstones that have been dropped.
-spec take_dropped(t()) -> {[{ring_replica:key(), ring_dvv:context(), milliseconds()}], t()}.
take_dropped(#world{dropped = Dropped} = W) ->
    {Dropped, W#world{dropped = []}}.

%% @doc The hints that were lost with their node or given up, so far.
-spec forgotten(t()) -> [{ring_replica:key(), ring_dvv:context()}].
forgotten(#world{forgotten = Forgotten}) ->
    Forgotten.

%% @doc The virtual time.
-spec now(t()) -> milliseconds().
now(#world{clock = Clock}) ->
    simulator_clock:now(Clock).

%% @doc A random number.
-spec uniform(pos_integer(), t()) -> {pos_integer(), t()}.
uniform(Most, #world{random = Random} = W) ->
    {I, Next} = rand:uniform_s(Most, Random),
    {I, W#world{random = Next}}.

%% @doc The living nodes.
-spec nodes(t()) -> [name()].
nodes(#world{nodes = Nodes}) ->
    lists:sort(maps:keys(Nodes)).

%% @doc The members of the last plan.
-spec plan_of(t()) -> [name()].
plan_of(#world{members = Members}) ->
    Members.

%% @doc All seats, by node.
-spec seats(t()) -> [{name(), ring_seat:t()}].
seats(#world{nodes = Nodes}) ->
    [
        {Name, Seat}
     || {Name, #node{seats = Seats}} <- lists:sort(maps:to_list(Nodes)),
        {_, Seat} <- lists:sort(maps:to_list(Seats))
    ].

%% @doc The view of a node.
-spec view(name(), t()) -> ring_view:t() | none.
view(Name, #world{nodes = Nodes}) ->
    #{Name := #node{view = View}} = Nodes,
    View.

%% @doc The number of messages so far.
-spec messages(t()) -> non_neg_integer().
messages(#world{messages = Messages}) ->
    Messages.

%% @doc How often nodes have been started again.
-spec restarts(t()) -> non_neg_integer().
restarts(#world{starts = Starts}) ->
    lists:sum(maps:values(Starts)) - map_size(Starts).

%% @doc The living nodes that know the last plan.
-spec informed(t()) -> non_neg_integer().
informed(#world{nodes = Nodes, epoch = Epoch}) ->
    length([1 || #node{view = V} <- maps:values(Nodes), V =/= none, ring_view:epoch(V) =:= Epoch]).

%% @doc The messages and bytes of gossip so far, in the external term format.
-spec gossiped(t()) -> {Messages :: non_neg_integer(), Bytes :: non_neg_integer()}.
gossiped(#world{gossiped = Gossiped}) ->
    Gossiped.

%% @doc The least number of replicas of a partition that serve, not counting these nodes.
-spec strength([name()], t()) -> non_neg_integer().
strength(Without, #world{options = #{partitions := Partitions, replication := N}} = W) ->
    Seat = module(seat, W),
    All = [{Name, S} || {Name, S} <- seats(W)],
    Known = lists:foldl(
        fun({_, S}, Acc) -> ring_known:merge(Seat:known(S), Acc) end, ring_known:new(), All
    ),
    Newest = lists:foldl(
        fun({Name, S}, Acc) ->
            case Seat:status(S) of
                #{voting := [_ | _], sealed := false} ->
                    case ring_known:is_over(Seat:index(S), Seat:incarnation(S), Known) of
                        true -> Acc;
                        false -> Acc#{Seat:index(S) => {Name, Seat:status(S)}}
                    end;
                _ ->
                    Acc
            end
        end,
        #{},
        All
    ),
    Serves = fun(P, I) ->
        case Newest of
            % The last chunk makes an index depend on both ends.
            #{I := {Name, #{voting := Voting, next := Next}}} ->
                lists:member(P, Voting) andalso not lists:member(Name, Without) andalso
                    not lists:member(Next, Without);
            #{} ->
                false
        end
    end,
    lists:min([
        length([I || D <- lists:seq(0, N - 1), I <- [(P + D) rem Partitions], Serves(P, I)])
     || P <- lists:seq(0, Partitions - 1)
    ]).

%% @doc Whether every node has the last plan, every index is served by its owner alone, and there
%% are no hints.
-spec is_settled(t()) -> boolean().
is_settled(#world{nodes = Nodes, epoch = Epoch, options = #{partitions := Partitions}} = W) ->
    Seat = module(seat, W),
    Views = [View || #node{view = View} <- maps:values(Nodes)],
    Seats = seats(W),
    Hints = module(hints, W),
    lists:all(fun(#node{hints = H}) -> Hints:count(H) =:= 0 end, maps:values(Nodes)) andalso
        lists:all(fun(V) -> V =/= none andalso ring_view:epoch(V) =:= Epoch end, Views) andalso
        length(Seats) =:= Partitions andalso
        lists:all(
            fun({Name, S}) ->
                Seat:is_serving(S) andalso
                    ring_view:owner(Seat:index(S), hd(Views)) =:= Name
            end,
            Seats
        ) andalso
        % Nodes with one digest have one state.
        lists:all(
            fun(V) -> ring_view:transfers(V) =:= [] end,
            maps:values(
                maps:from_list([
                    {ring_gossip:digest(G), V}
                 || #node{gossip = G, view = V} <- maps:values(Nodes)
                ])
            )
        ).

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
            case is_known(Plan, Name, Next) of
                true -> Next;
                % With the holders known there, as a node announces a plan.
                false -> announce(ring_state:merge(Plan, state(Name, Next)), Name, Next)
            end
    end.

begin_ticks(Name, #world{starts = Starts, options = #{tick := Tick}} = W) ->
    {Phase, Next} = uniform(Tick, W),
    enqueue(Phase, {tick, Name, map_get(Name, Starts), 0}, Next).

named(#world{starts = Starts, places = Places} = W) when map_size(Starts) =:= map_size(Places) ->
    W;
named(#world{starts = Starts} = W) ->
    Names = lists:sort(maps:keys(Starts)),
    W#world{
        names = list_to_tuple(Names),
        places = maps:from_list(lists:zip(Names, lists:seq(1, length(Names))))
    }.

%% Until every index is served.
forms(#world{options = #{partitions := Partitions}} = W) ->
    Seat = module(seat, W),
    case length([S || {_, S} <- seats(W), Seat:is_serving(S)]) of
        Partitions -> W;
        _ -> forms(advance(now(W) + 100, W))
    end.

enqueue(Delay, Event, #world{clock = Clock} = W) ->
    W#world{clock = simulator_clock:schedule(Delay, Event, Clock)}.

later({From, To}, Event, W) ->
    {Delay, Next} = uniform(To - From + 1, W),
    enqueue(From + Delay - 1, Event, Next).

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
    alive(Name, Start, fun() -> timer(Name, Id, Timer, W) end, W);
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
            Informed = each_seat(Name, {lost, Other}, Marked),
            each_request(Name, {lost, Other}, Informed);
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
                    true -> each_request(Name, {lost, Other}, each_seat(Name, {lost, Other}, Met));
                    false -> Met
                end,
            #world{nodes = #{Name := #node{lost = Lost} = Next}} = Informed,
            put_node(Name, Next#node{lost = Lost -- [Other]}, Informed);
        #{} ->
            W
    end.

alive(Name, Start, Fun, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{start = Start}} -> Fun();
        #{} -> W
    end.

%% Internals: a node's own time.

tick(Name, Count, #world{options = #{repair := Repair, tick := Tick}} = W) ->
    Ticked = deliver_hints(Name, reconcile(Name, each_seat(Name, tick, gossip(Name, W)))),
    case Count rem (Repair div Tick) of
        0 -> repair(Name, Ticked);
        _ -> Ticked
    end.

random_peer(_Name, #world{names = Names} = W) when tuple_size(Names) =:= 1 ->
    {none, W};
random_peer(Name, #world{names = Names, places = Places} = W) ->
    {I, Next} = uniform(tuple_size(Names) - 1, W),
    case map_get(Name, Places) of
        Own when I >= Own -> {element(I + 1, Names), Next};
        _ -> {element(I, Names), Next}
    end.

%% Seats follow the plan.
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

incarnation(View, #world{serial = Serial} = W) ->
    {{ring_view:epoch(View), Serial + 1}, W#world{serial = Serial + 1}}.

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

%% Internals: seats.

each_seat(Name, Event, #world{nodes = Nodes} = W) ->
    #{Name := #node{seats = Seats}} = Nodes,
    lists:foldl(fun(I, Acc) -> seat(Name, I, Event, Acc) end, W, lists:sort(maps:keys(Seats))).

seat(Name, Index, Event, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{seats = #{Index := Seat}}} ->
            {Next, Effects} = (module(seat, W)):handle(Event, now(W), Seat),
            seated(Name, Index, Next, Effects, W);
        #{} ->
            W
    end.

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

%% @doc The ring's state as a node knows it.
-spec state(name(), t()) -> ring_state:t().
state(Name, #world{nodes = Nodes}) ->
    #{Name := #node{gossip = Gossip}} = Nodes,
    ring_gossip:state(Gossip).

is_known(Delta, Name, W) ->
    ring_state:size(ring_state:difference(Delta, state(Name, W))) =:= 0.

%% What has happened at a node.
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

to_all(Message, Name, #world{names = Names} = W) ->
    Bytes = erlang:external_size(Message),
    lists:foldl(
        fun(Other, Acc) -> send(Name, Other, {gossip, Message}, of_gossip(Bytes, Acc)) end,
        W,
        lists:delete(Name, tuple_to_list(Names))
    ).

of_gossip(Bytes, #world{gossiped = {Messages, Sum}} = W) ->
    W#world{gossiped = {Messages + 1, Sum + Bytes}}.

gossip(_Name, #world{forming = Forming} = W) when Forming =/= none ->
    W;
gossip(Name, #world{nodes = Nodes, options = #{gossip := How}} = W) ->
    #{Name := #node{gossip = Gossip}} = Nodes,
    case {random_peer(Name, W), How} of
        {{none, Next}, _} -> Next;
        {{Peer, Next}, states} -> send(Name, Peer, {state, ring_gossip:state(Gossip)}, Next);
        {{Peer, Next}, as_nodes} -> gossip_to(Name, Peer, ring_gossip:digest(Gossip), Next)
    end.

gossip_to(From, To, Message, W) ->
    send(From, To, {gossip, Message}, of_gossip(erlang:external_size(Message), W)).

learn(New, Name, #world{nodes = Nodes} = W) ->
    #{Name := #node{gossip = Gossip}} = Nodes,
    case ring_gossip:learn(New, Gossip) of
        known -> W;
        {grown, Newer, Next} -> learnt(Newer, Next, Name, W)
    end.

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

%% Internals: messages.

send(From, To, Payload, #world{starts = Starts, options = Options} = W) ->
    #{duplicates := Duplicates} = Options,
    Event = {deliver, From, map_get(From, Starts), To, maps:get(To, Starts, 0), Payload},
    Sent = transmit(Event, kind(Payload) =:= W#world.delayed, counted(W)),
    case element(1, Payload) of
        seat ->
            case uniform(1000, Sent) of
                {I, Next} when I =< Duplicates -> transmit(Event, false, Next);
                {_, Next} -> Next
            end;
        _ ->
            Sent
    end.

counted(#world{messages = Messages} = W) ->
    W#world{messages = Messages + 1}.

transmit(Event, true, #world{options = #{slowest := Slowest}} = W) ->
    later({0, Slowest}, Event, W);
transmit(Event, false, #world{options = #{delay := Delay, slow := Slow}} = W) ->
    case uniform(1000, W) of
        {I, Next} when I =< Slow -> transmit(Event, true, Next);
        {_, Next} -> later(Delay, Event, Next)
    end.

arrive(From, To, Payload, #world{trap = Trap} = W) ->
    Kind = kind(Payload),
    case Trap of
        {Kind, Role, Delivered} ->
            Victim =
                case Role of
                    sender -> From;
                    receiver -> To
                end,
            Sprung = W#world{trap = none},
            case {strength([Victim], W) >= 2, Delivered} of
                {false, _} -> arrived(From, To, Payload, W);
                {true, true} -> stop(Victim, arrived(From, To, Payload, Sprung));
                {true, false} -> stop(Victim, Sprung)
            end;
        _ ->
            arrived(From, To, Payload, W)
    end.

kind({seat, _, {chunk, _, _, Kind, _, _}}) -> Kind;
kind({seat, _, {copied, _, _, _, _, {_, last, _}, _}}) -> copied_last;
kind({seat, _, Message}) -> element(1, Message);
kind({request, _, _, _, _, Command}) when is_tuple(Command) -> element(1, Command);
kind({answer, _, _, _, {vote, _, _, _, Reply}}) when is_tuple(Reply) -> element(1, Reply);
kind({answer, _, _, _, {vote, _, _, _, Reply}}) -> Reply;
kind({answer, _, _, _, Answer}) when is_atom(Answer) -> Answer;
kind({answer, _, _, _, Answer}) -> element(1, Answer);
kind(Payload) -> element(1, Payload).

arrived(_From, To, {state, State}, W) ->
    learn(State, To, W);
arrived(From, To, {gossip, Message}, #world{nodes = Nodes} = W) ->
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
    end;
arrived(From, To, {seat, Index, Message}, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{To := #node{seats = #{Index := _}}} -> seat(To, Index, {message, From, Message}, W);
        #{} -> no_seat(From, To, Index, Message, W)
    end;
arrived(From, To, {request, Id, Tag, {hints, To} = Place, Partition, Command}, W) ->
    {Answer, Next} = hint(To, Partition, Command, W),
    send(To, From, {answer, Id, Tag, Place, Answer}, Next);
arrived(From, To, {request, Id, Tag, Index, Partition, Command}, #world{nodes = Nodes} = W) ->
    Ref = {From, Id, Tag, Index},
    case Nodes of
        #{To := #node{seats = #{Index := _}}} ->
            seat(To, Index, {request, Ref, Partition, Command}, W);
        #{To := #node{view = View}} ->
            send(To, From, {answer, Id, Tag, Index, ring_absent:request(Index, To, View)}, W)
    end;
arrived(_From, To, {answer, Id, Tag, Index, Answer}, W) ->
    answered(To, Id, Tag, Index, Answer, W).

%% A node without the seat, which it has lost or handed over.
no_seat(From, To, Index, Message, #world{nodes = Nodes} = W) ->
    #{To := #node{view = View}} = Nodes,
    case ring_absent:message(Index, To, View, Message) of
        {ok, Answer} -> send(To, From, {seat, Index, Answer}, W);
        none -> W
    end.

%% Internals: requests.

each_request(Name, Event, #world{nodes = Nodes} = W) ->
    #{Name := #node{requests = Requests}} = Nodes,
    lists:foldl(fun(Id, Acc) -> step(Name, Id, Event, Acc) end, W, lists:sort(maps:keys(Requests))).

timer(Name, Id, retry, W) ->
    step(Name, Id, {retry, view(Name, W)}, W);
timer(Name, Id, Event, W) ->
    step(Name, Id, Event, W).

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
    case lists:member(To, Lost) orelse is_cut_off(Name, To, W) of
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

is_cut_off(From, To, #world{side = Side, cut_at = At, options = #{detects_cuts := Detects}} = W) ->
    Detects andalso Side(From) =/= Side(To) andalso now(W) - At >= ?CUT_DETECTION_MS.

%% Internals: hints.

hint(Name, Partition, Command, #world{nodes = Nodes} = W) ->
    #{Name := #node{view = View, hints = Hints} = Node} = Nodes,
    {Actor, Next} = actor(View =/= none andalso ring_view:actor(Name, View), View, W),
    Info = #{partition => Partition, now => now(W), actor => Actor},
    {Answer, Kept} = (module(hints, W)):handle(Command, Info, Hints),
    {Answer, put_node(Name, Node#node{hints = Kept}, Next)}.

actor(Index, View, W) when is_integer(Index) ->
    {Incarnation, Next} = incarnation(View, W),
    {{Index, Incarnation}, Next};
actor(_NoMember, _View, W) ->
    {none, W}.

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

deliver_hint(Name, {P, Key, Set, Quorum}, View, #world{serial = Serial} = W) ->
    Options = #{write => Quorum, timeout => ?DELIVERY_MS},
    {Request, Effects} = (module(request, W)):new({store, Key, Set}, View, Options),
    requested(Name, {hint, Serial, P, Key, Set}, Request, Effects, W#world{serial = Serial + 1}).

forget(Sets, #world{forgotten = Forgotten} = W) ->
    W#world{forgotten = [{Key, ring_dvv:context(Set)} || {Key, Set} <- Sets] ++ Forgotten}.

%% Internals: anti-entropy.

%% By the node that serves the first index of a partition.
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

%% Internals: the record.

put_node(Name, Node, #world{nodes = Nodes} = W) ->
    W#world{nodes = Nodes#{Name := Node}}.

module(What, #world{options = #{modules := Modules}}) ->
    Default = #{
        seat => ring_seat,
        request => ring_request,
        service => ring_kvs_vnode,
        hints => ring_hints
    },
    maps:get(What, Modules, maps:get(What, Default)).

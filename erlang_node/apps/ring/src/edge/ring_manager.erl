%%% @doc A ring on this node: keeps its state, spreads it, and starts the seats that the plan gives
%%% to this node.
%%%
%%% == Plans ==
%%% One authority writes plans: on Kubernetes the operator, otherwise the caller of `plan/2', of
%%% which there is *one at a time, at a node that knows the last plan*. Each plan has a larger
%%% epoch. Of two plans of one epoch all nodes keep the same one, so a breach of the rule loses a
%%% plan, and no data.
%%%
%%% == Gossip ==
%%% A change is sent to all nodes by the one at which it happens. Every tick a node compares its
%%% state with that of another one, chosen at random, and repairs what was lost ({@link
%%% ring_gossip}).
%%%
%%% A call for a ring that does not run here is an error `{no_ring, Description}'.
%%%
%%% Longer than 300 lines: plans, gossip and seats change the same state, and none is a protocol.
-module(ring_manager).
-behaviour(gen_server).

%% API.
-export([start_link/1]).
-export([plan/2]).
-export([join/2]).
-export([leave/2]).
-export([status/1]).
-export([view/1]).
%% For the ring's other processes.
-export([held/4]).
-export([met/4]).
-export([gossip/3]).
%% gen_server.
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-type ring() :: ring_table:ring().
-type member() :: ring_state:member().

%% `settled': this node has no transfer to or from anywhere in its view, its seats serve, and it
%% keeps no hints. `transfers': indexes that are not held by their owners. `hints_given_up': because
%% of their age, since the start.
-type status() :: #{
    epoch := ring_state:epoch(),
    members := [member()],
    settled := boolean(),
    transfers := non_neg_integer(),
    seats := non_neg_integer(),
    serving := non_neg_integer(),
    hints := non_neg_integer(),
    hints_given_up := non_neg_integer(),
    lost := [member()]
}.

-export_type([status/0]).

-record(manager, {
    ring :: ring(),
    self :: member(),
    tick :: pos_integer(),
    gossip = ring_gossip:new() :: ring_gossip:t(),
    view = none :: ring_view:t() | none,
    monitors = #{} :: #{reference() => ring_state:index()}
}).

%% API.

%% @doc Starts the process.
-spec start_link(ring()) -> gen_server:start_ret().
start_link(Ring) ->
    gen_server:start_link({local, name(Ring)}, ?MODULE, Ring, []).

%% @doc Writes a plan ({@link ring_plan}). An error names the field.
-spec plan(ring(), ring_plan:given()) ->
    {ok, ring_state:epoch()} | {error, Description :: string()}.
plan(Ring, Plan) ->
    call(Ring, {plan, Plan}).

%% @doc Adds a member to the plan.
-spec join(ring(), member()) -> {ok, ring_state:epoch()} | {error, Description :: string()}.
join(Ring, Member) ->
    call(Ring, {join, Member}).

%% @doc Removes a member from the plan. Its node must run until the ring has settled. The last one
%% that joined moves least.
-spec leave(ring(), member()) -> {ok, ring_state:epoch()} | {error, Description :: string()}.
leave(Ring, Member) ->
    call(Ring, {leave, Member}).

%% @doc The ring as this node knows it.
-spec status(ring()) -> status().
status(Ring) ->
    call(Ring, status).

%% @doc The view of this node; `none' before the first plan.
-spec view(ring()) -> ring_view:t() | none.
view(Ring) ->
    call(Ring, view).

%% @private A seat of this node knows the holder of an index.
-spec held(ring(), ring_state:index(), ring_state:incarnation(), member()) -> ok.
held(Ring, Index, Incarnation, Node) ->
    gen_server:cast(name(Ring), {held, Index, Incarnation, Node}).

%% @private The first message of an incarnation of a node, or of one that was believed to be lost.
-spec met(ring(), member(), ring_table:start(), ring_wire:payload()) -> ok.
met(Ring, Node, Start, Payload) ->
    gen_server:cast(name(Ring), {met, Node, Start, Payload}).

%% @private Another node's gossip.
-spec gossip(ring(), member(), ring_wire:payload()) -> ok.
gossip(Ring, Node, Gossip) ->
    gen_server:cast(name(Ring), {gossip, Node, Gossip}).

%% gen_server.

%% @private
-spec init(ring()) -> {ok, #manager{}}.
init(Ring) ->
    #{transport := Transport, tick := Tick} = ring_table:options(Ring),
    _ = erlang:send_after(Tick, self(), tick),
    {ok, #manager{ring = Ring, self = Transport:self(), tick = Tick}}.

%% @private
-spec handle_call(term(), gen_server:from(), #manager{}) -> {reply, term(), #manager{}}.
handle_call({plan, Plan}, _From, M) ->
    planned(Plan, M);
handle_call({join, Member}, _From, M) ->
    planned(#{members => members(M) ++ [Member]}, M);
handle_call({leave, Member}, _From, M) ->
    case lists:member(Member, members(M)) of
        true -> planned(#{members => lists:delete(Member, members(M))}, M);
        false -> {reply, {error, not_a_member(Member)}, M}
    end;
handle_call(status, _From, M) ->
    {reply, status_of(M), M};
handle_call(view, _From, #manager{view = View} = M) ->
    {reply, View, M};
handle_call(Unknown, _From, M) ->
    {reply, partisan_stray:call(Unknown), M}.

%% @private
-spec handle_cast(term(), #manager{}) -> {noreply, #manager{}}.
handle_cast({held, Index, Incarnation, Node}, M) ->
    {noreply, announce(ring_state:held(Index, Incarnation, Node), M)};
handle_cast({met, Node, Start, Payload}, #manager{ring = Ring} = M) ->
    case ring_peers:meet(Ring, Node, Start) of
        ok -> ok = ring_wire:deliver(Ring, Node, Start, Payload);
        over -> ok
    end,
    {noreply, M};
handle_cast({gossip, Node, Gossip}, M) ->
    {noreply, gossiped(Node, Gossip, M)};
handle_cast(Unknown, M) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, M}.

%% @private
-spec handle_info(term(), #manager{}) -> {noreply, #manager{}}.
handle_info({nodedown, Node}, #manager{ring = Ring} = M) ->
    ok = ring_peers:lost(Ring, Node),
    {noreply, M};
handle_info({'DOWN', Monitor, process, _, Reason}, #manager{monitors = Monitors} = M) ->
    {Index, Left} = maps:take(Monitor, Monitors),
    % A seat that ends by itself has removed itself.
    _ = Reason =:= normal orelse ring_table:remove_seat(M#manager.ring, Index),
    {noreply, M#manager{monitors = Left}};
handle_info(tick, #manager{tick = Tick} = M) ->
    _ = erlang:send_after(Tick, self(), tick),
    ok = compare(M),
    {noreply, reconcile(M)};
handle_info(Unknown, M) ->
    ok = partisan_stray:message(Unknown),
    {noreply, M}.

%% Internals: calls.

call(Ring, Request) when is_atom(Ring) ->
    try
        gen_server:call(name(Ring), Request, infinity)
    catch
        exit:{noproc, _} -> error(ring_table:no_ring(Ring))
    end;
call(Ring, _Request) ->
    error(ring_table:no_ring(Ring)).

%% Internals: plans.

planned(Given, #manager{gossip = Gossip} = M) ->
    State = ring_gossip:state(Gossip),
    case ring_plan:next(Given, State) of
        {ok, Epoch, Plan} ->
            % With the holders known here, without which a new owner would begin empty.
            {reply, {ok, Epoch}, announce(ring_state:merge(Plan, State), M)};
        {error, _} = Error -> {reply, Error, M}
    end.

not_a_member(Member) ->
    lists:flatten(io_lib:format("member: ~0tP is no member of the plan", [Member, 20])).

members(#manager{view = none}) -> [];
members(#manager{view = View}) -> ring_view:members(View).

%% Internals: gossip.

%% What has happened at this node.
announce(Delta, #manager{ring = Ring, gossip = Gossip} = M) ->
    case ring_gossip:learn(Delta, Gossip) of
        known ->
            M;
        {grown, Newer, Next} ->
            Learnt = learnt(Newer, Next, M),
            Announcement = ring_gossip:announcement(Delta),
            _ = [ring_wire:gossip(Ring, Node, Announcement) || Node <- others(Learnt)],
            Learnt
    end.

compare(#manager{ring = Ring, gossip = Gossip} = M) ->
    #{transport := Transport} = ring_table:options(Ring),
    case others(M) of
        [] ->
            ok;
        Others ->
            Node = lists:nth(rand:uniform(length(Others)), Others),
            % Repeated, because the transport forgets it if it restarts.
            _ = ring_table:is_lost(Ring, Node) orelse Transport:monitor(Node),
            ring_wire:gossip(Ring, Node, ring_gossip:digest(Gossip))
    end.

gossiped(Node, Message, #manager{ring = Ring, gossip = Gossip} = M) ->
    {Newer, Answer, Next} = ring_gossip:handle(Message, Gossip),
    _ = Answer =/= none andalso ring_wire:gossip(Ring, Node, Answer),
    case Newer of
        none -> M;
        _ -> learnt(Newer, Next, M)
    end.

%% All nodes that may have a part in the ring.
others(#manager{ring = Ring, self = Self, gossip = Gossip} = M) ->
    Holders = [Node || {_, Node} <- maps:values(ring_state:holders(ring_gossip:state(Gossip)))],
    Present = [Node || {Node, {_, present}} <- maps:to_list(ring_table:peers(Ring))],
    lists:delete(Self, lists:usort(members(M) ++ Holders ++ Present)).

%% Internals: the ring's state.

learnt(Newer, Gossip, #manager{view = Before} = M) ->
    View = ring_view:update(ring_gossip:state(Gossip), Before),
    Next = M#manager{gossip = Gossip, view = View},
    ok = publish(Newer, Next),
    reconcile(Next).

%% Each partition and seat around the indexes that have changed gets its part of the view.
publish(_Change, #manager{view = none}) ->
    ok;
publish(Change, #manager{ring = Ring, self = Self, view = View}) ->
    Indexes =
        case ring_state:epoch(Change) of
            0 ->
                maps:keys(ring_state:holders(Change));
            Epoch ->
                ok = ring_table:put_actor(Ring, ring_view:actor(Self, View), Epoch),
                lists:seq(0, ring_view:partitions(View) - 1)
        end,
    Partitions = lists:usort(lists:append([ring_view:groups(I, View) || I <- Indexes])),
    ok = ring_table:put_view(Ring, [{P, ring_view:part(P, View)} || P <- Partitions]),
    Around = lists:usort(lists:append([ring_view:neighbours(I, View) || I <- Indexes])),
    _ = [
        Pid ! {view, ring_view:near(ring_view:neighbours(I, View), View)}
     || I <- Around, Pid <- [ring_table:seat(Ring, I)], Pid =/= none
    ],
    ok.

%% Internals: seats.

reconcile(#manager{view = none} = M) ->
    M;
reconcile(#manager{ring = Ring, self = Self, view = View} = M) ->
    New = [I || I <- ring_view:owned(Self, View), ring_table:seat(Ring, I) =:= none],
    Moving = [I || New =/= [], {I, {_, moving}} <- ring_table:seats(Ring)],
    #{transfers := Most} = ring_table:options(Ring),
    Due = ring_transfers:due(Self, New, Moving, ring_table:lost(Ring), Most, View),
    lists:foldl(fun start_seat/2, M, Due).

start_seat(Index, #manager{ring = Ring, view = View, monitors = Monitors} = M) ->
    Near = ring_view:near(ring_view:neighbours(Index, View), View),
    case ring_sup:start_seat(Ring, Index, Near) of
        {ok, Pid} ->
            _ = [Pid ! {lost, Node} || Node <- ring_table:lost(Ring)],
            M#manager{monitors = Monitors#{monitor(process, Pid) => Index}};
        % The service has failed, which it has reported; the next tick tries again.
        {error, _} ->
            _ = ring_table:remove_seat(Ring, Index),
            M
    end.

status_of(#manager{ring = Ring, gossip = Gossip, view = View} = M) ->
    Phases = [Phase || {_, {_, Phase}} <- ring_table:seats(Ring)],
    Serving = length([Phase || serving = Phase <- Phases]),
    {_, Hints, GivenUp} = ring_table:hints(Ring),
    HasSettled = Serving =:= length(Phases) andalso Hints =:= 0,
    Transfers =
        case View of
            none -> 0;
            _ -> length(ring_view:transfers(View))
        end,
    #{
        epoch => ring_state:epoch(ring_gossip:state(Gossip)),
        members => members(M),
        settled => View =/= none andalso Transfers =:= 0 andalso HasSettled,
        transfers => Transfers,
        seats => length(Phases),
        serving => Serving,
        hints => Hints,
        hints_given_up => GivenUp,
        lost => ring_table:lost(Ring)
    }.

name(Ring) ->
    list_to_atom("ring_manager_" ++ atom_to_list(Ring)).

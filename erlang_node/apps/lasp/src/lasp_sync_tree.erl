%%% @doc Synchronisation by deltas over a spanning tree of the overlay.
%%%
%%% {@link lasp_tree} says which neighbours are linked, {@link lasp_deltas} what goes over the
%%% links. A change reaches every node exactly once, the minimum for full replication, but not by
%%% the shortest path: it waits for an interval at each node on its way, and paths in a tree are
%%% longer than in the overlay. A broken tree repairs itself, and a new link begins with a
%%% comparison of both ends, so that nothing is lost in between.
-module(lasp_sync_tree).
-behaviour(lasp_sync).

-export([init/1]).
-export([handle/2]).
-export([value/1]).
-export([agreed/1]).
%% The tree, for protocols that also use it.
-export([links/1]).
-export([parent/1]).

-record(sync, {
    interval :: pos_integer(),
    tree :: lasp_tree:t(),
    deltas :: lasp_deltas:t()
}).

-opaque state() :: #sync{}.

-export_type([state/0]).

-define(TIMER, propagate).

%% @doc An empty replica without neighbours.
-spec init(lasp_sync:options()) -> {state(), [lasp_sync:effect()]}.
init(#{name := Name, incarnation := Incarnation, interval := Interval} = Options) ->
    State = #sync{
        interval = Interval,
        tree = lasp_tree:new(Name, Incarnation),
        deltas = lasp_deltas:new(Options)
    },
    {State, [{start_timer, ?TIMER, lasp_sync:phase(Options)}]}.

%% @doc Handles one event.
-spec handle(lasp_sync:event(), state()) -> {state(), [lasp_sync:effect()]}.
handle({update, Delta}, #sync{deltas = Deltas} = State) ->
    with_deltas(lasp_deltas:update(Delta, Deltas), State);
handle({restore, Value}, State) ->
    handle({update, Value}, State);
handle({timer, ?TIMER}, #sync{interval = Interval, tree = Tree} = State) ->
    {Ticked, Adverts} = grown(lasp_tree:tick(Tree), State),
    {Next, Effects} = with_deltas(lasp_deltas:tick(Ticked#sync.deltas), Ticked),
    {Next, Adverts ++ Effects ++ [{start_timer, ?TIMER, Interval}]};
handle({neighbour_up, Name}, #sync{tree = Tree, deltas = Deltas} = State) ->
    grown(lasp_tree:up(Name, Tree), State#sync{deltas = lasp_deltas:up(Name, Deltas)});
handle({neighbour_down, Name}, #sync{tree = Tree, deltas = Deltas} = State) ->
    {Down, Effects} = with_deltas(lasp_deltas:down(Name, Deltas), State),
    {Next, More} = grown(lasp_tree:down(Name, Tree), Down),
    {Next, Effects ++ More};
handle({message, From, Message}, #sync{tree = Tree, deltas = Deltas} = State) ->
    case lasp_replica:open(Message, lasp_deltas:replica(Deltas)) of
        {ok, tree, Advert} ->
            {Next, Effects} = grown(lasp_tree:heard(From, Advert, Tree), State),
            {Next, [{count, tree, received, byte_size(Advert)} | Effects]};
        {ok, Kind, Payload} ->
            with_deltas(lasp_deltas:take(Kind, From, Payload, Deltas), State);
        {error, Count} ->
            {State, [Count]}
    end;
handle(handover, #sync{deltas = Deltas} = State) ->
    with_deltas(lasp_deltas:handover(Deltas), State).

%% @doc The replica.
-spec value(state()) -> term().
value(#sync{deltas = Deltas}) ->
    lasp_replica:value(lasp_deltas:replica(Deltas)).

%% @doc Whether every neighbour last reported an equal replica.
-spec agreed(state()) -> boolean().
agreed(#sync{deltas = Deltas}) ->
    lasp_replica:agreed(lasp_deltas:replica(Deltas)).

%% @doc The neighbours in the tree, in order.
-spec links(state()) -> [lasp_sync:name()].
links(#sync{tree = Tree}) ->
    lasp_tree:links(Tree).

%% @doc The parent, or none at the root.
-spec parent(state()) -> none | lasp_sync:name().
parent(#sync{tree = Tree}) ->
    lasp_tree:parent(Tree).

%% Internals.

with_deltas({Deltas, Effects}, State) ->
    {State#sync{deltas = Deltas}, Effects}.

%% Sends adverts of the tree, and links the neighbours in it.
grown({Tree, Recipients}, #sync{tree = Before, deltas = Deltas} = State) ->
    Replica = lasp_deltas:replica(Deltas),
    Adverts = [
        lasp_replica:send(tree, Name, lasp_tree:advert(Name, Tree), Replica)
     || Name <- Recipients
    ],
    {Next, Greetings} = relinked(lasp_tree:links(Before), lasp_tree:links(Tree), Deltas),
    {State#sync{tree = Tree, deltas = Next}, lists:append(Adverts) ++ Greetings}.

relinked(Same, Same, Deltas) ->
    {Deltas, []};
relinked(_Before, Wanted, Deltas) ->
    lasp_deltas:relink(Wanted, Deltas).

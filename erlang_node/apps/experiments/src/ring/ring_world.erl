%%% @doc Simulated nodes of a ring as a value: virtual time, random numbers, and what every node
%%% keeps. {@link ring_simulation} makes things happen.
%%%
%%% The results of requests, and what a checker must know, come out by `take_...' functions.
-module(ring_world).

-include("ring_world.hrl").

-export([new/1]).
-export([now/1]).
-export([uniform/2]).
%% Events.
-export([enqueue/3]).
-export([later/3]).
-export([begin_ticks/2]).
-export([alive/4]).
%% Nodes.
-export([named/1]).
-export([put_node/3]).
-export([module/2]).
-export([incarnation/2]).
-export([random_peer/2]).
-export([nodes/1]).
-export([plan_of/1]).
-export([seats/1]).
-export([view/2]).
-export([state/2]).
%% For a checker.
-export([take_done/1]).
-export([take_stopped/1]).
-export([take_dropped/1]).
-export([forget/2]).
-export([forgotten/1]).
-export([messages/1]).
-export([restarts/1]).
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

-type t() :: #world{}.

-export_type([t/0, options/0]).

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

%% @doc The ring's state as a node knows it.
-spec state(name(), t()) -> ring_state:t().
state(Name, #world{nodes = Nodes}) ->
    #{Name := #node{gossip = Gossip}} = Nodes,
    ring_gossip:state(Gossip).

%% @doc The number of messages so far.
-spec messages(t()) -> non_neg_integer().
messages(#world{messages = Messages}) ->
    Messages.

%% @doc How often nodes have been started again.
-spec restarts(t()) -> non_neg_integer().
restarts(#world{starts = Starts}) ->
    lists:sum(maps:values(Starts)) - map_size(Starts).

%% @doc The messages and bytes of gossip so far, in the external term format.
-spec gossiped(t()) -> {Messages :: non_neg_integer(), Bytes :: non_neg_integer()}.
gossiped(#world{gossiped = Gossiped}) ->
    Gossiped.

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

%% @doc Notes sets of hints that will not be delivered.
-spec forget([{ring_replica:key(), ring_dvv:t()}], t()) -> t().
forget(Sets, #world{forgotten = Forgotten} = W) ->
    W#world{forgotten = [{Key, ring_dvv:context(Set)} || {Key, Set} <- Sets] ++ Forgotten}.

%% @doc The hints that were lost with their node or given up, so far.
-spec forgotten(t()) -> [{ring_replica:key(), ring_dvv:context()}].
forgotten(#world{forgotten = Forgotten}) ->
    Forgotten.

%% @doc Something happens after that time.
-spec enqueue(milliseconds(), Event :: term(), t()) -> t().
enqueue(Delay, Event, #world{clock = Clock} = W) ->
    W#world{clock = simulator_clock:schedule(Delay, Event, Clock)}.

%% @doc Something happens after a random time between these.
-spec later({milliseconds(), milliseconds()}, Event :: term(), t()) -> t().
later({From, To}, Event, W) ->
    {Delay, Next} = uniform(To - From + 1, W),
    enqueue(From + Delay - 1, Event, Next).

%% @doc The ticks of a node begin, at a random time.
-spec begin_ticks(name(), t()) -> t().
begin_ticks(Name, #world{starts = Starts, options = #{tick := Tick}} = W) ->
    {Phase, Next} = uniform(Tick, W),
    enqueue(Phase, {tick, Name, map_get(Name, Starts), 0}, Next).

%% @doc Does something if that incarnation of a node is there.
-spec alive(name(), Start :: non_neg_integer(), fun(() -> t()), t()) -> t().
alive(Name, Start, Fun, #world{nodes = Nodes} = W) ->
    case Nodes of
        #{Name := #node{start = Start}} -> Fun();
        #{} -> W
    end.

%% @doc Orders the names of all nodes that have been started.
-spec named(t()) -> t().
named(#world{starts = Starts, places = Places} = W) when map_size(Starts) =:= map_size(Places) ->
    W;
named(#world{starts = Starts} = W) ->
    Names = lists:sort(maps:keys(Starts)),
    W#world{
        names = list_to_tuple(Names),
        places = maps:from_list(lists:zip(Names, lists:seq(1, length(Names))))
    }.

%% @doc Replaces what a node keeps.
-spec put_node(name(), #node{}, t()) -> t().
put_node(Name, Node, #world{nodes = Nodes} = W) ->
    W#world{nodes = Nodes#{Name := Node}}.

%% @doc The module of a role: of a node, unless a test has replaced it.
-spec module(seat | request | service | hints, t()) -> module().
module(What, #world{options = #{modules := Modules}}) ->
    Default = #{
        seat => ring_seat,
        request => ring_request,
        service => ring_kvs_vnode,
        hints => ring_hints
    },
    maps:get(What, Modules, maps:get(What, Default)).

%% @doc The next incarnation of an index, under the plan of a view.
-spec incarnation(ring_view:t(), t()) -> {ring_state:incarnation(), t()}.
incarnation(View, #world{serial = Serial} = W) ->
    {{ring_view:epoch(View), Serial + 1}, W#world{serial = Serial + 1}}.

%% @doc A random node other than this one.
-spec random_peer(name(), t()) -> {name() | none, t()}.
random_peer(_Name, #world{names = Names} = W) when tuple_size(Names) =:= 1 ->
    {none, W};
random_peer(Name, #world{names = Names, places = Places} = W) ->
    {I, Next} = uniform(tuple_size(Names) - 1, W),
    case map_get(Name, Places) of
        Own when I >= Own -> {element(I + 1, Names), Next};
        _ -> {element(I, Names), Next}
    end.

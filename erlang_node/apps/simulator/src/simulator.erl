%%% @doc A discrete-event simulator: thousands of protocol stacks in one process and virtual time.
%%%
%%% The stacks are those of the runtime ({@link partisan_stack}); {@link simulator_interpreter}
%%% executes their effects. Two runs with the same seed are identical, and since a simulation is a
%%% value, a warmed-up one can be continued in many ways.
%%%
%%% Nodes are numbered ({@link simulator_peer}). Time is in whole milliseconds.
-module(simulator).

-export([new/1]).
-export([run/2]).
-export([now/1]).
-export([nodes/1]).
-export([stack/2]).
-export([start/2]).
-export([join/3]).
-export([crash/2]).
-export([leave/2]).
-export([dissolve/2]).
-export([broadcast/3]).
-export([switch/3]).
-export([configure/2]).
-export([find_route/3]).
-export([route/3]).
-export([cut/2]).
-export([heal/1]).
-export([inject/2]).
-export([links/1]).
-export([stats/1]).
-export([delivered/1]).
-export([watch/3]).
-export([watched/1]).
-export([round_trip/3]).
-export([hops/1]).

-type index() :: simulator_peer:index().
-type milliseconds() :: simulator_clock:milliseconds().

-type options() :: #{
    seed := integer(),
    % The parameters of all nodes, or per node.
    overlay := {partisan_overlay_registry:kind(), map() | fun((index()) -> map())},
    % Number of seeds: nodes 1 to this.
    seeds => non_neg_integer(),
    % One-way latency in milliseconds: drawn per ordered pair from a range, or growing over that
    % range with the distance of nodes spread over a square.
    latency => simulator_network:latency(),
    % Delay until the nodes linked to a lost node notice. With `infinity' no loss is reported,
    % neither of nodes nor of messages.
    detection => pos_integer() | infinity,
    % Share of messages lost in transit.
    loss => float(),
    stack => map()
}.

-type watcher() :: simulator_monitor:watcher().
-type arrivals() :: simulator_monitor:arrivals().

-export_type([index/0, options/0, watcher/0, arrivals/0]).

-type t() :: simulator_interpreter:t().
-export_type([t/0]).

%% API.

%% @doc A cluster without nodes.
-spec new(options()) -> t().
new(Options) ->
    Defaults = #{seeds => 3, latency => {1, 20}, detection => 50, loss => 0.0, stack => #{}},
    simulator_interpreter:new(maps:merge(Defaults, Options)).

%% @doc Starts a node, or a new incarnation of a stopped one.
-spec start(index(), t()) -> t().
start(Index, Sim) ->
    simulator_interpreter:start(Index, Sim).

%% @doc Gives a node a contact other than its seeds.
-spec join(index(), Contact :: index(), t()) -> t().
join(Index, Contact, Sim) ->
    simulator_interpreter:step(Index, {join, simulator_peer:new(Contact, 0)}, Sim).

%% @doc Stops nodes at once and silently.
-spec crash([index()], t()) -> t().
crash(Indices, Sim) ->
    lists:foldl(fun simulator_interpreter:stop/2, Sim, Indices).

%% @doc Makes a node leave as on SIGTERM: it says goodbye, then it is gone.
-spec leave(index(), t()) -> t().
leave(Index, Sim) ->
    simulator_interpreter:stop(Index, simulator_interpreter:step(Index, leave, Sim)).

%% @doc Announces to a node that the cluster is being deleted.
-spec dissolve(index(), t()) -> t().
dissolve(Index, Sim) ->
    simulator_interpreter:step(Index, {dissolve, 0}, Sim).

%% @doc A node broadcasts a payload.
-spec broadcast(index(), Payload :: term(), t()) -> t().
broadcast(Index, Payload, Sim) ->
    simulator_interpreter:step(Index, {broadcast, Payload}, Sim).

%% @doc Moves a node to another overlay.
-spec switch(index(), partisan_overlay_switch:spec(), t()) -> t().
switch(Index, Spec, Sim) ->
    simulator_interpreter:step(Index, {reconfigure, #{overlay => Spec}}, Sim).

%% @doc Sets the overlay of the nodes that start from now on.
-spec configure(partisan_overlay_switch:spec(), t()) -> t().
configure(Spec, Sim) ->
    simulator_interpreter:set(#{overlay => Spec}, Sim).

%% @doc Makes a node search for another.
-spec find_route(From :: index(), To :: index(), t()) -> t().
find_route(From, To, Sim) ->
    simulator_interpreter:step(From, {find_route, simulator_peer:name(To)}, Sim).

%% @doc The path of a message, both ends included, or the node where it is stuck.
-spec route(From :: index(), To :: index(), t()) -> {ok | stuck, [index()]}.
route(From, To, Sim) ->
    Nodes = simulator_interpreter:nodes(Sim),
    Neighbours = fun(Index) -> simulator_nodes:neighbours(Index, Nodes) end,
    simulator_routes:walk(From, To, Neighbours, simulator_interpreter:routes(Sim)).

%% @doc Partitions the network: nodes with different results of the function cannot reach each
%% other.
-spec cut(fun((index()) -> term()), t()) -> t().
cut(Side, Sim) ->
    simulator_interpreter:cut(Side, Sim).

%% @doc Ends the cut.
-spec heal(t()) -> t().
heal(Sim) ->
    simulator_interpreter:heal(Sim).

%% @doc Replaces the rules of injected faults ({@link simulator_faults}); their times count from
%% now. Raises `{invalid_rules, Description}'.
-spec inject([partisan_fault:rule()], t()) -> t().
inject(Rules, Sim) ->
    simulator_interpreter:inject(Rules, Sim).

%% @doc Advances time by this many milliseconds.
-spec run(milliseconds(), t()) -> t().
run(Duration, Sim) ->
    simulator_interpreter:advance(now(Sim) + Duration, Sim).

%% @doc The virtual time.
-spec now(t()) -> milliseconds().
now(Sim) ->
    simulator_interpreter:now(Sim).

%% @doc The living nodes.
-spec nodes(t()) -> [index()].
nodes(Sim) ->
    simulator_nodes:alive(simulator_interpreter:nodes(Sim)).

%% @doc The protocol stack of a living node.
-spec stack(index(), t()) -> partisan_stack:t().
stack(Index, Sim) ->
    simulator_nodes:stack(Index, simulator_interpreter:nodes(Sim)).

%% @doc The neighbours of each node.
-spec links(t()) -> #{index() => [index()]}.
links(Sim) ->
    simulator_nodes:links(simulator_interpreter:nodes(Sim)).

%% @doc Counts of events: `sent', `lost', `events', and the stacks' own counts.
-spec stats(t()) -> #{term() => non_neg_integer()}.
stats(Sim) ->
    simulator_monitor:stats(simulator_interpreter:monitor(Sim)).

%% @doc The arrivals of each broadcast payload.
-spec delivered(t()) -> #{Payload :: term() => arrivals()}.
delivered(Sim) ->
    simulator_monitor:deliveries(simulator_interpreter:monitor(Sim)).

%% @doc Installs a function that sees every event, in place of the record of deliveries.
%%
%% That record holds every arrival of every broadcast, too much for a long run.
-spec watch(watcher(), Acc :: term(), t()) -> t().
watch(Watcher, Acc, Sim) ->
    simulator_interpreter:watch(Watcher, Acc, Sim).

%% @doc The watcher's result.
-spec watched(t()) -> term().
watched(Sim) ->
    simulator_monitor:watched(simulator_interpreter:monitor(Sim)).

%% @doc The round trip of a message and its answer.
-spec round_trip(index(), index(), t()) -> milliseconds().
round_trip(A, B, Sim) ->
    simulator_interpreter:round_trip(A, B, Sim).

%% @doc The number of links passed by the broadcast that an event delivers.
-spec hops(partisan_stack:event()) -> non_neg_integer().
hops({message, _From, {broadcast, {gossip, _Id, Round, _Payload}}}) -> Round + 1;
hops({broadcast, _Payload}) -> 0.

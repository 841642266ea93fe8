%%% @doc Monitors that processes of this node hold on other nodes.
%%%
%%% The counterpart of {@link partisan_held}, which has the monitors that others hold here. Each has
%%% a reference, known to its owner, and a number, known to the other node. Owners are monitored
%%% themselves, once each, while they hold any.
-module(partisan_wanted).

-export([new/0]).
-export([add/6]).
-export([receiver/3]).
-export([expects_reply/2]).
-export([find/3]).
-export([remove/2]).
-export([at/2]).
-export([add_node/3]).
-export([remove_node/3]).
-export([watchers/2]).
-export([wishes/2]).
-export([all/1]).
-export([is_wanted/2]).
-export([counts/1]).
%% A map of maps without empty ones.
-export([without/3]).

-define(MAX_MONITORS, 100000).

-type name() :: partisan_peer:name().
-type id() :: partisan_held:id().
-type wish() :: {monitor, reference()} | {node, name()}.
%% A notification, but for its reason: receiver, first element, and name of the process.
-type notice() :: {receiver(), Tag :: term(), Object :: term()}.
%% An alias that is the monitor's reference; a `reply' to it ends the monitor.
-type receiver() :: pid() | alias | reply.

-export_type([wish/0, notice/0, receiver/0]).

-record(monitor, {
    owner :: pid(),
    node :: name(),
    id :: id(),
    notice :: notice()
}).

-record(wanted, {
    last_id = 0 :: non_neg_integer(),
    monitors = #{} :: #{reference() => #monitor{}},
    % The same, by the numbers that the other nodes know.
    ids = #{} :: #{name() => #{id() => {reference(), partisan_ref:destination()}}},
    nodes = #{} :: #{name() => #{pid() => true}},
    % All owners, and what they asked for.
    owners = #{} :: #{pid() => {reference(), #{wish() => true}}}
}).

-opaque t() :: #wanted{}.
-export_type([t/0]).

%% @doc No monitors.
-spec new() -> t().
new() ->
    #wanted{}.

%% @doc Adds a monitor for this owner of a process on a node.
-spec add(Owner :: pid(), name(), partisan_ref:destination(), reference(), notice(), t()) ->
    {ok, id(), t()} | full.
add(_Owner, _Node, _Destination, _Reference, _Notice, #wanted{monitors = Monitors}) when
    map_size(Monitors) >= ?MAX_MONITORS
->
    full;
add(Owner, Node, Destination, Reference, Notice, #wanted{monitors = Monitors, ids = Ids} = W) ->
    Id = W#wanted.last_id + 1,
    Monitor = #monitor{owner = Owner, node = Node, id = Id, notice = Notice},
    There = maps:get(Node, Ids, #{}),
    Added = W#wanted{
        last_id = Id,
        monitors = Monitors#{Reference => Monitor},
        ids = Ids#{Node => There#{Id => {Reference, Destination}}}
    },
    {ok, Id, own(Owner, {monitor, Reference}, Added)}.

%% @doc The receiver of a process's own monitor.
-spec receiver(Owner :: pid(), reference(), t()) -> {ok, receiver()} | error.
receiver(Pid, Reference, #wanted{monitors = Monitors}) ->
    case Monitors of
        #{Reference := #monitor{owner = Pid, notice = {Receiver, _, _}}} -> {ok, Receiver};
        #{} -> error
    end.

%% @doc Whether a reply to this alias ends a monitor.
-spec expects_reply(reference(), t()) -> boolean().
expects_reply(Alias, #wanted{monitors = Monitors}) ->
    case Monitors of
        #{Alias := #monitor{notice = {reply, _, _}}} -> true;
        #{} -> false
    end.

%% @doc The monitor with this number on a node.
-spec find(name(), id(), t()) -> {ok, reference()} | error.
find(Node, Id, #wanted{ids = Ids}) ->
    case Ids of
        #{Node := #{Id := {Reference, _}}} -> {ok, Reference};
        #{} -> error
    end.

%% @doc Removes a monitor; returns its notification and its number on the other node.
-spec remove(reference(), t()) -> {{notice(), name(), id()}, t()}.
remove(Reference, #wanted{monitors = Monitors0, ids = Ids} = W) ->
    {Monitor, Monitors} = maps:take(Reference, Monitors0),
    #monitor{owner = Owner, node = Node, id = Id, notice = Notice} = Monitor,
    Removed = W#wanted{monitors = Monitors, ids = without(Node, Id, Ids)},
    {{Notice, Node, Id}, disown(Owner, {monitor, Reference}, Removed)}.

%% @doc The monitors held on a node.
-spec at(name(), t()) -> #{id() => {reference(), partisan_ref:destination()}}.
at(Node, #wanted{ids = Ids}) ->
    maps:get(Node, Ids, #{}).

%% @doc Adds a process to notify of the loss of that node.
-spec add_node(pid(), name(), t()) -> t().
add_node(Pid, Node, #wanted{nodes = Nodes} = W) ->
    Watchers = maps:get(Node, Nodes, #{}),
    own(Pid, {node, Node}, W#wanted{nodes = Nodes#{Node => Watchers#{Pid => true}}}).

%% @doc Removes the wish of a process to learn of the loss of a node.
-spec remove_node(pid(), name(), t()) -> t().
remove_node(Pid, Node, #wanted{nodes = Nodes} = W) ->
    disown(Pid, {node, Node}, W#wanted{nodes = without(Node, Pid, Nodes)}).

%% @doc The processes to notify of the loss of that node.
-spec watchers(name(), t()) -> [pid()].
watchers(Node, #wanted{nodes = Nodes}) ->
    maps:keys(maps:get(Node, Nodes, #{})).

%% @doc Everything that a process has asked for.
-spec wishes(pid(), t()) -> [wish()].
wishes(Pid, #wanted{owners = Owners}) ->
    case Owners of
        #{Pid := {_, Wishes}} -> maps:keys(Wishes);
        #{} -> []
    end.

%% @doc All monitors, and all processes to notify of the loss of a node, with that node.
-spec all(t()) -> {[{reference(), notice()}], [{pid(), name()}]}.
all(#wanted{monitors = Monitors, nodes = Nodes}) ->
    {
        [{Reference, Notice} || {Reference, #monitor{notice = Notice}} <- maps:to_list(Monitors)],
        [{Pid, Node} || {Node, Pids} <- maps:to_list(Nodes), Pid <- maps:keys(Pids)]
    }.

%% @doc Whether anything here depends on that node.
-spec is_wanted(name(), t()) -> boolean().
is_wanted(Node, #wanted{ids = Ids, nodes = Nodes}) ->
    is_map_key(Node, Ids) orelse is_map_key(Node, Nodes).

%% @doc The number of monitors, of monitored nodes and of processes with wishes.
-spec counts(t()) -> #{monitors | node_monitors | owners => non_neg_integer()}.
counts(#wanted{monitors = Monitors, nodes = Nodes, owners = Owners}) ->
    #{
        monitors => map_size(Monitors),
        node_monitors => map_size(Nodes),
        owners => map_size(Owners)
    }.

%% @doc Nested maps without an inner key, and without outer keys that have no other.
-spec without(Outer, Inner, #{Outer => #{Inner => Value}}) -> #{Outer => #{Inner => Value}} when
    Outer :: term(), Inner :: term(), Value :: term().
without(Outer, Inner, Maps) ->
    case maps:remove(Inner, maps:get(Outer, Maps, #{})) of
        Others when map_size(Others) =:= 0 -> maps:remove(Outer, Maps);
        Others -> Maps#{Outer => Others}
    end.

%% Internals.

own(Pid, Wish, #wanted{owners = Owners} = W) ->
    {Monitor, Wishes} =
        case Owners of
            #{Pid := Known} -> Known;
            #{} -> {erlang:monitor(process, Pid), #{}}
        end,
    W#wanted{owners = Owners#{Pid => {Monitor, Wishes#{Wish => true}}}}.

disown(Pid, Wish, #wanted{owners = Owners} = W) ->
    case Owners of
        #{Pid := {Monitor, Wishes}} when map_size(Wishes) =:= 1, is_map_key(Wish, Wishes) ->
            true = erlang:demonitor(Monitor, [flush]),
            W#wanted{owners = maps:remove(Pid, Owners)};
        #{Pid := {Monitor, Wishes}} ->
            W#wanted{owners = Owners#{Pid := {Monitor, maps:remove(Wish, Wishes)}}};
        #{} ->
            W
    end.

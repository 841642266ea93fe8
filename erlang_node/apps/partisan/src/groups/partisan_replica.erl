%%% @doc Entries that each node owns, replicated on all nodes: a map from keys to values that its
%%% owner alone changes.
%%%
%%% The owner counts its changes; others replace what they know of a node by what is newer. So
%%% replicas that exchange what they know become equal, in any order of messages. There is no
%%% agreement: two nodes may know different things for a while.
%%%
%%% ```
%%% a changes its map  --1 {entries, a's map}-->  all, by broadcast: it may be lost
%%% b, each round      --2 {digest, b, Versions, true}-->  one neighbour
%%%                    <--3 {entries, what b lacks}, {digest, .., false}--
%%%                    --4 {entries, what the neighbour lacks}-->
%%% '''
%%%
%%% A node that notices a loss late would bring the lost node back to the others, and they to it, in
%%% turns. So what was known of a lost node is not learned again for some rounds, in which the
%%% others notice too; newer changes are.
%%%
%%% What a replica lacks comes in several messages if it is much. The next digest asks again for
%%% those that are lost.
-module(partisan_replica).

-export([new/3]).
-export([self/1]).
-export([change/2]).
-export([announcement/1]).
-export([question/1]).
-export([handle/2]).
-export([merge/2]).
-export([lost/2]).
-export([round/1]).
-export([nodes/1]).
-export([version/2]).
-export([map/2]).
-export([maps/1]).
-export([values/2]).
-export([changed/2]).
-export([covers/2]).
%% For partisan_topics.
-export([parts/1]).

%% Rounds for which what was known of a lost node is not learned again.
-define(FORGOTTEN, 10).
%% Bytes of entries in a message, unless one entry has more: all of them may be too large for one.
-define(PART_BYTES, 1 bsl 18).

-type name() :: partisan_peer:name().
%% A node that restarts counts from the start, with a larger incarnation.
-type version() :: {partisan_peer:incarnation(), Changes :: non_neg_integer()}.
-type digest() :: #{name() => version()}.
-type entries(Key, Value) :: #{name() => {version(), #{Key => Value}}}.
-type message() ::
    {entries, entries(term(), term())} | {digest, From :: name(), digest(), Answer :: boolean()}.
-type t(Key, Value) :: #{
    self := name(),
    entries := entries(Key, Value),
    lost := #{name() => {version(), Rounds :: non_neg_integer()}}
}.
-type t() :: t(term(), term()).
-export_type([version/0, entries/2, message/0, t/0, t/2]).

%% @doc A replica whose owner has an empty map. `Count' must be larger than that of the owner's
%% previous replica in this incarnation: others would keep the previous map otherwise.
-spec new(name(), partisan_peer:incarnation(), Count :: non_neg_integer()) -> t().
new(Self, Incarnation, Count) ->
    #{self => Self, entries => #{Self => {{Incarnation, Count}, #{}}}, lost => #{}}.

%% @doc The owner.
-spec self(t()) -> name().
self(#{self := Self}) ->
    Self.

%% @doc Changes the owner's map.
-spec change(fun((#{Key => Value}) -> #{Key => Value}), t(Key, Value)) -> t(Key, Value).
change(Change, #{self := Self, entries := Entries} = Replica) ->
    #{Self := {{Incarnation, Count}, Own}} = Entries,
    Replica#{entries := Entries#{Self := {{Incarnation, Count + 1}, Change(Own)}}}.

%% @doc The message of the owner after a change.
-spec announcement(t()) -> message().
announcement(#{self := Self, entries := Entries}) ->
    {entries, maps:with([Self], Entries)}.

%% @doc The message of the owner to compare with another replica.
-spec question(t()) -> message().
question(Replica) ->
    digest(true, Replica).

%% @doc A message from another replica, and what is sent in answer. Fails with any error if it is
%% malformed.
-spec handle(message(), t(Key, Value)) -> {[{name(), message()}], t(Key, Value)}.
handle({entries, Entries}, Replica) ->
    {[], merge(Entries, Replica)};
handle({digest, From, Digest, Answer}, #{entries := Entries} = Replica) when
    is_binary(From), is_map(Digest), is_boolean(Answer)
->
    Lacking = newer_than(Digest, Entries),
    Messages =
        [{From, {entries, Part}} || Part <- parts(Lacking)] ++
            [{From, digest(false, Replica)} || Answer],
    {Messages, Replica}.

%% @doc Learns what another node has sent. Nothing but the owner changes its map.
-spec merge(entries(Key, Value), t(Key, Value)) -> t(Key, Value).
merge(Received, #{self := Self, entries := Entries, lost := Lost} = Replica) ->
    Known = maps:merge(versions(Lost), versions(Entries)),
    Newer = newer_than(Known, maps:remove(Self, Received)),
    true = lists:all(fun is_entry/1, maps:to_list(Newer)),
    Replica#{entries := maps:merge(Entries, Newer), lost := maps:without(maps:keys(Newer), Lost)}.

%% @doc Forgets a node that is lost.
-spec lost(name(), t(Key, Value)) -> t(Key, Value).
lost(Node, #{self := Self, entries := Entries, lost := Lost} = Replica) ->
    case maps:take(Node, Entries) of
        {{Version, _}, Others} when Node =/= Self ->
            Replica#{entries := Others, lost := Lost#{Node => {Version, ?FORGOTTEN}}};
        _ ->
            Replica
    end.

%% @doc A round has passed, in which replicas have compared what they know.
-spec round(t(Key, Value)) -> t(Key, Value).
round(#{lost := Lost} = Replica) ->
    Kept = maps:filter(fun(_, {_, Left}) -> Left > 1 end, Lost),
    Replica#{lost := maps:map(fun(_, {Version, Left}) -> {Version, Left - 1} end, Kept)}.

%% @doc The nodes that are known, sorted.
-spec nodes(t()) -> [name()].
nodes(#{entries := Entries}) ->
    lists:sort(maps:keys(Entries)).

%% @doc The version of what is known of a node.
-spec version(name(), t()) -> version() | none.
version(Node, #{entries := Entries}) ->
    {Version, _} = maps:get(Node, Entries, {none, #{}}),
    Version.

%% @doc The map of a node: empty if it is not known.
-spec map(name(), t(Key, Value)) -> #{Key => Value}.
map(Node, #{entries := Entries}) ->
    {_, Own} = maps:get(Node, Entries, {none, #{}}),
    Own.

%% @doc The maps of all nodes, in the order of their names.
-spec maps(t(Key, Value)) -> [{name(), #{Key => Value}}].
maps(#{entries := Entries}) ->
    [{Node, Own} || {Node, {_, Own}} <- lists:sort(maps:to_list(Entries))].

%% @doc The values of a key, in the order of the names of its nodes.
-spec values(Key, t(Key, Value)) -> [Value].
values(Key, #{entries := Entries}) ->
    Values = [{Node, Value} || {Node, {_, #{Key := Value}}} <- maps:to_list(Entries)],
    [Value || {_, Value} <- lists:keysort(1, Values)].

%% @doc The maps of the nodes that have changed, in the order of their names: what was known of
%% each, and what is.
-spec changed(Before :: t(Key, Value), After :: t(Key, Value)) ->
    [{Old :: #{Key => Value}, New :: #{Key => Value}}].
changed(#{entries := Old} = Before, #{entries := New} = After) ->
    Changed = [
        Node
     || Node <- lists:usort(maps:keys(Old) ++ maps:keys(New)),
        version(Node, Before) =/= version(Node, After)
    ],
    [{map(Node, Before), map(Node, After)} || Node <- Changed].

%% @doc Whether the replica lacks nothing of one with this digest.
-spec covers(digest(), t()) -> boolean().
covers(Digest, #{entries := Entries, lost := Lost}) ->
    Known = maps:merge(versions(Lost), versions(Entries)),
    lists:all(
        fun({Node, Version}) -> Version =< maps:get(Node, Known, {0, -1}) end, maps:to_list(Digest)
    ).

%% @doc Entries by node, divided for several messages; none of no entries.
-spec parts(#{name() => Entry}) -> [#{name() => Entry}] when Entry :: term().
parts(Entries) when map_size(Entries) =:= 0 ->
    [];
parts(Entries) ->
    {_, Last, Full} = maps:fold(fun part/3, {0, #{}, []}, Entries),
    [Last | Full].

%% Internals.

part(Node, Entry, {Bytes, Part, Full}) ->
    case erlang:external_size(Entry) of
        More when Bytes =:= 0; Bytes + More =< ?PART_BYTES ->
            {Bytes + More, Part#{Node => Entry}, Full};
        More ->
            {More, #{Node => Entry}, [Part | Full]}
    end.

digest(Answer, #{self := Self, entries := Entries}) ->
    {digest, Self, versions(Entries), Answer}.

versions(Versioned) ->
    maps:map(fun(_, {Version, _}) -> Version end, Versioned).

is_entry({Node, {{Incarnation, Count}, _Own}}) ->
    is_binary(Node) andalso is_integer(Incarnation) andalso is_integer(Count);
is_entry(_) ->
    false.

newer_than(Digest, Entries) ->
    maps:filter(
        fun(Node, {Version, Own}) when is_map(Own) -> Version > maps:get(Node, Digest, {0, -1}) end,
        Entries
    ).

%%% @doc The members of process groups on all nodes, as one node knows them: the pure part of {@link
%%% partisan_pg}.
%%%
%%% Each node owns the groups of its own processes and counts their changes; others replace what
%%% they know of a node by what is newer. So replicas that exchange what they know become equal, in
%%% any order of messages. There is no agreement: two nodes may see different members for a while.
%%%
%%% A node that notices a loss late would bring the lost node back to the others, and they to it, in
%%% turns. So what was known of a lost node is not learned again for some rounds, in which the
%%% others notice too; newer changes are.
-module(partisan_groups).

-export([new/2]).
-export([join/3]).
-export([leave/3]).
-export([own/1]).
-export([digest/1]).
-export([newer/2]).
-export([merge/2]).
-export([lost/2]).
-export([round/1]).
-export([nodes/1]).
-export([members/2]).
-export([groups/1]).
-export([changes/2]).

%% Rounds for which what was known of a lost node is not learned again.
-define(FORGOTTEN, 10).

-type name() :: partisan_peer:name().
-type group() :: term().
-type member() :: partisan_ref:t().
%% A node that restarts counts from the start, with a larger incarnation.
-type version() :: {partisan_peer:incarnation(), Changes :: non_neg_integer()}.
%% A process that has joined a group twice is in it twice, as in `pg'.
-type entries() :: #{name() => {version(), #{group() => [member()]}}}.
-type digest() :: #{name() => version()}.
-opaque t() :: #{
    self := name(),
    entries := entries(),
    lost := #{name() => {version(), Rounds :: non_neg_integer()}}
}.
-export_type([group/0, member/0, entries/0, digest/0, t/0]).

%% @doc Groups without members.
-spec new(name(), partisan_peer:incarnation()) -> t().
new(Self, Incarnation) ->
    #{self => Self, entries => #{Self => {{Incarnation, 0}, #{}}}, lost => #{}}.

%% @doc Adds processes of this node to a group.
-spec join(group(), [member()], t()) -> t().
join(Group, Members, Groups) ->
    change(Group, fun(Present) -> Members ++ Present end, Groups).

%% @doc Removes processes of this node from a group, each once.
-spec leave(group(), [member()], t()) -> t().
leave(Group, Members, Groups) ->
    change(Group, fun(Present) -> Present -- Members end, Groups).

%% @doc The entry of this node, which it sends after a change.
-spec own(t()) -> entries().
own(#{self := Self, entries := Entries}) ->
    maps:with([Self], Entries).

%% @doc The versions of all entries.
-spec digest(t()) -> digest().
digest(#{entries := Entries}) ->
    maps:map(fun(_, {Version, _}) -> Version end, Entries).

%% @doc The entries that a node with that digest lacks.
-spec newer(digest(), t()) -> entries().
newer(Digest, #{entries := Entries}) ->
    newer_than(Digest, Entries).

%% @doc Learns what another node has sent. Nothing but this node changes its own groups.
-spec merge(entries(), t()) -> t().
merge(Received, #{self := Self, entries := Entries, lost := Lost} = Groups) ->
    Forgotten = maps:map(fun(_, {Version, _}) -> Version end, Lost),
    Known = maps:merge(Forgotten, digest(Groups)),
    Newer = newer_than(Known, maps:remove(Self, Received)),
    Groups#{entries := maps:merge(Entries, Newer), lost := maps:without(maps:keys(Newer), Lost)}.

%% @doc Forgets a node that is lost.
-spec lost(name(), t()) -> t().
lost(Node, #{entries := Entries, lost := Lost} = Groups) ->
    case maps:take(Node, Entries) of
        {{Version, _}, Others} ->
            Groups#{entries := Others, lost := Lost#{Node => {Version, ?FORGOTTEN}}};
        error ->
            Groups
    end.

%% @doc A round has passed, in which replicas have compared what they know.
-spec round(t()) -> t().
round(#{lost := Lost} = Groups) ->
    Kept = maps:filter(fun(_, {_, Left}) -> Left > 1 end, Lost),
    Groups#{lost := maps:map(fun(_, {Version, Left}) -> {Version, Left - 1} end, Kept)}.

%% @doc The other nodes with members.
-spec nodes(t()) -> [name()].
nodes(#{self := Self, entries := Entries}) ->
    lists:sort([Node || {Node, {_, Own}} <- maps:to_list(Entries), Node =/= Self, Own =/= #{}]).

%% @doc The members of a group, those of one node after another.
-spec members(group(), t()) -> [member()].
members(Group, #{entries := Entries}) ->
    lists:append([maps:get(Group, Own, []) || {_, {_, Own}} <- lists:sort(maps:to_list(Entries))]).

%% @doc The groups with members.
-spec groups(t()) -> [group()].
groups(#{entries := Entries}) ->
    lists:usort(lists:append([maps:keys(Own) || {_, Own} <- maps:values(Entries)])).

%% @doc The groups that differ: who has joined, and who has left.
-spec changes(Before :: t(), After :: t()) -> [{group(), [member()], [member()]}].
changes(Before, After) ->
    [
        {Group, members(Group, After) -- Previous, Previous -- members(Group, After)}
     || Group <- lists:usort(groups(Before) ++ groups(After)),
        Previous <- [members(Group, Before)],
        Previous =/= members(Group, After)
    ].

%% Internals.

newer_than(Digest, Entries) ->
    maps:filter(fun(Node, {Version, _}) -> Version > maps:get(Node, Digest, {0, -1}) end, Entries).

change(Group, Change, #{self := Self, entries := Entries} = Groups) ->
    #{Self := {{Incarnation, Count}, Own}} = Entries,
    Changed =
        case Change(maps:get(Group, Own, [])) of
            [] -> maps:remove(Group, Own);
            Members -> Own#{Group => Members}
        end,
    Groups#{entries := Entries#{Self := {{Incarnation, Count + 1}, Changed}}}.

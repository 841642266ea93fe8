%%% @doc The members of process groups on all nodes, as one node knows them: the pure part of {@link
%%% partisan_pg}. Each node owns the groups of its own processes ({@link partisan_replica}).
-module(partisan_groups).

-export([new/3]).
-export([is_valid/1]).
-export([join/3]).
-export([leave/3]).
-export([clear/1]).
-export([nodes/1]).
-export([members/2]).
-export([groups/1]).
-export([changes/2]).

-type name() :: partisan_peer:name().
-type group() :: term().
-type member() :: partisan_ref:t().
%% A process that has joined a group twice is in it twice, as in `pg'.
-type t() :: partisan_replica:t(group(), [member()]).
-type change() :: {join | leave, group(), [member()]}.
-export_type([group/0, member/0, change/0, t/0]).

%% @doc Groups without members.
-spec new(name(), partisan_peer:incarnation(), Count :: non_neg_integer()) -> t().
new(Self, Incarnation, Count) ->
    partisan_replica:new(Self, Incarnation, Count).

%% @doc Whether a message of another replica has groups of references, and nothing else.
-spec is_valid(tuple()) -> boolean().
is_valid({entries, #{} = Entries}) ->
    lists:all(fun is_entry/1, maps:values(Entries));
is_valid(_Other) ->
    true.

%% @doc Adds processes of this node to a group.
-spec join(group(), [member()], t()) -> t().
join(Group, Members, Groups) ->
    change(Group, fun(Present) -> Members ++ Present end, Groups).

%% @doc Removes processes of this node from a group, each once.
-spec leave(group(), [member()], t()) -> t().
leave(Group, Members, Groups) ->
    change(Group, fun(Present) -> Present -- Members end, Groups).

%% @doc Removes all processes of this node from all groups.
-spec clear(t()) -> t().
clear(Groups) ->
    partisan_replica:change(fun(_Own) -> #{} end, Groups).

%% @doc The other nodes with members.
-spec nodes(t()) -> [name()].
nodes(Groups) ->
    Self = partisan_replica:self(Groups),
    [Node || {Node, Own} <- partisan_replica:maps(Groups), Node =/= Self, Own =/= #{}].

%% @doc The members of a group, those of one node after another.
-spec members(group(), t()) -> [member()].
members(Group, Groups) ->
    lists:append(partisan_replica:values(Group, Groups)).

%% @doc The groups with members.
-spec groups(t()) -> [group()].
groups(Groups) ->
    groups_of([Own || {_, Own} <- partisan_replica:maps(Groups)]).

%% @doc Members that have joined or left, by group. A member is of one node, so that the other nodes
%% need not be compared.
-spec changes(Before :: t(), After :: t()) -> [change()].
changes(Before, After) ->
    Changed = partisan_replica:changed(Before, After),
    [
        Change
     || Group <- groups_of(lists:append([[Old, New] || {Old, New} <- Changed])),
        Members <- [
            [{maps:get(Group, Old, []), maps:get(Group, New, [])} || {Old, New} <- Changed]
        ],
        {_, _, [_ | _]} = Change <- [
            {join, Group, lists:append([New -- Old || {Old, New} <- Members])},
            {leave, Group, lists:append([Old -- New || {Old, New} <- Members])}
        ]
    ].

%% Internals.

%% Not by `lists:usort/1': 1 and 1.0 are two groups.
groups_of(Maps) ->
    lists:sort(maps:keys(lists:foldl(fun maps:merge/2, #{}, Maps))).

is_entry({_Version, #{} = Own}) ->
    lists:all(fun are_members/1, maps:values(Own));
is_entry(_) ->
    false.

are_members([Member | Members]) -> partisan_ref:is_process(Member) andalso are_members(Members);
are_members(Members) -> Members =:= [].

change(Group, Change, Groups) ->
    partisan_replica:change(
        fun(Own) ->
            case Change(maps:get(Group, Own, [])) of
                [] -> maps:remove(Group, Own);
                Members -> Own#{Group => Members}
            end
        end,
        Groups
    ).

%%% @doc Names of processes as the nodes know them, with conflicts: the part of {@link
%%% partisan_registry} that is replicated.
%%%
%%% Each node owns the names of its own processes ({@link partisan_replica}). A registration is
%%% identified by its node and the version of the node's entries at which it was made:
%%%
%%% ```
%%% a: {name, leader} => {{Incarnation, 7}, Process}
%%% c: {dropped, leader, {<<"a">>, {Incarnation, 7}}} => {conflict, Winner}
%%% '''
%%%
%%% The second entry is a *verdict*: it hides the registration at once wherever it is known, and
%%% stays until the node of the registration has removed it. It concerns no later registration.
-module(partisan_names).

-export([new/3]).
-export([replica/1]).
-export([index/1]).
-export([registrations/2]).
-export([of_holder/2]).
-export([add/3]).
-export([drop/4]).
-export([touch/1]).
-export([merged/2]).
-export([lost/2]).
-export([has_entries/2]).
-export([watched/1]).
-export([obey/1]).

-type node_name() :: partisan_peer:name().
-type name() :: term().
-type holder() :: partisan_ref:t().
-type id() :: {node_name(), partisan_replica:version()}.
-type registration() :: {id(), holder()}.
-type index() :: #{name() => [registration(), ...]}.
-type why() :: ended | unregistered | replaced | {conflict, Other :: holder()}.
-export_type([name/0, holder/0, registration/0, index/0, why/0]).

-record(names, {
    replica :: partisan_replica:t(),
    % What the replica says, without what verdicts have dropped; each sorted.
    index = #{} :: index()
}).

-opaque t() :: #names{}.
-export_type([t/0]).

%% @doc No names; for `Count' see {@link partisan_replica:new/3}.
-spec new(node_name(), partisan_peer:incarnation(), Count :: non_neg_integer()) -> t().
new(Self, Incarnation, Count) ->
    #names{replica = partisan_replica:new(Self, Incarnation, Count)}.

%% @doc The entries of all nodes.
-spec replica(t()) -> partisan_replica:t().
replica(#names{replica = Replica}) ->
    Replica.

%% @doc The registrations by name: several while there is a conflict, of which the first one counts.
-spec index(t()) -> index().
index(#names{index = Index}) ->
    Index.

%% @doc The registrations of a name.
-spec registrations(name(), t()) -> [registration()].
registrations(Name, #names{index = Index}) ->
    maps:get(Name, Index, []).

%% @doc The registrations of a process of this node.
-spec of_holder(holder(), t()) -> [{name(), registration()}].
of_holder(Holder, #names{replica = Replica}) ->
    Self = partisan_replica:self(Replica),
    [{Name, {{Self, Version}, H}} || {Name, Version, H} <- names(own(Replica)), H =:= Holder].

%% @doc Gives a process of this node a name, and takes it from all others.
-spec add(name(), holder(), t()) -> t().
add(Name, Holder, #names{replica = Before} = N) ->
    #names{replica = Replica} = Dropped = drop(registrations(Name, N), Name, replaced, N),
    {Incarnation, Count} = partisan_replica:version(partisan_replica:self(Before), Replica),
    Version = {Incarnation, Count + 1},
    change(fun(Own) -> Own#{{name, Name} => {Version, Holder}} end, Dropped).

%% @doc Drops registrations: those of this node at once, others by verdict.
-spec drop([registration()], name(), why(), t()) -> t().
drop([], _Name, _Why, N) ->
    N;
drop(Registrations, Name, Why, #names{replica = Replica} = N) ->
    Self = partisan_replica:self(Replica),
    change(
        fun(Own) ->
            lists:foldl(
                fun
                    ({{Node, _}, _}, Acc) when Node =:= Self -> maps:remove({name, Name}, Acc);
                    ({Id, _}, Acc) -> Acc#{{dropped, Name, Id} => Why}
                end,
                Own,
                Registrations
            )
        end,
        N
    ).

%% @doc Counts a change of this node's entries, which shows that it is not lost.
-spec touch(t()) -> t().
touch(N) ->
    change(fun(Own) -> Own end, N).

%% @doc The names after the replica has learnt more.
-spec merged(partisan_replica:t(), t()) -> t().
merged(Replica, #names{replica = Replica} = N) ->
    N;
merged(Replica, N) ->
    Verdicts = verdicts(Replica),
    Registrations = [
        {Name, {{Node, Version}, Holder}}
     || {Node, Own} <- partisan_replica:maps(Replica),
        {Name, Version, Holder} <- names(Own),
        % A node names its own processes only.
        partisan_ref:is_process(Holder),
        Node =:= partisan_ref:peer_name(Holder),
        not is_map_key({Name, {Node, Version}}, Verdicts)
    ],
    Index = lists:foldr(
        fun({Name, R}, Acc) -> Acc#{Name => [R | maps:get(Name, Acc, [])]} end, #{}, Registrations
    ),
    N#names{replica = Replica, index = Index}.

%% @doc Forgets a node that is lost.
-spec lost(node_name(), t()) -> t().
lost(Node, #names{replica = Replica} = N) ->
    merged(partisan_replica:lost(Node, Replica), N).

%% @doc Whether a node has names or verdicts.
-spec has_entries(node_name(), t()) -> boolean().
has_entries(Node, #names{replica = Replica}) ->
    partisan_replica:map(Node, Replica) =/= #{}.

%% @doc The nodes to be monitored: those with entries, and the next one in the order of names.
-spec watched(t()) -> [node_name()].
watched(#names{replica = Replica}) ->
    Self = partisan_replica:self(Replica),
    {Before, After} = lists:partition(fun(N) -> N < Self end, partisan_replica:nodes(Replica)),
    Next = lists:sublist((After ++ Before) -- [Self], 1),
    Owners = [Node || {Node, Own} <- partisan_replica:maps(Replica), Own =/= #{}, Node =/= Self],
    lists:usort(Next ++ Owners).

%% @doc Removes what verdicts of others have dropped, and own verdicts that have been obeyed.
-spec obey(t()) -> {[{name(), holder(), why()}], t()}.
obey(#names{replica = Replica} = N) ->
    Self = partisan_replica:self(Replica),
    Verdicts = verdicts(Replica),
    Dropped = [
        {Name, Holder, map_get({Name, {Self, Version}}, Verdicts)}
     || {Name, Version, Holder} <- names(own(Replica)),
        is_map_key({Name, {Self, Version}}, Verdicts)
    ],
    Obeyed = [
        Key
     || {dropped, Name, {Node, Version}} = Key <- maps:keys(own(Replica)),
        not is_registered(Name, Node, Version, Replica)
    ],
    case [{name, Name} || {Name, _, _} <- Dropped] ++ Obeyed of
        [] -> {[], N};
        Keys -> {Dropped, change(fun(Own) -> maps:without(Keys, Own) end, N)}
    end.

%% Internals.

change(Change, #names{replica = Replica} = N) ->
    merged(partisan_replica:change(Change, Replica), N).

own(Replica) ->
    partisan_replica:map(partisan_replica:self(Replica), Replica).

names(Own) ->
    [{Name, Version, Holder} || {{name, Name}, {Version, Holder}} <- lists:sort(maps:to_list(Own))].

is_registered(Name, Node, Version, Replica) ->
    case partisan_replica:map(Node, Replica) of
        #{{name, Name} := {Version, _}} -> true;
        #{} -> false
    end.

verdicts(Replica) ->
    maps:from_list([
        {{Name, Id}, Why}
     || {_, Own} <- partisan_replica:maps(Replica), {{dropped, Name, Id}, Why} <- maps:to_list(Own)
    ]).

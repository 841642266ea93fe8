%%% @doc A self-repairing spanning tree of the overlay: the neighbours to talk to so that each node
%%% is reached exactly once.
%%%
%%% The node with the smallest name is the root, and each node's parent is its neighbour nearest to
%%% the root. Nodes advertise to their neighbours the root they know, its distance, and whether the
%%% neighbour is their parent. This is a distance vector with the sequence numbers of DSDV (Perkins,
%%% Bhagwat, SIGCOMM 1994): the root counts up now and then, and adverts carry the number they are
%%% based on.
%%%
%%% == No loops ==
%%% A node only chooses a parent that knows a later number of a root than itself, or knows the same
%%% and is no further from the root than the node has ever been on that number. Its descendants do
%%% not qualify: they are further, and know no later one. The node remembers both for every
%%% root that it has followed. If no neighbour qualifies the node is a root itself, with its
%%% descendants, until the next number arrives.
%%%
%%% == Losses ==
%%% Every number is sent to every neighbour, so a loss is repaired by the next one. A root is given
%%% up when it was a neighbour and goes, or when its number has not changed for long; if it is
%%% alive, its next number brings it back. Numbers start with the root's start time in milliseconds,
%%% so an incarnation is ahead of all previous ones.
-module(lasp_tree).

-export([new/2]).
-export([up/2]).
-export([down/2]).
-export([tick/1]).
-export([heard/3]).
-export([advert/2]).
-export([links/1]).
-export([root/1]).
-export([parent/1]).

%% Intervals between the root's numbers, and intervals without one after which it is given up.
-define(HEARTBEAT, 4).
-define(ROOT_TIMEOUT, 14).

%% A neighbour's advert: its root, the number, its distance from the root, and whether its parent is
%% this node.
-record(advert, {
    root :: lasp_sync:name(),
    number :: non_neg_integer(),
    distance :: non_neg_integer(),
    child :: boolean()
}).

-record(tree, {
    self :: lasp_sync:name(),
    neighbours = #{} :: #{lasp_sync:name() => none | #advert{}},
    root :: lasp_sync:name(),
    % Of the root; this node's own if it is the root.
    number :: non_neg_integer(),
    own :: non_neg_integer(),
    distance = 0 :: non_neg_integer(),
    parent = none :: none | lasp_sync:name(),
    % The parent and the children, in order; a hub has a thousand, and receives from all of them.
    links = [] :: stale | [lasp_sync:name()],
    % Intervals since the number changed.
    age = 0 :: non_neg_integer(),
    % The last number of each followed root, and the smallest distance on it; below any real
    % distance if the root is given up.
    followed = #{} :: #{lasp_sync:name() => {non_neg_integer(), Nearest :: integer()}}
}).

-opaque t() :: #tree{}.

-export_type([t/0]).

%% The neighbours to send an advert to.
-type result() :: {t(), Recipients :: [lasp_sync:name()]}.

%% @doc A lone node whose incarnation began then (microseconds).
-spec new(lasp_sync:name(), partisan_peer:incarnation()) -> t().
new(Self, Incarnation) ->
    Own = Incarnation div 1000,
    #tree{self = Self, root = Self, number = Own, own = Own}.

%% @doc Adds a neighbour, or its next incarnation.
-spec up(lasp_sync:name(), t()) -> result().
up(Name, #tree{neighbours = Neighbours} = Tree) ->
    {Next, Recipients} = choose(Tree#tree{neighbours = Neighbours#{Name => none}, links = stale}),
    {Next, lists:usort([Name | Recipients])}.

%% @doc Removes a neighbour.
-spec down(lasp_sync:name(), t()) -> result().
down(Name, #tree{neighbours = Neighbours, root = Root} = Tree) ->
    Left = Tree#tree{neighbours = maps:remove(Name, Neighbours), links = stale},
    case Root of
        Name -> choose(given_up(Left));
        _ -> choose(Left)
    end.

%% @doc Advances by one interval.
-spec tick(t()) -> result().
tick(#tree{age = Age} = Tree) ->
    case Tree#tree{age = Age + 1} of
        #tree{parent = none, own = Own, age = ?HEARTBEAT} = Due ->
            {Due#tree{number = Own + 1, own = Own + 1, age = 0}, neighbours(Due)};
        #tree{age = ?ROOT_TIMEOUT} = Silent ->
            choose(given_up(Silent));
        Older ->
            {Older, []}
    end.

%% @doc Handles a neighbour's advert; ignored if malformed or from an unknown node.
-spec heard(lasp_sync:name(), binary(), t()) -> result().
heard(From, Bytes, #tree{neighbours = Neighbours, self = Self} = Tree) ->
    case {Neighbours, decode(Bytes)} of
        {#{From := _}, {ok, #advert{root = Self, number = Number} = Advert}} ->
            choose(continued(Number, set(From, Advert, Tree)));
        {#{From := _}, {ok, Advert}} ->
            choose(set(From, Advert, Tree));
        _ ->
            {Tree, []}
    end.

%% @doc The advert for a neighbour.
-spec advert(lasp_sync:name(), t()) -> binary().
advert(Name, #tree{root = Root, number = Number, distance = Distance, parent = Parent}) ->
    Child =
        case Parent of
            Name -> 1;
            _ -> 0
        end,
    iolist_to_binary([Child, lasp_varint:encode(Number), lasp_varint:encode(Distance), Root]).

%% @doc The neighbours in the tree: the parent and the children, in order.
-spec links(t()) -> [lasp_sync:name()].
links(#tree{links = Links}) ->
    Links.

%% @doc The root that this node knows.
-spec root(t()) -> lasp_sync:name().
root(#tree{root = Root}) ->
    Root.

%% @doc The position of the root.
-spec parent(t()) -> none | lasp_sync:name().
parent(#tree{parent = Parent}) ->
    Parent.

%% Internals.

is_child(#advert{child = Child}) -> Child;
is_child(none) -> false.

neighbours(#tree{neighbours = Neighbours}) ->
    lists:sort(maps:keys(Neighbours)).

set(Name, Advert, #tree{neighbours = Neighbours, links = Links} = Tree) ->
    #{Name := Before} = Neighbours,
    Tree#tree{
        neighbours = Neighbours#{Name := Advert},
        links =
            case is_child(Before) =:= is_child(Advert) of
                true -> Links;
                false -> stale
            end
    }.

linked(#tree{parent = Parent}, #tree{parent = Parent, links = Links} = Tree) when Links =/= stale ->
    Tree;
linked(_Before, #tree{neighbours = Neighbours, parent = Parent} = Tree) ->
    Tree#tree{
        links = lists:sort([
            Name
         || {Name, Advert} <- maps:to_list(Neighbours), Name =:= Parent orelse is_child(Advert)
        ])
    }.

given_up(#tree{root = Root, number = Number, followed = Followed} = Tree) ->
    Tree#tree{followed = Followed#{Root => {Number, -1}}}.

%% A previous incarnation of this node was further: its clock has been set back.
continued(Heard, #tree{parent = none, own = Own} = Tree) when Heard > Own ->
    Tree#tree{number = Heard + 1, own = Heard + 1, age = 0};
continued(_Heard, Tree) ->
    Tree.

%% Chooses the parent again; returns the neighbours to notify of a change.
choose(#tree{self = Self, neighbours = Neighbours} = Tree) ->
    Feasible = [
        {Name, Advert}
     || {Name, #advert{root = Root, child = false} = Advert} <- maps:to_list(Neighbours),
        Root < Self,
        is_feasible(Advert, Tree)
    ],
    Chosen =
        case Feasible of
            [] -> be_root(Tree);
            _ -> follow(best(Feasible, Tree), Tree)
        end,
    {linked(Tree, Chosen), changes(Tree, Chosen)}.

changes(#tree{number = N, root = R, distance = D, parent = P}, Chosen) ->
    case Chosen of
        #tree{number = N, root = R, distance = D, parent = P} -> [];
        _ -> neighbours(Chosen)
    end.

is_feasible(#advert{root = Root, number = Number, distance = Distance}, Tree) ->
    case Tree#tree.followed of
        #{Root := {Number, Nearest}} -> Distance =< Nearest;
        #{Root := {Followed, _}} -> Number > Followed;
        #{} -> true
    end.

%% The smallest root; through the present parent, unless another is nearer or it has fallen behind.
best(Feasible, #tree{parent = Parent}) ->
    Root = lists:min([A#advert.root || {_, A} <- Feasible]),
    OfRoot = [C || C = {_, A} <- Feasible, A#advert.root =:= Root],
    Newest = lists:max([A#advert.number || {_, A} <- OfRoot]),
    Fresh = [C || C = {_, A} <- OfRoot, A#advert.number >= Newest - 1],
    {_, _, Best} = lists:min([
        {A#advert.distance, Name =/= Parent, C}
     || C = {Name, A} <- Fresh
    ]),
    Best.

follow({Name, #advert{root = Root, number = Number, distance = Distance}}, Tree) ->
    #tree{followed = Followed, root = Before, number = NumberBefore, age = Age} = Tree,
    Nearest =
        case Followed of
            #{Root := {Number, N}} -> min(N, Distance + 1);
            #{} -> Distance + 1
        end,
    Tree#tree{
        root = Root,
        number = Number,
        parent = Name,
        distance = Distance + 1,
        followed = Followed#{Root => {Number, Nearest}},
        age =
            case {Before, NumberBefore} of
                {Root, Number} -> Age;
                _ -> 0
            end
    }.

%% The followed root must not be accepted again on this number.
be_root(#tree{parent = none} = Tree) ->
    Tree;
be_root(#tree{self = Self, own = Own} = Tree) ->
    (given_up(Tree))#tree{root = Self, number = Own, parent = none, distance = 0, age = 0}.

decode(<<Child, Bytes/binary>>) when Child =< 1 ->
    case lasp_varint:decode(Bytes) of
        {ok, Number, AfterNumber} ->
            case lasp_varint:decode(AfterNumber) of
                {ok, Distance, <<_, _/binary>> = Root} ->
                    {ok, #advert{
                        root = binary:copy(Root),
                        number = Number,
                        distance = Distance,
                        child = Child =:= 1
                    }};
                _ ->
                    error
            end;
        error ->
            error
    end;
decode(_) ->
    error.

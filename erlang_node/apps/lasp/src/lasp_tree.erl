%%% @doc A spanning tree of the overlay that keeps itself: which neighbours a node is to talk to so
%%% that all are reached and nobody twice.
%%%
%%% The node with the smallest name is the root, and everybody's parent is the neighbour through
%%% which the root is nearest. Nodes tell their neighbours of the root they know, how far it is, and
%%% whether the neighbour is their parent. That is a distance vector with the numbers of DSDV
%%% (Perkins, Bhagwat, SIGCOMM 1994): the root counts up now and then, and what is told carries the
%%% number that it is based on.
%%%
%%% == No loops ==
%%% A node only chooses a parent that has heard a later number of a root than itself, or has heard
%%% the same and is no further from the root than the node has ever been on that number. None of its
%%% descendants is: they are further, and have heard no more. It remembers both of every root that
%%% it has followed. Where no neighbour will do the node is a root itself, with those below it,
%%% until the next number comes round.
%%%
%%% == Losses ==
%%% Every number is told to every neighbour, so what is lost is made good by the next. A root is
%%% given up when a neighbour that is the root goes, or when its number has not changed for long; if
%%% it lives, its next number brings it back. Numbers begin with the time at which the root has
%%% started, in milliseconds: a life of it is ahead of all before it.
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

%% The root counts up every so many intervals, and is given up after so many without.
-define(HEARTBEAT, 4).
-define(PATIENCE, 14).

%% What a neighbour has told: of which root, at which number, how far it is from there, and whether
%% its parent is this node.
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
    % Of the root; this node's own while it is one.
    number :: non_neg_integer(),
    own :: non_neg_integer(),
    distance = 0 :: non_neg_integer(),
    parent = none :: none | lasp_sync:name(),
    % The parent and the children, in order; a hub has a thousand, and hears from all of them.
    links = [] :: stale | [lasp_sync:name()],
    % Intervals since the number changed.
    age = 0 :: non_neg_integer(),
    % The last number of each root that was followed, and the smallest distance on it; one below
    % any where the root is given up.
    followed = #{} :: #{lasp_sync:name() => {non_neg_integer(), Nearest :: integer()}}
}).

-opaque t() :: #tree{}.

-export_type([t/0]).

%% Who is to be sent an advert.
-type result() :: {t(), Tell :: [lasp_sync:name()]}.

%% @doc A node alone, in the life that began then (microseconds).
-spec new(lasp_sync:name(), partisan_peer:incarnation()) -> t().
new(Self, Incarnation) ->
    Own = Incarnation div 1000,
    #tree{self = Self, root = Self, number = Own, own = Own}.

%% @doc A neighbour has come, or another life of it.
-spec up(lasp_sync:name(), t()) -> result().
up(Name, #tree{neighbours = Neighbours} = Tree) ->
    {Next, Tell} = choose(Tree#tree{neighbours = Neighbours#{Name => none}, links = stale}),
    {Next, lists:usort([Name | Tell])}.

%% @doc A neighbour has gone.
-spec down(lasp_sync:name(), t()) -> result().
down(Name, #tree{neighbours = Neighbours, root = Root} = Tree) ->
    Left = Tree#tree{neighbours = maps:remove(Name, Neighbours), links = stale},
    case Root of
        Name -> choose(given_up(Left));
        _ -> choose(Left)
    end.

%% @doc An interval has passed.
-spec tick(t()) -> result().
tick(#tree{age = Age} = Tree) ->
    case Tree#tree{age = Age + 1} of
        #tree{parent = none, own = Own, age = ?HEARTBEAT} = Due ->
            {Due#tree{number = Own + 1, own = Own + 1, age = 0}, neighbours(Due)};
        #tree{age = ?PATIENCE} = Silent ->
            choose(given_up(Silent));
        Older ->
            {Older, []}
    end.

%% @doc A neighbour's advert; one that is malformed, or of a stranger, changes nothing.
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

%% @doc What is to be told to a neighbour.
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

%% @doc Where the root is.
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

%% A former life of this node was further, by a clock that has been put back.
continued(Heard, #tree{parent = none, own = Own} = Tree) when Heard > Own ->
    Tree#tree{number = Heard + 1, own = Heard + 1, age = 0};
continued(_Heard, Tree) ->
    Tree.

%% The parent anew, and whom to tell if anything has changed by it.
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

%% The smallest root; through the parent there is, unless another is nearer or it has fallen behind.
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

%% The root that was followed is not found again on this number.
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

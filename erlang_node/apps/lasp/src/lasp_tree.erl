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
%%% A node only chooses a parent that has heard a later number than itself, or has heard the same
%%% and is no further from the root than the node has ever been on that number. None of its
%%% descendants is: they are further, and have heard no more. Where no neighbour will do the node is
%%% a root itself, with those below it, until the next number comes round.
%%%
%%% == Losses ==
%%% Every number is told to every neighbour, so what is lost is made good by the next. A root is
%%% given up when a neighbour that is the root goes, or when its number has not changed for long; if
%%% it lives, its next number brings it back. A root that has been restarted hears its former
%%% number and continues from there.
-module(lasp_tree).

-export([new/1]).
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
    number = 0 :: non_neg_integer(),
    distance = 0 :: non_neg_integer(),
    %% The smallest distance on this number.
    nearest = 0 :: non_neg_integer(),
    parent = none :: none | lasp_sync:name(),
    %% Intervals since the number changed.
    age = 0 :: non_neg_integer(),
    %% The numbers of roots up to which they are given up.
    dead = #{} :: #{lasp_sync:name() => non_neg_integer()}
}).

-opaque t() :: #tree{}.

-export_type([t/0]).

%% Who is to be sent an advert.
-type result() :: {t(), Tell :: [lasp_sync:name()]}.

%% @doc A node alone.
-spec new(lasp_sync:name()) -> t().
new(Self) ->
    #tree{self = Self, root = Self}.

%% @doc A neighbour has come, or another life of it.
-spec up(lasp_sync:name(), t()) -> result().
up(Name, Tree = #tree{neighbours = Neighbours}) ->
    {Next, Tell} = choose(Tree#tree{neighbours = Neighbours#{Name => none}}),
    {Next, lists:usort([Name | Tell])}.

%% @doc A neighbour has gone.
-spec down(lasp_sync:name(), t()) -> result().
down(Name, Tree = #tree{neighbours = Neighbours, root = Root}) ->
    Left = Tree#tree{neighbours = maps:remove(Name, Neighbours)},
    case Root of
        Name -> choose(given_up(Left));
        _ -> choose(Left)
    end.

%% @doc An interval has passed.
-spec tick(t()) -> result().
tick(Tree = #tree{age = Age}) ->
    case Tree#tree{age = Age + 1} of
        #tree{parent = none, number = Number, age = ?HEARTBEAT} = Due ->
            {Due#tree{number = Number + 1, age = 0}, neighbours(Due)};
        #tree{age = ?PATIENCE} = Silent ->
            choose(given_up(Silent));
        Older ->
            {Older, []}
    end.

%% @doc A neighbour's advert; one that is malformed, or of a stranger, changes nothing.
-spec heard(lasp_sync:name(), binary(), t()) -> result().
heard(From, Bytes, Tree = #tree{neighbours = Neighbours, self = Self}) ->
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
links(#tree{neighbours = Neighbours, parent = Parent}) ->
    lists:sort([
        Name
     || {Name, Advert} <- maps:to_list(Neighbours), Name =:= Parent orelse is_child(Advert)
    ]).

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

set(Name, Advert, Tree = #tree{neighbours = Neighbours}) ->
    Tree#tree{neighbours = Neighbours#{Name := Advert}}.

given_up(Tree = #tree{root = Root, number = Number, dead = Dead}) ->
    Tree#tree{dead = Dead#{Root => Number}}.

%% A former life of this root was further.
continued(Heard, Tree = #tree{parent = none, number = Number}) when Heard > Number ->
    Tree#tree{number = Heard + 1, age = 0};
continued(_Heard, Tree) ->
    Tree.

%% The parent anew, and whom to tell if anything has changed by it.
choose(Tree = #tree{self = Self}) ->
    Usable = [{Name, A} || {Name, A} <- usable(Tree), A#advert.root < Self],
    Chosen =
        case [Candidate || Candidate <- Usable, is_feasible(Candidate, Tree)] of
            [] -> be_root(Tree);
            Feasible -> follow(best(Feasible, Tree), Tree)
        end,
    {Chosen, changes(Tree, Chosen)}.

changes(#tree{number = N, root = R, distance = D, parent = P}, Chosen) ->
    case Chosen of
        #tree{number = N, root = R, distance = D, parent = P} -> [];
        _ -> neighbours(Chosen)
    end.

%% Adverts of nodes that are not below this one, of roots that are not given up.
usable(#tree{neighbours = Neighbours, dead = Dead}) ->
    [
        {Name, Advert}
     || {Name, #advert{root = Root, number = Number, child = false} = Advert} <-
            maps:to_list(Neighbours),
        Number > maps:get(Root, Dead, -1)
    ].

is_feasible({_, Advert = #advert{root = Root}}, Tree = #tree{root = Root}) ->
    #advert{number = Number, distance = Distance} = Advert,
    #tree{number = Known, nearest = Nearest} = Tree,
    Number > Known orelse (Number =:= Known andalso Distance =< Nearest);
is_feasible(_, _) ->
    true.

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
    Followed = Tree#tree{root = Root, parent = Name, distance = Distance + 1},
    case Tree of
        #tree{root = Root, number = Number, nearest = Nearest} ->
            Followed#tree{nearest = min(Nearest, Distance + 1)};
        #tree{dead = Dead} ->
            Followed#tree{
                number = Number, nearest = Distance + 1, age = 0, dead = maps:remove(Root, Dead)
            }
    end.

be_root(Tree = #tree{parent = none}) ->
    Tree;
be_root(Tree = #tree{self = Self}) ->
    Tree#tree{root = Self, parent = none, distance = 0, nearest = 0, age = 0}.

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

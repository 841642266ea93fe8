%%% @doc Compression of parts for a neighbour that has seen their paths: a path is sent once, with a
%%% number, and from then on as that number.
%%%
%%% ```
%%% numbers   given by this incarnation to the shapes of parts, the same for all neighbours; a shape
%%%           is a path and the length of its leaf; paths are kept as keys ({@link lasp_lattice})
%%% sender    knows which numbers its neighbour knows, because a message that defined them has been
%%%           acknowledged; until then it defines them in every message
%%% receiver  knows the numbers of its neighbour's present incarnation
%%% '''
%%%
%%% A message has the incarnation, a block of {@link lasp_parts} whose numbers it defines, and the
%%% other parts in the order of their numbers: each as the gap from the previous number, and its
%%% leaf as the difference from the previous one of the same length. Actors with equal counts take
%%% two bytes each.
%%%
%%% The meaning of a number never changes within an incarnation. So no late, repeated or lost
%%% message can be decoded to other parts than were encoded: a receiver that does not know a number,
%%% for example after a restart, answers `unknown', and its neighbour defines all numbers again.
-module(lasp_dictionary).

-export([new_numbers/1]).
-export([new_sender/0]).
-export([new_receiver/0]).
-export([encode/4]).
-export([acknowledged/2]).
-export([decode/3]).

-define(INCARNATION_BITS, 32).

-type id() :: non_neg_integer().
%% Drawn at random.
-type incarnation() :: non_neg_integer().
-type shape() :: {lasp_lattice:key(), Length :: non_neg_integer()}.

-record(numbers, {
    incarnation :: incarnation(),
    next = 0 :: id(),
    % With the leaf length it was given for: another length has another number.
    of_keys = #{} :: #{lasp_lattice:key() => {id(), Length :: non_neg_integer()}}
}).
-opaque numbers() :: #numbers{}.
%% The numbers that the neighbour knows.
-opaque sender() :: #{id() => []}.
-opaque receiver() :: {none | incarnation(), #{id() => shape()}}.
%% The numbers defined by a message.
-type definitions() :: [id()].

-export_type([numbers/0, sender/0, receiver/0, incarnation/0, definitions/0]).

%% @doc No numbers yet, in this incarnation.
-spec new_numbers(incarnation()) -> numbers().
new_numbers(Incarnation) ->
    #numbers{incarnation = Incarnation}.

%% @doc The sender's state for a neighbour that knows nothing.
-spec new_sender() -> sender().
new_sender() ->
    #{}.

%% @doc The receiver's state before any message.
-spec new_receiver() -> receiver().
new_receiver() ->
    {none, #{}}.

%% @doc Encodes parts; also returns the numbers defined by the message.
-spec encode(lasp_lattice:type(), [lasp_lattice:keyed()], sender(), numbers()) ->
    {binary(), definitions(), numbers()}.
encode(Type, Parts, Sender, Numbers0) ->
    {Numbered, #numbers{incarnation = Incarnation} = Numbers} = numbered(Type, Parts, Numbers0),
    {Known, Unknown} = lists:partition(fun({Id, _}) -> is_map_key(Id, Sender) end, Numbered),
    New = lists:sort([{Type:path(Key), Leaf, Id} || {Id, {Key, Leaf}} <- Unknown]),
    Block = lasp_parts:encode([{Path, Leaf} || {Path, Leaf, _} <- New]),
    Definitions = [Id || {_, _, Id} <- New],
    Bytes = iolist_to_binary([
        <<Incarnation:?INCARNATION_BITS>>,
        lasp_varint:encode(byte_size(Block)),
        Block,
        ids(Definitions, 0),
        references(lists:keysort(1, Known), -1, #{})
    ]),
    {Bytes, Definitions, Numbers}.

%% @doc The neighbour has received the message with these definitions.
-spec acknowledged(definitions(), sender()) -> sender().
acknowledged(Definitions, Sender) ->
    lists:foldl(fun(Id, Known) -> Known#{Id => []} end, Sender, Definitions).

%% @doc Decodes a message to parts, in any order. `unknown': it uses a number that was never defined
%% to this receiver.
-spec decode(lasp_lattice:type(), binary(), receiver()) ->
    {ok, [lasp_lattice:keyed()], receiver()} | {error, unknown | malformed}.
decode(Type, <<Incarnation:?INCARNATION_BITS, Bytes/binary>>, Receiver) ->
    try
        {Size, AfterSize} = varint(Bytes),
        {Block, AfterBlock} = take(Size, AfterSize),
        New = parts(Type, Block),
        {Known, References} = define(New, 0, AfterBlock, of_incarnation(Incarnation, Receiver)),
        {ok, referred(References, -1, #{}, Known, New), {Incarnation, Known}}
    catch
        throw:Reason -> {error, Reason}
    end;
decode(_, _, _) ->
    {error, malformed}.

%% Internals: writing.

%% Numbers are given in path order, so that those defined together are close.
numbered(Type, Parts, #numbers{of_keys = Ids} = Numbers) ->
    {Numbered, Others} = lists:foldl(
        fun({Key, Leaf} = Part, {Known, Unknown}) ->
            Length = length(Leaf),
            case Ids of
                #{Key := {Id, Length}} -> {[{Id, Part} | Known], Unknown};
                #{} -> {Known, [{Type:path(Key), Part} | Unknown]}
            end
        end,
        {[], []},
        Parts
    ),
    lists:foldl(fun number/2, {Numbered, Numbers}, lists:sort(Others)).

number({_Path, {Key, Leaf} = Part}, {Numbered, Numbers}) ->
    #numbers{next = Id, of_keys = Ids} = Numbers,
    Given = Ids#{Key => {Id, length(Leaf)}},
    {[{Id, Part} | Numbered], Numbers#numbers{next = Id + 1, of_keys = Given}}.

ids([], _Before) ->
    [];
ids([Id | Ids], Before) ->
    [lasp_varint:encode(lasp_varint:fold(Id - Before)) | ids(Ids, Id)].

references([], _Before, _Leaves) ->
    [];
references([{Id, {_, Leaf}} | References], Before, Leaves) ->
    Length = length(Leaf),
    [
        lasp_varint:encode(Id - Before - 1),
        differences(Leaf, leaf_before(Length, Leaves))
        | references(References, Id, Leaves#{Length => Leaf})
    ].

differences([Integer | Leaf], [Before | LeafBefore]) ->
    [lasp_varint:encode(lasp_varint:fold(Integer - Before)) | differences(Leaf, LeafBefore)];
differences([], []) ->
    [].

%% Internals: reading.

of_incarnation(Incarnation, {Incarnation, Known}) -> Known;
of_incarnation(_, _) -> #{}.

parts(Type, Block) ->
    case lasp_parts:decode(Block) of
        {ok, Parts} -> [{key(Type, Path), Leaf} || {Path, Leaf} <- Parts];
        error -> throw(malformed)
    end.

key(Type, Path) ->
    case Type:key(Path) of
        {ok, Key} -> Key;
        error -> throw(malformed)
    end.

define([], _Before, Bytes, Known) ->
    {Known, Bytes};
define([{Key, Leaf} | Parts], Before, Bytes, Known) ->
    {Folded, Rest} = varint(Bytes),
    Id = Before + lasp_varint:unfold(Folded),
    define(Parts, Id, Rest, Known#{Id => {Key, length(Leaf)}}).

referred(<<>>, _Before, _Leaves, _Known, Parts) ->
    Parts;
referred(Bytes, Before, Leaves, Known, Parts) ->
    {Gap, AfterGap} = varint(Bytes),
    Id = Before + Gap + 1,
    case Known of
        #{Id := {Key, Length}} ->
            {Leaf, Rest} = leaf(leaf_before(Length, Leaves), AfterGap),
            referred(Rest, Id, Leaves#{Length => Leaf}, Known, [{Key, Leaf} | Parts]);
        #{} ->
            throw(unknown)
    end.

leaf([], Bytes) ->
    {[], Bytes};
leaf([Before | LeafBefore], Bytes) ->
    {Folded, AfterInteger} = varint(Bytes),
    {Leaf, Rest} = leaf(LeafBefore, AfterInteger),
    {[Before + lasp_varint:unfold(Folded) | Leaf], Rest}.

varint(Bytes) ->
    case lasp_varint:decode(Bytes) of
        {ok, Integer, Rest} -> {Integer, Rest};
        error -> throw(malformed)
    end.

take(Size, Bytes) when Size =< byte_size(Bytes) -> split_binary(Bytes, Size);
take(_, _) -> throw(malformed).

leaf_before(Length, Leaves) ->
    case Leaves of
        #{Length := Leaf} -> Leaf;
        #{} -> lists:duplicate(Length, 0)
    end.

%%% @doc Parts in few bytes for a neighbour that has seen their paths before: a path is sent once,
%%% with a number, and from then on as that number.
%%%
%%% ```
%%% sender    knows which numbers its neighbour knows, because the message that defined them has
%%%           been acknowledged; until then it defines them in every message
%%% receiver  knows the numbers of its neighbour's present epoch
%%% paths     the numbers that this node gives to paths, the same towards all neighbours
%%% '''
%%%
%%% A definition comes with a leaf, and later leaves are written as what they differ by from it: in
%%% a byte for each integer, where the difference is small. A leaf that has moved further is
%%% defined anew. So an actor's next count takes two bytes, one of them for the gap between its
%%% number and the one before.
%%%
%%% == An epoch ==
%%% begins with a sender. Numbers mean nothing outside of it: a receiver that has not seen their
%%% definitions in the epoch of the message answers `unknown', and its neighbour has to begin a new
%%% one. No message, however late, repeated or lost, can be read as other parts than it was made
%%% of.
-module(lasp_dictionary).

-export([new_paths/0]).
-export([new_sender/1]).
-export([new_receiver/0]).
-export([encode/3]).
-export([acknowledged/2]).
-export([decode/3]).

%% How many bits the number of an epoch has.
-define(EPOCH_BITS, 32).
%% The largest difference from the leaf of the definition: what takes one byte.
-define(NEAR, 63).

-type id() :: non_neg_integer().
%% The path itself is kept beside its number, so that all who refer to it share one term.
-opaque paths() :: #{lasp_parts:path() => {id(), lasp_parts:path()}}.

-record(sender, {
    epoch :: epoch(),
    %% The leaves of the definitions that the neighbour knows.
    known = #{} :: #{id() => lasp_parts:leaf()}
}).
-opaque sender() :: #sender{}.

-record(receiver, {
    epoch = none :: none | epoch(),
    known = #{} :: #{id() => {lasp_parts:path(), lasp_parts:leaf()}}
}).
-opaque receiver() :: #receiver{}.

%% Positive; no two senders of a node have the same.
-type epoch() :: pos_integer().
%% What a message has defined.
-type definitions() :: [{id(), lasp_parts:leaf()}].

-export_type([paths/0, sender/0, receiver/0, epoch/0, definitions/0]).

-spec new_paths() -> paths().
new_paths() ->
    #{}.

%% @doc One end of a link, whose neighbour knows nothing.
-spec new_sender(epoch()) -> sender().
new_sender(Epoch) ->
    #sender{epoch = Epoch}.

%% @doc The other end.
-spec new_receiver() -> receiver().
new_receiver() ->
    #receiver{}.

%% @doc The bytes of parts, which are in the order of their paths, and what they define.
-spec encode([lasp_parts:part()], sender(), paths()) -> {binary(), definitions(), paths()}.
encode(Parts, #sender{epoch = Epoch, known = Known}, Paths0) ->
    {Numbered, Paths} = lists:mapfoldl(fun number_part/2, Paths0, Parts),
    {Old, New} = lists:partition(fun(Part) -> is_near(Part, Known) end, Numbered),
    Block = lasp_parts:encode([Part || {_, Part} <- New]),
    Bytes = iolist_to_binary([
        <<Epoch:?EPOCH_BITS>>,
        lasp_varint:encode(byte_size(Block)),
        Block,
        numbers([Number || {Number, _} <- New], 0),
        changes(lists:keysort(1, Old), -1, Known)
    ]),
    {Bytes, [{Number, Leaf} || {Number, {_, Leaf}} <- New], Paths}.

%% @doc The neighbour has received the message that defined these, in this sender's epoch.
-spec acknowledged(definitions(), sender()) -> sender().
acknowledged(Definitions, Sender = #sender{known = Known}) ->
    Sender#sender{known = maps:merge(Known, maps:from_list(Definitions))}.

%% @doc The parts of a message, in some order. `unknown': it uses what the receiver has not seen
%% defined.
-spec decode(binary(), receiver(), paths()) ->
    {ok, [lasp_parts:part()], receiver(), paths()} | {error, unknown | malformed}.
decode(<<Epoch:?EPOCH_BITS, Bytes/binary>>, Receiver, Paths0) ->
    try
        {Size, AfterSize} = varint(Bytes),
        {Block, AfterBlock} = take(Size, AfterSize),
        {New, Paths} = lists:mapfoldl(fun shared/2, Paths0, parts(Block)),
        {Defined, Changes} = defined(New, 0, AfterBlock, []),
        #receiver{known = Known0} = in_epoch(Epoch, Receiver),
        Known = maps:merge(Known0, maps:from_list(Defined)),
        Parts = changed(Changes, -1, Known, New),
        {ok, Parts, #receiver{epoch = Epoch, known = Known}, Paths}
    catch
        throw:Reason -> {error, Reason}
    end;
decode(_, _, _) ->
    {error, malformed}.

%% Internals: numbers.

number_part({Path, _} = Part, Paths) ->
    {{Number, _}, Next} = intern(Path, Paths),
    {{Number, Part}, Next}.

shared({Path, Leaf}, Paths) ->
    {{_, Shared}, Next} = intern(Path, Paths),
    {{Shared, Leaf}, Next}.

intern(Path, Paths) ->
    case Paths of
        #{Path := Interned} ->
            {Interned, Paths};
        #{} ->
            Interned = {map_size(Paths), Path},
            {Interned, Paths#{Path => Interned}}
    end.

%% Internals: writing.

numbers([], _Before) ->
    [];
numbers([Number | Numbers], Before) ->
    [lasp_varint:encode(lasp_varint:fold(Number - Before)) | numbers(Numbers, Number)].

changes([], _Before, _Known) ->
    [];
changes([{Number, {_, Leaf}} | Changes], Before, Known) ->
    Differences = [
        lasp_varint:encode(lasp_varint:fold(Integer - Base))
     || {Integer, Base} <- lists:zip(Leaf, maps:get(Number, Known))
    ],
    [lasp_varint:encode(Number - Before - 1), Differences | changes(Changes, Number, Known)].

is_near({Number, {_, Leaf}}, Known) ->
    case Known of
        #{Number := Bases} -> near(Leaf, Bases);
        #{} -> false
    end.

near([Integer | Leaf], [Base | Bases]) -> abs(Integer - Base) =< ?NEAR andalso near(Leaf, Bases);
near([], []) -> true;
near(_, _) -> false.

%% Internals: reading.

in_epoch(Epoch, Receiver = #receiver{epoch = Epoch}) -> Receiver;
in_epoch(_, _) -> new_receiver().

parts(Block) ->
    case lasp_parts:decode(Block) of
        {ok, Parts} -> Parts;
        error -> throw(malformed)
    end.

defined([], _Before, Bytes, Defined) ->
    {Defined, Bytes};
defined([Part | Parts], Before, Bytes, Defined) ->
    {Folded, Rest} = varint(Bytes),
    Number = Before + lasp_varint:unfold(Folded),
    defined(Parts, Number, Rest, [{Number, Part} | Defined]).

changed(<<>>, _Before, _Known, Parts) ->
    Parts;
changed(Bytes, Before, Known, Parts) ->
    {Gap, AfterGap} = varint(Bytes),
    Number = Before + Gap + 1,
    case Known of
        #{Number := {Path, Bases}} ->
            {Leaf, Rest} = leaf(Bases, AfterGap),
            changed(Rest, Number, Known, [{Path, Leaf} | Parts]);
        #{} ->
            throw(unknown)
    end.

leaf([], Bytes) ->
    {[], Bytes};
leaf([Base | Bases], Bytes) ->
    {Difference, AfterInteger} = varint(Bytes),
    {Leaf, Rest} = leaf(Bases, AfterInteger),
    {[Base + lasp_varint:unfold(Difference) | Leaf], Rest}.

varint(Bytes) ->
    case lasp_varint:decode(Bytes) of
        {ok, Integer, Rest} -> {Integer, Rest};
        error -> throw(malformed)
    end.

take(Size, Bytes) when Size =< byte_size(Bytes) -> split_binary(Bytes, Size);
take(_, _) -> throw(malformed).

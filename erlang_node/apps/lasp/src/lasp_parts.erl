%%% @doc The parts of a replicated value, and their compact encoding.
%%%
%%% A part is a path and a leaf: `{[<<"ads-17">>, 1795224000123456, 0], [20]}' means that the
%%% incarnation of `ads-17' that began then has counted ad 0 twenty times. A path is a list of
%%% binaries and integers, a leaf a list of integers that only grows. A value's canonical form is
%%% the list of its parts in path order, and every part alone is a value too: the join decomposition
%%% that delta synchronisation needs (Enes et al., "Efficient synchronization of state-based CRDTs",
%%% ICDE 2019).
%%%
%%% == The encoding ==
%%% All paths, then all leaves: the paths sent between replicas are mostly those of the last time,
%%% and need to be decoded only once ({@link lasp_form}).
%%%
%%% ```
%%% size       of the paths in bytes; no parts are no bytes at all
%%% paths      each as what differs from the one before, which it resembles:
%%%   shape      how many elements it shares with the path before, how many more it has, and how
%%%              many integers its leaf has: one byte where these are small
%%%   elements   an integer less the one at its place in the path before; of a binary, how many
%%%              bytes it shares with the one at its place, and the others
%%% leaves     those of one integer, those of two, and so on; each integer less the one at its place
%%%            in the leaf before
%%% '''
%%%
%%% The same parts are the same bytes on every node and OTP release, so that they can be hashed.
-module(lasp_parts).

-export([encode/1]).
-export([decode/1]).
-export([split/1]).
-export([encode_paths/1]).
-export([decode_paths/1]).
-export([assemble/2]).
-export([add_leaf/3]).
-export([first/1]).
-export([next_leaf/2]).

-type element() :: binary() | integer().
-type path() :: [element()].
-type leaf() :: [integer()].
-type part() :: {path(), leaf()}.
%% A path, and the length of its leaf.
-type shape() :: {path(), Length :: non_neg_integer()}.

-export_type([path/0, leaf/0, part/0, shape/0]).

%% Decoding limits; longer leaves and integers are rejected, since no type has them.
-define(MAX_LEAF, 16).
-define(MAX_BITS, 140).

%% @doc Encodes parts; most compact in path order.
-spec encode([part()]) -> binary().
encode(Parts) ->
    Paths = encode_paths([{Path, length(Leaf)} || {Path, Leaf} <- Parts]),
    Lengths = lists:usort([length(Leaf) || {_, Leaf} <- Parts]),
    Columns = [[Leaf || {_, Leaf} <- Parts, length(Leaf) =:= Length] || Length <- Lengths],
    assemble(Paths, << <<(column(Column))/binary>> || Column <- Columns >>).

%% @doc Decodes the result of `encode/1'; other bytes are an error, or other parts.
-spec decode(binary()) -> {ok, [part()]} | error.
decode(Bytes) ->
    case split(Bytes) of
        {ok, Paths, Leaves} -> decode(Paths, Leaves);
        error -> error
    end.

%% @doc Splits an encoding into its two halves, without decoding them.
-spec split(binary()) -> {ok, Paths :: binary(), Leaves :: binary()} | error.
split(<<>>) ->
    {ok, <<>>, <<>>};
split(Bytes) ->
    case lasp_varint:decode(Bytes) of
        {ok, Size, Rest} when Size =< byte_size(Rest) ->
            {Paths, Leaves} = split_binary(Rest, Size),
            {ok, Paths, Leaves};
        _ ->
            error
    end.

%% @doc Joins two halves to an encoding.
-spec assemble(Paths :: binary(), Leaves :: binary()) -> binary().
assemble(<<>>, <<>>) ->
    <<>>;
assemble(Paths, Leaves) ->
    Size = list_to_binary(lasp_varint:encode(byte_size(Paths))),
    <<Size/binary, Paths/binary, Leaves/binary>>.

%% @doc Encodes the first half.
-spec encode_paths([shape()]) -> binary().
encode_paths(Shapes) ->
    iolist_to_binary(paths(Shapes, [])).

%% @doc Decodes the result of `encode_paths/1'; other bytes are an error, or other shapes.
-spec decode_paths(binary()) -> {ok, [shape()]} | error.
decode_paths(Bytes) ->
    try
        {ok, paths(Bytes, [], [])}
    catch
        throw:malformed -> error
    end.

%% @doc Appends a leaf to others of its length, the last of which is given.
-spec add_leaf(leaf(), Before :: leaf(), binary()) -> binary().
add_leaf([Integer | Leaf], [Before | LeafBefore], Bytes) ->
    case lasp_varint:fold(Integer - Before) of
        Short when Short < 16#80 ->
            add_leaf(Leaf, LeafBefore, <<Bytes/binary, Short>>);
        Long ->
            Written = list_to_binary(lasp_varint:encode(Long)),
            add_leaf(Leaf, LeafBefore, <<Bytes/binary, Written/binary>>)
    end;
add_leaf([], [], Bytes) ->
    Bytes.

%% @doc The assumed predecessor of the first leaf of a length.
-spec first(Length :: non_neg_integer()) -> leaf().
first(Length) ->
    lists:duplicate(Length, 0).

%% @doc Decodes the leaf that follows one of the same length; returns it and the remaining bytes.
-spec next_leaf(Before :: leaf(), binary()) -> {leaf(), binary()} | error.
next_leaf([Before], <<0:1, Integer:7, Bytes/binary>>) ->
    {[Before + lasp_varint:unfold(Integer)], Bytes};
next_leaf(Before, Bytes) ->
    next_leaf(Before, Bytes, []).

%% Internals: writing.

column(Leaves = [Leaf | _]) ->
    column(Leaves, first(length(Leaf)), <<>>).

column([Leaf | Leaves], Before, Bytes) ->
    column(Leaves, Leaf, add_leaf(Leaf, Before, Bytes));
column([], _Before, Bytes) ->
    Bytes.

paths([], _Before) ->
    [];
paths([{Path, Length} | Shapes], Before) ->
    {Shared, Rest, RestBefore} = shared(Path, Before, 0),
    [shape(Shared, length(Rest), Length), elements(Rest, RestBefore) | paths(Shapes, Path)].

shared([Element | Path], [Element | Before], Shared) -> shared(Path, Before, Shared + 1);
shared(Path, Before, Shared) -> {Shared, Path, Before}.

shape(Shared, Rest, Leaf) when Shared < 4, Rest < 8, Leaf < 4 ->
    (Shared bsl 5) bor (Rest bsl 2) bor Leaf;
shape(Shared, Rest, Leaf) ->
    [16#80, Shared, Rest, Leaf].

elements([], _Before) ->
    [];
elements([Integer | Rest], [Before | RestBefore]) when is_integer(Integer), is_integer(Before) ->
    [integer(Integer - Before) | elements(Rest, RestBefore)];
elements([Integer | Rest], Before) when is_integer(Integer) ->
    [integer(Integer) | elements(Rest, next(Before))];
elements([Binary | Rest], [Before | RestBefore]) when is_binary(Before) ->
    Shared = binary:longest_common_prefix([Binary, Before]),
    [binary(Shared, Binary) | elements(Rest, RestBefore)];
elements([Binary | Rest], Before) ->
    [binary(0, Binary) | elements(Rest, next(Before))].

integer(Integer) ->
    lasp_varint:encode(lasp_varint:fold(Integer) bsl 1).

binary(Shared, Binary) ->
    Own = byte_size(Binary) - Shared,
    [
        lasp_varint:encode((Shared bsl 1) bor 1),
        lasp_varint:encode(Own),
        binary_part(Binary, Shared, Own)
    ].

%% Internals: reading parts.

decode(Paths, Leaves) ->
    case decode_paths(Paths) of
        {ok, Shapes} -> parts(Shapes, Leaves);
        error -> error
    end.

parts(Shapes, Bytes) ->
    case columns(lists:usort([Length || {_, Length} <- Shapes]), Shapes, Bytes, #{}) of
        {ok, Columns} -> {ok, in_order(Shapes, Columns)};
        error -> error
    end.

columns([Length | Lengths], Shapes, Bytes, Columns) ->
    Count = length([Path || {Path, L} <- Shapes, L =:= Length]),
    case leaves(Count, first(Length), Bytes, []) of
        {ok, Leaves, Rest} -> columns(Lengths, Shapes, Rest, Columns#{Length => Leaves});
        error -> error
    end;
columns([], _Shapes, <<>>, Columns) ->
    {ok, Columns};
columns([], _Shapes, _Bytes, _Columns) ->
    error.

leaves(0, _Before, Bytes, Leaves) ->
    {ok, lists:reverse(Leaves), Bytes};
leaves(Count, Before, Bytes, Leaves) ->
    case next_leaf(Before, Bytes) of
        {Leaf, Rest} -> leaves(Count - 1, Leaf, Rest, [Leaf | Leaves]);
        error -> error
    end.

in_order([{Path, Length} | Shapes], Columns) ->
    #{Length := [Leaf | Leaves]} = Columns,
    [{Path, Leaf} | in_order(Shapes, Columns#{Length := Leaves})];
in_order([], _Columns) ->
    [].

next_leaf([Before | LeafBefore], Bytes, Leaf) ->
    case lasp_varint:decode(Bytes) of
        {ok, Folded, Rest} ->
            next_leaf(LeafBefore, Rest, [Before + lasp_varint:unfold(Folded) | Leaf]);
        error ->
            error
    end;
next_leaf([], Bytes, Leaf) ->
    {lists:reverse(Leaf), Bytes}.

%% Internals: decoding paths. The remaining bytes are always the first argument and passed on
%% unchanged, so that the virtual machine reuses the match context and creates no binaries.

-spec paths(binary(), path(), [shape()]) -> [shape()].
paths(<<>>, _Path, Shapes) ->
    lists:reverse(Shapes);
paths(<<0:1, Shared:2, Rest:3, Length:2, Bytes/binary>>, Before, Shapes) ->
    path(Bytes, Shared, Rest, Length, Before, [], Shapes);
paths(<<1:1, 0:7, Shared, Rest, Length, Bytes/binary>>, Before, Shapes) when
    Length =< ?MAX_LEAF
->
    path(Bytes, Shared, Rest, Length, Before, [], Shapes);
paths(_, _, _) ->
    throw(malformed).

%% The path in reverse: the shared elements, then the others.
path(Bytes, 0, Rest, Length, Before, Path, Shapes) ->
    rest(Bytes, Rest, Length, Before, Path, Shapes);
path(Bytes, Shared, Rest, Length, [Element | Before], Path, Shapes) ->
    path(Bytes, Shared - 1, Rest, Length, Before, [Element | Path], Shapes);
path(_, _, _, _, [], _, _) ->
    throw(malformed).

rest(Bytes, 0, Length, _Before, Path, Shapes) ->
    Whole = lists:reverse(Path),
    paths(Bytes, Whole, [{Whole, Length} | Shapes]);
rest(Bytes, Rest, Length, Before, Path, Shapes) ->
    element(Bytes, 0, 0, Rest, Length, Before, Path, Shapes).

%% A varint, byte by byte, and then the element it starts.
element(<<1:1, Low:7, Bytes/binary>>, Shift, Tagged, Rest, Length, Before, Path, Shapes) when
    Shift < ?MAX_BITS
->
    Head = Tagged bor (Low bsl Shift),
    element(Bytes, Shift + 7, Head, Rest, Length, Before, Path, Shapes);
element(<<0:1, High:7, Bytes/binary>>, Shift, Tagged, Rest, Length, Before, Path, Shapes) ->
    case Tagged bor (High bsl Shift) of
        Folded when Folded band 1 =:= 0 ->
            Integer = lasp_varint:unfold(Folded bsr 1) + integer_before(Before),
            rest(Bytes, Rest - 1, Length, next(Before), [Integer | Path], Shapes);
        Shared ->
            {Binary, Others} = own(Bytes, Shared bsr 1, Before),
            rest(Others, Rest - 1, Length, next(Before), [Binary | Path], Shapes)
    end;
element(_, _, _, _, _, _, _, _) ->
    throw(malformed).

own(<<0:1, Size:7, Own:Size/binary, Others/binary>>, Shared, Before) ->
    {whole(Shared, Own, Before), Others};
own(Bytes, Shared, Before) ->
    case lasp_varint:decode(Bytes) of
        {ok, Size, Rest} when Size =< byte_size(Rest) ->
            {Own, Others} = split_binary(Rest, Size),
            {whole(Shared, Own, Before), Others};
        _ ->
            throw(malformed)
    end.

%% A copy: the path must not keep the message alive.
whole(0, Own, _Before) ->
    binary:copy(Own);
whole(Shared, Own, [Before | _]) when is_binary(Before), Shared =< byte_size(Before) ->
    <<Before:Shared/binary, Own/binary>>;
whole(_, _, _) ->
    throw(malformed).

%% Internals: the reference for an element.

next([_ | Before]) -> Before;
next([]) -> [].

integer_before([Before | _]) when is_integer(Before) -> Before;
integer_before(_) -> 0.

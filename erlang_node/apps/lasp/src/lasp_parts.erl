%%% @doc The parts that a replicated value is made of, and how they are written in few bytes.
%%%
%%% A part is a path and a leaf: `{[<<"ads-17">>, 1795224000123456, 0], [20]}' says that the life of
%%% `ads-17' that began then has counted ad 0 twenty times. A path is a list of binaries and
%%% integers, a leaf a list of integers that only grows. The list of its parts in the order of
%%% their paths is a value's canonical form, and every part alone is a value too: this is the join
%%% decomposition that synchronising by deltas needs (Enes et al., "Efficient synchronization of
%%% state-based CRDTs", ICDE 2019).
%%%
%%% == The encoding ==
%%% Parts in order resemble the one before, so that each is written as what differs from it:
%%%
%%% ```
%%% shape      how many elements the path shares with the path before, how many more it has, and
%%%            how many integers the leaf has: one byte where these are small
%%% elements   an integer less the one at its place in the path before; of a binary, how many bytes
%%%            it shares with the one at its place, and the others
%%% leaf       each integer less the one at its place in the last leaf of the same length
%%% '''
%%%
%%% The same parts are the same bytes on every node and OTP release, so that they can be hashed.
-module(lasp_parts).

-export([encode/1]).
-export([decode/1]).

-type element() :: binary() | integer().
-type path() :: [element()].
-type leaf() :: [integer()].
-type part() :: {path(), leaf()}.

-export_type([path/0, leaf/0, part/0]).

%% The last leaves, by their length.
-type leaves() :: #{non_neg_integer() => leaf()}.

%% What is read; longer leaves and integers are refused, for no type has them.
-define(MAX_LEAF, 16).
-define(MAX_BITS, 140).

%% @doc The bytes of parts; fewest where they are in the order of their paths.
-spec encode([part()]) -> binary().
encode(Parts) ->
    iolist_to_binary(encode(Parts, [], #{})).

%% @doc The parts that `encode/1' wrote; anything else is an error, or other parts.
-spec decode(binary()) -> {ok, [part()]} | error.
decode(Bytes) ->
    try
        {ok, decode(Bytes, [], #{}, [])}
    catch
        throw:malformed -> error
    end.

%% Internals: writing.

-spec encode([part()], path(), leaves()) -> iolist().
encode([], _Path, _Leaves) ->
    [];
encode([{Path, Leaf} | Parts], Before, Leaves) ->
    {Shared, Rest, RestBefore} = shared(Path, Before, 0),
    Length = length(Leaf),
    [
        shape(Shared, length(Rest), Length),
        elements(Rest, RestBefore),
        integers(Leaf, leaf_before(Length, Leaves))
        | encode(Parts, Path, Leaves#{Length => Leaf})
    ].

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

integers([Integer | Rest], [Before | RestBefore]) ->
    [lasp_varint:encode(lasp_varint:fold(Integer - Before)) | integers(Rest, RestBefore)];
integers([], []) ->
    [].

%% Internals: reading. What is left of the bytes is the first argument all the way, handed on as it
%% is: so the virtual machine reads on where it is, and makes no binary for it.

-spec decode(binary(), path(), leaves(), [part()]) -> [part()].
decode(<<>>, _Path, _Leaves, Parts) ->
    lists:reverse(Parts);
decode(<<0:1, Shared:2, Rest:3, Length:2, Bytes/binary>>, Before, Leaves, Parts) ->
    path(Bytes, Shared, Rest, Length, Before, [], Leaves, Parts);
decode(<<1:1, 0:7, Shared, Rest, Length, Bytes/binary>>, Before, Leaves, Parts) when
    Length =< ?MAX_LEAF
->
    path(Bytes, Shared, Rest, Length, Before, [], Leaves, Parts);
decode(_, _, _, _) ->
    throw(malformed).

%% The path, from its end to its beginning: what is shared, then the elements.
path(Bytes, 0, Rest, Length, Before, Path, Leaves, Parts) ->
    rest(Bytes, Rest, Length, Before, Path, Leaves, Parts);
path(Bytes, Shared, Rest, Length, [Element | Before], Path, Leaves, Parts) ->
    path(Bytes, Shared - 1, Rest, Length, Before, [Element | Path], Leaves, Parts);
path(_, _, _, _, [], _, _, _) ->
    throw(malformed).

rest(Bytes, 0, Length, _Before, Path, Leaves, Parts) ->
    leaf(Bytes, leaf_before(Length, Leaves), Length, [], lists:reverse(Path), Leaves, Parts);
rest(Bytes, Rest, Length, Before, Path, Leaves, Parts) ->
    element(Bytes, 0, 0, Rest, Length, Before, Path, Leaves, Parts).

%% A varint, byte by byte; then what it is the head of.
element(<<1:1, Low:7, Bytes/binary>>, Shift, Tagged, Rest, Length, Before, Path, Leaves, Parts) when
    Shift < ?MAX_BITS
->
    Head = Tagged bor (Low bsl Shift),
    element(Bytes, Shift + 7, Head, Rest, Length, Before, Path, Leaves, Parts);
element(<<0:1, High:7, Bytes/binary>>, Shift, Tagged, Rest, Length, Before, Path, Leaves, Parts) ->
    case Tagged bor (High bsl Shift) of
        Folded when Folded band 1 =:= 0 ->
            Integer = lasp_varint:unfold(Folded bsr 1) + integer_before(Before),
            rest(Bytes, Rest - 1, Length, next(Before), [Integer | Path], Leaves, Parts);
        Shared ->
            {Binary, Others} = own(Bytes, Shared bsr 1, Before),
            rest(Others, Rest - 1, Length, next(Before), [Binary | Path], Leaves, Parts)
    end;
element(_, _, _, _, _, _, _, _, _) ->
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

leaf(Bytes, [], Length, Leaf, Path, Leaves, Parts) ->
    Whole = lists:reverse(Leaf),
    decode(Bytes, Path, Leaves#{Length => Whole}, [{Path, Whole} | Parts]);
leaf(Bytes, Before, Length, Leaf, Path, Leaves, Parts) ->
    leaf(Bytes, 0, 0, Before, Length, Leaf, Path, Leaves, Parts).

leaf(<<1:1, Low:7, Bytes/binary>>, Shift, Folded, Before, Length, Leaf, Path, Leaves, Parts) when
    Shift < ?MAX_BITS
->
    Head = Folded bor (Low bsl Shift),
    leaf(Bytes, Shift + 7, Head, Before, Length, Leaf, Path, Leaves, Parts);
leaf(<<0:1, High:7, Bytes/binary>>, Shift, Folded, Before, Length, Leaf, Path, Leaves, Parts) ->
    Integer = lasp_varint:unfold(Folded bor (High bsl Shift)) + hd(Before),
    leaf(Bytes, tl(Before), Length, [Integer | Leaf], Path, Leaves, Parts);
leaf(_, _, _, _, _, _, _, _, _) ->
    throw(malformed).

%% Internals: what a part is compared with.

next([_ | Before]) -> Before;
next([]) -> [].

integer_before([Before | _]) when is_integer(Before) -> Before;
integer_before(_) -> 0.

leaf_before(Length, Leaves) ->
    case Leaves of
        #{Length := Leaf} -> Leaf;
        #{} -> lists:duplicate(Length, 0)
    end.

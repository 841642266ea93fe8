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

-define(MAX_PATH, 16).
-define(MAX_LEAF, 16).

%% @doc The bytes of parts; fewest where they are in the order of their paths.
-spec encode([part()]) -> binary().
encode(Parts) ->
    encode(Parts, [], #{}, <<>>).

%% @doc The parts that `encode/1' wrote; anything else is an error, or other parts.
-spec decode(binary()) -> {ok, [part()]} | error.
decode(Bytes) ->
    try
        {ok, decode(Bytes, [], #{}, [])}
    catch
        throw:malformed -> error
    end.

%% Internals: writing.

-spec encode([part()], path(), leaves(), binary()) -> binary().
encode([], _Path, _Leaves, Bytes) ->
    Bytes;
encode([{Path, Leaf} | Parts], Before, Leaves, Bytes) ->
    {Shared, Rest, RestBefore} = shared(Path, Before, 0),
    Length = length(Leaf),
    Shape = shape(Shared, length(Rest), Length),
    Elements = elements(Rest, RestBefore, <<Bytes/binary, Shape/binary>>),
    Written = integers(Leaf, leaf_before(Length, Leaves), Elements),
    encode(Parts, Path, Leaves#{Length => Leaf}, Written).

shared([Element | Path], [Element | Before], Shared) -> shared(Path, Before, Shared + 1);
shared(Path, Before, Shared) -> {Shared, Path, Before}.

shape(Shared, Rest, Leaf) when Shared < 4, Rest < 8, Leaf < 4 ->
    <<0:1, Shared:2, Rest:3, Leaf:2>>;
shape(Shared, Rest, Leaf) ->
    <<1:1, 0:7, Shared, Rest, Leaf>>.

elements([], _Before, Bytes) ->
    Bytes;
elements([Element | Rest], Before, Bytes) ->
    {Reference, RestBefore} = reference(Before),
    elements(Rest, RestBefore, <<Bytes/binary, (element_bytes(Element, Reference))/binary>>).

element_bytes(Integer, Before) when is_integer(Integer) ->
    lasp_varint:encode(lasp_varint:fold(Integer - integer(Before)) bsl 1);
element_bytes(Binary, Before) ->
    Shared = binary:longest_common_prefix([Binary, binary(Before)]),
    Own = byte_size(Binary) - Shared,
    <<
        (lasp_varint:encode((Shared bsl 1) bor 1))/binary,
        (lasp_varint:encode(Own))/binary,
        (binary:part(Binary, Shared, Own))/binary
    >>.

integers([], _Before, Bytes) ->
    Bytes;
integers([Integer | Rest], [Before | RestBefore], Bytes) ->
    Difference = lasp_varint:fold(Integer - Before),
    integers(Rest, RestBefore, <<Bytes/binary, (lasp_varint:encode(Difference))/binary>>).

%% Internals: reading.

-spec decode(binary(), path(), leaves(), [part()]) -> [part()].
decode(<<>>, _Path, _Leaves, Parts) ->
    lists:reverse(Parts);
decode(Bytes, Before, Leaves, Parts) ->
    {Shared, Rest, Length, AfterShape} = decode_shape(Bytes),
    {Common, RestBefore} = split(Shared, Before),
    {Elements, AfterPath} = decode_elements(Rest, RestBefore, AfterShape),
    {Leaf, Others} = decode_integers(leaf_before(Length, Leaves), AfterPath),
    Path = Common ++ Elements,
    decode(Others, Path, Leaves#{Length => Leaf}, [{Path, Leaf} | Parts]).

decode_shape(<<0:1, Shared:2, Rest:3, Leaf:2, Bytes/binary>>) ->
    {Shared, Rest, Leaf, Bytes};
decode_shape(<<1:1, 0:7, Shared, Rest, Leaf, Bytes/binary>>) when
    Rest =< ?MAX_PATH, Leaf =< ?MAX_LEAF
->
    {Shared, Rest, Leaf, Bytes};
decode_shape(_) ->
    throw(malformed).

split(Shared, Before) when Shared =< length(Before) -> lists:split(Shared, Before);
split(_, _) -> throw(malformed).

decode_elements(0, _Before, Bytes) ->
    {[], Bytes};
decode_elements(Rest, Before, Bytes) ->
    {Reference, RestBefore} = reference(Before),
    {Element, AfterElement} = decode_element(Reference, Bytes),
    {Elements, Others} = decode_elements(Rest - 1, RestBefore, AfterElement),
    {[Element | Elements], Others}.

decode_element(Before, Bytes) ->
    case varint(Bytes) of
        {Tagged, Rest} when Tagged band 1 =:= 0 ->
            {lasp_varint:unfold(Tagged bsr 1) + integer(Before), Rest};
        {Tagged, Rest} ->
            {Size, AfterSize} = varint(Rest),
            decode_binary(Tagged bsr 1, Size, binary(Before), AfterSize)
    end.

%% A copy: the path must not keep the message alive.
decode_binary(Shared, Size, Before, Bytes) when
    Shared =< byte_size(Before), Size =< byte_size(Bytes)
->
    <<Own:Size/binary, Rest/binary>> = Bytes,
    {<<(binary:part(Before, 0, Shared))/binary, Own/binary>>, Rest};
decode_binary(_, _, _, _) ->
    throw(malformed).

decode_integers([], Bytes) ->
    {[], Bytes};
decode_integers([Before | RestBefore], Bytes) ->
    {Difference, AfterInteger} = varint(Bytes),
    {Integers, Others} = decode_integers(RestBefore, AfterInteger),
    {[lasp_varint:unfold(Difference) + Before | Integers], Others}.

varint(Bytes) ->
    case lasp_varint:decode(Bytes) of
        {ok, Integer, Rest} -> {Integer, Rest};
        error -> throw(malformed)
    end.

%% Internals: what a part is compared with.

reference([Element | Before]) -> {Element, Before};
reference([]) -> {none, []}.

integer(Before) when is_integer(Before) -> Before;
integer(_) -> 0.

binary(Before) when is_binary(Before) -> Before;
binary(_) -> <<>>.

leaf_before(Length, Leaves) ->
    case Leaves of
        #{Length := Leaf} -> Leaf;
        #{} -> lists:duplicate(Length, 0)
    end.

%%% @doc Variable-length integers: seven bits per byte, lowest first, the high bit set on all bytes
%%% but the last. Signed integers are folded first (zigzag), so that small absolute values are
%%% short: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4.
-module(lasp_varint).

-export([encode/1]).
-export([decode/1]).
-export([fold/1]).
-export([unfold/1]).

%% Limit of `decode/1'; longer ones are rejected, since no peer needs them.
-define(MAX_BITS, 140).

%% @doc Encodes an integer: 1 byte up to 127, 2 up to 16,383, and so on.
-spec encode(non_neg_integer()) -> [byte(), ...].
encode(Integer) when Integer < 16#80 ->
    [Integer];
encode(Integer) ->
    [16#80 bor (Integer band 16#7F) | encode(Integer bsr 7)].

%% @doc Decodes the integer at the head of a binary; also returns the rest.
-spec decode(binary()) -> {ok, non_neg_integer(), Rest :: binary()} | error.
decode(<<0:1, Integer:7, Rest/binary>>) ->
    {ok, Integer, Rest};
decode(Bytes) ->
    decode(Bytes, 0, 0).

decode(<<1:1, Low:7, Rest/binary>>, Shift, Integer) when Shift < ?MAX_BITS ->
    decode(Rest, Shift + 7, Integer bor (Low bsl Shift));
decode(<<0:1, High:7, Rest/binary>>, Shift, Integer) ->
    {ok, Integer bor (High bsl Shift), Rest};
decode(_, _, _) ->
    error.

%% @doc Folds a signed integer to a natural number.
-spec fold(integer()) -> non_neg_integer().
fold(Integer) when Integer >= 0 -> Integer bsl 1;
fold(Integer) -> (-Integer bsl 1) - 1.

%% @doc Inverse of the above.
-spec unfold(non_neg_integer()) -> integer().
unfold(Natural) when Natural band 1 =:= 0 -> Natural bsr 1;
unfold(Natural) -> -((Natural + 1) bsr 1).

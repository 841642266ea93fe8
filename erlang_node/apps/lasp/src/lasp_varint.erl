%%% @doc Integers in as few bytes as they need: seven bits to a byte, the lowest first, the high bit
%%% set on all bytes but the last. An integer that may be negative is folded first, so that what is
%%% near zero is short on either side: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4.
-module(lasp_varint).

-export([encode/1]).
-export([decode/1]).
-export([fold/1]).
-export([unfold/1]).

%% What `decode/1' takes; longer ones are refused, for no peer needs them.
-define(MAX_BITS, 140).

%% @doc The bytes: 1 up to 127, 2 up to 16,383, and so on.
-spec encode(non_neg_integer()) -> [byte(), ...].
encode(Integer) when Integer < 16#80 ->
    [Integer];
encode(Integer) ->
    [16#80 bor (Integer band 16#7F) | encode(Integer bsr 7)].

%% @doc The integer at the head of a binary, and what follows it.
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

%% @doc A natural number for every integer.
-spec fold(integer()) -> non_neg_integer().
fold(Integer) when Integer >= 0 -> Integer bsl 1;
fold(Integer) -> (-Integer bsl 1) - 1.

%% @doc The integer of a natural number.
-spec unfold(non_neg_integer()) -> integer().
unfold(Natural) when Natural band 1 =:= 0 -> Natural bsr 1;
unfold(Natural) -> -((Natural + 1) bsr 1).

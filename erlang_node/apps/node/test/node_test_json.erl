%%% @doc A JSON decoder for the tests: strict, slow, and written against the RFC rather than against
%%% the encoder. Objects become maps with binary keys.
-module(node_test_json).

-export([decode/1]).

decode(Text) ->
    {Value, Rest} = value(skip(iolist_to_binary(Text))),
    <<>> = skip(Rest),
    Value.

value(<<"null", Rest/binary>>) -> {null, Rest};
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<$", Rest/binary>>) -> string(Rest, <<>>);
value(<<$[, Rest/binary>>) -> array(skip(Rest), []);
value(<<${, Rest/binary>>) -> object(skip(Rest), #{});
value(Text) -> number(Text).

array(<<$], Rest/binary>>, []) ->
    {[], Rest};
array(Text, Values) ->
    {Value, Rest} = value(Text),
    case skip(Rest) of
        <<$,, More/binary>> -> array(skip(More), [Value | Values]);
        <<$], After/binary>> -> {lists:reverse(Values, [Value]), After}
    end.

object(<<$}, Rest/binary>>, Members) when map_size(Members) =:= 0 ->
    {#{}, Rest};
object(<<$", Text/binary>>, Members) ->
    {Key, AfterKey} = string(Text, <<>>),
    <<$:, AfterColon/binary>> = skip(AfterKey),
    {Value, Rest} = value(skip(AfterColon)),
    false = is_map_key(Key, Members),
    All = Members#{Key => Value},
    case skip(Rest) of
        <<$,, More/binary>> -> object(skip(More), All);
        <<$}, After/binary>> -> {All, After}
    end.

string(<<$", Rest/binary>>, Acc) ->
    {Acc, Rest};
string(<<"\\u", Hex:4/binary, Rest/binary>>, Acc) ->
    string(Rest, <<Acc/binary, (binary_to_integer(Hex, 16))/utf8>>);
string(<<$\\, Escaped, Rest/binary>>, Acc) ->
    #{Escaped := Char} = #{
        $" => $", $\\ => $\\, $/ => $/, $b => $\b, $f => $\f, $n => $\n, $r => $\r, $t => $\t
    },
    string(Rest, <<Acc/binary, Char>>);
string(<<Char/utf8, Rest/binary>>, Acc) when Char >= 16#20 ->
    string(Rest, <<Acc/binary, Char/utf8>>).

number(Text) ->
    {match, [Number]} = re:run(
        Text, "^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", [{capture, all, binary}]
    ),
    Rest = binary:part(Text, byte_size(Number), byte_size(Text) - byte_size(Number)),
    {to_number(Number), Rest}.

to_number(Number) ->
    case {binary:match(Number, <<".">>), binary:match(Number, [<<"e">>, <<"E">>])} of
        {nomatch, nomatch} -> binary_to_integer(Number);
        {nomatch, {At, 1}} ->
            {Mantissa, Exponent} = split_binary(Number, At),
            binary_to_float(<<Mantissa/binary, ".0", Exponent/binary>>);
        {_, _} -> binary_to_float(Number)
    end.

skip(<<Space, Rest/binary>>) when Space =:= $\s; Space =:= $\t; Space =:= $\n; Space =:= $\r ->
    skip(Rest);
skip(Text) ->
    Text.

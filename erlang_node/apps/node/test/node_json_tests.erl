-module(node_json_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

what_is_encoded_decodes_to_itself_test_() ->
    Property = ?FORALL(
        Value, json(), node_test_json:decode(node_json:encode(Value)) =:= Value
    ),
    {timeout, 600, ?_assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 100}]))}.

one_line_test_() ->
    Property = ?FORALL(
        Value, json(), binary:match(iolist_to_binary(node_json:encode(Value)), <<"\n">>) =:= nomatch
    ),
    {timeout, 600, ?_assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 50}]))}.

texts_test_() ->
    [
        ?_assertEqual(Text, iolist_to_binary(node_json:encode(Value)))
     || {Text, Value} <- [
            {<<"{\"a\":[1,2.5,true,null],\"b\":\"x\"}">>,
                #{a => [1, 2.5, true, null], <<"b">> => x}},
            {<<"\"\\\"\\\\\\n\\r\\t\\u0000\\u001f\"">>, <<"\"\\\n\r\t", 0, 31>>},
            {<<"\"\x{c3}\x{a9}\"">>, <<"é"/utf8>>},
            {<<"{}">>, #{}},
            {<<"[]">>, []}
        ]
    ].

no_utf8_is_an_error_test() ->
    ?assertError({not_utf8, <<255>>}, node_json:encode(<<255>>)).

json() ->
    ?SIZED(Size, json(Size)).

json(0) ->
    oneof([null, true, false, integer(), float(), text()]);
json(Size) ->
    frequency([
        {3, json(0)},
        {1, ?LAZY(list(json(Size div 4)))},
        {1, ?LAZY(?LET(Members, list({text(), json(Size div 4)}), maps:from_list(Members)))}
    ]).

text() ->
    ?LET(Chars, list(any_char()), unicode:characters_to_binary([C || C <- Chars, is_scalar(C)])).

any_char() ->
    oneof([integer(0, 127), integer(0, 16#10FFFF), oneof([$", $\\, $/, $\n])]).

is_scalar(Char) ->
    Char < 16#D800 orelse Char > 16#DFFF.

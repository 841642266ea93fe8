%%% @doc The encoding of parts and of integers.
-module(lasp_parts_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

any_parts_come_back_test() ->
    Property = ?FORALL(
        Parts, list(part()), lasp_parts:decode(lasp_parts:encode(Parts)) =:= {ok, Parts}
    ),
    ?assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 500}])).

no_parts_are_no_bytes_test() ->
    ?assertEqual(<<>>, lasp_parts:encode([])),
    ?assertEqual({ok, []}, lasp_parts:decode(<<>>)).

any_integer_comes_back_test() ->
    Property = ?FORALL(
        {Integer, Rest},
        {integer(-(1 bsl 80), 1 bsl 80), binary()},
        begin
            Bytes = list_to_binary(lasp_varint:encode(lasp_varint:fold(Integer))),
            {ok, Natural, Rest} = lasp_varint:decode(<<Bytes/binary, Rest/binary>>),
            lasp_varint:unfold(Natural) =:= Integer
        end
    ),
    ?assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 500}])).

small_integers_are_one_byte_test() ->
    ?assertEqual([1, 1, 1, 2, 2], [
        length(lasp_varint:encode(lasp_varint:fold(I)))
     || I <- [0, -64, 63, 64, -65]
    ]).

an_integer_without_end_is_refused_test() ->
    ?assertEqual(error, lasp_varint:decode(binary:copy(<<255>>, 1000))),
    ?assertEqual(error, lasp_varint:decode(<<>>)).

parts_that_resemble_each_other_are_short_test() ->
    Parts = [
        {
            [<<"ads-", (integer_to_binary(I))/binary>>, 1795224000000000 + I * 100000, 0],
            [170 + I rem 20]
        }
     || I <- lists:seq(100, 199)
    ],
    ?assert(byte_size(lasp_parts:encode(Parts)) < 12 * length(Parts)).

dangling_references_are_refused_test_() ->
    [
        ?_assertEqual(error, lasp_parts:decode(lasp_parts:assemble(Bytes, <<>>)))
     || Bytes <- [
            % Shares an element with a path that has none.
            <<0:1, 1:2, 0:3, 0:2>>,
            % Shares bytes with a binary that does not exist.
            <<0:1, 0:2, 1:3, 0:2, ((1 bsl 1) bor 1), 0>>,
            % A binary that is longer than the message.
            <<0:1, 0:2, 1:3, 0:2, 1, 100, "short">>,
            % No such shape.
            <<255>>,
            <<128, 0, 255, 0>>
        ]
    ].

part() ->
    {few(oneof([integer(), name(), integer(0, 1 bsl 60)])), few(integer())}.

few(Type) ->
    ?LET(List, list(Type), lists:sublist(List, 12)).

name() ->
    oneof([<<"a">>, <<"ab">>, <<"abc">>, binary()]).

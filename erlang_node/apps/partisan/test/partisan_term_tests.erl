%% Any term comes back equal, and large binaries are parts of what was read.
-module(partisan_term_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(LARGE, 16384).

any_term_with_large_binaries_comes_back_equal_test() ->
    ?assert(
        proper:quickcheck(
            ?FORALL(Term, term_with_large(), {ok, Term} =:= there_and_back(Term)),
            [quiet, {numtests, 500}]
        )
    ).

large_binaries_are_not_copied_test_() ->
    Large = large(7),
    [
        {Title, fun() ->
            Encoded = iolist_to_binary(partisan_term:encode(Term)),
            {ok, Decoded} = partisan_term:decode(Encoded),
            ?assertEqual(Term, Decoded),
            % A part of what was read refers to all of it.
            ?assertEqual(byte_size(Encoded), binary:referenced_byte_size(Find(Decoded)))
        end}
     || {Title, Term, Find} <- [
            {"alone", Large, fun(T) -> T end},
            {"in a call", {call, [x, #{key => {Large}}]}, fun({_, [_, #{key := {B}}]}) -> B end},
            {"one of two", [Large, Large], fun([_, B]) -> B end},
            {"before an improper tail", [Large | tail], fun([B | tail]) -> B end}
        ]
    ].

what_is_not_found_is_copied_test_() ->
    Large = large(3),
    [
        {Title, ?_assertEqual({ok, Term}, there_and_back(Term))}
     || {Title, Term} <- [
            {"a tail", [a | Large]},
            {"a key", #{Large => 1}},
            {"bits", <<Large/binary, 1:3>>},
            {"after many", lists:seq(1, 10000) ++ [Large]},
            {"many", lists:duplicate(300, Large)}
        ]
    ].

a_small_term_is_its_external_format_test() ->
    Term = {sink, [hello, <<"world">>]},
    ?assertEqual(term_to_binary(Term), iolist_to_binary(partisan_term:encode(Term))).

holes_that_lead_nowhere_are_refused_test_() ->
    [
        {lists:flatten(io_lib:format("~0P ~0P", [Skeleton, 9, Holes, 9])),
            ?_assertEqual(error, decode(Skeleton, Holes, <<1, 2, 3>>))}
     || {Skeleton, Holes} <- [
            {{a}, [{[2], 3}]},
            {{a}, [{[0], 3}]},
            {{a}, [{[1, 1], 3}]},
            {#{a => 1}, [{[b], 3}]},
            {[a], [{[2], 3}]},
            {[a], [{[0], 3}]},
            {[a], [{[x], 3}]},
            {{a}, [{[1], 2}]},
            {{a}, [{[1], 4}]},
            {{a}, [{[1], -1}]},
            {{a}, [{[1], x}]},
            {{a}, [{1, 3}]},
            {{a}, [x]},
            {{a}, x},
            {{a}, lists:duplicate(257, {[1], 0}) ++ [{[1], 3}]},
            {{a}, [{[1], 3} | x]},
            {{a}, []}
        ]
    ].

damaged_and_nested_formats_are_refused_test() ->
    ?assertEqual(error, partisan_term:decode(<<0, 4:32, 0, 0, 0, 0>>)),
    ?assertEqual(error, partisan_term:decode(<<0, 4:32, 1>>)),
    ?assertEqual(error, partisan_term:decode(<<>>)).

decode(Skeleton, Holes, Binaries) ->
    Head = term_to_binary({Skeleton, Holes}),
    partisan_term:decode(<<0, (byte_size(Head)):32, Head/binary, Binaries/binary>>).

there_and_back(Term) ->
    partisan_term:decode(iolist_to_binary(partisan_term:encode(Term))).

term_with_large() ->
    ?SIZED(Size, term_with_large(Size)).

term_with_large(0) ->
    oneof([any(), ?LET(Byte, byte(), large(Byte)), <<>>]);
term_with_large(Size) ->
    Smaller = term_with_large(Size div 3),
    oneof([
        term_with_large(0),
        {Smaller, Smaller},
        [Smaller, Smaller, Smaller],
        [Smaller | Smaller],
        ?LET({K1, V1, K2, V2}, {any(), Smaller, any(), Smaller}, #{K1 => V1, K2 => V2})
    ]).

large(Byte) ->
    binary:copy(<<Byte>>, ?LARGE + Byte).

-module(partisan_frame_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

messages_come_back_equal_test_() ->
    {timeout, 600, fun messages_come_back_equal/0}.

messages_come_back_equal() ->
    ?assert(
        proper:quickcheck(
            ?FORALL(Message, any(), begin
                {message, sink, Message} =:= decoded(partisan_frame:message(sink, Message)) andalso
                    {overlay, Message} =:= decoded(partisan_frame:overlay(Message))
            end),
            [{to_file, user}, {numtests, 300}]
        )
    ).

sizes_are_those_on_the_wire_test_() ->
    {timeout, 600, fun sizes_are_those_on_the_wire/0}.

sizes_are_those_on_the_wire() ->
    ?assert(
        proper:quickcheck(
            ?FORALL(Message, any(), begin
                {Bytes, Frame} = partisan_frame:message(sink, Message),
                Bytes =:= iolist_size(Frame)
            end),
            [{to_file, user}, {numtests, 100}]
        )
    ).

garbage_is_an_answer_and_never_a_crash_test_() ->
    {timeout, 600, fun garbage_is_an_answer_and_never_a_crash/0}.

garbage_is_an_answer_and_never_a_crash() ->
    ?assert(
        proper:quickcheck(
            ?FORALL({Kind, Bytes}, {byte(), binary()}, begin
                case partisan_frame:decode(<<Kind, Bytes/binary>>) of
                    {error, Reason} -> lists:member(Reason, [undecodable, unknown_frame]);
                    Decoded -> Decoded =/= undefined
                end
            end),
            [{to_file, user}, {numtests, 1000}]
        )
    ).

heartbeats_test() ->
    ?assertEqual(ping, decoded(partisan_frame:ping())).

unknown_kinds_are_skipped_test() ->
    ?assertEqual({error, unknown_frame}, partisan_frame:decode(<<200, "future">>)),
    ?assertEqual({error, unknown_frame}, partisan_frame:decode(<<>>)).

compressed_terms_are_refused_test_() ->
    {timeout, 600, fun compressed_terms_are_refused/0}.

compressed_terms_are_refused() ->
    Bomb = term_to_binary({sink, binary:copy(<<0>>, 10000000)}, [{compressed, 9}]),
    ?assertEqual({error, undecodable}, partisan_frame:decode(<<1, Bomb/binary>>)).

a_destination_is_an_atom_test() ->
    ?assertEqual(
        {error, undecodable}, partisan_frame:decode(<<1, (term_to_binary({"sink", x}))/binary>>)
    ).

unknown_atoms_are_made_test() ->
    Name = <<"an_unknown_atom_", (integer_to_binary(rand:uniform(1 bsl 60)))/binary>>,
    ?assertError(badarg, binary_to_existing_atom(Name)),
    % A pair of the atom `sink' and an atom of that name, in the external format.
    Pair = <<131, 104, 2, 119, 4, "sink", 119, (byte_size(Name)), Name/binary>>,
    ?assertEqual({message, sink, binary_to_atom(Name)}, partisan_frame:decode(<<1, Pair/binary>>)),
    % However large the payload: its atoms are counted.
    Other = <<"another_", Name/binary>>,
    Large = <<0:(3 * 1024 * 1024 * 8)>>,
    Triple =
        <<131, 104, 2, 119, 4, "sink", 104, 2, 119, (byte_size(Other)), Other/binary, 109,
            (byte_size(Large)):32, Large/binary>>,
    Decoded = partisan_frame:decode(<<1, Triple/binary>>),
    ?assertEqual({message, sink, {binary_to_existing_atom(Other), Large}}, Decoded).

decoded({_Bytes, Frame}) ->
    <<Length:32, Rest:Length/binary>> = iolist_to_binary(Frame),
    partisan_frame:decode(Rest).

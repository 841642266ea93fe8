%%% @doc Encoded messages are decoded, and nothing else is.
-module(lasp_question_message_tests).

-include_lib("eunit/include/eunit.hrl").

-define(M, lasp_question_message).

an_encoded_message_is_decoded_test_() ->
    [
        ?_assertEqual({ok, Id, Sums, Kept}, ?M:decode(?M:encode(Id, Sums, Kept)))
     || Id <- [{<<"asker!">>, 1}, {<<"asker!">>, 1 bsl 40}],
        Sums <- [<<>>, <<"sums">>, binary:copy(<<7>>, 200)],
        Kept <- [<<>>, <<"kept">>]
    ].

a_truncated_message_is_refused_test_() ->
    Message = ?M:encode({<<"asker!">>, 300}, <<"sums">>, <<>>),
    [
        ?_assertEqual(error, ?M:decode(binary:part(Message, 0, Size)))
     || Size <- lists:seq(0, byte_size(Message) - 1)
    ].

no_question_is_number_0_test() ->
    ?assertEqual(error, ?M:decode(?M:encode({<<"asker!">>, 0}, <<>>, <<>>))).

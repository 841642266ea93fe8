%%% @doc Encoding of parts whose paths are known, and its decoding.
-module(lasp_dictionary_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(D, lasp_dictionary).

%% Messages arrive in any order, any number of times, some never, with acknowledgements only of
%% those that have arrived: each one is decoded to what was encoded, or to unknown.
never_misread_test_() ->
    {timeout, 600, fun never_misread/0}.

never_misread() ->
    ?assert(proper:quickcheck(prop_never_misread(), [{to_file, user}, {numtests, 500}])).

prop_never_misread() ->
    ?FORALL(
        Steps,
        list({parts(), oneof([deliver, lose, {deliver_again, nat()}, restart])}),
        run(Steps, ?D:new_numbers(7), ?D:new_sender(), ?D:new_receiver(), [])
    ).

run([], _Numbers, _Sender, _Receiver, _Sent) ->
    true;
run([{Parts, Fate} | Steps], Numbers0, Sender0, Receiver0, Sent0) ->
    {Bytes, Definitions, Numbers} = encode(Parts, Sender0, Numbers0),
    Sent = [{Bytes, Parts} | Sent0],
    case Fate of
        lose ->
            run(Steps, Numbers, Sender0, Receiver0, Sent);
        restart ->
            % The greeting informs the sender.
            run(Steps, Numbers, ?D:new_sender(), ?D:new_receiver(), Sent);
        deliver ->
            {ok, Read, Receiver} = decode(Bytes, Receiver0),
            Sender = ?D:acknowledged(Definitions, Sender0),
            lists:sort(Read) =:= lists:sort(Parts) andalso
                run(Steps, Numbers, Sender, Receiver, Sent);
        {deliver_again, I} ->
            {Old, Made} = lists:nth(I rem length(Sent) + 1, Sent),
            case decode(Old, Receiver0) of
                {ok, Read, Receiver} ->
                    lists:sort(Read) =:= lists:sort(Made) andalso
                        run(Steps, Numbers, Sender0, Receiver, Sent);
                {error, unknown} ->
                    run(Steps, Numbers, Sender0, Receiver0, Sent)
            end
    end.

a_known_path_takes_two_bytes_test() ->
    Parts = fun(Count) ->
        [{[<<"ads-", (integer_to_binary(I))/binary>>, I], [Count + I rem 3]}
         || I <- lists:seq(100, 199)]
    end,
    {First, Definitions, Numbers} = encode(Parts(100), ?D:new_sender(), ?D:new_numbers(1)),
    {ok, _, Receiver} = decode(First, ?D:new_receiver()),
    Sender = ?D:acknowledged(Definitions, ?D:new_sender()),
    {Second, [], _} = encode(Parts(101), Sender, Numbers),
    ?assert(byte_size(Second) =< 4 + 1 + 2 * 100 + 1),
    {ok, Read, _} = decode(Second, Receiver),
    ?assertEqual(Parts(101), lists:sort(Read)).

another_incarnation_knows_nothing_test() ->
    Parts = [{[<<"a">>], [1]}],
    {First, Definitions, Numbers} = encode(Parts, ?D:new_sender(), ?D:new_numbers(1)),
    {ok, _, Receiver} = decode(First, ?D:new_receiver()),
    {Second, [], _} = encode(Parts, ?D:acknowledged(Definitions, ?D:new_sender()), Numbers),
    {Other, _, _} = encode(Parts, ?D:new_sender(), ?D:new_numbers(2)),
    {ok, Parts, Changed} = decode(Other, Receiver),
    ?assertEqual({error, unknown}, decode(Second, Changed)).

malformed_bytes_are_refused_test_() ->
    [
        ?_assertEqual({error, malformed}, decode(Bytes, ?D:new_receiver()))
     || Bytes <- [<<>>, <<1, 2>>, <<1:32>>, <<1:32, 9, 0>>, <<1:32, 1, 255>>, <<1:32, 0, 255>>]
    ].

encode(Parts, Sender, Numbers) ->
    ?D:encode(lasp_any_path, Parts, Sender, Numbers).

decode(Bytes, Receiver) ->
    ?D:decode(lasp_any_path, Bytes, Receiver).

%% In path order, without duplicates.
parts() ->
    ?LET(Parts, list({path(), [nat()]}), lists:ukeysort(1, Parts)).

path() ->
    oneof([[oneof([<<"a">>, <<"b">>, <<"c">>])], [<<"a">>, integer(0, 3)]]).

-module(verify_notation_tests).

-include_lib("eunit/include/eunit.hrl").

counterexample(Kind, Steps) ->
    #{
        model => quorum_kv_available,
        nodes => 3,
        tolerance => 1,
        faults => [partition],
        options => #{},
        wait => 5000,
        settle => 30000,
        seed => 1,
        steps => Steps,
        kind => Kind,
        violated => <<"replicas differ">>
    }.

text(Kind, Steps) ->
    unicode:characters_to_list(verify_notation:text(counterexample(Kind, Steps))).

steps() ->
    [
        {{join, [<<"n1">>, <<"n2">>]}, ok},
        {{join, [<<"n1">>, <<"n3">>]}, ok},
        {{read, [<<"n2">>, x]}, not_found},
        {{write, [<<"n1">>, x, 1]}, ok},
        {{read, [<<"n1">>, x]}, {ok, 1}},
        {{fault, partition, [[[<<"n1">>], [<<"n2">>, <<"n3">>]]]}, ok},
        {{fault, egress_delay, [<<"n2">>, <<"n1">>]}, ok},
        {{fault, byzantine, [<<"n2">>, bitflip]}, ok},
        {{fault, crash, [<<"n3">>, 2]}, ok},
        {{write, [<<"n1">>, x, 2]}, {error, timeout}},
        {{fault, resolve_all, []}, ok},
        {{read, [<<"n1">>, x]}, {ok, 2}},
        {{read, [<<"n1">>, x]}, {error, {disagree, [1, -1]}}},
        {{read, [<<"n1">>, x]}, {error, timeout}},
        {{read, [<<"n1">>, x]}, timeout}
    ].

lines_test() ->
    ?assertEqual(
        "join n1 n2 : OK\n"
        "join n1 n3 : OK\n"
        "n2 read x : OK\n"
        "n1 write x 1 : OK\n"
        "n1 read x 1 : OK\n"
        "fault partition { n1 } { n2 n3 }\n"
        "fault egress_delay n2 n1\n"
        "fault byzantine n2 bitflip\n"
        "fault crash n3 2\n"
        "n1 write x 2 : TIMEOUT\n"
        "fault resolve_all\n"
        "n1 read x 2 : 2\n"
        "n1 read x 2 : FAIL, {1, -1}\n"
        "n1 read x 2 : TIMEOUT\n"
        "n1 read x 2 : TIMEOUT\n",
        text(postcondition, steps())
    ).

final_test() ->
    ?assertEqual("final : FAIL, replicas differ\n", text(final, [])).

commands_test_() ->
    [
        ?_assertEqual(Text, lists:flatten(io_lib:format("~ts", [verify_notation:command(Command)])))
     || {Command, Text} <- [
            {{join, [<<"n1">>, <<"n2">>]}, "join n1 n2"},
            {{stop, [<<"n1">>]}, "stop n1"},
            {{send, [<<"n1">>, {a, 1}]}, "n1 send {a,1}"},
            {{wait, []}, "wait"},
            {{wait, [100]}, "wait 100"}
        ]
    ].

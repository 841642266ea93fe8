-module(verify_faults_tests).

-include_lib("eunit/include/eunit.hrl").

-define(N1, <<"n1">>).
-define(N2, <<"n2">>).
-define(N3, <<"n3">>).
-define(NODES, [?N1, ?N2, ?N3]).

faults(Tolerance) ->
    verify_faults:new(?NODES, Tolerance, verify_faults:kinds(), []).

allows(Tolerance, Earlier, Fault) ->
    Injected = lists:foldl(
        fun(F, Acc) -> element(3, verify_faults:inject(F, Acc)) end, faults(Tolerance), Earlier
    ),
    verify_faults:allows(Fault, Injected).

tolerance_test_() ->
    Partition = {fault, partition, [[[?N1], [?N2, ?N3]]]},
    Delay = fun(From, To) -> {fault, egress_delay, [From, To]} end,
    Byzantine = fun(Node) -> {fault, byzantine, [Node, bitflip]} end,
    [
        {lists:concat([Name, ": ", Allowed]), ?_assertEqual(Allowed, allows(T, Earlier, Fault))}
     || {Name, Allowed, T, Earlier, Fault} <- [
            {"a minority", true, 1, [], Partition},
            {"none is tolerated", false, 0, [], Partition},
            {"the same again", false, 1, [Partition], Partition},
            {"links of one node", true, 1, [Delay(?N2, ?N1)], Delay(?N3, ?N1)},
            {"both ways of a link", true, 1, [Delay(?N2, ?N1)], Delay(?N1, ?N2)},
            {"a triangle", false, 1, [Delay(?N2, ?N1), Delay(?N3, ?N1)], Delay(?N2, ?N3)},
            {"a triangle of two", true, 2, [Delay(?N2, ?N1), Delay(?N3, ?N1)], Delay(?N2, ?N3)},
            {"no link", false, 1, [], Delay(?N1, ?N1)},
            {"links of a faulty node", true, 1, [Byzantine(?N1)], Delay(?N1, ?N2)},
            {"another link", false, 1, [Byzantine(?N1)], Delay(?N2, ?N3)},
            {"a second node", false, 1, [Byzantine(?N1)], Byzantine(?N2)},
            {"a crash of the isolated node", true, 1, [Partition], {fault, crash, [?N1, 1]}},
            {"a crash of another", false, 1, [Partition], {fault, crash, [?N2, 1]}},
            {"nothing to resolve", false, 1, [], {fault, resolve_all, []}},
            {"resolve", true, 1, [Partition], {fault, resolve_all, []}},
            {"after the end of faults", true, 1, [Partition, {fault, resolve_all, []}],
                Byzantine(?N2)}
        ]
    ].

kinds_test() ->
    Delays = verify_faults:new(?NODES, 1, [delay], []),
    ?assertMatch([{1, {fault, egress_delay, [node, node]}}], verify_faults:choices(Delays)),
    ?assertNot(verify_faults:allows({fault, crash, [?N1, 1]}, Delays)).

rules_are_valid_and_in_order_test() ->
    {_, _, One} = verify_faults:inject({fault, egress_delay, [?N2, ?N1]}, faults(1)),
    {Rules, [], _} = verify_faults:inject({fault, byzantine, [?N2, bitflip]}, One),
    ?assertEqual(ok, partisan_fault:check(Rules)),
    ?assertMatch([#{action := {delay, _}}, #{action := {corrupt, bit_flip}}], Rules).

the_end_of_faults_test() ->
    {_, _, Faulty} = verify_faults:inject({fault, crash, [?N2, 1]}, faults(1)),
    {Rules, Actions, _} = verify_faults:inject({fault, resolve_all, []}, Faulty),
    ?assertEqual({[], [{restart, Node} || Node <- ?NODES]}, {Rules, Actions}).

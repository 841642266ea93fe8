-module(verify_generate_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(NODES, [<<"n1">>, <<"n2">>, <<"n3">>, <<"n4">>, <<"n5">>]).

generators() ->
    [node, {one_of, [x, y, z]}, {integer, -2, 2}, {split, 2}, {exactly, bitflip}].

drawn_values_are_of_the_generator_test_() ->
    ?_assert(proper:quickcheck(prop_values(), [{to_file, user}, {numtests, 300}])).

prop_values() ->
    ?FORALL(
        {Seed, Generator},
        {nat(), oneof([exactly(G) || G <- generators()])},
        begin
            Random = rand:seed_s(exsss, {Seed, 1, 2}),
            {Value, _} = verify_generate:value(Generator, ?NODES, Random),
            is_value(Generator, Value) andalso
                lists:all(
                    fun(Simpler) -> Simpler =/= Value andalso is_value(Generator, Simpler) end,
                    verify_generate:simpler(Generator, ?NODES, Value)
                )
        end
    ).

is_value(node, Value) -> lists:member(Value, ?NODES);
is_value({one_of, Values}, Value) -> lists:member(Value, Values);
is_value({integer, Least, Most}, Value) -> Value >= Least andalso Value =< Most;
is_value({exactly, Only}, Value) -> Value =:= Only;
is_value({split, Most}, [Group, Rest]) ->
    length(Group) >= 1 andalso length(Group) =< Most andalso lists:sort(Group ++ Rest) =:= ?NODES.

simpler_test_() ->
    [
        ?_assertEqual(Simpler, verify_generate:simpler(Generator, ?NODES, Value))
     || {Generator, Value, Simpler} <- [
            {node, <<"n3">>, [<<"n1">>, <<"n2">>]},
            {node, <<"n1">>, []},
            {{one_of, [x, y]}, y, [x]},
            {{integer, 1, 9}, 3, [1, 2]},
            {{exactly, a}, a, []},
            {{split, 1}, [[<<"n2">>], ?NODES -- [<<"n2">>]], [[[<<"n1">>], tl(?NODES)]]}
        ]
    ].

weights_test() ->
    Draw = fun(_, {Counts, Random0}) ->
        {Drawn, Random} = verify_generate:weighted([{1, a}, {3, b}], Random0),
        {Counts#{Drawn => maps:get(Drawn, Counts, 0) + 1}, Random}
    end,
    {#{a := A, b := B}, _} = lists:foldl(Draw, {#{}, rand:seed_s(exsss, 1)}, lists:seq(1, 4000)),
    ?assertEqual(4000, A + B),
    ?assert(A > 900 andalso A < 1100).

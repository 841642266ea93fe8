-module(verify_order_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(LIMIT, 500).

run(Module, Nodes) ->
    verify_order:run(#{module => Module, nodes => Nodes}).

orders(Module, Nodes) ->
    #{executions := Executions, failing := 0, complete := true} = run(Module, Nodes),
    Executions.

factorial(N) -> lists:foldl(fun erlang:'*'/2, 1, lists:seq(1, N)).

pow(_Base, 0) -> 1;
pow(Base, N) -> Base * pow(Base, N - 1).

%% The coordinator receives the answers of each phase in any order; all else is independent.
commit_protocols_test_() ->
    [
        ?_assertEqual(pow(factorial(P), Phases), orders(Module, P + 1))
     || {Module, Phases} <- [
            {two_phase_commit, 2}, {cooperative_termination, 2}, {three_phase_commit, 3}
        ],
        P <- [1, 2, 3]
    ].

a_mail_to_each_node_has_one_order_test() ->
    ?assertEqual(1, orders(direct_mail, 4)).

senders_to_one_receiver_test_() ->
    Search = fun(K) ->
        Senders = [<<"s", (integer_to_binary(N))/binary>> || N <- lists:seq(1, K)],
        #{
            module => verify_world_tests,
            nodes => [<<"r">> | Senders],
            scenario => [
                {0, Sender, {call, ref, {effects, [{send, <<"r">>, hello}]}}}
             || Sender <- Senders
            ],
            property => fun(_) -> ok end
        }
    end,
    [
        ?_assertEqual({factorial(K), 0}, {Executions, Blocked})
     || K <- lists:seq(1, 6),
        #{executions := Executions, blocked := Blocked} <- [verify_order:run(Search(K))]
    ].

a_violating_order_is_found_and_limits_leave_a_frontier_test() ->
    FirstIs = fun(Sender) ->
        fun(World) ->
            case verify_world:delivered(<<"n1">>, World) of
                [{message, Sender, hello} | _] -> ok;
                _ -> {violated, "overtaken"}
            end
        end
    end,
    Search = #{
        module => verify_world_tests,
        nodes => 4,
        scenario => [
            {0, Name, {call, ref, {effects, [{send, <<"n1">>, hello}]}}}
         || Name <- [<<"n2">>, <<"n3">>, <<"n4">>]
        ],
        property => FirstIs(<<"n2">>)
    },
    Result = verify_order:run(Search),
    ?assertMatch(#{executions := 6, failing := 4, complete := true}, Result),
    #{examples := [#{order := [First | _], violated := <<"overtaken">>} | _]} = Result,
    ?assertNotMatch({<<"n2">>, _, _, _}, First),
    Limited = verify_order:run(Search#{executions => 2}),
    ?assertMatch(#{executions := 2, complete := false, frontier := F} when F > 0, Limited).

%% Against enumeration.

enumerated_orders_test_() ->
    Options = [{to_file, user}, {numtests, 100}],
    {timeout, 600, ?_assert(proper:quickcheck(prop_each_order_once(), Options))}.

two_phase_commit_is_enumerated_test_() ->
    {timeout, 600, fun() ->
        Search = verify_search:complete(#{module => two_phase_commit, nodes => 4}),
        Orders = enumerate(verify_search:world(Search), 10000),
        ?assertEqual(8100, length(Orders)),
        ?assertEqual(36, length(lists:usort(Orders)))
    end}.

%% Every order of deliveries that differs at a receiver is run exactly once.
prop_each_order_once() ->
    ?FORALL(Program, verify_explore_props_tests:program(), begin
        Self = self(),
        Search = #{
            module => verify_random_process,
            nodes => 3,
            options => #{program => Program, events => 1},
            world => #{trace => true},
            property => fun(World) ->
                Self ! {order, digest(World)},
                ok
            end
        },
        World = verify_search:world(verify_search:complete(Search)),
        Enumerated = enumerate(World, ?LIMIT),
        length(Enumerated) >= ?LIMIT orelse begin
            #{executions := Executions, complete := true} = verify_order:run(Search),
            Explored = explored(),
            Executions =:= length(Explored) andalso
                lists:sort(Explored) =:= lists:usort(Enumerated)
        end
    end).

explored() ->
    receive
        {order, Order} -> [Order | explored()]
    after 0 -> []
    end.

%% The messages of each receiver, without times.
digest(World) ->
    Keys = [Key || {_At, {message, Key, _, _, deliver}} <- verify_world:trace(World)],
    [
        [Key || {_, To, _, _} = Key <- Keys, To =:= Name]
     || Name <- verify_world:nodes(World)
    ].

%% All orders of all messages, at most so many.
enumerate(World0, Limit) ->
    World =
        case {verify_world:in_flight(World0), verify_world:next(World0)} of
            {[], {choice, _Point, Next}} -> Next;
            {[], {quiet, End}} -> End;
            _ -> World0
        end,
    case verify_world:in_flight(World) of
        [] -> [digest(World)];
        Keys -> enumerate_each(Keys, World, Limit)
    end.

enumerate_each([Key | Keys], World, Limit) when Limit > 0 ->
    Orders = enumerate(verify_world:arrive(Key, World), Limit),
    Orders ++ enumerate_each(Keys, World, Limit - length(Orders));
enumerate_each(_Keys, _World, _Limit) ->
    [].

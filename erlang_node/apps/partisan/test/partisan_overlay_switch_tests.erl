%%% @doc Changing the overlay of a running cluster, in virtual time.
-module(partisan_overlay_switch_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(NODES, 16).
-define(SEEDS, 3).
-define(STEP, 200).

every_pair_test_() ->
    [
        {lists:concat([From, " to ", To]), {timeout, 600, ?_test(moves(From, To))}}
     || From <- kinds(), To <- kinds(), From =/= To
    ].

parameters_test() ->
    % New parameters are another overlay of the same kind.
    Sim = moved(whole({hyparview, #{}}), {hyparview, #{active_max => 4}}),
    Links = simulator:links(Sim),
    ?assertEqual(1, simulator_graph:component_count(Links)),
    ?assert(lists:all(fun(To) -> length(To) =< 4 end, maps:values(Links))).

same_overlay_test() ->
    Sim = whole({hyparview, #{}}),
    Switched = simulator:switch(1, {hyparview, #{}}, Sim),
    ?assertEqual(simulator:links(Sim), simulator:links(Switched)).

there_and_back_test_() ->
    {timeout, 600, fun there_and_back/0}.

there_and_back() ->
    Sim = lists:foldl(
        fun(Spec, S) -> moved(S, Spec) end,
        whole(spec(full_mesh)),
        [spec(hyparview), spec(full_mesh), spec(client_server), spec(full_mesh)]
    ),
    Degrees = [length(To) || To <- maps:values(simulator:links(Sim))],
    ?assertEqual(?NODES * (?NODES - 1), lists:sum(Degrees)).

faults_test_() ->
    {timeout, 600,
        ?_assert(proper:quickcheck(prop_faults(), [{numtests, 40}, {to_file, user}, noshrink]))}.

%% Nodes crash and start while the cluster keeps moving: once it is quiet, all nodes run the last
%% overlay and receive one another's broadcasts.
prop_faults() ->
    ?FORALL(
        {Seed, Moments},
        {integer(1, 1 bsl 30), list(moment())},
        begin
            Sim0 = started(Seed, spec(hyparview)),
            {Last, Sim1} = lists:foldl(fun happen/2, {spec(hyparview), Sim0}, Moments),
            Dead = lists:seq(1, ?NODES) -- simulator:nodes(Sim1),
            Sim2 = lists:foldl(fun simulator:start/2, Sim1, Dead),
            Sim3 = simulator:run(180000, Sim2),
            Sim4 = simulator:run(20000, simulator:broadcast(1, last, Sim3)),
            Links = simulator:links(Sim3),
            {Kind, _} = Last,
            conjunction([
                {kinds, [Kind] =:= lists:usort([kind(I, Sim3) || I <- lists:seq(1, ?NODES)])},
                {one_component, simulator_graph:component_count(Links) =:= 1},
                {symmetric, is_symmetric(Kind, Links)},
                {heard, map_size(maps:get(last, simulator:delivered(Sim4), #{})) =:= ?NODES}
            ])
        end
    ).

moment() ->
    frequency([
        {4, {run, integer(1, 20000)}},
        {3, {crash, integer(1, ?NODES)}},
        {3, {start, integer(1, ?NODES)}},
        {2, {switch, oneof(kinds())}}
    ]).

happen({run, Duration}, {Spec, Sim}) ->
    {Spec, simulator:run(Duration, Sim)};
happen({crash, Index}, {Spec, Sim}) ->
    {Spec, simulator:crash([I || I <- simulator:nodes(Sim), I =:= Index], Sim)};
happen({start, Index}, {Spec, Sim}) ->
    case lists:member(Index, simulator:nodes(Sim)) of
        true -> {Spec, Sim};
        false -> {Spec, simulator:start(Index, Sim)}
    end;
happen({switch, Kind}, {_Former, Sim}) ->
    Spec = spec(Kind),
    {Spec, tell_all(Spec, simulator:configure(Spec, Sim))}.

%% From a whole cluster of one kind to a whole one of another: no node is ever alone on the way, and
%% all broadcasts meanwhile arrive everywhere.
moves(From, To) ->
    Sim = moved(whole(spec(From)), spec(To)),
    Links = simulator:links(Sim),
    ?assertEqual([To], lists:usort([kind(I, Sim) || I <- simulator:nodes(Sim)])),
    ?assertEqual(1, simulator_graph:component_count(Links)),
    ?assert(is_symmetric(To, Links)),
    To =:= full_mesh andalso
        ?assert(lists:all(fun(N) -> length(N) =:= ?NODES - 1 end, maps:values(Links))),
    [
        ?assertEqual({Payload, ?NODES}, {Payload, map_size(Arrivals)})
     || {Payload, Arrivals} <- maps:to_list(simulator:delivered(Sim))
    ].

moved(Sim0, Spec) ->
    Sim1 = tell_all(Spec, simulator:configure(Spec, Sim0)),
    Sim2 = lists:foldl(
        fun(N, S) ->
            Next = simulator:run(?STEP, S),
            ?assertNot(lists:member([], maps:values(simulator:links(Next)))),
            case N rem 10 of
                0 -> simulator:broadcast(N rem ?NODES + 1, make_ref(), Next);
                _ -> Next
            end
        end,
        Sim1,
        lists:seq(1, 200)
    ),
    simulator:run(60000, Sim2).

%% One after the other, over some seconds, as a changed file reaches them.
tell_all(Spec, Sim) ->
    lists:foldl(
        fun(Index, S) -> simulator:run(300, simulator:switch(Index, Spec, S)) end,
        Sim,
        simulator:nodes(Sim)
    ).

whole(Spec) ->
    simulator:run(30000, started(7, Spec)).

started(Seed, Spec) ->
    Sim = simulator:new(#{seed => Seed, seeds => ?SEEDS, overlay => Spec}),
    lists:foldl(fun simulator:start/2, Sim, lists:seq(1, ?NODES)).

%% The views of Cyclon and SCAMP change all the time: some change is always under way.
is_symmetric(Kind, Links) ->
    lists:member(Kind, [cyclon, scamp_v2]) orelse simulator_graph:one_sided(Links) =:= [].

kind(Index, Sim) ->
    maps:get(kind, partisan_stack:info(simulator:stack(Index, Sim))).

kinds() ->
    [hyparview, full_mesh, client_server, publish_subscribe, xbot, cyclon, scamp_v2].

spec(client_server) -> {client_server, #{servers => [<<"n1">>, <<"n2">>]}};
spec(publish_subscribe) -> {publish_subscribe, #{brokers => [<<"n1">>, <<"n2">>]}};
spec(Kind) -> {Kind, #{}}.

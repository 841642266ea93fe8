%%% Rules of injected faults in virtual time.
-module(simulator_faults_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NODES, 30).

%% Without rules nothing changes: nor do they with a rule that concerns no node.
no_rules_test() ->
    Unrelated = [#{name => <<"r">>, action => drop, match => #{from => <<"absent">>}}],
    Sim = formed(),
    ?assertEqual(outcome(news(Sim)), outcome(news(simulator:inject(Unrelated, Sim)))),
    ?assertEqual(outcome(news(Sim)), outcome(news(simulator:inject([], Sim)))).

equal_seeds_test() ->
    Rules = [
        #{name => <<"lost">>, action => drop, match => #{share => 0.1, seed => 3}},
        #{name => <<"late">>, action => {reorder, 50}, match => #{message => broadcast}}
    ],
    Run = fun() -> outcome(news(simulator:inject(Rules, formed()))) end,
    ?assertEqual(Run(), Run()).

%% A partition as a rule and a cut are the same, until their end.
partition_is_a_cut_test() ->
    {Left, Right} = lists:split(10, lists:seq(1, ?NODES)),
    Groups = [[simulator_peer:name(I) || I <- Half] || Half <- [Left, Right]],
    Rule = #{name => <<"split">>, action => {partition, Groups}, until => 20000},
    Sim = formed(),
    Injected = simulator:run(19999, simulator:inject([Rule], Sim)),
    Cut = simulator:run(19999, simulator:cut(fun(I) -> I =< 10 end, Sim)),
    ?assertEqual(outcome(Cut), outcome(Injected)),
    ?assertEqual(2, simulator_graph:component_count(simulator:links(Injected))),
    Healed = simulator:run(120000, Injected),
    ?assertEqual(1, simulator_graph:component_count(simulator:links(Healed))).

%% Every broadcast message arrives twice, and each node delivers once.
duplicate_test() ->
    Rule = #{name => <<"r">>, action => duplicate, match => #{message => broadcast}},
    Sim = news(simulator:inject([Rule], formed())),
    Arrivals = maps:values(maps:get(news, simulator:delivered(Sim))),
    ?assertEqual(lists:duplicate(?NODES, 1), Arrivals).

drop_test() ->
    Rule = #{name => <<"r">>, action => drop, match => #{from => <<"n7">>, message => broadcast}},
    Sim = simulator:run(5000, simulator:broadcast(7, news, simulator:inject([Rule], formed()))),
    ?assertEqual(1, map_size(maps:get(news, simulator:delivered(Sim)))),
    ?assert(maps:get(lost, simulator:stats(Sim)) > 0).

delay_test() ->
    Rule = #{name => <<"r">>, action => {delay, 3000}, match => #{message => broadcast}},
    Sim = simulator:broadcast(7, news, simulator:inject([Rule], formed())),
    Reached = fun(S) -> map_size(maps:get(news, simulator:delivered(S))) end,
    ?assertEqual(1, Reached(simulator:run(3000, Sim))),
    ?assertEqual(?NODES, Reached(simulator:run(60000, Sim))).

crash_test() ->
    Rule = #{name => <<"r">>, action => crash, match => #{node => <<"n7">>}, since => 1000},
    Sim = simulator:inject([Rule], formed()),
    ?assert(lists:member(7, simulator:nodes(simulator:run(999, Sim)))),
    Crashed = simulator:run(30000, Sim),
    ?assertEqual(lists:seq(1, ?NODES) -- [7], lists:sort(simulator:nodes(Crashed))),
    ?assertEqual(1, simulator_graph:component_count(simulator:links(Crashed))).

%% Internals.

formed() ->
    Sim = simulator:new(#{seed => 5, overlay => {hyparview, #{}}}),
    simulator:run(60000, lists:foldl(fun simulator:start/2, Sim, lists:seq(1, ?NODES))).

news(Sim) ->
    simulator:run(20000, simulator:broadcast(7, news, Sim)).

outcome(Sim) ->
    {simulator:links(Sim), simulator:stats(Sim), simulator:delivered(Sim)}.

%%% @doc Single cases of the overlays, in virtual time.
-module(partisan_overlay_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_overlay_registry, [known/0]).
-import(partisan_test_overlays, [parameters/1, sim/4, started/2]).

dissolve_test_() ->
    [{"dissolved: " ++ atom_to_list(Kind), ?_test(dissolve(Kind))} || Kind <- known()].

%% The order reaches every node, and from then on none sends anything, whatever fails; a node that
%% starts later gets the order as an answer.
dissolve(Kind) ->
    Nodes = partisan_test_overlays:node_count(),
    Count = fun(What, Sim) -> maps:get(What, simulator:stats(Sim), 0) end,
    Sim0 = simulator:run(30000, started(Nodes - 1, sim(Kind, parameters(Kind), 3, 7))),
    Sim1 = simulator:run(5000, simulator:dissolve(Nodes - 1, Sim0)),
    ?assertEqual(Nodes - 1, Count(dissolved, Sim1)),
    Sim2 = simulator:run(600000, simulator:crash(lists:seq(4, 15), Sim1)),
    ?assertEqual(Count(sent, Sim1), Count(sent, Sim2)),
    Sim3 = simulator:run(30000, simulator:start(Nodes, Sim2)),
    ?assertEqual(Nodes, Count(dissolved, Sim3)).

storm_test_() ->
    % The published implementation ended here with 5, 14 and 10 components.
    {"64 nodes joining at once over one seed become one symmetric component, 20 times out of 20",
        {timeout, 600, [
            ?_test(begin
                Sim = simulator:run(30000, started(64, sim(hyparview, #{}, 1, Seed))),
                Links = simulator:links(Sim),
                ?assertEqual(1, simulator_graph:component_count(Links)),
                ?assertEqual([], simulator_graph:one_sided(Links))
            end)
         || Seed <- lists:seq(1, 20)
        ]}}.

mesh_cost_test_() ->
    {timeout, 600, fun mesh_cost/0}.

mesh_cost() ->
    % A hello per link and direction, a list per joiner and logarithmically many comparisons.
    Messages = fun(N) ->
        Sim = simulator:run(10000, started(N, sim(full_mesh, #{}, 3, 7))),
        Links = simulator:links(Sim),
        ?assertEqual(N * (N - 1), lists:sum([length(To) || To <- maps:values(Links)])),
        maps:get(sent, simulator:stats(Sim)) / (N * (N - 1))
    end,
    ?assert(Messages(128) =< Messages(32)).

dead_members_of_a_mesh_are_forgotten_test() ->
    % Also by those that join while others still list them, and whatever joins after that.
    Sim0 = simulator:run(30000, started(8, sim(full_mesh, #{}, 3, 7))),
    Sim1 = simulator:crash([8], Sim0),
    Sim2 = lists:foldl(
        fun(Joiner, Sim) -> simulator:run(60000, simulator:start(Joiner, Sim)) end,
        Sim1,
        lists:seq(9, 20)
    ),
    ?assertEqual([], known(<<"n8">>, simulator:run(300000, Sim2))).

departures_from_a_mesh_are_forgotten_test() ->
    Departed = fun(Sim) ->
        lists:usort([
            Name
         || {members, final, _, Gone} <- [list_of(1, Sim)], Name <- maps:keys(Gone)
        ])
    end,
    Sim0 = simulator:run(30000, started(8, sim(full_mesh, #{}, 3, 7))),
    Sim1 = simulator:run(1000, simulator:leave(8, Sim0)),
    ?assertEqual([<<"n8">>], Departed(Sim1)),
    Sim2 = simulator:run(1200000, Sim1),
    ?assertEqual([], Departed(Sim2)),
    ?assertEqual([], known(<<"n8">>, Sim2)).

same_seed_same_run_test() ->
    Run = fun() ->
        Sim = simulator:run(20000, started(40, sim(hyparview, #{}, 3, 5))),
        {simulator:links(Sim), simulator:stats(Sim)}
    end,
    ?assertEqual(Run(), Run()).

restart_is_a_new_incarnation_test() ->
    % The link to the previous incarnation ends and one to the new one is up, on both sides.
    lists:foreach(
        fun(Kind) ->
            Sim0 = simulator:run(10000, started(2, sim(Kind, parameters(Kind), 2, 3))),
            Sim1 = simulator:start(2, simulator:crash([2], Sim0)),
            Sim2 = simulator:run(30000, Sim1),
            [Peer] = partisan_stack:neighbours(simulator:stack(1, Sim2)),
            ?assertEqual({Kind, 2}, {Kind, partisan_peer:incarnation(Peer)}),
            ?assertEqual(#{1 => [2], 2 => [1]}, simulator:links(Sim2))
        end,
        known() -- [static]
    ).

leave_is_no_failure_test() ->
    lists:foreach(
        fun(Kind) ->
            Sim0 = simulator:run(20000, started(12, sim(Kind, parameters(Kind), 3, 3))),
            Sim1 = simulator:run(1000, simulator:leave(12, Sim0)),
            Links = simulator:links(Sim1),
            Linked = [N || {N, To} <- maps:to_list(Links), lists:member(12, To)],
            ?assertEqual({Kind, []}, {Kind, Linked}),
            ?assertEqual(false, is_map_key(neighbour_failed, simulator:stats(Sim1)))
        end,
        known() -- [static]
    ).

clients_spread_test() ->
    Servers = [<<"n1">>, <<"n2">>, <<"n3">>, <<"n4">>],
    Sim = simulator:run(
        5000, started(104, sim(client_server, #{servers => Servers}, 4, 1))
    ),
    Degrees = [length(To) || {N, To} <- maps:to_list(simulator:links(Sim)), N =< 4],
    ?assert(lists:max(Degrees) =< 2 * lists:min(Degrees)).

every_member_is_found_test_() ->
    {timeout, 600, fun every_member_is_found/0}.

every_member_is_found() ->
    lists:foreach(
        fun(Kind) ->
            Sim0 = simulator:run(30000, started(40, sim(Kind, parameters(Kind), 3, 11))),
            lists:foldl(
                fun(To, Sim1) ->
                    Sim2 = simulator:run(2000, simulator:find_route(40, To, Sim1)),
                    {Result, Path} = simulator:route(40, To, Sim2),
                    ?assertEqual({Kind, To, ok}, {Kind, To, Result}),
                    ?assert(length(Path) =< 12),
                    Sim2
                end,
                Sim0,
                lists:seq(1, 39)
            )
        end,
        [hyparview, full_mesh, client_server, publish_subscribe]
    ).

inboxes_are_two_hops_away_test() ->
    % Every client of every other, without a search, also when a broker is lost.
    Sim0 = simulator:run(30000, started(20, sim(publish_subscribe, inboxes(3), 3, 11))),
    Sim1 = two_hops(4, Sim0),
    two_hops(5, simulator:run(30000, simulator:crash([2], Sim1))).

two_hops(From, Sim0) ->
    lists:foldl(
        fun(To, Sim) ->
            Found = simulator:find_route(From, To, Sim),
            {Result, Path} = simulator:route(From, To, Found),
            ?assertEqual({To, ok, 3}, {To, Result, length(Path)}),
            Found
        end,
        Sim0,
        lists:seq(6, 20)
    ).

inboxes(Brokers) ->
    #{brokers => [<<"n", (integer_to_binary(I))/binary>> || I <- lists:seq(1, Brokers)]}.

route_heals_test() ->
    % The route breaks with a node on it; another search finds a new one.
    Sim0 = simulator:run(30000, started(40, sim(hyparview, #{}, 3, 11))),
    [To | _] = lists:seq(1, 39) -- maps:get(40, simulator:links(Sim0)),
    Sim1 = simulator:run(2000, simulator:find_route(40, To, Sim0)),
    {ok, [40, Hop | _]} = simulator:route(40, To, Sim1),
    Sim2 = simulator:run(30000, simulator:crash([Hop], Sim1)),
    Sim3 = simulator:run(5000, simulator:find_route(40, To, Sim2)),
    ?assertMatch({ok, _}, simulator:route(40, To, Sim3)).

scamp_views_shrink_when_members_leave_test_() ->
    {timeout, 600, fun scamp_views_shrink_when_members_leave/0}.

scamp_views_shrink_when_members_leave() ->
    % The leavers' places are given to others or given up: none of their names remain.
    Sim0 = simulator:run(20000, started(60, sim(scamp_v2, #{}, 3, 5))),
    Degree = fun(Sim) ->
        Links = simulator:links(Sim),
        lists:sum([length(To) || To <- maps:values(Links)]) / map_size(Links)
    end,
    Sim1 = lists:foldl(fun simulator:leave/2, Sim0, lists:seq(21, 60)),
    Sim2 = simulator:run(60000, Sim1),
    ?assert(Degree(Sim2) < Degree(Sim0)),
    ?assertEqual(1, simulator_graph:component_count(simulator:links(Sim2))).

hiscamp_stays_in_its_zones_test() ->
    Zones = 4,
    Parameters = fun(Index) -> #{level => Index rem Zones} end,
    Sim = simulator:run(60000, started(80, sim(hiscamp, Parameters, 3, 5))),
    Links = simulator:links(Sim),
    All = [{A, B} || {A, To} <- maps:to_list(Links), B <- To],
    Within = [Link || {A, B} = Link <- All, A rem Zones =:= B rem Zones],
    ?assertEqual(1, simulator_graph:component_count(Links)),
    % At random it would be a quarter.
    ?assert(length(Within) > 0.6 * length(All)).

static_wants_an_address_for_every_edge_test() ->
    Self = partisan_peer:new(<<"n1">>, "localhost", 1, 1),
    Options = #{self => Self, seed => {1, 2, 3}, edges => [{<<"n1">>, <<"n2">>}], peers => []},
    ?assertError({no_address_of, <<"n2">>}, partisan_overlay_static:init(Options)).

%% Internals.

%% This node's answer to a joiner.
list_of(Index, Sim) ->
    Stack = simulator:stack(Index, Sim),
    Joiner = simulator_peer:new(partisan_test_overlays:node_count(), 9),
    {_, [{send, _, Join}]} = partisan_stack:handle({join, Joiner}, Stack),
    {_, Effects} = partisan_stack:handle({message, Joiner, Join}, Stack),
    hd([List || {send, _, {overlay, {_, {members, final, _, _} = List}}} <- Effects]).

%% The nodes that know this one, as a neighbour or not.
known(Name, Sim) ->
    [
        Index
     || Index <- simulator:nodes(Sim),
        lists:member(Name, partisan_stack:members(simulator:stack(Index, Sim)))
    ].

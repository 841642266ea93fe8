%%% @doc Many simultaneous joins over one contact result in the same overlay as successive ones.
-module(experiments_burst_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(NODES, 1024).
-define(ACTIVE_MIN, 3).
-define(ACTIVE_MAX, 6).

burst_test_() ->
    {"1,024 nodes that join over one contact within up to three seconds",
        {timeout, 300, fun() ->
            Property = prop_burst(shape(1, #{contact => random, join_gap => 50})),
            ?assert(proper:quickcheck(Property, [{numtests, runs()}, {to_file, user}, noshrink]))
        end}}.

%% A gap of 0: all joins reach the contact before any node has an answer.
prop_burst(#{clustering := Clustering} = Calm) ->
    ?FORALL(
        {Seed, Gap},
        {integer(1, 1 bsl 30), integer(0, 3)},
        begin
            Burst = shape(Seed, #{contact => first, join_gap => Gap}),
            ?WHENFAIL(
                io:format("~p~nwhere a calm formation is~n~p~n", [Burst, Calm]),
                conjunction([
                    {whole, maps:get(components, Burst) =:= 1},
                    {symmetric, maps:get(one_sided, Burst) =:= 0},
                    {short, relative_path(Burst) < 1.05 * relative_path(Calm)},
                    {unclustered, maps:get(clustering, Burst) < Clustering + 0.02},
                    {in_degrees, lists:all(fun is_normal/1, maps:keys(maps:get(in_degrees, Burst)))}
                ])
            )
        end
    ).

%% Relative to a random graph with the same number of links, ln n / ln (degree - 1).
relative_path(#{path := Path, degree := Degree}) ->
    Path * math:log(Degree - 1) / math:log(?NODES).

is_normal(InDegree) ->
    InDegree >= ?ACTIVE_MIN andalso InDegree =< ?ACTIVE_MAX.

shape(Seed, Formation) ->
    Overlay = {hyparview, #{active_max => ?ACTIVE_MAX, active_min => ?ACTIVE_MIN}},
    Trial = experiments_trial:run_cycles(
        2,
        experiments_trial:new(Formation#{
            nodes => ?NODES, seed => Seed, overlay => Overlay, broadcast => #{protocol => gossip}
        })
    ),
    Links = simulator:links(experiments_trial:sim(Trial)),
    (experiments_trial:shape(Trial))#{one_sided => length(simulator_graph:one_sided(Links))}.

%% The inner loop of development takes fewer.
runs() ->
    case os:getenv("QUICK") of
        "1" -> 3;
        _ -> 12
    end.

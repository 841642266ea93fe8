%%% @doc The overlay of docs/tutorials/own-overlay.md: its examples on real nodes, and random
%%% histories of it.
-module(partisan_own_overlay_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, await/1]).

-define(NODES, 20).
-define(SEEDS, 3).

examples_test_() ->
    {setup, fun start/0, fun partisan_test_cluster:stop/1, fun([Node | Others]) ->
        {"the examples of own-overlay.md", {timeout, 600, fun() -> examples(Node, Others) end}}
    end}.

examples(#{self := #{host := Ip}} = Node, [#{self := Seed} | _] = Others) ->
    {[_], Expressions} = partisan_test_page:blocks("tutorials/own-overlay.md"),
    ?assertEqual(2, length(Expressions)),
    [ok = call(N, partisan_test_sink, start, [sink]) || N <- Others],
    Bindings = [{'Ip', Ip}, {'Token', partisan_test_cluster:token()}, {'Seeds', [Seed]}],
    ?assertEqual(ok, call(Node, partisan_test_page, run, [Expressions, Bindings])),
    await(fun() ->
        lists:all(fun(N) -> call(N, partisan_test_sink, count, [sink]) =:= 1 end, Others)
    end).

%% Two running nodes, and one that has only been booted; the module is on all of them.
start() ->
    Net = partisan_test_cluster:net(),
    Configurations = [
        partisan_test_cluster:configuration(Net, I, #{
            name => <<"ads-", (integer_to_binary(I - 1))/binary>>,
            cluster => <<"ads">>,
            overlay => {circle, #{period => 500}}
        })
     || I <- [1, 2, 3]
    ],
    Nodes = [partisan_test_cluster:start_bare(Net, C) || C <- Configurations],
    % The page simulates the overlay too.
    Simulator = filename:dirname(code:which(simulator)),
    [true = call(Node, code, add_path, [Simulator]) || Node <- Nodes],
    {[Source], _} = partisan_test_page:blocks("tutorials/own-overlay.md"),
    [ok = call(Node, partisan_test_page, load, [Source]) || Node <- Nodes],
    [_, #{self := Seed} | _] = Nodes,
    [
        ok = call(Node, partisan_test_cluster, boot, [C#{seeds => [Seed]}])
     || {Node, C} <- tl(lists:zip(Nodes, Configurations))
    ],
    Nodes.

module_without_callbacks_is_refused_test() ->
    ?assertNot(partisan_overlay_registry:is_usable(lists)),
    ?assertNot(partisan_overlay_registry:is_usable(no_such_module)),
    ?assertNot(partisan_overlay_registry:is_usable("hyparview")),
    Known = partisan_overlay_registry:known(),
    ?assert(lists:all(fun partisan_overlay_registry:is_usable/1, Known)).

history_test_() ->
    {"the ring closes after any history",
        {timeout, 600, fun() ->
            {[Source], _} = partisan_test_page:blocks("tutorials/own-overlay.md"),
            ok = partisan_test_page:load(Source),
            ?assert(proper:quickcheck(prop_ring(), [{numtests, 50}, {to_file, user}, noshrink]))
        end}}.

%% Crashes, departures and any partition, and then some quiet.
prop_ring() ->
    ?FORALL(
        {Seed, Crashed, Left, Parts},
        {integer(1, 1 bsl 30), victims(), victims(), integer(1, 3)},
        begin
            Sim0 = simulator:new(#{seed => Seed, seeds => ?SEEDS, overlay => {circle, #{}}}),
            Sim1 = lists:foldl(fun simulator:start/2, Sim0, lists:seq(1, ?NODES)),
            Sim2 = simulator:crash(Crashed, simulator:run(20000, Sim1)),
            Sim3 = simulator:cut(fun(Index) -> Index rem Parts end, Sim2),
            Sim4 = lists:foldl(fun simulator:leave/2, Sim3, Left -- Crashed),
            Sim5 = simulator:heal(simulator:run(30000, Sim4)),
            Restarted = lists:foldl(fun simulator:start/2, Sim5, Crashed),
            Sim6 = simulator:run(180000, Restarted),
            is_ring(simulator:links(Sim6))
        end
    ).

victims() ->
    ?LET(Victims, list(integer(?SEEDS + 1, ?NODES)), lists:usort(Victims)).

is_ring(Links) ->
    Degree = min(2, map_size(Links) - 1),
    lists:all(fun(Neighbours) -> length(Neighbours) =:= Degree end, maps:values(Links)) andalso
        simulator_graph:component_count(Links) =:= 1 andalso
        simulator_graph:one_sided(Links) =:= [].

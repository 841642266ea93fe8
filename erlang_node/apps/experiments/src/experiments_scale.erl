%%% @doc Overlays of whole clusters, as two experiments of `simulate.escript': growth of one with
%%% its size, run at increasing sizes far beyond those launched, and the overlays compared.
%%%
%%% The cluster is that of a manifest without parameters: HyParView with the runtime's defaults,
%%% three seeds, beacons, and pod names and addresses, so that bytes are realistic. Its nodes start
%%% within ten seconds, however many they are, and join over the seeds. The overlay's traffic is
%%% counted until it is whole, and again when it has settled; then some nodes broadcast, one after
%%% the other.
%%%
%%% `overlays' does this for every overlay that forms by itself: a static one has the links that it
%%% is given. The seeds are the servers and brokers. In the end the first of them and a tenth of the
%%% other nodes die at once, and another one broadcasts in the same millisecond, and again when the
%%% survivors are one component.
-module(experiments_scale).

-export([names/0]).
-export([run/2]).

-import(experiments_cells, [emit/5, say/3, mean/1, live_bytes/0]).

-type name() :: scale_curves | overlays.

-type options() :: #{
    nodes := pos_integer(),
    seed := integer(),
    % Shuffle intervals until the overlay has settled, and one more that is measured.
    cycles := pos_integer(),
    % Number of nodes that broadcast.
    simulated := pos_integer(),
    emit := fun((experiments_cells:cell()) -> ok),
    progress := fun((string()) -> ok),
    _ => _
}.

-export_type([name/0, options/0]).

-define(CLUSTER, <<"ads">>).
-define(SEEDS, 3).
-define(ZONES, 3).
-define(START_WITHIN_US, 10000000).
-define(LATENCY_MS, {1, 20}).
%% Interval of observations of links and broadcasts, and of connectivity, which takes longer.
-define(STEP_MS, 1).
-define(LOOK_MS, 100).
-define(FORM_WITHIN_MS, 300000).
-define(CYCLE_MS, 10000).
%% Time limit of the survivors to become one component.
-define(REPAIR_WITHIN_MS, 60000).
%% The largest full mesh that a cluster accepts by default.
-define(LARGEST_MESH, 256).
%% Time limit of a broadcast: mostly for the retransmission of a lost payload.
-define(BROADCAST_MS, 3000).

%% @doc The experiments.
-spec names() -> [name()].
names() ->
    [scale_curves, overlays].

%% @doc Runs the experiment; cells go to `emit' as they come. Fails if nodes do not become one
%% component within five minutes.
-spec run(name(), options()) -> ok.
run(scale_curves, #{nodes := Nodes} = O) ->
    {CpuBefore, _} = statistics(runtime),
    Report = reporter(scale_curves, hyparview, O),
    Last = quiet(new({hyparview, #{}}, O), Report, O),
    {CpuAfter, _} = statistics(runtime),
    Report([{heap_bytes_per_node, live_bytes() / Nodes}]),
    % Asked last, since what is no longer needed is then off the heap.
    #{events := Events} = simulator:stats(plan_overlay:sim(Last)),
    Report([
        {events, Events},
        {events_per_cpu_second, 1000 * Events / max(1, CpuAfter - CpuBefore)}
    ]);
run(overlays, O) ->
    lists:foreach(
        fun({Kind, _} = Spec) ->
            say("~s", [Kind], O),
            Report = reporter(overlays, Kind, O),
            failed(quiet(new(Spec, O), Report, O), Report, O)
        end,
        compared(O)
    ).

%% Internals: the phases.

compared(#{nodes := Nodes} = O) ->
    Seeds = seeds(O),
    [{full_mesh, #{}} || Nodes =< ?LARGEST_MESH] ++
        [
            {client_server, #{servers => Seeds}},
            {publish_subscribe, #{brokers => Seeds}},
            {hyparview, #{}},
            {xbot, #{}},
            {cyclon, #{}},
            {scamp_v1, #{}},
            {scamp_v2, #{}},
            {hiscamp, #{}}
        ].

%% From the start of the nodes to the end of the broadcasts.
quiet(New, Report, #{nodes := Nodes, cycles := Cycles, simulated := Broadcasts} = O) ->
    Formed = form(New, O),
    Report(formed(Formed)),
    Settled = pass(Cycles * ?CYCLE_MS, Formed),
    say("settled", [], O),
    % A whole cluster is large: only the sums of this moment are kept.
    Before = plan_overlay:sent(Settled),
    Watched = pass(?CYCLE_MS, Settled),
    Report(traffic(Before, plan_overlay:sent(Watched), O) ++ shape(Watched)),
    {Heard, Last} = lists:mapfoldl(fun broadcast/2, Watched, origins(Broadcasts, O)),
    Report([
        {broadcast_reach, 100 * lists:min([Pods || {#{pods := Pods}, _} <- Heard]) / Nodes},
        {broadcast_hops, lists:max([Hops || {#{hops := Hops}, _} <- Heard])},
        {broadcast_seconds, lists:max([At || {_, At} <- Heard]) / 1000}
    ]),
    Last.

%% The first seed and a tenth of the other nodes die.
failed(Overlay, Report, #{nodes := Nodes, seed := Seed}) ->
    {[Origin | Victims], _} = partisan_random:sample(
        1 + Nodes div 10, lists:seq(1, Nodes - 1), rand:seed_s(exsss, {Seed, Nodes, 4})
    ),
    Alive = Nodes - 1 - length(Victims),
    % The first pod is a seed.
    Crashed = plan_overlay:crash([0 | Victims], Overlay),
    {{#{pods := AtOnce}, _}, _} = broadcast(Origin, Crashed),
    Report([{killed, Nodes - Alive}, {reach_at_once, 100 * AtOnce / Alive}]),
    case repair(plan_overlay:now(Crashed), Crashed) of
        {ok, Milliseconds, Repaired} ->
            {{#{pods := Later}, _}, _} = broadcast(Origin, Repaired),
            Report([
                {repair_seconds, Milliseconds / 1000}, {reach_repaired, 100 * Later / Alive}
            ]);
        never ->
            ok
    end.

%% Milliseconds until the survivors are one component.
repair(Since, Overlay) ->
    Passed = plan_overlay:now(Overlay) - Since,
    case plan_overlay:is_whole(Overlay) of
        true -> {ok, Passed, Overlay};
        false when Passed >= ?REPAIR_WITHIN_MS -> never;
        false -> repair(Since, pass(?LOOK_MS, Overlay))
    end.

new(Spec, #{nodes := Nodes, seed := Seed} = O) ->
    Seeds = seeds(O),
    plan_overlay:new(#{
        names => plan_names:new(#{
            cluster => ?CLUSTER, replicas => Nodes, seeds => Seeds, zones => ?ZONES
        }),
        overlay => Spec,
        seeds => Seeds,
        seed => Seed,
        latency => ?LATENCY_MS,
        boot_gap_us => ?START_WITHIN_US div Nodes
    }).

seeds(#{nodes := Nodes}) ->
    Members = node_names:members(?CLUSTER, Nodes),
    lists:usort([lists:nth(I * Nodes div ?SEEDS + 1, Members) || I <- [0, 1, 2]]).

form(Overlay, #{nodes := Nodes} = O) ->
    Now = plan_overlay:now(Overlay),
    Now =< ?FORM_WITHIN_MS orelse error({in_parts, Nodes, after_ms, Now}),
    case plan_overlay:is_whole(Overlay) of
        true ->
            say("one component after ~b ms", [Now], O),
            Overlay;
        false ->
            Joined = map_size(plan_overlay:joined(Overlay)),
            _ = [say("~b of ~b joined", [Joined, Nodes], O) || Now rem 2000 =:= 0],
            form(pass(?LOOK_MS, Overlay), O)
    end.

pass(Milliseconds, Overlay) when Milliseconds =< 0 ->
    Overlay;
pass(Milliseconds, Overlay) ->
    pass(Milliseconds - ?STEP_MS, step(Overlay)).

step(Overlay) ->
    {_Changes, Later} = plan_overlay:step(?STEP_MS, Overlay),
    Later.

origins(Count, #{nodes := Nodes, seed := Seed}) ->
    {Ordinals, _} = partisan_random:sample(
        Count, lists:seq(0, Nodes - 1), rand:seed_s(exsss, {Seed, Nodes, 3})
    ),
    Ordinals.

%% The result of a broadcast, and the milliseconds until its last arrival.
broadcast(Ordinal, Overlay) ->
    listen(0, 0, plan_overlay:broadcast(Ordinal, Overlay)).

listen(?BROADCAST_MS, At, Overlay) ->
    {{plan_overlay:heard(Overlay), At}, Overlay};
listen(Passed, At, Overlay) ->
    #{pods := Before} = plan_overlay:heard(Overlay),
    Later = step(Overlay),
    case plan_overlay:heard(Later) of
        #{pods := Before} -> listen(Passed + ?STEP_MS, At, Later);
        #{} -> listen(Passed + ?STEP_MS, Passed + ?STEP_MS, Later)
    end.

%% Internals: figures.

formed(Overlay) ->
    Booted = plan_overlay:booted(Overlay),
    Joins = lists:sort([
        (At - map_get(Ordinal, Booted)) / 1000
     || {Ordinal, At} <- maps:to_list(plan_overlay:joined(Overlay))
    ]),
    #{messages := Messages, bytes := Bytes} = plan_overlay:sent(Overlay),
    [
        {join_seconds_median, lists:nth((length(Joins) + 1) div 2, Joins)},
        {join_seconds_most, lists:last(Joins)},
        {whole_seconds, (plan_overlay:now(Overlay) - lists:max(maps:values(Booted))) / 1000},
        {forming_messages_per_node, Messages / length(Joins)},
        {forming_bytes_per_node, Bytes / length(Joins)}
    ].

%% Traffic of the cycle between these sums.
traffic(#{messages := M0, bytes := B0}, #{messages := M1, bytes := B1}, #{nodes := Nodes}) ->
    NodeSeconds = Nodes * ?CYCLE_MS / 1000,
    [
        {messages_per_node_second, (M1 - M0) / NodeSeconds},
        {bytes_per_node_second, (B1 - B0) / NodeSeconds}
    ].

shape(Overlay) ->
    Links = simulator:links(plan_overlay:sim(Overlay)),
    Degrees = [length(Tos) || Tos <- maps:values(Links)],
    [
        {mean_degree, mean(Degrees)},
        {least_degree, lists:min(Degrees)},
        {most_degree, lists:max(Degrees)},
        {components, simulator_graph:component_count(Links)}
    ].

reporter(Experiment, Kind, O) ->
    fun(Figures) ->
        lists:foreach(
            fun({Parameter, Value}) -> emit(Experiment, Kind, Parameter, Value, O) end, Figures
        )
    end.

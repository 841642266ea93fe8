%%% @doc Whole nodes on real sockets: the ad counter up to its threshold, with a node that is killed
%%% and loses its storage, one whose container restarts, and one that is replaced gracefully; and a
%%% change of the overlay.
-module(node_cluster_tests).

-include_lib("eunit/include/eunit.hrl").

-define(T, node_test_cluster).

run_test_() ->
    [
        {atom_to_list(Mode), {timeout, 300, fun() -> run(Mode) end}}
     || Mode <- lasp_sync:modes()
    ].

run(Mode) ->
    Size = 4,
    New = ?T:new(Size, #{workload => ?T:workload(#{synchronization => Mode})}),
    Formed = lists:foldl(fun ?T:start/2, New, ?T:names(New)),
    try
        ok = await_joined(Formed),
        {202, _, _} = ?T:post(0, "/workload/start", start_request(Formed), Formed),
        ok = await_value(30, Formed),
        % Killed, and its storage with it: a new actor.
        Killed = ?T:start(1, ?T:forget(1, ?T:kill(1, Formed))),
        % Killed, but the storage stays: the same actor continues with its counts.
        #{<<"actor">> := Actor, <<"increments">> := Before} = ?T:reported(2, Killed),
        Restarted = ?T:start(2, ?T:kill(2, Killed)),
        #{<<"actor">> := Again, <<"increments">> := After} = ?T:reported(2, Restarted),
        ?assertEqual(Actor, Again),
        ?assert(After >= Before),
        % Replaced gracefully: its counts are in the counter, to the last increment.
        Left = ?T:terminate(3, Restarted),
        {Departed, Count} = record_of(3, Left),
        Whole = ?T:start(3, ?T:forget(3, Left)),
        ok = ?T:await(fun() -> lists:all(fun(I) -> converged(I, Whole) end, ?T:names(Whole)) end),
        Workloads = [?T:reported(I, Whole) || I <- ?T:names(Whole)],
        Said = atom_to_binary(Mode),
        [?assertMatch(#{<<"synchronization">> := Said}, Workload) || Workload <- Workloads],
        check_agreement(Workloads),
        check_sum(Workloads),
        #{<<"superseded">> := #{Departed := Count}} = hd(Workloads),
        ok
    after
        ?T:stop(Formed)
    end.

switch_test_() ->
    {timeout, 300, fun switch/0}.

%% A node that restarts halfway reads the old file, and is sent the new one again. The parser that
%% reads both is unloaded after each start.
switch() ->
    New = ?T:new(4),
    Formed = lists:foldl(fun ?T:start/2, New, ?T:names(New)),
    try
        ok = await_joined(Formed),
        {202, _, _} = ?T:post(0, "/workload/start", start_request(Formed), Formed),
        ok = await_value(30, Formed),
        Channels = [#{name => default, parallelism => 4}, #{name => gossip, monotonic => true}],
        Other = #{overlay => {hyparview, #{}}, channels => Channels, revision => <<"2">>},
        ?assertEqual(false, ?T:call(0, code, is_loaded, [inet_config], Formed)),
        [{200, _, _} = configure(I, Other, Formed) || I <- [0, 1, 2]],
        Late = ?T:start(3, ?T:kill(3, Formed)),
        ?assertMatch(#{<<"revision">> := <<"1">>}, ?T:status(3, Late)),
        ok = ?T:await(fun() -> maps:get(<<"phase">>, ?T:reported(3, Late)) =/= <<"waiting">> end),
        {200, _, _} = configure(3, Other, Late),
        ok = ?T:await(fun() -> lists:all(fun(I) -> converged(I, Late) end, ?T:names(Late)) end),
        [
            ?assertMatch(
                #{<<"revision">> := <<"2">>, <<"overlay">> := #{<<"kind">> := <<"hyparview">>}},
                ?T:status(I, Late)
            )
         || I <- ?T:names(Late)
        ],
        check_agreement([?T:reported(I, Late) || I <- ?T:names(Late)]),
        check_sum([?T:reported(I, Late) || I <- ?T:names(Late)])
    after
        ?T:stop(Formed)
    end.

dissolve_test_() ->
    {timeout, 600, fun dissolve/0}.

%% A cluster that is being deleted: the command needs the token, one node is enough, and from then
%% on the nodes are silent but alive, and end without a hand-over.
dissolve() ->
    New = ?T:new(4),
    Formed = lists:foldl(fun ?T:start/2, New, ?T:names(New)),
    try
        ok = await_joined(Formed),
        {202, _, _} = ?T:post(0, "/workload/start", start_request(Formed), Formed),
        ok = await_value(1, Formed),
        ?assertMatch({401, _, _}, ?T:post(1, "/dissolve", {[], ""}, Formed)),
        ?assertNot(dissolved(1, Formed)),
        ok = dissolved_since(0, 1, Formed),
        ?assertNot(dissolved(1, Formed)),
        {202, _, _} = ?T:post(1, "/dissolve", ?T:authorized("", Formed), Formed),
        ok = ?T:await(fun() -> lists:all(fun(I) -> dissolved(I, Formed) end, ?T:names(Formed)) end),
        ok = ?T:await(fun() -> not lists:any(fun(I) -> works(I, Formed) end, ?T:names(Formed)) end),
        [
            begin
                ?assertMatch({200, _, _}, ?T:get(I, "/livez", Formed)),
                ?assertMatch(#{<<"workload">> := null}, ?T:status(I, Formed))
            end
         || I <- ?T:names(Formed)
        ],
        Linked = fun(I) -> linked(I, Formed) > 0 end,
        ok = ?T:await(fun() -> not lists:any(Linked, ?T:names(Formed)) end),
        [?assert(dissolved(I, Formed)) || I <- ?T:names(Formed)],
        % Idempotent.
        {202, _, _} = ?T:post(1, "/dissolve", ?T:authorized("", Formed), Formed),
        Ended = lists:foldl(fun ?T:terminate/2, Formed, ?T:names(Formed)),
        ?assertEqual(#{}, maps:get(nodes, Ended))
    after
        ?T:stop(Formed)
    end.

dissolved(I, Cluster) ->
    ?T:call(I, partisan, dissolved, [], Cluster).

%% A member repeats an order of that time, in seconds of system time; the node has read it.
dissolved_since(Since, I, Cluster) ->
    Order = {overlay, #{name => <<"member">>}, {dissolve, Since}},
    Order = ?T:call(I, erlang, send, [partisan_manager, Order], Cluster),
    _ = ?T:call(I, sys, get_state, [partisan_manager], Cluster),
    ok.

linked(I, Cluster) ->
    Channels = ?T:call(I, partisan, channels, [], Cluster),
    lists:sum([Connections || #{connections := Connections} <- maps:values(Channels)]).

works(I, Cluster) ->
    ?T:call(I, erlang, whereis, [workload_sup], Cluster) =/= undefined.

%% The store finds the overlay again after the runtime's processes were restarted.
restarted_runtime_test_() ->
    {timeout, 600, fun restarted_runtime/0}.

restarted_runtime() ->
    New = ?T:new(2),
    Cluster = lists:foldl(fun ?T:start/2, New, ?T:names(New)),
    try
        ok = await_joined(Cluster),
        Manager = ?T:call(1, erlang, whereis, [partisan_manager], Cluster),
        true = ?T:call(1, erlang, exit, [Manager, kill], Cluster),
        ok = ?T:await(fun() -> has_new_manager(Manager, Cluster) end),
        ok = await_joined(Cluster),
        {202, _, _} = ?T:post(0, "/workload/start", start_request(Cluster), Cluster),
        ok = ?T:await(fun() -> converged(0, Cluster) andalso converged(1, Cluster) end)
    after
        ?T:stop(Cluster)
    end.

has_new_manager(Old, Cluster) ->
    Pid = ?T:call(1, erlang, whereis, [partisan_manager], Cluster),
    is_pid(Pid) andalso Pid =/= Old.

check_agreement(Workloads) ->
    ?assertMatch([_], lists:usort([D || #{<<"digest">> := D} <- Workloads])),
    ?assertMatch([_], lists:usort([V || #{<<"value">> := V} <- Workloads])),
    [
        ?assertMatch(
            #{
                <<"phase">> := <<"finished">>,
                <<"nodes_done">> := 4,
                <<"ads_enabled">> := 0,
                <<"threshold">> := 120
            },
            Workload
        )
     || Workload <- Workloads
    ].

%% The value is the sum of the counts of living and replaced actors, nothing else.
check_sum(Workloads = [#{<<"value">> := Value, <<"superseded">> := Superseded} | _]) ->
    Increments = lists:sum([N || #{<<"increments">> := N} <- Workloads]),
    ?assertEqual(Value, Increments + lists:sum(maps:values(Superseded))),
    ?assert(Value >= 120),
    [
        ?assertEqual(#{Actor => N}, Entry)
     || #{<<"actor">> := Actor, <<"increments">> := N, <<"entry_of">> := Entry} <- Workloads
    ].

await_joined(Cluster) ->
    ?T:await(fun() ->
        lists:all(
            fun(I) ->
                #{<<"overlay">> := Overlay} = ?T:status(I, Cluster),
                #{<<"joined">> := Joined, <<"active">> := Active} = Overlay,
                Joined andalso length(Active) =:= length(?T:names(Cluster)) - 1
            end,
            ?T:names(Cluster)
        )
    end).

await_value(Least, Cluster) ->
    ?T:await(fun() ->
        #{<<"value">> := Value} = ?T:reported(0, Cluster),
        Value >= Least
    end).

converged(I, Cluster) ->
    #{<<"converged">> := Converged} = ?T:reported(I, Cluster),
    Converged.

%% The file is the final record of a stopped node's counts.
record_of(I, #{directory := Dir}) ->
    #{name := Name, incarnation := Incarnation, counts := Counts} =
        adcounter_journal:load(filename:join(Dir, "test-" ++ integer_to_list(I))),
    {adcounter_state:text({Name, Incarnation}), lists:sum(maps:values(Counts))}.

start_request(Cluster) ->
    ?T:authorized("r1", Cluster).

configure(I, Changes, Cluster) ->
    Request = ?T:authorized(?T:configuration(Changes, Cluster), Cluster),
    ?T:post(I, "/configuration", Request, Cluster).

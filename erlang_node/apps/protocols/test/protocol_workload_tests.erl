%%% @doc The protocols as workloads of real nodes.
-module(protocol_workload_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([run/1, stop/0]).

-define(OPERATIONS, 5).
%% Does not pass within a test.
-define(LONG, 3600000).

protocols_test_() ->
    {one_of, Protocols, _} = maps:get(protocol, protocol_workload:parameters()),
    {setup, fun form/0, fun release/1, fun({Nodes, Dir}) ->
        [
            {atom_to_list(Protocol), {timeout, 600, fun() -> finishes(Protocol, Nodes, Dir) end}}
         || Protocol <- Protocols -- [rumor_mongering]
        ] ++
            [
                {"rumors spread", {timeout, 600, fun() -> spreads(Nodes, Dir) end}},
                {"a restarted node continues", {timeout, 600, fun() -> restarted(Nodes, Dir) end}}
            ]
    end}.

finishes(Protocol, Nodes, Dir) ->
    Fresh = filename:join(Dir, atom_to_list(Protocol)),
    [ok = start_on(Node, Protocol, Nodes, Fresh) || Node <- Nodes],
    Waiting = status(hd(Nodes)),
    ?assertMatch(#{phase := waiting, value := 0, threshold := 15, converged := false}, Waiting),
    ?assertMatch({error, _}, call(hd(Nodes), protocol_workload, start, [<<"other">>])),
    ok = begin_on(hd(Nodes), Fresh),
    ok = await_finished(Nodes),
    Reports = [status(Node) || Node <- Nodes],
    [
        ?assertMatch(#{value := 15, converged := true, protocol := Protocol, kind := _}, Report)
     || Report <- Reports
    ],
    ?assertMatch([_], lists:usort([Digest || #{digest := Digest} <- Reports])),
    [ok = call(Node, ?MODULE, stop, []) || Node <- Nodes].

%% A rumor may die out before it has reached every node.
spreads(Nodes, Dir) ->
    Fresh = filename:join(Dir, "spreads"),
    [ok = start_on(Node, rumor_mongering, Nodes, Fresh) || Node <- Nodes],
    ok = begin_on(hd(Nodes), Fresh),
    ok = await(fun() ->
        lists:any(fun(Node) -> maps:get(value, status(Node)) > ?OPERATIONS end, Nodes)
    end),
    [ok = call(Node, ?MODULE, stop, []) || Node <- Nodes].

%% Its process and its file are found again, whatever it has missed meanwhile. The others begin when
%% C has stopped for the second time: it begins no other before its interval has passed.
restarted([A, B, C] = Nodes, Dir) ->
    Fresh = filename:join(Dir, "restarted"),
    [ok = start_on(Node, two_phase_commit, Nodes, Fresh) || Node <- [A, B]],
    ok = start_on(C, two_phase_commit, Nodes, Fresh, ?LONG),
    % An operation that has failed is repeated.
    ok = await(fun() -> begin_on(C, Fresh) =:= ok andalso maps:get(value, status(C)) > 0 end),
    ok = call(C, ?MODULE, stop, []),
    ok = start_on(C, two_phase_commit, Nodes, Fresh, ?LONG),
    ?assertMatch(#{phase := running}, status(C)),
    ok = call(C, ?MODULE, stop, []),
    ok = begin_on(A, Fresh),
    ok = start_on(C, two_phase_commit, Nodes, Fresh),
    ok = await(fun() -> maps:get(value, status(A)) =:= 15 end),
    [ok = call(Node, ?MODULE, stop, []) || Node <- [A, B, C]].

start_on(Node, Protocol, Nodes, Dir) ->
    start_on(Node, Protocol, Nodes, Dir, 20).

start_on(Node, Protocol, Nodes, Dir, Interval) ->
    Directory = filename:join(Dir, binary_to_list(name(Node))),
    ok = filelib:ensure_path(Directory),
    {ok, Parameters} = workload:parameters(protocol_workload, #{
        protocol => Protocol, operations => ?OPERATIONS, interval => Interval
    }),
    call(Node, ?MODULE, run, [#{
        name => name(Node),
        incarnation => 1,
        run => run_in(Dir),
        members => [name(N) || N <- Nodes],
        channel => default,
        directory => Directory,
        parameters => Parameters
    }]).

begin_on(Node, Dir) ->
    call(Node, protocol_workload, start, [run_in(Dir)]).

%% Each test has a run of its own: late messages of a previous one start nothing.
run_in(Dir) ->
    list_to_binary(filename:basename(Dir)).

await_finished(Nodes) ->
    await(fun() -> lists:all(fun(N) -> maps:get(phase, status(N)) =:= finished end, Nodes) end).

status(Node) ->
    call(Node, protocol_workload, status, []).

form() ->
    Nodes = partisan_test_cluster:start_connected(3, #{}),
    Paths = [filename:dirname(code:which(M)) || M <- [?MODULE, protocol_workload, workload]],
    [ok = call(Node, code, add_pathsa, [Paths]) || Node <- Nodes],
    Dir = partisan_test_directory:new(),
    {Nodes, Dir}.

release({Nodes, Dir}) ->
    ok = partisan_test_cluster:stop(Nodes),
    ok = file:del_dir_r(Dir).

%% On the nodes.

run(Options) ->
    Starter = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        _ = process_flag(trap_exit, true),
        {ok, Supervisor} = workload_sup:start_link(protocol_workload, Options),
        Starter ! {self(), started},
        receive stop -> ok end,
        exit(Supervisor, shutdown),
        receive {'EXIT', Supervisor, _} -> ok end
    end),
    true = register(?MODULE, Pid),
    receive
        {Pid, started} -> true = demonitor(Monitor, [flush]), ok;
        {'DOWN', Monitor, process, Pid, Reason} -> {error, Reason}
    end.

stop() ->
    Monitor = monitor(process, ?MODULE),
    ?MODULE ! stop,
    receive {'DOWN', Monitor, process, _, _} -> ok end.

%%% @doc Counterexamples of the explorer, injected in real nodes, violate the property there too.
-module(verify_live_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([start/1, stop/0]).

-define(NAMES, [<<"node-1">>, <<"node-2">>, <<"node-3">>]).
%% Long enough for a busy machine.
-define(OPTIONS, #{coordinator_timeout => 500, participant_timeout => 1000}).
%% Of a run that needs no timeout, and in which the nodes load the code.
-define(LONG, #{coordinator_timeout => 60000, participant_timeout => 90000}).

live_test_() ->
    {setup, fun form/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> Test(Nodes) end}}
         || {Title, Test} <- [
                {"three-phase commit without faults", fun no_faults/1},
                {"three-phase commit with two omissions", fun three_phase_commit/1},
                {"a gen_server, which was hosted for the search", fun server/1}
            ]
        ]
    end}.

no_faults(Nodes) ->
    ?assertMatch({{ok, _}, [1, 1, 1]}, run_process([], [1, 1, 1], ?LONG, Nodes)).

three_phase_commit(Nodes) ->
    Search = #{
        module => three_phase_commit,
        nodes => ?NAMES,
        options => ?OPTIONS,
        most => 2,
        order => symmetric
    },
    #{failing := 3, examples := Examples} = verify_explore:run(Search),
    [
        begin
            World = replayed(Search, Schedule),
            [{_, _, Answer}] = verify_world:replies(World),
            Delivered = [length(verify_world:delivered(Name, World)) || Name <- ?NAMES],
            ?assertMatch({error, _}, Answer),
            ?assertEqual(1, lists:sum(Delivered)),
            ?assertEqual({Answer, Delivered}, run_process(Schedule, Delivered, ?OPTIONS, Nodes))
        end
     || #{schedule := Schedule} <- lists:sublist(Examples, 2)
    ].

replayed(Search, Schedule) ->
    {World, []} = verify_schedule:run(
        Schedule, verify_search:world(verify_search:complete(Search))
    ),
    World.

%% The answer, and how many values each node delivers, once these are so many.
run_process(Schedule, Expected, Options, Nodes) ->
    inject(Schedule, Nodes),
    Process = #{module => three_phase_commit, name => process, options => Options},
    [
        begin
            ok = call(Node, partisan_test_sink, start, [sink]),
            ok = call(Node, ?MODULE, start, [{process, Process#{members => ?NAMES}}])
        end
     || Node <- Nodes
    ],
    Request = [process, {broadcast, value}, 60000],
    Answer = call(hd(Nodes), partisan_process_server, call, Request),
    Delivered = fun() -> [call(Node, partisan_test_sink, count, [sink]) || Node <- Nodes] end,
    ok = await(fun() -> Delivered() =:= Expected end),
    Result = {Answer, Delivered()},
    [
        begin
            ok = call(Node, ?MODULE, stop, []),
            ok = call(Node, partisan_test_sink, stop, [sink])
        end
     || Node <- Nodes
    ],
    Result.

%% The original module, under OTP's own `gen_server'.
server(Nodes) ->
    {ok, Hosted} = verify_host:load(hosted_commit_server),
    Search = #{module => Hosted, nodes => ?NAMES, most => 1},
    #{failing := 2, examples := [#{schedule := Schedule} | _]} = verify_explore:run(Search),
    inject(Schedule, Nodes),
    [ok = call(Node, ?MODULE, start, [server]) || Node <- Nodes],
    Answer = call(hd(Nodes), hosted_commit_server, broadcast, [value]),
    ?assertMatch({ok, _}, Answer),
    States = fun() ->
        [{name(Node), call(Node, sys, get_state, [hosted_commit_server])} || Node <- Nodes]
    end,
    Verdict = fun() ->
        hosted_commit_server:verdict(#{
            members => ?NAMES,
            up => ?NAMES,
            replies => [{<<"node-1">>, ref, Answer}],
            delivered => #{},
            states => maps:from_list(States())
        })
    end,
    % The others have committed.
    ok = await(fun() -> Verdict() =:= violated(Search, Schedule) end),
    [ok = call(Node, ?MODULE, stop, []) || Node <- Nodes].

violated(Search, Schedule) ->
    verify_search:violation(verify_search:complete(Search), replayed(Search, Schedule)).

inject(Schedule, Nodes) ->
    Rules = verify_schedule:rules(Schedule),
    [ok = call(Node, partisan_interposition, set, [Rules]) || Node <- Nodes].

form() ->
    Nodes = partisan_test_cluster:start_connected(3, #{}),
    Paths = [
        filename:dirname(code:which(M))
     || M <- [?MODULE, verify_host, three_phase_commit, partisan_test_sink]
    ],
    [ok = call(Node, code, add_pathsa, [Paths]) || Node <- Nodes],
    Nodes.

%% On the nodes.

start(What) ->
    Starter = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        {ok, _} = start_link(What),
        true = register(?MODULE, self()),
        Starter ! {self(), started},
        receive stop -> exit(shutdown) end
    end),
    receive
        {Pid, started} -> true = demonitor(Monitor, [flush]), ok;
        {'DOWN', Monitor, process, Pid, Reason} -> {error, Reason}
    end.

start_link(server) ->
    hosted_commit_server:start_link(none);
start_link({process, Process}) ->
    partisan_process_server:start_link(Process#{deliver => whereis(sink)}).

stop() ->
    [stop(Name) || Name <- [?MODULE, process, hosted_commit_server], whereis(Name) =/= undefined],
    ok.

%% The process ends with the one that has started it.
stop(Name) ->
    Monitor = monitor(process, Name),
    _ = Name =:= ?MODULE andalso (Name ! stop),
    receive {'DOWN', Monitor, process, _, _} -> ok end.

%%% @doc Supervisors with children on other nodes: what ends a child, and what its end does.
-module(partisan_child_tests).

-behaviour(supervisor).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([init/1, supervise/3, start/2, child/1, result/1, outcome/1, stubborn/1]).

-define(SETTINGS, #{remote_execution => [?MODULE], heartbeat_interval => 1000}).

%% The supervisor's node and the children's are no neighbours in a star.
child_test_() ->
    % Formed before the groups: EUnit drops one of several at once, unseen, if its own setup fails.
    {setup, fun clusters/0, fun stop/1, fun(Clusters) ->
        {inparallel, [{inorder, tests(Cluster)} || Cluster <- Clusters]}
    end}.

clusters() ->
    [
        {Kind, form(maps:merge(?SETTINGS, Overlay))}
     || {Kind, Overlay} <- [
            {"full mesh: ", #{}},
            {"star: ", #{overlay => {client_server, #{servers => [<<"node-1">>]}}}}
        ]
    ].

stop(Clusters) ->
    partisan_test_cluster:stop(lists:append([Nodes || {_Kind, Nodes} <- Clusters])).

tests({Kind, [_ | Nodes]}) ->
    [
        {Kind ++ Title, {timeout, 600, fun() -> Test(Nodes) end}}
     || {Title, Test} <- [
            {"children that do not start", fun refused/1},
            {"a child ends and is restarted", fun restarted/1},
            {"the supervisor shuts down", fun shutdown/1},
            {"a child does not end in time", fun brutal/1},
            {"the supervisor is killed", fun killed/1},
            {"the child's node is lost", fun lost/1},
            {"the supervisor's node is lost", fun orphaned/1}
        ]
    ].

refused([A, B, _]) ->
    Start = fun(Node, Module, Function, Arguments) ->
        call(A, ?MODULE, outcome, [[Node, Module, Function, Arguments]])
    end,
    ?assertEqual(ignore, Start(name(B), ?MODULE, result, [ignore])),
    ?assertEqual({error, wrong}, Start(name(B), ?MODULE, result, [{error, wrong}])),
    ?assertEqual({error, wrong}, Start(name(B), ?MODULE, result, [wrong])),
    ?assertMatch({error, {function_clause, _}}, Start(name(B), ?MODULE, start, [1, 2])),
    ?assertEqual({error, {not_allowed, lists}}, Start(name(B), lists, reverse, [[]])),
    ?assertEqual({error, noconnection}, Start([], ?MODULE, result, [ignore])),
    % The first that is there.
    ?assertEqual(ignore, Start([<<"none">>, name(B)], ?MODULE, result, [ignore])).

restarted([A, B, C]) ->
    ok = supervised(A, [B, C]),
    ok = await(fun() -> is_there(B) end),
    Before = call(B, erlang, whereis, [child]),
    [{id, Adapter, worker, _}] = call(A, supervisor, which_children, [sup]),
    Reference = call(A, partisan_child, child, [Adapter]),
    ?assertEqual(Reference, call(B, partisan, ref, [Before])),
    ok = call(A, partisan, forward, [Reference, {exit, oops}]),
    ok = await(fun() ->
        Pid = call(B, erlang, whereis, [child]),
        is_pid(Pid) andalso Pid =/= Before
    end),
    ?assertNot(call(A, erlang, is_process_alive, [Adapter])),
    % What the supervisor knows.
    ?assertEqual(1, proplists:get_value(active, call(A, supervisor, count_children, [sup]))),
    ok = terminate(A),
    ok = ended(B, shutdown).

%% When the supervisor has ended, so have its children.
shutdown([A, B, C]) ->
    ok = supervised(A, [B, C]),
    ok = await(fun() -> is_there(B) end),
    ok = terminate(A),
    ?assertNot(is_there(B)),
    ok = ended(B, shutdown).

brutal([A, B, C]) ->
    ok = call(A, ?MODULE, supervise, [sup, [name(B), name(C)], {stubborn, 10}]),
    ok = await(fun() -> is_there(B) end),
    ok = terminate(A),
    ok = await(fun() -> not is_there(B) end).

killed([A, B, C]) ->
    ok = supervised(A, [B, C]),
    ok = await(fun() -> is_there(B) end),
    true = call(A, erlang, exit, [call(A, erlang, whereis, [sup]), kill]),
    ok = await(fun() -> not is_there(B) end),
    ok = ended(B, killed).

lost([A, B, C]) ->
    ok = supervised(A, [B, C]),
    ok = await(fun() -> is_there(B) end),
    partisan_test_cluster:kill(B),
    ok = await(fun() -> is_there(C) end),
    ?assertEqual(1, proplists:get_value(active, call(A, supervisor, count_children, [sup]))).

orphaned([A, _, C]) ->
    ok = await(fun() -> is_there(C) end),
    partisan_test_cluster:kill(A),
    ok = await(fun() -> not is_there(C) end),
    ok = ended(C, noconnection).

%% On the nodes.

%% A supervisor of one child, whose node is the first that is there.
supervise(Name, Nodes, Shutdown) ->
    {ok, Pid} = supervisor:start_link({local, Name}, ?MODULE, {Nodes, Shutdown}),
    true = unlink(Pid),
    ok.

init({Nodes, {stubborn, Shutdown}}) ->
    {ok, {#{}, [spec(Nodes, stubborn, Shutdown)]}};
init({Nodes, Shutdown}) ->
    {ok, {#{}, [spec(Nodes, child, Shutdown)]}}.

spec(Nodes, Function, Shutdown) ->
    Start = {partisan_child, start_link, [Nodes, ?MODULE, start, [Function, child]]},
    #{id => id, start => Start, shutdown => Shutdown}.

%% A child under a name.
start(Function, Name) when is_atom(Function) ->
    proc_lib:start_link(?MODULE, Function, [Name]).

%% Leaves its reason behind.
child(Name) ->
    false = process_flag(trap_exit, true),
    true = register(Name, self()),
    Parent = hd(get('$ancestors')),
    proc_lib:init_ack({ok, self()}),
    receive
        {exit, Reason} ->
            exit(Reason);
        {'EXIT', Parent, Reason} ->
            persistent_term:put(?MODULE, Reason),
            exit(Reason)
    end.

stubborn(Name) ->
    false = process_flag(trap_exit, true),
    true = register(Name, self()),
    proc_lib:init_ack({ok, self()}),
    receive never -> ok end.

result(Result) ->
    Result.

%% Of a start by a process that is no supervisor.
outcome(Arguments) ->
    {Pid, Monitor} = spawn_monitor(fun() ->
        exit({?MODULE, apply(partisan_child, start_link, Arguments)})
    end),
    receive {'DOWN', Monitor, process, Pid, {?MODULE, Outcome}} -> Outcome end.

%% Helpers.

form(Settings) ->
    Nodes = partisan_test_cluster:start(4, Settings),
    ok = await(fun() ->
        lists:all(fun(Node) -> call(Node, partisan, joined, []) end, Nodes) andalso
            length(call(hd(Nodes), partisan, neighbours, [])) =:= 3
    end),
    % The supervisor's node takes one that it does not reach in time for a lost one.
    case Settings of
        #{overlay := _} -> ok;
        #{} -> ok = partisan_test_cluster:connected(Nodes)
    end,
    Nodes.

supervised(A, Nodes) ->
    call(A, ?MODULE, supervise, [sup, [name(Node) || Node <- Nodes], 5000]).

is_there(Node) ->
    call(Node, erlang, whereis, [child]) =/= undefined.

%% Stops the supervisor, and waits for its end.
terminate(Node) ->
    call(Node, gen_server, stop, [sup, shutdown, infinity]).

%% Why the child of a node has ended.
ended(Node, Reason) ->
    ok = await(fun() -> call(Node, persistent_term, get, [?MODULE, none]) =/= none end),
    ?assertEqual(Reason, call(Node, persistent_term, get, [?MODULE])),
    true = call(Node, persistent_term, erase, [?MODULE]),
    ok.

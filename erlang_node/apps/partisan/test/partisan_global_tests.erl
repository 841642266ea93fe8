%%% @doc Names of processes over real nodes: OTP's behaviours by via names, ends, lost nodes, and a
%%% partition in which a name is given twice.
-module(partisan_global_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, await/1, name/1]).

%% On the nodes.
-export([start/2, start_supervisor/1, keep/1, messages/1]).
%% Callbacks of gen_statem and supervisor.
-export([init/1, callback_mode/0, handle_event/4]).

-define(G, partisan_global).

nodes_test_() ->
    Star = #{
        overlay => {client_server, #{servers => [<<"node-1">>]}}, heartbeat_interval => 500
    },
    {setup, fun() -> prepared(partisan_test_cluster:start(3, Star)) end,
        fun partisan_test_cluster:stop/1, fun(Nodes) ->
            [
                {"a partition", {timeout, 600, fun() -> partition(Nodes) end}},
                {"by via names", {timeout, 600, fun() -> behaviours(Nodes) end}}
            ]
        end}.

prepared(Nodes) ->
    ok = await(fun() -> lists:all(fun(N) -> call(N, partisan, joined, []) end, Nodes) end),
    [{ok, _} = call(N, ?G, start, []) || N <- Nodes],
    Nodes.

behaviours([Server, A, B] = Nodes) ->
    Started = [call(N, ?MODULE, start, [gen_server, leader]) || N <- Nodes],
    ?assertMatch([started, taken, taken], Started),
    ok = known(leader, Nodes),
    [?assertEqual(hello, via(N, gen_server, leader, {echo, hello})) || N <- Nodes],
    [Reference] = lists:usort([call(N, ?G, reference, [leader]) || N <- Nodes]),
    started = call(A, ?MODULE, start, [gen_statem, machine]),
    ok = known(machine, Nodes),
    ?assertEqual(hello, via(B, gen_statem, machine, hello)),
    ok = call(A, ?MODULE, start_supervisor, [supervisor]),
    ok = known(supervisor, Nodes),
    ?assertEqual([leader, machine, supervisor], call(B, ?G, registered_names, [])),
    % Only processes of the own node, with a function.
    ?assertError({nolocal, _}, call(A, ?G, register_name, [mine, Reference])),
    % A name is free again after its process has ended, or another node has unregistered it.
    ok = call(B, ?G, unregister_name, [machine]),
    ok = unknown(machine, Nodes),
    ?assertEqual(undefined, call(B, ?G, whereis_name, [machine])),
    ?assertExit({badarg, {machine, hello}}, call(B, ?G, send, [machine, hello])),
    started = call(B, ?MODULE, start, [gen_statem, machine]),
    ok = known(machine, Nodes),
    ok = partisan_test_cluster:kill(B),
    ok = unknown(machine, [Server, A]),
    started = call(A, ?MODULE, start, [gen_statem, machine]).

%% Either side gives the name; then one process keeps it, and the other is notified, as its method
%% says.
partition([_, A, B] = Nodes) ->
    Rule = #{name => <<"apart">>, action => {partition, [[name(B)]]}},
    [ok = call(N, partisan_interposition, set, [[Rule]]) || N <- Nodes],
    [ok = call(N, ?MODULE, keep, [x]) || N <- [A, B]],
    [Here, There] = [call(N, ?G, reference, [x]) || N <- [A, B]],
    ?assertNotEqual(Here, There),
    [ok = call(N, partisan_interposition, clear, []) || N <- Nodes],
    Winner = min(Here, There),
    ok = await(fun() ->
        lists:all(fun(N) -> call(N, ?G, reference, [x]) =:= Winner end, Nodes)
    end),
    [Loser] = [N || {N, R} <- [{A, Here}, {B, There}], R =/= Winner],
    ok = await(fun() -> call(Loser, ?MODULE, messages, [x]) =:= [{global_name_conflict, x}] end),
    [Other] = [N || N <- [A, B], N =/= Loser],
    ?assertEqual([], call(Other, ?MODULE, messages, [x])),
    ok = call(Loser, ?G, unregister_name, [x]),
    ok = unknown(x, Nodes).

known(Name, Nodes) ->
    await(fun() ->
        lists:all(fun(N) -> call(N, ?G, reference, [Name]) =/= undefined end, Nodes)
    end).

unknown(Name, Nodes) ->
    await(fun() ->
        lists:all(fun(N) -> call(N, ?G, reference, [Name]) =:= undefined end, Nodes)
    end).

via(Node, Module, Name, Request) ->
    call(Node, Module, call, [{via, ?G, Name}, Request]).

start(gen_server, Name) ->
    started(gen_server:start({via, ?G, Name}, partisan_test_server, [], []));
start(gen_statem, Name) ->
    started(gen_statem:start({via, ?G, Name}, ?MODULE, statem, [])).

started({ok, _}) -> started;
started({error, {already_started, _}}) -> taken.

start_supervisor(Name) ->
    {ok, Pid} = supervisor:start_link({via, ?G, Name}, ?MODULE, supervisor),
    true = unlink(Pid),
    {error, {already_started, Pid}} = supervisor:start_link({via, ?G, Name}, ?MODULE, supervisor),
    ok.

init(statem) -> {ok, state, data};
init(supervisor) -> {ok, {#{}, []}}.

callback_mode() -> handle_event_function.

handle_event({call, From}, Request, _State, _Data) ->
    {keep_state_and_data, {reply, From, Request}}.

%% Starts a process that keeps its messages, named on this node and globally.
keep(Name) ->
    Pid = spawn(fun() -> kept([]) end),
    true = register(Name, Pid),
    yes = ?G:register_name(Name, Pid, fun ?G:random_notify_name/3),
    ok.

kept(Messages) ->
    receive
        {messages, From} ->
            From ! {messages, lists:reverse(Messages)},
            kept(Messages);
        Message ->
            kept([Message | Messages])
    end.

messages(Name) ->
    Name ! {messages, self()},
    receive {messages, Messages} -> Messages end.

%%% @doc Arguments of a wrong type fail in the caller, and messages of a faulty member change
%%% nothing: neither ends a process of the runtime or of an application.
-module(partisan_invalid_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, peer/1, await/1]).

%% On the nodes.
-export([supervise/0, init/1]).

-define(PROCESSES, [
    partisan_manager, partisan_acks, partisan_remote, partisan_events_server, partisan_pubsub
]).
%% Of a node of Distributed Erlang.
-define(ELSEWHERE, binary_to_term(<<131, 88, 119, 3, "a@b", 90:32, 0:32, 1:32>>)).
-define(NO_PROCESS, {partisan_ref, node, 1, process, <<>>}).

nodes_test_() ->
    Settings = #{heartbeat_interval => 1000, remote_execution => [lists]},
    {setup, fun() -> partisan_test_cluster:start_connected(2, Settings) end,
        fun partisan_test_cluster:stop/1, fun(Nodes) ->
            [
                {Title, {timeout, 600, fun() -> Test(Nodes) end}}
             || {Title, Test} <- [
                    {"arguments", fun arguments/1},
                    {"groups and names of a faulty member", fun scopes/1},
                    {"topics of a faulty member", fun topics/1},
                    {"topics that compare equal", fun equal_topics/1},
                    {"a call that cannot be served is answered", fun unserved/1},
                    {"a supervisor survives a restart of the runtime", fun restarted/1}
                ]
            ]
        end}.

arguments([A, B]) ->
    Before = processes(A),
    Peer = peer(B),
    Node = name(B),
    Target = {sink, Node},
    Do = fun erlang:display/1,
    Invalid = [
        {bad_peers, partisan, join, [[none]]},
        {bad_peers, partisan, join, [none]},
        {bad_peers, partisan, join, [[Peer | none]]},
        {bad_peers, partisan, join, [[maps:remove(port, Peer)]]},
        {bad_peers, partisan, join, [[Peer#{name := peer}]]},
        {bad_peers, partisan_peer_service, join, [#{name => peer, host => 7, port => 1}]},
        {bad_peers, partisan_nodes, update_members, [[Node]]},
        {bad_peers, partisan_nodes, sync_join, [maps:remove(host, Peer), 100]},
        {badarg, partisan_nodes, sync_join, [Peer, soon]},
        {function_clause, partisan, subscribe, [17]},
        {function_clause, partisan, subscribe, [sink]},
        {function_clause, partisan, subscribe, [?ELSEWHERE]},
        {function_clause, partisan, subscribe, [news, ?ELSEWHERE]},
        {function_clause, partisan, monitor_node, [node]},
        {function_clause, partisan, demonitor_node, [node]},
        {function_clause, partisan, monitor, [process, ?NO_PROCESS]},
        {function_clause, partisan, forward, [node, sink, hello, #{}]},
        {function_clause, partisan, forward, [Node, "sink", hello, #{}]},
        {function_clause, partisan, broadcast, ["sink", hello]},
        {function_clause, partisan, execute, [node, lists, seq, [1, 2]]},
        {function_clause, partisan_nodes, leave, [node]},
        {function_clause, partisan_erlang, is_process_alive, [?NO_PROCESS]},
        {function_clause, partisan_erlang, send_after, [0, {sink, node}, hello]},
        {badarg, partisan_erlang, demonitor, [make_ref(), [kill]]},
        {function_clause, partisan_nodes, on_up, [node, Do]},
        {unknown_option, partisan_nodes, on_up, [Node, Do, #{chanel => default}]},
        {unknown_channel, partisan_nodes, on_down, [Node, Do, #{channel => none}]},
        {unknown_option, partisan, call, [Target, hello, 100, #{chanel => default}]},
        {badarg, partisan_gen_server, multi_call, [[Node, node], sink, hello, 100]},
        {badarg, partisan_gen_server, multi_call, [[Node | node], sink, hello, 100]},
        {badarg, partisan_gen_server, multi_call, [[Node], "sink", hello, 100]},
        {badarg, partisan_gen_server, multi_call, [[Node], sink, hello, soon]},
        {badarg, partisan_gen_server, abcast, [[Node, node], sink, hello]}
    ],
    Options = [
        {channel, "default"}, {ttl, -1}, {ttl, far}, {ack, perhaps}, {deadline, soon},
        {egress_delay, -1}, {ingress_delay, long}
    ],
    [
        ?assertEqual({Call, Reason}, {Call, failure(A, Call)})
     || {Reason, Module, Function, Arguments} <- Invalid ++
            [
                {bad_option, partisan, call, [Target, hello, 100, #{Option => Value}]}
             || {Option, Value} <- Options
            ],
        Call <- [{Module, Function, Arguments}]
    ],
    ?assertMatch({error, "changes must be" ++ _}, call(A, partisan, reconfigure, [none])),
    ?assertMatch(
        {error, "parallelism must be" ++ _}, call(A, partisan, reconfigure, [#{parallelism => 2}])
    ),
    Overlay = {publish_subscribe, #{brokers => [Node], greeting_interval => soon}},
    ?assertMatch({error, "overlay: publish_subs" ++ _}, call(A, partisan, switch, [Overlay])),
    ?assertEqual(Before, processes(A)),
    ?assertEqual([Node], call(A, partisan, neighbours, [])).

failure(Node, {Module, Function, Arguments}) ->
    try call(Node, Module, Function, Arguments) of
        Result -> {returned, Result}
    catch
        error:Reason when is_tuple(Reason) -> element(1, Reason);
        error:Reason -> Reason
    end.

scopes([A, B]) ->
    {ok, Scope} = call(B, partisan_pg, start, [scope]),
    {ok, Global} = call(B, partisan_global, start, []),
    Ask = fun(Request) -> call(A, partisan, call, [{scope, name(B)}, Request]) end,
    Joining = {join, group, [none]},
    [
        ?assertEqual({error, unknown_request}, Ask(Request))
     || Request <- [
            Joining, {make_ref(), Joining}, {none, Joining}, {leave, group, none}, {monitor, 17}
        ]
    ],
    Entry = fun(Key, Value) -> #{node_name() => {{1, 1}, #{Key => Value}}} end,
    Faulty = [
        none, #{node => {{1, 1}, #{}}}, #{<<"z">> => {{1, last}, #{}}}, #{<<"z">> => {{1, 1}, []}},
        Entry(group, none), Entry(group, [none]), Entry(group, [?NO_PROCESS]),
        Entry({name, x}, {{1, 1}, none}), Entry({name, x}, {{1, 1}, ?NO_PROCESS}),
        Entry({name, x}, none)
    ],
    [
        ok = call(A, partisan, forward, [name(B), Name, {Tag, entries, Entries}, #{ack => true}])
     || {Name, Tag} <- [
            {scope, partisan_pg}, {partisan_global, partisan_global_server}
        ],
        Entries <- Faulty
    ],
    Forged = [compare, {timeout, make_ref(), compare}] ++
        [{'DOWN', make_ref(), process, Of, killed} || Of <- [{partisan_remote, node()}, Scope]],
    [
        ok = call(A, partisan, forward, [name(B), Name, Message, #{ack => true}])
     || Name <- [scope, partisan_global], Message <- Forged
    ],
    ?assertEqual([], call(B, partisan_pg, which_groups, [scope])),
    ?assertEqual([], call(B, partisan_global, registered_names, [])),
    ?assertError({nolocal, _}, call(B, partisan_pg, join, [scope, group, ?ELSEWHERE])),
    ?assertError({nolocal, _}, call(B, partisan_pg, leave, [scope, group, [?ELSEWHERE]])),
    ?assertError({nolocal, _}, call(B, partisan_global, register_name, [x, ?ELSEWHERE])),
    ?assertEqual([Scope, Global], [call(B, erlang, whereis, [N]) || N <- [scope, partisan_global]]),
    % 1 and 1.0 are two groups.
    {Reference, _} = call(B, partisan_pg, monitor_scope, [scope]),
    ?assert(is_reference(Reference)),
    [ok = call(B, partisan_pg, join, [scope, Group, Global]) || Group <- [1, 1.0]],
    ?assertEqual([1, 1.0], lists:sort(call(B, partisan_pg, which_groups, [scope]))),
    [?assertEqual(1, length(call(B, partisan_pg, get_members, [scope, G]))) || G <- [1, 1.0]],
    [ok = call(B, gen_server, stop, [Pid]) || Pid <- [Scope, Global]].

node_name() ->
    <<"z", (integer_to_binary(erlang:unique_integer([positive])))/binary>>.

%% A node that believed such a list would fail with every publication, and pass it on.
topics([A, B]) ->
    Before = processes(B),
    Name = name(A),
    Messages = [
        {entries, #{<<"z">> => {{1, 1}, [news | none]}}},
        {brokers, {publish, {Name, x, 1}, news, hello}},
        {brokers, {publish, {Name, 1, x}, news, hello}},
        {brokers, {register, [news | none]}},
        {brokers, {register, [news, news]}},
        {brokers, {register, []}}
    ],
    [
        ok = call(A, partisan, transmit, [
            name(B), partisan_pubsub, {partisan_pubsub, Name, Message}, #{ack => false}
        ])
     || Message <- Messages
    ],
    ok = call(A, partisan, forward, [name(B), none, behind, #{ack => true}]),
    ?assertEqual(ok, call(B, partisan, publish, [news, hello])),
    ?assertEqual([], call(B, partisan_pubsub, subscribers, [news])),
    ?assertEqual(Before, processes(B)).

equal_topics([A, B]) ->
    Topics = [1, 1.0],
    ok = call(B, partisan_test_sink, start, [sink]),
    Sink = call(B, erlang, whereis, [sink]),
    [ok = call(B, partisan, subscribe, [Topic, Sink]) || Topic <- Topics],
    Subscribers = fun() -> [call(A, partisan_pubsub, subscribers, [T]) || T <- Topics] end,
    ok = await(fun() -> Subscribers() =:= [[name(B)], [name(B)]] end),
    [ok = call(A, partisan, publish, [Topic, Topic]) || Topic <- Topics],
    Published = [{partisan, {published, Topic, Topic}} || Topic <- Topics],
    ?assertEqual(Published, call(B, partisan_test_sink, take, [sink, 2])),
    ok = call(B, partisan_test_sink, stop, [sink]),
    ok = await(fun() -> Subscribers() =:= [[], []] end).

%% A mode of a later version, as of `spawn' with other options.
unserved([A, B]) ->
    ?assertEqual(
        {error, function_clause},
        call(A, partisan_execution, call, [name(B), unknown, {lists, seq, [1, 2]}, 10000])
    ).

restarted([A, _]) ->
    Supervisor = call(A, ?MODULE, supervise, []),
    Scopes = fun() -> [call(A, erlang, whereis, [N]) || N <- [restarted, partisan_global]] end,
    [
        begin
            Before = Scopes(),
            true = call(A, erlang, exit, [call(A, erlang, whereis, [Process]), kill]),
            ok = await(fun() -> [Pid || Pid <- Scopes(), is_pid(Pid)] -- Before =:= Scopes() end),
            ?assert(call(A, erlang, is_process_alive, [Supervisor]))
        end
     || Process <- [partisan_acks, partisan_remote]
    ],
    ok = call(A, partisan_pg, join, [restarted, group, Supervisor]),
    true = call(A, erlang, exit, [Supervisor, kill]).

supervise() ->
    {ok, Pid} = supervisor:start_link(?MODULE, []),
    true = unlink(Pid),
    Pid.

%% Each child ends once with each restart.
init([]) ->
    Children = [
        #{id => scope, start => {partisan_pg, start_link, [restarted]}},
        #{id => global, start => {partisan_global, start_link, []}}
    ],
    {ok, {#{intensity => 4, period => 60}, Children}}.

processes(Node) ->
    [{Process, call(Node, erlang, whereis, [Process])} || Process <- ?PROCESSES].

%%% @doc Unexpected messages neither end a process of the runtime nor go unnoticed.
-module(partisan_stray_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([stray/1, behind/2]).

-define(PROCESSES, [
    partisan_listener,
    partisan_manager,
    partisan_acks,
    partisan_remote,
    partisan_events_server,
    partisan_pubsub,
    partisan_interposition,
    partisan_liveness
]).

stray_test_() ->
    {timeout, 600, {setup, fun form/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {"from this node", {timeout, 600, fun() -> from_here(Nodes) end}},
            {"from another node", {timeout, 600, fun() -> from_elsewhere(Nodes) end}},
            {"invalid messages of a faulty member", {timeout, 600, fun() -> made_up(Nodes) end}}
        ]
    end}}.

form() ->
    Nodes = partisan_test_cluster:start(2, #{}),
    ok = await(fun() -> lists:all(fun(N) -> call(N, partisan, joined, []) end, Nodes) end),
    Nodes.

from_here([A, B]) ->
    Before = processes_of(B),
    [
        ?assertEqual({error, unknown_request}, call(B, ?MODULE, stray, [Process]))
     || Process <- ?PROCESSES
    ],
    ?assertEqual(Before, processes_of(B)),
    % Of each kind, of each process.
    Counted = [
        call(B, partisan_metrics, value, [partisan_stray_messages_total, [Process, Kind]])
     || Process <- ?PROCESSES, Kind <- [call, cast, message]
    ],
    ?assert(lists:all(fun(N) -> N > 0 end, Counted)),
    works(A, B).

from_elsewhere([A, B]) ->
    Before = processes_of(B),
    [
        ?assertEqual(ok, call(A, partisan, forward, [name(B), Process, Message, #{ack => Ack}]))
     || Process <- ?PROCESSES,
        Message <- [hello, {hello, there}, {'$gen_cast', hello}, {'EXIT', self(), killed}],
        Ack <- [true, false]
    ],
    works(A, B),
    ?assertEqual(Before, processes_of(B)).

%% In the shapes of the runtime's own messages.
made_up([A, B]) ->
    Before = processes_of(B),
    {Name, Incarnation} = {name(A), call(A, partisan, incarnation, [])},
    ok = held_back(A, B, {Name, Incarnation, 2}),
    Call = #{
        reply_to => call(A, partisan, self, []), destination => absent, request => hello,
        timeout => 1000, options => #{}
    },
    Bodies = [
        {monitor, x, y}, {monitor, 1, {process, a, b}}, {down, 1, x}, {monitors, []},
        {monitors, #{a => b}}, {alive, x, true}, {alive, 1, x}, {call, #{}}, {cancel, 1},
        {call, Call#{options => #{channel => 7, ttl => x}}},
        {call, Call#{timeout => 1 bsl 64}}, {call, Call#{destination => {x, y}}}
    ],
    Topics = [
        {entries, x}, {entries, #{1 => 2}}, {entries, #{<<"x">> => {{1, 1}, x}}}, {compare, x},
        {publish, a, b, c, d}, {publish, {a, b, c}, t, p, rest}, {publish, {Name, 1, x}, t, p, [1]}
    ],
    Stream = {Name, Incarnation, 1},
    Path = {Name, default, 0},
    Streams = [
        {open, Stream, {Name, default, x}}, {open, Stream, Path},
        {data, Stream, 1, {message, {causal, label, stamp, sink, x}}, Path},
        {data, Stream, x, skip, Path}, {data, Stream, 1, x, Path}, {ack, Stream, 1}, {unknown, x}
    ],
    Messages =
        [{partisan_remote, {partisan_remote, Name, Incarnation, Body}} || Body <- Bodies] ++
            [{partisan_pubsub, {partisan_pubsub, Name, Body}} || Body <- Topics] ++
            [{partisan_acks, Body} || Body <- Streams],
    [
        ok = call(A, partisan, transmit, [name(B), Service, Message, #{ack => false}])
     || {Service, Message} <- Messages
    ],
    works(A, B),
    ?assertEqual([], call(B, partisan_pubsub, subscribers, [none])),
    ?assertEqual(Before, processes_of(B)).

%% A message held back for a slow process is handled much later than it arrived.
held_back(A, B, {Name, _, _} = Stream) ->
    Mailbox = call(B, partisan_config, get, [mailbox_messages]),
    Behind = call(B, ?MODULE, behind, [behind, 2 * Mailbox]),
    % Not of an existing stream.
    Path = {Name, default, 1},
    [
        ok = call(A, partisan, transmit, [name(B), partisan_acks, Message, #{ack => false}])
     || Message <- [
            {open, Stream, Path},
            {data, Stream, 1, {message, {causal, label, stamp, behind, x}}, Path},
            {data, Stream, 1, {message, {causal, label, {#{x => 1}, #{}}, behind, x}}, Path}
        ]
    ],
    works(A, B),
    true = call(B, erlang, exit, [Behind, kill]),
    ok = await(fun() -> call(B, erlang, whereis, [behind]) =:= undefined end),
    % More than one period of checking whether it has caught up.
    timer:sleep(100).

behind(Name, Messages) ->
    Pid = spawn(fun() -> receive never -> ok end end),
    true = register(Name, Pid),
    lists:foreach(fun(N) -> Pid ! N end, lists:seq(1, Messages)),
    Pid.

stray(Process) ->
    Pid = whereis(Process),
    Pid ! stray,
    Pid ! {'EXIT', self(), stray},
    Pid ! {overlay, not_a_peer, {measure, {ping, 1}}},
    Pid ! {make_ref(), late_answer},
    ok = gen_server:cast(Process, stray),
    % It answers, and OTP's own tools work with it.
    Answer = gen_server:call(Process, stray),
    _ = sys:get_state(Process),
    Answer.

processes_of(Node) ->
    [{Process, call(Node, erlang, whereis, [Process])} || Process <- ?PROCESSES].

works(A, B) ->
    ok = call(B, partisan_test_sink, start, [sink]),
    ok = call(A, partisan, forward, [name(B), sink, arrived, #{ack => true}]),
    ?assertEqual([arrived], call(B, partisan_test_sink, take, [sink, 1])),
    ok = call(B, partisan_test_sink, stop, [sink]).

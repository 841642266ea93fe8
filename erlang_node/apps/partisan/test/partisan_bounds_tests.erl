%%% A frozen, slow or dead receiver uses a bounded amount of its sender's memory, and affects no
%%% other node: three operating-system processes, with and without TLS.
-module(partisan_bounds_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([start_flood/4, flood/4, sent/0, stop_flood/0, memory/0]).

-define(LANES, 4).
-define(LANE_BYTES, 1048576).
-define(MAILBOX, 20).
-define(MESSAGE_BYTES, 100000).
-define(SENDERS, 8).
%% Bytes waiting to be sent: full lanes, one message per sender, and for each lane the contents of
%% its port: the kernel is asked to hold the rest.
-define(SENDER_BOUND, ?LANES * ?LANE_BYTES + ?SENDERS * ?MESSAGE_BYTES +
    ?LANES * (131072 + 2 * 65536 + 3 * ?MESSAGE_BYTES)).
%% Bytes waiting to be received: the mailbox, and for each lane a window and a frame in parts.
-define(RECEIVER_BOUND, (?MAILBOX + ?LANES) * ?MESSAGE_BYTES +
    ?LANES * (2 * 262144 + 3 * ?MESSAGE_BYTES)).
%% Loaded code, growing tables, garbage.
-define(SLACK, 4000000).

plain_test_() ->
    {setup, fun() -> trio(#{}) end, fun partisan_test_cluster:stop/1, fun receivers/1}.

over_tls_test_() ->
    {setup, fun partisan_test_directory:new/0, fun file:del_dir_r/1, fun(Directory) ->
        Certificate = partisan_test_pki:certificate(partisan_test_pki:authority(), #{}),
        ok = partisan_test_pki:write(Directory, Certificate),
        Tls = #{tls => partisan_test_pki:files(Directory)},
        {setup, fun() -> trio(Tls) end, fun partisan_test_cluster:stop/1, fun receivers/1}
    end}.

receivers(Nodes) ->
    [
        {Title, {timeout, 600, fun() -> with_sinks(Test, Nodes) end}}
     || {Title, Test} <- [
            {"a frozen receiver", fun frozen/1},
            {"a slow receiver", fun slow/1},
            {"a killed receiver", fun killed/1}
        ]
    ].

trio(Overrides) ->
    partisan_test_cluster:start_connected(3, Overrides#{
        channels => [#{name => default}, #{name => bulk, parallelism => ?LANES}],
        lane_queue_bytes => ?LANE_BYTES,
        mailbox_messages => ?MAILBOX,
        % A frozen node stays a neighbour for as long as a test lasts.
        heartbeat_interval => 60000
    }).

with_sinks(Test, [A | _] = Nodes) ->
    try
        partisan_test_sink:on(Nodes, [sink, other], Test)
    after
        ok = call(A, ?MODULE, stop_flood, [])
    end.

%% The process is stopped by SIGSTOP: its kernel accepts what fits, and then nothing.
frozen([A, B, C]) ->
    Base = memory(A),
    ok = partisan_test_cluster:freeze(B),
    ok = call(A, ?MODULE, start_flood, [name(B), sink, bulk, infinity]),
    ok = stalled(A),
    ok = flat(A, Base + ?SENDER_BOUND + ?SLACK),
    ok = served(A, C, bulk),
    ok = partisan_test_cluster:thaw(B),
    ok = goes_on(A, B).

%% One process of the node is slow: messages to others still get in.
slow([A, B, C]) ->
    [BaseA, BaseB] = [memory(Node) || Node <- [A, B]],
    ok = call(B, partisan_test_sink, pause, [sink]),
    ok = call(A, ?MODULE, start_flood, [name(B), sink, bulk, infinity]),
    ok = stalled(A),
    ok = flat(A, BaseA + ?SENDER_BOUND + ?SLACK),
    ok = flat(B, BaseB + ?RECEIVER_BOUND + ?SLACK),
    ok = served(A, B, default),
    ok = served(A, C, bulk),
    ok = call(B, partisan_test_sink, resume, [sink]),
    ok = goes_on(A, B).

%% Its senders learn of it, and can send to its next incarnation.
killed([A, B, C]) ->
    Base = memory(A),
    ok = call(A, ?MODULE, start_flood, [name(B), sink, bulk, 1000]),
    ok = await(fun() -> call(A, ?MODULE, sent, []) > 100 end),
    ok = partisan_test_cluster:kill(B),
    ok = await(fun() -> neighbours(A) =:= [name(C)] end),
    ok = flat(A, Base + ?SENDER_BOUND + ?SLACK),
    ok = served(A, C, bulk),
    #{net := Net, configuration := Configuration} = B,
    Again = partisan_test_cluster:start_node(Net, Configuration),
    ok = call(Again, partisan_test_sink, start, [sink]),
    ok = goes_on(A, Again),
    partisan_test_cluster:stop([Again]).

%% Helpers.

neighbours(Node) ->
    call(Node, partisan, neighbours, []).

%% The senders wait: nothing has been sent for a while.
stalled(Node) ->
    Before = call(Node, ?MODULE, sent, []),
    receive after 300 -> ok end,
    case call(Node, ?MODULE, sent, []) of
        Before when Before > 0 -> ok;
        _ -> stalled(Node)
    end.

%% At each observation.
flat(Node, Bound) ->
    [
        begin
            ?assert(memory(Node) =< Bound, {Node, {used, memory(Node)}, {bound, Bound}}),
            receive after 20 -> ok end
        end
     || _ <- lists:seq(1, 25)
    ],
    ok.

served(From, To, Channel) ->
    Mark = make_ref(),
    Options = #{channel => Channel, ack => true, timeout => 20000, partition_key => Mark},
    ok = call(From, partisan, forward, [name(To), other, Mark, Options]),
    await(fun() -> call(To, partisan_test_sink, has, [other, [Mark]]) end).

%% The flood goes on, and messages still in flight at its end arrive.
goes_on(From, To) ->
    Sent = call(From, ?MODULE, sent, []),
    ok = await(fun() -> call(From, ?MODULE, sent, []) > Sent + 100 end),
    ok = call(From, ?MODULE, stop_flood, []),
    ok = await(fun() -> call(To, partisan_test_sink, count, [sink]) > 0 end),
    ok = await(fun() -> queued(From) =:= 0 end).

queued(Node) ->
    #{bulk := #{queue_bytes := Bytes}} = call(Node, partisan, channels, []),
    Bytes.

memory(Node) ->
    call(Node, ?MODULE, memory, []).

%% On the nodes.

memory() ->
    [erlang:garbage_collect(Pid) || Pid <- processes()],
    erlang:memory(total).

start_flood(To, Sink, Channel, Timeout) ->
    persistent_term:put(?MODULE, counters:new(1, [])),
    _ = spawn(fun() ->
        true = register(?MODULE, self()),
        Senders = [
            spawn_link(?MODULE, flood, [To, Sink, I, #{channel => Channel, timeout => Timeout}])
         || I <- lists:seq(1, ?SENDERS)
        ],
        receive stop -> [unlink(Sender) andalso exit(Sender, kill) || Sender <- Senders] end
    end),
    ok.

%% Each message has bytes of its own.
flood(To, Sink, Key, Options) ->
    case partisan:forward(To, Sink, rand:bytes(?MESSAGE_BYTES), Options#{partition_key => Key}) of
        ok -> counters:add(persistent_term:get(?MODULE), 1, 1);
        {error, _} -> receive after 20 -> ok end
    end,
    flood(To, Sink, Key, Options).

sent() ->
    counters:get(persistent_term:get(?MODULE), 1).

stop_flood() ->
    case whereis(?MODULE) of
        undefined ->
            ok;
        Pid ->
            Monitor = monitor(process, Pid),
            Pid ! stop,
            receive {'DOWN', Monitor, process, Pid, _} -> ok end
    end.

%%% @doc Silently dead data connections, and slow ones.
%%%
%%% A connection dies on loopback without root where its receiving socket asks for packets with a
%%% time to live of 255 (IP_MINTTL), which none has: the kernel discards them and answers nothing.
-module(partisan_liveness_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1, await/2]).

%% On the nodes.
-export([written/0, deafen/1, deafen_all/0, is_open/1, flood/1]).

-define(HEARTBEAT, 2000).
%% Many times the expected time, and a small part of the kernel's default.
-define(TIMEOUT, 90000).
-define(LARGE, 262144).
-define(IPPROTO_IP, 0).
-define(IP_MINTTL, 21).

connections_test_() ->
    % Paired before the groups: EUnit drops one of several at once, unseen, if its own setup fails.
    {setup, fun pairs/0, fun stop/1, fun({_Directory, Plain, Tls}) ->
        {inparallel, [{inorder, cases(Plain)}, {inorder, cases(Tls)}]}
    end}.

pairs() ->
    Directory = partisan_test_directory:new(),
    Certificate = partisan_test_pki:certificate(partisan_test_pki:authority(), #{}),
    ok = partisan_test_pki:write(Directory, Certificate),
    {Directory, pair(#{}), pair(#{tls => partisan_test_pki:files(Directory)})}.

stop({Directory, Plain, Tls}) ->
    ok = partisan_test_cluster:stop(Plain ++ Tls),
    ok = file:del_dir_r(Directory).

pair(Overrides) ->
    [A, B] = Nodes = partisan_test_cluster:start(2, Overrides#{
        heartbeat_interval => ?HEARTBEAT,
        mailbox_messages => 100,
        lane_queue_bytes => 1048576,
        channels => [
            #{name => newest, monotonic => true}
            | [#{name => Name} || Name <- [default, few, many, idle, slow, closed]]
        ]
    }),
    ok = await(fun() ->
        call(A, partisan, neighbours, []) =:= [name(B)] andalso
            call(B, partisan, neighbours, []) =:= [name(A)]
    end),
    ok = call(B, partisan_test_sink, start, [sink]),
    % The runtime's own messages would open this one at any time.
    ok = arrives(default, first, A, B),
    Nodes.

cases([A, B]) ->
    [
        {Title, {timeout, 180, fun() -> Case(A, B) end}}
     || {Title, Case} <- [
            {"dead connections that sent little, much or nothing are dialled again", fun dead/2},
            {"a connection whose receiver does not read stays", fun slow/2},
            {"one that dies while its receiver does not read is dialled again", fun closed/2}
        ]
    ].

dead(A, B) ->
    Connections = [{Channel, connection(Channel, A, B)} || Channel <- [few, many, idle]],
    [ok = call(B, ?MODULE, deafen, [Connection]) || {_, Connection} <- Connections],
    ok = call(A, partisan, forward, [name(B), sink, lost, #{channel => few}]),
    ok = flood(many, A, B),
    ok = await(
        fun() ->
            Open = [Channel || {Channel, C} <- Connections, call(A, ?MODULE, is_open, [C])],
            Open =:= [] orelse Open
        end,
        ?TIMEOUT
    ),
    [ok = arrives_again(Channel, A, B) || {Channel, _} <- Connections].

%% For longer than the detection of a dead one; also with small kernel buffers.
slow(A, B) ->
    Connections = [connection(Channel, A, B) || Channel <- [slow, newest]],
    ok = call(B, partisan_test_sink, pause, [sink]),
    Small = {newest, binary:copy(<<"x">>, 100)},
    ok = partisan_test_cluster:send_in_background(A, B, Small, 100000, newest),
    ok = flood(slow, A, B),
    receive after 6 * ?HEARTBEAT -> ok end,
    AreOpen = fun() -> [call(A, ?MODULE, is_open, [C]) || C <- Connections] end,
    ?assertEqual([true, true], AreOpen()),
    ok = call(B, partisan_test_sink, resume, [sink]),
    [ok = arrives_again(Channel, A, B) || Channel <- [slow, newest]],
    ?assertEqual([true, true], AreOpen()).

%% The window is closed, and no probe of it is answered.
closed(A, B) ->
    Connection = connection(closed, A, B),
    ok = call(B, partisan_test_sink, pause, [sink]),
    ok = flood(closed, A, B),
    ok = call(B, ?MODULE, deafen, [Connection]),
    ok = await(fun() -> not call(A, ?MODULE, is_open, [Connection]) end, ?TIMEOUT),
    ok = call(B, partisan_test_sink, resume, [sink]),
    arrives_again(closed, A, B).

%% A channel's connection: the addresses of its receiver and sender. The one that carries a large
%% message; others may open at the same moment.
connection(Channel, A, B) ->
    ok = arrives(Channel, first, A, B),
    Before = call(A, ?MODULE, written, []),
    ok = arrives(Channel, binary:copy(<<"x">>, ?LARGE), A, B),
    [Connection] = [
        {To, From}
     || {{From, To} = Addresses, Bytes} <- maps:to_list(call(A, ?MODULE, written, [])),
        Bytes - maps:get(Addresses, Before, 0) >= ?LARGE
    ],
    Connection.

arrives(Channel, Content, A, B) ->
    Message = {Channel, Content},
    ok = call(A, partisan, forward, [name(B), sink, Message, #{channel => Channel}]),
    await(fun() -> call(B, partisan_test_sink, has, [sink, [Message]]) end).

%% What was written to the dead connection is lost.
arrives_again(Channel, A, B) ->
    Message = {Channel, again},
    Options = #{channel => Channel, on_busy => error},
    await(
        fun() ->
            _ = call(A, partisan, forward, [name(B), sink, Message, Options]),
            call(B, partisan_test_sink, has, [sink, [Message]])
        end,
        ?TIMEOUT
    ).

flood(Channel, A, B) ->
    call(A, ?MODULE, flood, [[name(B), sink, binary:copy(<<"x">>, 65536), #{
        channel => Channel, on_busy => block, timeout => ?HEARTBEAT div 2
    }]]).

%% Until the lane is full.
flood(Arguments) ->
    case apply(partisan, forward, Arguments) of
        ok -> flood(Arguments);
        {error, timeout} -> ok
    end.

%% Bytes, by the addresses of a connection's ends.
written() ->
    maps:from_list([
        {{Local, Remote}, Bytes}
     || {Local, Remote, Socket} <- sockets(),
        {ok, [{send_oct, Bytes}]} <- [inet:getstat(Socket, [send_oct])]
    ]).

deafen({To, From}) ->
    [Socket] = [Socket || {Local, Remote, Socket} <- sockets(), {Local, Remote} =:= {To, From}],
    deaf(Socket).

%% Those that are accepted at this moment. One may be just closing: of two to one peer, for example.
deafen_all() ->
    Listening = partisan_config:get(listen_port),
    _ = [deaf(Socket) || {{_, Port}, _, Socket} <- sockets(), Port =:= Listening],
    ok.

deaf(Socket) ->
    inet:setopts(Socket, [{raw, ?IPPROTO_IP, ?IP_MINTTL, <<255:32/native>>}]).

%% Asked on the dialling node.
is_open({To, From}) ->
    lists:any(fun({Local, Remote, _}) -> {Local, Remote} =:= {From, To} end, sockets()).

sockets() ->
    [
        {Local, Remote, Socket}
     || Socket <- erlang:ports(),
        {ok, Remote} <- [inet:peername(Socket)],
        {ok, Local} <- [inet:sockname(Socket)]
    ].

%% Pure: the kernel's figures at four observations, an interval apart.

judge_test_() ->
    [
        {Title, ?_assertEqual(Verdict, judged([Progress || _ <- lists:seq(1, 4)]))}
     || {Title, Verdict, Progress} <- [
            {"nothing is sent", no, fun(T) -> progress(0, 0, 0, 60000 + T) end},
            {"data flows", no, fun(_) -> progress(10, 0, 0, 3) end},
            {"no acknowledgement", dead, fun(T) -> progress(2, 4, 0, 2500 + T) end},
            {"packets are lost, others arrive", 4000, fun(_) -> progress(9, 2, 0, 400) end},
            {"one has just been sent again", no, fun(T) -> progress(1, 1, 0, 2500 + T) end},
            {"a closed window, probes are answered", no, fun(T) -> progress(0, 0, 1, T) end},
            {"a closed window, probes are not answered", dead,
                fun(T) -> progress(0, 0, 3, 90000 + T) end}
        ]
    ].

%% The doubt of a previous silence does not count for a later one.
acknowledged_meanwhile_test() ->
    Unanswered = progress(1, 2, 0, 1500),
    ?assertEqual(3000, partisan_liveness:judge(Unanswered, 3000, 1000, 1000)),
    ?assertEqual(1000, partisan_liveness:judge(progress(1, 2, 0, 3500), 3999, 1000, 1000)),
    ?assertEqual(dead, partisan_liveness:judge(progress(1, 2, 0, 3500), 4000, 1000, 1000)).

judged(Observations) ->
    lists:foldl(
        fun
            (_, dead) -> dead;
            ({Now, Progress}, Doubted) ->
                partisan_liveness:judge(Progress(Now), Now, 1000, Doubted)
        end,
        no,
        lists:zip([N * 1000 || N <- lists:seq(1, length(Observations))], Observations)
    ).

progress(Unacked, Retransmits, Probes, Silent) ->
    #{unacked => Unacked, retransmits => Retransmits, probes => Probes, silent => Silent}.

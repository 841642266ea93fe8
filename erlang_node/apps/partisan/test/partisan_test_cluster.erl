%%% Nodes for tests: each an operating-system process of its own, on a loopback address of its own,
%%% controlled over a connection of its own, without Distributed Erlang.
-module(partisan_test_cluster).

-export([start/2, start_connected/2, connected/1]).
-export([start_node/2, start_node/3, start_bare/2, start_bare/3, configuration/3, stop/1, call/4]).
-export([net/0, name/1, peer/1, change/2]).
-export([send_in_background/5, senders/1]).
-export([kill/1, freeze/1, thaw/1, await/1, await/2, token/0]).
%% On the nodes.
-export([boot/1, store/1, close_connections/0, break_connections/0, await_connections/0]).
-export([link_from/1]).
-export([spawn_sender/4, count_senders/0]).

-define(PORT, 7946).
%% Of a boot, and of a call, which may itself wait for a condition.
-define(TIMEOUT, 400000).

token() -> <<"0123456789abcdef0123456789abcdef">>.

%% Count nodes, all of them booted at once; Overrides of the configuration are common to them.
start(Count, Overrides) ->
    Net = net(),
    parallel(fun(I) -> start_node(Net, configuration(Net, I, Overrides)) end, lists:seq(1, Count)).

%% The same, once each of them has all others as neighbours.
start_connected(Count, Overrides) ->
    Nodes = start(Count, Overrides),
    ok = connected(Nodes),
    Nodes.

connected(Nodes) ->
    Others = length(Nodes) - 1,
    await(fun() ->
        lists:all(fun(N) -> length(call(N, partisan, neighbours, [])) =:= Others end, Nodes)
    end).

%% The caller's own part of the loopback addresses: other suites may run at the same time.
net() ->
    {A, B} = Net = {rand:uniform(250), rand:uniform(250)},
    case gen_tcp:listen(?PORT, [{ip, {127, A, B, 254}}]) of
        {ok, _UntilItEnds} -> Net;
        {error, eaddrinuse} -> net()
    end.

%% The first node is the seed, unless the overrides say otherwise.
configuration(Net, Index, Overrides) ->
    Peer = peer_at(Net, Index),
    #{name := Name, host := Host, port := Port} = Peer,
    maps:merge(
        #{
            name => Name,
            cluster => <<"test">>,
            token => token(),
            host => Host,
            listen_ip => Host,
            listen_port => Port,
            overlay => {full_mesh, #{}},
            seeds => [peer_at(Net, 1)]
        },
        Overrides
    ).

start_node(Net, Configuration) ->
    start_node(Net, Configuration, []).

%% With other emulator flags.
start_node(Net, Configuration, Flags) ->
    #{peer := Peer} = Node = start_bare(Net, Configuration, Flags),
    ok = peer:call(Peer, ?MODULE, boot, [Configuration], ?TIMEOUT),
    Node.

%% Without starting the application.
start_bare(Net, Configuration) ->
    start_bare(Net, Configuration, []).

start_bare(Net, Configuration, Others) ->
    Paths = lists:append([["-pa", Path] || Path <- paths()]),
    Flags = ["+S", "1:1", "+sbwt", "none", "-kernel", "logger_level", "critical" | Others],
    {ok, Peer, _} = peer:start(#{
        connection => {{127, 0, 0, 1}, 0}, args => Flags ++ Paths, wait_boot => ?TIMEOUT
    }),
    Os = peer:call(Peer, os, getpid, [], ?TIMEOUT),
    #{name := Name, host := Host, listen_port := Port} = Configuration,
    Self = partisan_peer:new(Name, Host, Port),
    #{net => Net, peer => Peer, os => Os, self => Self, configuration => Configuration}.

boot(Configuration) ->
    ok = partisan_config:set(Configuration),
    {ok, _} = application:ensure_all_started(partisan),
    ok.

%% Changes the configuration of a running node; processes started before may not notice.
change(Node, Changes) ->
    call(Node, ?MODULE, store, [Changes]).

store(Changes) ->
    {ok, Configuration} = partisan_config:changed(#{}),
    partisan_config:store(maps:merge(Configuration, Changes)).

stop(Nodes) ->
    parallel(fun(#{peer := Peer}) -> try peer:stop(Peer) catch _:_ -> ok end end, Nodes),
    ok.

call(#{peer := Peer}, Module, Function, Arguments) ->
    peer:call(Peer, Module, Function, Arguments, ?TIMEOUT).

name(#{self := #{name := Name}}) -> Name.

peer(#{self := Peer}) -> Peer.

kill(Node) -> signal("KILL", Node).
%% A node is frozen once each of its threads is, which takes the kernel a moment.
freeze(#{os := Os} = Node) ->
    ok = signal("STOP", Node),
    await(fun() ->
        Threads = filelib:wildcard("/proc/" ++ Os ++ "/task/*/status"),
        lists:all(
            fun(Thread) ->
                {ok, Status} = file:read_file(Thread),
                binary:match(Status, <<"State:\tT">>) =/= nomatch
            end,
            Threads
        )
    end).

thaw(Node) -> signal("CONT", Node).

signal(Signal, #{os := Os}) ->
    "" = os:cmd("kill -" ++ Signal ++ " " ++ Os),
    ok.

%% Closes every connection of the node it runs on, as a broken network would, without asking the
%% processes that own them; returns how many. That of its controller is on another address.
close_connections() ->
    Sockets = [
        Port
     || Port <- erlang:ports(),
        {ok, {Remote, _}} <- [inet:peername(Port)],
        {ok, {Local, _}} <- [inet:sockname(Port)],
        [Remote, Local] =/= [{127, 0, 0, 1}, {127, 0, 0, 1}]
    ],
    % One that is just being opened cannot be shut yet.
    [try gen_tcp:shutdown(Socket, read_write) catch _:_ -> ok end || Socket <- Sockets],
    length(Sockets).

%% Closes the connections once those closed before are back: a node whose connection breaks
%% repeatedly before it is up is treated as lost.
break_connections() ->
    ok = await_connections(),
    _ = close_connections(),
    ok.

%% Waits until all connections of the overlay are up and others than at the last call.
await_connections() ->
    Previous = persistent_term:get(?MODULE, #{}),
    ok = await(fun() ->
        Links = links(),
        lists:all(fun(Key) -> is_renewed(Key, Previous, Links) end, maps:keys(Links))
    end),
    persistent_term:put(?MODULE, links()).

%% The connections of the overlay, to its neighbours and from them.
links() ->
    maps:from_list(
        lists:append([
            [{{to, Peer}, link_to(Peer)}, {{from, Peer}, link_from(Peer)}]
         || Peer <- partisan:neighbours()
        ])
    ).

link_to(Peer) ->
    case ets:lookup(partisan_lanes, {Peer, overlay, 0}) of
        [{_, Lane}] ->
            % It ends when its peer is lost, and is followed by another.
            try element(8, sys:get_state(partisan_lane:pid(Lane), ?TIMEOUT))
            catch exit:_ -> none
            end;
        [] ->
            none
    end.

%% The connection of this peer's overlay messages.
link_from(Peer) ->
    Fields = tuple_to_list(sys:get_state(partisan_listener, infinity)),
    hd([
        Pid
     || #{} = Lanes <- Fields, {{Name, _, overlay, 0}, Pid} <- maps:to_list(Lanes), Name =:= Peer
    ] ++ [none]).

is_renewed(Key, Previous, Links) ->
    case {maps:get(Key, Previous, none), maps:get(Key, Links)} of
        {none, _} -> true;
        {_, none} -> false;
        {Before, Now} -> Before =/= Now
    end.

%% Spawns a process on a node that forwards {Key, 1}, ... {Key, Last} to the sink of another.
send_in_background(From, To, Key, Last, Channel) ->
    call(From, ?MODULE, spawn_sender, [name(To), Key, Last, Channel]).

spawn_sender(To, Key, Last, Channel) ->
    spawn(fun() ->
        put(?MODULE, sender),
        Options = #{channel => Channel, partition_key => Key},
        [ok = partisan:forward(To, sink, {Key, N}, Options) || N <- lists:seq(1, Last)]
    end),
    ok.

%% How many of those still run.
senders(Node) ->
    call(Node, ?MODULE, count_senders, []).

count_senders() ->
    length([
        Pid
     || Pid <- processes(),
        {dictionary, Dictionary} <- [process_info(Pid, dictionary)],
        {?MODULE, sender} <- Dictionary
    ]).

await(Condition) ->
    await(Condition, 300000).

await(Condition, Timeout) when Timeout > 0 ->
    case Condition() of
        true ->
            ok;
        _ ->
            receive after 20 -> ok end,
            await(Condition, Timeout - 20)
    end;
await(Condition, _) ->
    error({condition_never_held, Condition()}).

peer_at({A, B}, Index) ->
    Name = <<"node-", (integer_to_binary(Index))/binary>>,
    partisan_peer:new(Name, {127, A, B, Index}, ?PORT).

paths() ->
    lists:usort([filename:dirname(code:which(M)) || M <- [?MODULE, partisan]]).

parallel(Fun, List) ->
    Self = self(),
    % Linked through the caller: peers live as long as the process that started them.
    Tags = [begin Tag = make_ref(), spawn_link(fun() -> run(Self, Tag, Fun, Item) end), Tag end
            || Item <- List],
    [receive {Tag, Result} -> Result end || Tag <- Tags].

run(Caller, Tag, Fun, Item) ->
    Caller ! {Tag, Fun(Item)},
    % A peer ends with its starter.
    Monitor = monitor(process, Caller),
    receive {'DOWN', Monitor, _, _, _} -> ok end.

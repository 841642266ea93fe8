%%% @doc The connections of each peer, and the cost of keeping track of them.
-module(partisan_listener_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1, await/2]).

%% On the nodes.
-export([cost/2, probing/0]).

-define(HEARTBEAT, 1000).
%% Many times the expected time, and a small part of the kernel's default of two hours.
-define(TIMEOUT, 90000).
%% From linux/tcp.h.
-define(IPPROTO_TCP, 6).
-define(TCP_KEEPIDLE, 4).
-define(TCP_KEEPINTVL, 5).

%% Its previous incarnation has left half-open connections, and a higher number.
behind_test_() ->
    {"a restarted node whose clock is behind is accepted", {timeout, 180, fun behind/0}}.

behind() ->
    Net = partisan_test_cluster:net(),
    Start = fun(I, Incarnation) ->
        partisan_test_cluster:start_node(
            Net,
            partisan_test_cluster:configuration(Net, I, #{
                heartbeat_interval => ?HEARTBEAT, incarnation => Incarnation
            })
        )
    end,
    B = Start(1, 1000),
    A = Start(2, 2000),
    ok = await(fun() -> connections(A, 2001, B) =/= [] end),
    ok = partisan_test_cluster:connected([A, B]),
    ok = call(B, partisan_liveness_tests, deafen_all, []),
    ok = partisan_test_cluster:kill(A),
    Again = Start(2, 1500),
    ok = await(fun() -> connections(A, 1501, B) =/= [] end, ?TIMEOUT),
    % Those of the previous incarnation had ended before. More of this one may come meanwhile.
    All = connections(A, infinity, B),
    ?assertEqual([], All -- connections(A, 1501, B)),
    partisan_test_cluster:stop([Again, B]).

%% From a node, of all its incarnations before that one.
connections(From, Before, To) ->
    call(To, partisan_listener, of_peer, [name(From), Before]).

alone_test_() ->
    {setup, fun() -> partisan_test_cluster:start(2, #{heartbeat_interval => ?HEARTBEAT}) end,
        fun partisan_test_cluster:stop/1, fun([A, _] = Nodes) ->
            [
                {"accepted connections are probed as those that are dialled",
                    {timeout, 600, fun() -> probed(Nodes) end}},
                {"a connection costs as much among thousands as among few",
                    {timeout, 600, fun() ->
                        Few = call(A, ?MODULE, cost, [0, 10]),
                        Many = call(A, ?MODULE, cost, [10, 4000]),
                        ?assert(Many < 4 * Few)
                    end}}
            ]
        end}.

probed([A, B]) ->
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [name(B)] end),
    Expected = [{2, 1}],
    ?assertEqual(Expected, call(A, ?MODULE, probing, [])).

%% On the nodes: after how many idle seconds, and how often.
probing() ->
    Sockets = partisan_tcp:sockets(),
    lists:usort([{option(S, ?TCP_KEEPIDLE), option(S, ?TCP_KEEPINTVL)} || S <- Sockets]).

option(Socket, Option) ->
    {ok, [{raw, _, _, <<Value:32/native>>}]} =
        inet:getopts(Socket, [{raw, ?IPPROTO_TCP, Option, 4}]),
    Value.

%% The listener's cost of one more connection, next to those of that many other peers: the least of
%% several, without garbage collection.
cost(From, To) ->
    _ = [establish(N) || N <- lists:seq(From + 1, To)],
    lists:min([reductions_of(fun() -> establish({From, extra, N}) end) || N <- lists:seq(1, 20)]).

reductions_of(Step) ->
    {reductions, Before} = process_info(whereis(partisan_listener), reductions),
    ok = Step(),
    {reductions, After} = process_info(whereis(partisan_listener), reductions),
    After - Before.

establish(Peer) ->
    {Pid, Monitor} = spawn_monitor(fun() ->
        {ok, []} = partisan_listener:established({term_to_binary(Peer), 1, default, 0})
    end),
    receive {'DOWN', Monitor, process, Pid, Reason} -> normal = Reason end,
    ok.

%%% Messages that are kept while a route is searched for, and those behind them, on real sockets:
%%% many senders, and a member that comes and goes.
-module(partisan_parked_tests).

-include_lib("eunit/include/eunit.hrl").

%% On the nodes.
-export([spawn_senders/2, stop_senders/0, spawn_judge/0, ask/1, kept/3, killed/0]).

-import(partisan_test_cluster, [call/4, name/1, await/1]).

-define(SENDERS, 6).
%% Of the messages of a sender, in turn: some are for neighbours only, some do not wait.
-define(OPTIONS, [
    #{},
    #{ttl => 0},
    #{},
    #{await_route => false},
    #{on_busy => error},
    #{on_busy => drop, await_route => false}
]).

neighbours_test_() ->
    {setup, fun() -> cluster(2, {full_mesh, #{}}) end, fun partisan_test_cluster:stop/1,
        fun([Source, Target]) ->
            [
                {"no message overtakes those kept for a member that becomes a neighbour",
                    {timeout, 240, fun() -> in_order(10, 2, Source, Target) end}},
                {"nor if the senders of those wait for room",
                    {timeout, 240, fun() -> in_order(5, 0, Source, Target) end}},
                {"every message is kept behind others to its neighbour",
                    {timeout, 600, fun() -> neighbour(Source, Target) end}},
                {"senders go on without the process that kept their messages",
                    {timeout, 600, fun() -> ok = call(Source, ?MODULE, killed, []) end}}
            ]
        end}.

star_test_() ->
    {setup, fun() -> cluster(3, {client_server, #{servers => [<<"node-1">>]}}) end,
        fun partisan_test_cluster:stop/1, fun([Server, Source, Target]) ->
            {"every message is kept behind others to its member, but relayed past them to others",
                {timeout, 600, fun() -> relayed(Server, Source, Target) end}}
        end}.

%% Senders pause between messages, in milliseconds: those that do not soon wait for room; those that
%% do also send while the kept messages are being sent.
in_order(Rounds, Pause, Source, Target) ->
    ok = call(Target, ?MODULE, spawn_judge, []),
    ok = call(Source, ?MODULE, spawn_senders, [name(Target), Pause]),
    ok = comes_and_goes(Rounds, Source, Target),
    Last = call(Source, ?MODULE, stop_senders, []),
    ok = await(fun() -> heard(Target) =:= Last end),
    ?assertEqual([], call(Target, ?MODULE, ask, [overtaken])),
    ok = call(Target, ?MODULE, ask, [stop]).

%% In each round messages of all senders arrive once the member is back.
comes_and_goes(0, _Source, _Target) ->
    ok;
comes_and_goes(Rounds, Source, Target) ->
    ok = call(Target, application, stop, [partisan]),
    ok = await(fun() -> call(Source, partisan_parked, is_parked, [name(Target)]) end),
    Before = heard(Target),
    {ok, _} = call(Target, application, ensure_all_started, [partisan]),
    ok = await(fun() ->
        Now = heard(Target),
        lists:all(
            fun(Key) -> maps:get(Key, Now, 0) > maps:get(Key, Before, 0) end,
            lists:seq(1, ?SENDERS)
        )
    end),
    comes_and_goes(Rounds - 1, Source, Target).

heard(Target) ->
    call(Target, ?MODULE, ask, [heard]).

neighbour(Source, Target) ->
    ok = await(fun() -> is_routed(Source, Target) end),
    ?assertEqual({?OPTIONS, []}, call(Source, ?MODULE, kept, [name(Target), ?OPTIONS, []])).

relayed(Server, Source, Target) ->
    ok = call(Target, ?MODULE, spawn_judge, []),
    ok = call(Source, partisan, forward, [name(Target), judge, {first, 1, none}]),
    ok = await(fun() -> is_routed(Source, Target) end),
    Near = #{ttl => 0},
    ?assertEqual(
        {lists:delete(Near, ?OPTIONS), [{Near, {error, not_connected}}]},
        call(Source, ?MODULE, kept, [name(Target), ?OPTIONS, []])
    ),
    ?assertEqual(
        {?OPTIONS, []}, call(Source, ?MODULE, kept, [name(Server), ?OPTIONS, [name(Target)]])
    ),
    ok = await(fun() -> heard(Target) =:= #{first => 1, past => 1} end).

is_routed(Source, Target) ->
    call(Source, partisan_view, known_route, [name(Target)]) =/= none andalso
        not call(Source, partisan_parked, is_parked, [name(Target)]).

%% On the nodes.

%% Processes that each forward {Key, 1}, {Key, 2}, ... to the judge of a member until they are
%% stopped.
spawn_senders(To, Pause) ->
    Options = list_to_tuple(?OPTIONS),
    Send = fun(Key) -> fun() -> send(To, Key, 1, Pause, Options) end end,
    persistent_term:put(?MODULE, [spawn(Send(Key)) || Key <- lists:seq(1, ?SENDERS)]),
    ok.

send(To, Key, N, Pause, Options) ->
    One = element(N rem tuple_size(Options) + 1, Options),
    Keyed = #{channel => narrow, partition_key => Key},
    Message = {Key, N, <<0:8192>>},
    receive
        {stop, From} ->
            ok = partisan:forward(To, judge, Message, Keyed),
            From ! {last, Key, N}
    after Pause ->
        _ = partisan:forward(To, judge, Message, maps:merge(Keyed, One)),
        send(To, Key, N + 1, Pause, Options)
    end.

%% Stops the senders; the number of the last message of each.
stop_senders() ->
    Senders = persistent_term:get(?MODULE),
    lists:foreach(fun(Pid) -> Pid ! {stop, self()} end, Senders),
    maps:from_list([receive {last, Key, N} -> {Key, N} end || _ <- Senders]).

spawn_judge() ->
    Starter = self(),
    Judge = spawn(fun() ->
        true = register(judge, self()),
        Starter ! {self(), registered},
        judge(#{}, [])
    end),
    receive {Judge, registered} -> ok end.

judge(Heard, Overtaken) ->
    receive
        {ask, heard, From} ->
            From ! {answer, Heard},
            judge(Heard, Overtaken);
        {ask, overtaken, From} ->
            From ! {answer, lists:reverse(Overtaken)},
            judge(Heard, Overtaken);
        {ask, stop, From} ->
            From ! {answer, ok};
        {Key, N, _} ->
            Worse = [{Key, N, behind, Last} || #{Key := Last} <- [Heard], Last >= N],
            judge(Heard#{Key => N}, Worse ++ Overtaken)
    end.

ask(What) ->
    judge ! {ask, What, self()},
    receive {answer, Answer} -> Answer end.

%% The options with which messages to a member are kept behind others, and the remaining ones with
%% their results; meanwhile those members are sent a message each.
kept(Member, All, Past) ->
    Test = self(),
    Keeper = spawn(fun() -> keep(Test) end),
    true = partisan_parked:enter(Member, Keeper),
    % Marks the lanes, since the member is parked; answered after that.
    ok = partisan_manager:unparked(Member),
    routed = partisan_manager:park(Member),
    Results = [
        {Options, partisan:forward(Member, judge, {kept, 1, none}, Options)} || Options <- All
    ],
    [ok = partisan:forward(Other, judge, {past, 1, none}) || Other <- Past],
    Kept = [Options || {Options, ok} <- Results, receive kept -> true after 0 -> false end],
    true = ets:delete_object(partisan_parked, {Member, Keeper}),
    ok = partisan_manager:unparked(Member),
    {Kept, [{Options, Result} || {Options, Result} <- Results, Result =/= ok]}.

%% Its place is taken by another process, unless the search has ended meanwhile.
killed() ->
    Send = fun() -> partisan:forward(<<"absent">>, judge, hello) end,
    ok = Send(),
    Keepers = [Pid || {_, Pid} <- ets:lookup(partisan_parked, <<"absent">>)],
    lists:foreach(fun(Pid) -> exit(Pid, kill) end, Keepers),
    ok = Send(),
    [] = [Pid || {_, Pid} <- ets:lookup(partisan_parked, <<"absent">>), lists:member(Pid, Keepers)],
    ok.

keep(Test) ->
    receive
        {'$gen_call', From, {park, _Message, _Bytes, _MayWait}} ->
            Test ! kept,
            ok = gen_server:reply(From, ok),
            keep(Test)
    end.

%% Helpers.

cluster(Count, Overlay) ->
    Nodes = partisan_test_cluster:start(Count, #{
        overlay => Overlay,
        % Who sends the kept messages waits for each, so that others may run.
        channels => [
            #{name => default}, #{name => narrow, queue_bytes => 4096, parallelism => 2}
        ],
        heartbeat_interval => 60000
    }),
    ok = await(fun() -> lists:all(fun is_there/1, Nodes) end),
    Nodes.

is_there(Node) ->
    #{joined := Joined} = call(Node, partisan_view, info, []),
    Joined.

%%% @doc Calls whose callers no longer wait, and more calls than there are slots.
-module(partisan_calls_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([start_callers/3, outcomes/0, kill_callers/0, proxies/0, room_timeout/1]).

%% A quarter of these processes serves calls.
-define(PROCESSES, 2048).
-define(CALLS, 4 * ?PROCESSES).

calls_test_() ->
    {setup, fun form/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> with_server(Test, Nodes) end}}
         || {Title, Test} <- [
                {"OTP's calls that time out leave nothing behind", fun timed_out/1},
                {"nor do callers that end", fun ended/1},
                {"a timeout that is none fails in the caller alone", fun invalid/1},
                {"messages wait for room for at most a minute", fun bounded/1},
                {"a flood of calls is refused beyond the slots", fun flood/1}
            ]
        ]
    end}.

%% A faulty member sends requests that no correct one does.
requests_test_() ->
    Request = #{
        reply_to => {partisan_ref, <<"a">>, 1, process, <<1>>},
        destination => server,
        request => hello,
        timeout => 5000,
        options => #{channel => default, partition_key => 7, ttl => 0, ack => false}
    },
    Served = [#{}, #{timeout => infinity}, #{timeout => 16#FFFFFFFF}, #{options => #{}}],
    Refused =
        [#{timeout => Timeout} || Timeout <- [16#100000000, -1, 1.5, never]] ++
            [#{options => Options} || Options <- [
                [],
                #{causal => label},
                #{on_busy => drop},
                #{timeout => 1 bsl 64},
                #{channel => <<"default">>},
                #{partition_key => {a, key}},
                #{ttl => -1},
                #{ack => {notify, tag}}
            ]],
    [
        {lists:flatten(io_lib:format("~0p", [Change])),
            ?_assertEqual(IsServed, partisan_call:is_request(maps:merge(Request, Change)))}
     || {IsServed, Changes} <- [{true, Served}, {false, Refused}], Change <- Changes
    ].

%% The caller survives.
timed_out([A, B]) ->
    Target = {via, partisan, {server, name(B)}},
    ok = call(A, ?MODULE, start_callers, [50, Target, 100]),
    ok = await(fun() ->
        call(A, ?MODULE, outcomes, []) =:= lists:duplicate(50, timeout)
    end),
    ok = await(fun() -> calls(B) =:= 0 andalso call(A, ?MODULE, proxies, []) =:= 0 end),
    ok = call(A, ?MODULE, kill_callers, []).

ended([A, B]) ->
    ok = call(A, ?MODULE, start_callers, [50, {server, name(B)}, infinity]),
    ok = await(fun() -> calls(B) =:= 50 end),
    ok = call(A, ?MODULE, kill_callers, []),
    ok = await(fun() -> calls(B) =:= 0 end).

invalid([A, B]) ->
    Before = call(A, erlang, whereis, [partisan_acks]),
    Target = {server, name(B)},
    [
        begin
            ?assertError(timeout_value, call(A, partisan, call, [Target, hello, Timeout])),
            Options = #{ack => true, timeout => Timeout},
            ?assertError(function_clause, call(A, partisan, forward, [Target, hello, Options]))
        end
     || Timeout <- [1.5, -1, never]
    ],
    ?assertEqual(Before, call(A, erlang, whereis, [partisan_acks])).

bounded([A, B]) ->
    Target = {server, name(B)},
    [
        ?assertEqual({Way, 60000}, {Way, call(A, ?MODULE, room_timeout, [[Way, Target]])})
     || Way <- [otp_call, otp_message, call]
    ],
    ?assertEqual(2000, call(A, ?MODULE, room_timeout, [[short_call, Target]])),
    % The next test counts the slots: none of these calls may still have one, or be on its way.
    ok = await(fun() -> call(A, ?MODULE, proxies, []) =:= 0 end),
    ?assertEqual(hello, call(A, partisan, call, [Target, {echo, hello}])),
    ok = await(fun() -> calls(B) =:= 0 end).

flood([A, B]) ->
    Before = call(B, erlang, whereis, [partisan_remote]),
    ok = call(A, ?MODULE, start_callers, [?CALLS, {server, name(B)}, infinity]),
    ok = await(fun() -> length(call(A, ?MODULE, outcomes, [])) >= ?CALLS - ?PROCESSES div 4 end),
    ?assertEqual([system_limit], lists:usort(call(A, ?MODULE, outcomes, []))),
    ?assertEqual(?PROCESSES div 4, calls(B)),
    ?assertEqual(Before, call(B, erlang, whereis, [partisan_remote])),
    ok = call(A, ?MODULE, kill_callers, []),
    ok = await(fun() -> calls(B) =:= 0 end),
    ?assertEqual(hello, call(A, partisan, call, [{server, name(B)}, {echo, hello}])).

%% On the nodes: callers of a server that does not answer; they outlive their calls.

start_callers(Count, Target, Timeout) ->
    _ = [
        spawn(fun() ->
            put(?MODULE, waiting),
            put(?MODULE, try call(Target, Timeout) catch exit:{Reason, _} -> Reason end),
            receive never -> ok end
        end)
     || _ <- lists:seq(1, Count)
    ],
    ok.

call({via, _, _} = Target, Timeout) -> gen_server:call(Target, keep, Timeout);
call(Target, Timeout) -> partisan:call(Target, keep, Timeout).

%% How long a message sent that way may wait for room. The sending process is blocked for that time.
room_timeout([Way, Target]) ->
    Sends = [{partisan_acks, send, 5}, {partisan_transport, send, 5}],
    _ = [1 = erlang:trace_pattern(Send, true, []) || Send <- Sends],
    _ = erlang:trace(new_processes, true, [call]),
    Sender = spawn(fun() -> send(Way, Target) end),
    Timeout = receive {trace, _, call, {_, send, [_, _, _, _, Options]}} ->
        maps:get(timeout, Options, infinity)
    end,
    _ = erlang:trace(all, false, [call]),
    _ = [erlang:trace_pattern(Send, false, []) || Send <- Sends],
    true = exit(Sender, kill),
    flush(),
    Timeout.

send(otp_call, Target) -> gen_server:call({via, partisan, Target}, keep, infinity);
send(otp_message, Target) -> partisan:whereis_name(Target) ! hello, receive never -> ok end;
send(call, Target) -> partisan:call(Target, keep, infinity);
send(short_call, Target) -> partisan:call(Target, keep, 2000).

flush() ->
    receive {trace, _, _, _} -> flush() after 0 -> ok end.

outcomes() ->
    [Outcome || {_, Outcome} <- callers(), Outcome =/= waiting].

kill_callers() ->
    lists:foreach(fun({Pid, _}) -> exit(Pid, kill) end, callers()).

callers() ->
    [
        {Pid, Outcome}
     || Pid <- processes(),
        {dictionary, Dictionary} <- [process_info(Pid, dictionary)],
        {?MODULE, Outcome} <- Dictionary
    ].

%% Number of processes for calls to other nodes.
proxies() ->
    length([
        Pid
     || Pid <- processes(),
        {current_function, {Module, _, _}} <- [process_info(Pid, current_function)],
        lists:member(Module, [partisan_via, partisan_call])
    ]).

%% Helpers.

form() ->
    Net = partisan_test_cluster:net(),
    Start = fun(I, Flags) ->
        Configuration = partisan_test_cluster:configuration(Net, I, #{}),
        partisan_test_cluster:start_node(Net, Configuration, Flags)
    end,
    A = Start(1, []),
    B = Start(2, ["+P", integer_to_list(?PROCESSES)]),
    ok = await(fun() -> call(A, partisan, neighbours, []) =:= [name(B)] end),
    [A, B].

with_server(Test, [_, B] = Nodes) ->
    {ok, _} = call(B, partisan_test_server, start, [server]),
    try
        Test(Nodes)
    after
        ok = call(B, gen_server, stop, [server])
    end.

calls(Node) ->
    maps:get(calls, call(Node, partisan_remote, counts, [])).

%%% @doc Calls whose callers no longer wait, and more calls than there are places.
-module(partisan_calls_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([start_callers/3, outcomes/0, kill_callers/0, proxies/0]).

%% A quarter of so many processes serves calls.
-define(PROCESSES, 2048).
-define(CALLS, 4 * ?PROCESSES).

calls_test_() ->
    {setup, fun form/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 120, fun() -> with_server(Test, Nodes) end}}
         || {Title, Test} <- [
                {"OTP's calls that time out leave nothing behind", fun timed_out/1},
                {"nor do callers that end", fun ended/1},
                {"a flood of calls is refused beyond the places there are", fun flood/1}
            ]
        ]
    end}.

%% The caller lives on.
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

%% On the nodes: callers of a server that does not answer, which stay when their calls have ended.

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

%% How many processes are about calls to other nodes.
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

%%% @doc Processes spawned with options and by requests: what is not seen by comparison with OTP.
-module(partisan_spawn_request_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([hold/1, apply_here/1]).

spawned_test_() ->
    Settings = #{remote_execution => [?MODULE], heartbeat_interval => 2000},
    {setup, fun() -> partisan_test_cluster:start_connected(2, Settings) end,
        fun partisan_test_cluster:stop/1, fun(Nodes) ->
            [
                {Title, {timeout, 600, fun() -> Test(Nodes) end}}
             || {Title, Test} <- [
                    {"options reach the process", fun options/1},
                    {"an abandoned request ends the link", fun abandoned/1},
                    {"what is not allowed", fun refused/1},
                    {"no request is left behind", fun nothing_left/1}
                ]
            ]
        end}.

options([A, B]) ->
    Options = [{priority, high}, {max_heap_size, 123456}, link, monitor],
    Pid = on(A, fun() ->
        {Process, Monitor} =
            partisan_erlang:spawn_opt(name(B), ?MODULE, hold, [spawned], Options),
        ok = await(fun() -> partisan_erlang:whereis({spawned, name(B)}) =:= Process end),
        % Its link and its monitor end with it, which the caller's end would too.
        true = partisan_erlang:unlink(Process),
        true = partisan_erlang:demonitor(Monitor),
        Process
    end),
    Local = call(B, erlang, whereis, [spawned]),
    ?assertEqual(Pid, call(B, partisan, ref, [Local])),
    ?assertMatch(
        [{priority, high}, {max_heap_size, #{size := 123456}}],
        [
            call(B, erlang, process_info, [Local, priority]),
            {max_heap_size, element(2, lists:keyfind(max_heap_size, 1, garbage(B, Local)))}
        ]
    ),
    true = call(B, erlang, exit, [Local, kill]).

%% Again until a request is abandoned before it has ended.
abandoned([A, B]) ->
    Name = on(A, fun() ->
        false = process_flag(trap_exit, true),
        abandon(name(B), 1)
    end),
    ok = await(fun() -> call(B, erlang, whereis, [Name]) =/= undefined end),
    Local = call(B, erlang, whereis, [Name]),
    ok = await(fun() ->
        case call(B, erlang, process_info, [Local, messages]) of
            {messages, [{'EXIT', _, abandoned}]} -> true;
            {messages, []} -> false
        end
    end),
    true = call(B, erlang, exit, [Local, kill]).

refused([A, B]) ->
    ?assertEqual([{no, error, {not_allowed, lists}}], on(A, fun() ->
        Reference = partisan_erlang:spawn_request(
            name(B), lists, reverse, [[]], [link, monitor, {reply_tag, no}]
        ),
        [receive {no, Reference, Kind, Reason} -> {no, Kind, Reason} end]
    end)).

nothing_left(Nodes) ->
    [
        ok = await(fun() -> call(Node, ets, info, [Table, size]) =:= 0 end)
     || Node <- Nodes, Table <- [partisan_spawn_request, partisan_spawned]
    ].

%% On the nodes.

abandon(Node, N) ->
    Name = list_to_atom("abandoned_" ++ integer_to_list(N)),
    Reference = partisan_erlang:spawn_request(Node, ?MODULE, hold, [Name], [link, monitor]),
    case partisan_erlang:spawn_request_abandon(Reference) of
        true -> Name;
        false -> abandon(Node, N + 1)
    end.

hold(Name) ->
    false = process_flag(trap_exit, true),
    true = register(Name, self()),
    receive stop -> ok end.

apply_here(Fun) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({?MODULE, Fun()}) end),
    receive {'DOWN', Monitor, process, Pid, Result} -> Result end.

%% Helpers.

on(Node, Fun) ->
    {?MODULE, Result} = call(Node, ?MODULE, apply_here, [Fun]),
    Result.

garbage(Node, Pid) ->
    {garbage_collection, Settings} = call(Node, erlang, process_info, [Pid, garbage_collection]),
    Settings.

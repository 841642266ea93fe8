%%% @doc A slow node is not taken for a dead one.
-module(partisan_slow_node_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([fall_behind/1, catch_up/0]).

-define(HEARTBEAT, 4000).
-define(MAILBOX, 100).

behind_test_() ->
    {setup,
        fun() ->
            partisan_test_cluster:start(2, #{
                heartbeat_interval => ?HEARTBEAT, mailbox_messages => ?MAILBOX
            })
        end,
        fun partisan_test_cluster:stop/1, fun(Nodes) ->
            {"a manager with a full mailbox", {timeout, 600, fun() -> full_mailbox(Nodes) end}}
        end}.

%% The overlay's connection stays the same for longer than the heartbeat timeout.
full_mailbox([A, B]) ->
    ok = await(fun() ->
        call(A, partisan, neighbours, []) =:= [name(B)] andalso
            call(B, partisan, neighbours, []) =:= [name(A)]
    end),
    ok = await(fun() -> is_pid(call(B, partisan_test_cluster, link_from, [name(A)])) end),
    Connection = call(B, partisan_test_cluster, link_from, [name(A)]),
    ok = call(B, ?MODULE, fall_behind, [?MAILBOX]),
    receive after 4 * ?HEARTBEAT -> ok end,
    ?assertEqual(Connection, call(B, partisan_test_cluster, link_from, [name(A)])),
    ok = call(B, ?MODULE, catch_up, []),
    ?assertEqual([name(B)], call(A, partisan, neighbours, [])).

%% The manager is stopped with more in its mailbox than its connections may leave there.
fall_behind(Limit) ->
    Manager = whereis(partisan_manager),
    _ = spawn(fun() ->
        true = register(?MODULE, self()),
        true = erlang:suspend_process(Manager),
        [gen_server:cast(Manager, one_more) || _ <- lists:seq(0, Limit)],
        receive catch_up -> ok end
    end),
    await(fun() ->
        {message_queue_len, Length} = process_info(Manager, message_queue_len),
        Length > Limit
    end).

%% A suspended process is released by the end of the process that suspended it.
catch_up() ->
    ?MODULE ! catch_up,
    _ = sys:get_state(partisan_manager),
    ok.

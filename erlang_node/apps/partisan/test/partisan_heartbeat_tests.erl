%%% @doc When heartbeats are sent, as properties; and a slow node is not taken for a dead one.
-module(partisan_heartbeat_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([fall_behind/1, catch_up/0, connection/1]).

-define(HEARTBEAT, 4000).
-define(MAILBOX, 100).

properties_test_() ->
    [
        {timeout, 600, ?_assert(proper:quickcheck(Property, [{numtests, 500}, {to_file, user}]))}
     || Property <- [
            prop_few_peers_get_the_configured_interval(),
            prop_many_peers_get_as_many_heartbeats_together(),
            prop_an_answer_has_nearly_the_interval(),
            prop_links_made_at_any_time_have_eight_instants_of_an_interval()
        ]
    ].

prop_few_peers_get_the_configured_interval() ->
    ?FORALL(
        {Configured, Peers},
        {pos_integer(), range(0, 64)},
        partisan_heartbeat:interval(Configured, Peers) =:= Configured
    ).

prop_many_peers_get_as_many_heartbeats_together() ->
    ?FORALL(
        {Configured, Peers},
        {range(1000, 60000), range(64, 2000)},
        begin
            Interval = partisan_heartbeat:interval(Configured, Peers),
            % Per millisecond, with what the division cuts off.
            Interval >= Configured andalso
                Peers / (Interval + 1) =< 64 / min(Configured, 5000)
        end
    ).

%% Seldom enough for 192 peers already.
a_long_interval_grows_later_test() ->
    ?assertEqual(15000, partisan_heartbeat:interval(15000, 192)),
    ?assertEqual(20000, partisan_heartbeat:interval(15000, 256)).

prop_an_answer_has_nearly_the_interval() ->
    ?FORALL({Now, Interval}, {integer(), range(8, 60000)}, begin
        Pause = partisan_heartbeat:due(Now, Interval) - Now,
        Pause =< Interval andalso Pause > Interval - Interval div 8
    end).

prop_links_made_at_any_time_have_eight_instants_of_an_interval() ->
    ?FORALL({Now, Eighth}, {integer(), range(1, 5000)}, begin
        Interval = 8 * Eighth,
        Ages = lists:seq(0, Interval - 1, max(1, Interval div 100)),
        Instants = lists:usort([partisan_heartbeat:due(Now + Age, Interval) || Age <- Ages]),
        length(Instants) =< 9 andalso lists:all(fun(At) -> At rem Eighth =:= 0 end, Instants)
    end).

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
    ok = await(fun() -> is_pid(call(B, ?MODULE, connection, [name(A)])) end),
    Connection = call(B, ?MODULE, connection, [name(A)]),
    ok = call(B, ?MODULE, fall_behind, [?MAILBOX]),
    receive after 4 * ?HEARTBEAT -> ok end,
    ?assertEqual(Connection, call(B, ?MODULE, connection, [name(A)])),
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

%% The connection of this peer's overlay messages.
connection(Peer) ->
    Fields = tuple_to_list(sys:get_state(partisan_listener, infinity)),
    hd([
        Pid
     || #{} = Lanes <- Fields, {{Name, _, overlay, 0}, Pid} <- maps:to_list(Lanes), Name =:= Peer
    ] ++ [none]).

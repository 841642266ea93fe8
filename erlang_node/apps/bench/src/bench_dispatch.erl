%%% @doc What one send costs its caller, by how many lanes the node has.
%%%
%%% The lanes have no sockets: a process each takes messages and credits the lane's account.
%%% Sends go to `destinations' of them, spread over the table. With as many of these as lanes, the
%%% figure holds the processor's cache misses, too; with few of them it is the look-up alone.
-module(bench_dispatch).

-export([run/1]).

%% The lanes are emptied between rounds, which are measured one by one.
-define(ROUNDS, 200).
-define(SENDS_PER_ROUND, 1024).
-define(CHANNEL, lanes_1).

%% @doc Nanoseconds a send, of the median round. The node must run the runtime.
-spec run(#{connections := pos_integer(), destinations := pos_integer(), _ => _}) ->
    #{ns_per_send := float()}.
run(#{connections := Connections, destinations := Destinations}) ->
    {ok, Channel} = partisan_channel:find(?CHANNEL),
    Names = [<<"lane-", (integer_to_binary(I))/binary>> || I <- lists:seq(1, Connections)],
    Lanes = [{Name, lane(Channel)} || Name <- Names],
    _ = [ok = partisan_transport:add_lane({Name, ?CHANNEL, 0}, Lane) || {Name, Lane} <- Lanes],
    Chosen = every(Connections div Destinations, Names),
    Measured = rounds(Chosen, [partisan_lane:queue(Lane) || {_, Lane} <- Lanes]),
    _ = [ok = partisan_transport:remove_lane({Name, ?CHANNEL, 0}, Lane) || {Name, Lane} <- Lanes],
    _ = [ok = partisan_lane:stop(Lane) || {_, Lane} <- Lanes],
    #{ns_per_send => Measured / ?SENDS_PER_ROUND}.

%% Internals.

lane(Channel) ->
    Caller = self(),
    _ = spawn(fun() ->
        % As the owner of a connection.
        process_flag(message_queue_data, off_heap),
        Lane = partisan_lane:new(Channel),
        Caller ! {lane, Lane},
        drain(partisan_lane:queue(Lane))
    end),
    receive
        {lane, Lane} -> Lane
    end.

drain(Queue) ->
    receive
        {send, _, {Bytes, _}} ->
            ok = partisan_queue:release(Queue, 1, Bytes),
            drain(Queue)
    end.

rounds(Names, Queues) ->
    Rounds = bench_worker:start(fun() -> rounds(?ROUNDS, Names, Names, Queues) end),
    lists:nth(?ROUNDS div 2, lists:sort(bench_worker:await(Rounds))).

rounds(0, _Names, _All, _Queues) ->
    [];
rounds(Left, Names, All, Queues) ->
    StartedAt = bench_system:now(),
    Next = send(Names, All, ?SENDS_PER_ROUND),
    Took = bench_system:now() - StartedAt,
    lists:foreach(fun await_empty/1, Queues),
    [Took | rounds(Left - 1, Next, All, Queues)].

await_empty(Queue) ->
    case partisan_queue:messages(Queue) of
        0 ->
            ok;
        _ ->
            erlang:yield(),
            await_empty(Queue)
    end.

send(Names, _All, 0) ->
    Names;
send([], All, Left) ->
    send(All, All, Left);
send([Name | Names], All, Left) ->
    ok = partisan:forward(Name, nobody, Left, #{channel => ?CHANNEL, partition_key => 0}),
    send(Names, All, Left - 1).

every(Step, Names) ->
    [Name || {I, Name} <- lists:zip(lists:seq(0, length(Names) - 1), Names), I rem Step =:= 0].

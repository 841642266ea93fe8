%%% @doc What one send costs its caller, by how many lanes the node has.
%%%
%%% The lanes have no sockets: a process each takes messages and credits the lane's account.
%%% Sends go to `destinations' of them, spread over the table. With as many of these as lanes, the
%%% figure holds the processor's cache misses, too; with few of them it is the look-up alone.
-module(bench_dispatch).

-export([run/1]).

-define(SENDS, 200000).
-define(CHANNEL, lanes_1).

%% @doc Nanoseconds a send. The node must run the runtime.
-spec run(#{connections := pos_integer(), destinations := pos_integer(), _ => _}) ->
    #{ns_per_send := float()}.
run(#{connections := Connections, destinations := Destinations}) ->
    {ok, Channel} = partisan_channel:find(?CHANNEL),
    Names = [<<"lane-", (integer_to_binary(I))/binary>> || I <- lists:seq(1, Connections)],
    Lanes = [{Name, lane(Channel)} || Name <- Names],
    _ = [ok = partisan_transport:add_lane({Name, ?CHANNEL, 0}, Lane) || {Name, Lane} <- Lanes],
    Chosen = every(Connections div Destinations, Names),
    Warm = bench(Chosen, Destinations),
    Measured = bench(Chosen, ?SENDS),
    _ = [ok = partisan_transport:remove_lane({Name, ?CHANNEL, 0}, Lane) || {Name, Lane} <- Lanes],
    _ = [ok = partisan_lane:stop(Lane) || {_, Lane} <- Lanes],
    true = Warm > 0,
    #{ns_per_send => Measured / ?SENDS}.

%% Internals.

lane(Channel) ->
    Caller = self(),
    _ = spawn(fun() ->
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

bench(Names, Sends) ->
    {Pid, Monitor} = spawn_monitor(fun() ->
        StartedAt = bench_system:now(),
        ok = send(Names, Names, Sends),
        exit({took, bench_system:now() - StartedAt})
    end),
    receive
        {'DOWN', Monitor, process, Pid, {took, Nanoseconds}} -> Nanoseconds
    end.

send(_Names, _All, 0) ->
    ok;
send([], All, Left) ->
    send(All, All, Left);
send([Name | Names], All, Left) ->
    ok = partisan:forward(Name, nobody, Left, #{channel => ?CHANNEL, partition_key => 0}),
    send(Names, All, Left - 1).

every(Step, Names) ->
    [Name || {I, Name} <- lists:zip(lists:seq(0, length(Names) - 1), Names), I rem Step =:= 0].

%%% @doc Cost of one send to its caller, by the number of the node's lanes.
%%%
%%% The lanes have no sockets: each is a process that takes messages and credits the lane's account.
%%% Sends go to `destinations' of them, spread over the table. With as many destinations as lanes,
%%% the figure includes cache misses; with few it is the look-up alone.
-module(bench_dispatch).

-export([run/1]).

%% The lanes are emptied between rounds, which are measured one by one.
-define(ROUNDS, 200).
-define(SENDS_PER_ROUND, 1024).
-define(CHANNEL, lanes_1).

%% @doc Nanoseconds per send in the median round, and in the fastest, which other programs have not
%% disturbed. The node must run the runtime. `rules': that many rules of injected faults are in
%% force, which match nothing that is sent.
-spec run(#{
    connections := pos_integer(),
    destinations := pos_integer(),
    rules => non_neg_integer(),
    _ => _
}) -> #{ns_per_send := float(), ns_at_least := float()}.
run(#{connections := Connections, destinations := Destinations} = Cell) ->
    Rules = maps:get(rules, Cell, 0),
    % A revision without rules is measured, too.
    Rules =:= 0 orelse (ok = partisan_interposition:set(rules(Rules))),
    {ok, Channel} = partisan_channel:find(?CHANNEL),
    Names = [<<"lane-", (integer_to_binary(I))/binary>> || I <- lists:seq(1, Connections)],
    Lanes = [{Name, lane(Channel)} || Name <- Names],
    _ = [ok = partisan_transport:add_lane({Name, ?CHANNEL, 0}, Lane) || {Name, Lane} <- Lanes],
    Chosen = every(Connections div Destinations, Names),
    Took = rounds(Chosen, [partisan_lane:queue(Lane) || {_, Lane} <- Lanes]),
    _ = [ok = partisan_transport:remove_lane({Name, ?CHANNEL, 0}, Lane) || {Name, Lane} <- Lanes],
    _ = [ok = partisan_lane:stop(Lane) || {_, Lane} <- Lanes],
    Rules =:= 0 orelse (ok = partisan_interposition:clear()),
    #{
        ns_per_send => lists:nth(?ROUNDS div 2, Took) / ?SENDS_PER_ROUND,
        ns_at_least => hd(Took) / ?SENDS_PER_ROUND
    }.

%% Internals.

rules(Count) ->
    [
        #{name => integer_to_binary(I), action => drop, match => #{message => other}}
     || I <- lists:seq(1, Count)
    ].

lane(Channel) ->
    Caller = self(),
    _ = spawn(fun() ->
        % Like the owner of a connection.
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
    Wanted = ceil(?ROUNDS * ?SENDS_PER_ROUND / length(Names)),
    lists:sort(rounds(?ROUNDS, lists:append(lists:duplicate(Wanted, Names)), Queues)).

%% Each round in a process of its own, which holds the same number of names whatever the number of
%% lanes, and none of their queues: its garbage is always the same.
rounds(0, _Names, _Queues) ->
    [];
rounds(Left, Names, Queues) ->
    {Now, Later} = lists:split(?SENDS_PER_ROUND, Names),
    Round = bench_worker:start(fun() ->
        StartedAt = bench_system:now(),
        ok = lists:foreach(fun send/1, Now),
        bench_system:now() - StartedAt
    end),
    Took = bench_worker:await(Round),
    lists:foreach(fun await_empty/1, Queues),
    [Took | rounds(Left - 1, Later, Queues)].

await_empty(Queue) ->
    case partisan_queue:messages(Queue) of
        0 ->
            ok;
        _ ->
            erlang:yield(),
            await_empty(Queue)
    end.

send(Name) ->
    ok = partisan:forward(Name, absent, message, #{channel => ?CHANNEL, partition_key => 0}).

every(Step, Names) ->
    [Name || {I, Name} <- lists:zip(lists:seq(0, length(Names) - 1), Names), I rem Step =:= 0].

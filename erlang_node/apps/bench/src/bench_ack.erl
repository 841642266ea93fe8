%%% @doc The published microbenchmark: each actor sends one message to an actor of the other virtual
%%% machine and waits for its acknowledgement before the next one.
%%%
%%% It ends after a number of messages of all actors together, or after a time, whichever is first.
%%% Receivers are those of {@link bench_traffic}, which measure the latency one way.
-module(bench_ack).

%% In the receiving virtual machine.
-export([receive_start/2]).
%% In the sending one.
-export([send/2]).

-define(TIMEOUT_MS, 300000).

-type load() :: #{
    % Actors.
    pairs := pos_integer(),
    % Bytes.
    payload := pos_integer(),
    % The one channel, or so many of them, single_1 and so on, which the actors share evenly.
    channel => bench_system:channel(),
    channels => pos_integer(),
    % At most, of all actors together.
    messages := pos_integer(),
    milliseconds := non_neg_integer(),
    _ => _
}.
-type acknowledged() :: #{
    started_at := integer(),
    ended_at := integer(),
    % All messages, and those that were acknowledged in time.
    sent := non_neg_integer(),
    acknowledged := non_neg_integer()
}.
-export_type([load/0, acknowledged/0]).

-record(actor, {
    send :: fun((Seq :: pos_integer(), Now :: integer()) -> ok),
    % Whether the first message is its own. All others are whose turn comes first.
    has_first :: boolean(),
    % Those that may still be sent.
    left :: atomics:atomics_ref(),
    until :: integer(),
    acknowledged = 0 :: non_neg_integer(),
    last_at = 0 :: integer()
}).

%% @doc Starts receivers that acknowledge each message, on its channel.
-spec receive_start(System :: module(), load()) -> ok.
receive_start(System, Load) ->
    Acknowledge = fun(Pair, Seq) ->
        Message = {bench, Seq, bench_system:now(), <<"acknowledged">>},
        System:send(channel(Pair, Load), Pair, bench_system:sender(Pair), Message)
    end,
    bench_traffic:receive_start(Load#{affinity => true, acknowledge => Acknowledge}).

%% @doc Runs the actors to their end. Messages that are on their way at the end of the time are
%% waited for, so that nothing is left to the next measurement, but do not count. Each actor sends
%% one message at least, if there are enough for all.
-spec send(System :: module(), load()) -> acknowledged().
send(System, #{pairs := Pairs, payload := Size, messages := Most} = Load) ->
    #{milliseconds := Milliseconds} = Load,
    Payload = bench_traffic:payload(Size),
    Left = atomics:new(1, []),
    ok = atomics:put(Left, 1, max(0, Most - Pairs)),
    StartedAt = bench_system:now(),
    Until = StartedAt + Milliseconds * 1_000_000,
    Actors = [
        bench_worker:start(fun() ->
            true = register(bench_system:sender(Pair), self()),
            Send = sending(System, Pair, Payload, Load),
            act(1, #actor{send = Send, has_first = Pair =< Most, left = Left, until = Until})
        end)
     || Pair <- lists:seq(1, Pairs)
    ],
    Done = [bench_worker:await(Actor) || Actor <- Actors],
    Acknowledged = lists:sum([In || {_, In, _} <- Done]),
    EndedAt =
        case Acknowledged of
            Most -> lists:max([LastAt || {_, _, LastAt} <- Done]);
            _ -> Until
        end,
    #{
        started_at => StartedAt,
        ended_at => EndedAt,
        sent => lists:sum([Sent || {Sent, _, _} <- Done]),
        acknowledged => Acknowledged
    }.

%% Internals.

sending(System, Pair, Payload, Load) ->
    Channel = channel(Pair, Load),
    Receiver = bench_system:receiver(Pair),
    fun(Seq, Now) -> System:send(Channel, Pair, Receiver, {bench, Seq, Now, Payload}) end.

channel(Pair, #{channels := Count}) ->
    list_to_atom("single_" ++ integer_to_list(1 + Pair rem Count));
channel(_Pair, #{channel := Channel}) ->
    Channel.

act(Seq, #actor{send = Send} = Actor) ->
    Now = bench_system:now(),
    case may_send(Seq, Now, Actor) of
        true ->
            ok = Send(Seq, Now),
            receive
                {bench, Seq, _, _} -> act(Seq + 1, counted(bench_system:now(), Actor))
            after ?TIMEOUT_MS -> error({no_acknowledgement_of, Seq})
            end;
        false ->
            {Seq - 1, Actor#actor.acknowledged, Actor#actor.last_at}
    end.

may_send(1, _Now, #actor{has_first = true}) ->
    true;
may_send(_Seq, Now, #actor{left = Left, until = Until}) ->
    Now < Until andalso atomics:sub_get(Left, 1, 1) >= 0.

counted(Now, #actor{until = Until, acknowledged = Acknowledged} = Actor) when Now < Until ->
    Actor#actor{acknowledged = Acknowledged + 1, last_at = Now};
counted(_Now, Actor) ->
    Actor.

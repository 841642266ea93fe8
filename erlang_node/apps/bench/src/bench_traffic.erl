%%% @doc Pairs of senders and receivers, the same for every system, and their checks.
%%%
%%% Each sender sends as fast as it may for a while. Each receiver checks that every message of its
%%% sender arrives once, in order if the sender keeps to one key; that its length, beginning and end
%%% are right; and, for one in sixteen, all of it. It acknowledges messages if asked to ({@link
%%% bench_ack}).
-module(bench_traffic).

%% In the receiving virtual machine.
-export([receive_start/1]).
-export([received/0]).
-export([receive_stop/0]).
%% In the sending one.
-export([send/2]).
-export([payload/1]).
%% In both.
-export([is_intact/2]).
-export([own/3]).

-define(MESSAGES, 1).
-define(LAST_AT, 2).
-define(FAULTS, 3).

-define(EDGE, 64).
-define(FULLY, 16).
-define(PART, 512).

-type load() :: #{
    pairs := pos_integer(),
    % Bytes.
    payload := pos_integer(),
    % Whether a sender keeps to one key, so that its messages stay in order.
    affinity := boolean(),
    % Called for each message that is received; nothing by default.
    acknowledge => fun((Pair :: pos_integer(), Seq :: pos_integer()) -> ok),
    _ => _
}.
-type sent() :: #{started_at := integer(), messages := non_neg_integer()}.
-type progress() :: #{
    messages := non_neg_integer(), last_at := integer(), faults := non_neg_integer()
}.
-type latency() :: #{p50_ms := float() | null, p99_ms := float() | null}.
-export_type([load/0, sent/0, progress/0, latency/0]).

-record(receiver, {
    figures :: atomics:atomics_ref(),
    latency :: bench_histogram:t(),
    expected :: binary(),
    affinity :: boolean(),
    acknowledge :: fun((pos_integer(), pos_integer()) -> ok),
    pair = 0 :: non_neg_integer(),
    next = 1 :: pos_integer(),
    % Messages received before an earlier one, if no order is kept.
    ahead = #{} :: #{pos_integer() => []}
}).

%% @doc Starts the receivers.
-spec receive_start(load()) -> ok.
receive_start(#{pairs := Pairs, payload := Size, affinity := Affinity} = Load) ->
    Caller = self(),
    Payload = payload(Size),
    Figures = atomics:new(3, []),
    Latency = bench_histogram:new(),
    Receiver = #receiver{
        figures = Figures,
        latency = Latency,
        expected = Payload,
        affinity = Affinity,
        acknowledge = maps:get(acknowledge, Load, fun(_, _) -> ok end)
    },
    Owner = spawn(?MODULE, own, [Caller, Pairs, Receiver]),
    receive
        {Owner, ready} -> persistent_term:put(?MODULE, {Owner, Figures, Latency})
    end.

%% @doc The messages received so far.
-spec received() -> progress().
received() ->
    {_, Figures, _} = persistent_term:get(?MODULE),
    #{
        messages => atomics:get(Figures, ?MESSAGES),
        last_at => atomics:get(Figures, ?LAST_AT),
        faults => atomics:get(Figures, ?FAULTS)
    }.

%% @doc Ends the receivers.
-spec receive_stop() -> latency().
receive_stop() ->
    {Owner, _, Latency} = persistent_term:get(?MODULE),
    Monitor = monitor(process, Owner),
    Owner ! stop,
    receive
        {'DOWN', Monitor, process, Owner, _} -> ok
    end,
    #{
        p50_ms => bench_histogram:percentile(Latency, 0.5),
        p99_ms => bench_histogram:percentile(Latency, 0.99)
    }.

%% @doc Sends for that many milliseconds from all senders at once, and waits for their end.
-spec send(module(), #{
    channel := bench_system:channel(),
    milliseconds := pos_integer(),
    pairs := pos_integer(),
    payload := pos_integer(),
    affinity := boolean(),
    _ => _
}) -> sent().
send(System, #{pairs := Pairs, payload := Size, milliseconds := Milliseconds} = Load) ->
    Payload = payload(Size),
    StartedAt = bench_system:now(),
    Until = StartedAt + Milliseconds * 1_000_000,
    Senders = [
        bench_worker:start(fun() -> sender(System, Pair, Payload, Until, Load) end)
     || Pair <- lists:seq(1, Pairs)
    ],
    Sent = [bench_worker:await(Sender) || Sender <- Senders],
    #{started_at => StartedAt, messages => lists:sum(Sent)}.

%% @doc Returns that many bytes without a pattern, equal in every virtual machine.
-spec payload(pos_integer()) -> binary().
payload(Size) ->
    crypto:crypto_one_time(aes_128_ctr, <<"not a secret key">>, <<0:128>>, <<0:Size/unit:8>>, true).

%% @doc Whether a payload is the expected one, by its length, beginning and end; one in sixteen, as
%% chance has it, is compared in full.
-spec is_intact(binary(), Expected :: binary()) -> boolean().
is_intact(Payload, Expected) ->
    has_edges(Payload, Expected) andalso
        (rand:uniform(?FULLY) > 1 orelse is_equal(Payload, Expected)).

%% @private The receivers end with their owner.
-spec own(pid(), pos_integer(), #receiver{}) -> no_return().
own(Caller, Pairs, Receiver) ->
    _ = [
        begin
            Own = Receiver#receiver{pair = Pair},
            true = register(bench_system:receiver(Pair), spawn_link(fun() -> loop(Own) end))
        end
     || Pair <- lists:seq(1, Pairs)
    ],
    Caller ! {self(), ready},
    receive
        stop -> exit(shutdown)
    end.

%% Internals.

sender(System, Pair, Payload, Until, #{channel := Channel, affinity := Affinity}) ->
    Send = fun(Seq, Now) ->
        Key =
            case Affinity of
                true -> Pair;
                false -> Pair + 1000 * Seq
            end,
        System:send(Channel, Key, bench_system:receiver(Pair), {bench, Seq, Now, Payload})
    end,
    send_until(Send, 1, Until).

%% One message at least, however long it takes.
send_until(Send, Seq, Until) ->
    Now = bench_system:now(),
    case Now >= Until andalso Seq > 1 of
        true ->
            Seq - 1;
        false ->
            ok = Send(Seq, Now),
            send_until(Send, Seq + 1, Until)
    end.

loop(#receiver{figures = Figures, latency = Latency, acknowledge = Acknowledge} = Receiver) ->
    receive
        {bench, Seq, SentAt, Payload} ->
            Now = bench_system:now(),
            ok = bench_histogram:add(Latency, Now - SentAt),
            is_intact(Seq, Payload, Receiver) orelse atomics:add(Figures, ?FAULTS, 1),
            Next = in_turn(Seq, Receiver),
            ok = atomics:put(Figures, ?LAST_AT, Now),
            ok = atomics:add(Figures, ?MESSAGES, 1),
            ok = Acknowledge(Receiver#receiver.pair, Seq),
            loop(Next)
    end.

is_intact(Seq, Payload, #receiver{expected = Expected}) when Seq rem ?FULLY =:= 0 ->
    is_equal(Payload, Expected);
is_intact(_Seq, Payload, #receiver{expected = Expected}) ->
    has_edges(Payload, Expected).

has_edges(Payload, Expected) when byte_size(Payload) =:= byte_size(Expected) ->
    Size = byte_size(Expected),
    binary:part(Payload, 0, ?EDGE) =:= binary:part(Expected, 0, ?EDGE) andalso
        binary:part(Payload, Size, -?EDGE) =:= binary:part(Expected, Size, -?EDGE);
has_edges(_Payload, _Expected) ->
    false.

%% In parts: a comparison of megabytes cannot be preempted, and others would wait for it.
is_equal(<<Part:?PART/binary, Left/binary>>, <<Part:?PART/binary, Expected/binary>>) ->
    is_equal(Left, Expected);
is_equal(Left, Expected) ->
    Left =:= Expected.

in_turn(Seq, #receiver{next = Seq, ahead = Ahead} = Receiver) when map_size(Ahead) =:= 0 ->
    Receiver#receiver{next = Seq + 1};
in_turn(Seq, #receiver{affinity = false, next = Next, ahead = Ahead} = Receiver) when
    Seq >= Next, not is_map_key(Seq, Ahead)
->
    catch_up(Receiver#receiver{ahead = Ahead#{Seq => []}});
in_turn(Seq, #receiver{figures = Figures} = Receiver) ->
    ok = atomics:add(Figures, ?FAULTS, 1),
    Receiver#receiver{next = Seq + 1}.

catch_up(#receiver{next = Next, ahead = Ahead} = Receiver) ->
    case maps:take(Next, Ahead) of
        {[], Left} -> catch_up(Receiver#receiver{next = Next + 1, ahead = Left});
        error -> Receiver
    end.

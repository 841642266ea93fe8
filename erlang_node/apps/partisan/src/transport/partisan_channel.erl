%%% @doc A channel: its settings and counters, for senders and receivers.
%%%
%%% Kept in a persistent term per channel, since every message reads it and almost nothing changes
%%% it at run time. A name from the wire is looked up as a binary, so that no peer creates atoms.
%%%
%%% == Lanes and their numbers ==
%%% Lanes have consecutive numbers. When their number changes, keys move to other lanes, and the new
%%% lanes get numbers that no previous lane has. A sender can thus detect that the lane it looked up
%%% is gone, and a new lane can wait until the previous ones have delivered their contents, so the
%%% order of each key survives the change.
%%%
%%% Longer than 300 lines: one record, and a line or two for each question about it.
-module(partisan_channel).

-export([setup/0]).
-export([find/1]).
-export([name/1]).
-export([is_monotonic/1]).
-export([is_acknowledged/1]).
-export([set_parallelism/2]).
-export([is_interposed/1]).
-export([interpose/1]).
-export([egress_delay/1]).
-export([ingress_delay/1]).
-export([lane/2]).
-export([has_lane/2]).
-export([stream/2]).
-export([lane_key/1]).
-export([queue_limit/1]).
-export([unacknowledged_limit/1]).
-export([message_limit/1]).
-export([kernel_limit/1]).
-export([sent/3]).
-export([received/2]).
-export([waited/2]).
-export([dropped/2]).
-export([dropped/3]).
-export([totals/1]).

-record(channel, {
    name :: atom(),
    parallelism :: pos_integer(),
    % Number of the first lane.
    first = 0 :: non_neg_integer(),
    % Number of lanes at the start.
    streams :: pos_integer(),
    monotonic :: boolean(),
    acknowledged :: boolean(),
    queue_bytes :: pos_integer(),
    % Whether its lanes share that limit, or each has its own.
    shared :: boolean(),
    message_limit :: pos_integer(),
    % Whether rules of injected faults are in force, or there is an egress delay.
    interposed :: boolean(),
    % Milliseconds.
    egress_delay :: non_neg_integer(),
    ingress_delay :: non_neg_integer(),
    sent_messages :: partisan_metrics:series(),
    sent_bytes :: partisan_metrics:series(),
    received_messages :: partisan_metrics:series(),
    received_bytes :: partisan_metrics:series(),
    send_seconds :: partisan_metrics:series(),
    dropped :: #{drop_reason() => partisan_metrics:series()}
}).

-opaque t() :: #channel{}.
%% One of `?DROP_REASONS'.
-type drop_reason() :: atom().
-type totals() :: #{
    sent_messages := non_neg_integer(),
    sent_bytes := non_neg_integer(),
    received_messages := non_neg_integer(),
    received_bytes := non_neg_integer(),
    dropped := non_neg_integer()
}.
-export_type([t/0, drop_reason/0, totals/0]).

%% A newer message of a monotonic channel cannot replace one in the kernel's buffers. By default
%% these grow to megabytes at either end, and a slow receiver would read messages minutes old.
-define(MONOTONIC_KERNEL_BYTES, 32768).
%% Default bytes per lane, whatever the number of lanes.
-define(LANE_BYTES, 1048576).
%% Lane numbers have sixteen bits on the wire.
-define(LANES, 65536).
-define(DROP_REASONS, [
    busy,
    disconnected,
    hops_exceeded,
    injected,
    no_process,
    no_route,
    superseded,
    too_large,
    unacknowledged,
    undecodable,
    unreachable,
    unknown_frame
]).
%% From a quarter of a millisecond to ten seconds.
-define(BUCKETS, [
    0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10
]).

%% @doc Registers the metrics of channels and publishes the configured ones.
-spec setup() -> ok.
setup() ->
    Labels = [channel, direction],
    ok = partisan_metrics:new(
        counter,
        partisan_channel_messages_total,
        "Messages written to and read from sockets",
        Labels
    ),
    ok = partisan_metrics:new(
        counter, partisan_channel_bytes_total, "Bytes of those messages, including framing", Labels
    ),
    ok = partisan_metrics:new(
        counter,
        partisan_channel_dropped_messages_total,
        "Messages dropped, by reason.",
        [channel, reason]
    ),
    ok = partisan_metrics:new(
        {histogram, ?BUCKETS},
        partisan_channel_send_seconds,
        "Time from the send call to the socket, for the oldest message of each write.",
        [channel]
    ),
    lists:foreach(fun publish/1, partisan_config:get(channels)).

%% @doc The channel of this name; names from the wire are binaries.
-spec find(atom() | binary()) -> {ok, t()} | error.
find(Name) ->
    case persistent_term:get({?MODULE, Name}, undefined) of
        undefined -> error;
        Channel -> {ok, Channel}
    end.

%% @doc The name of a channel.
-spec name(t()) -> atom().
name(#channel{name = Name}) ->
    Name.

%% @doc Whether a newer message replaces one that still waits.
-spec is_monotonic(t()) -> boolean().
is_monotonic(#channel{monotonic = Monotonic}) ->
    Monotonic.

%% @doc Whether its messages are retransmitted until they have arrived, unless their sender
%% overrides it.
-spec is_acknowledged(t()) -> boolean().
is_acknowledged(#channel{acknowledged = Acknowledged}) ->
    Acknowledged.

%% @doc Replaces a channel's lanes by that many new ones; `false' if it has that many already.
%% Closing the previous lanes is up to the caller.
-spec set_parallelism(atom(), pos_integer()) -> boolean().
set_parallelism(Name, Parallelism) ->
    case find(Name) of
        {ok, #channel{parallelism = Parallelism}} ->
            false;
        {ok, #channel{parallelism = Previous, first = First} = Channel} ->
            ok = put(Channel#channel{
                parallelism = Parallelism, first = first(First + Previous, Parallelism)
            }),
            true
    end.

%% @doc Whether messages are subject to rules of injected faults, or delayed ({@link
%% partisan_injection}).
-spec is_interposed(t()) -> boolean().
is_interposed(#channel{interposed = Interposed}) ->
    Interposed.

%% @doc Switches rules for all channels. Only in the process that sets the parallelism.
-spec interpose(boolean()) -> ok.
interpose(Interposed) ->
    Switch = fun(#{name := Name}) ->
        {ok, #channel{egress_delay = Delay} = Channel} = find(Name),
        put(Channel#channel{interposed = Interposed orelse Delay > 0})
    end,
    lists:foreach(Switch, partisan_config:get(channels)).

%% @doc Milliseconds by which messages leave later.
-spec egress_delay(t()) -> non_neg_integer().
egress_delay(#channel{egress_delay = Delay}) ->
    Delay.

%% @doc Milliseconds by which messages that have arrived are delivered later.
-spec ingress_delay(t()) -> non_neg_integer().
ingress_delay(#channel{ingress_delay = Delay}) ->
    Delay.

%% @doc The lane of a partition key. Depends on the configured parallelism alone, never on which
%% lanes are up; otherwise messages of one key would overtake each other while lanes come up.
-spec lane(t(), PartitionKey :: term()) -> non_neg_integer().
lane(#channel{parallelism = 1, first = First}, _Key) ->
    First;
lane(#channel{parallelism = Parallelism, first = First}, {?MODULE, stream, Stream}) ->
    First + Stream rem Parallelism;
lane(#channel{parallelism = Parallelism, first = First}, Key) ->
    First + erlang:phash2(Key, Parallelism).

%% @doc Whether this is the number of a present lane, not of one before a change.
-spec has_lane(t(), non_neg_integer()) -> boolean().
has_lane(#channel{parallelism = Parallelism, first = First}, Lane) ->
    Lane >= First andalso Lane < First + Parallelism.

%% @doc The acknowledged stream of a partition key. There are as many streams as lanes at the start,
%% whatever becomes of the lanes, since streams do not wait for one another.
-spec stream(t(), PartitionKey :: term()) -> non_neg_integer().
stream(#channel{streams = Streams}, Key) ->
    erlang:phash2(Key, Streams).

%% @doc The partition key that selects the lane of a stream.
-spec lane_key(Stream :: non_neg_integer()) -> term().
lane_key(Stream) ->
    {?MODULE, stream, Stream}.

%% @doc Bytes that may wait in one lane. Many lanes share the default: with one each, the waiting
%% bytes would exceed the processor's cache, and sixteen lanes would be slower than one.
-spec queue_limit(t()) -> pos_integer().
queue_limit(#channel{shared = false, queue_bytes = Bytes}) ->
    Bytes;
queue_limit(#channel{shared = true, queue_bytes = Bytes, parallelism = Parallelism}) ->
    max(Bytes div Parallelism, min(Bytes, ?LANE_BYTES)).

%% @doc Bytes of an acknowledged stream that may be in flight.
-spec unacknowledged_limit(t()) -> pos_integer().
unacknowledged_limit(#channel{queue_bytes = Bytes}) ->
    max(1, Bytes div 2).

%% @doc Maximum message size in bytes.
-spec message_limit(t()) -> pos_integer().
message_limit(#channel{message_limit = Limit}) ->
    Limit.

%% @doc Bytes of a lane that the kernel may buffer at either end; `none': the kernel decides.
-spec kernel_limit(t()) -> pos_integer() | none.
kernel_limit(#channel{monotonic = true}) -> ?MONOTONIC_KERNEL_BYTES;
kernel_limit(#channel{monotonic = false}) -> none.

%% @doc Counts messages accepted by a socket.
-spec sent(t(), Messages :: non_neg_integer(), Bytes :: non_neg_integer()) -> ok.
sent(#channel{sent_messages = MessagesSent, sent_bytes = BytesSent}, Messages, Bytes) ->
    ok = partisan_metrics:add(MessagesSent, Messages),
    partisan_metrics:add(BytesSent, Bytes).

%% @doc Counts a message that was read.
-spec received(t(), Bytes :: non_neg_integer()) -> ok.
received(#channel{received_messages = Messages, received_bytes = BytesReceived}, Bytes) ->
    ok = partisan_metrics:add(Messages, 1),
    partisan_metrics:add(BytesReceived, Bytes).

%% @doc Observes the time from a send call to the socket.
-spec waited(t(), Nanoseconds :: non_neg_integer()) -> ok.
waited(#channel{send_seconds = Histogram}, Nanoseconds) ->
    partisan_metrics:record(Histogram, Nanoseconds).

%% @doc Counts one message that will not arrive.
-spec dropped(t(), drop_reason()) -> ok.
dropped(Channel, Reason) ->
    dropped(Channel, Reason, 1).

%% @doc Counts messages that will not arrive.
-spec dropped(t(), drop_reason(), Messages :: non_neg_integer()) -> ok.
dropped(#channel{dropped = Dropped}, Reason, Messages) ->
    #{Reason := Series} = Dropped,
    partisan_metrics:add(Series, Messages).

%% @doc The current counters of a channel.
-spec totals(atom()) -> totals().
totals(Name) ->
    #{
        sent_messages => partisan_metrics:value(partisan_channel_messages_total, [Name, sent]),
        sent_bytes => partisan_metrics:value(partisan_channel_bytes_total, [Name, sent]),
        received_messages =>
            partisan_metrics:value(partisan_channel_messages_total, [Name, received]),
        received_bytes => partisan_metrics:value(partisan_channel_bytes_total, [Name, received]),
        dropped => lists:sum([
            partisan_metrics:value(partisan_channel_dropped_messages_total, [Name, Reason])
         || Reason <- ?DROP_REASONS
        ])
    }.

%% Internals.

publish(#{name := Name, parallelism := Parallelism} = Configured) ->
    #{monotonic := Monotonic, acknowledged := Acknowledged} = Configured,
    Egress = maps:get(egress_delay, Configured, 0),
    Series = fun(Metric, Labels) -> partisan_metrics:series(Metric, [Name | Labels]) end,
    put(#channel{
        name = Name,
        parallelism = Parallelism,
        streams = Parallelism,
        monotonic = Monotonic,
        acknowledged = Acknowledged,
        interposed = Egress > 0,
        egress_delay = Egress,
        ingress_delay = maps:get(ingress_delay, Configured, 0),
        queue_bytes = maps:get(queue_bytes, Configured, partisan_config:get(lane_queue_bytes)),
        shared = not is_map_key(queue_bytes, Configured),
        message_limit = partisan_config:get(message_bytes),
        sent_messages = Series(partisan_channel_messages_total, [sent]),
        sent_bytes = Series(partisan_channel_bytes_total, [sent]),
        received_messages = Series(partisan_channel_messages_total, [received]),
        received_bytes = Series(partisan_channel_bytes_total, [received]),
        send_seconds = Series(partisan_channel_send_seconds, []),
        % All reasons from the start: a rate needs the zero before the first message.
        dropped = maps:from_list([
            {Reason, Series(partisan_channel_dropped_messages_total, [Reason])}
         || Reason <- ?DROP_REASONS
        ])
    }).

put(#channel{name = Name} = Channel) ->
    ok = persistent_term:put({?MODULE, Name}, Channel),
    persistent_term:put({?MODULE, atom_to_binary(Name)}, Channel).

%% Numbers wrap around once all are used; by then the first ones are long forgotten.
first(Next, Parallelism) when Next + Parallelism =< ?LANES -> Next;
first(_Next, _Parallelism) -> 0.

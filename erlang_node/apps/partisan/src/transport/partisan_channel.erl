%%% @doc A channel as the sender and the receiver see it: its settings and its counters.
%%%
%%% Kept in a persistent term per channel, since every message looks at it and next to nothing
%%% changes it while the application runs. A name that comes from the wire is looked up as a binary,
%%% so that no peer makes an atom.
%%%
%%% == Lanes and their numbers ==
%%% The lanes of a channel have consecutive numbers. When the number of lanes changes, keys change
%%% lanes: the new lanes get numbers that none of the former ones has, so that who has looked up a
%%% lane before the change can tell that it has gone, and whoever opens one after it can wait until
%%% the former ones have delivered what they hold. So the order of each key outlives the change.
-module(partisan_channel).

-export([setup/0]).
-export([find/1]).
-export([name/1]).
-export([is_monotonic/1]).
-export([is_acknowledged/1]).
-export([set_parallelism/2]).
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
    % The number of the first lane.
    first = 0 :: non_neg_integer(),
    % How many lanes there were at the start.
    streams :: pos_integer(),
    monotonic :: boolean(),
    acknowledged :: boolean(),
    queue_bytes :: pos_integer(),
    % Whether its lanes share that, or each has as much.
    shared :: boolean(),
    message_limit :: pos_integer(),
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

%% What a kernel holds of a monotonic channel, a newer message cannot replace: left to itself it
%% makes room for megabytes at either end, and who is behind reads the messages of minutes ago.
-define(MONOTONIC_KERNEL_BYTES, 32768).
%% What a lane may hold by default, however many there are.
-define(LANE_BYTES, 1048576).
%% Lanes are numbered with sixteen bits on the wire.
-define(LANES, 65536).
-define(DROP_REASONS, [
    busy,
    disconnected,
    hops_exceeded,
    no_process,
    no_route,
    superseded,
    too_large,
    unacknowledged,
    undecodable,
    unreachable,
    unknown_frame
]).
%% A quarter of a millisecond to ten seconds.
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
        "Messages written to, and read from, sockets",
        Labels
    ),
    ok = partisan_metrics:new(
        counter, partisan_channel_bytes_total, "Bytes of those messages, framing included", Labels
    ),
    ok = partisan_metrics:new(
        counter,
        partisan_channel_dropped_messages_total,
        "Messages that were given up, by reason.",
        [channel, reason]
    ),
    ok = partisan_metrics:new(
        {histogram, ?BUCKETS},
        partisan_channel_send_seconds,
        "From the call to the socket, of the oldest message of each write.",
        [channel]
    ),
    lists:foreach(fun publish/1, partisan_config:get(channels)).

%% @doc The channel of this name; names on the wire are binaries.
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

%% @doc Are its messages sent again until they have arrived, unless their sender says otherwise?
-spec is_acknowledged(t()) -> boolean().
is_acknowledged(#channel{acknowledged = Acknowledged}) ->
    Acknowledged.

%% @doc Gives a channel another number of lanes, which all are new ones. `false' where it has that
%% many already. The connections of the former lanes are not this module's business.
-spec set_parallelism(atom(), pos_integer()) -> boolean().
set_parallelism(Name, Parallelism) ->
    case find(Name) of
        {ok, #channel{parallelism = Parallelism}} ->
            false;
        {ok, #channel{parallelism = Former, first = First} = Channel} ->
            ok = put(Channel#channel{
                parallelism = Parallelism, first = first(First + Former, Parallelism)
            }),
            true
    end.

%% @doc The lane of a partition key. It depends on the configured parallelism alone, never on which
%% lanes are up, for otherwise messages of one key would overtake each other while lanes come up.
-spec lane(t(), PartitionKey :: term()) -> non_neg_integer().
lane(#channel{parallelism = 1, first = First}, _Key) ->
    First;
lane(#channel{parallelism = Parallelism, first = First}, {?MODULE, stream, Stream}) ->
    First + Stream rem Parallelism;
lane(#channel{parallelism = Parallelism, first = First}, Key) ->
    First + erlang:phash2(Key, Parallelism).

%% @doc Is this the number of a lane of today? Those of before a change are not.
-spec has_lane(t(), non_neg_integer()) -> boolean().
has_lane(#channel{parallelism = Parallelism, first = First}, Lane) ->
    Lane >= First andalso Lane < First + Parallelism.

%% @doc The acknowledged stream of a partition key: as many as there were lanes at the start. It
%% stays the same whatever becomes of the lanes, for streams do not wait for one another.
-spec stream(t(), PartitionKey :: term()) -> non_neg_integer().
stream(#channel{streams = Streams}, Key) ->
    erlang:phash2(Key, Streams).

%% @doc The partition key that means the lane of a stream.
-spec lane_key(Stream :: non_neg_integer()) -> term().
lane_key(Stream) ->
    {?MODULE, stream, Stream}.

%% @doc How many bytes may wait in one lane of this channel. Many lanes share the default: what
%% waits in them would not stay in the processor's cache, and sixteen would be slower than one.
-spec queue_limit(t()) -> pos_integer().
queue_limit(#channel{shared = false, queue_bytes = Bytes}) ->
    Bytes;
queue_limit(#channel{shared = true, queue_bytes = Bytes, parallelism = Parallelism}) ->
    max(Bytes div Parallelism, min(Bytes, ?LANE_BYTES)).

%% @doc How many bytes of an acknowledged stream of this channel may be under way.
-spec unacknowledged_limit(t()) -> pos_integer().
unacknowledged_limit(#channel{queue_bytes = Bytes}) ->
    max(1, Bytes div 2).

%% @doc How large a message may be.
-spec message_limit(t()) -> pos_integer().
message_limit(#channel{message_limit = Limit}) ->
    Limit.

%% @doc How many bytes of a lane the kernel may hold at either end; `none': as many as it likes.
-spec kernel_limit(t()) -> pos_integer() | none.
kernel_limit(#channel{monotonic = true}) -> ?MONOTONIC_KERNEL_BYTES;
kernel_limit(#channel{monotonic = false}) -> none.

%% @doc Counts messages that a socket has accepted.
-spec sent(t(), Messages :: non_neg_integer(), Bytes :: non_neg_integer()) -> ok.
sent(#channel{sent_messages = MessagesSent, sent_bytes = BytesSent}, Messages, Bytes) ->
    ok = partisan_metrics:add(MessagesSent, Messages),
    partisan_metrics:add(BytesSent, Bytes).

%% @doc Counts a message that was read.
-spec received(t(), Bytes :: non_neg_integer()) -> ok.
received(#channel{received_messages = Messages, received_bytes = BytesReceived}, Bytes) ->
    ok = partisan_metrics:add(Messages, 1),
    partisan_metrics:add(BytesReceived, Bytes).

%% @doc Observes how long a message was under way to its socket.
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

%% @doc What the counters of a channel have reached.
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
    Series = fun(Metric, Labels) -> partisan_metrics:series(Metric, [Name | Labels]) end,
    put(#channel{
        name = Name,
        parallelism = Parallelism,
        streams = Parallelism,
        monotonic = Monotonic,
        acknowledged = Acknowledged,
        queue_bytes = maps:get(queue_bytes, Configured, partisan_config:get(lane_queue_bytes)),
        shared = not is_map_key(queue_bytes, Configured),
        message_limit = partisan_config:get(message_bytes),
        sent_messages = Series(partisan_channel_messages_total, [sent]),
        sent_bytes = Series(partisan_channel_bytes_total, [sent]),
        received_messages = Series(partisan_channel_messages_total, [received]),
        received_bytes = Series(partisan_channel_bytes_total, [received]),
        send_seconds = Series(partisan_channel_send_seconds, []),
        % All of them from the start: a rate needs the zero before the first message.
        dropped = maps:from_list([
            {Reason, Series(partisan_channel_dropped_messages_total, [Reason])}
         || Reason <- ?DROP_REASONS
        ])
    }).

put(#channel{name = Name} = Channel) ->
    ok = persistent_term:put({?MODULE, Name}, Channel),
    persistent_term:put({?MODULE, atom_to_binary(Name)}, Channel).

%% Numbers come round when all have been used, which nobody remembers by then.
first(Next, Parallelism) when Next + Parallelism =< ?LANES -> Next;
first(_Next, _Parallelism) -> 0.

%%% @doc The send path: from the call to the lane's mailbox, in the caller's process.
%%%
%%% One ETS lookup finds the lane of `{node, channel, index}'; the caller encodes its message and
%%% leaves it there. Only the first message on a lane asks the manager, which starts it: lanes are
%%% opened on first use.
-module(partisan_transport).

-export([init/0]).
-export([send/5]).
-export([transmit/5]).
-export([send_frame/4]).
-export([partition_key/1]).
-export([version/1]).
%% For the manager, the only writer of the table.
-export([add_lane/2]).
-export([remove_lane/2]).
-export([remove_lanes/0]).
%% For metrics.
-export([queue_bytes/0]).
-export([queue_limit/0]).
-export([connections/0]).
-export([connected/0]).
-export([lanes/0]).
-export([channels/0]).

-define(LANES, partisan_lanes).

-type key() :: {partisan_peer:name(), Channel :: atom(), Lane :: non_neg_integer()}.
-type options() :: #{
    channel => atom(),
    % Messages of one key stay in order on one lane; the sender's pid by default.
    partition_key => term(),
    % If the lane is full: wait for room (default), return `{error, busy}', or drop.
    on_busy => block | error | drop,
    % Milliseconds to wait for room; for ever by default.
    timeout => timeout(),
    % Nodes that may forward a message to one that is no neighbour; 0: neighbours only.
    ttl => non_neg_integer(),
    % Whether to wait until a route to such a node has been found (default).
    await_route => boolean(),
    % Wait until the receiver has the message (true), or get `{acknowledged, Tag, Outcome}'. By
    % default the channel decides whether messages are retransmitted until they arrive.
    ack => boolean() | {notify, Tag :: term()},
    % Deliver after every message of this label that happened before it. Implies `ack'.
    causal => Label :: term()
}.
-type send_error() ::
    busy
    | timeout
    | not_connected
    | no_route
    | {unknown_channel, term()}
    | {too_large, Bytes :: pos_integer()}.
-type channel_stats() :: #{
    sent_messages := non_neg_integer(),
    sent_bytes := non_neg_integer(),
    received_messages := non_neg_integer(),
    received_bytes := non_neg_integer(),
    dropped := non_neg_integer(),
    queue_bytes := non_neg_integer(),
    connections := non_neg_integer()
}.

-export_type([key/0, options/0, send_error/0, channel_stats/0]).

%% @doc Creates the table of lanes, owned by the caller, and registers the metrics.
-spec init() -> ok.
init() ->
    ?LANES = ets:new(?LANES, [named_table, public, set, {read_concurrency, true}]),
    ok = partisan_channel:setup(),
    ok = partisan_refusals:init(),
    ok = partisan_tcp:init(),
    ok = partisan_metrics:new_function(
        gauge,
        partisan_tls_certificate_expiration_timestamp_seconds,
        "Expiry of this node's TLS certificate, in seconds since 1970.",
        [],
        {partisan_tls, expiration}
    ),
    ok = partisan_metrics:new_function(
        gauge,
        partisan_channel_queue_bytes,
        "Bytes queued in the lanes of a channel.",
        [channel],
        {?MODULE, queue_bytes}
    ),
    ok = partisan_metrics:new_function(
        gauge,
        partisan_lane_queue_limit_bytes,
        "Bytes that may be queued in one lane of a channel before senders block.",
        [channel],
        {?MODULE, queue_limit}
    ),
    partisan_metrics:new_function(
        gauge,
        partisan_channel_connections,
        "Established outgoing connections.",
        [channel],
        {?MODULE, connections}
    ).

%% @doc Sends a message to a process on another node. `ok': it is queued.
-spec send(
    partisan_peer:name(),
    partisan_ref:destination(),
    Message :: term(),
    partisan_channel:t(),
    options()
) -> ok | {error, send_error()}.
send(Node, Destination, Message, Channel, Options) ->
    case partisan_channel:is_interposed(Channel) of
        false ->
            transmit(Node, Destination, Message, Channel, Options);
        true ->
            % Another process may send it later.
            Keyed = Options#{partition_key => partition_key(Options)},
            Transmit = fun(M) -> transmit(Node, Destination, M, Channel, Keyed) end,
            partisan_injection:send(Node, Destination, Message, Channel, Transmit)
    end.

%% @doc As `send/5', below the injection of faults.
-spec transmit(
    partisan_peer:name(),
    partisan_ref:destination(),
    Message :: term(),
    partisan_channel:t(),
    options()
) -> ok | {error, send_error()}.
transmit(Node, Destination, Message, Channel, Options) ->
    {Bytes, _} = Frame = partisan_frame:message(Destination, Message),
    case Bytes > partisan_channel:message_limit(Channel) of
        true ->
            {error, {too_large, Bytes}};
        false ->
            Key = partition_key(Options),
            Keyed = Options#{partition_key => Key, slot => {Destination, Key}},
            case is_parked(Node, Options) orelse send_frame(Node, Frame, Channel, Keyed) of
                true ->
                    partisan_relay:send(Node, {Destination, Message}, Channel, Options);
                {error, not_connected} when map_get(ttl, Options) =:= 0 ->
                    {error, not_connected};
                {error, not_connected} ->
                    partisan_relay:send(Node, {Destination, Message}, Channel, Options);
                Result ->
                    Result
            end
    end.

%% Whether it must not overtake messages that wait for a route; others are for neighbours only, are
%% those messages, or need no order.
is_parked(Node, Options) -> partisan_parked:is_any() andalso is_parked_behind(Node, Options).

is_parked_behind(_Node, #{ttl := 0}) -> false;
is_parked_behind(_Node, #{await_route := false}) -> false;
is_parked_behind(Node, _Options) -> partisan_parked:is_parked(Node).

%% @doc Queues a frame to a neighbour, in the lane of its partition key. `slot' identifies what a
%% newer frame replaces on a monotonic channel.
-spec send_frame(partisan_peer:name(), partisan_frame:t(), partisan_channel:t(), #{
    partition_key := term(), slot := term(), _ => _
}) -> ok | {error, send_error()}.
send_frame(Neighbour, Frame, Channel, #{partition_key := PartitionKey, slot := Slot} = Options) ->
    Name = partisan_channel:name(Channel),
    Item = #{
        frame => Frame,
        slot => Slot,
        on_busy => maps:get(on_busy, Options, block),
        timeout => maps:get(timeout, Options, infinity)
    },
    case lane({Neighbour, Name, partisan_channel:lane(Channel, PartitionKey)}, Channel, Item) of
        {ok, Lane} ->
            case partisan_lane:send(Lane, Channel, Item) of
                {error, closed} -> send_anew(Neighbour, Frame, Name, Options);
                Result -> Result
            end;
        {error, moved} ->
            send_anew(Neighbour, Frame, Name, Options);
        Result ->
            Result
    end.

%% @doc The key that keeps messages in order: the given one, or the sender.
-spec partition_key(options()) -> term().
partition_key(#{partition_key := Given}) -> Given;
partition_key(#{}) -> self().

%% @doc The wire format version agreed with a neighbour. `unknown': not connected yet.
-spec version(partisan_peer:name()) -> partisan_version:t() | unknown.
version(Neighbour) ->
    case ets:lookup(?LANES, {Neighbour, overlay, 0}) of
        [{_, Link}] -> partisan_lane:version(Link);
        [] -> unknown
    end.

%% @doc Makes a lane known to senders.
-spec add_lane(key(), partisan_lane:t()) -> ok.
add_lane(Key, Lane) ->
    true = ets:insert(?LANES, {Key, Lane}),
    ok.

%% @doc Hides a lane from senders, unless it already has a successor.
-spec remove_lane(key(), partisan_lane:t()) -> ok.
remove_lane(Key, Lane) ->
    true = ets:delete_object(?LANES, {Key, Lane}),
    ok.

%% @doc Hides all lanes, those of a dead manager.
-spec remove_lanes() -> ok.
remove_lanes() ->
    true = ets:delete_all_objects(?LANES),
    ok.

%% @doc Samples: bytes queued per channel.
-spec queue_bytes() -> [{[atom()], non_neg_integer()}].
queue_bytes() ->
    sum_by_channel(fun(Lane) -> partisan_queue:bytes(partisan_lane:queue(Lane)) end).

%% @doc Samples: queue limit of a lane per channel, in bytes.
-spec queue_limit() -> [{[atom()], pos_integer()}].
queue_limit() ->
    [
        {[Name], partisan_channel:queue_limit(Channel)}
     || #{name := Name} <- partisan_config:get(channels),
        {ok, Channel} <- [partisan_channel:find(Name)]
    ].

%% @doc Samples: connected lanes per channel.
-spec connections() -> [{[atom()], non_neg_integer()}].
connections() ->
    sum_by_channel(fun(Lane) ->
        case partisan_lane:is_connected(Lane) of
            true -> 1;
            false -> 0
        end
    end).

%% @doc The lanes with a connection.
-spec connected() -> [{Lane :: pid(), {partisan_peer:name(), Channel :: atom()}}].
connected() ->
    [
        {partisan_lane:pid(Lane), {Node, Name}}
     || {{Node, Name, _Index}, Lane} <- lanes(), partisan_lane:is_connected(Lane)
    ].

%% @doc The lanes that senders find.
-spec lanes() -> [{key(), partisan_lane:t()}].
lanes() ->
    ets:tab2list(?LANES).

%% @doc The counters of all channels, as totals since the start.
-spec channels() -> #{atom() => channel_stats()}.
channels() ->
    Queued = queue_bytes(),
    Connected = connections(),
    maps:from_list([
        {Name, (partisan_channel:totals(Name))#{
            queue_bytes => Bytes,
            connections => proplists:get_value([Name], Connected)
        }}
     || {[Name], Bytes} <- Queued
    ]).

%% Internals.

%% The lane was closed after its lookup, or the channel has other lanes now.
send_anew(Neighbour, Frame, ChannelName, Options) ->
    {ok, Channel} = partisan_channel:find(ChannelName),
    send_frame(Neighbour, Frame, Channel, Options).

%% A lane that must wait for another to end counts as full.
lane(Key, Channel, #{on_busy := OnBusy, timeout := Timeout}) ->
    case ets:lookup(?LANES, Key) of
        [{_, Lane}] -> {ok, Lane};
        [] when OnBusy =:= block -> partisan_manager:open_lane(Key, Timeout);
        [] -> not_now(OnBusy, Channel, partisan_manager:open_lane(Key, no_wait))
    end.

not_now(drop, Channel, {error, busy}) -> partisan_channel:dropped(Channel, busy);
not_now(_, _Channel, Answer) -> Answer.

sum_by_channel(Figure) ->
    Zero = maps:from_list([{Name, 0} || #{name := Name} <- partisan_config:get(channels)]),
    Sums = ets:foldl(
        fun({{_Node, Name, _Index}, Lane}, Acc) ->
            maps:update_with(Name, fun(Sum) -> Sum + Figure(Lane) end, Acc)
        end,
        Zero,
        ?LANES
    ),
    [{[Name], Sum} || {Name, Sum} <- lists:sort(maps:to_list(Sums))].

%%% @doc The send path: from the call to the lane's mailbox, in the caller's process.
%%%
%%% One ETS lookup finds the lane of `{node, channel, index}'; the caller encodes its message and
%%% leaves it there. Only the first message on a lane asks the manager, which starts it: lanes are
%%% opened on first use. While messages to a node are kept ({@link partisan_parked}), the entries of
%%% its lanes are marked, and a message that finds a marked one, or none, asks whether it must wait
%%% behind them: so it costs the others nothing.
-module(partisan_transport).

-export([init/0]).
-export([send/5]).
-export([transmit/5]).
-export([send_frame/4]).
-export([partition_key/1]).
-export([version/1]).
%% For the manager, the only writer of the table.
-export([add_lane/2]).
-export([mark_lanes/1]).
-export([remove_lane/2]).
-export([remove_lanes/0]).
%% For metrics.
-export([lanes/0]).

%% `{key(), partisan_lane:t()}', or `{key(), partisan_lane:t(), parked}' while messages are kept.
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
    causal => Label :: term(),
    % Of the runtime: goes ahead of messages kept for the node, being one of them or for another.
    ahead => true
}.
-type send_error() ::
    busy
    | timeout
    | not_connected
    | no_route
    | {unknown_channel, term()}
    | {too_large, Bytes :: pos_integer()}.

-export_type([key/0, options/0, send_error/0]).

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
    partisan_channel_stats:init().

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
            case send_frame(Node, Frame, Channel, Keyed) of
                {error, parked} ->
                    partisan_relay:park(Node, {Destination, Message}, Channel, Keyed);
                {error, not_connected} when map_get(ttl, Options) =:= 0 ->
                    {error, not_connected};
                {error, not_connected} ->
                    partisan_relay:send(Node, {Destination, Message}, Channel, Options);
                Result ->
                    Result
            end
    end.

%% @doc Queues a frame to a neighbour, in the lane of its partition key. `slot' identifies what a
%% newer frame replaces on a monotonic channel. `parked': it would overtake messages that are kept
%% for this neighbour.
-spec send_frame(partisan_peer:name(), partisan_frame:t(), partisan_channel:t(), #{
    partition_key := term(), slot := term(), _ => _
}) -> ok | {error, send_error() | parked}.
send_frame(Neighbour, Frame, Channel, #{partition_key := PartitionKey} = Options) ->
    Key = {Neighbour, partisan_channel:name(Channel), partisan_channel:lane(Channel, PartitionKey)},
    case ets:lookup(?LANES, Key) of
        [{_, Lane}] ->
            send_on(Lane, Neighbour, Frame, Channel, Options);
        MarkedOrNone ->
            case lane(MarkedOrNone, Key, Channel, Options) of
                {ok, Lane} -> send_on(Lane, Neighbour, Frame, Channel, Options);
                {error, moved} -> send_anew(Neighbour, Frame, Channel, Options);
                Result -> Result
            end
    end.

%% @doc The key that keeps messages in order: the given one, or the sender.
-spec partition_key(options()) -> term().
partition_key(#{partition_key := Given}) -> Given;
partition_key(#{}) -> self().

%% @doc The wire format version agreed with a neighbour. `unknown': not connected yet.
-spec version(partisan_peer:name()) -> partisan_version:t() | unknown.
version(Neighbour) ->
    case ets:lookup(?LANES, {Neighbour, overlay, 0}) of
        [Entry] -> partisan_lane:version(element(2, Entry));
        [] -> unknown
    end.

%% @doc Makes a lane known to senders.
-spec add_lane(key(), partisan_lane:t()) -> ok.
add_lane({Node, _, _} = Key, Lane) ->
    true = ets:insert(
        ?LANES,
        case partisan_parked:is_parked(Node) of
            true -> {Key, Lane, parked};
            false -> {Key, Lane}
        end
    ),
    ok.

%% @doc Marks the lanes of a node, or removes the marks, as messages to it are kept or not.
-spec mark_lanes(partisan_peer:name()) -> ok.
mark_lanes(Node) ->
    lists:foreach(
        fun({{N, _, _} = Key, Lane}) -> N =/= Node orelse add_lane(Key, Lane) end, lanes()
    ).

%% @doc Hides a lane from senders, unless it already has a successor.
-spec remove_lane(key(), partisan_lane:t()) -> ok.
remove_lane(Key, Lane) ->
    true = ets:delete_object(?LANES, {Key, Lane}),
    true = ets:delete_object(?LANES, {Key, Lane, parked}),
    ok.

%% @doc Hides all lanes, those of a dead manager.
-spec remove_lanes() -> ok.
remove_lanes() ->
    true = ets:delete_all_objects(?LANES),
    ok.

%% @doc The lanes that senders find.
-spec lanes() -> [{key(), partisan_lane:t()}].
lanes() ->
    [{element(1, Entry), element(2, Entry)} || Entry <- ets:tab2list(?LANES)].

%% Internals.

send_on(Lane, Neighbour, Frame, Channel, #{slot := Slot} = Options) ->
    Item = #{
        frame => Frame,
        slot => Slot,
        on_busy => maps:get(on_busy, Options, block),
        timeout => maps:get(timeout, Options, infinity)
    },
    case partisan_lane:send(Lane, Channel, Item) of
        {error, closed} -> send_anew(Neighbour, Frame, Channel, Options);
        Result -> Result
    end.

%% The lane was closed after its lookup, or the channel has other lanes now.
send_anew(Neighbour, Frame, Previous, Options) ->
    {ok, Channel} = partisan_channel:find(partisan_channel:name(Previous)),
    send_frame(Neighbour, Frame, Channel, Options).

%% The mark says to look: it is removed a moment after the last message that was kept has been sent.
lane(MarkedOrNone, {Node, _, _} = Key, Channel, Options) ->
    case {MarkedOrNone, is_behind(Node, Options)} of
        {[{_, _Lane, parked}], true} -> {error, parked};
        {[{_, Lane, parked}], false} -> {ok, Lane};
        {[], true} -> {error, parked_or_none(Node)};
        {[], false} -> open(Key, Channel, Options)
    end.

is_behind(_Node, #{ahead := true}) -> false;
is_behind(Node, _Options) -> partisan_parked:is_parked(Node).

parked_or_none(Node) ->
    case lists:member(Node, partisan_view:neighbours()) of
        true -> parked;
        false -> not_connected
    end.

%% A lane that must wait for another to end counts as full.
open(Key, Channel, Options) ->
    case maps:get(on_busy, Options, block) of
        block -> partisan_manager:open_lane(Key, maps:get(timeout, Options, infinity));
        OnBusy -> not_now(OnBusy, Channel, partisan_manager:open_lane(Key, no_wait))
    end.

not_now(drop, Channel, {error, busy}) -> partisan_channel:dropped(Channel, busy);
not_now(_, _Channel, Answer) -> Answer.

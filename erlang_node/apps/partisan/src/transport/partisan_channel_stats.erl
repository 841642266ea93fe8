%%% @doc The figures of channels: samples for the metrics, and totals.
-module(partisan_channel_stats).

-export([init/0]).
-export([channels/0]).
-export([connected/0]).
%% For metrics.
-export([queue_bytes/0]).
-export([queue_limit/0]).
-export([connections/0]).

-type t() :: #{
    sent_messages := non_neg_integer(),
    sent_bytes := non_neg_integer(),
    received_messages := non_neg_integer(),
    received_bytes := non_neg_integer(),
    dropped := non_neg_integer(),
    queue_bytes := non_neg_integer(),
    connections := non_neg_integer()
}.

-export_type([t/0]).

%% @doc Registers the metrics.
-spec init() -> ok.
init() ->
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
     || {{Node, Name, _Index}, Lane} <- partisan_transport:lanes(), partisan_lane:is_connected(Lane)
    ].

%% @doc The counters of all channels, as totals since the start.
-spec channels() -> #{atom() => t()}.
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

sum_by_channel(Figure) ->
    Zero = maps:from_list([{Name, 0} || #{name := Name} <- partisan_config:get(channels)]),
    Sums = lists:foldl(
        fun({{_Node, Name, _Index}, Lane}, Acc) ->
            maps:update_with(Name, fun(Sum) -> Sum + Figure(Lane) end, Acc)
        end,
        Zero,
        partisan_transport:lanes()
    ),
    [{[Name], Sum} || {Name, Sum} <- lists:sort(maps:to_list(Sums))].

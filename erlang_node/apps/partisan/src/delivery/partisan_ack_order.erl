%%% @doc Partition keys with acknowledged messages in flight.
%%%
%%% An unacknowledged message goes straight to its lane. It would overtake an acknowledged one of
%%% the same key that waits for its stream to be opened, or at the receiver for a slow process. So
%%% while any is in flight ({@link partisan_ack_sender} counts), it takes the same stream. In the
%%% other direction no care is needed: both use the same lane.
-module(partisan_ack_order).

-export([init/0]).
-export([reset/0]).
-export([key/3]).
-export([is_under_way/1]).
%% For the sender of streams.
-export([begins/1]).
-export([ends/1]).

-define(TABLE, ?MODULE).

-opaque key() :: {partisan_peer:name(), Channel :: atom(), non_neg_integer()}.
-export_type([key/0]).

%% @doc Creates the table, owned by the caller.
-spec init() -> ok.
init() ->
    ?TABLE = ets:new(?TABLE, [named_table, public, set, {read_concurrency, true}]),
    persistent_term:put(?MODULE, counters:new(1, [])).

%% @doc Clears the table when the sender of streams starts.
-spec reset() -> ok.
reset() ->
    true = ets:delete_all_objects(?TABLE),
    counters:put(persistent_term:get(?MODULE), 1, 0).

%% @doc Compact form of a partition key of a channel to a peer; keys may collide.
-spec key(partisan_peer:name(), Channel :: atom(), PartitionKey :: term()) -> key().
key(Node, Channel, PartitionKey) ->
    {Node, Channel, erlang:phash2(PartitionKey)}.

%% @doc Whether acknowledged messages of this key are in flight.
-spec is_under_way(fun(() -> key())) -> boolean().
is_under_way(Key) ->
    % Mostly there are none at all.
    counters:get(persistent_term:get(?MODULE), 1) > 0 andalso ets:member(?TABLE, Key()).

%% @doc Records that an acknowledged message of this key is in flight.
-spec begins(key()) -> ok.
begins(Key) ->
    _ = ets:update_counter(?TABLE, Key, 1, {Key, 0}),
    counters:add(persistent_term:get(?MODULE), 1, 1).

%% @doc Records that one of them is no longer in flight.
-spec ends(key()) -> ok.
ends(Key) ->
    case ets:update_counter(?TABLE, Key, -1) of
        0 -> true = ets:delete(?TABLE, Key);
        _ -> true
    end,
    counters:sub(persistent_term:get(?MODULE), 1, 1).

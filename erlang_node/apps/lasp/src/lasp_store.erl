%%% @doc The process that holds this node's replica: interprets a synchronisation protocol ({@link
%%% lasp_sync}) on the overlay's neighbours and Partisan's channels.
%%%
%%% One process, because a replica has one writer at a time: updates, merges and pushes must not
%%% overtake each other. Messages of which only the newest counts use the propagation channel, which
%%% may replace them by a newer one; the others use the default channel. Only those of a handover
%%% wait for room in a full lane. The protocol repairs losses.
%%%
%%% Readers pass a function and get its result, so that the answer is copied and not the replica.
%%% The replica of a node ends with this process, so no argument of a caller may end it. A
%%% subscriber gets `{lasp_store, changed}' when the replica has grown, and not again before it has
%%% read: its mailbox holds at most one.
-module(lasp_store).
-behaviour(gen_server).

%% API.
-export([start_link/1]).
-export([update/1]).
-export([restore/1]).
-export([read/1]).
-export([agreed/0]).
-export([subscribe/0]).
-export([handover/1]).
-export([sent_payload/0]).
%% gen_server.
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-include_lib("kernel/include/logger.hrl").

%% `protocol': a module of behaviour lasp_sync. `channel': the channel of propagation.
-type options() :: #{protocol := module(), channel := atom(), sync := lasp_sync:options()}.

-export_type([options/0]).

-record(store, {
    protocol :: module(),
    type :: lasp_lattice:type(),
    channel :: atom(),
    sync :: term(),
    % The monitor of the process that reports neighbours, and the neighbours reported.
    overlay :: undefined | reference(),
    neighbours = [] :: [lasp_sync:name()],
    timers = #{} :: #{term() => reference()},
    % Whether the subscriber has read since its last notification.
    subscribers = #{} :: #{pid() => read | notified},
    % The callers that wait for its end.
    handover = [] :: [gen_server:from()],
    % Whether states are skipped for newer ones. Disabled by `-lasp newest_only false' in the
    % experiment that measures its effect.
    newest_only :: boolean()
}).

%% How long a handover message may wait for room in a lane.
-define(SEND_TIMEOUT_MS, 1000).

%% The process behind partisan:subscribe/1; after a restart it knows no subscribers.
-define(OVERLAY, partisan_manager).
-define(RESUBSCRIBE_MS, 100).

%% API.

%% @doc Starts this node's store, registered under the module's name.
-spec start_link(options()) -> {ok, pid()} | {error, term()}.
start_link(Options) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Options, []).

%% @doc Merges a delta into the replica. Fails with `{invalid_value, Description}' for what is no
%% value of the replica's type.
-spec update(Delta :: term()) -> ok.
update(Delta) ->
    returned(call({update, Delta})).

%% @doc Merges the writes of nodes that have ended, such as those of a backup. Fails as `update/1'.
-spec restore(Value :: term()) -> ok.
restore(Value) ->
    returned(call({restore, Value})).

%% @doc Applies a function to the replica, inside the store: it should be quick. Its exceptions are
%% raised in the caller.
-spec read(fun((Value :: term()) -> Result)) -> Result.
read(Fun) ->
    returned(call({read, Fun})).

%% @doc Whether every neighbour last reported a replica equal to the present one.
-spec agreed() -> boolean().
agreed() ->
    call(agreed).

%% @doc Subscribes to changes; the store forgets subscribers that die.
-spec subscribe() -> ok.
subscribe() ->
    call({subscribe, self()}).

%% @doc Hands over before leaving: returns the neighbours that hold everything this replica holds,
%% none if there is no neighbour; `{error, timeout}' if one has not confirmed within that many
%% milliseconds.
-spec handover(timeout()) -> {ok, [lasp_sync:name()]} | {error, timeout}.
handover(Timeout) ->
    try
        gen_server:call(?MODULE, handover, Timeout)
    catch
        exit:{timeout, _} -> {error, timeout}
    end.

%% @doc Bytes of CRDT values sent to neighbours so far: encoded values without framing, as counted
%% in the published experiment.
-spec sent_payload() -> non_neg_integer().
sent_payload() ->
    lists:sum([
        partisan_metrics:value(lasp_sync_bytes_total, [Kind, sent])
     || Kind <- lasp_sync:payloads()
    ]).

%% gen_server.

%% @private
-spec init(options()) -> {ok, #store{}}.
init(#{protocol := Protocol, channel := Channel, sync := #{type := Type} = Options}) ->
    % A thousand states may wait here; garbage collections must not go through them.
    process_flag(message_queue_data, off_heap),
    Labels = [kind, direction],
    ok = partisan_metrics:new(
        counter, lasp_sync_bytes_total, "Payload bytes of CRDT synchronisation.", Labels
    ),
    ok = partisan_metrics:new(
        counter, lasp_sync_messages_total, "Messages of CRDT synchronisation.", Labels
    ),
    {Sync, Effects} = Protocol:init(Options),
    Store = #store{
        protocol = Protocol,
        type = Type,
        channel = Channel,
        sync = Sync,
        newest_only = application:get_env(lasp, newest_only, true)
    },
    {ok, effects(Effects, subscribe_to_overlay(Store))}.

%% @private
-spec handle_call(term(), gen_server:from(), #store{}) ->
    {reply, term(), #store{}} | {noreply, #store{}}.
handle_call({Kind, Value}, _From, #store{type = Type} = Store) when
    Kind =:= update; Kind =:= restore
->
    % Any other would end this process, at once or when it is encoded, or stay unknown to others.
    case lasp_lattice:is_value(Type, Value) of
        true -> {reply, {ok, ok}, step({Kind, Value}, Store)};
        false -> {reply, {raised, error, {invalid_value, described(Type, Value)}, []}, Store}
    end;
handle_call({read, Fun}, {Pid, _}, #store{protocol = Protocol, sync = Sync} = Store) ->
    {reply, applied(Fun, Protocol:value(Sync)), has_read(Pid, Store)};
handle_call(agreed, _From, #store{protocol = Protocol, sync = Sync} = Store) ->
    {reply, Protocol:agreed(Sync), Store};
handle_call({subscribe, Pid}, _From, #store{subscribers = Subscribers} = Store) ->
    _ = monitor(process, Pid),
    {reply, ok, Store#store{subscribers = Subscribers#{Pid => read}}};
handle_call(handover, From, #store{handover = Waiting} = Store) ->
    {noreply, step(handover, Store#store{handover = [From | Waiting]})};
handle_call(Unknown, _From, Store) ->
    {reply, partisan_stray:call(Unknown), Store}.

%% @private
-spec handle_cast(term(), #store{}) -> {noreply, #store{}}.
handle_cast(Unknown, Store) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, Store}.

%% @private
-spec handle_info(term(), #store{}) -> {noreply, #store{}}.
handle_info({lasp_sync, From, {state, _, _} = Message}, #store{newest_only = true} = Store) when
    is_binary(From)
->
    {noreply, step({message, From, newest(From, Message)}, Store)};
handle_info({lasp_sync, From, Message}, Store) when is_binary(From) ->
    {noreply, step({message, From, Message}, Store)};
handle_info({timeout, Ref, Name}, #store{timers = Timers} = Store) ->
    case maps:take(Name, Timers) of
        {Ref, Rest} -> {noreply, step({timer, Name}, Store#store{timers = Rest})};
        _ -> {noreply, Store}
    end;
handle_info({partisan, {neighbour_up, Name}}, #store{neighbours = Names} = Store) when
    is_binary(Name)
->
    {noreply, step({neighbour_up, Name}, Store#store{neighbours = lists:usort([Name | Names])})};
handle_info({partisan, {neighbour_down, Name}}, Store) when is_binary(Name) ->
    {noreply, neighbour_down(Name, Store)};
handle_info({'DOWN', Ref, process, _, _}, #store{overlay = Ref, neighbours = Names} = Store) ->
    _ = erlang:send_after(?RESUBSCRIBE_MS, self(), subscribe_to_overlay),
    {noreply, lists:foldl(fun neighbour_down/2, Store, Names)};
handle_info(subscribe_to_overlay, Store) ->
    {noreply, subscribe_to_overlay(Store)};
handle_info({'DOWN', _, process, Pid, _}, #store{subscribers = Subscribers} = Store) ->
    {noreply, Store#store{subscribers = maps:remove(Pid, Subscribers)}};
handle_info({partisan, dissolved}, Store) ->
    {noreply, Store};
handle_info(Unknown, Store) ->
    ok = partisan_stray:message(Unknown),
    {noreply, Store}.

%% Internals.

described(Type, Value) ->
    lists:flatten(
        io_lib:format("~0tP is no value of ~tp; give what its functions return", [Value, 12, Type])
    ).

applied(Fun, Value) ->
    try
        {ok, Fun(Value)}
    catch
        Class:Reason:Stack -> {raised, Class, Reason, Stack}
    end.

subscribe_to_overlay(Store) ->
    Ref = monitor(process, ?OVERLAY),
    try
        ok = partisan:subscribe(self())
    catch
        % It is down: the monitor reports it and leads here again.
        exit:_ -> ok
    end,
    Store#store{overlay = Ref}.

neighbour_down(Name, #store{neighbours = Names} = Store) ->
    step({neighbour_down, Name}, Store#store{neighbours = lists:delete(Name, Names)}).

step(Event, #store{protocol = Protocol, sync = Sync} = Store) ->
    {Next, Effects} = Protocol:handle(Event, Sync),
    effects(Effects, Store#store{sync = Next}).

%% Of a neighbour's waiting states only the last one matters: a slow store, such as that of a server
%% with many clients, need not merge the others. Only a full mailbox takes long to search, and that
%% takes less time than decoding one state.
newest(From, Message) ->
    receive
        {lasp_sync, From, {state, _, _} = Newer} -> newest(From, Newer)
    after 0 -> Message
    end.

effects(Effects, Store) ->
    lists:foldl(fun effect/2, Store, Effects).

effect({send, Name, Class, Message}, Store) ->
    Envelope = {lasp_sync, partisan:node(), Message},
    case partisan:forward(Name, ?MODULE, Envelope, via(Class, Store)) of
        ok -> ok;
        % The transport counts what it drops, and the protocol sends again.
        {error, Reason} -> ?LOG_DEBUG(#{event => sync_not_sent, to => Name, reason => Reason})
    end,
    Store;
effect({start_timer, Name, Milliseconds}, #store{timers = Timers} = Store) ->
    _ = [erlang:cancel_timer(Ref) || {ok, Ref} <- [maps:find(Name, Timers)]],
    Ref = erlang:start_timer(Milliseconds, self(), Name),
    Store#store{timers = Timers#{Name => Ref}};
effect(changed, #store{subscribers = Subscribers} = Store) ->
    _ = [Pid ! {?MODULE, changed} || {Pid, read} <- maps:to_list(Subscribers)],
    Store#store{subscribers = maps:map(fun(_, _) -> notified end, Subscribers)};
effect({count, Kind, Direction, Bytes}, Store) ->
    ok = partisan_metrics:inc(lasp_sync_bytes_total, [Kind, Direction], Bytes),
    ok = partisan_metrics:inc(lasp_sync_messages_total, [Kind, Direction]),
    Store;
effect({handed_over, Names}, #store{handover = Waiting} = Store) ->
    lists:foreach(fun(From) -> gen_server:reply(From, {ok, Names}) end, Waiting),
    Store#store{handover = []}.

returned({ok, Result}) -> Result;
returned({raised, Class, Reason, Stack}) -> erlang:raise(Class, Reason, Stack).

%% The store is local: it answers unless it is dead, and its readers must not crash because the
%% processors are overloaded.
call(Request) ->
    gen_server:call(?MODULE, Request, infinity).

%% To neighbours only: a previous one, whose loss the store does not know yet, is not worth a search
%% through the cluster. Never acknowledged, whatever the channel: the protocol repairs losses, by
%% then with something newer.
via(latest, #store{channel = Channel}) ->
    #{channel => Channel, on_busy => drop, ttl => 0, ack => false};
via(each, _Store) ->
    #{channel => default, on_busy => drop, ttl => 0, ack => false};
via(blocking, _Store) ->
    #{
        channel => default,
        on_busy => block,
        timeout => ?SEND_TIMEOUT_MS,
        ttl => 0,
        ack => false
    }.

has_read(Pid, #store{subscribers = Subscribers} = Store) ->
    case Subscribers of
        #{Pid := _} -> Store#store{subscribers = Subscribers#{Pid := read}};
        #{} -> Store
    end.

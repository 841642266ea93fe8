%%% @doc A lane as its senders see it: one connection's worth of a channel to one peer.
%%%
%%% A sender charges the lane's account ({@link partisan_queue}) and leaves its encoded message in
%%% the mailbox of the process that owns the connection ({@link partisan_outbound}): the mailbox is
%%% the queue, the account its bound.
%%%
%%% == Monotonic channels ==
%%% Their messages wait in a table of slots, one per destination process and partition key. A newer
%%% message takes the place of the one that still waits; the mailbox holds one token per full slot.
-module(partisan_lane).

-export([send/3]).
-export([close/1]).
-export([drain/1]).
-export([stop/1]).
-export([pid/1]).
-export([queue/1]).
-export([is_connected/1]).
-export([version/1]).
%% For the owner of the connection.
-export([new/1]).
-export([empty_slot/2]).
-export([connected/2]).
-export([disconnected/1]).

-record(lane, {
    pid :: pid(),
    queue :: partisan_queue:t(),
    slots :: none | ets:tid(),
    % The version of the connection, and the latest there was.
    state :: atomics:atomics_ref()
}).

-define(CONNECTED, 1).
-define(VERSION, 2).

-opaque t() :: #lane{}.
-type slot() :: term().
-type item() :: #{
    frame := partisan_frame:t(),
    % What a newer message on a monotonic channel replaces.
    slot := slot(),
    on_busy := block | error | drop,
    timeout := timeout()
}.
%% `closed': it ends as it was told, and its place is free for another; `not_connected': it died.
-type send_error() :: busy | timeout | closed | not_connected.

-export_type([t/0, slot/0, item/0, send_error/0]).

%% @doc Leaves a message in the lane. When the lane is full the caller waits for room, or gets
%% `{error, busy}', or the message is dropped and counted, as `on_busy' says.
-spec send(t(), partisan_channel:t(), item()) -> ok | {error, send_error()}.
send(#lane{slots = none, pid = Pid} = Lane, Channel, #{frame := Frame} = Item) ->
    case reserve(Lane, Channel, Item) of
        ok ->
            Pid ! {send, erlang:monotonic_time(), Frame},
            ok;
        dropped ->
            ok;
        Error ->
            Error
    end;
send(Lane, Channel, Item) ->
    try
        fill_slot(Lane, Channel, Item)
    catch
        % The table has gone with its lane.
        error:badarg -> {error, ended(Lane)}
    end.

%% @doc Takes nothing more, sends what is queued, then ends the lane: after a while even when the
%% peer does not read it.
-spec close(t()) -> ok.
close(Lane) ->
    close(Lane, close).

%% @doc As `close/1', but for a lane whose successors wait: it ends when the peer has read all.
-spec drain(t()) -> ok.
drain(Lane) ->
    close(Lane, drain).

close(#lane{pid = Pid, queue = Queue}, How) ->
    ok = partisan_queue:seal(Queue),
    Pid ! {close, How},
    ok.

%% @doc Ends the lane at once, with whatever it holds.
-spec stop(t()) -> ok.
stop(#lane{pid = Pid}) ->
    true = exit(Pid, shutdown),
    ok.

-spec pid(t()) -> pid().
pid(#lane{pid = Pid}) ->
    Pid.

-spec queue(t()) -> partisan_queue:t().
queue(#lane{queue = Queue}) ->
    Queue.

-spec is_connected(t()) -> boolean().
is_connected(#lane{state = State}) ->
    atomics:get(State, ?CONNECTED) =/= 0.

%% @doc The version of the wire format that the peer and this node agreed on; `unknown' until the
%% lane has been connected. It stays the same while the peer does.
-spec version(t()) -> partisan_version:t() | unknown.
version(#lane{state = State}) ->
    case atomics:get(State, ?VERSION) of
        0 -> unknown;
        Version -> Version
    end.

%% For the owner of the connection.

%% @doc A lane of this channel whose connection the caller is to own.
-spec new(partisan_channel:t()) -> t().
new(Channel) ->
    #lane{
        pid = self(),
        queue = partisan_queue:new(partisan_channel:queue_limit(Channel)),
        slots =
            case partisan_channel:is_monotonic(Channel) of
                true -> ets:new(partisan_slots, [public, set]);
                false -> none
            end,
        state = atomics:new(2, [])
    }.

%% @doc Takes the message out of a slot, for which there was a token; with when it was sent, and
%% what the account was charged for the slot.
-spec empty_slot(t(), slot()) ->
    {Since :: integer(), partisan_frame:t(), Charged :: pos_integer()}.
empty_slot(#lane{slots = Slots}, Slot) ->
    [{Slot, Since, Frame, Charged}] = ets:take(Slots, Slot),
    {Since, Frame, Charged}.

%% @doc The lane has a connection, of this version.
-spec connected(t(), partisan_version:t()) -> ok.
connected(#lane{state = State}, Version) ->
    ok = atomics:put(State, ?VERSION, Version),
    atomics:put(State, ?CONNECTED, Version).

-spec disconnected(t()) -> ok.
disconnected(#lane{state = State}) ->
    atomics:put(State, ?CONNECTED, 0).

%% Internals.

ended(#lane{queue = Queue}) ->
    case partisan_queue:is_sealed(Queue) of
        true -> closed;
        false -> not_connected
    end.

reserve(#lane{queue = Queue} = Lane, Channel, #{frame := {Bytes, _}} = Item) ->
    case partisan_queue:reserve(Queue, Bytes) of
        ok ->
            ok;
        sealed ->
            {error, closed};
        full ->
            case Item of
                #{on_busy := error} ->
                    {error, busy};
                #{on_busy := drop} ->
                    ok = partisan_channel:dropped(Channel, busy),
                    dropped;
                #{on_busy := block, timeout := Timeout} ->
                    await_room(Lane, Bytes, deadline(Timeout))
            end
    end.

%% The lane wakes whoever waits, and they try again: nothing is promised to one who may die.
await_room(#lane{pid = Pid, queue = Queue} = Lane, Bytes, Deadline) ->
    Alias = monitor(process, Pid, [{alias, reply_demonitor}]),
    Pid ! {await_room, Alias},
    receive
        {Alias, room} ->
            case partisan_queue:reserve(Queue, Bytes) of
                ok -> ok;
                sealed -> {error, closed};
                full -> await_room(Lane, Bytes, Deadline)
            end;
        {'DOWN', Alias, process, Pid, _} ->
            {error, ended(Lane)}
    after remaining(Deadline) ->
        true = demonitor(Alias, [flush]),
        receive
            {Alias, room} -> ok
        after 0 -> ok
        end,
        {error, timeout}
    end.

fill_slot(#lane{slots = Slots, pid = Pid} = Lane, Channel, Item) ->
    #{slot := Slot, frame := {Bytes, _} = Frame} = Item,
    Since = erlang:monotonic_time(),
    % The account stays charged for the first message of the slot, and is credited for it.
    case ets:update_element(Slots, Slot, [{2, Since}, {3, Frame}]) of
        true ->
            partisan_channel:dropped(Channel, superseded);
        false ->
            case reserve(Lane, Channel, Item) of
                ok ->
                    case ets:insert_new(Slots, {Slot, Since, Frame, Bytes}) of
                        true ->
                            Pid ! {slot, Slot},
                            ok;
                        false ->
                            % Another sender was faster: replace theirs.
                            ok = partisan_queue:release(Lane#lane.queue, 1, Bytes),
                            fill_slot(Lane, Channel, Item)
                    end;
                dropped ->
                    ok;
                Error ->
                    Error
            end
    end.

deadline(infinity) -> infinity;
deadline(Timeout) -> erlang:monotonic_time(millisecond) + Timeout.

remaining(infinity) -> infinity;
remaining(Deadline) -> max(0, Deadline - erlang:monotonic_time(millisecond)).

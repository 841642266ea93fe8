%%% @doc One outgoing connection to a peer: a channel's lane, and the process that owns its socket.
%%%
%%% Senders charge the lane's account ({@link partisan_queue}) and leave their encoded message in
%%% its mailbox; the lane takes all that waits, up to 64 KB, and writes it at once. The mailbox is
%%% the queue, so that what is queued survives a lost connection, in order. What was already written
%%% to a connection that broke may be lost: delivery is at most once.
%%%
%%% == Two roles ==
%%% The lane of the `overlay' channel stands for the peer itself. It proves with heartbeats that the
%%% peer is alive; when its connection is lost it dials once more, at once, which tells a broken
%%% connection from a dead peer: if that fails too, or somebody younger answers, it exits with
%%% `{shutdown, {down, Reason}}', and its owner takes the peer for lost. The other lanes only carry
%%% data: they dial again, with jittered and growing pauses, for as long as their owner lets them
%%% live.
%%%
%%% == Monotonic channels ==
%%% Their messages wait in a table of slots, one per destination process and partition key. A newer
%%% message takes the place of the one that still waits; the mailbox holds one token per full slot.
-module(partisan_lane).

-export([start_link/1]).
-export([send/3]).
-export([close/1]).
-export([pid/1]).
-export([queue/1]).
-export([is_connected/1]).

-export([init/2]).
-export([resume/1]).

-define(BATCH_BYTES, 65536).
%% Pauses between the dials of a data lane.
-define(BACKOFF_MIN, 50).
-define(BACKOFF_MAX, 5000).
%% How long a closed lane waits for the peer to have read everything.
-define(LINGER, 3000).
-define(HIBERNATE_AFTER, 1000).
%% Longer than a living sender takes from charging its message to sending it.
-define(SETTLE_AFTER, 30000).

-record(handle, {
    pid :: pid(),
    queue :: partisan_queue:t(),
    slots :: none | ets:tid(),
    connected :: atomics:atomics_ref()
}).
%% What a sender needs to know of a lane.
-opaque handle() :: #handle{}.

-type options() :: #{
    peer := partisan_peer:t(),
    channel := partisan_channel:t(),
    index := non_neg_integer()
}.
-type item() :: #{
    frame := partisan_frame:t(),
    % What a newer message on a monotonic channel replaces.
    slot := {Destination :: atom(), PartitionKey :: term()},
    on_busy := block | error | drop,
    timeout := timeout()
}.
-type send_error() :: busy | timeout | not_connected.

-export_type([handle/0, options/0, item/0, send_error/0]).

-record(lane, {
    role :: overlay | data,
    owner :: pid(),
    peer :: partisan_peer:t(),
    channel :: partisan_channel:t(),
    index :: non_neg_integer(),
    handle :: #handle{},
    socket = none :: none | gen_tcp:socket(),
    % What has been taken from the mailbox and not yet been written, newest first.
    batch = [] :: [iodata()],
    messages = 0 :: non_neg_integer(),
    bytes = 0 :: non_neg_integer(),
    % What its messages were charged for; a message that took another's slot has another size.
    charged = 0 :: non_neg_integer(),
    % When the first message of the batch was sent.
    since = 0 :: integer(),
    % Senders who wait for room.
    waiting = [] :: [reference()],
    % What the account held when the lane fell idle and has not moved since: charges of senders
    % who may have been killed before they sent.
    stale = none :: none | {reference(), partisan_queue:balance()},
    is_alive = true :: boolean()
}).

%% API.

%% @doc Starts a lane, which dials at once. Its owner, the caller, gets `{lane_up, Pid, Peer}' when
%% a lane of the overlay is connected for the first time.
-spec start_link(options()) -> handle().
start_link(Options) ->
    {ok, _Pid, Handle} = proc_lib:start_link(?MODULE, init, [self(), Options]),
    Handle.

%% @doc Leaves a message in the lane. When the lane is full the caller waits for room, or gets
%% `{error, busy}', or the message is dropped and counted, as `on_busy' says.
-spec send(handle(), partisan_channel:t(), item()) -> ok | {error, send_error()}.
send(#handle{slots = none, pid = Pid} = Handle, Channel, #{frame := Frame} = Item) ->
    case reserve(Handle, Channel, Item) of
        ok ->
            Pid ! {send, erlang:monotonic_time(), Frame},
            ok;
        dropped ->
            ok;
        Error ->
            Error
    end;
send(Handle, Channel, Item) ->
    try
        fill_slot(Handle, Channel, Item)
    catch
        % The table has gone with its lane.
        error:badarg -> {error, not_connected}
    end.

%% @doc Sends what is queued, then ends the lane.
-spec close(handle()) -> ok.
close(#handle{pid = Pid}) ->
    Pid ! close,
    ok.

-spec pid(handle()) -> pid().
pid(#handle{pid = Pid}) ->
    Pid.

-spec queue(handle()) -> partisan_queue:t().
queue(#handle{queue = Queue}) ->
    Queue.

-spec is_connected(handle()) -> boolean().
is_connected(#handle{connected = Connected}) ->
    atomics:get(Connected, 1) =:= 1.

%% Internals: the sender's side.

reserve(#handle{queue = Queue} = Handle, Channel, #{frame := {Bytes, _}} = Item) ->
    case partisan_queue:reserve(Queue, Bytes) of
        ok ->
            ok;
        full ->
            case Item of
                #{on_busy := error} ->
                    {error, busy};
                #{on_busy := drop} ->
                    ok = partisan_channel:dropped(Channel, busy),
                    dropped;
                #{on_busy := block, timeout := Timeout} ->
                    await_room(Handle, Bytes, deadline(Timeout))
            end
    end.

%% The lane wakes whoever waits, and they try again: nothing is promised to one who may die.
await_room(#handle{pid = Pid, queue = Queue} = Handle, Bytes, Deadline) ->
    Alias = monitor(process, Pid, [{alias, reply_demonitor}]),
    Pid ! {await_room, Alias},
    receive
        {Alias, room} ->
            case partisan_queue:reserve(Queue, Bytes) of
                ok -> ok;
                full -> await_room(Handle, Bytes, Deadline)
            end;
        {'DOWN', Alias, process, Pid, _} ->
            {error, not_connected}
    after remaining(Deadline) ->
        true = demonitor(Alias, [flush]),
        receive
            {Alias, room} -> ok
        after 0 -> ok
        end,
        {error, timeout}
    end.

fill_slot(#handle{slots = Slots, pid = Pid} = Handle, Channel, Item) ->
    #{slot := Slot, frame := {Bytes, _} = Frame} = Item,
    Since = erlang:monotonic_time(),
    % The account stays charged for the first message of the slot, and is credited for it.
    case ets:update_element(Slots, Slot, [{2, Since}, {3, Frame}]) of
        true ->
            partisan_channel:dropped(Channel, superseded);
        false ->
            case reserve(Handle, Channel, Item) of
                ok ->
                    case ets:insert_new(Slots, {Slot, Since, Frame, Bytes}) of
                        true ->
                            Pid ! {slot, Slot},
                            ok;
                        false ->
                            % Another sender was faster: replace theirs.
                            ok = partisan_queue:release(Handle#handle.queue, 1, Bytes),
                            fill_slot(Handle, Channel, Item)
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

%% Internals: connecting.

%% @private
-spec init(pid(), options()) -> no_return().
init(Owner, #{peer := Peer, channel := Channel, index := Index}) ->
    % Messages of others must not be copied whenever this heap is collected.
    process_flag(message_queue_data, off_heap),
    Handle = #handle{
        pid = self(),
        queue = partisan_queue:new(partisan_channel:queue_limit(Channel)),
        slots = slots(partisan_channel:is_monotonic(Channel)),
        connected = atomics:new(1, [])
    },
    proc_lib:init_ack(Owner, {ok, self(), Handle}),
    Role = role(partisan_channel:name(Channel)),
    Lane = #lane{
        role = Role,
        owner = Owner,
        peer = Peer,
        channel = Channel,
        index = Index,
        handle = Handle
    },
    loop(first_dial(Lane)).

role(overlay) -> overlay;
role(_) -> data.

slots(true) -> ets:new(partisan_slots, [public, set]);
slots(false) -> none.

first_dial(#lane{role = overlay, owner = Owner} = Lane) ->
    case dial(Lane) of
        {ok, Socket, Peer} ->
            Owner ! {lane_up, self(), Peer},
            _ = erlang:send_after(heartbeat_interval(), self(), heartbeat),
            connected(Socket, Lane#lane{peer = Peer});
        {error, Reason} ->
            down(Reason)
    end;
first_dial(#lane{role = data} = Lane) ->
    dial_data(Lane).

%% What a former connection lost is sent again, where it was to be acknowledged.
dial_data(#lane{peer = #{name := Name}, channel = Channel} = Lane) ->
    Connected = dial_on(Lane, ?BACKOFF_MIN),
    ok = partisan_acks:reconnected(Name, partisan_channel:name(Channel)),
    Connected.

dial(#lane{peer = Peer, channel = Channel, index = Index, role = Role}) ->
    Address = {partisan_channel:name(Channel), Index},
    partisan_dialler:dial(Peer, Address, send_timeout(Role)).

%% While a write blocks, the lane sees no heartbeat: the write must end by itself. Whether the peer
%% is alive is not for a data lane to judge: its receivers may just be slow.
send_timeout(overlay) -> 2 * heartbeat_interval();
send_timeout(data) -> infinity.

heartbeat_interval() ->
    partisan_config:get(heartbeat_interval).

connected(Socket, #lane{handle = #handle{connected = Connected}} = Lane) ->
    case inet:setopts(Socket, [{active, once}]) of
        ok ->
            atomics:put(Connected, 1, 1),
            Lane#lane{socket = Socket, is_alive = true};
        {error, Reason} ->
            lost(Reason, Lane#lane{socket = Socket})
    end.

lost(Reason, #lane{socket = Socket, handle = #handle{connected = Connected}} = Lane) ->
    % Without lingering: closing would otherwise wait for a frozen peer to read what it has not.
    _ = inet:setopts(Socket, [{linger, {true, 0}}]),
    ok = gen_tcp:close(Socket),
    atomics:put(Connected, 1, 0),
    dial_again(Reason, Lane#lane{socket = none}).

dial_again(_Reason, #lane{role = data} = Lane) ->
    dial_data(Lane);
dial_again(Reason, #lane{role = overlay, peer = #{incarnation := Incarnation}} = Lane) ->
    case dial(Lane) of
        {ok, Socket, #{incarnation := Incarnation}} -> connected(Socket, Lane);
        {ok, _Socket, _Younger} -> down(restarted);
        {error, _} -> down(Reason)
    end.

-spec down(term()) -> no_return().
down(Reason) ->
    exit({shutdown, {down, Reason}}).

dial_on(#lane{peer = #{incarnation := Incarnation}} = Lane, Backoff) ->
    case dial(Lane) of
        {ok, Socket, #{incarnation := Incarnation}} ->
            connected(Socket, Lane);
        {ok, Socket, _Younger} ->
            % The owner has not noticed yet; what waits here was not meant for this life of it.
            ok = gen_tcp:close(Socket),
            pause(Lane, Backoff);
        {error, _} ->
            pause(Lane, Backoff)
    end.

pause(Lane, Backoff) ->
    receive
        close -> exit(normal)
    after Backoff div 2 + rand:uniform(Backoff) ->
        dial_on(Lane, min(2 * Backoff, ?BACKOFF_MAX))
    end.

%% Internals: sending.

loop(#lane{bytes = Bytes} = Lane) when Bytes >= ?BATCH_BYTES ->
    loop(write(Lane));
loop(#lane{socket = Socket, bytes = Bytes} = Lane) ->
    receive
        {send, Since, {Charged, _} = Frame} ->
            loop(enqueue(Since, Charged, Frame, Lane));
        {slot, Slot} ->
            #lane{handle = #handle{slots = Slots}} = Lane,
            [{Slot, Since, Frame, Charged}] = ets:take(Slots, Slot),
            loop(enqueue(Since, Charged, Frame, Lane));
        {await_room, Alias} ->
            loop(wake(Lane#lane{waiting = [Alias | Lane#lane.waiting]}));
        heartbeat ->
            loop(heartbeat(Lane));
        {timeout, Timer, settle} when Timer =:= element(1, Lane#lane.stale) ->
            loop(settle(Lane));
        {timeout, _Disarmed, settle} ->
            loop(Lane);
        {tcp, Socket, _Pong} ->
            loop(connected(Socket, Lane));
        {tcp_closed, Socket} ->
            loop(lost(closed, Lane));
        {tcp_error, Socket, Reason} ->
            loop(lost(Reason, Lane));
        close ->
            finish(write(Lane));
        {Tag, _OldSocket} when Tag =:= tcp_closed ->
            loop(Lane);
        {Tag, _OldSocket, _} when Tag =:= tcp; Tag =:= tcp_error ->
            loop(Lane)
    after idle(Bytes) ->
        case Bytes of
            0 -> proc_lib:hibernate(?MODULE, resume, [suspect(Lane)]);
            _ -> loop(write(Lane))
        end
    end.

%% Nothing has been queued for a while. What the account still holds was charged by senders who
%% have not sent yet, or were killed before they could; time tells which.
suspect(#lane{handle = #handle{queue = Queue}, stale = none} = Lane) ->
    case partisan_queue:balance(Queue) of
        {0, 0} -> Lane;
        Balance -> Lane#lane{stale = {erlang:start_timer(?SETTLE_AFTER, self(), settle), Balance}}
    end;
suspect(Lane) ->
    Lane.

settle(#lane{handle = #handle{queue = Queue}, stale = {_, {Messages, Bytes} = Balance}} = Lane) ->
    case partisan_queue:balance(Queue) of
        Balance -> ok = partisan_queue:release(Queue, Messages, Bytes);
        _Moved -> ok
    end,
    wake(Lane#lane{stale = none}).

%% @private Woken from hibernation.
-spec resume(#lane{}) -> no_return().
resume(Lane) ->
    loop(Lane).

idle(0) -> ?HIBERNATE_AFTER;
idle(_Bytes) -> 0.

enqueue(Since, Charged, Frame, #lane{bytes = 0} = Lane) ->
    enqueue(Charged, Frame, Lane#lane{since = Since});
enqueue(_Since, Charged, Frame, Lane) ->
    enqueue(Charged, Frame, Lane).

%% A message that comes disarms the suspicion: the account is moving.
enqueue(Charged, Frame, #lane{stale = {Timer, _}} = Lane) ->
    _ = erlang:cancel_timer(Timer),
    enqueue(Charged, Frame, Lane#lane{stale = none});
enqueue(Charged, {Size, Frame}, #lane{stale = none} = Lane) ->
    #lane{batch = Batch, messages = Messages, bytes = Bytes, charged = AllCharged} = Lane,
    Lane#lane{
        batch = [Frame | Batch],
        messages = Messages + 1,
        bytes = Bytes + Size,
        charged = AllCharged + Charged
    }.

write(#lane{bytes = 0} = Lane) ->
    Lane;
write(#lane{socket = Socket, handle = #handle{queue = Queue}} = Lane) ->
    #lane{batch = Batch, messages = Messages, charged = Charged} = Lane,
    Result = gen_tcp:send(Socket, lists:reverse(Batch)),
    ok = partisan_queue:release(Queue, Messages, Charged),
    Written = wake(Lane#lane{batch = [], messages = 0, bytes = 0, charged = 0}),
    case Result of
        ok ->
            ok = count(Lane),
            Written;
        {error, Reason} ->
            % Nobody knows how much of it has arrived.
            ok = partisan_channel:dropped(Lane#lane.channel, disconnected, Messages),
            lost(Reason, Written)
    end.

count(#lane{channel = Channel, messages = Messages, bytes = Bytes, since = Since}) ->
    Waited = erlang:monotonic_time() - Since,
    ok = partisan_channel:sent(Channel, Messages, Bytes),
    partisan_channel:waited(Channel, erlang:convert_time_unit(Waited, native, nanosecond)).

wake(#lane{waiting = []} = Lane) ->
    Lane;
wake(#lane{waiting = Waiting, handle = #handle{queue = Queue}} = Lane) ->
    case partisan_queue:has_room(Queue) of
        true ->
            lists:foreach(fun(Alias) -> Alias ! {Alias, room} end, lists:reverse(Waiting)),
            Lane#lane{waiting = []};
        false ->
            Lane
    end.

heartbeat(#lane{is_alive = false} = Lane) ->
    heartbeat_later(lost(heartbeat, Lane));
heartbeat(#lane{socket = Socket} = Lane) ->
    {_Bytes, Ping} = partisan_frame:ping(),
    case gen_tcp:send(Socket, Ping) of
        ok -> heartbeat_later(Lane#lane{is_alive = false});
        {error, Reason} -> heartbeat_later(lost(Reason, Lane))
    end.

heartbeat_later(Lane) ->
    _ = erlang:send_after(heartbeat_interval(), self(), heartbeat),
    Lane.

%% Wait for the peer to close in turn: closing first, with an answer of theirs unread, would reset
%% the connection and destroy what they have not read yet.
-spec finish(#lane{}) -> no_return().
finish(#lane{socket = Socket}) ->
    _ = gen_tcp:shutdown(Socket, write),
    receive
        {tcp_closed, Socket} -> ok
    after ?LINGER -> ok
    end,
    exit(normal).

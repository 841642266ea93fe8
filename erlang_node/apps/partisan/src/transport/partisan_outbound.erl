%%% @doc The sending end of one connection: owns its socket and writes the contents of a lane.
%%%
%%% It takes the messages waiting in its mailbox ({@link partisan_lane}), writes many of them at
%%% once ({@link partisan_batch}) and credits the senders' account ({@link partisan_account}). While
%%% the port takes one write, it collects the next. Queued messages survive a lost connection, in
%%% order. Messages already written to it may be lost: delivery is at most once.
%%%
%%% == Two roles ==
%%% The lane of the `overlay' channel represents the peer itself and proves by heartbeats that the
%%% peer is alive. When its connection is lost it dials again at once, which distinguishes a broken
%%% connection from a dead peer: if the dial fails, or a newer incarnation answers, it exits with
%%% `{shutdown, {down, Reason}}', and its owner treats the peer as lost. The other lanes only carry
%%% data: they redial with jittered back-off until their owner ends them.
%%%
%%% Longer than 300 lines: one process, whose receive loops share their state.
-module(partisan_outbound).

-export([start_link/1]).
-export([init/2]).
-export([resume/1]).
%% For sys.
-export([system_continue/3]).
-export([system_terminate/4]).
-export([system_code_change/4]).
-export([system_get_state/1]).
-export([system_replace_state/2]).

%% Redials of a broken overlay lane, as long as the peer accepts them.
-define(REDIALS, 3).
%% Pauses between the dials of a data lane.
-define(BACKOFF_MIN, 50).
-define(BACKOFF_MAX, 5000).
%% How long a closed lane waits for the peer to read everything.
-define(LINGER, 3000).
%% A port writes on the time of the calling process, which is charged almost nothing for it: a lane
%% that writes megabytes would occupy a scheduler for milliseconds. The charge corresponds to the
%% copying time of a scheduler: a slice costs one turn.
-define(BYTES_A_REDUCTION, 64).
%% How long an ending lane waits for senders that have charged its account and not sent yet.
-define(STRAGGLERS, 1000).
%% How often an idle lane checks for room while senders wait: another sender's attempt may have
%% concealed it.
-define(RECHECK, 10).

-type options() :: #{
    peer := partisan_peer:t(),
    channel := partisan_channel:t(),
    index := non_neg_integer()
}.
-export_type([options/0]).

-record(outbound, {
    role :: overlay | data,
    owner :: pid(),
    peer :: partisan_peer:t(),
    channel :: partisan_channel:t(),
    index :: non_neg_integer(),
    account :: partisan_account:t(),
    socket = none :: none | partisan_socket:t(),
    % Taken from the mailbox, not yet given to the socket.
    batch = partisan_batch:new() :: partisan_batch:t(),
    % What the socket has been given, until it says that it is done.
    writing = none :: none | partisan_batch:write(),
    is_alive = true :: boolean(),
    doze = partisan_doze:new() :: partisan_doze:t(),
    % Ends once everything is sent that senders have been charged for.
    closing = no :: no | close | drain
}).

%% State across a system message.
-type at() :: {loop | linger, #outbound{}} | {pause, #outbound{}, Backoff :: pos_integer()}.

%% @doc Starts the process, which dials at once. Its owner, the caller, gets `{lane_up, Pid, Peer}'
%% when an overlay lane is connected for the first time.
-spec start_link(options()) -> partisan_lane:t().
start_link(Options) ->
    proc_lib:start_link(?MODULE, init, [self(), Options]).

%% @private
-spec init(pid(), options()) -> no_return().
init(Owner, #{peer := Peer, channel := Channel, index := Index}) ->
    % Other processes' messages must not be copied at every collection of this heap.
    process_flag(message_queue_data, off_heap),
    Lane = partisan_lane:new(Channel),
    proc_lib:init_ack(Owner, Lane),
    loop(
        first_dial(#outbound{
            role = role(partisan_channel:name(Channel)),
            owner = Owner,
            peer = Peer,
            channel = Channel,
            index = Index,
            account = partisan_account:new(Lane)
        })
    ).

%% Internals: connecting.

role(overlay) -> overlay;
role(_) -> data.

first_dial(#outbound{role = overlay, owner = Owner} = Outbound) ->
    case dial(Outbound) of
        {ok, Socket, Peer, Version} ->
            ok = lane_connected(Version, Outbound),
            Owner ! {lane_up, self(), Peer},
            awake(Socket, heartbeat_later(Outbound#outbound{peer = Peer}));
        {error, Reason} ->
            down(Reason)
    end;
first_dial(#outbound{role = data} = Outbound) ->
    dial_data(Outbound).

dial_data(Outbound) ->
    dial_data(Outbound, ?BACKOFF_MIN).

dial(#outbound{peer = Peer, channel = Channel, index = Index, role = Role}) ->
    partisan_dialler:dial(Peer, Channel, Index, send_timeout(Role)).

%% While a write blocks, the lane sees no heartbeat: the write must time out. A data lane's
%% receivers may just be slow: {@link partisan_liveness} ends its connection if it is dead.
send_timeout(overlay) -> 2 * partisan_heartbeat:interval();
send_timeout(data) -> infinity.

lane_connected(Version, #outbound{peer = #{name := Name}, channel = Channel} = Outbound) ->
    ok = partisan_lane:connected(lane(Outbound), Version),
    partisan_events_server:connected(Name, partisan_channel:name(Channel)).

connected(Socket, Version, Outbound) ->
    ok = lane_connected(Version, Outbound),
    awake(Socket, Outbound).

%% The peer is alive: wait for the next heartbeat.
awake(Socket, Outbound) ->
    case partisan_socket:setopts(Socket, [{active, once}]) of
        ok -> Outbound#outbound{socket = Socket, is_alive = true};
        {error, Reason} -> lost(Reason, Outbound#outbound{socket = Socket})
    end.

%% It is unknown how much of the current write has arrived.
lost(Reason, #outbound{writing = #{messages := Messages}} = Outbound) ->
    ok = partisan_lane:dropped(lane(Outbound), Outbound#outbound.channel, disconnected, Messages),
    lost(Reason, credit(Outbound));
lost(Reason, #outbound{socket = Socket, writing = none, batch = Batch} = Outbound) ->
    ok = partisan_socket:abort(Socket),
    ok = partisan_lane:disconnected(lane(Outbound)),
    ok = partisan_events_server:disconnected(),
    dial_again(Reason, Outbound#outbound{socket = none, batch = partisan_batch:rewind(Batch)}).

dial_again(_Reason, #outbound{role = data} = Outbound) ->
    dial_data(Outbound);
dial_again(Reason, #outbound{role = overlay} = Outbound) ->
    redial(?REDIALS, Reason, Outbound).

%% A peer that accepts a connection and loses it again is alive, on a faulty network.
redial(Left, Reason, #outbound{peer = #{incarnation := Incarnation}} = Outbound) ->
    case dial(Outbound) of
        {ok, Socket, #{incarnation := Incarnation}, Version} ->
            connected(Socket, Version, Outbound);
        {ok, _Socket, _Younger, _Version} ->
            down(restarted);
        {error, Broken} when Left > 1, (Broken =:= closed orelse Broken =:= econnreset) ->
            redial(Left - 1, Reason, Outbound);
        {error, _} ->
            down(Reason)
    end.

-spec down(term()) -> no_return().
down(Reason) ->
    exit({shutdown, {down, Reason}}).

dial_data(#outbound{peer = #{incarnation := Incarnation} = Peer} = Outbound, Backoff) ->
    case dial(Outbound) of
        {ok, Socket, #{incarnation := Incarnation}, Version} ->
            Connected = connected(Socket, Version, Outbound),
            % Acknowledged messages lost on a previous connection are retransmitted.
            Channel = partisan_channel:name(Outbound#outbound.channel),
            ok = partisan_acks:reconnected(maps:get(name, Peer), Incarnation, Channel),
            Connected;
        {ok, Socket, _Younger, _Version} ->
            % The owner has not noticed yet; the queued messages are not for this incarnation of the
            % peer.
            ok = partisan_socket:close(Socket),
            pause(Outbound, Backoff);
        {error, _} ->
            pause(Outbound, Backoff)
    end.

pause(#outbound{closing = close}, _Backoff) ->
    exit(normal);
pause(Outbound, Backoff) ->
    receive
        {close, close} -> exit(normal);
        {system, From, Request} -> system(Request, From, {pause, Outbound, Backoff})
    after Backoff div 2 + rand:uniform(Backoff) ->
        dial_data(Outbound, min(2 * Backoff, ?BACKOFF_MAX))
    end.

%% Internals: sending.

loop(#outbound{writing = none, batch = Batch} = Outbound) ->
    case partisan_batch:is_full(Batch) of
        true -> loop(write(Outbound));
        false -> await(Outbound)
    end;
loop(Outbound) ->
    await(Outbound).

await(#outbound{socket = Socket} = Outbound) ->
    receive
        {send, ChargedAt, Frame} when is_integer(ChargedAt) ->
            loop(enqueue({ChargedAt, Frame}, Outbound));
        {send, {ChargedAt, Alias}, Frame} ->
            Used = account(fun partisan_account:used/2, Alias, Outbound),
            loop(enqueue({ChargedAt, Frame}, Used));
        {slot, Slot} ->
            loop(enqueue({slot, Slot}, Outbound));
        {await_room, {Alias, _, _}} when Outbound#outbound.closing =/= no ->
            Alias ! {Alias, closed},
            loop(Outbound);
        {await_room, Waiter} ->
            loop(account(fun partisan_account:await/2, Waiter, Outbound));
        {cancel_room, Alias} ->
            loop(account(fun partisan_account:leave/2, Alias, Outbound));
        {{gone, Alias}, _, process, _, _} ->
            loop(account(fun partisan_account:leave/2, Alias, Outbound));
        {used, Alias} ->
            loop(account(fun partisan_account:used/2, Alias, Outbound));
        heartbeat ->
            loop(heartbeat(Outbound));
        {timeout, Timer, settle} ->
            loop(account(fun partisan_account:settle/2, Timer, Outbound));
        {close, How} ->
            loop(close(How, Outbound));
        {system, From, Request} ->
            system(Request, From, {loop, Outbound});
        Message ->
            loop(heard(partisan_socket:event(Message, Socket), Outbound))
    after idle(Outbound) ->
        rest(Outbound)
    end.

%% The mailbox is empty.
rest(#outbound{batch = Batch} = Outbound) ->
    case partisan_batch:is_empty(Batch) of
        false -> loop(write(Outbound));
        true -> at_rest(Outbound)
    end.

at_rest(#outbound{closing = no, account = Account, doze = Doze} = Outbound) ->
    case partisan_account:is_awaited(Account) of
        false ->
            Suspected = partisan_account:suspect(Account),
            Asleep = partisan_doze:asleep(now_ms(), Doze),
            Resting = Outbound#outbound{account = Suspected, doze = Asleep},
            proc_lib:hibernate(?MODULE, resume, [Resting]);
        true ->
            Woken = partisan_account:suspect(partisan_account:wake(Account)),
            loop(Outbound#outbound{account = Woken})
    end;
at_rest(Outbound) ->
    finish(Outbound).

%% The port has taken all; or a pong; or the end; or from a previous socket.
heard({sent, Result}, Outbound) -> written(Result, Outbound);
heard({data, _Pong}, Outbound) -> pong(Outbound);
heard(closed, Outbound) -> lost(closed, Outbound);
heard({error, Reason}, Outbound) -> lost(Reason, Outbound);
heard(other, Outbound) -> Outbound.

%% A partition swallows it.
pong(#outbound{socket = Socket, peer = #{name := Name}, is_alive = IsAlive} = Outbound) ->
    #outbound{} = Awake = awake(Socket, Outbound),
    case partisan_injection:is_apart(Name) of
        false -> Awake;
        true -> Awake#outbound{is_alive = IsAlive}
    end.

%% @private Woken from hibernation.
-spec resume(#outbound{}) -> no_return().
resume(#outbound{doze = Doze} = Outbound) ->
    loop(Outbound#outbound{doze = partisan_doze:woken(now_ms(), Doze)}).

now_ms() ->
    erlang:monotonic_time(millisecond).

idle(#outbound{writing = none, batch = Batch} = Outbound) ->
    case partisan_batch:is_empty(Batch) of
        true -> idle_without(Outbound);
        false -> 0
    end;
idle(_Writing) ->
    infinity.

idle_without(#outbound{closing = no, account = Account, doze = Doze}) ->
    case partisan_account:is_awaited(Account) of
        false -> partisan_doze:hibernate_after(Doze);
        true -> ?RECHECK
    end;
idle_without(#outbound{account = Account}) ->
    case partisan_account:messages(Account) of
        0 -> 0;
        _ -> ?STRAGGLERS
    end.

enqueue(Item, #outbound{account = Account, batch = Batch} = Outbound) ->
    Added = partisan_batch:add(partisan_account:item(Item, Account), Batch),
    Outbound#outbound{account = partisan_account:moved(Account), batch = Added}.

write(#outbound{batch = Batch, socket = Socket} = Outbound) ->
    {Data, Write, Left} = partisan_batch:take(Batch, lane(Outbound)),
    write(Data, Write, Socket, Outbound#outbound{batch = Left, writing = Write}).

%% Only tokens of empty slots.
write([], _Write, _Socket, Writing) ->
    Writing#outbound{writing = none};
write(Data, Write, Socket, Writing) ->
    true = erlang:bump_reductions(1 + maps:get(bytes, Write) div ?BYTES_A_REDUCTION),
    case partisan_socket:begin_send(Socket, Data) of
        pending -> Writing;
        Result -> written(Result, Writing)
    end.

written(ok, #outbound{channel = Channel, writing = Write} = Outbound) ->
    #{messages := Messages, bytes := Bytes, since := Since} = Write,
    ok = partisan_lane:sent(lane(Outbound), Channel, Messages, Bytes),
    ok = waited(Since, Channel),
    credit(Outbound);
written({error, Reason}, Outbound) ->
    lost(Reason, Outbound).

%% A heartbeat waits for no message.
waited(none, _Channel) ->
    ok;
waited(Since, Channel) ->
    Waited = erlang:monotonic_time() - Since,
    partisan_channel:waited(Channel, erlang:convert_time_unit(Waited, native, nanosecond)).

credit(#outbound{account = Account, writing = Write} = Outbound) ->
    Outbound#outbound{account = partisan_account:credit(Write, Account), writing = none}.

account(Change, Argument, #outbound{account = Account} = Outbound) ->
    Outbound#outbound{account = Change(Argument, Account)}.

lane(#outbound{account = Account}) ->
    partisan_account:lane(Account).

close(How, #outbound{account = Account} = Outbound) ->
    Outbound#outbound{closing = How, account = partisan_account:dismiss(Account)}.

heartbeat(#outbound{is_alive = false} = Outbound) ->
    heartbeat_later(lost(heartbeat, Outbound));
heartbeat(#outbound{batch = Batch} = Outbound) ->
    heartbeat_later(Outbound#outbound{batch = partisan_batch:add_ping(Batch), is_alive = false}).

heartbeat_later(Outbound) ->
    Due = partisan_heartbeat:due(now_ms(), partisan_heartbeat:interval()),
    _ = erlang:send_after(Due, self(), heartbeat, [{abs, true}]),
    Outbound.

%% Asks for a last heartbeat: its answer comes when everything before it has been delivered, which
%% is what successors wait for. Then waits for the peer to close in turn: closing first, with an
%% unread answer of the peer, would reset the connection and destroy what the peer has not read yet.
-spec finish(#outbound{}) -> no_return().
finish(#outbound{socket = Socket} = Outbound) ->
    {_Bytes, Ping} = partisan_frame:ping(),
    case partisan_socket:send(Socket, Ping) of
        ok -> linger(Outbound);
        {error, _} -> exit(normal)
    end.

-spec linger(#outbound{}) -> no_return().
linger(#outbound{socket = Socket} = Outbound) ->
    receive
        {close, close} ->
            linger(Outbound#outbound{closing = close});
        {system, From, Request} ->
            system(Request, From, {linger, Outbound});
        Message ->
            case partisan_socket:event(Message, Socket) of
                {data, _Pong} ->
                    _ = partisan_socket:half_close(Socket),
                    _ = partisan_socket:setopts(Socket, [{active, once}]),
                    linger(Outbound);
                other ->
                    linger(Outbound);
                _Ended ->
                    exit(normal)
            end
    after linger_timeout(Outbound) -> exit(normal)
    end.

linger_timeout(#outbound{closing = close}) -> ?LINGER;
linger_timeout(#outbound{closing = drain}) -> infinity.

%% Internals: system messages ({@link sys}).

-spec system(term(), {pid(), term()}, at()) -> no_return().
system(Request, From, {_, #outbound{owner = Owner}} = At) ->
    sys:handle_system_msg(Request, From, Owner, ?MODULE, [], At);
system(Request, From, {pause, #outbound{owner = Owner}, _} = At) ->
    sys:handle_system_msg(Request, From, Owner, ?MODULE, [], At).

%% @private
-spec system_continue(pid(), [sys:dbg_opt()], at()) -> no_return().
system_continue(_Owner, _Debug, {loop, Outbound}) -> loop(Outbound);
system_continue(_Owner, _Debug, {linger, Outbound}) -> linger(Outbound);
system_continue(_Owner, _Debug, {pause, Outbound, Backoff}) -> loop(dial_data(Outbound, Backoff)).

%% @private
-spec system_terminate(term(), pid(), [sys:dbg_opt()], at()) -> no_return().
system_terminate(Reason, _Owner, _Debug, _At) ->
    exit(Reason).

%% @private
-spec system_code_change(at(), module(), term(), term()) -> {ok, at()}.
system_code_change(At, _Module, _Former, _Extra) ->
    {ok, At}.

%% @private
-spec system_get_state(at()) -> {ok, #outbound{}}.
system_get_state(At) ->
    {ok, element(2, At)}.

%% @private
-spec system_replace_state(fun((#outbound{}) -> #outbound{}), at()) -> {ok, #outbound{}, at()}.
system_replace_state(Replace, At) ->
    Outbound = Replace(element(2, At)),
    {ok, Outbound, setelement(2, At, Outbound)}.

%%% @doc The receiving end of one connection: accepts it, authenticates the peer and delivers.
%%%
%%% It reads only as fast as the receivers keep up. Frames come in windows ({@link
%%% partisan_inflow}), and before a window ends the message queues of receivers are checked ({@link
%%% partisan_checks}). While one of them is too long the rest is left to the kernel, whose full
%%% buffers hold back the sender's lane and, finally, the sender itself.
%%%
%%% A server process may receive from thousands of connections. Their windows together are a few
%%% times its allowed queue, or one frame each. While it is behind, all connections together check
%%% it about once a millisecond; more checks would take the time it needs to catch up.
%%%
%%% Longer than 300 lines: one process, whose receive loops share their state.
-module(partisan_inbound).

-export([start_link/1]).
-export([finish/2]).
-export([init/1]).
-export([resume/1]).
%% For sys.
-export([system_continue/3]).
-export([system_terminate/4]).
-export([system_code_change/4]).
-export([system_get_state/1]).
-export([system_replace_state/2]).

%% Milliseconds between checks whether a congested receiver has caught up: initially, and the
%% maximum, unless there are more connections.
-define(POLL_MIN, 1).
-define(POLL_MAX, 32).
%% Unchecked messages over all connections, as a multiple of the allowed queue of one process.
-define(UNCHECKED, 4).

-record(inbound, {
    listener :: pid(),
    socket :: partisan_socket:t(),
    peer :: partisan_peer:t(),
    channel :: partisan_channel:t(),
    version :: partisan_version:t(),
    inflow = partisan_inflow:new() :: partisan_inflow:t(),
    known = #{} :: partisan_reach:known(),
    checks = partisan_checks:new() :: partisan_checks:t(),
    % When it last answered a ping that it had not read, in milliseconds.
    answered :: integer(),
    % Whether rules of injected faults are in force, or the channel has a delay.
    interposed :: boolean(),
    % Neighbours that relayed messages do not wait for.
    busy = partisan_relay:new() :: partisan_relay:busy(),
    doze = partisan_doze:new() :: partisan_doze:t()
}).

%% State across a system message.
-type at() :: {loop | look_around, #inbound{}}.

%% @doc Starts a process that waits in accept and then becomes the connection.
-spec start_link(gen_tcp:socket()) -> pid().
start_link(ListenSocket) ->
    proc_lib:spawn_link(?MODULE, init, [ListenSocket]).

%% @doc Ends connections once everything they received has been delivered, at the latest after this
%% time.
-spec finish([pid()], timeout()) -> ok.
finish(Connections, Timeout) ->
    Monitors = [{Connection, monitor(process, Connection)} || Connection <- Connections],
    lists:foreach(fun(Connection) -> Connection ! finish end, Connections),
    Deadline = partisan_deadline:new(Timeout),
    lists:foreach(
        fun({Connection, Monitor}) ->
            receive
                {'DOWN', Monitor, process, Connection, _} -> ok
            after partisan_deadline:remaining(Deadline) ->
                true = exit(Connection, kill),
                receive
                    {'DOWN', Monitor, process, Connection, _} -> ok
                end
            end
        end,
        Monitors
    ).

%% @private
-spec init(gen_tcp:socket()) -> ok.
init(ListenSocket) ->
    case gen_tcp:accept(ListenSocket) of
        {ok, Socket} ->
            ok = partisan_listener:accepted(),
            handshake(Socket);
        {error, econnaborted} ->
            init(ListenSocket);
        {error, Reason} ->
            exit({shutdown, Reason})
    end.

%% Internals.

handshake(Accepted) ->
    From = inet:peername(Accepted),
    Deadline =
        erlang:monotonic_time(millisecond) + partisan_config:get(handshake_timeout),
    case partisan_socket:accepted(Accepted, Deadline) of
        {ok, Socket} -> handshake(Socket, From, Deadline);
        {error, Reason} -> partisan_refusals:incoming(partisan_handshake:refusal(Reason), From)
    end.

handshake(Socket, From, Deadline) ->
    Options = #{local => partisan_listener:local(), deadline => Deadline},
    case partisan_handshake:accept(Socket, Options) of
        {ok, Link, Welcome} ->
            welcome(Socket, Link, Welcome, From);
        {error, Reason} ->
            ok = partisan_refusals:incoming(Reason, From),
            partisan_socket:close(Socket)
    end.

%% The lane knows this connection before its peer may use it. If the peer loses it at once and
%% returns, its next connection waits for this one, not the other way round.
welcome(Socket, Link, Welcome, From) ->
    #{peer := #{name := Name, incarnation := Incarnation}, channel := Channel, lane := Lane} = Link,
    Key = {Name, Incarnation, partisan_channel:name(Channel), Lane},
    case not partisan_injection:is_apart(Name) andalso partisan_listener:established(Key) of
        % Closed at once, so that no process waits for the end of a partition.
        false ->
            partisan_socket:close(Socket);
        {ok, Predecessors} ->
            Welcomed = partisan_handshake:welcome(Socket, Welcome),
            % Their messages are delivered before any of this connection.
            ok = finish(Predecessors, infinity),
            ok = partisan_acks:end_previous(Name, Incarnation),
            case Welcomed of
                ok -> established(Socket, Link);
                {error, _} -> partisan_socket:close(Socket)
            end;
        outdated ->
            ok = partisan_refusals:incoming(name, From),
            partisan_socket:close(Socket)
    end.

established(Socket, #{peer := Peer, channel := Channel, version := Version}) ->
    % A window of frames must not be copied at every collection of this heap.
    process_flag(message_queue_data, off_heap),
    Inbound = #inbound{
        listener = whereis(partisan_listener),
        socket = Socket,
        peer = Peer,
        channel = Channel,
        version = Version,
        interposed = is_interposed(partisan_injection:is_on(), Channel),
        answered = erlang:monotonic_time(millisecond)
    },
    % A frame is a message, its receiver's name, and a few bytes around them.
    read(Inbound, [
        {packet, 4},
        {packet_size, partisan_config:get(message_bytes) + 1024}
        | kernel_buffer(partisan_channel:kernel_limit(Channel))
    ]).

is_interposed(HasRules, Channel) ->
    HasRules orelse partisan_channel:ingress_delay(Channel) > 0.

kernel_buffer(none) -> [];
kernel_buffer(Bytes) -> [{recbuf, Bytes}].

%% A connection is never granted more than its share of a receiver's allowed queue.
read(#inbound{socket = Socket, inflow = Inflow, checks = Checks} = Inbound, Options) ->
    Connections = max(1, partisan_listener:connections()),
    Share = ?UNCHECKED * partisan_config:get(mailbox_messages) div Connections,
    Buffer = partisan_socket:buffer(Socket, partisan_inflow:average(Inflow)),
    {More, Granted} = partisan_inflow:grant(Share, Inflow),
    Allowed = partisan_checks:allow(Share, Checks),
    case partisan_socket:setopts(Socket, Options ++ [{buffer, Buffer} | active(More)]) of
        ok -> loop(Inbound#inbound{inflow = Granted, checks = Allowed});
        {error, _} -> partisan_socket:close(Socket)
    end.

active(0) -> [];
active(More) -> [{active, More}].

%% @private Woken from hibernation.
-spec resume(#inbound{}) -> ok.
resume(#inbound{doze = Doze} = Inbound) ->
    loop(Inbound#inbound{doze = partisan_doze:woken(erlang:monotonic_time(millisecond), Doze)}).

loop(#inbound{socket = Socket, doze = Doze} = Inbound) ->
    receive
        finish ->
            finish(Inbound);
        {system, From, Request} ->
            system(Request, From, {loop, Inbound});
        {interpose, HasRules} ->
            #inbound{channel = Channel} = Inbound,
            loop(Inbound#inbound{interposed = is_interposed(HasRules, Channel)});
        Message ->
            case partisan_socket:event(Message, Socket) of
                {data, Data} -> data(Data, Inbound);
                % The number of frames left is known anyway.
                passive -> loop(Inbound);
                other -> loop(Inbound);
                closed -> partisan_socket:close(Socket);
                {error, Reason} -> broken(Reason, Inbound)
            end
    after partisan_doze:hibernate_after(Doze) ->
        Asleep = partisan_doze:asleep(erlang:monotonic_time(millisecond), Doze),
        proc_lib:hibernate(?MODULE, resume, [Inbound#inbound{doze = Asleep}])
    end.

broken(Reason, #inbound{socket = Socket, peer = #{name := Name}}) ->
    % The member allows larger messages than we do.
    Reason =:= too_large andalso
        partisan_refusals:warn(message, "a message of ~ts exceeds message_bytes", [Name]),
    partisan_socket:close(Socket).

data(Data, #inbound{inflow = Inflow} = Inbound) ->
    {Next, Taken} = partisan_inflow:taken(byte_size(Data), Inflow),
    Delivered = frame(Data, Inbound#inbound{inflow = Taken}),
    case Next of
        go_on -> loop(Delivered);
        check -> check(Delivered);
        wait -> look_around(?POLL_MIN, Delivered)
    end.

frame(Data, #inbound{interposed = false} = Inbound) ->
    % Plus the four bytes of the length, removed by the socket.
    deliver(partisan_frame:decode(Data), byte_size(Data) + 4, Inbound);
frame(Data, #inbound{peer = #{name := Name}, channel = Channel} = Inbound) ->
    Frame = partisan_frame:decode(Data),
    Deliver = fun() -> deliver(Frame, byte_size(Data) + 4, Inbound) end,
    case partisan_injection:arrival(Name, Channel, Frame) of
        now ->
            Deliver();
        {late, Ms, Path} ->
            % By another process, also after the end of this connection.
            ok = partisan_injection:hold(Ms, Path, Data, Channel, Deliver),
            Inbound;
        never ->
            ok = partisan_channel:dropped(Channel, injected),
            Inbound
    end.

deliver({message, Destination, Message}, Size, #inbound{peer = #{name := Origin}} = Inbound) ->
    message(Origin, Destination, Message, Size, Inbound);
deliver({relay, Header, Payload}, Size, #inbound{channel = Channel, busy = Busy0} = Inbound0) ->
    {Arrived, Busy} = partisan_relay:arrived(Header, Payload, Channel, Busy0),
    Inbound = Inbound0#inbound{busy = Busy},
    case Arrived of
        {deliver, Origin, {Destination, Message}} ->
            message(Origin, Destination, Message, Size, Inbound);
        passed ->
            ok = partisan_channel:received(Channel, Size),
            Inbound;
        {dropped, Reason} ->
            ok = partisan_channel:received(Channel, Size),
            ok = partisan_channel:dropped(Channel, Reason),
            Inbound
    end;
deliver({overlay, Message}, Size, #inbound{peer = Peer} = Inbound) ->
    Manager =
        case whereis(partisan_manager) of
            undefined -> {error, no_process};
            Pid -> {ok, Pid, {overlay, Peer, Message}}
        end,
    to(Manager, Size, Inbound);
deliver(ping, _Size, #inbound{socket = Socket} = Inbound) ->
    % If this fails, we also receive the loss of the connection.
    _ = partisan_socket:send(Socket, partisan_frame:pong()),
    Inbound;
deliver({error, Reason}, _Size, #inbound{channel = Channel} = Inbound) ->
    ok = partisan_channel:dropped(Channel, Reason),
    Inbound.

message(Origin, Destination, Message, Size, #inbound{known = Known} = Inbound) ->
    Route = partisan_reach:route(Origin, Destination, Message, Known),
    to(Route, Size, Inbound#inbound{known = partisan_reach:remember(Destination, Route, Known)}).

to(Route, Size, #inbound{channel = Channel, checks = Checks} = Inbound) ->
    ok = partisan_channel:received(Channel, Size),
    case Route of
        {ok, Receiver, Message} ->
            Receiver ! Message,
            Inbound#inbound{checks = partisan_checks:delivered(Receiver, Checks)};
        {error, Reason} ->
            ok = partisan_channel:dropped(Channel, Reason),
            Inbound;
        {alias, Receiver, Alias, Message} ->
            ok = partisan_remote:send_alias(Alias, Message),
            Inbound#inbound{checks = partisan_checks:delivered(Receiver, Checks)}
    end.

check(Inbound0) ->
    case is_congested(Inbound0) of
        {true, Inbound} -> loop(Inbound);
        {false, Inbound} -> read(Inbound, [])
    end.

%% At the end of a window. The kernel does not probe a connection that is not read: the peer may
%% have sent more than there is room for, and its acknowledgements, which come after that, are
%% dropped.
look_around(Poll, #inbound{socket = Socket} = Inbound0) ->
    case is_congested(Inbound0) of
        {true, Congested} ->
            Inbound = alive(Congested),
            _ = Poll =:= ?POLL_MIN andalso partisan_socket:setopts(Socket, [{keepalive, false}]),
            % Jittered: the other connections have waited as long.
            receive
                finish -> finish(Inbound);
                {system, From, Request} -> system(Request, From, {look_around, Inbound})
            after Poll div 2 + rand:uniform(Poll) -> look_around(next_poll(Poll), Inbound)
            end;
        {false, Inbound} ->
            read(Inbound, [{keepalive, true} || Poll > ?POLL_MIN])
    end.

%% Pings wait behind unread frames, and the peer must not mistake a slow node for a dead one. Every
%% answer counts, whether it was asked for or not.
alive(#inbound{socket = Socket, channel = Channel, answered = Answered} = Inbound) ->
    Now = erlang:monotonic_time(millisecond),
    Due = Answered + partisan_config:get(heartbeat_interval) div 2,
    case partisan_channel:name(Channel) =:= overlay andalso Now >= Due of
        true ->
            _ = partisan_socket:send(Socket, partisan_frame:pong()),
            Inbound#inbound{answered = Now};
        false ->
            Inbound
    end.

is_congested(#inbound{checks = Checks} = Inbound) ->
    Due = partisan_checks:due(Checks),
    Congested = lists:filter(fun partisan_mailbox:is_congested/1, Due),
    Checked = partisan_checks:checked(Congested, Checks),
    {Congested =/= [], Inbound#inbound{checks = Checked}}.

next_poll(Poll) ->
    min(2 * Poll, max(?POLL_MAX, partisan_listener:connections())).

%% A successor waits: take what has arrived, without waiting for more, and stop.
finish(#inbound{socket = Socket} = Inbound) ->
    _ = partisan_socket:setopts(Socket, [{active, false}]),
    finish_delivered(Inbound),
    finish_buffered(Inbound),
    partisan_socket:close(Socket).

finish_delivered(#inbound{socket = Socket} = Inbound) ->
    receive
        Message ->
            case partisan_socket:event(Message, Socket) of
                {data, Data} -> finish_delivered(frame(Data, Inbound));
                _ -> finish_delivered(Inbound)
            end
    after 0 -> ok
    end.

finish_buffered(#inbound{socket = Socket} = Inbound) ->
    case partisan_socket:recv(Socket, 0, 0) of
        {ok, Data} -> finish_buffered(frame(Data, Inbound));
        {error, _} -> ok
    end.

%% Internals: system messages ({@link sys}). The acceptor answers them once it has a connection.

-spec system(term(), {pid(), term()}, at()) -> no_return().
system(Request, From, {_, #inbound{listener = Listener}} = At) ->
    sys:handle_system_msg(Request, From, Listener, ?MODULE, [], At).

%% @private
-spec system_continue(pid(), [sys:dbg_opt()], at()) -> ok.
system_continue(_Listener, _Debug, {loop, Inbound}) -> loop(Inbound);
system_continue(_Listener, _Debug, {look_around, Inbound}) ->
    look_around(next_poll(?POLL_MIN), Inbound).

%% @private
-spec system_terminate(term(), pid(), [sys:dbg_opt()], at()) -> no_return().
system_terminate(Reason, _Listener, _Debug, _At) ->
    exit(Reason).

%% @private
-spec system_code_change(at(), module(), term(), term()) -> {ok, at()}.
system_code_change(At, _Module, _Former, _Extra) ->
    {ok, At}.

%% @private
-spec system_get_state(at()) -> {ok, #inbound{}}.
system_get_state({_, Inbound}) ->
    {ok, Inbound}.

%% @private
-spec system_replace_state(fun((#inbound{}) -> #inbound{}), at()) -> {ok, #inbound{}, at()}.
system_replace_state(Replace, {Where, Inbound}) ->
    Replaced = Replace(Inbound),
    {ok, Replaced, {Where, Replaced}}.

%%% @doc A lane: one connection of a channel to one peer, as its senders see it.
%%%
%%% A sender charges the lane's account ({@link partisan_queue}) and leaves its encoded message in
%%% the mailbox of the process that owns the connection ({@link partisan_outbound}): the mailbox is
%%% the queue, the account its bound. Each message carries the time of its charge: a lane that has
%%% written off the charges of dead senders must not credit one of them again.
%%%
%%% == Monotonic channels ==
%%% Their messages wait in a table of slots, one per destination process and partition key. A newer
%%% message replaces the waiting one; the mailbox holds one token per full slot. A sender killed
%%% after filling a slot leaves no token. A sender that finds a slot full for long leaves another,
%%% which the lane ignores if the slot is empty: first after a second, then each time after twice as
%%% long, so that they stay few.
-module(partisan_lane).

-export([send/3]).
-export([close/1]).
-export([drain/1]).
-export([stop/1]).
-export([pid/1]).
-export([queue/1]).
-export([is_connected/1]).
-export([version/1]).
-export([traffic/1]).
%% For the owner of the connection.
-export([new/1]).
-export([empty_slot/2]).
-export([settled/1]).
-export([is_owed/2]).
-export([connected/2]).
-export([disconnected/1]).
-export([sent/4]).
-export([dropped/4]).

-record(lane, {
    pid :: pid(),
    queue :: partisan_queue:t(),
    slots :: none | ets:tid(),
    state :: partisan_lane_state:t(),
    % Owner's copy only: when all remaining charges were last written off.
    settled :: integer()
}).

%% A slot: when its message was sent, the message, what was charged and when, and when a sender that
%% finds it full leaves another token.
-define(SINCE, 2).
-define(FRAME, 3).
-define(TOKEN_DUE, 6).

-opaque t() :: #lane{}.
-type slot() :: term().
-type item() :: #{
    frame := partisan_frame:t(),
    % Identifies what a newer message on a monotonic channel replaces.
    slot := slot(),
    on_busy := block | error | drop,
    timeout := timeout()
}.
%% `closed': it ended as requested, and its place is free for another; `not_connected': it died.
-type send_error() :: busy | timeout | closed | not_connected.

-export_type([t/0, slot/0, item/0, send_error/0]).

%% @doc Leaves a message in the lane. If the lane is full, `on_busy' decides whether the caller
%% waits for room, gets `{error, busy}', or the message is dropped and counted.
-spec send(t(), partisan_channel:t(), item()) -> ok | {error, send_error()}.
send(#lane{slots = none, pid = Pid} = Lane, Channel, #{frame := Frame} = Item) ->
    case reserve(Lane, Channel, Item) of
        {ok, Charge} ->
            Pid ! {send, Charge, Frame},
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
        % The table is gone with its lane.
        error:badarg -> {error, ended(Lane)}
    end.

%% @doc Closes the lane: it accepts nothing more, sends what is queued, then ends, after a while
%% even if the peer does not read.
-spec close(t()) -> ok.
close(Lane) ->
    close(Lane, close).

%% @doc As `close/1', for a lane whose successors wait: it ends once the peer has read all.
-spec drain(t()) -> ok.
drain(Lane) ->
    close(Lane, drain).

close(#lane{pid = Pid, queue = Queue}, How) ->
    ok = partisan_queue:seal(Queue),
    Pid ! {close, How},
    ok.

%% @doc Ends the lane at once and discards its contents.
-spec stop(t()) -> ok.
stop(#lane{pid = Pid}) ->
    true = exit(Pid, shutdown),
    ok.

%% @doc The process that owns the connection.
-spec pid(t()) -> pid().
pid(#lane{pid = Pid}) ->
    Pid.

%% @doc The account that senders charge.
-spec queue(t()) -> partisan_queue:t().
queue(#lane{queue = Queue}) ->
    Queue.

%% @doc Whether the lane has a connection.
-spec is_connected(t()) -> boolean().
is_connected(#lane{state = State}) ->
    partisan_lane_state:is_connected(State).

%% @doc The wire format version agreed with the peer; `unknown' until the lane has been connected.
%% Constant for one incarnation of the peer.
-spec version(t()) -> partisan_version:t() | unknown.
version(#lane{state = State}) ->
    partisan_lane_state:version(State).

%% @doc The lane's own counters, for a report.
-spec traffic(t()) -> #{atom() => non_neg_integer()}.
traffic(#lane{queue = Queue, state = State}) ->
    (partisan_lane_state:counters(State))#{queue_bytes => partisan_queue:bytes(Queue)}.

%% For the owner of the connection.

%% @doc A lane of this channel; the caller will own its connection.
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
        state = partisan_lane_state:new(),
        settled = erlang:monotonic_time() - 1
    }.

%% @doc Takes the message out of a slot for a token; also returns when it was sent and the credit
%% due to the account. `empty': another token was for it.
-spec empty_slot(t(), slot()) ->
    {Since :: integer(), partisan_frame:t(), Charged :: non_neg_integer()} | empty.
empty_slot(#lane{slots = Slots} = Lane, Slot) ->
    case ets:take(Slots, Slot) of
        [{Slot, Since, Frame, Charged, ChargedAt, _}] ->
            case is_owed(Lane, ChargedAt) of
                true -> {Since, Frame, Charged};
                false -> {Since, Frame, 0}
            end;
        [] ->
            empty
    end.

%% @doc Notes that everything charged until now has been credited.
-spec settled(t()) -> t().
settled(Lane) ->
    Lane#lane{settled = erlang:monotonic_time()}.

%% @doc Whether the account must still be credited for a charge of that time.
-spec is_owed(t(), ChargedAt :: integer()) -> boolean().
is_owed(#lane{settled = Settled}, ChargedAt) ->
    ChargedAt > Settled.

%% @doc Notes that the lane has a connection of this version.
-spec connected(t(), partisan_version:t()) -> ok.
connected(#lane{state = State}, Version) ->
    partisan_lane_state:connected(State, Version).

%% @doc Notes that the lane has lost its connection.
-spec disconnected(t()) -> ok.
disconnected(#lane{state = State}) ->
    partisan_lane_state:disconnected(State).

%% @doc Counts what a socket has accepted: once for each write, not for each message.
-spec sent(t(), partisan_channel:t(), non_neg_integer(), non_neg_integer()) -> ok.
sent(#lane{state = State}, Channel, Messages, Bytes) ->
    ok = partisan_lane_state:sent(State, Messages, Bytes),
    partisan_channel:sent(Channel, Messages, Bytes).

%% @doc Counts messages that will not arrive.
-spec dropped(t(), partisan_channel:t(), partisan_channel:drop_reason(), non_neg_integer()) -> ok.
dropped(#lane{state = State}, Channel, Reason, Messages) ->
    ok = partisan_lane_state:dropped(State, Messages),
    partisan_channel:dropped(Channel, Reason, Messages).

%% Internals.

ended(#lane{queue = Queue}) ->
    case partisan_queue:is_sealed(Queue) of
        true -> closed;
        false -> not_connected
    end.

%% Returns the time of the charge and the alias under which the lane charged it. The time is taken
%% first, so that it is never later than the charge.
reserve(#lane{queue = Queue} = Lane, Channel, #{frame := {Bytes, _}} = Item) ->
    Now = erlang:monotonic_time(),
    case partisan_queue:reserve(Queue, Bytes) of
        ok ->
            {ok, Now};
        sealed ->
            {error, closed};
        full ->
            case Item of
                #{on_busy := error} ->
                    {error, busy};
                #{on_busy := drop} ->
                    ok = dropped(Lane, Channel, busy, 1),
                    dropped;
                #{on_busy := block, timeout := Timeout} ->
                    await_room(Lane, Bytes, Timeout)
            end
    end.

%% The lane charges the account and wakes the sender. A sender that gives up notifies the lane,
%% which knows whether it charged for it meanwhile.
await_room(#lane{pid = Pid} = Lane, Bytes, Timeout) ->
    Alias = monitor(process, Pid, [{alias, reply_demonitor}]),
    Pid ! {await_room, {Alias, self(), Bytes}},
    receive
        {Alias, room, ChargedAt} ->
            {ok, {ChargedAt, Alias}};
        {Alias, closed} ->
            {error, closed};
        {'DOWN', Alias, process, Pid, _} ->
            {error, ended(Lane)}
    after Timeout ->
        true = demonitor(Alias, [flush]),
        receive
            {Alias, room, _} -> ok;
            {Alias, closed} -> ok
        after 0 -> ok
        end,
        Pid ! {cancel_room, Alias},
        {error, timeout}
    end.

fill_slot(#lane{slots = Slots} = Lane, Channel, Item) ->
    #{slot := Slot, frame := {Bytes, _} = Frame} = Item,
    Since = erlang:monotonic_time(),
    % The account stays charged for the slot's first message, and is credited for it.
    case ets:update_element(Slots, Slot, [{?SINCE, Since}, {?FRAME, Frame}]) of
        true ->
            ok = token_again(Lane, Slot, Since),
            dropped(Lane, Channel, superseded, 1);
        false ->
            case reserve(Lane, Channel, Item) of
                {ok, Charge} ->
                    ChargedAt = use(Lane, Charge),
                    Due = Since + second(),
                    case ets:insert_new(Slots, {Slot, Since, Frame, Bytes, ChargedAt, Due}) of
                        true ->
                            token(Lane, Slot);
                        false ->
                            % Another sender was faster: replace its message.
                            ok = partisan_queue:release(Lane#lane.queue, 1, Bytes),
                            fill_slot(Lane, Channel, Item)
                    end;
                dropped ->
                    ok;
                Error ->
                    Error
            end
    end.

%% A slot's token carries no charge.
use(_Lane, ChargedAt) when is_integer(ChargedAt) ->
    ChargedAt;
use(#lane{pid = Pid}, {ChargedAt, Alias}) ->
    Pid ! {used, Alias},
    ChargedAt.

token(#lane{pid = Pid}, Slot) ->
    Pid ! {slot, Slot},
    ok.

token_again(#lane{slots = Slots} = Lane, Slot, Now) ->
    case ets:lookup(Slots, Slot) of
        [{_, _, _, _, ChargedAt, Due}] when Now >= Due ->
            _ = ets:update_element(Slots, Slot, {?TOKEN_DUE, Now + (Now - ChargedAt)}),
            token(Lane, Slot);
        _ ->
            ok
    end.

second() ->
    erlang:convert_time_unit(1, second, native).

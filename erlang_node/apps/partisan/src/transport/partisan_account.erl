%%% @doc The owner's view of a lane's account: what senders are charged for, what is credited, and
%%% which senders wait for room.
%%%
%%% Senders charge the account ({@link partisan_queue}) before they send; the owner of the
%%% connection credits it for what it has written. A sender may be killed between the two: what the
%%% account of an idle lane still holds is `stale', and is written off when it has not moved for
%%% longer than a living sender takes.
-module(partisan_account).

-export([new/1]).
-export([lane/1]).
-export([messages/1]).
-export([is_awaited/1]).
-export([item/2]).
-export([moved/1]).
-export([credit/2]).
-export([suspect/1]).
-export([settle/2]).
-export([await/2]).
-export([used/2]).
-export([leave/2]).
-export([wake/1]).
-export([dismiss/1]).

-record(account, {
    lane :: partisan_lane:t(),
    queue :: partisan_queue:t(),
    % Senders who wait for room.
    waiting = partisan_waiters:new() :: partisan_waiters:t(),
    % What the account held when the lane fell idle and has not moved since: charges of senders
    % who may have been killed before they sent.
    stale = none :: none | {reference(), partisan_queue:balance()}
}).

-opaque t() :: #account{}.
-export_type([t/0]).

%% Longer than a living sender takes from charging its message to sending it.
-define(SETTLE_AFTER, 30000).

%% @doc The account of a lane of the caller's.
-spec new(partisan_lane:t()) -> t().
new(Lane) ->
    #account{lane = Lane, queue = partisan_lane:queue(Lane)}.

%% @doc The lane, which knows up to when charges have been written off.
-spec lane(t()) -> partisan_lane:t().
lane(#account{lane = Lane}) ->
    Lane.

%% @doc How many messages are charged and not credited.
-spec messages(t()) -> non_neg_integer().
messages(#account{queue = Queue}) ->
    partisan_queue:messages(Queue).

%% @doc Whether any sender waits for room.
-spec is_awaited(t()) -> boolean().
is_awaited(#account{waiting = Waiting}) ->
    not partisan_waiters:is_empty(Waiting).

%% @doc A message as it enters the batch: one whose charge has been written off is not credited.
-spec item(Sent, t()) -> partisan_batch:item() when
    Sent :: {ChargedAt :: integer(), partisan_frame:t()} | {slot, partisan_lane:slot()}.
item({slot, _} = Item, _Account) ->
    Item;
item({ChargedAt, Frame} = Item, #account{lane = Lane}) ->
    case partisan_lane:is_owed(Lane, ChargedAt) of
        true -> Item;
        false -> {settled, ChargedAt, Frame}
    end.

%% @doc A message has come: the account is moving, which disarms the suspicion.
-spec moved(t()) -> t().
moved(#account{stale = none} = A) ->
    A;
moved(#account{stale = {Timer, _}} = A) ->
    _ = erlang:cancel_timer(Timer),
    A#account{stale = none}.

%% @doc Credits the account for what has been written, or lost.
-spec credit(partisan_batch:write(), t()) -> t().
credit(#{owed := Messages, charged := Charged}, #account{queue = Queue} = A) ->
    ok = partisan_queue:release(Queue, Messages, Charged),
    wake(A).

%% @doc The lane has nothing queued. What the account still holds was charged by senders who have
%% not sent yet, or were killed before they could; `{timeout, Timer, settle}' tells which.
-spec suspect(t()) -> t().
suspect(#account{queue = Queue, stale = none} = A) ->
    case partisan_queue:balance(Queue) of
        {0, 0} ->
            A;
        Balance ->
            Timer = erlang:start_timer(?SETTLE_AFTER, self(), settle),
            A#account{stale = {Timer, Balance}}
    end;
suspect(A) ->
    A.

%% @doc Writes off what has not moved since this timer was started; a disarmed timer does nothing.
%%
%% A sender that was only stopped for so long, with this node, still sends: the lane knows by the
%% time of the charge that the account was credited for it.
-spec settle(reference(), t()) -> t().
settle(Timer, #account{stale = {Timer, {Messages, Bytes} = Balance}} = A) ->
    #account{queue = Queue, lane = Lane, waiting = Waiting} = A,
    case partisan_queue:balance(Queue) of
        Balance ->
            ok = partisan_queue:release(Queue, Messages, Bytes),
            wake(A#account{
                stale = none,
                lane = partisan_lane:settled(Lane),
                waiting = partisan_waiters:settled(Waiting)
            });
        _Moved ->
            wake(A#account{stale = none})
    end;
settle(_Disarmed, A) ->
    A.

%% @doc A sender waits for room, after all others.
-spec await(partisan_waiters:waiter(), t()) -> t().
await(Waiter, #account{waiting = Waiting, queue = Queue} = A) ->
    wake(A#account{waiting = partisan_waiters:add(Waiter, Queue, Waiting)}).

%% @doc The message of a sender that was granted its bytes has come.
-spec used(reference(), t()) -> t().
used(Alias, #account{waiting = Waiting} = A) ->
    A#account{waiting = partisan_waiters:used(Alias, Waiting)}.

%% @doc A sender waits no longer, or has died: what it was granted is credited.
-spec leave(reference(), t()) -> t().
leave(Alias, #account{waiting = Waiting, queue = Queue} = A) ->
    wake(A#account{waiting = partisan_waiters:leave(Alias, Queue, Waiting)}).

%% @doc Wakes the senders that there is room for.
-spec wake(t()) -> t().
wake(#account{waiting = Waiting, queue = Queue} = A) ->
    A#account{waiting = partisan_waiters:wake(Queue, Waiting)}.

%% @doc Sends all waiting senders away: the lane takes nothing more.
-spec dismiss(t()) -> t().
dismiss(#account{waiting = Waiting, queue = Queue} = A) ->
    A#account{waiting = partisan_waiters:dismiss(Queue, Waiting)}.

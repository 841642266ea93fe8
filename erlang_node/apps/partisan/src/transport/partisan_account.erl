%%% @doc The owner's view of a lane's account: charges, credits, and senders that wait for room.
%%%
%%% Senders charge the account ({@link partisan_queue}) before they send; the owner of the
%%% connection credits it for what it has written. A sender may be killed in between: the remaining
%%% balance of an idle lane is `stale', and is written off if unchanged for longer than a living
%%% sender takes.
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
    % Senders waiting for room.
    waiting = partisan_waiters:new() :: partisan_waiters:t(),
    % The balance when the lane became idle, unchanged since: charges of senders that may have been
    % killed before they sent.
    stale = none :: none | {reference(), partisan_queue:balance()}
}).

-opaque t() :: #account{}.
-export_type([t/0]).

%% Longer than a living sender takes from charging its message to sending it.
-define(SETTLE_AFTER, 30000).

%% @doc The account of a lane owned by the caller.
-spec new(partisan_lane:t()) -> t().
new(Lane) ->
    #account{lane = Lane, queue = partisan_lane:queue(Lane)}.

%% @doc The lane, with the time up to which charges have been written off.
-spec lane(t()) -> partisan_lane:t().
lane(#account{lane = Lane}) ->
    Lane.

%% @doc The number of messages charged and not credited.
-spec messages(t()) -> non_neg_integer().
messages(#account{queue = Queue}) ->
    partisan_queue:messages(Queue).

%% @doc Whether any sender waits for room.
-spec is_awaited(t()) -> boolean().
is_awaited(#account{waiting = Waiting}) ->
    not partisan_waiters:is_empty(Waiting).

%% @doc A message on its way into the batch: not credited if its charge has been written off.
-spec item(Sent, t()) -> partisan_batch:item() when
    Sent :: {ChargedAt :: integer(), partisan_frame:t()} | {slot, partisan_lane:slot()}.
item({slot, _} = Item, _Account) ->
    Item;
item({ChargedAt, Frame} = Item, #account{lane = Lane}) ->
    case partisan_lane:is_owed(Lane, ChargedAt) of
        true -> Item;
        false -> {settled, ChargedAt, Frame}
    end.

%% @doc A message has arrived: the balance changes and is not stale.
-spec moved(t()) -> t().
moved(#account{stale = none} = A) ->
    A;
moved(#account{stale = {Timer, _}} = A) ->
    _ = erlang:cancel_timer(Timer),
    A#account{stale = none}.

%% @doc Credits the account for messages written or lost.
-spec credit(partisan_batch:write(), t()) -> t().
credit(#{owed := Messages, charged := Charged}, #account{queue = Queue} = A) ->
    ok = partisan_queue:release(Queue, Messages, Charged),
    wake(A).

%% @doc The lane is idle. The remaining balance belongs to senders that have not sent yet, or were
%% killed before they could; `{timeout, Timer, settle}' distinguishes them.
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

%% @doc Writes off a balance unchanged since this timer was started; no-op for a cancelled timer.
%%
%% A sender frozen for that long, together with this node, still sends: from the time of the charge
%% the lane knows that it has already been credited.
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

%% @doc Appends a sender that waits for room.
-spec await(partisan_waiters:waiter(), t()) -> t().
await(Waiter, #account{waiting = Waiting, queue = Queue} = A) ->
    wake(A#account{waiting = partisan_waiters:add(Waiter, Queue, Waiting)}).

%% @doc The message of a granted sender has arrived.
-spec used(reference(), t()) -> t().
used(Alias, #account{waiting = Waiting} = A) ->
    A#account{waiting = partisan_waiters:used(Alias, Waiting)}.

%% @doc Removes a sender that gave up or died; its grant is credited.
-spec leave(reference(), t()) -> t().
leave(Alias, #account{waiting = Waiting, queue = Queue} = A) ->
    wake(A#account{waiting = partisan_waiters:leave(Alias, Queue, Waiting)}).

%% @doc Wakes the senders that there is room for.
-spec wake(t()) -> t().
wake(#account{waiting = Waiting, queue = Queue} = A) ->
    A#account{waiting = partisan_waiters:wake(Queue, Waiting)}.

%% @doc Dismisses all waiting senders: the lane accepts nothing more.
-spec dismiss(t()) -> t().
dismiss(#account{waiting = Waiting, queue = Queue} = A) ->
    A#account{waiting = partisan_waiters:dismiss(Queue, Waiting)}.

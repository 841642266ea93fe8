%%% @doc The bound of a lane's queue, shared by its senders and its lane.
%%%
%%% The queue itself is the lane's mailbox; this is its account, in bytes and messages. Senders
%%% charge it before they send, and the lane credits it once its socket has taken the bytes. A
%%% message larger than the limit may enter an empty queue, so that it can be sent at all. While an
%%% account is held, only its lane charges it, for the waiting senders ({@link partisan_waiters}). A
%%% sealed queue accepts nothing more.
-module(partisan_queue).

-export([new/1]).
-export([reserve/2]).
-export([release/3]).
-export([seal/1]).
-export([is_sealed/1]).
%% For the lane.
-export([hold/1]).
-export([unhold/1]).
-export([has_room/2]).
-export([charge/2]).
%% Contents.
-export([bytes/1]).
-export([messages/1]).
-export([balance/1]).

-define(BYTES, 1).
-define(MESSAGES, 2).

%% Added to the bytes of a sealed queue: more than they can reach, yet it can be added many times.
-define(SEAL, (1 bsl 50)).
%% Added to the bytes of a held queue.
-define(HOLD, (1 bsl 49)).

-record(queue, {account :: atomics:atomics_ref(), limit :: pos_integer()}).
-opaque t() :: #queue{}.
-type balance() :: {Messages :: non_neg_integer(), Bytes :: non_neg_integer()}.
-export_type([t/0, balance/0]).

%% @doc An empty queue of at most that many bytes.
-spec new(Limit :: pos_integer()) -> t().
new(Limit) ->
    #queue{account = atomics:new(2, []), limit = Limit}.

%% @doc Charges one message of this size, unless the queue is full, held or sealed.
-spec reserve(t(), Bytes :: pos_integer()) -> ok | full | sealed.
reserve(#queue{account = Account, limit = Limit}, Bytes) ->
    case atomics:add_get(Account, ?BYTES, Bytes) of
        Total when Total =< Limit; Total =:= Bytes ->
            atomics:add(Account, ?MESSAGES, 1);
        Total ->
            atomics:sub(Account, ?BYTES, Bytes),
            case Total >= ?SEAL of
                true -> sealed;
                false -> full
            end
    end.

%% @doc Credits messages that have left the queue.
-spec release(t(), Messages :: non_neg_integer(), Bytes :: non_neg_integer()) -> ok.
release(#queue{account = Account}, Messages, Bytes) ->
    atomics:sub(Account, ?MESSAGES, Messages),
    atomics:sub(Account, ?BYTES, Bytes).

%% @doc Seals the queue: no more charges. Messages already charged may still come.
-spec seal(t()) -> ok.
seal(#queue{account = Account}) ->
    atomics:add(Account, ?BYTES, ?SEAL).

%% @doc Whether the queue is sealed.
-spec is_sealed(t()) -> boolean().
is_sealed(#queue{account = Account}) ->
    atomics:get(Account, ?BYTES) >= ?SEAL.

%% @doc Makes the queue full for all but its lane.
-spec hold(t()) -> ok.
hold(#queue{account = Account}) ->
    atomics:add(Account, ?BYTES, ?HOLD).

%% @doc Ends a `hold/1'.
-spec unhold(t()) -> ok.
unhold(#queue{account = Account}) ->
    atomics:sub(Account, ?BYTES, ?HOLD).

%% @doc Whether the queue has drained enough to wake a sender of that many bytes: to half at least,
%% so that senders are not woken for a byte each.
-spec has_room(t(), Bytes :: pos_integer()) -> boolean().
has_room(#queue{limit = Limit} = Queue, Bytes) ->
    bytes(Queue) =< max(0, min(Limit div 2, Limit - Bytes)).

%% @doc Charges one message of this size to a held queue; `false' if it does not fit.
-spec charge(t(), Bytes :: pos_integer()) -> boolean().
charge(#queue{account = Account, limit = Limit} = Queue, Bytes) ->
    Held = bytes(Queue),
    case Held + Bytes =< Limit orelse Held =:= 0 of
        true ->
            ok = atomics:add(Account, ?MESSAGES, 1),
            ok = atomics:add(Account, ?BYTES, Bytes),
            true;
        false ->
            false
    end.

%% @doc The bytes charged.
-spec bytes(t()) -> non_neg_integer().
bytes(#queue{account = Account}) ->
    atomics:get(Account, ?BYTES) band (?HOLD - 1).

%% @doc The messages charged.
-spec messages(t()) -> non_neg_integer().
messages(#queue{account = Account}) ->
    atomics:get(Account, ?MESSAGES).

%% @doc Messages and bytes.
-spec balance(t()) -> balance().
balance(Queue) ->
    {messages(Queue), bytes(Queue)}.

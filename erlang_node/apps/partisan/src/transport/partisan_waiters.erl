%%% @doc The senders that wait for room in a lane, in order.
%%%
%%% While there are any, the account is held ({@link partisan_queue}): later senders wait behind
%%% them, or a large message would wait for as long as small ones keep coming. The lane charges the
%%% account for a waiter that there is room for, so that it is woken once, and sends.
-module(partisan_waiters).

-export([new/0]).
-export([is_empty/1]).
-export([add/3]).
-export([cancel/3]).
-export([wake/2]).
-export([dismiss/2]).

%% The alias that its answer goes to, the sender, and the bytes it wants.
-type waiter() :: {reference(), pid(), Bytes :: pos_integer()}.
-opaque t() :: queue:queue(waiter()).
-export_type([t/0, waiter/0]).

-spec new() -> t().
new() ->
    queue:new().

-spec is_empty(t()) -> boolean().
is_empty(Waiters) ->
    queue:is_empty(Waiters).

%% @doc Adds a sender after all others.
-spec add(waiter(), partisan_queue:t(), t()) -> t().
add(Waiter, Queue, Waiters) ->
    ok =
        case queue:is_empty(Waiters) of
            true -> partisan_queue:hold(Queue);
            false -> ok
        end,
    queue:in(Waiter, Waiters).

%% @doc A sender waits no longer. `false': it is none of them, so it was granted its room.
-spec cancel(reference(), partisan_queue:t(), t()) -> {boolean(), t()}.
cancel(Alias, Queue, Waiters) ->
    Others = queue:filter(fun({Other, _, _}) -> Other =/= Alias end, Waiters),
    {queue:len(Others) < queue:len(Waiters), settled(Waiters, Others, Queue)}.

%% @doc Wakes those at the head of the line that there is room for: once there is plenty for the
%% first one, lest each be woken for a byte.
-spec wake(partisan_queue:t(), t()) -> t().
wake(Queue, Waiters) ->
    case queue:peek(Waiters) of
        {value, {_, _, Bytes}} ->
            case partisan_queue:has_room(Queue, Bytes) of
                true -> settled(Waiters, grant(Queue, Waiters), Queue);
                false -> Waiters
            end;
        empty ->
            Waiters
    end.

%% @doc Sends all of them away: the lane takes nothing more.
-spec dismiss(partisan_queue:t(), t()) -> t().
dismiss(Queue, Waiters) ->
    ok = lists:foreach(
        fun({Alias, _, _}) -> Alias ! {Alias, closed} end, queue:to_list(Waiters)
    ),
    settled(Waiters, queue:new(), Queue).

%% Internals.

grant(Queue, Waiters) ->
    case queue:out(Waiters) of
        {{value, {Alias, Sender, Bytes}}, Others} ->
            % Nothing is charged for one that has died waiting.
            case is_process_alive(Sender) of
                false ->
                    grant(Queue, Others);
                true ->
                    case partisan_queue:charge(Queue, Bytes) of
                        true ->
                            Alias ! {Alias, room, erlang:monotonic_time()},
                            grant(Queue, Others);
                        false ->
                            Waiters
                    end
            end;
        {empty, None} ->
            None
    end.

settled(Before, After, Queue) ->
    case queue:is_empty(After) andalso not queue:is_empty(Before) of
        true -> ok = partisan_queue:unhold(Queue);
        false -> ok
    end,
    After.

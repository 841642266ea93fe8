%%% @doc The senders waiting for room in a lane, in order.
%%%
%%% While there are any, the account is held ({@link partisan_queue}): later senders wait behind
%%% them; otherwise a large message would wait for as long as small ones keep coming. The lane
%%% charges the account for a waiter once there is room for it, so that the waiter wakes once, and
%%% sends. The lane monitors it until its message comes, and credits the charge if it dies.
-module(partisan_waiters).

-export([new/0]).
-export([is_empty/1]).
-export([add/3]).
-export([wake/2]).
-export([used/2]).
-export([leave/3]).
-export([dismiss/2]).
-export([settled/1]).

%% The alias for the answer, the sender, and the bytes it wants.
-type waiter() :: {reference(), pid(), Bytes :: pos_integer()}.

-record(waiters, {
    line = queue:new() :: queue:queue(waiter()),
    % Granted their bytes, not sent yet, with their monitors.
    granted = #{} :: #{reference() => {reference(), Bytes :: pos_integer()}}
}).
-opaque t() :: #waiters{}.
-export_type([t/0, waiter/0]).

%% @doc No sender waits.
-spec new() -> t().
new() ->
    #waiters{}.

%% @doc Whether no sender waits.
-spec is_empty(t()) -> boolean().
is_empty(#waiters{line = Line}) ->
    queue:is_empty(Line).

%% @doc Appends a sender.
-spec add(waiter(), partisan_queue:t(), t()) -> t().
add(Waiter, Queue, #waiters{line = Line} = Waiters) ->
    ok =
        case queue:is_empty(Line) of
            true -> partisan_queue:hold(Queue);
            false -> ok
        end,
    Waiters#waiters{line = queue:in(Waiter, Line)}.

%% @doc Wakes waiters in order while there is room, once there is plenty for the first one, so that
%% they are not woken for a byte each. If one dies before it sends, the caller gets `{{gone, Alias},
%% _, process, _, _}'.
-spec wake(partisan_queue:t(), t()) -> t().
wake(Queue, #waiters{line = Line} = Waiters) ->
    case queue:peek(Line) of
        {value, {_, _, Bytes}} ->
            case partisan_queue:has_room(Queue, Bytes) of
                true -> grant(Queue, Waiters);
                false -> Waiters
            end;
        empty ->
            Waiters
    end.

%% @doc The message of a granted sender has arrived.
-spec used(reference(), t()) -> t().
used(Alias, #waiters{granted = Granted} = Waiters) ->
    case maps:take(Alias, Granted) of
        {{Monitor, _}, Others} ->
            true = demonitor(Monitor, [flush]),
            Waiters#waiters{granted = Others};
        error ->
            Waiters
    end.

%% @doc Removes a sender that gave up or died; its grant is credited.
-spec leave(reference(), partisan_queue:t(), t()) -> t().
leave(Alias, Queue, #waiters{line = Line, granted = Granted} = Waiters) ->
    case Granted of
        #{Alias := {_, Bytes}} ->
            ok = partisan_queue:release(Queue, 1, Bytes),
            used(Alias, Waiters);
        #{} ->
            Others = queue:filter(fun({Other, _, _}) -> Other =/= Alias end, Line),
            in_line(Others, Queue, Waiters)
    end.

%% @doc Dismisses all waiters: the lane accepts nothing more.
-spec dismiss(partisan_queue:t(), t()) -> t().
dismiss(Queue, #waiters{line = Line} = Waiters) ->
    ok = lists:foreach(fun({Alias, _, _}) -> Alias ! {Alias, closed} end, queue:to_list(Line)),
    in_line(queue:new(), Queue, Waiters).

%% @doc Notes that all grants have been credited.
-spec settled(t()) -> t().
settled(#waiters{granted = Granted} = Waiters) ->
    lists:foldl(fun used/2, Waiters, maps:keys(Granted)).

%% Internals.

grant(Queue, #waiters{line = Line, granted = Granted} = Waiters) ->
    case queue:peek(Line) of
        {value, {Alias, Sender, Bytes}} ->
            case partisan_queue:charge(Queue, Bytes) of
                true ->
                    Monitor = monitor(process, Sender, [{tag, {gone, Alias}}]),
                    Alias ! {Alias, room, erlang:monotonic_time()},
                    Given = Waiters#waiters{granted = Granted#{Alias => {Monitor, Bytes}}},
                    grant(Queue, in_line(queue:drop(Line), Queue, Given));
                false ->
                    Waiters
            end;
        empty ->
            Waiters
    end.

in_line(After, Queue, #waiters{line = Before} = Waiters) ->
    case queue:is_empty(After) andalso not queue:is_empty(Before) of
        true -> ok = partisan_queue:unhold(Queue);
        false -> ok
    end,
    Waiters#waiters{line = After}.

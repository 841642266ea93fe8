%%% @doc Events in the order of their time, and in the order of their numbers at the same time.
%%%
%%% Most events are messages. All of them are under way for the same time, so each is later than
%%% those before it: they form a list. Others, above all timers, are in a pairing heap (Fredman,
%%% Sedgewick, Sleator, Tarjan: "The pairing heap", Algorithmica 1986, section 2). Copies share all
%%% but the ends.
-module(verify_queue).

-export([new/0]).
-export([append/4]).
-export([insert/4]).
-export([take/1]).
-export([time/1]).
-export([take_first/2]).
-export([filter/2]).
-export([to_list/1]).

-type time() :: non_neg_integer().
-type event() :: {time(), non_neg_integer(), term()}.

%% Its first event, and the heaps below it, which are all later.
-type heap() :: empty | {time(), non_neg_integer(), term(), [heap()]}.

%% `front' in order, `back' in reverse order and later than it.
-record(queue, {
    front = [] :: [event()],
    back = [] :: [event()],
    heap = empty :: heap()
}).

-opaque t() :: #queue{}.
-export_type([t/0]).

%% @doc A queue without events.
-spec new() -> t().
new() ->
    #queue{}.

%% @doc Adds an event. No two events have the same time and number.
-spec insert(time(), non_neg_integer(), term(), t()) -> t().
insert(Time, Number, Value, #queue{heap = Heap} = Q) ->
    Q#queue{heap = merge({Time, Number, Value, []}, Heap)}.

%% @doc Adds an event that is not earlier than others added in this way; otherwise as
%% {@link insert/4}.
-spec append(time(), non_neg_integer(), term(), t()) -> t().
append(Time, Number, Value, #queue{back = [{Last, _, _} | _] = Back} = Q) when Time >= Last ->
    Q#queue{back = [{Time, Number, Value} | Back]};
append(Time, Number, Value, #queue{front = [], back = []} = Q) ->
    Q#queue{back = [{Time, Number, Value}]};
append(Time, Number, Value, Q) ->
    insert(Time, Number, Value, Q).

%% @doc The first event and the queue without it.
-spec take(t()) -> {time(), non_neg_integer(), term(), t()} | empty.
take(#queue{front = [], back = [_ | _] = Back} = Q) ->
    take(Q#queue{front = lists:reverse(Back), back = []});
take(#queue{front = [], heap = empty}) ->
    empty;
take(#queue{front = [{Time, Number, Value} | Front], heap = empty} = Q) ->
    {Time, Number, Value, Q#queue{front = Front}};
take(#queue{front = [{Time, Number, Value} | Front], heap = {At, N, _, _}} = Q) when
    Time < At; Time =:= At, Number < N
->
    {Time, Number, Value, Q#queue{front = Front}};
take(#queue{heap = {Time, Number, Value, Later}} = Q) ->
    {Time, Number, Value, Q#queue{heap = merge_pairs(Later)}}.

%% @doc The time of the first event.
-spec time(t()) -> time() | empty.
time(Queue) ->
    case take(Queue) of
        {Time, _Number, _Value, _Rest} -> Time;
        empty -> empty
    end.

%% @doc The first event for which the function holds, and the queue without it.
-spec take_first(fun((term()) -> boolean()), t()) -> {term(), t()}.
take_first(Is, Queue) ->
    {Before, [{_Time, _Number, Value} | After]} =
        lists:splitwith(fun({_, _, Value}) -> not Is(Value) end, to_list(Queue)),
    {Value, from_list(Before ++ After)}.

%% @doc The queue without the events for which the function does not hold.
-spec filter(fun((term()) -> boolean()), t()) -> t().
filter(Is, Queue) ->
    from_list([Event || {_, _, Value} = Event <- to_list(Queue), Is(Value)]).

%% @doc All events in order.
-spec to_list(t()) -> [event()].
to_list(#queue{front = Front, back = Back, heap = Heap}) ->
    lists:sort(Front ++ Back ++ flatten([Heap], [])).

%% Internals.

from_list(Events) ->
    Insert = fun({Time, Number, Value}, Queue) -> insert(Time, Number, Value, Queue) end,
    lists:foldl(Insert, new(), Events).

merge(empty, B) ->
    B;
merge(A, empty) ->
    A;
merge({TimeA, NumberA, ValueA, LaterA} = A, {TimeB, NumberB, ValueB, LaterB} = B) ->
    if
        TimeA < TimeB; TimeA =:= TimeB, NumberA < NumberB ->
            {TimeA, NumberA, ValueA, [B | LaterA]};
        true ->
            {TimeB, NumberB, ValueB, [A | LaterB]}
    end.

merge_pairs([A, B | Rest]) -> merge(merge(A, B), merge_pairs(Rest));
merge_pairs([A]) -> A;
merge_pairs([]) -> empty.

flatten([], Events) ->
    Events;
flatten([empty | Heaps], Events) ->
    flatten(Heaps, Events);
flatten([{Time, Number, Value, Later} | Heaps], Events) ->
    flatten(Later ++ Heaps, [{Time, Number, Value} | Events]).

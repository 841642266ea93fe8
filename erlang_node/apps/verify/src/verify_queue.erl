%%% @doc Events in the order of their time, and in the order of their numbers at the same time.
%%%
%%% A pairing heap (Fredman, Sedgewick, Sleator, Tarjan: "The pairing heap", Algorithmica 1986,
%%% section 2): insertion is one comparison, and a copy shares all but its root.
-module(verify_queue).

-export([new/0]).
-export([insert/4]).
-export([take/1]).
-export([take_first/2]).
-export([time/1]).
-export([to_list/1]).

-type time() :: non_neg_integer().

%% A node: its time, number, value, and the heaps below it, which are all later.
-opaque t() :: empty | {time(), non_neg_integer(), term(), [t()]}.
-export_type([t/0]).

%% @doc A queue without events.
-spec new() -> t().
new() ->
    empty.

%% @doc Adds an event. No two events have the same time and number.
-spec insert(time(), non_neg_integer(), term(), t()) -> t().
insert(Time, Number, Value, Queue) ->
    merge({Time, Number, Value, []}, Queue).

%% @doc The first event and the queue without it.
-spec take(t()) -> {time(), non_neg_integer(), term(), t()} | empty.
take(empty) ->
    empty;
take({Time, Number, Value, Later}) ->
    {Time, Number, Value, merge_pairs(Later)}.

%% @doc The first event for which the function holds, and the queue without it.
-spec take_first(fun((term()) -> boolean()), t()) -> {term(), t()}.
take_first(Is, Queue) ->
    {Before, [{_Time, _Number, Value} | After]} =
        lists:splitwith(fun({_, _, Value}) -> not Is(Value) end, to_list(Queue)),
    Insert = fun({Time, Number, Other}, Rest) -> insert(Time, Number, Other, Rest) end,
    {Value, lists:foldl(Insert, new(), Before ++ After)}.

%% @doc The time of the first event.
-spec time(t()) -> time() | empty.
time(empty) -> empty;
time({Time, _Number, _Value, _Later}) -> Time.

%% @doc All events in order.
-spec to_list(t()) -> [{time(), non_neg_integer(), term()}].
to_list(Queue) ->
    lists:sort(flatten([Queue], [])).

%% Internals.

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

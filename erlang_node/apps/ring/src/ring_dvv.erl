%%% @doc The values of one key with their causality: a dotted version vector set.
%%%
%%% Preguiça, Baquero, Almeida, Fonte, Gonçalves, "Dotted version vectors: logical clocks for
%%% optimistic replication" (2010). Every write has a *dot*, a number that its actor gives out once.
%%% A set is a clock, which covers all writes that the set knows of, and the values of those writes
%%% that no other one has replaced:
%%%
%%% ```
%%% clock   [{{7, {1, 90}}, 4}, {{8, {1, 55}}, 2}]         by actor, the last dot known
%%% values  [{{{7, {1, 90}}, 4}, <<"a">>}]                 by dot; none is a tombstone
%%% '''
%%%
%%% A write replaces what the context of its client covers, and nothing else; concurrent writes stay
%%% side by side. An actor is an index and an incarnation of its replica, so a replica that has lost
%%% its memory never gives out a dot again. Dots of one actor may have gaps for a key: the actor
%%% numbers the writes of all its keys.
%%%
%%% Two sets with the same clock and dots are equal: a digest need not read the values.
-module(ring_dvv).

-export([new/0]).
-export([write/4]).
-export([merge/2]).
-export([values/1]).
-export([dots/1]).
-export([entries/1]).
-export([context/1]).
-export([is_context/1]).
-export([is_new/1]).
-export([is_tombstone/1]).
-export([covers/2]).
-export([is_covered/2]).
-export([join/2]).
-export([digest/2]).

-type actor() :: {ring_state:index(), ring_state:incarnation()}.
-type dot() :: {actor(), pos_integer()}.
%% In the order of actors.
-type context() :: [dot()].
-type value() :: term().
-opaque t() :: {context(), [{dot(), value()}]}.

-export_type([t/0, actor/0, dot/0, context/0, value/0]).

%% @doc The set of a key that has never been written.
-spec new() -> t().
new() ->
    {[], []}.

%% @doc A write with a new dot, larger than all of its actor: replaces what the context covers.
%% `none' deletes.
-spec write(dot(), {value, value()} | none, context(), t()) -> t().
write(Dot, Value, Context, {Clock, Values}) ->
    Kept = [Entry || {Old, _} = Entry <- Values, not is_covered(Old, Context)],
    Joined = join([Dot], join(Context, Clock)),
    case Value of
        {value, New} -> {Joined, orddict:store(Dot, New, Kept)};
        none -> {Joined, Kept}
    end.

%% @doc The join of two sets: a value that one of them has and the other's clock covers has been
%% replaced.
-spec merge(t(), t()) -> t().
merge(A, A) ->
    A;
merge({ClockA, ValuesA}, {ClockB, ValuesB}) ->
    Left = [E || {Dot, _} = E <- ValuesA, keep(Dot, ValuesB, ClockB)],
    Right = [E || {Dot, _} = E <- ValuesB, keep(Dot, ValuesA, ClockA)],
    {join(ClockA, ClockB), lists:ukeymerge(1, Left, Right)}.

%% @doc The values, in the order of their dots.
-spec values(t()) -> [value()].
values({_, Values}) ->
    [Value || {_, Value} <- Values].

%% @doc The dots of the values.
-spec dots(t()) -> [dot()].
dots({_, Values}) ->
    [Dot || {Dot, _} <- Values].

%% @doc The values by dot, in order.
-spec entries(t()) -> [{dot(), value()}].
entries({_, Values}) ->
    Values.

%% @doc The clock, for the next write of a client.
-spec context(t()) -> context().
context({Clock, _}) ->
    Clock.

%% @doc Whether a term is a context. Any other would stop the replicas that execute a write with it.
-spec is_context(term()) -> boolean().
is_context([]) ->
    true;
is_context([{{Index, {Epoch, Start}} = Actor, N} | Dots]) when
    is_integer(Index), Index >= 0, is_integer(Epoch), Epoch >= 0, is_integer(Start), Start >= 0,
    is_integer(N), N >= 1
->
    is_after(Actor, Dots) andalso is_context(Dots);
is_context(_) ->
    false.

%% @doc Whether the key has never been written.
-spec is_new(t()) -> boolean().
is_new({Clock, _}) ->
    Clock =:= [].

%% @doc Whether the key has been written, and deleted.
-spec is_tombstone(t()) -> boolean().
is_tombstone({Clock, Values}) ->
    Clock =/= [] andalso Values =:= [].

%% @doc Whether the first context covers the second.
-spec covers(context(), context()) -> boolean().
covers(Context, Other) ->
    lists:all(fun(Dot) -> is_covered(Dot, Context) end, Other).

%% @doc Whether a context covers a dot.
-spec is_covered(dot(), context()) -> boolean().
is_covered({Actor, N}, Context) ->
    case lists:keyfind(Actor, 1, Context) of
        {_, Last} -> N =< Last;
        false -> false
    end.

%% @doc The least context that covers both.
-spec join(context(), context()) -> context().
join(A, A) -> A;
join(A, B) -> orddict:merge(fun(_, M, N) -> max(M, N) end, A, B).

%% @doc Hash of a key and of what has happened to it: equal on nodes of all OTP releases.
-spec digest(Key :: binary(), t()) -> non_neg_integer().
digest(Key, {Clock, Values}) ->
    Dots = [[encode(Dot) || Dot <- Clock], 0, [encode(Dot) || {Dot, _} <- Values]],
    <<Hash:64, _/binary>> = erlang:md5([<<(byte_size(Key)):32>>, Key | Dots]),
    Hash.

%% Internals.

is_after(Actor, [{Next, _} | _]) -> Actor < Next;
is_after(_Actor, _) -> true.

keep(Dot, OtherValues, OtherClock) ->
    lists:keymember(Dot, 1, OtherValues) orelse not is_covered(Dot, OtherClock).

encode({{Index, {Epoch, Start}}, N}) ->
    <<Index:32, Epoch:64, Start:64, N:64>>.

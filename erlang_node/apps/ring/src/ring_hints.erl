%%% @doc Hints: writes that a node keeps as a stand-in for holders out of reach.
%%%
%%% ```
%%% hints   {3, <<"key">>} -> Set      by partition and key, the join of all writes kept of the key
%%% '''
%%%
%%% DeCandia et al., "Dynamo: Amazon's highly available key-value store" (2007), section 4.6. Here a
%%% hint belongs to a partition, not to one of its holders, and to a node, not to one of its
%%% indexes: so a change of the plan does not concern it.
%%%
%%% A hint is delivered by a request `store' ({@link ring_request}) to all indexes of the partition,
%%% and goes only when as many as the write asked for have confirmed the whole set: from then on the
%%% write is as good as one that was acknowledged without hints. A repeated delivery has no effect,
%%% because stored sets are joined.
%%%
%%% == Dots ==
%%% If no holder is in reach the stand-in executes the write, as an actor of its own. A set that
%%% covers a dot covers all smaller ones of its actor, so the actor lasts no longer than the hint:
%%% with it goes the knowledge of the earlier writes.
%%%
%%% == Bounds ==
%%% A hint beyond the bound on number or bytes is refused. One that grows too old is given up, which
%%% the caller must report: older copies than the grace of a tombstone could bring a key back.
-module(ring_hints).

-export([new/1]).
-export([handle/3]).
-export([due/3]).
-export([delivered/5]).
-export([count/1]).
-export([sets/1]).

-type milliseconds() :: integer().
-type partition() :: ring_view:partition().
-type key() :: ring_replica:key().

%% `count': hints at most, `bytes': of all their sets, encoded. `age': milliseconds for which a hint
%% is kept; zero: none are.
-type limits() :: #{
    count := non_neg_integer(), bytes := non_neg_integer(), age := non_neg_integer()
}.

%% `write': executes a write of a client. `keep': keeps the result of one. `Quorum': replicas that
%% must store it.
-type command() ::
    {write, key(), {value, ring_dvv:value()} | none, ring_dvv:context(), Quorum :: pos_integer()}
    | {keep, key(), ring_dvv:t(), Quorum :: pos_integer()}.

%% `actor': one that has never existed, or `none' if this node is not a member.
-type info() :: #{
    partition := partition(), now := milliseconds(), actor := ring_dvv:actor() | none
}.

-type answer() :: {kept, {written, ring_dvv:dot(), ring_dvv:t()} | stored} | refused.
-type delivery() :: {partition(), key(), ring_dvv:t(), Quorum :: pos_integer()}.

-export_type([limits/0, command/0, info/0, answer/0, delivery/0]).

-record(hint, {
    set :: ring_dvv:t(),
    quorum :: pos_integer(),
    % The time of the oldest write.
    since :: milliseconds(),
    % Of the set and its key, encoded.
    bytes :: pos_integer(),
    % The last dot given out here.
    dot = none :: none | ring_dvv:dot(),
    % When it was last tried to be delivered, and whether there was no result yet.
    tried = none :: none | milliseconds(),
    is_sent = false :: boolean()
}).

-record(hints, {
    limits :: limits(),
    hints = #{} :: #{{partition(), key()} => #hint{}},
    bytes = 0 :: non_neg_integer()
}).

-opaque t() :: #hints{}.

-export_type([t/0]).

%% Deliveries under way at once.
-define(DELIVERIES, 64).
%% Milliseconds between two deliveries of a hint, and after which one without a result is repeated.
-define(AGAIN_MS, 1000).
-define(LATE_MS, 30000).

%% @doc No hints.
-spec new(limits()) -> t().
new(Limits) ->
    #hints{limits = Limits}.

%% @doc Executes a command. `refused': there is no room; nothing was executed.
-spec handle(command(), info(), t()) -> {answer(), t()}.
handle(_Command, _Info, #hints{limits = #{age := 0}} = Hints) ->
    {refused, Hints};
handle({write, _, _, _, _}, #{actor := none}, Hints) ->
    {refused, Hints};
handle({write, Key, Value, Context, Quorum}, #{partition := P, now := Now} = Info, Hints) ->
    #hint{set = Set, dot = Last} = Hint = find({P, Key}, Now, Hints),
    Dot =
        case Last of
            none -> {maps:get(actor, Info), 1};
            {Actor, N} -> {Actor, N + 1}
        end,
    Written = ring_dvv:write(Dot, Value, Context, Set),
    put({P, Key}, Hint#hint{set = Written, dot = Dot}, Quorum, {written, Dot, Written}, Hints);
handle({keep, Key, Set, Quorum}, #{partition := P, now := Now}, Hints) ->
    #hint{set = Before} = Hint = find({P, Key}, Now, Hints),
    put({P, Key}, Hint#hint{set = ring_dvv:merge(Before, Set)}, Quorum, stored, Hints).

%% @doc The hints to deliver now, those whose partitions are ready first tried longest ago; and
%% those that have grown too old, which are gone.
-spec due(milliseconds(), IsReady :: fun((partition(), pos_integer()) -> boolean()), t()) ->
    {Due :: [delivery()], Expired :: [delivery()], t()}.
due(_Now, _IsReady, #hints{hints = Kept} = Hints) when map_size(Kept) =:= 0 ->
    {[], [], Hints};
due(Now, IsReady, #hints{limits = #{age := Age}, hints = All} = Hints) ->
    Old = maps:filter(fun(_, #hint{since = Since}) -> Now - Since >= Age end, All),
    #hints{hints = Kept} = Left = lists:foldl(fun remove/2, Hints, maps:keys(Old)),
    Sent = length([
        sent
     || #hint{is_sent = true, tried = At} <- maps:values(Kept), not late(Now, At)
    ]),
    Waiting = lists:sort([
        {tried(Hint), Id}
     || {Id, #hint{tried = At, is_sent = IsSent} = Hint} <- maps:to_list(Kept),
        At =:= none orelse Now - At >= ?AGAIN_MS,
        not IsSent orelse late(Now, At)
    ]),
    Due = ready(Waiting, max(0, ?DELIVERIES - Sent), IsReady, Left),
    {
        [delivery(Id, map_get(Id, Kept)) || Id <- Due],
        [delivery(Id, map_get(Id, Old)) || Id <- lists:sort(maps:keys(Old))],
        Left#hints{
            hints = lists:foldl(
                fun(Id, Acc) ->
                    maps:update_with(Id, fun(H) -> H#hint{is_sent = true, tried = Now} end, Acc)
                end,
                Kept,
                Due
            )
        }
    }.

%% @doc The result of a delivery. Only `ok', for the set that is kept now, ends a hint.
-spec delivered(partition(), key(), ring_dvv:t(), ok | error, t()) -> t().
delivered(P, Key, Set, Result, #hints{hints = Kept} = Hints) ->
    case {Result, Kept} of
        {ok, #{{P, Key} := #hint{set = Set}}} -> remove({P, Key}, Hints);
        {ok, #{{P, Key} := Hint}} -> again({P, Key}, Hint#hint{tried = none}, Hints);
        {error, #{{P, Key} := Hint}} -> again({P, Key}, Hint, Hints);
        {_, #{}} -> Hints
    end.

%% @doc The number of hints.
-spec count(t()) -> non_neg_integer().
count(#hints{hints = Kept}) ->
    map_size(Kept).

%% @doc The keys with their sets.
-spec sets(t()) -> [{key(), ring_dvv:t()}].
sets(#hints{hints = Kept}) ->
    [{Key, Set} || {{_, Key}, #hint{set = Set}} <- lists:sort(maps:to_list(Kept))].

%% Internals.

find(Id, Now, #hints{hints = Kept}) ->
    New = #hint{set = ring_dvv:new(), quorum = 1, since = Now, bytes = 1},
    maps:get(Id, Kept, New).

put(Id, #hint{set = Set, quorum = Before} = Hint, Quorum, Reply, Hints) ->
    #hints{limits = #{count := Count, bytes := Bytes}, hints = Kept} = Hints,
    Next = Hint#hint{quorum = max(Quorum, Before), bytes = erlang:external_size({Id, Set})},
    Without = remove(Id, Hints),
    Sum = Without#hints.bytes + Next#hint.bytes,
    case (is_map_key(Id, Kept) orelse map_size(Kept) < Count) andalso Sum =< Bytes of
        true -> {{kept, Reply}, Without#hints{hints = Kept#{Id => Next}, bytes = Sum}};
        false -> {refused, Hints}
    end.

remove(Id, #hints{hints = Kept, bytes = Bytes} = Hints) ->
    case maps:take(Id, Kept) of
        {#hint{bytes = Gone}, Left} -> Hints#hints{hints = Left, bytes = Bytes - Gone};
        error -> Hints
    end.

again(Id, Hint, #hints{hints = Kept} = Hints) ->
    Hints#hints{hints = Kept#{Id := Hint#hint{is_sent = false}}}.

%% At most that many; a partition is asked for once.
ready(Waiting, Room, IsReady, #hints{hints = Kept}) ->
    {Due, _, _} = lists:foldl(
        fun
            (_, {_, 0, _} = Full) ->
                Full;
            ({_, {P, _} = Id}, {Acc, Free, Known}) ->
                #{Id := #hint{quorum = Quorum}} = Kept,
                Asked =
                    case Known of
                        #{{P, Quorum} := _} -> Known;
                        #{} -> Known#{{P, Quorum} => IsReady(P, Quorum)}
                    end,
                case Asked of
                    #{{P, Quorum} := true} -> {[Id | Acc], Free - 1, Asked};
                    #{} -> {Acc, Free, Asked}
                end
        end,
        {[], Room, #{}},
        Waiting
    ),
    lists:reverse(Due).

%% Never is before all times.
tried(#hint{tried = none}) -> {0, 0};
tried(#hint{tried = At}) -> {1, At}.

late(Now, At) ->
    Now - At >= ?LATE_MS.

delivery({P, Key}, #hint{set = Set, quorum = Quorum}) ->
    {P, Key, Set, Quorum}.

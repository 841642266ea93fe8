%%% @doc What the nodes of an ad counter run share, as one replicated value.
%%%
%%% ```
%%% start    1795224000123456                           the moment the run was started, or nothing
%%% counters 0 -> #{{<<"ads-0">>, 17} => 20, ...}       a grow-only counter for each ad
%%% barrier  <<"ads-0">> -> {17, 1, 20}                 life, done, own increments of each node
%%% sums     0 -> 640                                   a count of each ad, whoever has counted it
%%% '''
%%%
%%% The start is part of the value, so that telling one node is enough, and so that a node which
%%% comes late learns of the start together with the counts: it cannot know that the run has begun
%%% without knowing what its informant knew of the counters.
%%%
%%% An actor is one life of one node. The barrier says which life of a node is the present one; the
%%% entries of its earlier lives stay in the counters, where they count, and are listed by
%%% `superseded/1'.
%%%
%%% == Where sums are all that is synchronised ==
%%% ({@link lasp_sync_aggregate}), a node sees its own entries, those of lives that may be over, and
%%% the sums. Both are counts that have been made, so that the larger is the value. Of the barrier
%%% it sees how many nodes were done at the same time, at the most, and not which.
-module(adcounter_state).
-behaviour(lasp_lattice).
-behaviour(lasp_aggregate).

%% Deltas.
-export([started/1]).
-export([counted/3]).
-export([report/4]).
%% Queries.
-export([text/1]).
-export([started_at/1]).
-export([total/1]).
-export([count/2]).
-export([done/1]).
-export([seen/1]).
-export([value/2]).
-export([nodes_done/2]).
-export([superseded/1]).
-export([counters_digest/1]).
%% lasp_lattice.
-export([new/0]).
-export([merge/2]).
-export([difference/2]).
-export([to_parts/1]).
-export([size/1]).
-export([key/1]).
-export([path/1]).
-export([leaf/2]).
-export([join/3]).
%% lasp_aggregate.
-export([shared/1]).
-export([contribution/2]).
-export([total/2]).
-export([kept/1]).
-export([departed/1]).
-export([succeeded/2]).

-type ad() :: non_neg_integer().
%% A life of a node.
-type actor() :: {partisan_peer:name(), partisan_peer:incarnation()}.
-type microseconds() :: integer().

-record(adcounter, {
    start = lasp_min:new() :: lasp_min:t(),
    counters = lasp_gmap:new() :: lasp_gmap:t(lasp_gcounter:t()),
    barrier = lasp_gmap:new() :: lasp_gmap:t(lasp_max:t()),
    sums = lasp_gmap:new() :: lasp_gmap:t(lasp_max:t())
}).

%% Among the sums, which otherwise are of ads: the nodes that are done.
-define(DONE, -1).

-opaque t() :: #adcounter{}.

%% Where the leaf of a part is.
-type key() ::
    start
    | {sum, {ad() | ?DONE, []}}
    | {report, {partisan_peer:name(), []}, partisan_peer:incarnation()}
    | {count, {ad(), actor()}}.

%% What a node acts on. `done': nodes whose present life sees every ad disabled, in order;
%% `done_at_once': so many, where sums are all that is known.
-type seen() :: #{
    started_at := {ok, microseconds()} | none,
    values := #{ad() => non_neg_integer()},
    total := non_neg_integer(),
    done := [partisan_peer:name()],
    done_at_once := non_neg_integer()
}.

-export_type([t/0, ad/0, actor/0, microseconds/0, seen/0]).

%% Deltas.

%% @doc The run has been started at this moment. Of several the first one counts.
-spec started(microseconds()) -> t().
started(At) ->
    #adcounter{start = lasp_min:new(At)}.

%% @doc An actor has counted an ad so many times in all.
-spec counted(ad(), actor(), non_neg_integer()) -> t().
counted(Ad, Actor, Count) ->
    #adcounter{counters = lasp_gmap:entry(lasp_gcounter, Ad, lasp_gcounter:entry(Actor, Count))}.

%% @doc The present life of a node, whether it sees every ad disabled, and what it has counted. A
%% later life replaces the report of an earlier one.
-spec report(partisan_peer:name(), partisan_peer:incarnation(), boolean(), non_neg_integer()) ->
    t().
report(Name, Incarnation, Done, Increments) ->
    Report = {Incarnation, flag(Done), Increments},
    #adcounter{barrier = lasp_gmap:entry(lasp_max, Name, lasp_max:new(Report))}.

%% Queries.

%% @doc An actor as users read it: `ads-0/17'.
-spec text(actor()) -> binary().
text({Name, Incarnation}) ->
    <<Name/binary, $/, (integer_to_binary(Incarnation))/binary>>.

%% @doc When the run was started.
-spec started_at(t()) -> {ok, microseconds()} | none.
started_at(#adcounter{start = Start}) ->
    lasp_min:value(Start).

%% @doc The impressions of all ads.
-spec total(t()) -> non_neg_integer().
total(State) ->
    lists:sum(maps:values(values(State))).

%% @doc What an actor has counted, over all ads.
-spec count(actor(), t()) -> non_neg_integer().
count(Actor, #adcounter{counters = Counters}) ->
    lasp_gmap:fold(
        fun(_Ad, Counter, Sum) -> Sum + lasp_gcounter:count(Actor, Counter) end, 0, Counters
    ).

%% @doc The nodes whose present life sees every ad disabled, in order.
-spec done(t()) -> [partisan_peer:name()].
done(#adcounter{barrier = Barrier}) ->
    lists:sort(
        lasp_gmap:fold(
            fun(Name, Register, Names) -> [Name || is_done(Register)] ++ Names end, [], Barrier
        )
    ).

%% @doc What a node acts on: of a size that can be handed from process to process, as a value with
%% the counts of a thousand nodes cannot each time that it changes.
-spec seen(t()) -> seen().
seen(State = #adcounter{sums = Sums}) ->
    Values = values(State),
    #{
        started_at => started_at(State),
        values => Values,
        total => lists:sum(maps:values(Values)),
        done => done(State),
        done_at_once => sum(?DONE, Sums)
    }.

%% @doc The impressions of one ad.
-spec value(ad(), seen()) -> non_neg_integer().
value(Ad, #{values := Values}) ->
    maps:get(Ad, Values, 0).

%% @doc How many of these nodes are done.
-spec nodes_done(ordsets:ordset(partisan_peer:name()), seen()) -> non_neg_integer().
nodes_done(Members, #{done := Done, done_at_once := AtOnce}) ->
    Known = ordsets:intersection(Members, Done),
    max(length(Known), min(length(Members), AtOnce)).

%% @doc What earlier lives of nodes have counted as far as this replica knows, over all ads: the
%% actors whose node has reported under a later incarnation.
-spec superseded(t()) -> #{actor() => pos_integer()}.
superseded(#adcounter{counters = Counters, barrier = Barrier}) ->
    lasp_gmap:fold(
        fun(_Ad, Counter, Acc) ->
            lasp_gcounter:fold(
                fun(Actor, Count, Sums) ->
                    case is_old(Actor, Barrier) of
                        true -> maps:update_with(Actor, fun(Sum) -> Sum + Count end, Count, Sums);
                        false -> Sums
                    end
                end,
                Acc,
                Counter
            )
        end,
        #{},
        Counters
    ).

%% @doc The digest of the counters alone, and where there are sums of those alone: equal on two
%% nodes exactly when these are. It is asked for while the counters change all the time, so that
%% they are not put in order for it: it is the sum of the digests of their entries (Bellare,
%% Micciancio, "A new paradigm for collision-free hashing", 1997, section 4: AdHash).
-spec counters_digest(t()) -> lasp_lattice:digest().
counters_digest(#adcounter{counters = Counters, sums = Sums}) ->
    Digest =
        case lasp_gmap:size(lasp_max, Sums) of
            0 -> lasp_gmap:fold(fun add_counter/3, 0, Counters);
            _ -> lasp_gmap:fold(fun add_sum/3, 0, Sums)
        end,
    <<Digest:128>>.

%% lasp_lattice.

%% @private
-spec new() -> t().
new() ->
    #adcounter{}.

%% @private
-spec merge(t(), t()) -> t().
merge(A, B) ->
    #adcounter{
        start = lasp_min:merge(A#adcounter.start, B#adcounter.start),
        counters = lasp_gmap:merge(lasp_gcounter, A#adcounter.counters, B#adcounter.counters),
        barrier = lasp_gmap:merge(lasp_max, A#adcounter.barrier, B#adcounter.barrier),
        sums = lasp_gmap:merge(lasp_max, A#adcounter.sums, B#adcounter.sums)
    }.

%% @private
-spec difference(t(), Known :: t()) -> t().
difference(A, Known) ->
    #adcounter{counters = Counters, barrier = Barrier, sums = Sums} = A,
    #adcounter{
        start = lasp_min:difference(A#adcounter.start, Known#adcounter.start),
        counters = lasp_gmap:difference(lasp_gcounter, Counters, Known#adcounter.counters),
        barrier = lasp_gmap:difference(lasp_max, Barrier, Known#adcounter.barrier),
        sums = lasp_gmap:difference(lasp_max, Sums, Known#adcounter.sums)
    }.

%% @private
%% A life of a node is written once, for its report and its counts follow one another:
%% `[]' the start, `[Ad]' a sum, `[Name, Incarnation]' the report, `[Name, Incarnation, Ad]' a
%% count.
-spec to_parts(t()) -> [lasp_parts:part()].
to_parts(#adcounter{start = Start, counters = Counters, barrier = Barrier, sums = Sums}) ->
    Reports = [
        {[Name, Incarnation], Report}
     || {[Name], [Incarnation | Report]} <- lasp_gmap:to_parts(lasp_max, Barrier)
    ],
    Counts = lasp_gmap:fold(
        fun(Ad, Counter, Acc) ->
            lasp_gcounter:fold(
                fun({Name, Incarnation}, Count, Parts) ->
                    [{[Name, Incarnation, Ad], [Count]} | Parts]
                end,
                Acc,
                Counter
            )
        end,
        [],
        Counters
    ),
    lasp_min:to_parts(Start) ++ lasp_gmap:to_parts(lasp_max, Sums) ++ lists:sort(Reports ++ Counts).

%% @private
-spec size(t()) -> non_neg_integer().
size(#adcounter{start = Start, counters = Counters, barrier = Barrier, sums = Sums}) ->
    lasp_min:size(Start) + lasp_gmap:size(lasp_gcounter, Counters) +
        lasp_gmap:size(lasp_max, Barrier) + lasp_gmap:size(lasp_max, Sums).

%% @private
-spec key(lasp_parts:path()) -> {ok, key()} | error.
key([Name, Incarnation, Ad]) when
    is_binary(Name), is_integer(Incarnation), is_integer(Ad), Ad >= 0
->
    {ok, {count, {Ad, {Name, Incarnation}}}};
key([Name, Incarnation]) when is_binary(Name), is_integer(Incarnation) ->
    {ok, {report, {Name, []}, Incarnation}};
key([What]) when is_integer(What), What >= ?DONE ->
    {ok, {sum, {What, []}}};
key([]) ->
    {ok, start};
key(_) ->
    error.

%% @private
-spec path(key()) -> lasp_parts:path().
path({count, {Ad, {Name, Incarnation}}}) -> [Name, Incarnation, Ad];
path({report, Key, Incarnation}) -> lasp_gmap:path(lasp_max, Key) ++ [Incarnation];
path({sum, Key}) -> lasp_gmap:path(lasp_max, Key);
path(start) -> [].

%% @private
-spec leaf(key(), t()) -> lasp_parts:leaf() | none.
leaf({count, Key}, #adcounter{counters = Counters}) ->
    lasp_gmap:leaf(lasp_gcounter, Key, Counters);
leaf({report, Key, Incarnation}, #adcounter{barrier = Barrier}) ->
    case lasp_gmap:leaf(lasp_max, Key, Barrier) of
        [Incarnation | Report] -> Report;
        _ -> none
    end;
leaf({sum, Key}, #adcounter{sums = Sums}) ->
    lasp_gmap:leaf(lasp_max, Key, Sums);
leaf(start, #adcounter{start = Start}) ->
    lasp_min:leaf([], Start).

%% @private
-spec join(key(), lasp_parts:leaf(), t()) -> known | {grown, t()} | malformed.
join({count, Key}, Leaf, State = #adcounter{counters = Counters}) ->
    case lasp_gmap:join(lasp_gcounter, Key, Leaf, Counters) of
        {grown, Grown} -> {grown, State#adcounter{counters = Grown}};
        Other -> Other
    end;
join({report, Key, Incarnation}, [_, _] = Report, State = #adcounter{barrier = Barrier}) ->
    case lasp_gmap:join(lasp_max, Key, [Incarnation | Report], Barrier) of
        {grown, Grown} -> {grown, State#adcounter{barrier = Grown}};
        Other -> Other
    end;
join({sum, Key}, [Sum] = Leaf, State = #adcounter{sums = Sums}) when Sum > 0 ->
    case lasp_gmap:join(lasp_max, Key, Leaf, Sums) of
        {grown, Grown} -> {grown, State#adcounter{sums = Grown}};
        Other -> Other
    end;
join(start, Leaf, State = #adcounter{start = Start}) ->
    case lasp_min:join([], Leaf, Start) of
        {grown, Grown} -> {grown, State#adcounter{start = Grown}};
        Other -> Other
    end;
join(_Key, _Leaf, _State) ->
    malformed.

%% lasp_aggregate.

%% @private
-spec shared(t()) -> t().
shared(#adcounter{start = Start}) ->
    #adcounter{start = Start}.

%% @private
%% An actor that has departed and is back contributes what it has counted since.
-spec contribution(t(), Shared :: t()) -> lasp_aggregate:sums().
contribution(Own = #adcounter{counters = Counters}, Shared) ->
    Over = over(Shared),
    Counts = lasp_gmap:fold(
        fun(Ad, Counter, Sums) ->
            Before = lasp_gmap:get(lasp_gcounter, Ad, Over),
            Since = [
                Count - min(Count, lasp_gcounter:count(Actor, Before))
             || {Actor, Count} <- lasp_gcounter:entries(Counter)
            ],
            Sums#{Ad => lists:sum(Since)}
        end,
        #{},
        Counters
    ),
    maps:filter(fun(_, Sum) -> Sum > 0 end, Counts#{?DONE => length(done(Own))}).

%% @private
-spec total(lasp_aggregate:sums(), Shared :: t()) -> t().
total(Sums, Shared) ->
    Over = counts(over(Shared)),
    Entries = [
        lasp_gmap:entry(lasp_max, What, lasp_max:new({Sum}))
     || {What, Sum} <- maps:to_list(lasp_aggregate:add(Sums, Over))
    ],
    #adcounter{
        sums = lists:foldl(
            fun(Entry, Acc) -> lasp_gmap:merge(lasp_max, Entry, Acc) end, lasp_gmap:new(), Entries
        )
    }.

%% @private
-spec kept(t()) -> t().
kept(#adcounter{counters = Counters}) ->
    #adcounter{counters = Counters}.

%% @private
%% A report of a life after the last one: it is over.
-spec departed(t()) -> t().
departed(Own = #adcounter{barrier = Barrier}) ->
    lists:foldl(
        fun(Name, State) -> merge(report(Name, present(Name, Barrier) + 1, false, 0), State) end,
        kept(Own),
        lasp_gmap:keys(Barrier)
    ).

%% @private
-spec succeeded(t(), Shared :: t()) -> t().
succeeded(#adcounter{barrier = Own}, #adcounter{counters = Counters, barrier = Known}) ->
    Old = lists:usort([
        Name
     || {{Name, Incarnation}, _} <- entries(Counters),
        Incarnation < present(Name, Own)
    ]),
    lists:foldl(
        fun(Name, State) -> merge(report(Name, present(Name, Own), false, 0), State) end,
        new(),
        [Name || Name <- Old, present(Name, Known) < present(Name, Own)]
    ).

%% Internals.

%% The impressions of each ad.
values(#adcounter{counters = Counters, sums = Sums}) ->
    lasp_gmap:fold(
        fun
            (?DONE, _Register, Values) -> Values;
            (Ad, _Register, Values) -> Values#{Ad => max(sum(Ad, Sums), maps:get(Ad, Values, 0))}
        end,
        counts(Counters),
        Sums
    ).

%% The counts of each ad, of all actors together.
counts(Counters) ->
    lasp_gmap:fold(
        fun(Ad, Counter, Counts) -> Counts#{Ad => lasp_gcounter:value(Counter)} end, #{}, Counters
    ).

add_counter(Ad, Counter, Digest) ->
    lasp_gcounter:fold(
        fun({Name, Incarnation}, Count, Sum) ->
            Sum + hash(<<Ad:32, Incarnation:128, Count:128, Name/binary>>)
        end,
        Digest,
        Counter
    ).

add_sum(What, Register, Digest) ->
    {Sum} = lasp_max:value(Register),
    Digest + hash(<<What:32, Sum:128>>).

hash(Entry) ->
    <<Hash:128>> = erlang:md5(Entry),
    Hash.

%% The counters of those whose life is known to be over.
over(#adcounter{counters = Counters, barrier = Barrier}) ->
    lasp_gmap:fold(
        fun(Ad, Counter, Acc) ->
            Entries = [
                lasp_gcounter:entry(Actor, Count)
             || {Actor, Count} <- lasp_gcounter:entries(Counter), is_old(Actor, Barrier)
            ],
            Old = lists:foldl(fun lasp_gcounter:merge/2, lasp_gcounter:new(), Entries),
            lasp_gmap:merge(lasp_gcounter, lasp_gmap:entry(lasp_gcounter, Ad, Old), Acc)
        end,
        lasp_gmap:new(),
        Counters
    ).

entries(Counters) ->
    lasp_gmap:fold(
        fun(_Ad, Counter, Acc) -> lasp_gcounter:entries(Counter) ++ Acc end, [], Counters
    ).

sum(What, Sums) ->
    case lasp_max:value(lasp_gmap:get(lasp_max, What, Sums)) of
        {Sum} -> Sum;
        {} -> 0
    end.

%% The latest life of a node that is known; less than any where none is.
present(Name, Barrier) ->
    case lasp_max:value(lasp_gmap:get(lasp_max, Name, Barrier)) of
        {Incarnation, _, _} -> Incarnation;
        {} -> -1
    end.

flag(true) -> 1;
flag(false) -> 0.

is_done(Register) ->
    case lasp_max:value(Register) of
        {_Incarnation, 1, _Increments} -> true;
        _ -> false
    end.

is_old({Name, Incarnation}, Barrier) ->
    Incarnation < present(Name, Barrier).

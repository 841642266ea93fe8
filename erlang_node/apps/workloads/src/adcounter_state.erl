%%% @doc The shared state of an ad counter run, as one replicated value.
%%%
%%% ```
%%% start    1795224000123456                           the moment the run was started, or nothing
%%% counters 0 -> #{{<<"ads-0">>, 17} => 20, ...}       of each ad ({@link adcounter_counters})
%%% barrier  <<"ads-0">> -> {17, 1, 20}                 of each node ({@link adcounter_barrier})
%%% sums     0 -> 640                                   of each ad, counted by any node
%%% '''
%%%
%%% The start is part of the value: it suffices to inform one node, and a late node learns of the
%%% start together with the counts. It cannot know of the start without the counts that its source
%%% knows.
%%%
%%% The barrier identifies the present incarnation of each node; the entries of previous ones stay
%%% in the counters, where they count, and are listed by `superseded/1'.
%%%
%%% == Sums only ==
%%% With {@link lasp_sync_aggregate} a node sees its own entries, those of incarnations that may
%%% have ended, and the sums. Both are true counts, so the larger is the value. Of the barrier it
%%% sees the maximum number of nodes done at the same time, and not which.
%%%
%%% Longer than 300 lines: deltas, queries and the callbacks of two behaviours are all of one type.
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
-export([counts/1]).
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

-type ad() :: adcounter_counters:ad().
-type actor() :: adcounter_counters:actor().
-type microseconds() :: integer().

-record(adcounter, {
    start = lasp_min:new() :: lasp_min:t(),
    counters = lasp_gmap:new() :: adcounter_counters:t(),
    barrier = lasp_gmap:new() :: adcounter_barrier:t(),
    sums = lasp_gmap:new() :: lasp_gmap:t(lasp_max:t())
}).

-define(FIELDS, [
    {#adcounter.start, lasp_min},
    {#adcounter.counters, {map, lasp_gcounter}},
    {#adcounter.barrier, {map, lasp_max}},
    {#adcounter.sums, {map, lasp_max}}
]).

%% Among the sums, which otherwise are of ads: the number of nodes done.
-define(DONE, -1).

-opaque t() :: #adcounter{}.

%% The place of a part's leaf. A report has its incarnation in its path, not in its leaf.
-type key() ::
    lasp_product:key() | {report, {partisan_peer:name(), []}, partisan_peer:incarnation()}.

%% The input of a node's decisions. `done': nodes whose present incarnation sees every ad disabled,
%% in order; `done_at_once': their number, if only sums are known.
-type seen() :: #{
    started_at := {ok, microseconds()} | none,
    values := #{ad() => non_neg_integer()},
    total := non_neg_integer(),
    done := [partisan_peer:name()],
    done_at_once := non_neg_integer()
}.

-export_type([t/0, ad/0, actor/0, microseconds/0, seen/0]).

%% Deltas.

%% @doc The run was started at this moment. Of several the first one counts.
-spec started(microseconds()) -> t().
started(At) ->
    #adcounter{start = lasp_min:new(At)}.

%% @doc Sets an actor's count of an ad.
-spec counted(ad(), actor(), non_neg_integer()) -> t().
counted(Ad, Actor, Count) ->
    #adcounter{counters = adcounter_counters:entry(Ad, Actor, Count)}.

%% @doc The report of a node's incarnation: whether it sees every ad disabled, and its increments. A
%% later incarnation replaces the report of an earlier one.
-spec report(partisan_peer:name(), partisan_peer:incarnation(), boolean(), non_neg_integer()) ->
    t().
report(Name, Incarnation, Done, Increments) ->
    #adcounter{barrier = adcounter_barrier:report(Name, Incarnation, Done, Increments)}.

%% Queries.

%% @doc An actor's name for users: `ads-0/17'.
-spec text(actor()) -> binary().
text({Name, Incarnation}) ->
    <<Name/binary, $/, (integer_to_binary(Incarnation))/binary>>.

%% @doc The start of the run.
-spec started_at(t()) -> {ok, microseconds()} | none.
started_at(#adcounter{start = Start}) ->
    lasp_min:value(Start).

%% @doc The impressions of all ads.
-spec total(t()) -> non_neg_integer().
total(State) ->
    lists:sum(maps:values(values(State))).

%% @doc The increments of an actor, over all ads.
-spec count(actor(), t()) -> non_neg_integer().
count(Actor, #adcounter{counters = Counters}) ->
    adcounter_counters:count(Actor, Counters).

%% @doc All counts, in no order.
-spec counts(t()) -> [{ad(), actor(), pos_integer()}].
counts(#adcounter{counters = Counters}) ->
    adcounter_counters:fold(
        fun(Ad, Actor, Count, Counts) -> [{Ad, Actor, Count} | Counts] end, [], Counters
    ).

%% @doc The nodes whose present incarnation sees every ad disabled, in order.
-spec done(t()) -> [partisan_peer:name()].
done(#adcounter{barrier = Barrier}) ->
    adcounter_barrier:done(Barrier).

%% @doc The input of a node's decisions, small enough to be copied between processes at every
%% change, unlike a value with the counts of a thousand nodes.
-spec seen(t()) -> seen().
seen(#adcounter{sums = Sums} = State) ->
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

%% @doc The number of these nodes that are done.
-spec nodes_done(ordsets:ordset(partisan_peer:name()), seen()) -> non_neg_integer().
nodes_done(Members, #{done := Done, done_at_once := AtOnce}) ->
    Known = ordsets:intersection(Members, Done),
    max(length(Known), min(length(Members), AtOnce)).

%% @doc Increments of previous incarnations known to this replica, over all ads: of actors whose
%% node has reported a later incarnation.
-spec superseded(t()) -> #{actor() => pos_integer()}.
superseded(State) ->
    adcounter_counters:fold(
        fun(_Ad, Actor, Count, Sums) -> Sums#{Actor => maps:get(Actor, Sums, 0) + Count} end,
        #{},
        over(State)
    ).

%% @doc The digest of the counters alone, or of the sums alone if there are any: equal on two nodes
%% if and only if these are. Needed while the counters change all the time.
-spec counters_digest(t()) -> lasp_lattice:digest().
counters_digest(#adcounter{counters = Counters, sums = Sums}) ->
    Digest =
        case lasp_gmap:size(lasp_max, Sums) of
            0 -> adcounter_counters:digest(Counters);
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
    lasp_product:merge(?FIELDS, A, B).

%% @private
-spec difference(t(), Known :: t()) -> t().
difference(A, Known) ->
    lasp_product:difference(?FIELDS, A, Known).

%% @private
%% An incarnation is encoded once, since its report and its counts are adjacent: `[]' the start,
%% `[Ad]' a sum, `[Name, Incarnation]' the report, `[Name, Incarnation, Ad]' a count.
-spec to_parts(t()) -> [lasp_parts:part()].
to_parts(#adcounter{start = Start, counters = Counters, barrier = Barrier, sums = Sums}) ->
    Actors = adcounter_barrier:to_parts(Barrier) ++ adcounter_counters:to_parts(Counters),
    lasp_min:to_parts(Start) ++ lasp_gmap:to_parts(lasp_max, Sums) ++ lists:sort(Actors).

%% @private
-spec size(t()) -> non_neg_integer().
size(State) ->
    lasp_product:size(?FIELDS, State).

%% @private
-spec key(lasp_parts:path()) -> {ok, key()} | error.
key([Name, Incarnation, Ad]) when
    is_binary(Name), is_integer(Incarnation), is_integer(Ad), Ad >= 0
->
    {ok, {#adcounter.counters, {Ad, {Name, Incarnation}}}};
key([Name, Incarnation]) when is_binary(Name), is_integer(Incarnation) ->
    {ok, {report, {Name, []}, Incarnation}};
key([What]) when is_integer(What), What >= ?DONE ->
    {ok, {#adcounter.sums, {What, []}}};
key([]) ->
    {ok, {#adcounter.start, []}};
key(_) ->
    error.

%% @private
-spec path(key()) -> lasp_parts:path().
path({#adcounter.counters, {Ad, {Name, Incarnation}}}) -> [Name, Incarnation, Ad];
path({report, {Name, []}, Incarnation}) -> [Name, Incarnation];
path({#adcounter.sums, {What, []}}) -> [What];
path({#adcounter.start, []}) -> [].

%% @private
-spec leaf(key(), t()) -> lasp_parts:leaf() | none.
leaf({report, Key, Incarnation}, State) ->
    case lasp_product:leaf(?FIELDS, {#adcounter.barrier, Key}, State) of
        [Incarnation | Report] -> Report;
        _ -> none
    end;
leaf(Key, State) ->
    lasp_product:leaf(?FIELDS, Key, State).

%% @private
-spec join(key(), lasp_parts:leaf(), t()) -> known | {grown, t()} | malformed.
join({report, Key, Incarnation}, [_, _] = Report, State) ->
    lasp_product:join(?FIELDS, {#adcounter.barrier, Key}, [Incarnation | Report], State);
join({report, _Key, _Incarnation}, _Leaf, _State) ->
    malformed;
join({#adcounter.sums, _}, Leaf, _State) when Leaf =:= []; hd(Leaf) =< 0; tl(Leaf) =/= [] ->
    malformed;
join(Key, Leaf, State) ->
    lasp_product:join(?FIELDS, Key, Leaf, State).

%% lasp_aggregate.

%% @private
-spec shared(t()) -> t().
shared(#adcounter{start = Start}) ->
    #adcounter{start = Start}.

%% @private
%% An actor that has left and is back contributes its counts since.
-spec contribution(t(), Shared :: t()) -> lasp_aggregate:sums().
contribution(#adcounter{counters = Counters} = Own, Shared) ->
    Over = over(Shared),
    Counts = adcounter_counters:fold(
        fun(Ad, Actor, Count, Sums) ->
            Since = Count - min(Count, adcounter_counters:count(Ad, Actor, Over)),
            Sums#{Ad => maps:get(Ad, Sums, 0) + Since}
        end,
        #{},
        Counters
    ),
    maps:filter(fun(_, Sum) -> Sum > 0 end, Counts#{?DONE => length(done(Own))}).

%% @private
-spec total(lasp_aggregate:sums(), Shared :: t()) -> t().
total(Sums, Shared) ->
    Over = adcounter_counters:values(over(Shared)),
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
%% A report of an incarnation after the last one: it has ended.
-spec departed(t()) -> t().
departed(#adcounter{barrier = Barrier} = Own) ->
    lists:foldl(
        fun(Name, State) ->
            Next = adcounter_barrier:present(Name, Barrier) + 1,
            merge(report(Name, Next, false, 0), State)
        end,
        kept(Own),
        lasp_gmap:keys(Barrier)
    ).

%% @private
-spec succeeded(t(), Shared :: t()) -> t().
succeeded(#adcounter{barrier = Own}, #adcounter{counters = Counters, barrier = Known}) ->
    Old = adcounter_counters:fold(
        fun(_Ad, {Name, _} = Actor, _Count, Names) ->
            [Name || adcounter_barrier:is_superseded(Actor, Own)] ++ Names
        end,
        [],
        Counters
    ),
    lists:foldl(
        fun(Name, State) ->
            Present = adcounter_barrier:present(Name, Own),
            case adcounter_barrier:present(Name, Known) < Present of
                true -> merge(report(Name, Present, false, 0), State);
                false -> State
            end
        end,
        new(),
        lists:usort(Old)
    ).

%% Internals.

%% The impressions of each ad.
values(#adcounter{counters = Counters, sums = Sums}) ->
    lasp_gmap:fold(
        fun
            (?DONE, _Register, Values) -> Values;
            (Ad, _Register, Values) -> Values#{Ad => max(sum(Ad, Sums), maps:get(Ad, Values, 0))}
        end,
        adcounter_counters:values(Counters),
        Sums
    ).

add_sum(What, Register, Digest) ->
    {Sum} = lasp_max:value(Register),
    Digest + adcounter_counters:hash(<<What:32, Sum:128>>).

%% The counters of actors whose incarnation has ended.
over(#adcounter{counters = Counters, barrier = Barrier}) ->
    adcounter_counters:filter(
        fun(Actor) -> adcounter_barrier:is_superseded(Actor, Barrier) end, Counters
    ).

sum(What, Sums) ->
    case lasp_max:value(lasp_gmap:get(lasp_max, What, Sums)) of
        {Sum} -> Sum;
        {} -> 0
    end.

%%% @doc One node of the ad counter as a pure state machine.
%%%
%%% Every `increment_interval' the node shows a random ad among those still enabled, and counts it.
%%% An ad is disabled on a node when its counter, as seen there, has reached the threshold. With no
%%% ad left the node stops counting and reports itself done; when all members are done the run is
%%% finished. Nodes that do not see each other's last counts yet continue for a moment, so the value
%%% may exceed the threshold: the overcounting.
%%%
%%% == Actors ==
%%% Counting is only correct if an actor never returns with a lower count than it has shown, because
%%% the counter would take its new counts for known ones. So the actor is one incarnation of the
%%% node, `Name/Incarnation', and belongs to the record of its counts:
%%% <ul>
%%% <li>`{persist, Record}' precedes the `{update, ..}' that shows a count to others.</li>
%%% <li>A node that starts with a record of this run continues as the record's actor, and adds its
%%%     counts to the replica, so that counts not yet propagated are not lost.</li>
%%% <li>A node that starts without one is a new actor. Unpropagated counts of the previous
%%%     incarnation are lost: the difference between its report and its entry in the counter.</li>
%%% <li>A record of another run is discarded with its actor: if the old run were ever continued, its
%%%     actor would return with less.</li>
%%% </ul>
%%%
%%% == Start and restart ==
%%% The run starts when `start/3' is called on any node; the others learn of it with the replica. A
%%% restarted node learns the start and the counts of others in one message, and does not count
%%% before, even if it has a record. If every node restarts at once, the run has to be started
%%% again, and continues from the records.
-module(adcounter_core).

-export([init/1]).
-export([start/3]).
-export([handle/2]).
-export([actor/1]).
-export([increments/1]).
-export([enabled/1]).
-export([nodes_done/1]).
-export([all_done/1]).
-export([threshold/1]).
-export([phase/1]).
-export([finished_at/1]).

%% State that survives the process: the actor and its counts in a run.
-type kept() :: #{
    run := binary(),
    name := partisan_peer:name(),
    incarnation := partisan_peer:incarnation(),
    counts := #{adcounter_state:ad() => pos_integer()}
}.

%% `impressions': threshold of one ad, over all nodes. `increment_interval': milliseconds.
%% `members': the nodes that must be done. `record': contents of this node's storage.
-type options() :: #{
    name := partisan_peer:name(),
    incarnation := partisan_peer:incarnation(),
    run := binary(),
    members := [partisan_peer:name()],
    ads := pos_integer(),
    impressions := pos_integer(),
    increment_interval := pos_integer(),
    seed := {integer(), integer(), integer()},
    record := none | kept()
}.

-type event() ::
    % The present state of the replica, and the time.
    {seen, adcounter_state:seen(), adcounter_state:microseconds()}
    | {timer, increment}
    % The cluster has been scaled.
    | {members, [partisan_peer:name()]}
    % The node is about to leave: stop counting.
    | leave.

-type effect() ::
    {persist, kept()}
    | {update, Delta :: adcounter_state:t()}
    % One impression has been counted.
    | impression
    | {start_timer, increment, Milliseconds :: non_neg_integer()}
    | {log, Event :: atom(), map()}.

-type phase() :: waiting | running | finished.

-record(core, {
    record :: kept(),
    members :: [partisan_peer:name()],
    impressions :: pos_integer(),
    interval :: pos_integer(),
    random :: rand:state(),
    ads :: [adcounter_state:ad()],
    enabled :: [adcounter_state:ad()],
    started_at = none :: none | {ok, adcounter_state:microseconds()},
    % This node has reported itself done.
    done = false :: boolean(),
    nodes_done = 0 :: non_neg_integer(),
    finished_at = none :: none | {ok, adcounter_state:microseconds()},
    leaving = false :: boolean()
}).

-opaque state() :: #core{}.

-export_type([state/0, kept/0, options/0, event/0, effect/0, phase/0]).

%% @doc A node that waits for the start of the run.
-spec init(options()) -> {state(), [effect()]}.
init(#{members := Members, ads := Ads, impressions := Impressions} = Options) ->
    #{increment_interval := Interval, seed := Seed} = Options,
    {Record, Effects} = continue(Options),
    #{name := Name, incarnation := Incarnation, counts := Counts} = Record,
    AllAds = lists:seq(0, Ads - 1),
    State = #core{
        record = Record,
        members = lists:usort(Members),
        impressions = Impressions,
        interval = Interval,
        random = rand:seed_s(exsss, Seed),
        ads = AllAds,
        enabled = AllAds
    },
    Restored = [{update, counted(Ad, Record)} || Ad <- lists:sort(maps:keys(Counts))],
    Present = adcounter_state:report(Name, Incarnation, false, increments(State)),
    {State, Effects ++ Restored ++ [{update, Present}]}.

%% @doc Starts the run with the id given to `init/1'; fails for another id, which this node may not
%% know yet. Idempotent.
-spec start(Run :: binary(), adcounter_state:microseconds(), state()) ->
    {ok, [effect()]} | {error, {other_run, Own :: binary()}}.
start(Run, _Now, #core{record = #{run := Run}, started_at = {ok, _}}) ->
    {ok, []};
start(Run, Now, #core{record = #{run := Run}}) ->
    {ok, [{update, adcounter_state:started(Now)}]};
start(_Run, _Now, #core{record = #{run := Own}}) ->
    {error, {other_run, Own}}.

%% @doc Handles one event.
-spec handle(event(), state()) -> {state(), [effect()]}.
handle({seen, Seen, Now}, State) ->
    lists:foldl(
        fun(Observe, {S, Effects}) ->
            {Next, More} = Observe(Seen, Now, S),
            {Next, Effects ++ More}
        end,
        {State, []},
        [fun observe_start/3, fun observe_ads/3, fun observe_barrier/3]
    );
handle({timer, increment}, #core{leaving = true} = State) ->
    {State, []};
handle({timer, increment}, #core{enabled = []} = State) ->
    {State, []};
handle({timer, increment}, #core{enabled = Enabled, random = Random} = State) ->
    {Position, Next} = rand:uniform_s(length(Enabled), Random),
    count(lists:nth(Position, Enabled), State#core{random = Next});
handle({members, Members}, State) ->
    {State#core{members = lists:usort(Members)}, []};
handle(leave, State) ->
    {State#core{leaving = true}, []}.

%% @doc The actor of this node.
-spec actor(state()) -> adcounter_state:actor().
actor(#core{record = Record}) ->
    actor_of(Record).

%% @doc The actor's counts, over all ads.
-spec increments(state()) -> non_neg_integer().
increments(#core{record = #{counts := Counts}}) ->
    lists:sum(maps:values(Counts)).

%% @doc The ads below their threshold, as seen by this node.
-spec enabled(state()) -> [adcounter_state:ad()].
enabled(#core{enabled = Enabled}) ->
    Enabled.

%% @doc The number of members known to be done.
-spec nodes_done(state()) -> non_neg_integer().
nodes_done(#core{nodes_done = Done}) ->
    Done.

%% @doc Whether the present incarnation of every member is known to be done.
-spec all_done(state()) -> boolean().
all_done(#core{nodes_done = Done, members = Members}) ->
    Done =:= length(Members).

%% @doc The impressions that end the run, over all ads.
-spec threshold(state()) -> pos_integer().
threshold(#core{ads = Ads, impressions = Impressions}) ->
    length(Ads) * Impressions.

%% @doc Whether this node has seen the run finished. It stays so even when a member is replaced
%% later and has to become done again.
-spec phase(state()) -> phase().
phase(#core{finished_at = {ok, _}}) -> finished;
phase(#core{started_at = {ok, _}}) -> running;
phase(#core{}) -> waiting.

%% @doc The time at which this node learnt that every member was done.
-spec finished_at(state()) -> none | {ok, adcounter_state:microseconds()}.
finished_at(#core{finished_at = FinishedAt}) ->
    FinishedAt.

%% Internals.

continue(#{run := Run, name := Name, record := #{run := Run, name := Name} = Record}) ->
    {Record, [{log, actor_continued, about(Record)}]};
continue(#{run := Run, name := Name, incarnation := Incarnation}) ->
    Record = #{run => Run, name => Name, incarnation => Incarnation, counts => #{}},
    {Record, [{persist, Record}, {log, actor_created, about(Record)}]}.

about(#{counts := Counts, run := Run} = Record) ->
    Actor = adcounter_state:text(actor_of(Record)),
    #{run => Run, actor => Actor, increments => lists:sum(maps:values(Counts))}.

actor_of(#{name := Name, incarnation := Incarnation}) ->
    {Name, Incarnation}.

counted(Ad, #{counts := Counts} = Record) ->
    adcounter_state:counted(Ad, actor_of(Record), maps:get(Ad, Counts)).

count(Ad, #core{record = #{counts := Counts} = Record, interval = Interval} = State) ->
    Counted = Record#{counts := maps:update_with(Ad, fun(N) -> N + 1 end, 1, Counts)},
    {State#core{record = Counted}, [
        {persist, Counted},
        {update, counted(Ad, Counted)},
        impression,
        {start_timer, increment, Interval}
    ]}.

observe_start(#{started_at := {ok, At}}, _Now, #core{started_at = none} = State) ->
    #core{record = #{run := Run}, interval = Interval, random = Random} = State,
    % A random part of the interval; otherwise all nodes would count in step for ever.
    {Phase, Next} = rand:uniform_s(Interval, Random),
    {State#core{started_at = {ok, At}, random = Next}, [
        {log, run_started, #{run => Run, started_at => At}},
        {start_timer, increment, Phase}
    ]};
observe_start(_Seen, _Now, State) ->
    {State, []}.

observe_ads(Seen, _Now, #core{ads = Ads, impressions = Impressions} = State) ->
    Enabled = [Ad || Ad <- Ads, adcounter_state:value(Ad, Seen) < Impressions],
    Observed = State#core{enabled = Enabled},
    case Observed of
        #core{enabled = [], started_at = {ok, _}, done = false} -> become_done(Observed);
        #core{} -> {Observed, []}
    end.

become_done(#core{record = #{name := Name, incarnation := Incarnation, run := Run}} = State) ->
    Increments = increments(State),
    {State#core{done = true}, [
        {update, adcounter_state:report(Name, Incarnation, true, Increments)},
        {log, node_done, #{run => Run, increments => Increments}}
    ]}.

observe_barrier(Seen, Now, #core{members = Members, finished_at = FinishedAt} = State) ->
    #core{record = #{run := Run}} = State,
    Observed = State#core{nodes_done = adcounter_state:nodes_done(Members, Seen)},
    case {all_done(Observed), FinishedAt} of
        {true, none} ->
            {Observed#core{finished_at = {ok, Now}}, [
                {log, run_finished, #{run => Run, value => maps:get(total, Seen)}}
            ]};
        _ ->
            {Observed, []}
    end.

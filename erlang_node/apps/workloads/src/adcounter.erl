%%% @doc The ad counter's process: runs {@link adcounter_core} on the replica of {@link lasp_store},
%%% the journal and the clock.
-module(adcounter).
-behaviour(gen_server).
-behaviour(workload).

%% workload.
-export([child_specs/1]).
-export([parameters/0]).
-export([start/1]).
-export([status/0]).
-export([members/1]).
-export([leave/1]).
-export([sent_payload/0]).
-export([reachable/0]).
-export([backup/0]).
-export([restorable/2]).
%% For the supervisor and the exporter.
-export([start_link/1]).
-export([converged_samples/0]).
%% gen_server.
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-include_lib("kernel/include/logger.hrl").

-define(HEXADECIMAL, {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $a, $b, $c, $d, $e, $f}).

-record(adcounter, {
    core :: adcounter_core:state(),
    run :: binary(),
    synchronization :: lasp_sync:mode(),
    directory :: file:filename()
}).

%% workload.

%% @private
-spec child_specs(workload:options()) -> [supervisor:child_spec()].
child_specs(#{run := Run, channel := Channel, parameters := Parameters} = Given) ->
    Options = adcounter_backup:after_restored(Given),
    Sync = (maps:with([name, incarnation], Options))#{
        type => adcounter_state,
        scope => Run,
        interval => maps:get(propagation_interval, Parameters),
        seed => seed(Options)
    },
    Protocol = lasp_sync:protocol(maps:get(synchronization, Parameters)),
    Store = #{protocol => Protocol, channel => Channel, sync => Sync},
    [
        #{id => lasp_store, start => {lasp_store, start_link, [Store]}},
        #{id => adcounter, start => {?MODULE, start_link, [Options]}}
    ].

%% @private
-spec parameters() -> #{atom() => workload:kind_of_parameter()}.
parameters() ->
    #{
        ads => positive_integer,
        impressions => positive_integer,
        increment_interval => positive_integer,
        propagation_interval => positive_integer,
        synchronization => {one_of, lasp_sync:modes(), delta}
    }.

%% @doc Starts the run on all nodes.
-spec start(Run :: binary()) -> ok | {error, iodata()}.
start(Run) ->
    case gen_server:call(?MODULE, {start, Run}) of
        ok -> ok;
        {error, {other_run, Own}} -> {error, ["this node runs ", Own]}
    end.

%% @doc The node's report on its run; docs/reference/node-http.md describes the keys.
-spec status() -> workload:status().
status() ->
    gen_server:call(?MODULE, status).

%% @doc Sets the nodes that must be done for the run to finish. Fails with `{bad_members, Names}'
%% for what are no names.
-spec members([partisan_peer:name()]) -> ok.
members(Names) ->
    partisan_arguments:are_names(Names) orelse error({bad_members, Names}),
    gen_server:call(?MODULE, {members, Names}).

%% @doc Stops counting, and hands the replica over to the neighbours.
-spec leave(timeout()) -> ok.
leave(Timeout) ->
    ok = gen_server:call(?MODULE, leave),
    case lasp_store:handover(Timeout) of
        {ok, Names} -> ?LOG_NOTICE(#{event => handed_over, neighbours => length(Names)});
        {error, Reason} -> ?LOG_WARNING(#{event => handover_incomplete, reason => Reason})
    end,
    ok.

%% @private
-spec sent_payload() -> non_neg_integer().
sent_payload() ->
    lasp_store:sent_payload().

%% @private Replicas of other nodes send to the store only; its calls take functions.
-spec reachable() -> [{atom(), messages}].
reachable() ->
    [{lasp_store, messages}].

%% @private
-spec backup() -> workload_backup:entries().
backup() ->
    adcounter_backup:to_entries(lasp_store:read(fun adcounter_state:counts/1)).

%% @private
-spec restorable(workload_backup:entries(), map()) -> ok | {error, iodata()}.
restorable(Entries, #{ads := Ads}) ->
    case adcounter_backup:from_entries(Ads, Entries) of
        {ok, _Counts} -> ok;
        {error, _} = Error -> Error
    end.

%% For the supervisor and the exporter.

%% @private
-spec start_link(workload:options()) -> {ok, pid()} | {error, term()}.
start_link(Options) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Options, []).

%% @private
-spec converged_samples() -> [{[], 0 | 1}].
converged_samples() ->
    case status() of
        #{converged := true} -> [{[], 1}];
        #{converged := false} -> [{[], 0}]
    end.

%% gen_server.

%% @private
-spec init(workload:options()) -> {ok, #adcounter{}}.
init(#{run := Run, parameters := Parameters, directory := Directory} = Options) ->
    Mode = maps:get(synchronization, Parameters),
    ok = register_metrics(),
    ok = partisan_metrics:set(adcounter_synchronization_info, [Mode], 1),
    ok = lasp_store:subscribe(),
    Common = maps:with([name, incarnation, run, members], Options),
    Specific = maps:with([ads, impressions, increment_interval], Parameters),
    Restored = adcounter_backup:of_options(Options),
    Record = adcounter_backup:unless_older(adcounter_journal:load(Directory), Restored),
    {Core, Effects} = adcounter_core:init(
        maps:merge(Common, Specific#{seed => seed(Options), record => Record})
    ),
    State = #adcounter{
        core = Core,
        run = Run,
        synchronization = Mode,
        directory = Directory
    },
    ok = effects(Effects, State),
    % After the report of this incarnation, by which those in the backup have ended.
    ok = restore(Restored, Options),
    {ok, observe(State)}.

%% @private
-spec handle_call(term(), gen_server:from(), #adcounter{}) -> {reply, term(), #adcounter{}}.
handle_call({start, Run}, _From, #adcounter{core = Core} = State) ->
    case adcounter_core:start(Run, erlang:system_time(microsecond), Core) of
        {ok, Effects} ->
            ok = effects(Effects, State),
            {reply, ok, observe(State)};
        {error, _} = Error ->
            {reply, Error, State}
    end;
handle_call(status, _From, State) ->
    Observed = observe(State),
    {reply, status(Observed), Observed};
handle_call({members, Names}, _From, State) ->
    {reply, ok, observe(step({members, Names}, State))};
handle_call(leave, _From, State) ->
    {reply, ok, step(leave, State)};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #adcounter{}) -> {noreply, #adcounter{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #adcounter{}) -> {noreply, #adcounter{}}.
handle_info({lasp_store, changed}, State) ->
    {noreply, observe(State)};
handle_info({timeout, _Ref, increment}, State) ->
    % The newest replica first: an ad that has just reached its threshold is not shown again.
    {noreply, step({timer, increment}, observe(State))};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals.

restore([], _Options) ->
    ok;
restore(Counts, #{members := Members}) ->
    ?LOG_NOTICE(#{event => restored, increments => lists:sum([N || {_, _, N} <- Counts])}),
    lasp_store:restore(adcounter_backup:state(Counts, Members)).

observe(State) ->
    #{total := Total} = Seen = lasp_store:read(fun adcounter_state:seen/1),
    ok = partisan_metrics:set(adcounter_value, [], Total),
    Next = step({seen, Seen, erlang:system_time(microsecond)}, State),
    Enabled = length(adcounter_core:enabled(Next#adcounter.core)),
    ok = partisan_metrics:set(adcounter_ads_enabled, [], Enabled),
    Next.

step(Event, #adcounter{core = Core} = State) ->
    {Next, Effects} = adcounter_core:handle(Event, Core),
    ok = effects(Effects, State),
    State#adcounter{core = Next}.

effects(Effects, State) ->
    lists:foreach(fun(Effect) -> ok = effect(Effect, State) end, Effects).

effect({persist, Record}, #adcounter{directory = Directory}) ->
    ok = adcounter_journal:save(Directory, Record);
effect({update, Delta}, _State) ->
    lasp_store:update(Delta);
effect(impression, _State) ->
    partisan_metrics:inc(adcounter_impressions_total, []);
effect({start_timer, increment, Milliseconds}, _State) ->
    _ = erlang:start_timer(Milliseconds, self(), increment),
    ok;
effect({log, Event, Details}, _State) ->
    ?LOG_NOTICE(Details#{event => Event}).

status(#adcounter{core = Core, run = Run, synchronization = Synchronization}) ->
    Actor = adcounter_core:actor(Core),
    #{value := Value} = Account = lasp_store:read(fun(Replica) -> account(Actor, Replica) end),
    Threshold = adcounter_core:threshold(Core),
    Account#{
        kind => adcounter,
        run => Run,
        synchronization => Synchronization,
        phase => adcounter_core:phase(Core),
        actor => adcounter_state:text(Actor),
        increments => adcounter_core:increments(Core),
        threshold => Threshold,
        overcounting_percent => max(0, Value - Threshold) * 100 / Threshold,
        ads_enabled => length(adcounter_core:enabled(Core)),
        nodes_done => adcounter_core:nodes_done(Core),
        converged => adcounter_core:all_done(Core) andalso lasp_store:agreed(),
        finished_at => seconds(adcounter_core:finished_at(Core))
    }.

%% Computed inside the store, on the replica.
account(Actor, Replica) ->
    Superseded = [
        {adcounter_state:text(Old), Count}
     || {Old, Count} <- maps:to_list(adcounter_state:superseded(Replica))
    ],
    #{
        value => adcounter_state:total(Replica),
        digest => hexadecimal(adcounter_state:counters_digest(Replica)),
        started_at => seconds(adcounter_state:started_at(Replica)),
        entry_of => #{adcounter_state:text(Actor) => adcounter_state:count(Actor, Replica)},
        superseded => maps:from_list(Superseded)
    }.

hexadecimal(Digest) ->
    << <<(element(Nibble + 1, ?HEXADECIMAL))>> || <<Nibble:4>> <= Digest >>.

seconds(none) -> null;
seconds({ok, Microseconds}) -> Microseconds / 1.0e6.

seed(#{name := Name, incarnation := Incarnation}) ->
    {erlang:phash2(Name), erlang:phash2(Incarnation), 17}.

register_metrics() ->
    ok = partisan_metrics:new(
        counter, adcounter_impressions_total, "Impressions counted by this process.", []
    ),
    ok = partisan_metrics:new(
        gauge, adcounter_value, "Impressions of all ads and nodes, as this node sees them.", []
    ),
    ok = partisan_metrics:new(
        gauge, adcounter_ads_enabled, "Ads below their threshold, as this node sees them.", []
    ),
    ok = partisan_metrics:new(
        gauge,
        adcounter_synchronization_info,
        "Synchronisation mode; with aggregate a node holds only its own counts and sums.",
        [mode]
    ),
    partisan_metrics:new_function(
        gauge,
        adcounter_converged,
        "1 if all nodes are done and the neighbours' replicas equal this one.",
        [],
        {?MODULE, converged_samples}
    ).

%%% @doc The ad counter of a planned cluster in virtual time: every node runs the workload's own
%%% state machine ({@link adcounter_core}) on the replicas of {@link simulator_replicas}, with the
%%% pods' names, intervals and thresholds.
%%%
%%% The caller reports changes of nodes and links; effects are interpreted as in {@link adcounter}.
%%% Traffic is counted as payload, and as messages and bytes of frames by channel.
%%%
%%% A node reads its replica when it has grown, as in production, except when that cannot make a
%%% difference: before it has seen the start, and then until the whole cluster has counted enough to
%%% disable an ad. The cost of reading grows with the number of nodes.
-module(plan_counter).
-behaviour(simulator_replicas).

-export([new/1]).
-export([boot/3]).
-export([neighbour/4]).
-export([start/2]).
-export([run/2]).
-export([sent/1]).
-export([counted/1]).
-export([is_counted/1]).
-export([is_finished/1]).
-export([result/1]).
-export([due/3]).
-export([changed/2]).

-type ordinal() :: plan_names:ordinal().
-type milliseconds() :: simulator_clock:milliseconds().
-type name() :: partisan_peer:name().

%% Bytes of payload, and frames sent by channel.
-type sent() :: #{
    payload := non_neg_integer(),
    channels := #{atom() => #{messages := non_neg_integer(), bytes := non_neg_integer()}}
}.

-type options() :: #{
    names := plan_names:t(),
    run := binary(),
    channel := atom(),
    parameters := map(),
    seed := integer(),
    latency := simulator_network:latency(),
    _ => _
}.

-record(counter, {
    names :: plan_names:t(),
    members :: [name()],
    run :: binary(),
    channel :: atom(),
    parameters :: map(),
    seed :: integer(),
    cores = #{} :: #{name() => adcounter_core:state()},
    counted = 0 :: non_neg_integer(),
    finished = #{} :: #{name() => true}
}).

-type t() :: simulator_replicas:t().
-export_type([t/0, sent/0, options/0]).

%% @doc A cluster without nodes.
-spec new(options()) -> t().
new(#{names := Names, run := Run, channel := Channel, parameters := Parameters} = Options) ->
    #{seed := Seed, latency := Latency} = Options,
    Network = simulator_network:new(#{seed => Seed, latency => Latency, loss => 0.0}),
    Ordinals = lists:seq(0, plan_names:size(Names) - 1),
    Members = [plan_names:name(Ordinal, Names) || Ordinal <- Ordinals],
    Indices = maps:from_list(
        lists:zip(Members, [plan_names:index(Ordinal, Names) || Ordinal <- Ordinals])
    ),
    simulator_replicas:new(#{
        mode => maps:get(synchronization, Parameters),
        type => adcounter_state,
        scope => Run,
        interval => maps:get(propagation_interval, Parameters),
        latency => fun(From, To) ->
            simulator_network:latency(map_get(From, Indices), map_get(To, Indices), Network)
        end,
        workload =>
            {?MODULE, #counter{
                names = Names,
                members = lists:sort(Members),
                run = Run,
                channel = Channel,
                parameters = Parameters,
                seed = Seed
            }}
    }).

%% @doc Starts a node; the moment `At' determines its incarnation.
-spec boot(ordinal(), At :: milliseconds(), t()) -> t().
boot(Ordinal, At, R) ->
    #counter{names = Names, parameters = Parameters, cores = Cores} = C = state(R),
    Name = plan_names:name(Ordinal, Names),
    Identity = #{
        name => Name,
        incarnation => plan_names:incarnation(At),
        seed => {C#counter.seed, Ordinal, At}
    },
    Specific = maps:with([ads, impressions, increment_interval], Parameters),
    {Core, Effects} = adcounter_core:init(
        maps:merge(Specific, Identity#{
            run => C#counter.run, members => C#counter.members, record => none
        })
    ),
    Booted = put_state(C#counter{cores = Cores#{Name => Core}}, R),
    core_effects(Effects, Name, simulator_replicas:start(Identity, Booted)).

%% @doc Changes a node's neighbours.
-spec neighbour(neighbour_up | neighbour_down, ordinal(), Peer :: ordinal(), t()) -> t().
neighbour(What, Ordinal, Peer, R) ->
    #counter{names = Names} = state(R),
    Event = {What, plan_names:name(Peer, Names)},
    simulator_replicas:deliver(plan_names:name(Ordinal, Names), Event, R).

%% @doc Asks one node to start the run; the others learn of it.
-spec start(ordinal(), t()) -> t().
start(Ordinal, R) ->
    #counter{names = Names, run = Run, cores = Cores} = state(R),
    Name = plan_names:name(Ordinal, Names),
    {ok, Effects} = adcounter_core:start(Run, microseconds(R), map_get(Name, Cores)),
    core_effects(Effects, Name, R).

%% @doc Advances time by this many milliseconds.
-spec run(milliseconds(), t()) -> t().
run(Milliseconds, R) ->
    simulator_replicas:advance(simulator_replicas:now(R) + Milliseconds, R).

%% @doc Traffic of all nodes so far.
-spec sent(t()) -> sent().
sent(R) ->
    Channels = maps:fold(
        fun(Class, {Messages, Bytes}, Acc) ->
            Channel = channel(Class, state(R)),
            #{messages := M, bytes := B} = maps:get(Channel, Acc, #{messages => 0, bytes => 0}),
            Acc#{Channel => #{messages => M + Messages, bytes => B + Bytes}}
        end,
        #{},
        simulator_replicas:frames(R)
    ),
    #{payload => simulator_replicas:sent(lasp_sync:payloads(), R), channels => Channels}.

channel(latest, #counter{channel = Channel}) -> Channel;
channel(_, _) -> default.

%% @doc Increments of all nodes so far.
-spec counted(t()) -> non_neg_integer().
counted(R) ->
    #counter{counted = Counted} = state(R),
    Counted.

%% @doc Whether enough has been counted to end the run.
-spec is_counted(t()) -> boolean().
is_counted(R) ->
    #counter{counted = Counted} = C = state(R),
    Counted >= threshold(C).

%% @doc Whether every node knows that all are done, and all hold the same.
-spec is_finished(t()) -> boolean().
is_finished(R) ->
    #counter{finished = Finished, members = Members} = state(R),
    map_size(Finished) =:= length(Members) andalso are_equal(R).

%% @doc The results of a finished run. `running_seconds': from its start until the last node knew
%% that all were done. `replica_bytes': of an encoded replica.
-spec result(t()) -> #{
    value := non_neg_integer(),
    threshold := pos_integer(),
    running_seconds := float(),
    replica_bytes := non_neg_integer()
}.
result(R) ->
    #counter{cores = Cores} = C = state(R),
    Ends = [End || Core <- maps:values(Cores), {ok, End} <- [adcounter_core:finished_at(Core)]],
    {ok, Start} = adcounter_state:started_at(some_value(R)),
    #{
        value => adcounter_state:total(some_value(R)),
        threshold => threshold(C),
        running_seconds => (lists:max(Ends) - Start) / 1.0e6,
        replica_bytes => byte_size(lasp_lattice:encode(adcounter_state, some_value(R)))
    }.

%% Callbacks.

%% @private
-spec due(name(), increment, t()) -> t().
due(Name, increment, R) ->
    #counter{counted = Counted, parameters = #{impressions := Impressions}} = state(R),
    % The newest replica first, as in production: an ad may just have reached its threshold.
    Seen =
        case Counted >= Impressions of
            true -> observe(Name, R);
            false -> R
        end,
    core_event(Name, {timer, increment}, Seen).

%% @private
-spec changed(name(), t()) -> t().
changed(Name, R) ->
    case matters(Name, R) of
        true -> observe(Name, R);
        false -> R
    end.

%% Internals: the workload.

matters(Name, R) ->
    #counter{cores = #{Name := Core}} = state(R),
    case adcounter_core:phase(Core) of
        waiting -> adcounter_state:started_at(simulator_replicas:value(Name, R)) =/= none;
        running -> is_counted(R);
        finished -> false
    end.

observe(Name, R) ->
    Seen = adcounter_state:seen(simulator_replicas:value(Name, R)),
    core_event(Name, {seen, Seen, microseconds(R)}, R).

core_event(Name, Event, R) ->
    #counter{cores = #{Name := Core0} = Cores, finished = Finished} = C = state(R),
    {Core, Effects} = adcounter_core:handle(Event, Core0),
    Known =
        case adcounter_core:phase(Core) of
            finished -> Finished#{Name => true};
            _ -> Finished
        end,
    Changed = C#counter{cores = Cores#{Name := Core}, finished = Known},
    core_effects(Effects, Name, put_state(Changed, R)).

core_effects(Effects, Name, R) ->
    lists:foldl(fun(Effect, Acc) -> core_effect(Effect, Name, Acc) end, R, Effects).

core_effect({update, Delta}, Name, R) ->
    simulator_replicas:deliver(Name, {update, Delta}, R);
core_effect(impression, _Name, R) ->
    #counter{counted = Counted} = C = state(R),
    put_state(C#counter{counted = Counted + 1}, R);
core_effect({start_timer, increment, Delay}, Name, R) ->
    simulator_replicas:schedule(Delay, Name, increment, R);
core_effect({persist, _Record}, _Name, R) ->
    R;
core_effect({log, _Event, _Details}, _Name, R) ->
    R.

%% Internals: values.

threshold(#counter{parameters = #{ads := Ads, impressions := Impressions}}) ->
    Ads * Impressions.

%% With sums only, replicas are never equal: once all nodes are done the sums are final.
are_equal(R) ->
    #counter{parameters = #{synchronization := Mode}} = state(R),
    [First | Others] = simulator_replicas:values(R),
    Mode =:= aggregate orelse lists:all(fun(Value) -> Value =:= First end, Others).

some_value(R) ->
    #counter{members = [Name | _]} = state(R),
    simulator_replicas:value(Name, R).

state(R) ->
    simulator_replicas:state(R).

put_state(Counter, R) ->
    simulator_replicas:put_state(Counter, R).

microseconds(R) ->
    plan_names:incarnation(simulator_replicas:now(R)).

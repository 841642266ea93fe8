%%% @doc The ad counter of a planned cluster in virtual time: on every node the workload's own state
%%% machine ({@link adcounter_core}) and the replica's own protocol ({@link lasp_sync}), with names,
%%% intervals and thresholds as the pods will have them.
%%%
%%% It is told what happens to nodes and links, and interprets the effects as {@link adcounter} and
%%% {@link lasp_store} do, on a network without limits of bandwidth and processors: a message takes
%%% the latency of its link. What is sent is counted as payload, and as messages and bytes of frames
%%% by channel.
%%%
%%% A node looks at its replica when it has grown, as in production, but not where that cannot make
%%% a difference: before it has seen the start, and then until as much has been counted, in the
%%% whole cluster, as disables an ad. Looking costs as much as there are nodes.
-module(plan_counter).

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

-type ordinal() :: plan_names:ordinal().
-type milliseconds() :: partisan_sim_events:milliseconds().

%% Bytes of payload, and by channel what has been sent as frames.
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
    latency := partisan_sim_network:latency(),
    _ => _
}.

-export_type([sent/0, options/0]).

-record(node, {
    name :: partisan_peer:name(),
    index :: partisan_sim:index(),
    core :: adcounter_core:state(),
    sync :: term(),
    %% The newest start of each timer of the protocol; an event of an older start is stale.
    timers = #{} :: #{term() => pos_integer()},
    changed = false :: boolean()
}).

-record(counter, {
    names :: plan_names:t(),
    members :: [partisan_peer:name()],
    run :: binary(),
    channel :: atom(),
    parameters :: map(),
    protocol :: module(),
    network :: partisan_sim_network:t(),
    seed :: integer(),
    events = partisan_sim_events:new() :: partisan_sim_events:t(),
    serial = 0 :: non_neg_integer(),
    nodes = #{} :: #{partisan_peer:name() => #node{}},
    counted = 0 :: non_neg_integer(),
    finished = #{} :: #{partisan_peer:name() => true},
    payload = 0 :: non_neg_integer(),
    channels = #{} :: #{atom() => {Messages :: non_neg_integer(), Bytes :: non_neg_integer()}}
}).

-opaque t() :: #counter{}.
-export_type([t/0]).

%% @doc A cluster without nodes.
-spec new(options()) -> t().
new(#{names := Names, run := Run, channel := Channel, parameters := Parameters} = Options) ->
    #{seed := Seed, latency := Latency} = Options,
    Ordinals = lists:seq(0, plan_names:size(Names) - 1),
    #counter{
        names = Names,
        members = lists:sort([plan_names:name(Ordinal, Names) || Ordinal <- Ordinals]),
        run = Run,
        channel = Channel,
        parameters = Parameters,
        protocol = lasp_sync:protocol(maps:get(synchronization, Parameters)),
        network = partisan_sim_network:new(#{seed => Seed, latency => Latency, loss => 0.0}),
        seed = Seed
    }.

%% @doc A node starts; `At', its moment, numbers its incarnation.
-spec boot(ordinal(), At :: milliseconds(), t()) -> t().
boot(Ordinal, At, #counter{names = Names, parameters = Parameters, protocol = Protocol} = C0) ->
    Name = plan_names:name(Ordinal, Names),
    Identity = #{
        name => Name,
        incarnation => plan_names:incarnation(At),
        seed => {C0#counter.seed, Ordinal, At}
    },
    {Sync, Syncing} = Protocol:init(Identity#{
        type => adcounter_state,
        scope => C0#counter.run,
        interval => maps:get(propagation_interval, Parameters)
    }),
    Specific = maps:with([ads, impressions, increment_interval], Parameters),
    {Core, Counting} = adcounter_core:init(
        maps:merge(Specific, Identity#{
            run => C0#counter.run, members => C0#counter.members, record => none
        })
    ),
    Index = plan_names:index(Ordinal, Names),
    Node = #node{name = Name, index = Index, core = Core, sync = Sync},
    C1 = sync_effects(Syncing, Name, put_node(Node, C0)),
    core_effects(Counting, Name, C1).

%% @doc A node's neighbours have changed.
-spec neighbour(neighbour_up | neighbour_down, ordinal(), Peer :: ordinal(), t()) -> t().
neighbour(What, Ordinal, Peer, #counter{names = Names} = C) ->
    event(plan_names:name(Ordinal, Names), {What, plan_names:name(Peer, Names)}, C).

%% @doc One node is told to start the run, the others learn of it.
-spec start(ordinal(), t()) -> t().
start(Ordinal, #counter{names = Names, run = Run} = C) ->
    Name = plan_names:name(Ordinal, Names),
    #node{core = Core} = get_node(Name, C),
    {ok, Effects} = adcounter_core:start(Run, microseconds(C), Core),
    core_effects(Effects, Name, C).

%% @doc Lets this many milliseconds pass.
-spec run(milliseconds(), t()) -> t().
run(Milliseconds, #counter{events = Events} = C) ->
    advance(partisan_sim_events:now(Events) + Milliseconds, C).

%% @doc What all nodes have sent so far.
-spec sent(t()) -> sent().
sent(#counter{payload = Payload, channels = Channels}) ->
    #{
        payload => Payload,
        channels => maps:map(fun(_, {M, B}) -> #{messages => M, bytes => B} end, Channels)
    }.

%% @doc What all nodes have counted so far.
-spec counted(t()) -> non_neg_integer().
counted(#counter{counted = Counted}) ->
    Counted.

%% @doc Has as much been counted as ends the run?
-spec is_counted(t()) -> boolean().
is_counted(#counter{counted = Counted} = C) ->
    Counted >= threshold(C).

%% @doc Does every node know that all have counted to the end, and do all hold the same?
-spec is_finished(t()) -> boolean().
is_finished(#counter{finished = Finished, members = Members} = C) ->
    map_size(Finished) =:= length(Members) andalso are_equal(C).

%% @doc What a finished run has come to. `running_seconds': from its start until the last node knew
%% that all were done. `replica_bytes': of a replica as it is written.
-spec result(t()) -> #{
    value := non_neg_integer(),
    threshold := pos_integer(),
    running_seconds := float(),
    replica_bytes := non_neg_integer()
}.
result(#counter{nodes = Nodes} = C) ->
    Cores = [Core || #node{core = Core} <- maps:values(Nodes)],
    Ends = [End || Core <- Cores, {ok, End} <- [adcounter_core:finished_at(Core)]],
    {ok, Start} = adcounter_state:started_at(some_value(C)),
    #{
        value => adcounter_state:total(some_value(C)),
        threshold => threshold(C),
        running_seconds => (lists:max(Ends) - Start) / 1.0e6,
        replica_bytes => byte_size(lasp_lattice:encode(adcounter_state, some_value(C)))
    }.

%% Internals: time.

advance(Until, #counter{events = Events} = C) ->
    case partisan_sim_events:due(Until, Events) of
        {due, Due, Later} ->
            advance(Until, lists:foldl(fun occur/2, C#counter{events = Later}, Due));
        {elapsed, Elapsed} ->
            C#counter{events = Elapsed}
    end.

schedule(Delay, Name, Event, #counter{events = Events} = C) ->
    C#counter{events = partisan_sim_events:schedule(Delay, {Name, Event}, Events)}.

occur({Name, increment}, #counter{parameters = #{impressions := Impressions}} = C0) ->
    % The newest replica first, as in production: an ad may just have reached its threshold.
    C =
        case C0#counter.counted >= Impressions of
            true -> observe(Name, C0);
            false -> C0
        end,
    core_event(Name, {timer, increment}, C);
occur({Name, {timer, Timer, Serial}}, C) ->
    case get_node(Name, C) of
        #node{timers = #{Timer := Serial}} -> event(Name, {timer, Timer}, C);
        #node{} -> C
    end;
occur({Name, {message, _, _} = Event}, C) ->
    event(Name, Event, C).

%% Internals: the replica.

event(Name, Event, #counter{protocol = Protocol} = C) ->
    #node{sync = Sync0} = Node = get_node(Name, C),
    {Sync, Effects} = Protocol:handle(Event, Sync0),
    observed(Name, sync_effects(Effects, Name, put_node(Node#node{sync = Sync}, C))).

sync_effects(Effects, Name, C) ->
    lists:foldl(fun(Effect, Acc) -> sync_effect(Effect, Name, Acc) end, C, Effects).

sync_effect({send, To, Class, Message}, Name, #counter{network = Network} = C) ->
    {Bytes, _} = partisan_frame:message(lasp_store, {lasp_sync, Name, Message}),
    #node{index = From} = get_node(Name, C),
    #node{index = There} = get_node(To, C),
    Latency = partisan_sim_network:latency(From, There, Network),
    schedule(Latency, To, {message, Name, Message}, frame(channel(Class, C), Bytes, C));
sync_effect({start_timer, Timer, Delay}, Name, #counter{serial = Serial} = C) ->
    #node{timers = Timers} = Node = get_node(Name, C),
    Started = put_node(Node#node{timers = Timers#{Timer => Serial + 1}}, C),
    schedule(Delay, Name, {timer, Timer, Serial + 1}, Started#counter{serial = Serial + 1});
sync_effect(changed, Name, C) ->
    put_node((get_node(Name, C))#node{changed = true}, C);
sync_effect({count, Kind, sent, Bytes}, _Name, #counter{payload = Payload} = C) ->
    case lists:member(Kind, lasp_sync:payloads()) of
        true -> C#counter{payload = Payload + Bytes};
        false -> C
    end;
sync_effect({count, _Kind, received, _Bytes}, _Name, C) ->
    C.

channel(latest, #counter{channel = Channel}) -> Channel;
channel(_, _) -> default.

frame(Channel, Bytes, #counter{channels = Channels} = C) ->
    {M, B} = maps:get(Channel, Channels, {0, 0}),
    C#counter{channels = Channels#{Channel => {M + 1, B + Bytes}}}.

%% Internals: the workload.

%% After the effects of an event: what has changed is looked at, where it may matter.
observed(Name, C) ->
    case get_node(Name, C) of
        #node{changed = true} = Node ->
            Seen = put_node(Node#node{changed = false}, C),
            case matters(Node, Seen) of
                true -> observe(Name, Seen);
                false -> Seen
            end;
        #node{} ->
            C
    end.

matters(#node{core = Core, sync = Sync}, #counter{protocol = Protocol} = C) ->
    case adcounter_core:phase(Core) of
        waiting -> adcounter_state:started_at(Protocol:value(Sync)) =/= none;
        running -> is_counted(C);
        finished -> false
    end.

observe(Name, #counter{protocol = Protocol} = C) ->
    #node{sync = Sync} = get_node(Name, C),
    Seen = adcounter_state:seen(Protocol:value(Sync)),
    core_event(Name, {seen, Seen, microseconds(C)}, C).

core_event(Name, Event, #counter{finished = Finished} = C) ->
    #node{core = Core0} = Node = get_node(Name, C),
    {Core, Effects} = adcounter_core:handle(Event, Core0),
    Known =
        case adcounter_core:phase(Core) of
            finished -> Finished#{Name => true};
            _ -> Finished
        end,
    Changed = put_node(Node#node{core = Core}, C#counter{finished = Known}),
    core_effects(Effects, Name, Changed).

core_effects(Effects, Name, C) ->
    lists:foldl(fun(Effect, Acc) -> core_effect(Effect, Name, Acc) end, C, Effects).

core_effect({update, Delta}, Name, C) ->
    event(Name, {update, Delta}, C);
core_effect(impression, _Name, #counter{counted = Counted} = C) ->
    C#counter{counted = Counted + 1};
core_effect({start_timer, increment, Delay}, Name, C) ->
    schedule(Delay, Name, increment, C);
core_effect({persist, _Record}, _Name, C) ->
    C;
core_effect({log, _Event, _Details}, _Name, C) ->
    C.

%% Internals: values.

threshold(#counter{parameters = #{ads := Ads, impressions := Impressions}}) ->
    Ads * Impressions.

%% With sums alone replicas are never equal: all nodes being done means that the sums are the last.
are_equal(#counter{protocol = lasp_sync_aggregate}) ->
    true;
are_equal(#counter{protocol = Protocol, nodes = Nodes} = C) ->
    Value = some_value(C),
    lists:all(fun(#node{sync = Sync}) -> Protocol:value(Sync) =:= Value end, maps:values(Nodes)).

some_value(#counter{protocol = Protocol, members = [Name | _]} = C) ->
    #node{sync = Sync} = get_node(Name, C),
    Protocol:value(Sync).

get_node(Name, #counter{nodes = Nodes}) ->
    map_get(Name, Nodes).

put_node(#node{name = Name} = Node, #counter{nodes = Nodes} = C) ->
    C#counter{nodes = Nodes#{Name => Node}}.

microseconds(#counter{events = Events}) ->
    plan_names:incarnation(partisan_sim_events:now(Events)).

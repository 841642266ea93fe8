%%% @doc A whole cluster of ad counters in virtual steps: the pure parts of every node, wired as
%%% {@link lasp_store} and {@link adcounter} wire them, under random schedules of counting, loss,
%%% duplication, reordering, crashes and departures. Invariants:
%%%
%%% <ul>
%%% <li>all replicas end equal, and every ad is at its threshold;</li>
%%% <li>a living actor's entry equals its counts: nothing lost, nothing counted twice;</li>
%%% <li>a dead actor's entry is at most its counts;</li>
%%% <li>an actor that left gracefully has lost nothing, unless the nodes it handed over to crashed
%%%     before they passed it on.</li>
%%% </ul>
-module(adcounter_cluster_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(RUN, <<"r1">>).
-define(IMPRESSIONS, 12).

%% `counted': the highest count of each actor. `left': the counts of departed actors.
-record(cluster, {
    protocol :: module(),
    names :: [binary()],
    nodes = #{} :: map(),
    wire = [] :: [{binary(), binary(), term()}],
    counted = #{} :: #{binary() => non_neg_integer()},
    left = #{} :: #{binary() => non_neg_integer()},
    handed_over = [] :: [binary()],
    incarnation = 0 :: non_neg_integer()
}).
%% `store' survives a restart of the process, not of the pod.
-record(node, {
    core :: adcounter_core:state(),
    sync :: term(),
    store = none :: none | adcounter_core:kept()
}).

schedules_test_() ->
    [
        {atom_to_list(Mode), {timeout, 300,
            ?_assert(
                proper:quickcheck(prop_counts_right(Mode), [{to_file, user}, {numtests, 300}])
            )}}
     || Mode <- lasp_sync:modes() -- [aggregate]
    ].

sums_test_() ->
    {timeout, 300,
        ?_assert(proper:quickcheck(prop_sums_right(), [{to_file, user}, {numtests, 300}]))}.

%% With sums only, the run ends with the same value on all nodes, which has been counted and at
%% which every ad has reached its threshold. Counts of dead actors that no node kept may be missing.
prop_sums_right() ->
    ?FORALL(
        {Size, Ads, Steps},
        {integer(1, 5), integer(1, 2), list(step())},
        begin
            Begun = lists:foldl(
                fun step/2, cluster(lasp_sync:protocol(aggregate), Size, Ads), Steps
            ),
            Final = finish(Begun, Ads, 1000),
            Replicas = [replica(N, Final) || N <- nodes_of(Final)],
            Living = [adcounter_core:increments(N#node.core) || N <- nodes_of(Final)],
            Total = adcounter_state:total(hd(Replicas)),
            Digest = fun adcounter_state:counters_digest/1,
            conjunction([
                {equal, length(lists:usort(lists:map(Digest, Replicas))) =:= 1},
                {threshold_reached, is_reached(Ads, hd(Replicas))},
                {finished,
                    lists:all(
                        fun(N) -> adcounter_core:phase(N#node.core) =:= finished end,
                        nodes_of(Final)
                    )},
                {living_counted, Total >= lists:sum(Living)},
                {no_more_than_counted, Total =< lists:sum(maps:values(Final#cluster.counted))}
            ])
        end
    ).

is_reached(Ads, Replica) ->
    Seen = adcounter_state:seen(Replica),
    lists:all(
        fun(Ad) -> adcounter_state:value(Ad, Seen) >= ?IMPRESSIONS end, lists:seq(0, Ads - 1)
    ).

prop_counts_right(Mode) ->
    ?FORALL(
        {Size, Ads, Steps},
        {integer(1, 5), integer(1, 2), list(step())},
        begin
            Begun = lists:foldl(
                fun step/2, cluster(lasp_sync:protocol(Mode), Size, Ads), Steps
            ),
            Final = finish(Begun, Ads, 1000),
            Protocol = Final#cluster.protocol,
            Replicas = [replica(N, Final) || N <- nodes_of(Final)],
            [Replica | _] = Replicas,
            Living = [adcounter_core:actor(N#node.core) || N <- nodes_of(Final)],
            Counted = Final#cluster.counted,
            Departed = Final#cluster.left,
            conjunction([
                {equal, length(lists:usort(Replicas)) =:= 1},
                {threshold_reached, is_reached(Ads, Replica)},
                {finished,
                    lists:all(
                        fun(N) -> adcounter_core:phase(N#node.core) =:= finished end,
                        nodes_of(Final)
                    )},
                {agreed,
                    lists:all(
                        fun(N) -> Protocol:agreed(N#node.sync) end, nodes_of(Final)
                    )},
                {living_exact,
                    lists:all(
                        fun(N) ->
                            Actor = adcounter_core:actor(N#node.core),
                            Entry = adcounter_state:count(Actor, Replica),
                            Entry =:= adcounter_core:increments(N#node.core) andalso
                                Entry =:= maps:get(Actor, Counted, 0)
                        end,
                        nodes_of(Final)
                    )},
                {dead_at_most_counted,
                    lists:all(
                        fun({Actor, N}) -> adcounter_state:count(Actor, Replica) =< N end,
                        maps:to_list(Counted)
                    )},
                {departed_exact,
                    lists:all(
                        fun({Actor, N}) -> adcounter_state:count(Actor, Replica) =:= N end,
                        maps:to_list(Departed)
                    )},
                {superseded_are_the_dead,
                    maps:keys(adcounter_state:superseded(Replica)) =:=
                        [
                            Actor
                         || Actor <- lists:sort(maps:keys(Counted)),
                            not lists:member(Actor, Living),
                            adcounter_state:count(Actor, Replica) > 0
                        ]},
                {sum,
                    adcounter_state:total(Replica) =:=
                        lists:sum(maps:values(adcounter_state:superseded(Replica))) +
                            lists:sum([
                                adcounter_core:increments(N#node.core)
                             || N <- nodes_of(Final)
                            ])}
            ])
        end
    ).

step() ->
    frequency([
        {8, {count, nat()}},
        {5, {propagate, nat()}},
        {8, {deliver, nat()}},
        {2, {duplicate, nat()}},
        {2, {lose, nat()}},
        {1, {restart_container, nat()}},
        {1, {kill_pod, nat()}},
        {1, {leave, nat()}}
    ]).

%% Building.

cluster(Protocol, Size, Ads) ->
    Names = [integer_to_binary(I) || I <- lists:seq(0, Size - 1)],
    Empty = #cluster{protocol = Protocol, names = Names},
    Booted = lists:foldl(fun(Name, C) -> boot(Name, none, Ads, C) end, Empty, Names),
    start(hd(Names), Booted).

start(Name, Cluster) ->
    Node = maps:get(Name, Cluster#cluster.nodes),
    {ok, Effects} = adcounter_core:start(?RUN, 1, Node#node.core),
    observe(Name, core_effects(Name, Effects, Cluster)).

boot(Name, Store, Ads, Cluster) ->
    #cluster{names = Names, incarnation = Incarnation, nodes = Nodes} = Cluster,
    Protocol = Cluster#cluster.protocol,
    {Sync, _} = Protocol:init(#{
        name => Name,
        incarnation => 1000000 * (Incarnation + 1),
        type => adcounter_state,
        scope => ?RUN,
        interval => 100,
        seed => {1, 2, Incarnation}
    }),
    {Core, Effects} = adcounter_core:init(#{
        name => Name,
        incarnation => Incarnation + 1,
        run => ?RUN,
        members => Names,
        ads => Ads,
        impressions => ?IMPRESSIONS,
        increment_interval => 1000,
        seed => {1, 2, Incarnation},
        record => Store
    }),
    Node = #node{core = Core, sync = Sync, store = Store},
    Started = Cluster#cluster{nodes = Nodes#{Name => Node}, incarnation = Incarnation + 1},
    Ready = observe(Name, core_effects(Name, Effects, Started)),
    % Its neighbours see it come, and it sees them.
    lists:foldl(
        fun(Other, C) ->
            Seen = sync_event(Other, {neighbour_up, Name}, C),
            sync_event(Name, {neighbour_up, Other}, Seen)
        end,
        Ready,
        [Other || Other <- neighbours(Name, Cluster), maps:is_key(Other, Nodes)]
    ).

%% A ring.
neighbours(Name, #cluster{names = Names}) ->
    Size = length(Names),
    I = binary_to_integer(Name),
    lists:usort([integer_to_binary((I + D + Size) rem Size) || D <- [-1, 1]]) -- [Name].

%% Steps.

step({count, I}, Cluster) ->
    count(pick(I, Cluster), Cluster);
step({propagate, I}, Cluster) ->
    sync_event(pick(I, Cluster), {timer, propagate}, Cluster);
step({restart_container, I}, Cluster) ->
    Name = pick(I, Cluster),
    Node = maps:get(Name, Cluster#cluster.nodes),
    % As lasp_test_cluster:end_questions/1.
    Left = lasp_test_cluster:without_questions(Cluster#cluster.wire),
    reboot(Name, Node#node.store, Cluster#cluster{wire = Left});
step({kill_pod, I}, Cluster) ->
    reboot(pick(I, Cluster), none, Cluster);
step({leave, _}, #cluster{names = [_]} = Cluster) ->
    Cluster;
step({leave, I}, Cluster) ->
    leave(pick(I, Cluster), Cluster);
step({_, _}, #cluster{wire = []} = Cluster) ->
    Cluster;
step({Action, I}, #cluster{wire = Wire} = Cluster) ->
    {Before, [{From, To, Message} | After]} = lists:split(I rem length(Wire), Wire),
    Rest = Cluster#cluster{wire = Before ++ After},
    case Action of
        deliver -> message(From, To, Message, Rest);
        duplicate -> message(From, To, Message, Cluster);
        lose -> Rest
    end.

count(Name, Cluster) ->
    Fresh = observe(Name, Cluster),
    Node = maps:get(Name, Fresh#cluster.nodes),
    case adcounter_core:phase(Node#node.core) of
        waiting -> Fresh;
        _ -> observe(Name, core_event(Name, {timer, increment}, Fresh))
    end.

%% Its connections die with it, and their contents; its neighbours notice.
reboot(Name, Store, Cluster) ->
    #node{core = Core} = maps:get(Name, Cluster#cluster.nodes),
    Ads = adcounter_core:threshold(Core) div ?IMPRESSIONS,
    Gone = lists:foldl(
        fun(Other, C) -> sync_event(Other, {neighbour_down, Name}, C) end,
        Cluster#cluster{
            nodes = maps:remove(Name, Cluster#cluster.nodes),
            wire = [M || M = {From, To, _} <- Cluster#cluster.wire, From =/= Name, To =/= Name]
        },
        neighbours(Name, Cluster)
    ),
    Back = boot(Name, Store, Ads, Gone#cluster{left = still_held(Gone)}),
    % If every node forgot the start, the run is started again, as by the operator.
    case [N || N <- nodes_of(Back), adcounter_core:phase(N#node.core) =/= waiting] of
        [] -> start(Name, Back);
        _ -> Back
    end.

%% The part of what was handed over that at least one node still holds.
still_held(#cluster{left = Left} = Cluster) ->
    maps:filter(
        fun(Actor, Count) ->
            lists:any(
                fun(Node) -> adcounter_state:count(Actor, replica(Node, Cluster)) =:= Count end,
                nodes_of(Cluster)
            )
        end,
        Left
    ).

%% The departure of adcounter:leave/1: stop counting, hand over, then lose the storage.
leave(Name, Cluster) ->
    Stopped = core_event(Name, leave, Cluster),
    Handed = hand_over(Name, sync_event(Name, handover, Stopped), 10),
    #node{core = Core} = maps:get(Name, Handed#cluster.nodes),
    Left = maps:put(
        adcounter_core:actor(Core), adcounter_core:increments(Core), Handed#cluster.left
    ),
    reboot(Name, none, Handed#cluster{left = Left, handed_over = []}).

hand_over(Name, Cluster, Rounds) when Rounds > 0 ->
    #cluster{handed_over = HandedOver} = Delivered = drain(Cluster),
    case HandedOver of
        [Name] -> Delivered;
        [] -> hand_over(Name, sync_event(Name, {timer, propagate}, Delivered), Rounds - 1)
    end.

%% Without further faults the run comes to its end.
finish(#cluster{protocol = Protocol} = Cluster, Ads, Budget) when Budget > 0 ->
    Counted = lists:foldl(fun count/2, Cluster, Cluster#cluster.names),
    Round = drain(
        lists:foldl(
            fun(Name, C) -> sync_event(Name, {timer, propagate}, C) end,
            Counted,
            Cluster#cluster.names
        )
    ),
    Over = lists:all(
        fun(N) ->
            adcounter_core:all_done(N#node.core) andalso Protocol:agreed(N#node.sync)
        end,
        nodes_of(Round)
    ),
    case Over of
        true -> Round;
        false -> finish(Round, Ads, Budget - 1)
    end.

drain(#cluster{wire = []} = Cluster) ->
    Cluster;
drain(#cluster{wire = [{From, To, Message} | Rest]} = Cluster) ->
    drain(message(From, To, Message, Cluster#cluster{wire = Rest})).

message(From, To, Message, Cluster) ->
    sync_event(To, {message, From, Message}, Cluster).

%% The wiring of one node.

sync_event(Name, Event, #cluster{protocol = Protocol, nodes = Nodes} = Cluster) ->
    case Nodes of
        #{Name := #node{sync = Sync} = Node} ->
            {Next, Effects} = Protocol:handle(Event, Sync),
            Stepped = Cluster#cluster{nodes = Nodes#{Name := Node#node{sync = Next}}},
            lists:foldl(fun(Effect, C) -> sync_effect(Name, Effect, C) end, Stepped, Effects);
        #{} ->
            Cluster
    end.

sync_effect(Name, {send, To, _Class, Message}, #cluster{wire = Wire} = Cluster) ->
    Cluster#cluster{wire = Wire ++ [{Name, To, Message}]};
sync_effect(Name, changed, Cluster) ->
    observe(Name, Cluster);
sync_effect(Name, {handed_over, _}, Cluster) ->
    Cluster#cluster{handed_over = [Name]};
sync_effect(_Name, _Effect, Cluster) ->
    Cluster.

observe(Name, Cluster) ->
    Replica = replica(maps:get(Name, Cluster#cluster.nodes), Cluster),
    core_event(Name, {seen, adcounter_state:seen(Replica), 1}, Cluster).

core_event(Name, Event, #cluster{nodes = Nodes} = Cluster) ->
    #node{core = Core} = Node = maps:get(Name, Nodes),
    {Next, Effects} = adcounter_core:handle(Event, Core),
    core_effects(
        Name, Effects, Cluster#cluster{nodes = Nodes#{Name := Node#node{core = Next}}}
    ).

core_effects(Name, Effects, Cluster) ->
    lists:foldl(fun(Effect, C) -> core_effect(Name, Effect, C) end, Cluster, Effects).

core_effect(Name, {persist, Record}, #cluster{nodes = Nodes, counted = Counted} = Cluster) ->
    #{name := Name, incarnation := Incarnation, counts := Counts} = Record,
    Node = maps:get(Name, Nodes),
    Actor = {Name, Incarnation},
    Cluster#cluster{
        nodes = Nodes#{Name := Node#node{store = Record}},
        counted = Counted#{Actor => lists:sum(maps:values(Counts))}
    };
core_effect(Name, {update, Delta}, Cluster) ->
    sync_event(Name, {update, Delta}, Cluster);
core_effect(_Name, _Effect, Cluster) ->
    Cluster.

replica(#node{sync = Sync}, #cluster{protocol = Protocol}) ->
    Protocol:value(Sync).

nodes_of(#cluster{nodes = Nodes}) ->
    maps:values(Nodes).

pick(I, #cluster{names = Names}) ->
    lists:nth(I rem length(Names) + 1, Names).

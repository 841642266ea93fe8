%%% @doc Delta and Tree synchronisation, for {@link verify_own_search}: {@link verify_own_replica}.
%%% The option `protocol' is the module.
%%%
%%% Four nodes in a ring with a chord. Each counts three times, and the last one hands over and
%%% leaves. A crashed node of the first three restarts with an empty replica; the last one does not.
%%%
%%% == Invariant ==
%%% No replica ever shrinks ({@link verify_own_replica}). Not later than 60 intervals after
%%% the last fault and the last increment, the living nodes have equal replicas and agree that they
%%% do. These hold what any living node held after the last fault and increment: no increment is
%%% lost that a living node has. No actor's count exceeds its increments. The links to which changes
%%% are sent are then symmetric and connect the living nodes; those of a tree are one less than the
%%% nodes. When the leaving node stops, each neighbour that has confirmed its handover and not
%%% crashed holds what the node held when it was confirmed.
-module(verify_own_sync).
-behaviour(verify_own_search).

-export([start/1]).
-export([faults_end/1]).
-export([faults/3]).
-export([crashed/3]).
-export([occur/3]).
-export([verdict/2]).

-define(NODES, [<<"n1">>, <<"n2">>, <<"n3">>, <<"n4">>]).
-define(CHORD, [<<"n1">>, <<"n3">>]).
-define(LEAVER, <<"n4">>).
%% Milliseconds: between propagations; of increments, of the handover; between checks whether it has
%% been confirmed, and when the node stops anyway; until neighbours notice a crash, and until the
%% node restarts.
-define(INTERVAL, 100).
-define(INCREMENTS, [5, 130, 345]).
-define(HANDOVER_AT, 350).
-define(LEAVE_POLL, 10).
-define(STOPS_AT, 700).
-define(FAULTS_END, 600).
-define(NOTICED_AFTER, 100).
-define(RESTARTS_AFTER, 250).
-define(INTERVALS, 60).

%% @private
-spec start(verify_own_search:options()) -> {verify_world:t(), verify_own_search:agenda()}.
start(#{protocol := Original} = Options) ->
    Protocol = verify_own_replica:load(Original, maps:get(mutation, Options, none)),
    World = verify_world:new(#{
        module => verify_own_replica,
        nodes => ?NODES,
        options => #{
            protocol => Protocol,
            interval => ?INTERVAL
        },
        late => maps:get(late, Options, 150),
        crashes => true,
        trace => maps:get(trace, Options, false),
        seed => maps:get(world_seed, Options, 1)
    }),
    Counting = lists:foldl(
        fun({At, Name}, W) -> verify_world:inject_at(At, Name, {call, At, increment}, W) end,
        connected(?NODES, World),
        [{At, Name} || At <- ?INCREMENTS, Name <- ?NODES]
    ),
    Leaving = verify_world:inject_at(?HANDOVER_AT, ?LEAVER, {call, handover, handover}, Counting),
    {Leaving, [{?HANDOVER_AT + ?LEAVE_POLL, leave}]}.

%% @private
-spec faults_end(verify_own_search:options()) -> verify_own_search:ms().
faults_end(_Options) ->
    ?FAULTS_END.

%% @private
-spec faults(verify_world:point(), verify_own_search:schedule(), verify_own_search:options()) ->
    [verify_world:decision()].
faults({message, _Key, _Msg}, _Faults, _Options) -> [drop, late];
faults({event, _Key}, _Faults, _Options) -> [crash].

%% @private
-spec crashed(verify_world:name(), verify_world:t(), verify_own_search:options()) ->
    verify_own_search:agenda().
crashed(Name, World, _Options) ->
    Now = verify_world:now(World),
    [{Now + ?NOTICED_AFTER, {notice, Name}}] ++
        [{Now + ?RESTARTS_AFTER, {restart, Name}} || Name =/= ?LEAVER].

%% @private
-spec occur(Action :: term(), verify_world:t(), verify_own_search:options()) ->
    {verify_world:t(), verify_own_search:agenda()}.
occur({notice, Name}, World, _Options) ->
    {connected(neighbours(Name), World), []};
occur({restart, Name}, World, _Options) ->
    {connected([Name | neighbours(Name)], verify_world:restart(Name, World)), []};
occur(leave, World, Options) ->
    Handovers = [Answer || {?LEAVER, handover, Answer} <- verify_world:replies(World)],
    Now = verify_world:now(World),
    case {verify_world:is_up(?LEAVER, World), Handovers} of
        {false, _} -> {World, []};
        {true, []} when Now < ?STOPS_AT -> {World, [{Now + ?LEAVE_POLL, leave}]};
        {true, _} -> leaves(Handovers, World, Options)
    end.

%% @private
-spec verdict(verify_world:t(), verify_own_search:options()) -> verify_own_search:verdict().
verdict(World0, #{protocol := Protocol}) ->
    World = on(max(verify_world:now(World0), lists:last(?INCREMENTS) + 1), World0),
    Held = join([Value || {_, Value, _} <- living(World)]),
    settles(verify_world:now(World) + ?INTERVALS * ?INTERVAL, Held, Protocol, World).

%% Internals: the end of the node that leaves.

leaves(Handovers, World, Options) ->
    Lacking = [
        Name
     || {handed_over, Names, Value} <- Handovers, Name <- Names, lacks(Value, Name, World)
    ],
    case Lacking of
        [] ->
            Stopped = verify_world:crash(?LEAVER, World),
            {Stopped, crashed(?LEAVER, Stopped, Options)};
        _ ->
            {violated, {handed_over_to, Lacking}}
    end.

%% A node that has crashed has lost what it held.
lacks(Value, Name, World) ->
    State = verify_world:state(Name, World),
    verify_world:is_up(Name, World) andalso
        verify_own_replica:incarnation(State) =:= 1 andalso
        not is_within(Value, verify_own_replica:value(State)).

is_within(Value, Other) ->
    lasp_gcounter:difference(Value, Other) =:= lasp_gcounter:new().

%% Internals: the overlay.

%% Reports to these nodes which neighbours are present.
connected(Names, World0) ->
    lists:foldl(
        fun(Name, World) ->
            Present = maps:from_list([
                {N, verify_own_replica:incarnation(verify_world:state(N, World))}
             || N <- neighbours(Name), verify_world:is_up(N, World)
            ]),
            verify_world:inject(Name, {call, overlay, {neighbours, Present}}, World)
        end,
        World0,
        Names
    ).

neighbours(Name) ->
    [Other || Other <- ?NODES, Other =/= Name, are_linked(lists:sort([Name, Other]))].

are_linked(?CHORD) -> true;
are_linked(Pair) -> lists:member(Pair, ring(?NODES)).

ring([First | Others] = Names) ->
    Pairs = lists:zip(lists:droplast(Names), Others),
    [[First, lists:last(Names)] | [[A, B] || {A, B} <- Pairs]].

%% Internals: the invariant.

settles(Deadline, Held, Protocol, World) ->
    Living = living(World),
    Now = verify_world:now(World),
    case {verify_world:error(World), equal(Living), is_linked(Protocol, World)} of
        {none, true, true} ->
            sound(Held, Living, World);
        {none, _, _} when Now < Deadline ->
            settles(Deadline, Held, Protocol, on(Now + 2 * ?INTERVAL, World));
        {none, false, _} ->
            {violated, {replicas_differ, Living}};
        {none, true, false} ->
            {violated, {links, links(World)}};
        {Error, _, _} ->
            {violated, Error}
    end.

equal([{_, Value, _} | _] = Living) ->
    lists:all(fun({_, Other, Agreed}) -> Agreed andalso Other =:= Value end, Living).

sound(Held, [{_, Value, _} | _], World) ->
    Increments = increments(World),
    case {is_within(Held, Value), is_within(Value, Increments)} of
        {true, true} -> ok;
        {true, false} -> {violated, {never_counted, lasp_gcounter:difference(Value, Increments)}};
        {false, _} -> {violated, {lost, lasp_gcounter:difference(Held, Value)}}
    end.

%% All that has been counted: an increment is answered when it is in the replica.
increments(World) ->
    join([
        lasp_gcounter:entry(Actor, Count)
     || {_, _, {counted, Actor, Count}} <- verify_world:replies(World)
    ]).

is_linked(Protocol, World) ->
    Links = links(World),
    Ends = lists:sum([length(To) || To <- maps:values(Links)]),
    verify_own_graph:one_sided(Links) =:= [] andalso
        verify_own_graph:unreached(Links) =:= [] andalso
        (Protocol =/= lasp_sync_tree orelse Ends =:= 2 * (map_size(Links) - 1)).

links(World) ->
    maps:from_list([
        {Name, verify_own_replica:links(verify_world:state(Name, World))}
     || Name <- ?NODES, verify_world:is_up(Name, World)
    ]).

living(World) ->
    [
        {Name, verify_own_replica:value(State), verify_own_replica:agreed(State)}
     || Name <- ?NODES,
        verify_world:is_up(Name, World),
        State <- [verify_world:state(Name, World)]
    ].

on(At, World0) ->
    {World, none} = verify_world:run_until(At, fun(_, Acc) -> {deliver, Acc} end, none, World0),
    World.

join(Values) ->
    lists:foldl(fun lasp_gcounter:merge/2, lasp_gcounter:new(), Values).

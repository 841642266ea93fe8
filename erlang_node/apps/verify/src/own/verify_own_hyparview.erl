%%% @doc HyParView's join and repair, for {@link verify_own_search}: {@link verify_own_stack}.
%%%
%%% Five nodes start at once, two of them seeds. Their views are small, so that joiners evict each
%%% other. One node leaves. A crashed node of the first three restarts as its next incarnation; the
%%% others stay dead.
%%%
%%% == Invariant ==
%%% At all times the active and passive views are within their bounds and do not contain the node
%%% itself ({@link verify_own_stack}). Not later than a minute of virtual time after the last fault,
%%% and then for a whole period of the protocol: the living nodes that have not left are one
%%% component; of two of them either both have the other's present incarnation in the active view or
%%% neither; no active view contains another node.
-module(verify_own_hyparview).
-behaviour(verify_own_search).

-export([start/1]).
-export([faults_end/1]).
-export([faults/3]).
-export([crashed/3]).
-export([occur/3]).
-export([verdict/2]).

-define(NODES, [<<"n1">>, <<"n2">>, <<"n3">>, <<"n4">>, <<"n5">>]).
-define(SEEDS, [<<"n1">>, <<"n2">>]).
-define(LEAVER, <<"n5">>).
%% Nodes that are not replaced when they have crashed.
-define(MORTAL, [<<"n4">>, <<"n5">>]).
-define(PERIOD, 5000).
%% Milliseconds: of the leave and the end of that node, of the last fault, until a crashed node
%% restarts, and from the last fault to the verdict.
-define(LEAVES_AT, 7000).
-define(STOPS_AT, 7500).
-define(FAULTS_END, 12000).
-define(RESTARTS_AFTER, 2500).
-define(SETTLES_WITHIN, 60000).

%% @private
-spec start(verify_own_search:options()) -> {verify_world:t(), verify_own_search:agenda()}.
start(Options) ->
    World = verify_world:new(#{
        module => verify_own_stack,
        nodes => ?NODES,
        options => #{
            seeds => ?SEEDS,
            overlay => #{
                active_max => 3,
                active_min => 2,
                passive_max => 3,
                active_random_walk_length => 3,
                passive_random_walk_length => 2,
                shuffle_active => 1,
                shuffle_passive => 1,
                promotion_interval => ?PERIOD,
                shuffle_interval => 2 * ?PERIOD
            },
            mutation => maps:get(mutation, Options, none)
        },
        late => maps:get(late, Options, 400),
        crashes => true,
        trace => maps:get(trace, Options, false),
        seed => maps:get(world_seed, Options, 1)
    }),
    Leaves = verify_world:inject_at(?LEAVES_AT, ?LEAVER, {call, leave, leave}, World),
    {Leaves, [{?STOPS_AT, {stop, ?LEAVER}}]}.

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
    [
        {verify_world:now(World) + ?RESTARTS_AFTER, {restart, Name}}
     || not lists:member(Name, ?MORTAL)
    ].

%% @private
-spec occur(Action :: term(), verify_world:t(), verify_own_search:options()) ->
    {verify_world:t(), verify_own_search:agenda()}.
occur({restart, Name}, World, _Options) ->
    {verify_world:restart(Name, World), []};
occur({stop, Name}, World, _Options) ->
    case verify_world:is_up(Name, World) of
        true -> {verify_world:crash(Name, World), []};
        false -> {World, []}
    end.

%% @private
-spec verdict(verify_world:t(), verify_own_search:options()) -> verify_own_search:verdict().
verdict(World, _Options) ->
    Since = max(verify_world:now(World), ?STOPS_AT),
    settles(Since + ?SETTLES_WITHIN, false, World).

%% Internals.

%% The overlay is whole at two moments with a period between them.
settles(Deadline, WasWhole, World0) ->
    Next = max(verify_world:now(World0), ?STOPS_AT) + ?PERIOD,
    {World, none} = verify_world:run_until(Next, fun(_, Acc) -> {deliver, Acc} end, none, World0),
    case {verify_world:error(World), whole(World)} of
        {none, ok} when WasWhole -> ok;
        {none, ok} -> settles(Deadline, true, World);
        {none, Violated} when Next >= Deadline -> Violated;
        {none, _} -> settles(Deadline, false, World);
        {Error, _} -> {violated, Error}
    end.

whole(World) ->
    Views = maps:from_list([
        {Name, verify_own_stack:views(verify_world:state(Name, World))}
     || Name <- ?NODES, Name =/= ?LEAVER, verify_world:is_up(Name, World)
    ]),
    Links = maps:map(fun(_Name, #{active := Active}) -> maps:keys(Active) end, Views),
    first([
        {dead_neighbour, [{A, B} || {A, B} <- pairs(Links), not is_map_key(B, Views)]},
        {one_sided, verify_own_graph:one_sided(Links)},
        {previous_incarnation, [{A, B} || {A, B} <- pairs(Links), not is_present(A, B, Views)]},
        {partitioned, verify_own_graph:unreached(Links)}
    ]).

pairs(Links) ->
    [{A, B} || {A, To} <- maps:to_list(Links), B <- To].

first([]) -> ok;
first([{_, []} | Rest]) -> first(Rest);
first([Violated | _]) -> {violated, Violated}.

is_present(A, B, Views) ->
    case Views of
        #{A := #{active := #{B := Known}}, B := #{incarnation := Incarnation}} ->
            Known =:= Incarnation;
        #{} ->
            true
    end.

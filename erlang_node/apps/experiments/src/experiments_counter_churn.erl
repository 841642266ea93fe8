%%% @doc The counts of the ad counter after faults, in virtual time.
%%%
%%% {@link experiments_faults} injects a fault into a cluster and records a trace of its nodes and
%%% links, on which the replicas ({@link experiments_counter}) run. They count before the fault and
%%% throughout, until the overlay has been whole again for a minute; then the run waits until all
%%% are equal. A killed node restarts as a new actor with an empty replica, and counts it had not
%%% propagated are lost.
%%%
%%% A run is only valid if the balance is exact, which is checked: all replicas are equal; each
%%% living actor's count is exact; each dead actor's count is not higher than its true count, the
%%% difference being lost; value plus lost equals all increments made.
-module(experiments_counter_churn).

-export([names/0]).
-export([run/2]).

-import(experiments_cells, [emit/5, say/3]).

-type name() :: churn_counter_delta | churn_counter_tree.
-type options() :: experiments_churn:options().

-export_type([name/0]).

-define(MAX_LATENCY_MS, 20).
%% By then all nodes have met and intervals are alike; traffic is measured from then on.
-define(WARM_MS, 60000).
-define(CALM_MS, 60000).
%% How long all keep counting once the overlay is whole again.
-define(AFTER_MS, 60000).
%% Interval and time limit of the checks of lag and equality.
-define(LOOK_MS, 1000).
-define(GIVE_UP_MS, 600000).

%% @doc One experiment for each mode that sends only changes.
-spec names() -> [name()].
names() ->
    [churn_counter_delta, churn_counter_tree].

%% @doc Runs one of them; cells go to `emit', with the fault in place of the overlay.
-spec run(name(), options()) -> ok.
run(Name, #{seed := Seed, nodes := Nodes} = Options) ->
    Cluster = experiments_faults:form(Options),
    Links = simulator:links(experiments_faults:sim(Cluster)),
    Empty = experiments_counter:new(#{
        mode => mode(Name), scope => <<"churn">>, latency => fun latency/2, increments => infinity
    }),
    Started = lists:foldl(
        fun(Index, R) -> start(Index, Seed, R) end, Empty, lists:sort(maps:keys(Links))
    ),
    Met = maps:fold(fun meet/3, Started, Links),
    say("~s: ~b nodes count", [Name, Nodes], Options),
    Warm = simulator_replicas:advance(?WARM_MS, Met),
    Calm = simulator_replicas:advance(?WARM_MS + ?CALM_MS, Warm),
    traffic(Name, calm, Warm, Calm, Options),
    lists:foreach(
        fun(Fault) ->
            fault(Name, Fault, experiments_faults:play(Fault, Cluster), Calm, Options)
        end,
        lists:flatmap(fun experiments_churn:faults/1, experiments_churn:names())
    ).

mode(churn_counter_delta) -> delta;
mode(churn_counter_tree) -> tree.

%% Internals: one fault, from the same moment each time.

fault(Name, Fault, #{trace := Trace, looks := Looks}, Calm, #{seed := Seed} = Options) ->
    FaultName = experiments_faults:name(Fault),
    say("~s: ~s", [Name, FaultName], Options),
    #{at := Whole} = lists:last(Looks),
    Traced = lists:foldl(
        fun({At, Change}, R) ->
            simulator_replicas:later(At, fun(Then) -> change(Change, Seed, Then) end, R)
        end,
        Calm,
        Trace
    ),
    Hit = look_on(Name, FaultName, Whole + ?AFTER_MS, Traced, Options),
    traffic(Name, FaultName, Calm, Hit, Options),
    Over = simulator_replicas:now(Hit),
    Equal = simulator_replicas:await(
        fun is_equal/1, ?LOOK_MS, Over + ?GIVE_UP_MS, experiments_counter:end_counting(Hit)
    ),
    {Made, Value, Lost} = account(Equal),
    lists:foreach(
        fun({Parameter, Figure}) -> emit(Name, FaultName, Parameter, Figure, Options) end,
        [
            {increments, Made},
            {value, Value},
            {lost, Lost},
            {overcounted, Value - (Made - Lost)},
            {seconds_to_converge, (simulator_replicas:now(Equal) - Over) / 1000}
        ]
    ).

%% Advances through a fault, observing the replicas' lag now and then.
look_on(Name, FaultName, Lasting, Replicas, Options) ->
    Began = simulator_replicas:now(Replicas),
    lists:foldl(
        fun(At, R0) ->
            R = simulator_replicas:advance(Began + At, R0),
            Behind = experiments_counter:seconds_behind(R),
            emit(curve(Name), FaultName, At / 1000, Behind, Options),
            R
        end,
        Replicas,
        lists:seq(0, Lasting, ?LOOK_MS)
    ).

curve(churn_counter_delta) -> churn_behind_delta;
curve(churn_counter_tree) -> churn_behind_tree.

is_equal(R) ->
    length(lists:usort(simulator_replicas:values(R))) =:= 1.

%% The balance, which must be exact: increments made, counted, and lost with the dead.
account(R) ->
    [Value] = lists:usort(simulator_replicas:values(R)),
    Missing = fun({Actor, Counted}) -> Counted - adcounter_state:count(Actor, Value) end,
    Living = experiments_counter:living(R),
    Dead = experiments_counter:dead(R),
    true = lists:all(fun(Count) -> Missing(Count) =:= 0 end, Living),
    Losses = lists:map(Missing, Dead),
    true = lists:all(fun(Loss) -> Loss >= 0 end, Losses),
    Made = lists:sum([Counted || {_, Counted} <- Living ++ Dead]),
    Total = adcounter_state:total(Value),
    Lost = lists:sum(Losses),
    Made = Total + Lost,
    {Made, Total, Lost}.

traffic(Name, FaultName, Before, After, #{nodes := Nodes} = Options) ->
    Seconds = (simulator_replicas:now(After) - simulator_replicas:now(Before)) / 1000,
    lists:foreach(
        fun({Parameter, Sent}) ->
            Bytes = Sent(After) - Sent(Before),
            emit(Name, FaultName, Parameter, Bytes / Seconds / Nodes, Options)
        end,
        [
            {frame_bytes_per_node_second, fun experiments_counter:frame_bytes/1},
            {payload_bytes_per_node_second, fun payload_bytes/1}
        ]
    ).

payload_bytes(R) ->
    simulator_replicas:sent(lasp_sync:payloads(), R).

%% Internals: the overlay's trace applied to the replicas.

change({crash, Victims}, _Seed, R) ->
    lists:foldl(fun experiments_counter:stop/2, R, names(Victims));
change({start, Index}, Seed, R) ->
    start(Index, Seed, R);
change({cut, Side}, _Seed, R) ->
    simulator_replicas:cut(fun(Name) -> Side(simulator_peer:index(Name)) end, R);
change(heal, _Seed, R) ->
    simulator_replicas:heal(R);
change({UpOrDown, Index, Peer}, _Seed, R) ->
    [Name, PeerName] = names([Index, Peer]),
    simulator_replicas:deliver(Name, {UpOrDown, PeerName}, R).

start(Index, Seed, R) ->
    Name = simulator_peer:name(Index),
    Incarnation = simulator_replicas:starts(Name, R) + 1,
    Started = experiments_counter:start(
        #{
            name => Name,
            started => 1000 * simulator_replicas:now(R),
            seed => {Seed, Index, Incarnation}
        },
        R
    ),
    {Phase, _} = rand:uniform_s(
        experiments_counter:increment_interval(), rand:seed_s(exsss, {Seed, Index, -Incarnation})
    ),
    experiments_counter:begin_counting(Phase, Name, Started).

meet(Index, Neighbours, Replicas) ->
    Name = simulator_peer:name(Index),
    lists:foldl(
        fun(Neighbour, R) ->
            Event = {neighbour_up, Neighbour},
            Met = fun(Then) -> simulator_replicas:deliver(Name, Event, Then) end,
            simulator_replicas:later(0, Met, R)
        end,
        Replicas,
        names(Neighbours)
    ).

names(Indices) ->
    lists:map(fun simulator_peer:name/1, Indices).

latency(From, To) ->
    Pair = {simulator_peer:index(From), simulator_peer:index(To)},
    1 + erlang:phash2(Pair, ?MAX_LATENCY_MS).

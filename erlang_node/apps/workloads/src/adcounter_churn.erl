%%% @doc What the ad counter has counted after faults, in virtual time.
%%%
%%% {@link partisan_churn} does a fault to a cluster and leaves a trace of its nodes and links. On
%%% this run the replicas ({@link adcounter_replicas}). They count before the fault and throughout,
%%% until the overlay has been whole again for a minute; then it is waited until all are equal. A
%%% node that was killed comes back as another actor with nothing, and what it had counted and told
%%% nobody is lost.
%%%
%%% A run is only worth anything if the account is exact, which is checked: all replicas are equal;
%%% the count of every living actor is what it has counted; that of every dead one is not more, and
%%% what is missing of it is the lost; value and lost are all increments that were made.
-module(adcounter_churn).

-export([names/0]).
-export([run/2]).

-import(partisan_cells, [emit/5, say/3]).

-type name() :: churn_counter_delta | churn_counter_tree.
-type options() :: partisan_churn_experiments:options().

-export_type([name/0]).

-define(MAX_LATENCY_MS, 20).
%% By then all have met and each interval is as the one before; of the rest the traffic is measured.
-define(WARM_MS, 60000).
-define(CALM_MS, 60000).
%% For so long all count on when the overlay is whole again.
-define(AFTER_MS, 60000).
%% How often it is looked how far replicas are behind and whether they are equal, and for how long.
-define(LOOK_MS, 1000).
-define(GIVE_UP_MS, 600000).

%% @doc One experiment for each mode that tells of changes alone.
-spec names() -> [name()].
names() ->
    [churn_counter_delta, churn_counter_tree].

%% @doc Runs one of them; cells go to `emit', with the fault in the place of the overlay.
-spec run(name(), options()) -> ok.
run(Name, Options = #{seed := Seed, nodes := Nodes}) ->
    Cluster = partisan_churn:form(Options),
    Links = partisan_sim:links(partisan_churn:sim(Cluster)),
    Empty = adcounter_replicas:new(#{
        mode => mode(Name), scope => <<"churn">>, latency => fun latency/2, increments => infinity
    }),
    Started = lists:foldl(
        fun(Index, R) -> start(Index, Seed, R) end, Empty, lists:sort(maps:keys(Links))
    ),
    Met = maps:fold(fun meet/3, Started, Links),
    say("~s: ~b nodes count", [Name, Nodes], Options),
    Warm = adcounter_replicas:advance(?WARM_MS, Met),
    Calm = adcounter_replicas:advance(?WARM_MS + ?CALM_MS, Warm),
    traffic(Name, calm, Warm, Calm, Options),
    lists:foreach(
        fun(Fault) -> fault(Name, Fault, partisan_churn:play(Fault, Cluster), Calm, Options) end,
        lists:append([
            partisan_churn_experiments:faults(Experiment)
         || Experiment <- partisan_churn_experiments:names()
        ])
    ).

mode(churn_counter_delta) -> delta;
mode(churn_counter_tree) -> tree.

%% Internals: one fault, from the same moment each time.

fault(Name, Fault, #{trace := Trace, looks := Looks}, Calm, Options = #{seed := Seed}) ->
    FaultName = partisan_churn:name(Fault),
    say("~s: ~s", [Name, FaultName], Options),
    #{at := Whole} = lists:last(Looks),
    Traced = lists:foldl(
        fun({At, Change}, R) ->
            adcounter_replicas:later(At, fun(Then) -> change(Change, Seed, Then) end, R)
        end,
        Calm,
        Trace
    ),
    Hit = look_on(Name, FaultName, Whole + ?AFTER_MS, Traced, Options),
    traffic(Name, FaultName, Calm, Hit, Options),
    Over = adcounter_replicas:now(Hit),
    Equal = adcounter_replicas:await(
        fun is_equal/1, ?LOOK_MS, Over + ?GIVE_UP_MS, adcounter_replicas:end_counting(Hit)
    ),
    {Made, Value, Lost} = account(Equal),
    lists:foreach(
        fun({Parameter, Figure}) -> emit(Name, FaultName, Parameter, Figure, Options) end,
        [
            {increments, Made},
            {value, Value},
            {lost, Lost},
            {overcounted, Value - (Made - Lost)},
            {seconds_to_converge, (adcounter_replicas:now(Equal) - Over) / 1000}
        ]
    ).

%% Lets a fault's time pass, with a look now and then at how far replicas are behind.
look_on(Name, FaultName, Lasting, Replicas, Options) ->
    Began = adcounter_replicas:now(Replicas),
    lists:foldl(
        fun(At, R0) ->
            R = adcounter_replicas:advance(Began + At, R0),
            Behind = adcounter_replicas:seconds_behind(R),
            emit(curve(Name), FaultName, At / 1000, Behind, Options),
            R
        end,
        Replicas,
        lists:seq(0, Lasting, ?LOOK_MS)
    ).

curve(churn_counter_delta) -> churn_behind_delta;
curve(churn_counter_tree) -> churn_behind_tree.

is_equal(R) ->
    length(lists:usort(adcounter_replicas:values(R))) =:= 1.

%% The account, which is exact or there is none: increments made, counted, and lost with the dead.
account(R) ->
    [Value] = lists:usort(adcounter_replicas:values(R)),
    Missing = fun({Actor, Counted}) -> Counted - adcounter_state:count(Actor, Value) end,
    Living = adcounter_replicas:living(R),
    Dead = adcounter_replicas:dead(R),
    true = lists:all(fun(Count) -> Missing(Count) =:= 0 end, Living),
    Losses = lists:map(Missing, Dead),
    true = lists:all(fun(Loss) -> Loss >= 0 end, Losses),
    Made = lists:sum([Counted || {_, Counted} <- Living ++ Dead]),
    Total = adcounter_state:total(Value),
    Lost = lists:sum(Losses),
    Made = Total + Lost,
    {Made, Total, Lost}.

traffic(Name, FaultName, Before, After, Options = #{nodes := Nodes}) ->
    Seconds = (adcounter_replicas:now(After) - adcounter_replicas:now(Before)) / 1000,
    lists:foreach(
        fun({Parameter, Kinds}) ->
            Bytes = adcounter_replicas:sent(Kinds, After) - adcounter_replicas:sent(Kinds, Before),
            emit(Name, FaultName, Parameter, Bytes / Seconds / Nodes, Options)
        end,
        [
            {frame_bytes_per_node_second, [frames]},
            {payload_bytes_per_node_second, lasp_sync:payloads()}
        ]
    ).

%% Internals: what the overlay's trace means to the replicas.

change({crash, Victims}, _Seed, R) ->
    lists:foldl(fun adcounter_replicas:stop/2, R, names(Victims));
change({start, Index}, Seed, R) ->
    start(Index, Seed, R);
change({cut, Side}, _Seed, R) ->
    adcounter_replicas:cut(fun(Name) -> Side(partisan_sim_peer:index(Name)) end, R);
change(heal, _Seed, R) ->
    adcounter_replicas:heal(R);
change({UpOrDown, Index, Peer}, _Seed, R) ->
    [Name, PeerName] = names([Index, Peer]),
    adcounter_replicas:tell(Name, {UpOrDown, PeerName}, R).

start(Index, Seed, R) ->
    Name = partisan_sim_peer:name(Index),
    Life = adcounter_replicas:starts(Name, R) + 1,
    Started = adcounter_replicas:start(
        #{name => Name, started => 1000 * adcounter_replicas:now(R), seed => {Seed, Index, Life}},
        R
    ),
    {Phase, _} = rand:uniform_s(
        adcounter_replicas:increment_interval(), rand:seed_s(exsss, {Seed, Index, -Life})
    ),
    adcounter_replicas:begin_counting(Phase, Name, Started).

meet(Index, Neighbours, Replicas) ->
    Name = partisan_sim_peer:name(Index),
    lists:foldl(
        fun(Neighbour, R) ->
            Met = fun(Then) -> adcounter_replicas:tell(Name, {neighbour_up, Neighbour}, Then) end,
            adcounter_replicas:later(0, Met, R)
        end,
        Replicas,
        names(Neighbours)
    ).

names(Indices) ->
    lists:map(fun partisan_sim_peer:name/1, Indices).

latency(From, To) ->
    Pair = {partisan_sim_peer:index(From), partisan_sim_peer:index(To)},
    1 + erlang:phash2(Pair, ?MAX_LATENCY_MS).

%%% @doc What the ad counter has counted after faults, in virtual time.
%%%
%%% {@link partisan_churn} does a fault to a cluster and leaves a trace of its nodes and links. On
%%% this run the synchronisation protocols, with the type that the ad counter replicates. Every node
%%% counts every ten seconds and propagates every five, before the fault and throughout, until the
%%% overlay has been whole again for a minute; then it is waited until all replicas are equal. A
%%% node that was killed comes back as another actor with nothing, and what it had counted and told
%%% nobody is lost.
%%%
%%% A run is only worth anything if the account is exact, which is checked: all replicas are equal;
%%% the count of every living actor is what it has counted; that of every dead one is not more, and
%%% what is missing of it is the lost; value and lost are all increments that were made.
-module(adcounter_churn).

-export([names/0]).
-export([run/2]).

-import(partisan_cells, [emit/5, say/3, mean/1]).

-type name() :: churn_counter_delta | churn_counter_tree.
-type options() :: partisan_churn_experiments:options().
-type index() :: partisan_sim:index().

-export_type([name/0]).

-record(node, {
    name :: lasp_sync:name(),
    life :: pos_integer(),
    actor :: lasp_gcounter:actor(),
    sync :: term(),
    counted = 0 :: non_neg_integer(),
    %% The newest start of each timer; an event of an older start is stale.
    timers = #{} :: #{term() => pos_integer()}
}).

-record(run, {
    protocol :: module(),
    seed :: integer(),
    now = 0 :: non_neg_integer(),
    serial = 0 :: non_neg_integer(),
    nodes = #{} :: #{index() => #node{}},
    lives = #{} :: #{index() => pos_integer()},
    %% What the dead had counted.
    dead = #{} :: #{lasp_gcounter:actor() => non_neg_integer()},
    side = fun(_) -> true end :: partisan_churn:side(),
    counting = true :: boolean(),
    queue = #{} :: #{non_neg_integer() => [term()]},
    frames = 0 :: non_neg_integer(),
    payload = 0 :: non_neg_integer()
}).

-define(INCREMENT_MS, 10000).
-define(PROPAGATION_MS, 5000).
-define(MAX_LATENCY_MS, 20).
-define(FIRST_INCARNATION, 1795224000000000).
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
    Empty = #run{protocol = lasp_sync:protocol(mode(Name)), seed = Seed},
    Begun = lists:foldl(fun begin_life/2, Empty, lists:sort(maps:keys(Links))),
    Met = maps:fold(fun meet/3, Begun, Links),
    say("~s: ~b nodes count", [Name, Nodes], Options),
    Warm = advance(?WARM_MS, Met),
    Calm = advance(?WARM_MS + ?CALM_MS, Warm),
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

meet(Index, Neighbours, Run) ->
    lists:foldl(
        fun(N, R) -> schedule(0, {change, {neighbour_up, Index, N}}, R) end, Run, Neighbours
    ).

%% Internals: one fault, from the same moment each time.

fault(Name, Fault, #{trace := Trace, looks := Looks}, Calm = #run{now = Began}, Options) ->
    FaultName = partisan_churn:name(Fault),
    say("~s: ~s", [Name, FaultName], Options),
    #{at := Whole} = lists:last(Looks),
    Traced = lists:foldl(
        fun({At, Change}, R) -> schedule(At, {change, Change}, R) end, Calm, Trace
    ),
    Hit = look_on(Name, FaultName, Began, Whole + ?AFTER_MS, Traced, Options),
    traffic(Name, FaultName, Calm, Hit, Options),
    Equal = until_equal(Hit#run.now + ?GIVE_UP_MS, Hit#run{counting = false}),
    {Made, Value, Lost} = account(Equal),
    lists:foreach(
        fun({Parameter, Figure}) -> emit(Name, FaultName, Parameter, Figure, Options) end,
        [
            {increments, Made},
            {value, Value},
            {lost, Lost},
            {overcounted, Value - (Made - Lost)},
            {seconds_to_converge, (Equal#run.now - Hit#run.now) / 1000}
        ]
    ).

%% Lets a fault's time pass, with a look now and then at how far replicas are behind.
look_on(Name, FaultName, Began, Lasting, Run, Options) ->
    lists:foldl(
        fun(At, R0) ->
            R = advance(Began + At, R0),
            emit(curve(Name), FaultName, At / 1000, behind(R), Options),
            R
        end,
        Run,
        lists:seq(0, Lasting, ?LOOK_MS)
    ).

curve(churn_counter_delta) -> churn_behind_delta;
curve(churn_counter_tree) -> churn_behind_tree.

%% By how many seconds of counting a replica is behind what the living have counted, in the mean.
behind(Run = #run{nodes = Nodes, dead = Dead}) ->
    Counted = lists:sum([C || #node{counted = C} <- maps:values(Nodes)]),
    Missing = [
        Counted - (adcounter_state:total(Value) - of_actors(maps:keys(Dead), Value))
     || Value <- values(Run)
    ],
    mean(Missing) / (map_size(Nodes) * 1000 / ?INCREMENT_MS).

of_actors(Actors, Value) ->
    lists:sum([adcounter_state:count(Actor, Value) || Actor <- Actors]).

until_equal(Until, Run = #run{now = Now}) when Now < Until ->
    case lists:usort(values(Run)) of
        [_] -> Run;
        _ -> until_equal(Until, advance(Now + ?LOOK_MS, Run))
    end.

%% The account, which is exact or there is none: increments made, counted, and lost with the dead.
account(Run = #run{nodes = Nodes, dead = Dead}) ->
    [Value] = lists:usort(values(Run)),
    lists:foreach(
        fun(#node{actor = Actor, counted = Counted}) ->
            Counted = adcounter_state:count(Actor, Value)
        end,
        maps:values(Nodes)
    ),
    Losses = [
        Counted - adcounter_state:count(Actor, Value)
     || {Actor, Counted} <- maps:to_list(Dead)
    ],
    true = lists:all(fun(Missing) -> Missing >= 0 end, Losses),
    Made = lists:sum([C || #node{counted = C} <- maps:values(Nodes)] ++ maps:values(Dead)),
    Total = adcounter_state:total(Value),
    Lost = lists:sum(Losses),
    Made = Total + Lost,
    {Made, Total, Lost}.

values(#run{protocol = Protocol, nodes = Nodes}) ->
    [Protocol:value(Sync) || #node{sync = Sync} <- maps:values(Nodes)].

traffic(Name, FaultName, Before, After, Options = #{nodes := Nodes}) ->
    Seconds = (After#run.now - Before#run.now) / 1000,
    PerNode = fun(Bytes) -> Bytes / Seconds / Nodes end,
    Frames = PerNode(After#run.frames - Before#run.frames),
    Payload = PerNode(After#run.payload - Before#run.payload),
    emit(Name, FaultName, frame_bytes_per_node_second, Frames, Options),
    emit(Name, FaultName, payload_bytes_per_node_second, Payload, Options).

%% Internals: nodes.

begin_life(Index, Run0 = #run{now = Now, protocol = Protocol, seed = Seed, lives = Lives}) ->
    Life = maps:get(Index, Lives, 0) + 1,
    Name = partisan_sim_peer:name(Index),
    % The time of its start, in microseconds, as nodes have it: what numbers a tree's roots.
    Incarnation = ?FIRST_INCARNATION + 1000 * Now,
    {Sync, Effects} = Protocol:init(#{
        name => Name,
        incarnation => Incarnation,
        type => adcounter_state,
        scope => <<"churn">>,
        interval => ?PROPAGATION_MS,
        seed => {Seed, Index, Life}
    }),
    Node = #node{
        name = Name, life = Life, actor = adcounter_state:actor(Name, Incarnation), sync = Sync
    },
    Run1 = interpret(Index, Node, Effects, Run0#run{lives = Lives#{Index => Life}}),
    Run2 = event(Index, {update, adcounter_state:report(Name, Incarnation, false, 0)}, Run1),
    {Phase, _} = rand:uniform_s(?INCREMENT_MS, rand:seed_s(exsss, {Seed, Index, -Life})),
    schedule(Phase, {count, Index, Life}, Run2).

occur({change, {crash, Victims}}, Run) ->
    lists:foldl(fun end_life/2, Run, Victims);
occur({change, {start, Index}}, Run) ->
    begin_life(Index, Run);
occur({change, {cut, Side}}, Run) ->
    Run#run{side = Side};
occur({change, heal}, Run) ->
    Run#run{side = fun(_) -> true end};
occur({change, {UpOrDown, Index, Peer}}, Run = #run{nodes = Nodes}) ->
    case Nodes of
        #{Index := _} -> event(Index, {UpOrDown, partisan_sim_peer:name(Peer)}, Run);
        #{} -> Run
    end;
occur({count, _Index, _Life}, Run = #run{counting = false}) ->
    Run;
occur({count, Index, Life}, Run = #run{nodes = Nodes}) ->
    case Nodes of
        #{Index := Node = #node{life = Life, actor = Actor, counted = Before}} ->
            Counted = Node#node{counted = Before + 1},
            Delta = adcounter_state:counted(0, Actor, Before + 1),
            Next = event(Index, {update, Delta}, Run#run{nodes = Nodes#{Index := Counted}}),
            schedule(?INCREMENT_MS, {count, Index, Life}, Next);
        #{} ->
            Run
    end;
occur({timer, Index, Life, Timer, Serial}, Run = #run{nodes = Nodes}) ->
    case Nodes of
        #{Index := #node{life = Life, timers = #{Timer := Serial}}} ->
            event(Index, {timer, Timer}, Run);
        #{} ->
            Run
    end;
%% A message arrives at the life that it was sent to, and of no former life where there is another.
occur({message, {From, FromLife}, {To, ToLife}, Message}, Run) ->
    #run{nodes = Nodes, lives = Lives, side = Side} = Run,
    case {Nodes, Lives} of
        {#{To := #node{life = ToLife}}, #{From := FromLife}} ->
            case Side(From) =:= Side(To) of
                true -> event(To, {message, partisan_sim_peer:name(From), Message}, Run);
                false -> Run
            end;
        _ ->
            Run
    end.

end_life(Index, Run = #run{nodes = Nodes, dead = Dead}) ->
    {#node{actor = Actor, counted = Counted}, Others} = maps:take(Index, Nodes),
    Run#run{nodes = Others, dead = Dead#{Actor => Counted}}.

event(Index, Event, Run = #run{protocol = Protocol, nodes = Nodes}) ->
    #{Index := Node = #node{sync = Sync}} = Nodes,
    {Next, Effects} = Protocol:handle(Event, Sync),
    interpret(Index, Node#node{sync = Next}, Effects, Run).

interpret(Index, Node, Effects, Run = #run{nodes = Nodes}) ->
    lists:foldl(
        fun(Effect, R) -> effect(Effect, Index, R) end,
        Run#run{nodes = Nodes#{Index => Node}},
        Effects
    ).

effect({send, Name, _Class, Message}, Index, Run = #run{lives = Lives, frames = Frames}) ->
    #{Index := Life} = Lives,
    To = partisan_sim_peer:index(Name),
    {Bytes, _} = partisan_frame:message(
        lasp_store, {lasp_sync, partisan_sim_peer:name(Index), Message}
    ),
    Arrival = {message, {Index, Life}, {To, maps:get(To, Lives)}, Message},
    schedule(latency(Index, To), Arrival, Run#run{frames = Frames + Bytes});
effect({start_timer, Timer, Delay}, Index, Run = #run{serial = Serial, nodes = Nodes}) ->
    #{Index := Node = #node{life = Life, timers = Timers}} = Nodes,
    Started = Node#node{timers = Timers#{Timer => Serial + 1}},
    schedule(Delay, {timer, Index, Life, Timer, Serial + 1}, Run#run{
        serial = Serial + 1, nodes = Nodes#{Index := Started}
    });
effect({count, Kind, sent, Bytes}, _Index, Run = #run{payload = Payload}) ->
    case lists:member(Kind, lasp_sync:payloads()) of
        true -> Run#run{payload = Payload + Bytes};
        false -> Run
    end;
effect(_Effect, _Index, Run) ->
    Run.

latency(From, To) ->
    1 + erlang:phash2({From, To}, ?MAX_LATENCY_MS).

%% Internals: time.

schedule(Delay, Event, Run = #run{now = Now, queue = Queue}) ->
    At = Now + Delay,
    Run#run{queue = Queue#{At => [Event | maps:get(At, Queue, [])]}}.

advance(Until, Run = #run{now = Now, queue = Queue}) ->
    case maps:take(Now, Queue) of
        {Events, Rest} ->
            advance(Until, lists:foldl(fun occur/2, Run#run{queue = Rest}, lists:reverse(Events)));
        error when Now < Until ->
            advance(Until, Run#run{now = Now + 1});
        error ->
            Run
    end.

%%% @doc The published ad counter experiment in virtual time: what each way to synchronise sends.
%%%
%%% An overlay with the published parameters is formed in the simulator and then stands still. On
%%% it run the synchronisation protocols themselves, on the type that the ad counter replicates,
%%% with names and incarnations as pods have them. Every node counts so many times, every ten
%%% seconds at a phase of its own, propagates every five, and at the end reports itself done. The
%%% run is over when all replicas are equal, and is only worth anything if each then holds the exact
%%% count of every actor, which is checked. Where sums are all that is synchronised, it is over when
%%% all sums are, and what is checked is that they are those of all counts, and of all nodes.
%%%
%%% Bytes are counted as the published experiment did (`payload': values and parts of them, as
%%% they are sent to each peer), with all that the protocols say besides (`control': digests,
%%% greetings, the tree), and as frames of the transport.
-module(adcounter_simulation).

-export([names/0]).
-export([run/2]).

-import(partisan_cells, [emit/5, say/3]).

-type name() ::
    synchronization_state
    | synchronization_delta
    | synchronization_tree
    | synchronization_aggregate.

%% Of the options of {@link partisan_experiments}; `increments': how often each node counts.
-type options() :: #{
    nodes := pos_integer(),
    seed := integer(),
    increments := pos_integer(),
    emit := fun((partisan_cells:cell()) -> ok),
    progress := fun((string()) -> ok),
    _ => _
}.

-export_type([name/0, options/0]).

-record(node, {
    name :: lasp_sync:name(),
    actor :: lasp_gcounter:actor(),
    incarnation :: pos_integer(),
    sync :: term(),
    counted = 0 :: non_neg_integer()
}).

-record(run, {
    protocol :: module(),
    options :: options(),
    now = 0 :: non_neg_integer(),
    nodes = #{} :: #{lasp_sync:name() => #node{}},
    queue = #{} :: #{non_neg_integer() => [{lasp_sync:name(), term()}]},
    %% Bytes and messages sent, by kind.
    sent = #{} :: #{lasp_sync:kind() | frames | messages => non_neg_integer()}
}).

-define(INCREMENT_MS, 10000).
-define(PROPAGATION_MS, 5000).
-define(MAX_LATENCY_MS, 20).
%% After so many increments all have met, and each interval is as the one before: what follows may
%% be taken for a part of a longer run.
-define(WARM, 6).
%% How often it is looked whether all are equal, and for how long.
-define(LOOK_MS, 500).
-define(GIVE_UP_MS, 600000).
%% Pods start in one shard of so many after the other.
-define(SHARD, 250).
-define(FIRST_INCARNATION, 1795224000000000).
-define(STARTS_WITHIN_US, 240000000).

%% @doc One experiment for each mode.
-spec names() -> [name()].
names() ->
    [name(Mode) || Mode <- lasp_sync:modes()].

%% @doc Runs one of them; cells go to `emit', with the mode in the place of the overlay.
-spec run(name(), options()) -> ok.
run(Name, Options) ->
    [Mode] = [M || M <- lasp_sync:modes(), name(M) =:= Name],
    Links = links(Options),
    Begun = lists:foldl(
        fun({Index, Neighbours}, Run) -> begin_node(Index, Neighbours, Run) end,
        #run{protocol = lasp_sync:protocol(Mode), options = Options},
        maps:to_list(Links)
    ),
    #{increments := Increments} = Options,
    Warm = advance(min(?WARM, Increments) * ?INCREMENT_MS, Begun),
    Counted = advance(Increments * ?INCREMENT_MS, Warm),
    Lag = lag(Counted),
    Equal = until_equal(Counted),
    ok = check(Equal),
    report(Mode, Lag, Links, [{warm, Warm}, {counted, Counted}], Equal).

%% Internals: the overlay.

links(#{nodes := Nodes, seed := Seed, progress := Progress}) ->
    Trial = partisan_trial:new(#{
        nodes => Nodes,
        seed => Seed,
        overlay => {hyparview, #{
            active_max => 6,
            active_min => 3,
            passive_max => 30,
            active_random_walk_length => 6,
            passive_random_walk_length => 6,
            shuffle_interval => 10000,
            promotion_interval => 5000
        }},
        broadcast => #{protocol => gossip},
        contact => random,
        join_gap => 20,
        progress => Progress
    }),
    Graph = partisan_trial:alive_graph(partisan_trial:run_cycles(10, Trial)),
    %% What only one end takes for a link is on its way to be one, or to be none.
    maps:map(
        fun(Index, To) -> [N || N <- To, lists:member(Index, maps:get(N, Graph))] end, Graph
    ).

%% Internals: nodes.

begin_node(Index, Neighbours, Run0) ->
    #run{protocol = Protocol, options = #{seed := Seed, increments := Increments}} = Run0,
    Name = node_name(Index),
    Random = rand:seed_s(exsss, {Seed, Index, 1}),
    {Started, Random1} = rand:uniform_s(?STARTS_WITHIN_US, Random),
    {Phase, _} = rand:uniform_s(?INCREMENT_MS, Random1),
    Incarnation = ?FIRST_INCARNATION + Started,
    {Sync, Effects} = Protocol:init(#{
        name => Name,
        incarnation => Incarnation,
        type => adcounter_state,
        scope => <<"0123456789ab">>,
        interval => ?PROPAGATION_MS,
        seed => {Seed, Index, 2}
    }),
    Node = #node{
        name = Name,
        actor = adcounter_state:actor(Name, Incarnation),
        incarnation = Incarnation,
        sync = Sync
    },
    Run1 = interpret(Node, Effects, Run0),
    Run2 = event(Name, {update, adcounter_state:report(Name, Incarnation, false, 0)}, Run1),
    Run3 = lists:foldl(
        fun(N, R) -> event(Name, {neighbour_up, node_name(N)}, R) end, Run2, Neighbours
    ),
    lists:foldl(
        fun(I, R) -> schedule(Phase - 1 + I * ?INCREMENT_MS, Name, count, R) end,
        Run3,
        lists:seq(0, Increments - 1)
    ).

node_name(Index) ->
    Ordinal = integer_to_binary(Index - 1),
    case (Index - 1) div ?SHARD of
        0 -> <<"ads-", Ordinal/binary>>;
        Shard -> <<"ads-s", (integer_to_binary(Shard))/binary, $-, Ordinal/binary>>
    end.

occur({Name, count}, Run = #run{nodes = Nodes, options = #{increments := Increments}}) ->
    #{Name := Node = #node{actor = Actor, counted = Before, incarnation = Incarnation}} = Nodes,
    Counted = Before + 1,
    Next = Run#run{nodes = Nodes#{Name := Node#node{counted = Counted}}},
    Shown = event(Name, {update, adcounter_state:counted(0, Actor, Counted)}, Next),
    case Counted of
        Increments ->
            Report = adcounter_state:report(Name, Incarnation, true, Counted),
            event(Name, {update, Report}, Shown);
        _ ->
            Shown
    end;
occur({Name, Event}, Run) ->
    event(Name, Event, Run).

event(Name, Event, Run = #run{protocol = Protocol, nodes = Nodes}) ->
    #{Name := Node = #node{sync = Sync}} = Nodes,
    {Next, Effects} = Protocol:handle(Event, Sync),
    interpret(Node#node{sync = Next}, Effects, Run).

interpret(Node = #node{name = Name}, Effects, Run = #run{nodes = Nodes}) ->
    lists:foldl(
        fun(Effect, R) -> effect(Effect, Name, R) end,
        Run#run{nodes = Nodes#{Name => Node}},
        Effects
    ).

effect({send, To, _Class, Message}, Name, Run) ->
    {Bytes, _} = partisan_frame:message(lasp_store, {lasp_sync, Name, Message}),
    Counted = add(frames, Bytes, add(messages, 1, Run)),
    schedule(latency(Name, To), To, {message, Name, Message}, Counted);
effect({start_timer, Timer, Delay}, Name, Run) ->
    schedule(Delay, Name, {timer, Timer}, Run);
effect({count, Kind, sent, Bytes}, _Name, Run) ->
    add(Kind, Bytes, Run);
effect(_Effect, _Name, Run) ->
    Run.

latency(From, To) ->
    1 + erlang:phash2({From, To}, ?MAX_LATENCY_MS).

add(What, Amount, Run = #run{sent = Sent}) ->
    Run#run{sent = Sent#{What => maps:get(What, Sent, 0) + Amount}}.

%% Internals: time.

schedule(Delay, Name, Event, Run = #run{now = Now, queue = Queue}) ->
    At = Now + Delay,
    Run#run{queue = Queue#{At => [{Name, Event} | maps:get(At, Queue, [])]}}.

advance(Until, Run = #run{now = Now, queue = Queue}) ->
    case maps:take(Now, Queue) of
        {Events, Rest} ->
            Occurred = lists:foldl(fun occur/2, Run#run{queue = Rest}, lists:reverse(Events)),
            advance(Until, Occurred);
        error when Now < Until ->
            _ = [say_how_far(Run) || Now rem 60000 =:= 0, Now > 0],
            advance(Until, Run#run{now = Now + 1});
        error ->
            Run
    end.

say_how_far(#run{now = Now, sent = Sent, options = Options}) ->
    GiB = maps:get(frames, Sent, 0) / (1 bsl 30),
    say("~b s of virtual time, ~.3f GiB in frames", [Now div 1000, GiB], Options).

until_equal(Run = #run{now = Now, options = #{increments := Increments}}) ->
    case is_equal(Run) of
        true ->
            Run;
        false when Now < Increments * ?INCREMENT_MS + ?GIVE_UP_MS ->
            until_equal(advance(Now + ?LOOK_MS, Run))
    end.

%% Equal sums may be those of an earlier moment: they are the last ones when all nodes are in them
%% as done.
is_equal(Run = #run{protocol = lasp_sync_aggregate, nodes = Nodes}) ->
    Names = lists:sort(maps:keys(Nodes)),
    Done = fun(Value) -> adcounter_state:nodes_done(Names, Value) =:= length(Names) end,
    lists:all(Done, values(Run));
is_equal(Run) ->
    [First | Others] = values(Run),
    lists:all(fun(Value) -> Value =:= First end, Others).

%% Internals: results.

values(#run{protocol = Protocol, nodes = Nodes}) ->
    [Protocol:value(Sync) || #node{sync = Sync} <- maps:values(Nodes)].

%% By how many seconds of counting a replica is behind all that has been counted, in the mean.
lag(Run = #run{nodes = Nodes}) ->
    Counted = lists:sum([C || #node{counted = C} <- maps:values(Nodes)]),
    Missing = [Counted - adcounter_state:total(Value) || Value <- values(Run)],
    Size = map_size(Nodes),
    lists:sum(Missing) / Size / (Size * 1000 / ?INCREMENT_MS).

%% Every actor with its exact count, everywhere; the sum of them where there is no more.
check(Run = #run{nodes = Nodes, options = #{increments := Increments}}) ->
    Total = map_size(Nodes) * Increments,
    true = lists:all(fun(Value) -> adcounter_state:total(Value) =:= Total end, values(Run)),
    ok = check_actors(Run).

check_actors(#run{protocol = lasp_sync_aggregate}) ->
    ok;
check_actors(Run = #run{nodes = Nodes, options = #{increments := Increments}}) ->
    [Value | _] = values(Run),
    true = lists:all(
        fun(#node{actor = Actor}) -> adcounter_state:count(Actor, Value) =:= Increments end,
        maps:values(Nodes)
    ),
    ok.

%% Bytes at moments of the run, and at its end.
report(Mode, Lag, Links, Moments, Run = #run{now = Now, options = Options}) ->
    #{increments := Increments} = Options,
    Degrees = [length(To) || To <- maps:values(Links)],
    lists:foreach(
        fun({Parameter, Value}) -> emit(synchronization, Mode, Parameter, Value, Options) end,
        [
            {increments, Increments},
            {mean_degree, partisan_cells:mean(Degrees)},
            {warm, min(?WARM, Increments)},
            {payload_bytes, payload(Run)},
            {control_bytes, control(Run)},
            {frame_bytes, sent([frames], Run)},
            {messages, sent([messages], Run)},
            {seconds_behind, Lag},
            {seconds_to_converge, (Now - Increments * ?INCREMENT_MS) / 1000}
            | lists:append([moment(Moment, Then) || {Moment, Then} <- Moments])
        ]
    ).

moment(Moment, Run) ->
    [
        {list_to_atom(lists:concat([Moment, '_', Name])), Bytes}
     || {Name, Bytes} <- [
            {payload_bytes, payload(Run)},
            {control_bytes, control(Run)},
            {frame_bytes, sent([frames], Run)}
        ]
    ].

payload(Run) -> sent(lasp_sync:payloads(), Run).

control(Run) -> sent([digest, hello, greet, tree], Run).

sent(Kinds, #run{sent = Sent}) ->
    lists:sum([maps:get(Kind, Sent, 0) || Kind <- Kinds]).

name(Mode) ->
    binary_to_atom(<<"synchronization_", (atom_to_binary(Mode))/binary>>).

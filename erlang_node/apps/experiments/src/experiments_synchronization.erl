%%% @doc The published ad counter experiment in virtual time: traffic of each synchronisation mode.
%%%
%%% An overlay with the published parameters is formed in the simulator and then kept fixed. The
%%% replicas ({@link experiments_counter}) run on it, with names and incarnations as in pods. Every
%%% node counts a given number of times and then reports itself done. The run is over when all
%%% replicas are equal, and is only valid if each then holds the exact count of every actor, which
%%% is checked. With sums only, it is over when all sums are equal, and they are checked against all
%%% counts and all nodes.
%%%
%%% Bytes are counted as in the published experiment (`payload': values and parts of them, as sent
%%% to each peer), with everything else of the protocols (`control': digests, greetings, the tree),
%%% and as frames of the transport.
-module(experiments_synchronization).

-export([names/0]).
-export([run/2]).

-import(experiments_cells, [emit/5, say/3]).

-type name() ::
    synchronization_state
    | synchronization_delta
    | synchronization_tree
    | synchronization_aggregate.

%% Some options of {@link experiments_papers}; `increments': counts per node.
-type options() :: #{
    nodes := pos_integer(),
    seed := integer(),
    increments := pos_integer(),
    emit := fun((experiments_cells:cell()) -> ok),
    progress := fun((string()) -> ok),
    _ => _
}.

-export_type([name/0, options/0]).

-define(MAX_LATENCY_MS, 20).
%% After that many increments all nodes have met, and intervals are alike: the rest is
%% representative of a longer run.
-define(WARM, 6).
%% Interval and time limit of the equality checks.
-define(LOOK_MS, 500).
-define(GIVE_UP_MS, 600000).
-define(MINUTE_MS, 60000).
%% Pods of a shard of this size start one after the other.
-define(SHARD, 250).
-define(STARTS_WITHIN_US, 240000000).

%% @doc One experiment for each mode.
-spec names() -> [name()].
names() ->
    [name(Mode) || Mode <- lasp_sync:modes()].

%% @doc Runs one of them; cells go to `emit', with the mode in place of the overlay.
-spec run(name(), options()) -> ok.
run(Name, #{increments := Increments} = Options) ->
    [Mode] = [M || M <- lasp_sync:modes(), name(M) =:= Name],
    Links = links(Options),
    Begun = lists:foldl(
        fun({Index, Neighbours}, R) -> begin_node(Index, Neighbours, Options, R) end,
        experiments_counter:new(#{
            mode => Mode,
            scope => <<"0123456789ab">>,
            latency => fun latency/2,
            increments => Increments
        }),
        maps:to_list(Links)
    ),
    Counting = experiments_counter:increment_interval(),
    Warm = advance(min(?WARM, Increments) * Counting, Begun, Options),
    Counted = advance(Increments * Counting, Warm, Options),
    Equal = simulator_replicas:await(
        fun(R) -> is_equal(Mode, R) end, ?LOOK_MS, Increments * Counting + ?GIVE_UP_MS, Counted
    ),
    ok = check(Mode, Increments, Equal),
    report(Mode, Links, Warm, Counted, Equal, Options).

%% Internals: the overlay.

links(#{nodes := Nodes, seed := Seed, progress := Progress}) ->
    Trial = experiments_trial:new(#{
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
    Graph = experiments_trial:alive_graph(experiments_trial:run_cycles(10, Trial)),
    % A link known at one end only is about to be made, or to end.
    maps:map(
        fun(Index, To) -> [N || N <- To, lists:member(Index, maps:get(N, Graph))] end, Graph
    ).

%% Internals: nodes.

begin_node(Index, Neighbours, #{seed := Seed}, R) ->
    Name = node_name(Index),
    {Microseconds, Random} = rand:uniform_s(
        ?STARTS_WITHIN_US, rand:seed_s(exsss, {Seed, Index, 1})
    ),
    {Phase, _} = rand:uniform_s(experiments_counter:increment_interval(), Random),
    Started = experiments_counter:start(
        #{name => Name, started => Microseconds, seed => {Seed, Index, 2}}, R
    ),
    Met = lists:foldl(
        fun(N, Acc) -> simulator_replicas:deliver(Name, {neighbour_up, node_name(N)}, Acc) end,
        Started,
        Neighbours
    ),
    experiments_counter:begin_counting(Phase - 1, Name, Met).

node_name(Index) ->
    Ordinal = integer_to_binary(Index - 1),
    case (Index - 1) div ?SHARD of
        0 -> <<"ads-", Ordinal/binary>>;
        Shard -> <<"ads-s", (integer_to_binary(Shard))/binary, $-, Ordinal/binary>>
    end.

latency(From, To) ->
    1 + erlang:phash2({From, To}, ?MAX_LATENCY_MS).

%% Advances time, and reports progress every minute.
advance(Until, R0, Options) ->
    Minute = (simulator_replicas:now(R0) div ?MINUTE_MS + 1) * ?MINUTE_MS,
    R = simulator_replicas:advance(min(Minute, Until), R0),
    case Minute < Until of
        true ->
            GiB = experiments_counter:frame_bytes(R) / (1 bsl 30),
            say("~b s of virtual time, ~.3f GiB in frames", [Minute div 1000, GiB], Options),
            advance(Until, R, Options);
        false ->
            R
    end.

%% Equal sums may be those of an earlier moment: they are final once all nodes are in them as done.
is_equal(aggregate, R) ->
    Names = lists:sort(simulator_replicas:names(R)),
    Done = fun(Value) -> adcounter_state:nodes_done(Names, adcounter_state:seen(Value)) end,
    lists:all(fun(Value) -> Done(Value) =:= length(Names) end, simulator_replicas:values(R));
is_equal(_Mode, R) ->
    [First | Others] = simulator_replicas:values(R),
    lists:all(fun(Value) -> Value =:= First end, Others).

%% Internals: results.

%% Every actor with its exact count, on all nodes; their sum if there is no more.
check(Mode, Increments, R) ->
    Values = simulator_replicas:values(R),
    Total = length(Values) * Increments,
    true = lists:all(fun(Value) -> adcounter_state:total(Value) =:= Total end, Values),
    true = Mode =:= aggregate orelse holds_actors(Increments, hd(Values), R),
    ok.

holds_actors(Increments, Value, R) ->
    lists:all(
        fun({Actor, _}) -> adcounter_state:count(Actor, Value) =:= Increments end,
        experiments_counter:living(R)
    ).

report(Mode, Links, Warm, Counted, End, #{increments := Increments} = Options) ->
    Degrees = [length(To) || To <- maps:values(Links)],
    Waited = simulator_replicas:now(End) - simulator_replicas:now(Counted),
    lists:foreach(
        fun({Parameter, Value}) -> emit(synchronization, Mode, Parameter, Value, Options) end,
        lists:append([
            [
                {increments, Increments},
                {mean_degree, experiments_cells:mean(Degrees)},
                {warm, min(?WARM, Increments)}
            ],
            bytes("", End),
            [
                {messages, experiments_counter:messages(End)},
                {seconds_behind, experiments_counter:seconds_behind(Counted)},
                {seconds_to_converge, Waited / 1000}
            ],
            bytes("warm_", Warm),
            bytes("counted_", Counted)
        ])
    ).

%% Bytes sent by all nodes until a moment of the run.
bytes(Prefix, R) ->
    Control = [digest, hello, greet, tree],
    [
        {list_to_atom(Prefix ++ Name), Bytes}
     || {Name, Bytes} <- [
            {"payload_bytes", simulator_replicas:sent(lasp_sync:payloads(), R)},
            {"control_bytes", simulator_replicas:sent(Control, R)},
            {"frame_bytes", experiments_counter:frame_bytes(R)}
        ]
    ].

name(Mode) ->
    binary_to_atom(<<"synchronization_", (atom_to_binary(Mode))/binary>>).

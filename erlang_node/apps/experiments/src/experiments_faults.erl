%%% @doc Faults injected into a simulated cluster, and the reaction of its overlay.
%%%
%%% The cluster has the runtime's settings: HyParView with its defaults, seeds and beacons. A killed
%%% node restarts a while later as another incarnation, as the pod of a StatefulSet does. A fault
%%% is a script of timed actions, drawn from the cluster's own generator; it is played until all
%%% nodes are one component again and no link is half made.
%%%
%%% The result is a series of observations of the overlay, and a trace of all changes of nodes and
%%% links, on which something else can be run afterwards: the overlay knows nothing of what it
%%% carries. Times are in milliseconds since the fault began.
-module(experiments_faults).

-export([form/1]).
-export([sim/1]).
-export([play/2]).
-export([name/1]).

-type index() :: simulator:index().
-type percent() :: 1..99.
-type fault() ::
    % This percentage of the nodes at once.
    {kill, percent()}
    % This percentage per minute, one after the other, for this long.
    | {churn, percent(), Milliseconds :: pos_integer()}
    % In two halves, for this long.
    | {partition, Milliseconds :: pos_integer()}.

-type options() :: #{
    nodes := pos_integer(),
    seed := integer(),
    % Cycles of the membership protocol before the fault.
    cycles := non_neg_integer(),
    _ => _
}.

%% The overlay at one time.
-type look() :: #{
    at := non_neg_integer(),
    % The largest connected percentage of the survivors.
    reach := float(),
    % Of all living nodes, without cut links.
    components := pos_integer(),
    alive := non_neg_integer(),
    % Messages of the overlay so far, and the bytes since the fault began, as pods' frames.
    sent := non_neg_integer(),
    bytes := non_neg_integer()
}.

-type change() ::
    {crash, [index()]}
    | {start, index()}
    | {cut, side()}
    | heal
    | {neighbour_up | neighbour_down, index(), index()}.
-type side() :: fun((index()) -> boolean()).

-type played() :: #{
    looks := [look()],
    % To within `STEP_MS'.
    trace := [{At :: non_neg_integer(), change()}],
    % When the fault itself ended (the kill, the churn's last, the healing), and when its last
    % consequence happened: the last restarted node is up.
    over := non_neg_integer(),
    last := non_neg_integer(),
    % When, from `over' on, the survivors were connected, and, from `last' on, all nodes.
    connected := {ok, non_neg_integer()} | never,
    whole := {ok, non_neg_integer()} | never
}.

-record(cluster, {
    sim :: simulator:t(),
    nodes :: pos_integer(),
    rand :: rand:state()
}).

-record(play, {
    sim :: simulator:t(),
    began :: non_neg_integer(),
    nodes :: pos_integer(),
    wire :: simulator_wire:t(),
    over :: non_neg_integer(),
    side = fun(_) -> true end :: side(),
    % Survivors are the nodes not in here.
    gone = #{} :: #{index() => true},
    bytes = 0 :: non_neg_integer(),
    looks = [] :: [look()],
    trace = [] :: [{non_neg_integer(), change()}]
}).

-opaque t() :: #cluster{}.
-export_type([t/0, fault/0, options/0, look/0, change/0, side/0, played/0]).

-define(JOIN_GAP_MS, 2).
-define(CYCLE_MS, 10000).
%% A restarted node joins after the start time of a pod, and a whole shard not at once.
-define(SUCCESSOR_MS, 10000).
-define(SUCCESSORS_WITHIN_MS, 20000).
%% Observations are frequent when something breaks or heals at once, and rare otherwise.
-define(CLOSE_LOOKS, 20).
-define(CLOSE_LOOK_MS, 50).
-define(LOOK_MS, 1000).
-define(STEP_MS, 10).
%% Time limit for one component after a fault.
-define(LIMIT_MS, 180000).

%% @doc A cluster that has formed and is quiet.
-spec form(options()) -> t().
form(#{nodes := Nodes, seed := Seed, cycles := Cycles}) ->
    Empty = simulator:new(#{
        seed => Seed, overlay => {hyparview, #{}}, stack => #{replicas => Nodes}
    }),
    Started = lists:foldl(
        fun(Index, Sim) -> simulator:run(?JOIN_GAP_MS, simulator:start(Index, Sim)) end,
        Empty,
        lists:seq(1, Nodes)
    ),
    #cluster{
        sim = simulator:run(Cycles * ?CYCLE_MS, Started),
        nodes = Nodes,
        rand = rand:seed_s(exsss, {Seed, Nodes, 2})
    }.

%% @doc The simulated cluster.
-spec sim(t()) -> simulator:t().
sim(#cluster{sim = Sim}) ->
    Sim.

%% @doc The name of a fault in results.
-spec name(fault()) -> atom().
name({kill, Percent}) -> binary_to_atom(<<"kill_", (integer_to_binary(Percent))/binary>>);
name({churn, _, _}) -> churn;
name({partition, _}) -> partition.

%% @doc Injects a fault into a cluster, and observes it until it is one component again.
-spec play(fault(), t()) -> played().
play(Fault, #cluster{sim = Sim, nodes = Nodes, rand = Rand}) ->
    {Over, Actions} = script(Fault, Nodes, Rand),
    Last = lists:max([At || {At, _} <- Actions]),
    Abrupt = lists:usort([Last | [At || {At, Action} <- Actions, is_abrupt(Fault, Action)]]),
    Close = [At + I * ?CLOSE_LOOK_MS || At <- Abrupt, I <- lists:seq(1, ?CLOSE_LOOKS)],
    Times = lists:usort(Close ++ lists:seq(0, Last + ?LIMIT_MS, ?LOOK_MS)),
    Script = lists:keymerge(1, lists:keysort(1, Actions), [{At, look} || At <- Times]),
    Play = #play{
        sim = Sim,
        began = simulator:now(Sim),
        nodes = Nodes,
        wire = wire(Nodes),
        over = Over
    },
    result(Last, follow(Script, Last, watched(Play))).

%% Internals: scripts.

script({kill, Percent}, Nodes, Rand0) ->
    {Victims, Rand} = partisan_random:sample(Nodes * Percent div 100, lists:seq(1, Nodes), Rand0),
    {Successors, _} = lists:mapfoldl(
        fun(Victim, R0) ->
            {Later, R} = rand:uniform_s(?SUCCESSORS_WITHIN_MS, R0),
            {{?SUCCESSOR_MS + Later, {start, Victim}}, R}
        end,
        Rand,
        Victims
    ),
    {0, [{0, {crash, Victims}} | Successors]};
script({churn, Percent, Lasting}, Nodes, Rand) ->
    Count = max(1, Nodes * Percent * Lasting div (100 * 60000)),
    % No node is killed twice.
    {Victims, _} = partisan_random:sample(Count, lists:seq(1, Nodes), Rand),
    Kills = lists:zip([I * Lasting div Count || I <- lists:seq(1, length(Victims))], Victims),
    {Lasting,
        lists:append([
            [{At, {crash, [Victim]}}, {At + ?SUCCESSOR_MS, {start, Victim}}]
         || {At, Victim} <- Kills
        ])};
script({partition, Lasting}, Nodes, Rand) ->
    {Half, _} = partisan_random:sample(Nodes div 2, lists:seq(1, Nodes), Rand),
    Members = maps:from_keys(Half, true),
    {Lasting, [{0, {cut, fun(Index) -> is_map_key(Index, Members) end}}, {Lasting, heal}]}.

is_abrupt({churn, _, _}, _Action) -> false;
is_abrupt(_Fault, {start, _}) -> false;
is_abrupt(_Fault, _Action) -> true.

%% Internals: playing.

follow([], _Last, P) ->
    P;
follow([{At, Action} | Script], Last, P0) ->
    P = act(Action, At, pass(At, P0)),
    case Action =:= look andalso At > Last andalso is_quiet(P) of
        true -> P;
        false -> follow(Script, Last, P)
    end.

%% All nodes are one component, and no link is about to be made or to break: the trace's last links
%% are final.
is_quiet(#play{looks = [#{components := 1, alive := Nodes} | _], nodes = Nodes, sim = Sim}) ->
    simulator_graph:one_sided(simulator:links(Sim)) =:= [];
is_quiet(_Play) ->
    false.

%% Advances time in steps, and records the changes of links.
pass(At, #play{sim = Sim, began = Began} = P) ->
    case Began + At - simulator:now(Sim) of
        0 -> P;
        Left -> pass(At, note(step(min(?STEP_MS, Left), P)))
    end.

step(Duration, #play{sim = Sim} = P) ->
    P#play{sim = simulator:run(Duration, Sim)}.

note(#play{sim = Sim, began = Began, trace = Trace, bytes = Before} = P) ->
    At = simulator:now(Sim) - Began,
    {Bytes, Latest} = simulator:watched(Sim),
    Changes = [{At, Change} || Change <- Latest],
    watched(P#play{trace = Changes ++ Trace, bytes = Before + Bytes}).

%% Starts the record of all that nodes do: bytes, and changes of links, newest first as in the trace
%% while it grows.
watched(#play{sim = Sim, wire = Wire} = P) ->
    Watcher = fun(Index, _Event, Effects, Noted) ->
        lists:foldl(fun(Effect, Acc) -> noted(Effect, Index, Wire, Acc) end, Noted, Effects)
    end,
    P#play{sim = simulator:watch(Watcher, {0, []}, Sim)}.

noted({send, _Peer, Message}, _Index, Wire, {Bytes, Changes}) ->
    {Bytes + simulator_wire:bytes(Message, Wire), Changes};
noted({neighbour_up, Peer}, Index, _Wire, {Bytes, Changes}) ->
    {Bytes, [{neighbour_up, Index, simulator_peer:index(Peer)} | Changes]};
noted({neighbour_down, Name}, Index, _Wire, {Bytes, Changes}) ->
    {Bytes, [{neighbour_down, Index, simulator_peer:index(Name)} | Changes]};
noted(_Effect, _Index, _Wire, Noted) ->
    Noted.

%% Pod names.
wire(Nodes) ->
    Ordinals = lists:seq(0, Nodes - 1),
    Names = maps:from_list([{N + 1, <<"ads-", (integer_to_binary(N))/binary>>} || N <- Ordinals]),
    simulator_wire:new(Names, fun(Seed) -> binary_to_list(Seed) ++ ".ads" end).

act(look, At, #play{looks = Looks} = P) ->
    P#play{looks = [look(At, P) | Looks]};
act(Action, At, #play{trace = Trace} = P) ->
    % First the fault, then the nodes' reactions, some of which are immediate.
    note(do(Action, P#play{trace = [{At, Action} | Trace]})).

do({crash, Victims}, #play{sim = Sim, gone = Gone} = P) ->
    P#play{
        sim = simulator:crash(Victims, Sim),
        gone = maps:merge(Gone, maps:from_keys(Victims, true))
    };
do({start, Index}, #play{sim = Sim} = P) ->
    P#play{sim = simulator:start(Index, Sim)};
do({cut, Side}, #play{sim = Sim} = P) ->
    P#play{sim = simulator:cut(Side, Sim), side = Side};
do(heal, #play{sim = Sim} = P) ->
    P#play{sim = simulator:heal(Sim), side = fun(_) -> true end}.

look(At, #play{sim = Sim, side = Side, gone = Gone, bytes = Bytes}) ->
    Carrying = maps:map(
        fun(From, Tos) -> [To || To <- Tos, Side(To) =:= Side(From)] end, simulator:links(Sim)
    ),
    Components = simulator_graph:components(Carrying),
    Surviving = [length([I || I <- C, not is_map_key(I, Gone)]) || C <- Components],
    #{sent := Sent} = simulator:stats(Sim),
    #{
        at => At,
        reach => 100 * lists:max(Surviving) / lists:sum(Surviving),
        components => length(Components),
        alive => map_size(Carrying),
        sent => Sent,
        bytes => Bytes
    }.

%% Internals: results.

result(Last, #play{looks = Newest, trace = Trace, over = Over, nodes = Nodes}) ->
    Looks = lists:reverse(Newest),
    Whole = fun(#{components := Count, alive := Alive}) -> Count =:= 1 andalso Alive =:= Nodes end,
    Connected = fun(#{reach := Reach}) -> Reach >= 100.0 end,
    #{
        looks => Looks,
        trace => lists:reverse(Trace),
        over => Over,
        last => Last,
        whole => since(Last, Whole, Looks),
        connected => since(Over, Connected, Looks)
    }.

%% The time from which on a condition holds at every observation, starting from this moment.
since(Start, Holds, Looks) ->
    Later = [Look || #{at := At} = Look <- Looks, At >= Start],
    case lists:splitwith(Holds, lists:reverse(Later)) of
        {[], _} ->
            never;
        {Holding, _} ->
            #{at := At} = lists:last(Holding),
            {ok, At}
    end.

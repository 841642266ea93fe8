%%% @doc Campaigns of faults against the key-value store, in virtual time: clients write and read,
%%% nodes are killed, suspected, cut off and restarted, plans change, and at the end the history is
%%% judged.
%%%
%%% A campaign is a function of its seed. Faults stay within what the store survives: a node is
%%% killed only if every partition keeps two replicas that serve. With `sloppy' writes the network
%%% is also split between two nodes and the others; a killed node loses the hints that it keeps.
-module(ring_campaign).

-export([run/1]).
%% Its steps.
-export([new/1]).
-export([inject/2]).
-export([pass/2]).
-export([has_settled/1]).
-export([world/1]).
-export([finish/1]).
-export([main/1]).

-type options() :: #{
    seed := integer(),
    nodes => pos_integer(),
    % So many nodes are members of a ring that has settled, instead of three of one that forms.
    members => pos_integer(),
    partitions => pos_integer(),
    % Of fewer sessions than nodes, some nodes have one each.
    sessions => pos_integer(),
    keys => pos_integer(),
    modules => map(),
    mode => quorum | atomic,
    reads => full | digest,
    availability => strict | sloppy,
    write => pos_integer(),
    % Of the simulation.
    world => map(),
    % `one': each session writes a key of its own.
    writers => one | all,
    % Milliseconds that a message may be under way.
    slowest => pos_integer(),
    faults => [ring_faults:fault()]
}.

-type report() :: #{
    violations := [ring_history:violation()],
    settled := boolean(),
    history := [ring_history:event()],
    writes := non_neg_integer(),
    hinted := non_neg_integer(),
    forgotten := non_neg_integer(),
    reads := non_neg_integer(),
    failed := non_neg_integer(),
    world := ring_world:t(),
    options := options(),
    messages := non_neg_integer(),
    milliseconds := non_neg_integer()
}.

-export_type([options/0, report/0]).

-record(campaign, {
    world :: ring_world:t(),
    options :: options(),
    clients :: ring_clients:t(),
    dead = [] :: [{RestartAt :: non_neg_integer(), ring_state:member()}],
    % Whether no more requests are begun.
    is_ending = false :: boolean()
}).

-opaque campaign() :: #campaign{}.

-export_type([campaign/0]).

-define(STEP_MS, 5).
-define(SETTLE_MS, 60000).
%% Tombstones outlast hints and the requests that deliver them.
-define(HINTS, #{count => 20, bytes => 4000, age => 4000}).
-define(GRACE_MS, 6000).

%% @doc The campaign of a seed: ten random faults, unless others are given.
-spec run(options()) -> report().
run(Given) ->
    #campaign{options = #{faults := Faults}} = Begun = new(Given),
    finish(lists:foldl(fun inject/2, Begun, Faults)).

%% @doc A campaign before its faults.
-spec new(options()) -> campaign().
new(#{seed := Seed} = Given) ->
    Random = rand:seed_s(exsss, {Seed, 7, 7}),
    {Partitions, R1} = ring_faults:pick([6, 12], Random),
    {Mode, R2} = ring_faults:pick([quorum, quorum, atomic], R1),
    {Reads, R3} = ring_faults:pick([full, digest], R2),
    {Faults, _} = ring_faults:random(10, R3),
    Defaults = #{
        nodes => 5,
        partitions => Partitions,
        sessions => 6,
        keys => 8,
        modules => #{},
        writers => all,
        slowest => 2000,
        mode => Mode,
        reads => Reads,
        availability => strict,
        write => 2,
        world => #{},
        faults => Faults
    },
    begin_world(sloppy(maps:merge(Defaults, Given))).

%% @doc Lets time pass, and then a fault occur.
-spec inject(ring_faults:fault(), campaign()) -> campaign().
inject({Delay, Action}, C) ->
    #campaign{world = W} = Passed = pass(Delay, C),
    Passed#campaign{world = ring_faults:act(Action, names(Passed), W)}.

%% @doc Whether the ring has settled and all nodes are there.
-spec has_settled(campaign()) -> boolean().
has_settled(#campaign{dead = Dead, world = W}) ->
    Dead =:= [] andalso ring_world_checks:is_settled(W).

%% @doc The simulated nodes.
-spec world(campaign()) -> ring_world:t().
world(#campaign{world = W}) ->
    W.

%% @doc Lets milliseconds pass in which clients write and read.
-spec pass(integer(), campaign()) -> campaign().
pass(Left, C) when Left =< 0 ->
    C;
pass(Left, #campaign{world = W} = C) ->
    Advanced = ring_simulation:advance(ring_world:now(W) + ?STEP_MS, W),
    {Done, W1} = ring_world:take_done(Advanced),
    {Stopped, W2} = ring_world:take_stopped(W1),
    Ended = lists:foldl(fun done/2, C#campaign{world = W2}, Done),
    Buried = lists:foldl(fun stopped/2, Ended, Stopped),
    pass(Left - ?STEP_MS, ask_some(restart_some(Buried))).

%% @doc Ends all faults, waits until the ring has settled, and judges what clients saw.
-spec finish(campaign()) -> report().
finish(C) ->
    Healed = lists:foldl(fun inject/2, C, [{0, heal}, {0, {trap, none, sender, false}}]),
    Later = pass(1000, Healed),
    Quiet = Later#campaign{is_ending = true},
    Settled = await(fun(Now) -> is_idle(Now) andalso has_settled(Now) end, Quiet, ?SETTLE_MS),
    #campaign{world = World, clients = Clients} = Settled,
    IsSettled = ring_world_checks:is_settled(World) andalso is_idle(Settled),
    {Dropped, _} = ring_world:take_dropped(World),
    Finals = [F || IsSettled, F <- finals(Settled)],
    Forgotten = [{forgotten, K, Ctx} || {K, Ctx} <- ring_world:forgotten(World)],
    History = Finals ++ [{dropped, K, Ctx, At} || {K, Ctx, At} <- Dropped] ++ Forgotten ++
        ring_clients:history(Clients),
    #{
        violations => ring_history:check(History),
        settled => IsSettled,
        history => History,
        writes => length([W || {write, #{outcome := {ok, _, _}} = W} <- History]),
        hinted => length([W || {write, #{outcome := {hinted, _, _}} = W} <- History]),
        forgotten => length(Forgotten),
        reads => length([R || {read, R} <- History]),
        failed => ring_clients:failed(Clients),
        world => World,
        options => Settled#campaign.options,
        messages => ring_world:messages(World),
        milliseconds => ring_world:now(World)
    }.

%% @doc Writes the histories of campaigns with atomic reads and one writer for each key, in the form
%% that an independent judge reads ({@link ring_registers}), one file for each seed, and ends the
%% virtual machine: `erl -run ring_campaign main DIRECTORY COUNT'.
-spec main([string()]) -> no_return().
main([Directory, Count]) ->
    lists:foreach(
        fun(Seed) ->
            #{history := History} = run(#{seed => Seed, mode => atomic, writers => one}),
            File = filename:join(Directory, integer_to_list(Seed) ++ ".jsonl"),
            ok = ring_registers:write(File, History)
        end,
        lists:seq(1, list_to_integer(Count))
    ),
    halt(0).

%% Internals: the course.

%% With a quorum of three, one node out of reach suffices for hints.
sloppy(#{availability := sloppy, faults := Faults, seed := Seed, world := World} = Options) ->
    Options#{
        faults := ring_faults:sloppy(Faults),
        write := 2 + Seed rem 2,
        world := World#{hints => ?HINTS, grace => ?GRACE_MS, detects_cuts => true}
    };
sloppy(Options) ->
    Options.

begin_world(#{seed := Seed, nodes := Count, partitions := Partitions, world := Others} = Options) ->
    World = ring_world:new(Others#{
        seed => Seed,
        partitions => Partitions,
        replication => 3,
        modules => maps:get(modules, Options),
        slowest => maps:get(slowest, Options)
    }),
    Names = [name(I) || I <- lists:seq(0, Count - 1)],
    Begun =
        case Options of
            #{members := Members} ->
                {First, Spare} = lists:split(Members, Names),
                ring_world_formation:form(First, Spare, World);
            #{} ->
                Started = lists:foldl(fun ring_simulation:start/2, World, Names),
                ring_simulation:plan(lists:sublist(Names, 3), Started)
        end,
    Campaign = #campaign{world = Begun, options = Options, clients = ring_clients:new(Options)},
    #campaign{clients = None} = Formed = await(fun has_settled/1, Campaign, 20000),
    Formed#campaign{clients = lists:foldl(fun ring_clients:start/2, None, Names)}.

names(#campaign{options = #{nodes := Count}}) ->
    [name(I) || I <- lists:seq(0, Count - 1)].

name(I) ->
    <<"kv-", (integer_to_binary(I))/binary>>.

%% Any two replicas of a key are a quorum.
finals(#campaign{world = World, options = Options}) ->
    #{partitions := Partitions, keys := Keys, modules := Modules} = Options,
    Seat = maps:get(seat, Modules, ring_seat),
    Service = maps:get(service, Modules, ring_kvs_vnode),
    States = maps:from_list([
        {Seat:index(S), Seat:state(S)} || {_, S} <- ring_world:seats(World)
    ]),
    View = ring_world:view(hd(ring_world:nodes(World)), World),
    [
        {final, Key, ring_dvv:context(Set), ring_dvv:entries(Set)}
     || N <- lists:seq(1, Keys),
        Key <- [ring_clients:key(N)],
        P <- [ring_view:partition(Key, View)],
        {A, B} <- [{0, 1}, {0, 2}, {1, 2}],
        Set <- [
            ring_dvv:merge(
                get(Service, (P + A) rem Partitions, P, Key, States),
                get(Service, (P + B) rem Partitions, P, Key, States)
            )
        ]
    ].

get(Service, Index, P, Key, States) ->
    Service:fold(
        fun
            (At, Set, _) when At =:= {P, Key} -> Set;
            (_, _, Acc) -> Acc
        end,
        ring_dvv:new(),
        map_get(Index, States)
    ).

is_idle(#campaign{clients = Clients}) ->
    ring_clients:is_idle(Clients).

await(Holds, #campaign{world = W} = C, Left) ->
    case Left =< 0 orelse Holds(C) of
        true -> C;
        false -> await(Holds, pass(100, C#campaign{world = W}), Left - 100)
    end.

%% Internals: time.

stopped(Name, #campaign{world = W0, dead = Dead, clients = Clients} = C) ->
    {Delay, W} = ring_world:uniform(1500, W0),
    C#campaign{
        world = W,
        dead = [{ring_world:now(W) + Delay, Name} | Dead],
        clients = ring_clients:stopped(Name, Clients)
    }.

restart_some(#campaign{dead = Dead, world = W} = C) ->
    Now = ring_world:now(W),
    {Due, Left} = lists:partition(fun({At, _}) -> At =< Now end, Dead),
    lists:foldl(
        fun({_, Name}, #campaign{world = World, clients = Clients} = Acc) ->
            Acc#campaign{
                world = ring_simulation:start(Name, World),
                clients = ring_clients:start(Name, Clients)
            }
        end,
        C#campaign{dead = Left},
        Due
    ).

ask_some(#campaign{is_ending = true} = C) ->
    C;
ask_some(#campaign{clients = Before, world = World} = C) ->
    {Clients, W} = ring_clients:ask(Before, World),
    C#campaign{clients = Clients, world = W}.

done({Id, Result}, #campaign{clients = Clients, world = W} = C) ->
    C#campaign{clients = ring_clients:done(Id, Result, ring_world:now(W), Clients)}.

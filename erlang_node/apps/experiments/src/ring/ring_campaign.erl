%%% @doc Campaigns of faults against the key-value store, in virtual time: clients write and read,
%%% nodes are killed, suspected, cut off and restarted, plans change, and at the end the history is
%%% judged.
%%%
%%% Longer than 300 lines: clients, faults and the report of one course of events.
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
-export([fault/1]).
-export([faults/2]).

%% Milliseconds after the previous one.
-type fault() :: {Delay :: non_neg_integer(), action()}.
%% Numbers choose nodes, modulo how many there are.
-type action() ::
    {kill, non_neg_integer()}
    | {suspect, non_neg_integer(), non_neg_integer()}
    | {cut, non_neg_integer()}
    | {split, non_neg_integer()}
    | heal
    | {plan, Members :: non_neg_integer()}
    | {trap, Kind :: atom(), sender | receiver, Delivered :: boolean()}
    | {delay, Kind :: atom()}.

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
    faults => [fault()]
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

-export_type([options/0, report/0, fault/0]).

-record(campaign, {
    world :: ring_world:t(),
    options :: options(),
    % Sessions without a request, with the contexts that they know.
    idle = #{} :: #{term() => #{ring_replica:key() => ring_dvv:context()}},
    % Requests by their id.
    busy = #{} :: #{term() => map()},
    number = 0 :: non_neg_integer(),
    dead = [] :: [{RestartAt :: non_neg_integer(), ring_state:member()}],
    sessions = 0 :: non_neg_integer(),
    % Whether no more requests are begun.
    is_ending = false :: boolean(),
    history = [] :: [ring_history:event()],
    failed = 0 :: non_neg_integer()
}).

-opaque campaign() :: #campaign{}.

-export_type([campaign/0]).

-define(STEP_MS, 5).
-define(SETTLE_MS, 60000).
%% Tombstones outlast hints and the requests that deliver them.
-define(HINTS, #{count => 20, bytes => 4000, age => 4000}).
-define(GRACE_MS, 6000).
-define(KINDS, [
    pull, more, last, seal, ask_grant, grant, may_go, go, copy, copied, copied_last, born, noted,
    write, written, store, stored, read, found
]).

%% @doc The campaign of a seed: ten random faults, unless others are given.
-spec run(options()) -> report().
run(Given) ->
    #campaign{options = #{faults := Faults}} = Begun = new(Given),
    finish(lists:foldl(fun inject/2, Begun, Faults)).

%% @doc A campaign before its faults.
-spec new(options()) -> campaign().
new(#{seed := Seed} = Given) ->
    Random = rand:seed_s(exsss, {Seed, 7, 7}),
    {Partitions, R1} = pick([6, 12], Random),
    {Mode, R2} = pick([quorum, quorum, atomic], R1),
    {Reads, R3} = pick([full, digest], R2),
    {Faults, _} = faults(10, R3),
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
-spec inject(fault(), campaign()) -> campaign().
inject({Delay, Action}, C) ->
    #campaign{world = W} = Passed = pass(Delay, C),
    act(Action, Passed, W).

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
    Healed = act(heal, C, C#campaign.world),
    Untrapped = act({trap, none, sender, false}, Healed, Healed#campaign.world),
    Later = pass(1000, Untrapped),
    Quiet = Later#campaign{is_ending = true},
    Settled = await(
        fun(#campaign{busy = Busy} = Now) -> Busy =:= #{} andalso has_settled(Now) end,
        Quiet,
        ?SETTLE_MS
    ),
    #campaign{world = World, history = Before, failed = Failed} = Settled,
    IsSettled = ring_world_checks:is_settled(World) andalso Settled#campaign.busy =:= #{},
    {Dropped, _} = ring_world:take_dropped(World),
    Finals = [F || IsSettled, F <- finals(Settled)],
    Forgotten = [{forgotten, K, Ctx} || {K, Ctx} <- ring_world:forgotten(World)],
    History = Finals ++ [{dropped, K, Ctx, At} || {K, Ctx, At} <- Dropped] ++ Forgotten ++ Before,
    #{
        violations => ring_history:check(History),
        settled => IsSettled,
        history => History,
        writes => length([W || {write, #{outcome := {ok, _, _}} = W} <- History]),
        hinted => length([W || {write, #{outcome := {hinted, _, _}} = W} <- History]),
        forgotten => length(Forgotten),
        reads => length([R || {read, R} <- History]),
        failed => Failed,
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

%% @doc Random faults.
-spec faults(non_neg_integer(), rand:state()) -> {[fault()], rand:state()}.
faults(Count, Random) ->
    lists:mapfoldl(fun(_, R) -> fault(R) end, Random, lists:seq(1, Count)).

%% @doc A random fault.
-spec fault(rand:state()) -> {fault(), rand:state()}.
fault(R0) ->
    {Delay, R1} = rand:uniform_s(400, R0),
    {Choice, R2} = rand:uniform_s(13, R1),
    {A, R3} = rand:uniform_s(100, R2),
    {B, R4} = rand:uniform_s(100, R3),
    {Kind, R5} = pick(?KINDS, R4),
    Action =
        case Choice of
            C when C =< 2 -> {kill, A};
            3 -> {suspect, A, B};
            4 -> {cut, A};
            5 -> heal;
            C when C =< 8 -> {plan, A};
            9 -> {delay, Kind};
            _ when A rem 2 =:= 0 -> {trap, Kind, sender, B rem 2 =:= 0};
            _ -> {trap, Kind, receiver, B rem 2 =:= 0}
        end,
    {{Delay, Action}, R5}.

%% Internals: the course.

%% Splits in the place of lonely nodes, and traps for the messages of hints. With a quorum of three,
%% one node out of reach suffices for hints. Slower, so that splits are noticed.
sloppy(#{availability := sloppy, faults := Faults, seed := Seed, world := World} = Options) ->
    Options#{
        faults := [{3 * Delay, sloppy_action(Action)} || {Delay, Action} <- Faults],
        write := 2 + Seed rem 2,
        world := World#{hints => ?HINTS, grace => ?GRACE_MS, detects_cuts => true}
    };
sloppy(Options) ->
    Options.

sloppy_action({cut, I}) -> {split, I};
sloppy_action({suspect, I, _}) -> {split, I};
sloppy_action({delay, _}) -> heal;
sloppy_action({trap, Kind, Role, Delivered}) when Kind =:= ask_grant; Kind =:= may_go ->
    {trap, keep, Role, Delivered};
sloppy_action({trap, Kind, Role, Delivered}) when Kind =:= grant; Kind =:= go ->
    {trap, kept, Role, Delivered};
sloppy_action(Action) -> Action.

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
    Campaign = #campaign{world = Begun, options = Options},
    lists:foldl(fun new_sessions/2, await(fun has_settled/1, Campaign, 20000), Names).

name(I) ->
    <<"kv-", (integer_to_binary(I))/binary>>.

new_sessions(Name, #campaign{options = Options} = C) ->
    lists:foldl(
        fun(_, #campaign{sessions = S, idle = Idle} = Acc) ->
            Acc#campaign{sessions = S + 1, idle = Idle#{{Name, S} => #{}}}
        end,
        C,
        lists:seq(1, sessions(Name, Options))
    ).

sessions(_Name, #{sessions := Count, nodes := Nodes}) when Count >= Nodes ->
    Count div Nodes;
sessions(<<"kv-", Ordinal/binary>>, #{sessions := Count, nodes := Nodes}) ->
    case binary_to_integer(Ordinal) rem (Nodes div Count) of
        0 -> 1;
        _ -> 0
    end.

act({kill, I}, C, W) ->
    Victim = nth(I, ring_world:nodes(W)),
    case ring_world_checks:strength([Victim], W) >= 2 of
        true -> C#campaign{world = ring_simulation:stop(Victim, W)};
        false -> C
    end;
act({suspect, I, J}, C, W) ->
    % A holder that is believed to be lost is as good as lost.
    Names = ring_world:nodes(W),
    Suspect = nth(J, Names),
    case ring_world_checks:strength([Suspect], W) >= 2 of
        true -> C#campaign{world = ring_simulation:suspect(nth(I, Names), Suspect, W)};
        false -> C
    end;
act({cut, I}, C, W) ->
    Alone = nth(I, ring_world:nodes(W)),
    C#campaign{world = ring_world_network:cut(fun(Name) -> Name =:= Alone end, W)};
act({split, I}, #campaign{options = #{nodes := Count}} = C, W) ->
    Two = [name(N rem Count) || N <- [I, I + 1]],
    C#campaign{world = ring_world_network:cut(fun(Name) -> lists:member(Name, Two) end, W)};
act(heal, C, W) ->
    Fast = ring_world_network:delay(none, W),
    C#campaign{world = ring_world_network:cut(fun(_) -> all end, Fast)};
act({plan, I}, #campaign{options = #{nodes := Count}} = C, W) ->
    Members = [name(N) || N <- lists:seq(0, 2 + I rem (Count - 2))],
    C#campaign{world = ring_simulation:plan(Members, W)};
act({delay, Kind}, C, W) ->
    C#campaign{world = ring_world_network:delay(Kind, W)};
act({trap, Kind, Role, Delivered}, C, W) ->
    C#campaign{world = ring_world_network:trap(Kind, {Role, Delivered}, W)}.

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
        Key <- [key(N)],
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

await(Holds, #campaign{world = W} = C, Left) ->
    case Left =< 0 orelse Holds(C) of
        true -> C;
        false -> await(Holds, pass(100, C#campaign{world = W}), Left - 100)
    end.

%% Internals: time.

stopped(Name, #campaign{world = W0, dead = Dead, idle = Idle, busy = Busy} = C) ->
    {Delay, W} = ring_world:uniform(1500, W0),
    {Gone, Left} = lists:partition(
        fun({_, {#{session := {N, _}}, _}}) -> N =:= Name end, maps:to_list(Busy)
    ),
    Abandoned = [
        {write, R#{ended => never, outcome => failed}}
     || {_, {#{value := _} = R, _}} <- Gone
    ],
    C#campaign{
        world = W,
        dead = [{ring_world:now(W) + Delay, Name} | Dead],
        idle = maps:filter(fun({N, _}, _) -> N =/= Name end, Idle),
        busy = maps:from_list(Left),
        history = Abandoned ++ C#campaign.history
    }.

restart_some(#campaign{dead = Dead, world = W} = C) ->
    Now = ring_world:now(W),
    {Due, Left} = lists:partition(fun({At, _}) -> At =< Now end, Dead),
    lists:foldl(
        fun({_, Name}, #campaign{world = World} = Acc) ->
            new_sessions(Name, Acc#campaign{world = ring_simulation:start(Name, World)})
        end,
        C#campaign{dead = Left},
        Due
    ).

%% Internals: clients.

ask_some(#campaign{is_ending = true} = C) ->
    C;
ask_some(#campaign{idle = Idle} = C) ->
    lists:foldl(fun ask_perhaps/2, C, lists:sort(maps:keys(Idle))).

ask_perhaps(Session, #campaign{world = W} = C) ->
    case ring_world:uniform(8, W) of
        {1, Next} -> ask(Session, C#campaign{world = Next});
        {_, Next} -> C#campaign{world = Next}
    end.

ask({Node, _} = Session, #campaign{idle = Idle, busy = Busy, options = O, number = Number} = C) ->
    #{mode := Mode, reads := Reads, availability := Availability, write := Write} = O,
    {K, W1} = ring_world:uniform(keys(C), C#campaign.world),
    {Choice, W2} = ring_world:uniform(10, W1),
    Key = chosen(K, Choice =< 5, Session, O),
    Context = maps:get(Key, map_get(Session, Idle), []),
    {Operation, Request} =
        case Choice of
            1 -> {{put, Key, none}, #{value => none, availability => Availability}};
            _ when Choice =< 5 ->
                {{put, Key, {value, Number}}, #{value => Number, availability => Availability}};
            _ -> {{get, Key}, #{}}
        end,
    Options = #{
        context => Context,
        mode => Mode,
        reads => Reads,
        availability => Availability,
        write => Write,
        timeout => 4000,
        prefer => Node
    },
    case ring_world_requests:request(Node, Number, Operation, Options, W2) of
        {true, W3} ->
            Asked = Request#{
                session => Session,
                key => Key,
                context => Context,
                started => ring_world:now(W3)
            },
            C#campaign{
                world = W3,
                number = Number + 1,
                idle = maps:remove(Session, Idle),
                busy = Busy#{Number => {Asked, map_get(Session, Idle)}}
            };
        {false, W3} ->
            C#campaign{world = W3}
    end.

keys(#campaign{options = #{writers := one}, sessions = Sessions}) -> Sessions;
keys(#campaign{options = #{keys := Keys}}) -> Keys.

chosen(_, true, {_, Number}, #{writers := one}) -> key(Number + 1);
chosen(K, _, _, _) -> key(K).

key(N) ->
    <<"key-", (integer_to_binary(N))/binary>>.

done({Id, Result}, #campaign{busy = Busy} = C) ->
    case maps:take(Id, Busy) of
        {{Asked, Contexts}, Left} -> ended(Result, Asked, Contexts, C#campaign{busy = Left});
        error -> C
    end.

ended(Result, #{session := Session, key := Key} = Asked, Contexts, #campaign{world = W} = C) ->
    Ended = Asked#{ended => ring_world:now(W)},
    #campaign{idle = Idle, history = History, failed = Failed} = C,
    Known = maps:get(Key, Contexts, []),
    {Events, Context, More} =
        case {Result, Asked} of
            {{Acknowledged, Dot, _Set, Next}, _} ->
                {[{write, Ended#{outcome => {Acknowledged, Dot, Next}}}], Next, 0};
            {{ok, Set, Next}, _} ->
                Observed = #{observed => ring_dvv:context(Set), values => ring_dvv:entries(Set)},
                {[{read, maps:merge(Ended, Observed)}], Next, 0};
            {{error, _}, #{value := _}} ->
                {[{write, Ended#{outcome => failed}}], Known, 1};
            {{error, _}, _} ->
                {[], Known, 1}
        end,
    C#campaign{
        idle = Idle#{Session => Contexts#{Key => ring_dvv:join(Known, Context)}},
        history = Events ++ History,
        failed = Failed + More
    }.

%% Internals: choices.

nth(I, List) ->
    lists:nth(I rem length(List) + 1, List).

pick(List, Random) ->
    {I, Next} = rand:uniform_s(length(List), Random),
    {lists:nth(I, List), Next}.

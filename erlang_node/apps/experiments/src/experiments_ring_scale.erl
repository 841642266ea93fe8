%%% @doc A ring of thousands of nodes, in virtual time: it grows by a 32nd, nodes are killed, and it
%%% shrinks again, while clients write and read ({@link ring_campaign}).
%%%
%%% Gossip and its interval are those of real nodes. The ring has settled when it begins; by what
%%% messages it would have formed is not simulated.
-module(experiments_ring_scale).

-export([names/0]).
-export([run/2]).

-import(experiments_cells, [emit/5, say/3, live_bytes/0]).

-type name() :: ring_scale.
%% `nodes': members at first. `cycles': seconds at rest, before the growth.
-type options() :: #{
    seed := integer(), nodes := pos_integer(), cycles := pos_integer(), atom() => term()
}.

-export_type([name/0, options/0]).

%% Indexes of a member at first.
-define(INDEXES, 3).
%% A 32nd joins, and a 128th is killed.
-define(GROWTH, 32).
-define(KILLS, 128).
-define(KILL_GAP_MS, 200).
-define(CLIENTS, 32).
%% As `ring_kvs' by default. Tombstones stay.
-define(WORLD, #{
    tick => 100, gossip => as_nodes, transfers => 4, repair => 30000, grace => 600000
}).
%% Of writes and reads before each change.
-define(LOAD_MS, 2000).
-define(STEP_MS, 5).
-define(LOOK_MS, 100).
-define(SETTLE_WITHIN_MS, 120000).

%% @doc The experiment.
-spec names() -> [name()].
names() ->
    [ring_scale].

%% @doc Runs the experiment; cells go to `emit' as they come. Fails if the ring has not settled two
%% minutes after a change.
-spec run(name(), options()) -> ok.
run(ring_scale, #{nodes := Members, seed := Seed, cycles := Seconds} = O) ->
    Total = Members + max(1, Members div ?GROWTH),
    Begun = ring_campaign:new(#{
        seed => Seed,
        nodes => Total,
        members => Members,
        partitions => ?INDEXES * Members,
        sessions => min(?CLIENTS, Members),
        keys => 4 * ?CLIENTS,
        faults => [],
        world => ?WORLD
    }),
    say("formed", [], O),
    Rested = ring_campaign:pass(1000 * Seconds, Begun),
    {_, Bytes} = gossiped(Begun, Rested),
    report([{rest_gossip_bytes_per_node_second, Bytes / Total / Seconds}], O),
    Grown = change(grow, Total, Rested, O),
    % What the new members must own.
    report([{minimum, (Total - Members) * (?INDEXES * Members div Total)}], O),
    Rebuilt = kill(max(1, Members div ?KILLS), ring_campaign:pass(?LOAD_MS, Grown), O),
    Shrunk = change(shrink, Members, ring_campaign:pass(?LOAD_MS, Rebuilt), O),
    report(
        [
            {misplaced, length(moved(fun node_of/1, Begun, Shrunk))},
            {state_kilobytes, erlang:external_size(state(Shrunk)) / 1000},
            {heap_bytes_per_node, live_bytes() / Total}
        ],
        O
    ),
    finished(ring_campaign:finish(Shrunk), O).

%% Internals: the phases.

%% A plan of so many members; the figures have the name of the phase.
change(Phase, Count, Before, O) ->
    say("~s to ~b members", [Phase, Count], O),
    % The plan of this number of members, as a fault of a campaign.
    Planned = ring_campaign:inject({0, {plan, Count - 3}}, Before),
    {Known, Informed} = known(Planned, 0),
    Settled = settle(Informed),
    {Messages, Bytes} = gossiped(Before, Settled),
    Nodes = length(ring_world:nodes(ring_campaign:world(Settled))),
    report(
        named(Phase, [
            {known_seconds, Known / 1000},
            {settled_seconds, (now_of(Settled) - now_of(Before)) / 1000},
            {moved, length(moved(fun node_of/1, Before, Settled))},
            {replaced, length(moved(fun(Holder) -> Holder end, Before, Settled))},
            {gossip_messages_per_node, Messages / Nodes},
            {gossip_kilobytes_per_node, Bytes / Nodes / 1000}
        ]),
        O
    ),
    Settled.

kill(Count, Before, #{seed := Seed} = O) ->
    say("~b nodes are killed", [Count], O),
    {Victims, _} = lists:mapfoldl(
        fun(_, Random) -> rand:uniform_s(1 bsl 20, Random) end,
        rand:seed_s(exsss, {Seed, 1, 1}),
        lists:seq(1, Count)
    ),
    Killed = lists:foldl(
        fun(I, Acc) -> ring_campaign:inject({?KILL_GAP_MS, {kill, I}}, Acc) end, Before, Victims
    ),
    Settled = settle(Killed),
    report(
        [
            {kill_restarts, ring_world:restarts(ring_campaign:world(Settled))},
            {kill_rebuilt, length(moved(fun(Holder) -> Holder end, Before, Settled))},
            {kill_settled_seconds, (now_of(Settled) - now_of(Killed)) / 1000}
        ],
        O
    ),
    Settled.

%% The milliseconds until all nodes know the plan.
known(C, Passed) ->
    W = ring_campaign:world(C),
    case ring_world_checks:informed(W) =:= length(ring_world:nodes(W)) of
        true -> {Passed, C};
        false -> known(ring_campaign:pass(?STEP_MS, C), Passed + ?STEP_MS)
    end.

settle(C) ->
    settle(C, now_of(C) + ?SETTLE_WITHIN_MS).

settle(C, Until) ->
    case ring_campaign:has_settled(C) of
        true ->
            C;
        false ->
            now_of(C) < Until orelse error({not_settled, after_ms, now_of(C)}),
            settle(ring_campaign:pass(?LOOK_MS, C), Until)
    end.

finished(#{violations := Violations, settled := Settled} = Report, O) ->
    _ = [say("~0tp", [Violation], O) || Violation <- Violations],
    report(
        [
            {violations, length(Violations)},
            {unsettled, length([x || not Settled])}
            | [{Figure, map_get(Figure, Report)} || Figure <- [writes, reads, failed, messages]]
        ],
        O
    ).

%% Internals: figures.

now_of(C) ->
    ring_world:now(ring_campaign:world(C)).

gossiped(Before, Later) ->
    {M0, B0} = ring_world:gossiped(ring_campaign:world(Before)),
    {M1, B1} = ring_world:gossiped(ring_campaign:world(Later)),
    {M1 - M0, B1 - B0}.

state(C) ->
    W = ring_campaign:world(C),
    ring_world:state(hd(ring_world:nodes(W)), W).

node_of({_Incarnation, Node}) ->
    Node.

%% The indexes of which this has changed, of their holders.
moved(What, Before, Later) ->
    Holders = ring_state:holders(state(Later)),
    [
        Index
     || {Index, Holder} <- maps:to_list(ring_state:holders(state(Before))),
        What(Holder) =/= What(map_get(Index, Holders))
    ].

named(Phase, Figures) ->
    [
        {list_to_atom(atom_to_list(Phase) ++ "_" ++ atom_to_list(Figure)), Value}
     || {Figure, Value} <- Figures
    ].

report(Figures, O) ->
    lists:foreach(
        fun({Figure, Value}) -> emit(ring_scale, key_value_store, Figure, Value, O) end, Figures
    ).

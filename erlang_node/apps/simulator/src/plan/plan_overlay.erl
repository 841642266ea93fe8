%%% @doc The overlay of a planned cluster in virtual time: its nodes start one after the other, join
%%% over the seeds, and send what the pods' stacks would send.
%%%
%%% Its results are the changes of links, for whatever runs on them, and the messages and bytes of
%%% the `overlay' channel. The overlay knows nothing of what it carries, so it can advance by a step
%%% and be followed.
-module(plan_overlay).

-export([new/1]).
-export([step/2]).
-export([now/1]).
-export([sent/1]).
-export([booted/1]).
-export([joined/1]).
-export([links/1]).
-export([is_whole/1]).
-export([broadcast/2]).
-export([heard/1]).
-export([crash/2]).
-export([sim/1]).

-type ordinal() :: plan_names:ordinal().
-type milliseconds() :: non_neg_integer().

-type change() ::
    {boot, ordinal(), At :: milliseconds()}
    | {neighbour_up | neighbour_down, ordinal(), Peer :: ordinal()}.

%% Traffic so far.
-type sent() :: #{messages := non_neg_integer(), bytes := non_neg_integer()}.

%% Pods that have received the latest broadcast, and the maximum number of links it has passed.
-type heard() :: #{pods := non_neg_integer(), hops := non_neg_integer()}.

%% `boot_gap_us': microseconds between the starts of two nodes.
-type options() :: #{
    names := plan_names:t(),
    overlay := {partisan_overlay_registry:kind(), map()},
    seeds := [partisan_peer:name()],
    seed := integer(),
    latency := simulator_network:latency(),
    boot_gap_us := non_neg_integer(),
    heartbeat_interval => milliseconds(),
    _ => _
}.

-export_type([change/0, sent/0, heard/0, options/0]).

%% The watcher's record; `changes' of one step, latest first.
-record(noted, {
    names :: plan_names:t(),
    ping :: pos_integer(),
    changes = [] :: [change()],
    messages = 0 :: non_neg_integer(),
    bytes = 0 :: non_neg_integer(),
    broadcasts = 0 :: non_neg_integer(),
    heard = #{pods => 0, hops => 0} :: heard()
}).

-record(overlay, {
    sim :: simulator:t(),
    names :: plan_names:t(),
    gap :: non_neg_integer(),
    booted = #{} :: #{ordinal() => milliseconds()},
    joined = #{} :: #{ordinal() => milliseconds()}
}).

-opaque t() :: #overlay{}.
-export_type([t/0]).

%% @doc A cluster before the start of its nodes.
-spec new(options()) -> t().
new(#{names := Names, overlay := Spec, seed := Seed, seeds := Seeds, boot_gap_us := Gap} = Given) ->
    Sim = simulator:new(#{
        seed => Seed,
        overlay => plan_names:spec(Spec, Names),
        seeds => length(Seeds),
        latency => map_get(latency, Given),
        stack => stack(Given)
    }),
    {Ping, _} = partisan_frame:overlay({measure, {ping, -576460750000000000}}),
    Noted = #noted{names = Names, ping = Ping},
    #overlay{sim = simulator:watch(fun note/4, Noted, Sim), names = Names, gap = Gap}.

stack(#{names := Names, heartbeat_interval := Interval}) ->
    #{replicas => plan_names:size(Names), beacon_interval => Interval};
stack(#{names := Names}) ->
    #{replicas => plan_names:size(Names)}.

%% @doc Advances by this many milliseconds; returns the changes meanwhile, in order.
-spec step(pos_integer(), t()) -> {[change()], t()}.
step(Milliseconds, #overlay{sim = Sim0, names = Names} = O0) ->
    Until = simulator:now(Sim0) + Milliseconds,
    {Boots, O1} = boot_due(Until, O0),
    Sim1 = simulator:run(Milliseconds, O1#overlay.sim),
    #noted{changes = Latest} = Noted = simulator:watched(Sim1),
    Sim = simulator:watch(fun note/4, Noted#noted{changes = []}, Sim1),
    Changes = lists:reverse(Latest),
    Joined = lists:foldl(
        fun
            ({neighbour_up, Ordinal, _}, Known) when not is_map_key(Ordinal, Known) ->
                Known#{Ordinal => Until};
            (_, Known) ->
                Known
        end,
        alone(Names, O1),
        Changes
    ),
    {Boots ++ Changes, O1#overlay{sim = Sim, joined = Joined}}.

%% @doc The virtual time.
-spec now(t()) -> milliseconds().
now(#overlay{sim = Sim}) ->
    simulator:now(Sim).

%% @doc Traffic of all nodes so far.
-spec sent(t()) -> sent().
sent(#overlay{sim = Sim}) ->
    #noted{messages = Messages, bytes = Bytes} = simulator:watched(Sim),
    #{messages => Messages, bytes => Bytes}.

%% @doc The start time of each node.
-spec booted(t()) -> #{ordinal() => milliseconds()}.
booted(#overlay{booted = Booted}) ->
    Booted.

%% @doc The time of each node's first neighbour, to within a step.
-spec joined(t()) -> #{ordinal() => milliseconds()}.
joined(#overlay{joined = Joined}) ->
    Joined.

%% @doc The neighbours of each node.
-spec links(t()) -> #{ordinal() => [ordinal()]}.
links(#overlay{sim = Sim, names = Names}) ->
    maps:from_list([
        {plan_names:ordinal(Index, Names), [plan_names:ordinal(To, Names) || To <- Tos]}
     || {Index, Tos} <- maps:to_list(simulator:links(Sim))
    ]).

%% @doc Whether all nodes have started and joined and are one component.
-spec is_whole(t()) -> boolean().
is_whole(#overlay{joined = Joined, names = Names, sim = Sim}) ->
    map_size(Joined) =:= plan_names:size(Names) andalso
        simulator_graph:component_count(simulator:links(Sim)) =:= 1.

%% @doc Makes a pod broadcast to all; `heard/1' reports on this broadcast from now on.
-spec broadcast(ordinal(), t()) -> t().
broadcast(Ordinal, #overlay{sim = Sim, names = Names} = O) ->
    #noted{broadcasts = Before} = Noted = simulator:watched(Sim),
    Fresh = Noted#noted{broadcasts = Before + 1, heard = #{pods => 0, hops => 0}},
    Watched = simulator:watch(fun note/4, Fresh, Sim),
    O#overlay{sim = simulator:broadcast(plan_names:index(Ordinal, Names), Before + 1, Watched)}.

%% @doc The progress of the latest broadcast.
-spec heard(t()) -> heard().
heard(#overlay{sim = Sim}) ->
    #noted{heard = Heard} = simulator:watched(Sim),
    Heard.

%% @doc Kills pods, which do not return.
-spec crash([ordinal()], t()) -> t().
crash(Ordinals, #overlay{sim = Sim, names = Names} = O) ->
    O#overlay{sim = simulator:crash([plan_names:index(I, Names) || I <- Ordinals], Sim)}.

%% @doc The simulated nodes.
-spec sim(t()) -> simulator:t().
sim(#overlay{sim = Sim}) ->
    Sim.

%% Internals.

boot_due(Until, #overlay{booted = Booted, names = Names, gap = Gap} = O) ->
    Next = map_size(Booted),
    case Next < plan_names:size(Names) andalso Next * Gap < Until * 1000 of
        true ->
            #overlay{sim = Sim} = O,
            Now = simulator:now(Sim),
            {Boots, Last} = boot_due(Until, O#overlay{
                sim = simulator:start(plan_names:index(Next, Names), Sim),
                booted = Booted#{Next => Now}
            }),
            {[{boot, Next, Now} | Boots], Last};
        false ->
            {[], O}
    end.

%% A single node has joined once it has started.
alone(Names, #overlay{booted = Booted, joined = Joined}) ->
    case plan_names:size(Names) of
        1 -> Booted;
        _ -> Joined
    end.

note(Index, Event, Effects, Noted) ->
    lists:foldl(
        fun
            ({deliver, Payload}, Acc) -> delivered(Payload, Event, Acc);
            (Effect, Acc) -> noted(Effect, Index, Acc)
        end,
        Noted,
        Effects
    ).

%% Earlier broadcasts still in flight no longer count.
delivered(Latest, Event, #noted{broadcasts = Latest, heard = Heard} = Noted) ->
    #{pods := Pods, hops := Hops} = Heard,
    Noted#noted{heard = #{pods => Pods + 1, hops => max(Hops, simulator:hops(Event))}};
delivered(_Earlier, _Event, Noted) ->
    Noted.

noted({send, _Peer, Message}, _Index, #noted{names = Names, messages = M, bytes = B} = Noted) ->
    Bytes = simulator_wire:bytes(Message, plan_names:wire(Names)),
    Noted#noted{messages = M + 1, bytes = B + Bytes};
%% A ping in each direction; the simulator has no message for it.
noted({measure, _Peer}, _Index, #noted{ping = Ping, messages = M, bytes = B} = Noted) ->
    Noted#noted{messages = M + 2, bytes = B + 2 * Ping};
noted({neighbour_up, #{name := Name}}, Index, Noted) ->
    changed(neighbour_up, Index, Name, Noted);
noted({neighbour_down, Name}, Index, Noted) ->
    changed(neighbour_down, Index, Name, Noted);
noted(_Effect, _Index, Noted) ->
    Noted.

changed(What, Index, Name, #noted{names = Names, changes = Changes} = Noted) ->
    Peer = plan_names:ordinal(simulator_peer:index(Name), Names),
    Noted#noted{changes = [{What, plan_names:ordinal(Index, Names), Peer} | Changes]}.

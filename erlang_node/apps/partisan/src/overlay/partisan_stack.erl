%%% @doc The protocol stack of a node as one pure value: overlay, beacons, broadcast and routes.
%%%
%%% The layers know nothing of one another. The stack wraps their messages and timers, tells the
%%% broadcast layer about the overlay's neighbours, and does what belongs to no overlay in
%%% particular: getting joined. A node without neighbours asks one seed after another, at growing
%%% intervals, for as long as it takes; a seed goes on until it has met each other seed once, since
%%% otherwise clusters that grew around two seeds would stay two.
%%%
%%% The overlay can be changed while everything runs: see {@link partisan_overlays}.
%%%
%%% `partisan_manager' runs it on sockets, `partisan_sim' in virtual time. The promises that an
%%% interpreter must keep are those of {@link partisan_overlay}.
-module(partisan_stack).

-export([init/1]).
-export([handle/2]).
-export([check/2]).
-export([neighbours/1]).
-export([passive/1]).
-export([members/1]).
-export([joined/1]).
-export([info/1]).
%% The module of an overlay, by its kind.
-export([module/1]).

-type kind() ::
    full_mesh
    | client_server
    | hyparview
    | xbot
    | cyclon
    | scamp_v1
    | scamp_v2
    | hiscamp
    | static.

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    overlay := {kind(), map()},
    % Address hints of the contacts, this node's own among them when it is one.
    seeds := [partisan_peer:t()],
    % How many nodes the cluster is meant to have: one alone is joined, two are not.
    replicas => pos_integer(),
    % The protocol, Plumtree unless it says `gossip', and its own options.
    broadcast => #{protocol => plumtree | gossip, _ => _},
    beacon_interval => pos_integer(),
    join_delay => pos_integer(),
    join_delay_max => pos_integer(),
    % How long the former overlay outlives a switch, at least: until the others have switched too.
    switch_grace => pos_integer()
}.

-type event() ::
    partisan_overlay:event()
    | {broadcast, Payload :: term()}
    % Which neighbour leads to this member? Answered by `route' or `no_route'.
    | {find_route, partisan_peer:name()}
    % Move to another overlay, get other seeds, another size of the cluster.
    | {reconfigure, partisan_config:changes()}.
-type effect() ::
    partisan_overlay:effect()
    | {deliver, Payload :: term()}
    | {route, partisan_peer:name(), Neighbour :: partisan_peer:name()}
    | {no_route, partisan_peer:name()}.
-type info() :: #{
    kind := kind(),
    % Another overlay that is still running, after a switch.
    former := none | kind(),
    joined := boolean(),
    active := [partisan_peer:name()],
    passive := [partisan_peer:name()]
}.

-export_type([kind/0, options/0, event/0, effect/0, info/0]).

-record(stack, {
    options :: options(),
    overlay :: partisan_overlays:t(),
    beacon :: none | partisan_beacon:t(),
    protocol :: module(),
    broadcast :: term(),
    routes :: partisan_routes:t(),
    rand :: rand:state(),
    contacts :: [partisan_peer:t()],
    % Seeds that this seed has not met yet.
    unmet = [] :: [partisan_peer:name()],
    attempts = 0 :: non_neg_integer(),
    leaving = false :: boolean(),
    out = [] :: [effect()]
}).

-opaque t() :: #stack{}.
-export_type([t/0]).

%% API.

-spec init(options()) -> {t(), [effect()]}.
init(#{self := #{name := Name} = Self, overlay := {Kind, Parameters}, seeds := Seeds} = Given) ->
    Options = maps:merge(defaults(), Given),
    #{seed := {A, B, C} = Seed, broadcast := Broadcast} = Options,
    Protocol = protocol(maps:get(protocol, Broadcast, plumtree)),
    Common = #{self => Self, seed => Seed, seeds => Seeds},
    {Overlay, Effects} = partisan_overlays:init({Kind, Parameters}, Common),
    Others = [Other || #{name := N} = Other <- Seeds, N =/= Name],
    Rand0 = rand:seed_s(exsss, {C, A, B}),
    {Contacts, Rand} = partisan_random:sample(length(Others), Others, Rand0),
    Stack0 = #stack{
        options = Options,
        overlay = Overlay,
        beacon = beacon(Kind, Self, Seeds, Rand),
        protocol = Protocol,
        broadcast = Protocol:init(Broadcast#{self => Self, seed => Seed}),
        routes = partisan_routes:new(Name),
        rand = Rand,
        contacts = Contacts
    },
    Stack1 = overlay_effects(Effects, meet_all(Stack0)),
    flush(emit({start_timer, {beacon, tick}, option(beacon_interval, Stack1)}, seek(Stack1))).

-spec handle(event(), t()) -> {t(), [effect()]}.
handle(_Event, #stack{leaving = true} = Stack) ->
    {Stack, []};
handle(Event, Stack) ->
    flush(event(Event, Stack)).

%% @doc Can the overlay that `{reconfigure, Changes}' asks for be built?
-spec check(partisan_config:changes(), t()) -> ok | {error, Description :: string()}.
check(#{overlay := Spec}, #stack{overlay = Overlay}) -> partisan_overlays:check(Spec, Overlay);
check(#{}, _Stack) -> ok.

-spec neighbours(t()) -> [partisan_peer:t()].
neighbours(#stack{overlay = Overlay}) ->
    partisan_overlays:neighbours(Overlay).

-spec passive(t()) -> [partisan_peer:t()].
passive(#stack{overlay = Overlay}) ->
    partisan_overlays:passive(Overlay).

%% @doc Every member this node knows of, itself included.
-spec members(t()) -> [partisan_peer:name()].
members(#stack{options = #{self := #{name := Self}}} = Stack) ->
    lists:usort([Self | [Name || #{name := Name} <- neighbours(Stack) ++ passive(Stack)]]).

-spec joined(t()) -> boolean().
joined(#stack{options = #{replicas := 1}, leaving = Leaving}) ->
    not Leaving;
joined(Stack) ->
    neighbours(Stack) =/= [].

-spec info(t()) -> info().
info(#stack{overlay = Overlay} = Stack) ->
    #{
        kind => partisan_overlays:kind(Overlay),
        former => partisan_overlays:former(Overlay),
        joined => joined(Stack),
        active => [Name || #{name := Name} <- neighbours(Stack)],
        passive => [Name || #{name := Name} <- passive(Stack)]
    }.

%% Events.

event({broadcast, Payload}, S) ->
    broadcast({broadcast, {user, Payload}}, S);
event({find_route, Name}, S) ->
    routes(partisan_routes:find(Name, S#stack.routes), S);
event({message, From, {route, Msg}}, S) ->
    routes(partisan_routes:found(Msg, maps:get(name, From), S#stack.routes), S);
event({timer, {route, Name}}, S) ->
    routes(partisan_routes:timeout(Name, S#stack.routes), S);
event({message, From, {overlay, Msg}}, S) ->
    overlay({message, From, Msg}, met(From, S));
event({message, From, {broadcast, Msg}}, S) ->
    broadcast({message, From, Msg}, S);
event({message, _From, {beacon, _}}, #stack{beacon = none} = S) ->
    S;
event({message, From, {beacon, Msg}}, #stack{beacon = Beacon0} = S) ->
    {Beacon, Actions} = partisan_beacon:heard(Msg, From, neighbours(S), Beacon0),
    beacon_actions(Actions, S#stack{beacon = Beacon});
event({timer, {overlay, Name}}, S) ->
    overlay({timer, Name}, S);
event({timer, {broadcast, Name}}, S) ->
    broadcast({timer, Name}, S);
event({timer, {beacon, tick}}, S) ->
    beacon_tick(S);
event({timer, {stack, seek}}, S) ->
    seek(S);
event({reconfigure, Changes}, S) ->
    reconfigure(Changes, S);
event({timer, {stack, retire}}, S) ->
    retire(S);
event({peer_up, Peer}, S) ->
    overlay({peer_up, Peer}, met(Peer, S));
event(leave, S) ->
    S1 = overlay(leave, S),
    S1#stack{leaving = true};
event(Event, S) ->
    % Joins and losses are the overlay's own business.
    overlay(Event, S).

%% Internals: joining.

seek(#stack{contacts = []} = S) ->
    S;
seek(#stack{contacts = [Contact | Others], unmet = Unmet} = S) ->
    case {partisan_overlays:present_neighbours(S#stack.overlay), Unmet} of
        {[], _} ->
            seek_later(overlay({join, Contact}, S#stack{contacts = Others ++ [Contact]}));
        {_, [Name | Later]} ->
            [Seed] = [C || #{name := N} = C <- S#stack.contacts, N =:= Name],
            seek_later(overlay({join, Seed}, S#stack{unmet = Later ++ [Name]}));
        {_, []} ->
            % The loss of the last neighbour starts it again.
            S#stack{attempts = 0}
    end.

seek_later(#stack{attempts = Attempts} = S) ->
    % It doubles with every fourth attempt, and so stays a fraction of the time waited: the seeds of
    % a cluster that starts are up a moment later than most of those who look for them.
    Doublings = min(Attempts div 4, 16),
    Longest = min(option(join_delay, S) bsl Doublings, option(join_delay_max, S)),
    {Chance, Rand} = rand:uniform_s(Longest, S#stack.rand),
    Delay = (Longest + Chance) div 2,
    emit({start_timer, {stack, seek}, Delay}, S#stack{attempts = Attempts + 1, rand = Rand}).

met(#{name := Name}, #stack{unmet = Unmet} = S) ->
    S#stack{unmet = lists:delete(Name, Unmet)}.

%% Internals: other settings, another overlay.

reconfigure(Changes, #stack{options = Options} = S0) ->
    #{seeds := Former} = Options,
    S1 = S0#stack{options = maps:merge(Options, maps:with([seeds, replicas], Changes))},
    S2 =
        case Changes of
            #{seeds := Seeds} when Seeds =/= Former -> reseed(S1);
            #{} -> S1
        end,
    case Changes of
        #{overlay := Spec} -> switch(Spec, S2);
        #{} -> S2
    end.

%% Who has neighbours looks for seeds when beacons fail or the last neighbour is lost; who has none
%% is looking already and finds others on its list, but for a node that had nobody to look for.
reseed(#stack{options = #{self := #{name := Self}, seeds := Seeds}} = S0) ->
    #stack{overlay = Overlay, contacts = Former} = S0,
    Others = [Other || #{name := Name} = Other <- Seeds, Name =/= Self],
    {Contacts, Rand} = partisan_random:sample(length(Others), Others, S0#stack.rand),
    S1 = S0#stack{
        contacts = Contacts,
        rand = Rand,
        unmet = [],
        overlay = partisan_overlays:set_seeds(Seeds, Overlay)
    },
    S2 = with_beacon(partisan_overlays:kind(Overlay), S1),
    case Former of
        [] -> seek(S2);
        _ -> S2
    end.

switch({Kind, _} = Spec, #stack{overlay = Overlay0} = S0) ->
    case partisan_overlays:switch(Spec, Overlay0) of
        {Overlay0, []} ->
            S0;
        {Overlay, Effects} ->
            S1 = overlay_effects(Effects, S0#stack{overlay = Overlay, attempts = 0}),
            retire_later(seek(meet_all(with_beacon(Kind, S1))))
    end.

with_beacon(Kind, #stack{options = #{self := Self, seeds := Seeds}, rand = Rand} = S) ->
    S#stack{beacon = beacon(Kind, Self, Seeds, Rand)}.

%% A seed has every other seed to meet, at the start and again in a new overlay.
meet_all(#stack{options = #{self := #{name := Self}, seeds := Seeds}, contacts = Contacts} = S) ->
    case [Name || #{name := Name} <- Seeds, Name =:= Self] of
        [] -> S;
        [Self] -> S#stack{unmet = [Name || #{name := Name} <- Contacts]}
    end.

retire(#stack{overlay = Overlay0} = S) ->
    case partisan_overlays:present_neighbours(Overlay0) of
        [] ->
            retire_later(S);
        _ ->
            {Overlay, Effects} = partisan_overlays:retire(Overlay0),
            overlay_effects(Effects, S#stack{overlay = Overlay})
    end.

retire_later(S) ->
    emit({start_timer, {stack, retire}, option(switch_grace, S)}, S).

%% Internals: beacons.

%% Full meshes and stars compare their members directly; only partial views can split unnoticed.
beacon(Kind, _Self, _Seeds, _Rand) when
    Kind =:= full_mesh; Kind =:= client_server; Kind =:= static
->
    none;
beacon(_Kind, Self, Seeds, Rand) ->
    partisan_beacon:init(#{self => Self, seeds => Seeds, rand => Rand}).

beacon_tick(#stack{beacon = none} = S) ->
    % Members that gave one another up during a long partition find back through the seeds.
    Known = [Name || #{name := Name} <- neighbours(S)],
    Lost = [C || #{name := Name} = C <- S#stack.contacts, not lists:member(Name, Known)],
    beacon_restart(lists:foldl(fun(C, Acc) -> overlay({join, C}, Acc) end, S, Lost));
beacon_tick(#stack{beacon = Beacon0} = S) ->
    {Beacon, Actions} = partisan_beacon:tick(neighbours(S), Beacon0),
    beacon_restart(beacon_actions(Actions, S#stack{beacon = Beacon})).

beacon_restart(S) ->
    emit({start_timer, {beacon, tick}, option(beacon_interval, S)}, S).

beacon_actions(Actions, S0) ->
    lists:foldl(
        fun
            ({send, Peer, Msg}, S) -> emit({send, Peer, {beacon, Msg}}, S);
            ({join, Seed}, S) -> overlay({join, Seed}, emit({count, rejoin}, S))
        end,
        S0,
        Actions
    ).

%% Internals: the layers.

overlay(Event, #stack{overlay = Overlay0} = S) ->
    {Overlay, Effects} = partisan_overlays:handle(Event, Overlay0),
    overlay_effects(Effects, S#stack{overlay = Overlay}).

overlay_effects(Effects, S) ->
    lists:foldl(fun overlay_effect/2, S, Effects).

overlay_effect({send, Peer, Msg}, S) ->
    emit({send, Peer, {overlay, Msg}}, S);
overlay_effect({start_timer, Name, Delay}, S) ->
    emit({start_timer, {overlay, Name}, Delay}, S);
overlay_effect({neighbour_up, _} = Effect, S) ->
    broadcast(Effect, emit(Effect, S));
overlay_effect({neighbour_down, Name} = Effect, S0) ->
    S1 = broadcast(Effect, emit(Effect, S0)),
    S = routes(partisan_routes:forget_neighbour(Name, S1#stack.routes), S1),
    case partisan_overlays:present_neighbours(S#stack.overlay) of
        [] -> seek_later(S);
        _ -> S
    end;
overlay_effect(Effect, S) ->
    emit(Effect, S).

broadcast(Event, #stack{protocol = Protocol, broadcast = Broadcast0} = S0) ->
    {Broadcast, Effects} = Protocol:handle(Event, Broadcast0),
    lists:foldl(fun broadcast_effect/2, S0#stack{broadcast = Broadcast}, Effects).

broadcast_effect({send, Peer, Msg}, S) ->
    emit({send, Peer, {broadcast, Msg}}, S);
broadcast_effect({start_timer, Name, Delay}, S) ->
    emit({start_timer, {broadcast, Name}, Delay}, S);
broadcast_effect({count, Kind}, S) ->
    emit({count, {broadcast, Kind}}, S);
broadcast_effect({deliver, {user, Payload}}, S) ->
    emit({deliver, Payload}, S);
broadcast_effect({deliver, {seek, Sought, Seeker}}, #stack{options = #{self := Self}} = S) ->
    case Self of
        #{name := Sought} -> routes(partisan_routes:sought(Seeker, S#stack.routes), S);
        #{} -> S
    end;
broadcast_effect({heard, Origin, Via}, S) ->
    routes(partisan_routes:heard(Origin, Via, S#stack.routes), S).

routes({Routes, Actions}, S) ->
    lists:foldl(fun route_action/2, S#stack{routes = Routes}, Actions).

route_action({seek, Sought}, #stack{options = #{self := #{name := Self}}} = S) ->
    broadcast({broadcast, {seek, Sought, Self}}, S);
route_action({send, Name, Msg}, S) ->
    case [Peer || #{name := N} = Peer <- neighbours(S), N =:= Name] of
        [Peer] -> emit({send, Peer, {route, Msg}}, S);
        [] -> S
    end;
route_action({start_timer, Name, Delay}, S) ->
    emit({start_timer, {route, Name}, Delay}, S);
route_action(Effect, S) ->
    emit(Effect, S).

protocol(plumtree) -> partisan_plumtree;
protocol(gossip) -> partisan_gossip.

%% @doc The module of an overlay.
-spec module(kind()) -> module().
module(full_mesh) -> partisan_overlay_full_mesh;
module(client_server) -> partisan_overlay_client_server;
module(hyparview) -> partisan_overlay_hyparview;
module(xbot) -> partisan_overlay_xbot;
module(cyclon) -> partisan_overlay_cyclon;
module(scamp_v1) -> partisan_overlay_scamp_v1;
module(scamp_v2) -> partisan_overlay_scamp_v2;
module(hiscamp) -> partisan_overlay_hiscamp;
module(static) -> partisan_overlay_static.

%% Internals: chance, options, effects.

option(Name, #stack{options = Options}) ->
    maps:get(Name, Options).

defaults() ->
    #{
        replicas => 2,
        broadcast => #{},
        beacon_interval => 5000,
        join_delay => 200,
        join_delay_max => 5000,
        switch_grace => 20000
    }.

emit(Effect, #stack{out = Out} = S) ->
    S#stack{out = [Effect | Out]}.

flush(#stack{out = Out} = S) ->
    {S#stack{out = []}, lists:reverse(Out)}.

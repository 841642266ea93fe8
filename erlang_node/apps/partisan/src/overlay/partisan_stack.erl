%%% @doc The protocol stack of a node as one pure value: overlay, beacons, broadcast and routes.
%%%
%%% The layers are independent of one another. The stack wraps their messages and timers, reports
%%% the overlay's neighbours to the broadcast layer, and does what no particular overlay does: join
%%% ({@link partisan_contacts}) and detect partitions ({@link partisan_beacon}).
%%%
%%% The overlay can be changed while everything runs: see {@link partisan_overlay_switch}.
%%%
%%% A cluster that is being deleted is dissolved: the order is flooded, and a node that has passed
%%% it on stops repairing, since its repairs would be taken down next. It answers peers that have
%%% not got the order yet with it.
%%%
%%% `partisan_manager' runs it on sockets, `simulator' in virtual time. The promises that an
%%% interpreter must keep are those of {@link partisan_overlay}.
%%%
%%% Longer than 300 lines: the seam of four layers, whose wiring belongs together.
-module(partisan_stack).

-export([init/1]).
-export([handle/2]).
-export([check/2]).
-export([neighbours/1]).
-export([members/1]).
-export([joined/1]).
-export([view/1]).
-export([info/1]).
-export([topics/1]).
-export([carrier/2]).
-export([carrier/3]).

-import(partisan_layer, [emit/2, option/2]).

%% About the milliseconds between two requests to the seeds by all nodes together, once these have
%% backed off: however many they are, a seed can answer.
-define(JOIN_DELAY_PER_NODE, 40).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    overlay := partisan_overlay_switch:spec(),
    % Address hints of the seeds, including this node if it is one.
    seeds := [partisan_peer:t()],
    % Intended cluster size: a single node counts as joined, one of two does not.
    replicas => pos_integer(),
    % Protocol, Plumtree unless `gossip', and its own options.
    broadcast => #{protocol => plumtree | gossip, _ => _},
    beacon_interval => pos_integer(),
    join_delay => pos_integer(),
    % Of small clusters; longer for large ones.
    join_delay_max => pos_integer(),
    % Minimum time the previous overlay runs after a switch: until the others have switched too.
    switch_grace => pos_integer()
}.

%% System time.
-type seconds() :: integer().
-type event() ::
    partisan_overlay:event()
    | {broadcast, Payload :: term()}
    % A change of a broadcast handler's data, and a handler's answer. Only with Plumtree.
    | {broadcast, partisan_plumtree:reference_to(), Data :: term()}
    | {handled, partisan_plumtree:answer()}
    % Asks for the neighbour that leads to this member. Answered by `route' or `no_route'.
    | {find_route, partisan_peer:name()}
    % Change the overlay, the seeds, or the cluster size.
    | {reconfigure, partisan_config:changes()}
    % The cluster has been deleted since that time. Answered by `dissolved', once.
    | {dissolve, Since :: seconds()}.
-type effect() ::
    partisan_overlay:effect()
    | {deliver, Payload :: term()}
    | {handler, module(), partisan_plumtree:request()}
    | {route, partisan_peer:name(), Neighbour :: partisan_peer:name()}
    | {no_route, partisan_peer:name()}
    | dissolved.
-type info() :: #{
    kind := partisan_overlay_registry:kind(),
    % Another overlay that is still running, after a switch.
    former := none | partisan_overlay_registry:kind(),
    joined := boolean(),
    active := [partisan_peer:name()],
    passive := [partisan_peer:name()]
}.

-type brokers() :: {[partisan_peer:name()], Replication :: pos_integer()}.
-type topics() :: trees | {brokers | both, brokers()}.

-export_type([options/0, event/0, effect/0, info/0, topics/0]).

%% In addition to the common fields of a layer.
-opaque t() :: #{
    overlay := partisan_overlay_switch:t(),
    beacon := none | partisan_beacon:t(),
    protocol := module(),
    broadcast := term(),
    routes := partisan_routes:t(),
    contacts := partisan_contacts:t(),
    dissolved := none | seconds(),
    _ => _
}.

-export_type([t/0]).

%% API.

%% @doc The layers of a node that has not joined, and their first effects.
-spec init(options()) -> {t(), [effect()]}.
init(#{self := Self, seed := {A, B, C} = Seed, overlay := {Kind, _} = Spec} = Given) ->
    #{broadcast := Broadcast} = Options = maps:merge(defaults(), Given#{seed := {C, A, B}}),
    #{seeds := Seeds} = Options,
    Protocol = protocol(maps:get(protocol, Broadcast, plumtree)),
    Common = #{self => Self, seed => Seed, seeds => Seeds},
    {Overlay, Effects} = partisan_overlay_switch:init(Spec, Common),
    #{rand := Rand0} = S0 = partisan_layer:new(#{}, Options, #{
        overlay => Overlay,
        protocol => Protocol,
        broadcast => Protocol:init(Broadcast#{self => Self, seed => Seed}),
        routes => partisan_routes:new(partisan_peer:name(Self)),
        dissolved => none
    }),
    {Contacts, Rand} = partisan_contacts:new(Self, Seeds, Rand0),
    S1 = S0#{contacts => Contacts, rand := Rand, beacon => beacon(Kind, Self, Seeds, Rand)},
    S2 = seek(overlay_effects(Effects, meet_all(S1))),
    partisan_layer:started(emit({start_timer, {beacon, tick}, option(beacon_interval, S2)}, S2)).

%% @doc Handles an event; returns the effects.
-spec handle(event(), t()) -> {t(), [effect()]}.
handle(Event, #{dissolved := none} = S) ->
    partisan_layer:handle(fun event/2, Event, S);
handle({message, From, {overlay, _}}, #{dissolved := Since} = S) ->
    {S, [{send, From, {dissolve, Since}}]};
handle(_Event, S) ->
    {S, []}.

%% @doc Whether the overlay that `{reconfigure, Changes}' asks for can be built.
-spec check(partisan_config:changes(), t()) -> ok | {error, Description :: string()}.
check(#{overlay := Spec}, #{overlay := Overlay}) -> partisan_overlay_switch:check(Spec, Overlay);
check(#{}, _Stack) -> ok.

%% @doc The peers that this node has links to.
-spec neighbours(t()) -> [partisan_peer:t()].
neighbours(#{overlay := Overlay}) ->
    partisan_overlay_switch:neighbours(Overlay).

%% @doc All members known to this node, itself included; unchanged while `info/1' is.
-spec members(t()) -> [partisan_peer:name()].
members(#{self := #{name := Self}, overlay := Overlay} = Stack) ->
    Known = neighbours(Stack) ++ partisan_overlay_switch:passive(Overlay),
    lists:usort([Self | [Name || #{name := Name} <- Known]]).

%% @doc Whether this node is part of the overlay.
-spec joined(t()) -> boolean().
joined(#{options := #{replicas := 1}, leaving := Leaving}) ->
    not Leaving;
joined(Stack) ->
    neighbours(Stack) =/= [].

%% @doc Exactly what `members/1', `info/1' and `topics/1' are made of. It is the very same term in
%% two stacks that differ only in other layers, so comparing them is cheap.
-spec view(t()) -> term().
view(#{overlay := Overlay, options := Options, leaving := Leaving}) ->
    {Overlay, Options, Leaving}.

%% @doc The published view of the overlay.
-spec info(t()) -> info().
info(#{overlay := Overlay} = Stack) ->
    #{
        kind => partisan_overlay_switch:kind(Overlay),
        former => partisan_overlay_switch:previous(Overlay),
        joined => joined(Stack),
        active => [Name || #{name := Name} <- neighbours(Stack)],
        passive => [Name || #{name := Name} <- partisan_overlay_switch:passive(Overlay)]
    }.

%% @doc How publications travel: over trees of subscribers, or to brokers; both ways while another
%% overlay is being replaced.
-spec topics(t()) -> topics().
topics(#{overlay := Overlay}) ->
    case {partisan_overlay_switch:brokers(Overlay), partisan_overlay_switch:previous(Overlay)} of
        {none, _} -> trees;
        {Brokers, none} -> {brokers, Brokers};
        {Brokers, _} -> {both, Brokers}
    end.

%% @doc The largest message in which a broadcast of this node carries its payload.
-spec carrier(partisan_peer:name(), Payload :: term()) -> term().
carrier(Name, Payload) ->
    Last = 1 bsl 64 - 1,
    {broadcast, {gossip, {Name, Last, Last}, Last, {user, Payload}}}.

%% @doc The largest message in which a change of a handler's data is carried.
-spec carrier(partisan_peer:name(), partisan_plumtree:reference_to(), Data :: term()) -> term().
carrier(Name, Reference, Data) ->
    Last = 1 bsl 64 - 1,
    {broadcast, {gossip, {Name, Last, Last, Reference}, Last, Data}}.

%% Events.

event({broadcast, Payload}, S) ->
    broadcast({broadcast, {user, Payload}}, S);
event({broadcast, _Reference, _Data} = Event, S) ->
    broadcast(Event, S);
event({handled, Answer}, S) ->
    broadcast(Answer, S);
event({find_route, Name}, #{overlay := Overlay, routes := Routes} = S) ->
    case partisan_overlay_switch:next_hop(Name, Overlay) of
        {ok, Neighbour} -> routes(partisan_routes:heard(Name, Neighbour, Routes), S);
        none -> routes(partisan_routes:find(Name, Routes), S)
    end;
event({message, #{name := From}, {route, Msg}}, #{routes := Routes} = S) ->
    routes(partisan_routes:found(Msg, From, Routes), S);
event({timer, {route, Name}}, #{routes := Routes} = S) ->
    routes(partisan_routes:timeout(Name, Routes), S);
event({message, From, {overlay, Msg}}, S) ->
    overlay({message, From, Msg}, met(From, S));
event({message, From, {broadcast, Msg}}, S) ->
    broadcast({message, From, Msg}, S);
event({message, _From, {beacon, _}}, #{beacon := none} = S) ->
    S;
event({message, From, {beacon, Msg}}, #{beacon := Beacon0} = S) ->
    {Beacon, Actions} = partisan_beacon:heard(Msg, From, neighbours(S), Beacon0),
    beacon_actions(Actions, S#{beacon := Beacon});
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
event({dissolve, Since}, S) ->
    dissolve(Since, neighbours(S), S);
event({message, From, {dissolve, Since}}, S) ->
    dissolve(Since, partisan_peer:without([From], neighbours(S)), S);
event({timer, {stack, retire}}, S) ->
    retire(S);
event({peer_up, Peer}, S) ->
    overlay({peer_up, Peer}, met(Peer, S));
event(Event, S) ->
    % Joins and losses are the overlay's own business, and so is leaving.
    overlay(Event, S).

%% Internals: joining.

seek(#{contacts := Contacts0} = S) ->
    case partisan_contacts:next(has_neighbours(S), Contacts0) of
        {join, Contact, Contacts} ->
            seek_later(overlay({join, Contact}, S#{contacts := Contacts}));
        {idle, Contacts} ->
            % The loss of the last neighbour starts it again.
            S#{contacts := Contacts}
    end.

seek_later(#{contacts := Contacts0, rand := Rand0} = S) ->
    Longest = max(option(join_delay_max, S), ?JOIN_DELAY_PER_NODE * option(replicas, S)),
    Range = {option(join_delay, S), Longest},
    {Delay, Contacts, Rand} = partisan_contacts:delay(Range, Contacts0, Rand0),
    emit({start_timer, {stack, seek}, Delay}, S#{contacts := Contacts, rand := Rand}).

met(Peer, #{contacts := Contacts, beacon := Beacon} = S) ->
    Met =
        case Beacon of
            none -> none;
            _ -> partisan_beacon:met(Peer, Beacon)
        end,
    S#{contacts := partisan_contacts:met(Peer, Contacts), beacon := Met}.

meet_all(#{contacts := Contacts} = S) ->
    S#{contacts := partisan_contacts:meet_all(Contacts)}.

has_neighbours(#{overlay := Overlay}) ->
    partisan_overlay_switch:present_neighbours(Overlay) =/= [].

%% Internals: other settings, another overlay.

reconfigure(Changes, #{options := Options} = S0) ->
    #{seeds := Previous} = Options,
    S1 = S0#{options := maps:merge(Options, maps:with([seeds, replicas], Changes))},
    S2 =
        case Changes of
            #{seeds := Seeds} when Seeds =/= Previous -> reseed(S1);
            #{} -> S1
        end,
    case Changes of
        #{overlay := Spec} -> switch(Spec, S2);
        #{} -> S2
    end.

%% A node with neighbours asks seeds when beacons fail or the last neighbour is lost; one without is
%% asking already and finds the new seeds on its list, unless it had no seed to ask.
reseed(#{self := Self, options := #{seeds := Seeds}, overlay := Overlay} = S0) ->
    #{contacts := Previous, rand := Rand0} = S0,
    {Contacts, Rand} = partisan_contacts:replace(Self, Seeds, Previous, Rand0),
    S1 = S0#{
        contacts := Contacts,
        rand := Rand,
        overlay := partisan_overlay_switch:set_seeds(Seeds, Overlay)
    },
    S2 = with_beacon(partisan_overlay_switch:kind(Overlay), S1),
    case partisan_contacts:peers(Previous) of
        [] -> seek(meet_all(S2));
        _ -> S2
    end.

switch({Kind, _} = Spec, #{overlay := Overlay0} = S0) ->
    case partisan_overlay_switch:switch(Spec, Overlay0) of
        {Overlay0, []} ->
            S0;
        {Overlay, Effects} ->
            Rested = partisan_contacts:rest(map_get(contacts, S0)),
            S1 = overlay_effects(Effects, S0#{overlay := Overlay, contacts := Rested}),
            retire_later(seek(meet_all(with_beacon(Kind, S1))))
    end.

with_beacon(Kind, #{options := #{self := Self, seeds := Seeds}, rand := Rand} = S) ->
    S#{beacon := beacon(Kind, Self, Seeds, Rand)}.

retire(#{overlay := Overlay0} = S) ->
    case has_neighbours(S) of
        false ->
            retire_later(S);
        true ->
            {Overlay, Effects} = partisan_overlay_switch:retire(Overlay0),
            overlay_effects(Effects, S#{overlay := Overlay})
    end.

retire_later(S) ->
    emit({start_timer, {stack, retire}, option(switch_grace, S)}, S).

dissolve(Since, Neighbours, S) ->
    Dissolved = S#{dissolved := Since},
    emit(dissolved, partisan_layer:send_all(Neighbours, {dissolve, Since}, Dissolved)).

%% Internals: beacons.

beacon(Kind, Self, Seeds, Rand) ->
    case partisan_overlay_registry:can_split(Kind) of
        true -> partisan_beacon:init(#{self => Self, seeds => Seeds, rand => Rand});
        false -> none
    end.

beacon_tick(#{beacon := none, contacts := Contacts} = S) ->
    % Members that gave one another up during a long partition rejoin through the seeds.
    Lost = partisan_peer:without(neighbours(S), partisan_contacts:peers(Contacts)),
    beacon_restart(lists:foldl(fun(C, Acc) -> overlay({join, C}, Acc) end, S, Lost));
beacon_tick(#{beacon := Beacon0} = S) ->
    {Beacon, Actions} = partisan_beacon:tick(neighbours(S), Beacon0),
    beacon_restart(beacon_actions(Actions, S#{beacon := Beacon})).

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

overlay(Event, #{overlay := Overlay0} = S) ->
    {Overlay, Effects} = partisan_overlay_switch:handle(Event, Overlay0),
    overlay_effects(Effects, S#{overlay := Overlay}).

overlay_effects(Effects, S) ->
    lists:foldl(fun overlay_effect/2, S, Effects).

overlay_effect({send, Peer, Msg}, S) ->
    emit({send, Peer, {overlay, Msg}}, S);
overlay_effect({start_timer, Name, Delay}, S) ->
    emit({start_timer, {overlay, Name}, Delay}, S);
overlay_effect({neighbour_up, _} = Effect, S) ->
    broadcast(Effect, emit(Effect, S));
overlay_effect({neighbour_down, Name} = Effect, S0) ->
    #{routes := Routes} = S1 = broadcast(Effect, emit(Effect, S0)),
    S2 = routes(partisan_routes:forget_neighbour(Name, Routes), S1),
    case has_neighbours(S2) of
        true -> S2;
        false -> seek_later(S2)
    end;
overlay_effect(Effect, S) ->
    emit(Effect, S).

broadcast(Event, #{protocol := Protocol, broadcast := Broadcast0} = S0) ->
    {Broadcast, Effects} = Protocol:handle(Event, Broadcast0),
    lists:foldl(fun broadcast_effect/2, S0#{broadcast := Broadcast}, Effects).

broadcast_effect({send, Peer, Msg}, S) ->
    emit({send, Peer, {broadcast, Msg}}, S);
broadcast_effect({start_timer, Name, Delay}, S) ->
    emit({start_timer, {broadcast, Name}, Delay}, S);
broadcast_effect({count, Kind}, S) ->
    emit({count, {broadcast, Kind}}, S);
broadcast_effect({deliver, {user, Payload}}, S) ->
    emit({deliver, Payload}, S);
broadcast_effect({deliver, {seek, Sought, Seeker}}, #{self := Self, routes := Routes} = S) ->
    case Self of
        #{name := Sought} -> routes(partisan_routes:sought(Seeker, Routes), S);
        #{} -> S
    end;
broadcast_effect({handler, _, _} = Effect, S) ->
    emit(Effect, S);
broadcast_effect({heard, Origin, Via}, #{routes := Routes} = S) ->
    routes(partisan_routes:heard(Origin, Via, Routes), S).

routes({Routes, Actions}, S) ->
    lists:foldl(fun route_action/2, S#{routes := Routes}, Actions).

route_action({seek, Sought}, #{self := #{name := Self}} = S) ->
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

%% Internals: options.

defaults() ->
    #{
        replicas => 2,
        broadcast => #{},
        beacon_interval => 5000,
        join_delay => 200,
        join_delay_max => 5000,
        switch_grace => 20000
    }.

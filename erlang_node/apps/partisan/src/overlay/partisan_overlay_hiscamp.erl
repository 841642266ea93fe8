%%% @doc HiScamp: SCAMP within each zone, and SCAMP between representatives of the zones.
%%%
%%% Ganesh, Kermarrec, Massoulié, "HiScamp: self-organizing hierarchical membership protocol", 10th
%%% ACM SIGOPS European Workshop, 2002. Nearby nodes form a cluster with its own membership, and
%%% clusters are members of a second level, so most links, and most gossip, stay within a cluster.
%%% Here clusters are zones: the `level' option names the node's own, for example its availability
%%% zone or Kubernetes node. Each level is a separate {@link partisan_overlay_scamp}.
%%%
%%% A joiner sends its zone to its contact. A contact in the same zone becomes its contact there. A
%%% contact in another zone names nodes of the joiner's zone that it has met, and if those are few,
%%% asks the joiner to represent its zone, that is, to join the second level too. A node that has to
%%% ask again has lost its zone or the other zones, and becomes a representative in any case.
%%%
%%% Both levels may want a link to the same peer: the first pins it and the last unpins it. It is a
%%% neighbour while it is one on either level.
-module(partisan_overlay_hiscamp).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

-import(partisan_layer, [emit/2, option/2]).

-type zone() :: term().
-type level() :: 1 | 2.

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % The zone of this node.
    level => zone(),
    % Representatives of a zone known to a contact, at which it asks for no more.
    representatives => pos_integer(),
    % The other options are those of {@link partisan_overlay_scamp}.
    _ => _
}.

-type msg() ::
    {hello, zone()}
    | {introduce, zone(), Mates :: [partisan_peer:t()], Represent :: boolean()}
    | {level, level(), partisan_overlay_scamp:msg()}.

-export_type([options/0, msg/0, zone/0]).

%% Nodes remembered per zone for joiners, and zones remembered.
-define(MATES, 3).
-define(ZONES, 64).

-record(pin, {
    incarnation :: partisan_peer:incarnation(),
    levels :: [level()],
    up = false :: boolean()
}).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    levels := #{level() => partisan_overlay_scamp:state()},
    pins := #{partisan_peer:name() => #pin{}},
    neighbours := #{partisan_peer:name() => {partisan_peer:t(), [level()]}},
    % Nodes met recently by zone, latest first.
    met := #{zone() => [partisan_peer:t()]},
    introduced := boolean(),
    _ => _
}.

-export_type([state/0]).

%% API.

%% @private
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{seed := {A, B, C}} = Given) ->
    #{options := Options} = S = partisan_layer:new(defaults(), Given, #{
        levels => #{}, pins => #{}, neighbours => #{}, met => #{}, introduced => false
    }),
    One = partisan_overlay_scamp:init(Options),
    Two = partisan_overlay_scamp:init(Options#{seed := {C, B, A}}),
    partisan_layer:started(level_became(2, Two, level_became(1, One, S))).

%% @private
-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

%% @private
-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#{neighbours := Neighbours}) ->
    [Peer || {Peer, _} <- maps:values(Neighbours)].

%% @private
-spec passive(state()) -> [partisan_peer:t()].
passive(#{levels := Levels, neighbours := Neighbours}) ->
    Known = lists:append([partisan_overlay_scamp:passive(Scamp) || Scamp <- maps:values(Levels)]),
    lists:usort([Peer || #{name := Name} = Peer <- Known, not is_map_key(Name, Neighbours)]).

%% Events.

event({join, Contact}, S) ->
    emit({send, Contact, {hello, option(level, S)}}, S);
event({message, From, Msg}, S) ->
    message(Msg, From, S);
event({peer_up, #{name := Name} = Peer}, #{pins := Pins} = S0) ->
    case Pins of
        #{Name := #pin{levels = Levels} = Pin} ->
            S1 = S0#{pins := Pins#{Name := Pin#pin{up = true}}},
            lists:foldl(fun(Level, S) -> level(Level, {peer_up, Peer}, S) end, S1, Levels);
        #{} ->
            S0
    end;
event({peer_down, Name, _Reason} = Event, #{pins := Pins, met := Met} = S) ->
    Others = maps:map(fun(_, Mates) -> [P || #{name := N} = P <- Mates, N =/= Name] end, Met),
    level(2, Event, level(1, Event, S#{pins := maps:remove(Name, Pins), met := Others}));
event({timer, {Level, Name}}, S) ->
    level(Level, {timer, Name}, S);
event(leave, S) ->
    level(2, leave, level(1, leave, S)).

%% Messages.

message({hello, Zone}, From, S) ->
    Mates = partisan_peer:without([From], maps:get(Zone, map_get(met, S), [])),
    Represent = length(Mates) < option(representatives, S),
    meet(Zone, From, emit({send, From, {introduce, option(level, S), Mates, Represent}}, S));
message({introduce, Zone, Mates, Represent}, From, #{introduced := Introduced} = S0) ->
    S1 = S0#{introduced := true},
    case {option(level, S1), Mates} of
        {Zone, _} ->
            level(1, {join, From}, S1);
        {_, []} ->
            level(2, {join, From}, S1);
        {_, [Mate | _]} when Represent; Introduced ->
            level(2, {join, From}, level(1, {join, Mate}, S1));
        {_, [Mate | _]} ->
            level(1, {join, Mate}, S1)
    end;
message({level, Level, Msg}, From, S) ->
    level(Level, {message, From, Msg}, S).

%% Internals: zones.

meet(Zone, Peer, #{met := Met} = S) when is_map_key(Zone, Met); map_size(Met) < ?ZONES ->
    Others = partisan_peer:without([Peer], maps:get(Zone, Met, [])),
    S#{met := Met#{Zone => lists:sublist([Peer | Others], ?MATES)}};
meet(_Zone, _Peer, S) ->
    S.

%% Internals: the levels.

level(Level, Event, #{levels := Levels} = S) ->
    level_became(Level, partisan_overlay_scamp:handle(Event, map_get(Level, Levels)), S).

level_became(Level, {Scamp, Effects}, #{levels := Levels} = S0) ->
    S1 = S0#{levels := Levels#{Level => Scamp}},
    lists:foldl(fun(Effect, S) -> level_effect(Effect, Level, S) end, S1, Effects).

level_effect({send, Peer, Msg}, Level, S) ->
    emit({send, Peer, {level, Level, Msg}}, S);
level_effect({start_timer, Name, Delay}, Level, S) ->
    emit({start_timer, {Level, Name}, Delay}, S);
level_effect({connect, #{name := Name, incarnation := Incarnation} = Peer}, Level, S) ->
    #{pins := Pins} = S1 = emit({connect, Peer}, S),
    case Pins of
        #{Name := #pin{incarnation = Known, levels = Levels, up = true}} when
            Known >= Incarnation
        ->
            % It is up already, and the interpreter will not say so again.
            Shared = #pin{incarnation = Known, levels = lists:usort([Level | Levels]), up = true},
            level(Level, {peer_up, Peer}, S1#{pins := Pins#{Name := Shared}});
        #{Name := #pin{levels = Levels}} ->
            Pin = #pin{incarnation = Incarnation, levels = lists:usort([Level | Levels])},
            S1#{pins := Pins#{Name := Pin}};
        #{} ->
            S1#{pins := Pins#{Name => #pin{incarnation = Incarnation, levels = [Level]}}}
    end;
level_effect({disconnect, Name}, Level, #{pins := Pins} = S) ->
    case Pins of
        #{Name := #pin{levels = [Level]}} ->
            emit({disconnect, Name}, S#{pins := maps:remove(Name, Pins)});
        #{Name := #pin{levels = Levels} = Pin} ->
            S#{pins := Pins#{Name := Pin#pin{levels = lists:delete(Level, Levels)}}};
        #{} ->
            S
    end;
level_effect({neighbour_up, #{name := Name} = Peer}, Level, #{neighbours := Known} = S) ->
    case Known of
        #{Name := {_, Levels}} ->
            S#{neighbours := Known#{Name := {Peer, lists:usort([Level | Levels])}}};
        #{} ->
            emit({neighbour_up, Peer}, S#{neighbours := Known#{Name => {Peer, [Level]}}})
    end;
level_effect({neighbour_down, Name}, Level, #{neighbours := Known} = S) ->
    case Known of
        #{Name := {_, [Level]}} ->
            emit({neighbour_down, Name}, S#{neighbours := maps:remove(Name, Known)});
        #{Name := {Peer, Levels}} ->
            S#{neighbours := Known#{Name := {Peer, lists:delete(Level, Levels)}}};
        #{} ->
            S
    end;
level_effect(Effect, _Level, S) ->
    emit(Effect, S).

%% Revised SCAMP on both levels; a zone has less to lose than a whole cluster.
defaults() ->
    #{level => <<>>, representatives => 2, redundancy => 3, indirection => 4}.

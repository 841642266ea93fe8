%%% @doc The overlay of a node, and for a while the one it replaces.
%%%
%%% To change the overlay of a running cluster, a node runs both over the same links; its neighbours
%%% are those of either. Once the new overlay has joined the node, the old one is retired with the
%%% links that only it wants. So no node loses a neighbour before it has another, and messages in
%%% transit arrive.
%%%
%%% Nodes switch at different times. Messages and timers carry a tag, a hash of the overlay's kind
%%% and parameters; those of an overlay that this node does not run (yet, or any more) are dropped,
%%% which the protocols tolerate. An overlay is retired silently, since the node has not left: it
%%% may return to that overlay while others still run it, and must not be treated as departed.
%%%
%%% A link pinned by both overlays is one link to the interpreter: the first pin makes it and the
%%% last release ends it. A neighbour of both comes up once and goes down once.
-module(partisan_overlay_switch).

-export([init/2]).
-export([handle/2]).
-export([check/2]).
-export([can_start/2]).
-export([switch/2]).
-export([set_seeds/2]).
-export([retire/1]).
-export([neighbours/1]).
-export([present_neighbours/1]).
-export([passive/1]).
-export([kind/1]).
-export([previous/1]).
-export([next_hop/2]).
-export([brokers/1]).

-type spec() :: {partisan_overlay_registry:kind(), Parameters :: map()}.
-type tag() :: non_neg_integer().
-type name() :: partisan_peer:name().

-record(overlay, {
    tag :: tag(),
    kind :: partisan_overlay_registry:kind(),
    module :: module(),
    state :: term()
}).

-record(overlays, {
    % Options given to every overlay: self, seed, seeds.
    common :: map(),
    present :: #overlay{},
    previous = none :: none | #overlay{},
    % Overlays that pin a link, and those that count the peer as a neighbour.
    pins = #{} :: #{name() => [tag()]},
    ups = #{} :: #{name() => [tag()]},
    % Overlays waiting for the cost of a peer.
    measuring = #{} :: #{name() => [tag()]},
    % Links that are up.
    links = #{} :: #{name() => partisan_peer:t()},
    out = [] :: [partisan_overlay:effect()]
}).

-opaque t() :: #overlays{}.
-export_type([t/0, spec/0]).

%% @doc The first overlay.
-spec init(spec(), Common :: map()) -> {t(), [partisan_overlay:effect()]}.
init(Spec, Common) ->
    {Overlay, Effects} = start(Spec, Common),
    flush(effects(Effects, Overlay#overlay.tag, #overlays{common = Common, present = Overlay})).

%% @doc Handles one event in the overlays that it concerns.
-spec handle(partisan_overlay:event(), t()) -> {t(), [partisan_overlay:effect()]}.
handle(Event, O) ->
    flush(event(Event, O)).

%% @doc Whether this overlay can be built in the place of the present one.
-spec check(spec(), t()) -> ok | {error, Description :: string()}.
check(Spec, #overlays{common = Common}) ->
    can_start(Spec, Common).

%% @doc Whether an overlay can be built with these common options. Overlays are values, so it is
%% simply tried.
-spec can_start(spec(), Common :: map()) -> ok | {error, Description :: string()}.
can_start({Kind, _} = Spec, Common) ->
    try start(Spec, Common) of
        _ -> ok
    catch
        _:Reason ->
            Text = io_lib:format("overlay: ~p cannot be built, check its parameters: ~0tP", [
                Kind, Reason, 20
            ]),
            {error, lists:flatten(Text)}
    end.

%% @doc Sets the seeds given to overlays from the next one on.
-spec set_seeds([partisan_peer:t()], t()) -> t().
set_seeds(Seeds, #overlays{common = Common} = O) ->
    O#overlays{common = Common#{seeds := Seeds}}.

%% @doc Builds another overlay next to the present one, which becomes the previous. A previous
%% overlay still running is retired. Switching to the present overlay changes nothing.
-spec switch(spec(), t()) -> {t(), [partisan_overlay:effect()]}.
switch(Spec, #overlays{present = #overlay{tag = Tag} = Present, common = Common} = O0) ->
    case tag(Spec) of
        Tag ->
            {O0, []};
        _ ->
            O1 = end_previous(O0),
            {Overlay, Effects} = start(Spec, Common),
            O2 = O1#overlays{present = Overlay, previous = Present},
            flush(effects(Effects, Overlay#overlay.tag, O2))
    end.

%% @doc Retires the previous overlay, if any.
-spec retire(t()) -> {t(), [partisan_overlay:effect()]}.
retire(O) ->
    flush(end_previous(O)).

%% @doc The neighbours in either overlay.
-spec neighbours(t()) -> [partisan_peer:t()].
neighbours(#overlays{previous = none} = O) ->
    present_neighbours(O);
neighbours(#overlays{previous = #overlay{module = Module, state = State}} = O) ->
    Present = present_neighbours(O),
    Names = [Name || #{name := Name} <- Present],
    Previous = Module:neighbours(State),
    Present ++ [Peer || #{name := Name} = Peer <- Previous, not lists:member(Name, Names)].

%% @doc The neighbours in the present overlay.
-spec present_neighbours(t()) -> [partisan_peer:t()].
present_neighbours(#overlays{present = #overlay{module = Module, state = State}}) ->
    Module:neighbours(State).

%% @doc The passive view of the present overlay.
-spec passive(t()) -> [partisan_peer:t()].
passive(#overlays{present = #overlay{module = Module, state = State}}) ->
    Module:passive(State).

%% @doc The kind of the present overlay.
-spec kind(t()) -> partisan_overlay_registry:kind().
kind(#overlays{present = #overlay{kind = Kind}}) ->
    Kind.

%% @doc The kind of the overlay that is yet to be retired.
-spec previous(t()) -> none | partisan_overlay_registry:kind().
previous(#overlays{previous = none}) -> none;
previous(#overlays{previous = #overlay{kind = Kind}}) -> Kind.

%% @doc The neighbour that leads to a node, if the present overlay knows it without a search.
-spec next_hop(name(), t()) -> {ok, name()} | none.
next_hop(Name, #overlays{present = #overlay{module = Module, state = State}}) ->
    case erlang:function_exported(Module, next_hop, 2) of
        true -> Module:next_hop(Name, State);
        false -> none
    end.

%% @doc The brokers of all topics: those of the present overlay, or else of the previous one.
-spec brokers(t()) -> none | {[name()], Replication :: pos_integer()}.
brokers(#overlays{present = Present, previous = Previous}) ->
    Known = [
        Module:brokers(State)
     || #overlay{module = Module, state = State} <- [Present, Previous],
        erlang:function_exported(Module, brokers, 1)
    ],
    hd(Known ++ [none]).

%% Internals: events.

event({message, From, {Tag, Msg}}, O) ->
    dispatch(Tag, {message, From, Msg}, O);
event({timer, {Tag, Name}}, O) ->
    dispatch(Tag, {timer, Name}, O);
event({peer_up, #{name := Name} = Peer}, #overlays{links = Links, pins = Pins} = O0) ->
    O1 = O0#overlays{links = Links#{Name => Peer}},
    to_each(maps:get(Name, Pins, []), {peer_up, Peer}, O1);
event({peer_down, Name, _} = Event, #overlays{links = Links, pins = Pins} = O0) ->
    O1 = O0#overlays{links = maps:remove(Name, Links), pins = maps:remove(Name, Pins)},
    to_each(tags(O1), Event, O1);
event({join, _} = Event, #overlays{present = #overlay{tag = Tag}} = O) ->
    dispatch(Tag, Event, O);
event({cost, Name, _} = Event, #overlays{measuring = Measuring} = O) ->
    Asked = maps:get(Name, Measuring, []),
    to_each(Asked, Event, O#overlays{measuring = maps:remove(Name, Measuring)});
event(leave, O) ->
    to_each(tags(O), leave, O).

to_each(Tags, Event, O) ->
    lists:foldl(fun(Tag, Acc) -> dispatch(Tag, Event, Acc) end, O, Tags).

dispatch(Tag, Event, #overlays{present = #overlay{tag = Tag} = Overlay} = O) ->
    {Next, Effects} = step(Event, Overlay),
    effects(Effects, Tag, O#overlays{present = Next});
dispatch(Tag, Event, #overlays{previous = #overlay{tag = Tag} = Overlay} = O) ->
    {Next, Effects} = step(Event, Overlay),
    effects(Effects, Tag, O#overlays{previous = Next});
dispatch(_Other, _Event, O) ->
    O.

step(Event, #overlay{module = Module, state = State0} = Overlay) ->
    {State, Effects} = Module:handle(Event, State0),
    {Overlay#overlay{state = State}, Effects}.

tags(#overlays{present = #overlay{tag = Tag}, previous = none}) -> [Tag];
tags(#overlays{present = #overlay{tag = A}, previous = #overlay{tag = B}}) -> [A, B].

%% Internals: effects.

effects(Effects, Tag, O) ->
    lists:foldl(fun(Effect, Acc) -> effect(Effect, Tag, Acc) end, O, Effects).

effect({send, Peer, Msg}, Tag, O) ->
    emit({send, Peer, {Tag, Msg}}, O);
effect({start_timer, Name, Delay}, Tag, O) ->
    emit({start_timer, {Tag, Name}, Delay}, O);
effect({connect, #{name := Name} = Peer}, Tag, #overlays{pins = Pins, links = Links} = O0) ->
    Pinning = maps:get(Name, Pins, []),
    O1 = O0#overlays{pins = Pins#{Name => lists:usort([Tag | Pinning])}},
    case Links of
        #{Name := Link} ->
            case {partisan_peer:supersedes(Peer, Link), lists:member(Tag, Pinning)} of
                % The interpreter drops the link to the previous incarnation silently.
                {true, _} -> emit({connect, Peer}, O1#overlays{links = maps:remove(Name, Links)});
                % It is up for the other overlay: the interpreter would not say so again.
                {false, false} -> dispatch(Tag, {peer_up, Link}, O1);
                {false, true} -> O1
            end;
        #{} ->
            emit({connect, Peer}, O1)
    end;
effect({disconnect, Name}, Tag, #overlays{pins = Pins, links = Links} = O) ->
    case lists:delete(Tag, maps:get(Name, Pins, [])) of
        [] ->
            Released = O#overlays{pins = maps:remove(Name, Pins), links = maps:remove(Name, Links)},
            emit({disconnect, Name}, Released);
        Others ->
            O#overlays{pins = Pins#{Name => Others}}
    end;
effect({neighbour_up, #{name := Name}} = Effect, Tag, #overlays{ups = Ups} = O0) ->
    Before = maps:get(Name, Ups, []),
    O1 = O0#overlays{ups = Ups#{Name => lists:usort([Tag | Before])}},
    case Before of
        [] -> emit(Effect, O1);
        _ -> O1
    end;
effect({neighbour_down, Name} = Effect, Tag, #overlays{ups = Ups} = O) ->
    case lists:delete(Tag, maps:get(Name, Ups, [])) of
        [] -> emit(Effect, O#overlays{ups = maps:remove(Name, Ups)});
        Others -> O#overlays{ups = Ups#{Name => Others}}
    end;
effect({measure, #{name := Name}} = Effect, Tag, #overlays{measuring = Measuring} = O) ->
    Asking = lists:usort([Tag | maps:get(Name, Measuring, [])]),
    emit(Effect, O#overlays{measuring = Measuring#{Name => Asking}});
effect(Effect, _Tag, O) ->
    emit(Effect, O).

%% Internals: start and end of overlays.

start({Kind, Parameters} = Spec, Common) ->
    Module = partisan_overlay_registry:module(Kind),
    Given = maps:merge(partisan_overlay_registry:preset(Kind), Parameters),
    {State, Effects} = Module:init(with_peers(maps:merge(Given, Common))),
    {#overlay{tag = tag(Spec), kind = Kind, module = Module, state = State}, Effects}.

%% Address hints among the parameters are as good as the seeds'.
with_peers(#{peers := Peers, seeds := Seeds} = Options) ->
    Names = [Name || #{name := Name} <- Seeds],
    Others = [Peer || #{name := Name} = Peer <- Peers, not lists:member(Name, Names)],
    Options#{seeds := Seeds ++ Others};
with_peers(Options) ->
    Options.

%% Excludes what differs between nodes: HiScamp's level, and the addresses of a node's own peers.
tag({Kind, Parameters}) ->
    erlang:phash2({Kind, maps:without([level, peers], Parameters)}).

end_previous(#overlays{previous = none} = O) ->
    O;
end_previous(#overlays{previous = #overlay{tag = Tag}, pins = Pins, ups = Ups} = O0) ->
    Lost = [{neighbour_down, Name} || {Name, Tags} <- maps:to_list(Ups), lists:member(Tag, Tags)],
    Free = [{disconnect, Name} || {Name, Tags} <- maps:to_list(Pins), lists:member(Tag, Tags)],
    effects(Lost ++ Free, Tag, O0#overlays{previous = none}).

emit(Effect, #overlays{out = Out} = O) ->
    O#overlays{out = [Effect | Out]}.

flush(#overlays{out = Out} = O) ->
    {O#overlays{out = []}, lists:reverse(Out)}.

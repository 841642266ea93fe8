%%% @doc SCAMP as first published: subscriptions, and recovery from isolation.
%%%
%%% Ganesh, Kermarrec, Massoulié, "SCAMP: peer-to-peer lightweight membership service for
%%% large-scale group communication", NGC 2001. Views settle near (c + 1) ln n; whoever leaves says
%%% goodbye, and a member that nobody holds any more subscribes again. {@link partisan_scamp} has
%%% the mechanisms, {@link partisan_overlay_scamp_v2} those of the later paper.
%%%
%%% The views are one-sided by design; the neighbours are those held and those holding.
-module(partisan_overlay_scamp_v1).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

%% The parameters are those of {@link partisan_scamp:options()}, each with a default.
-spec init(partisan_overlay:options()) -> {partisan_scamp:state(), [partisan_overlay:effect()]}.
init(Given) ->
    partisan_scamp:init(maps:merge(defaults(), Given)).

-spec handle(partisan_overlay:event(), State) -> {State, [partisan_overlay:effect()]} when
    State :: partisan_scamp:state().
handle(Event, State) ->
    partisan_scamp:handle(Event, State).

-spec neighbours(partisan_scamp:state()) -> [partisan_peer:t()].
neighbours(State) ->
    partisan_scamp:neighbours(State).

-spec passive(partisan_scamp:state()) -> [partisan_peer:t()].
passive(State) ->
    partisan_scamp:passive(State).

defaults() ->
    #{
        redundancy => 4,
        unsubscription => goodbye,
        indirection => 0,
        lease => infinity,
        heartbeat_interval => 5000,
        isolation => 3,
        sides => two_sided
    }.

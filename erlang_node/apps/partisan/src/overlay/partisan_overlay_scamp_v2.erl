%%% @doc SCAMP as revised: views that also shrink, subscriptions that expire, contacts by chance.
%%%
%%% Ganesh, Kermarrec, Massoulié, "Peer-to-peer membership management for gossip-based protocols",
%%% IEEE Transactions on Computers 52(2), 2003. To the first version it adds the unsubscription that
%%% has holders replace the leaver by members of its view, the lease of subscriptions, and the
%%% indirection that spreads contacts over the cluster. {@link partisan_scamp} has the mechanisms.
%%%
%%% The views are one-sided by design; the neighbours are those held and those holding.
-module(partisan_overlay_scamp_v2).
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
        unsubscription => replace,
        indirection => 8,
        % Ten minutes.
        lease => 120,
        heartbeat_interval => 5000,
        isolation => 3,
        sides => two_sided
    }.

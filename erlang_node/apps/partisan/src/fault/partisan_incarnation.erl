%%% @doc Gives every start of the runtime an incarnation of its own.
%%%
%%% Peers remember by incarnation what they have had of a node, and a runtime that starts numbers
%%% its messages from 1: in a new emulator, or again in the same one. So the latter is another
%%% incarnation as well, to its peers a restarted node: as Distributed Erlang, started again, has
%%% another `creation'.
%%%
%%% The first child of {@link partisan_sup}, since all others describe the node by it. No process.
-module(partisan_incarnation).

-export([start_link/0]).

%% @doc Stores an incarnation that this emulator has not used: the configured one at first.
-spec start_link() -> ignore.
start_link() ->
    {ok, #{incarnation := Configured} = Config} = partisan_config:changed(#{}),
    Incarnation = max(Configured, persistent_term:get(?MODULE, 0) + 1),
    ok = persistent_term:put(?MODULE, Incarnation),
    ok = partisan_config:store(Config#{incarnation := Incarnation}),
    ignore.

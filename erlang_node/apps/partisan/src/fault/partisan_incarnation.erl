%%% @doc Gives every start of the runtime its own incarnation.
%%%
%%% Peers keep state about a node by incarnation, and a runtime that starts, in a new emulator or
%%% again in the same one, numbers its messages from 1. So the latter is another incarnation as
%%% well, a restarted node to its peers, just as Distributed Erlang gets another `creation' when
%%% restarted.
%%%
%%% The first child of {@link partisan_sup}, since all others describe the node by it. Not a
%%% process.
-module(partisan_incarnation).

-export([start_link/0]).

%% @doc Stores an incarnation unused in this emulator, initially the configured one.
-spec start_link() -> ignore.
start_link() ->
    {ok, #{incarnation := Configured} = Config} = partisan_config:changed(#{}),
    Incarnation = max(Configured, persistent_term:get(?MODULE, 0) + 1),
    ok = persistent_term:put(?MODULE, Incarnation),
    ok = partisan_config:store(Config#{incarnation := Incarnation}),
    ignore.

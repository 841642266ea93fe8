%%% @doc Gives every start of the runtime its own incarnation.
%%%
%%% Peers keep state about a node by incarnation, and every start numbers its messages from 1. So a
%%% restart within the same emulator is another incarnation as well, as Distributed Erlang gets
%%% another `creation'.
%%%
%%% The first child of {@link partisan_sup}, since all others use it. Not a process.
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

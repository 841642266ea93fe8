%%% An event handler that records nothing.
-module(partisan_test_handler).
-behaviour(gen_event).

-export([init/1, handle_event/2, handle_call/2]).

init(State) -> {ok, State}.

handle_event(_Event, State) -> {ok, State}.

handle_call(_Request, State) -> {ok, ok, State}.

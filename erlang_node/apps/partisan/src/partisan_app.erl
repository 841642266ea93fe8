%%% @doc Starts the runtime, and leaves the overlay before it stops.
-module(partisan_app).

-behaviour(application).

-export([start/2]).
-export([prep_stop/1]).
-export([stop/1]).

%% @private
-spec start(application:start_type(), term()) -> {ok, pid()} | {error, term()}.
start(_Type, _Arguments) ->
    case partisan_environment:load() of
        ok -> secure();
        {error, _} = Error -> Error
    end.

%% @doc Announces at once to the neighbours that this node leaves, and flushes the queues.
-spec prep_stop(State) -> State.
prep_stop(State) ->
    ok = partisan_manager:leave(),
    State.

%% @private
-spec stop(term()) -> ok.
stop(_State) ->
    ok.

%% Internals.

secure() ->
    case partisan_tls:start() of
        ok -> partisan_sup:start_link();
        {error, _} = Error -> Error
    end.

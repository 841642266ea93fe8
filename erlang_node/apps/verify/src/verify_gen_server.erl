%%% @doc Interprets the callbacks of a hosted `gen_server' ({@link verify_hosted}).
-module(verify_gen_server).
-behaviour(verify_hosted).

-export([init/2]).
-export([handle/3]).
-export([state/1]).

%% The timer of `{noreply, State, Timeout}', which any event stops.
-define(TIMER, timeout).

-type state() :: {term(), HasTimer :: boolean()}.

%% @doc Starts the server.
-spec init(module(), Argument :: term()) -> {running, state()} | stopped.
init(Module, Argument) ->
    case called(fun() -> Module:init(Argument) end) of
        {ok, State} -> {running, {State, false}};
        {ok, State, Action} -> action(Action, Module, State);
        {stop, Reason} -> verify_hosted:stop(Reason);
        {error, Reason} -> verify_hosted:stop(Reason);
        ignore -> stopped;
        Other -> error({bad_return_value, Other})
    end.

%% @doc Handles an event.
-spec handle(verify_hosted:event(), module(), state()) -> {running, state()} | stopped.
handle(Event, Module, {State, HasTimer}) ->
    ok = stop_timer(HasTimer andalso Event =/= {timeout, ?TIMER}),
    result(called(fun() -> callback(Event, Module, State) end), Event, Module).

%% @doc The server's own state.
-spec state(state()) -> term().
state({State, _HasTimer}) ->
    State.

%% Internals.

%% A thrown term is a result.
called(Callback) ->
    try
        Callback()
    catch
        throw:Result -> Result
    end.

stop_timer(true) -> verify_effects:effect({cancel_timer, ?TIMER});
stop_timer(false) -> ok.

callback({{call, From}, Request}, Module, State) -> Module:handle_call(Request, From, State);
callback({cast, Request}, Module, State) -> Module:handle_cast(Request, State);
callback({info, Msg}, Module, State) -> info(Msg, Module, State);
callback({timeout, ?TIMER}, Module, State) -> info(timeout, Module, State);
callback({continue, Term}, Module, State) -> Module:handle_continue(Term, State).

info(Msg, Module, State) ->
    case erlang:function_exported(Module, handle_info, 2) of
        true -> Module:handle_info(Msg, State);
        % As `gen_server' does, apart from its warning.
        false -> {noreply, State}
    end.

result({reply, Answer, State}, {{call, From}, _}, _Module) ->
    ok = reply(From, Answer),
    {running, {State, false}};
result({reply, Answer, State, Action}, {{call, From}, _}, Module) ->
    ok = reply(From, Answer),
    action(Action, Module, State);
result({noreply, State}, _Event, _Module) ->
    {running, {State, false}};
result({noreply, State, Action}, _Event, Module) ->
    action(Action, Module, State);
result({stop, Reason, Answer, State}, {{call, From}, _}, Module) ->
    Stopped = stop(Reason, Module, State),
    ok = reply(From, Answer),
    Stopped;
result({stop, Reason, State}, _Event, Module) ->
    stop(Reason, Module, State);
result(Other, _Event, _Module) ->
    error({bad_return_value, Other}).

action({continue, _} = Event, Module, State) ->
    result(called(fun() -> callback(Event, Module, State) end), Event, Module);
action(Action, _Module, State) when Action =:= hibernate; Action =:= infinity ->
    {running, {State, false}};
action(Milliseconds, _Module, State) when is_integer(Milliseconds) ->
    ok = verify_effects:effect({start_timer, ?TIMER, Milliseconds}),
    {running, {State, true}}.

reply({_Client, Ref}, Answer) ->
    verify_effects:effect({reply, Ref, Answer}).

stop(Reason, Module, State) ->
    _ = erlang:function_exported(Module, terminate, 2) andalso
        called(fun() -> Module:terminate(Reason, State) end),
    verify_hosted:stop(Reason).

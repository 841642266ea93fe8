%%% @doc Interprets the callbacks and actions of a hosted `gen_statem' ({@link verify_hosted}).
%%%
%%% Events that the process inserts, and postponed ones after a change of state, are handled before
%%% the callback returns to the explorer, as `gen_statem' handles them before it receives.
-module(verify_gen_statem).
-behaviour(verify_hosted).

-export([init/2]).
-export([handle/3]).
-export([state/1]).

%% `{timeout, Name}' is a generic timer; `timeout' the one that any event stops.
-type timer() :: timeout | state_timeout | {timeout, Name :: term()}.
-type event() :: {Type :: term(), Content :: term()}.

-record(statem, {
    module :: module(),
    mode :: state_functions | handle_event_function,
    enters :: boolean(),
    state :: term(),
    data :: term(),
    timers = #{} :: #{timer() => Content :: term()},
    % Those that are due at once, oldest first.
    zero = [] :: [event()],
    % Newest first.
    postponed = [] :: [event()]
}).

%% What the actions of one transition ask for; `events' newest first.
-record(actions, {postpone = false :: boolean(), events = [] :: [event()]}).

-opaque t() :: #statem{}.
-export_type([t/0]).

%% @doc Starts the state machine.
-spec init(module(), Argument :: term()) -> {running, t()} | stopped.
init(Module, Argument) ->
    case called(fun() -> Module:init(Argument) end) of
        {ok, State, Data} -> started(Module, State, Data, []);
        {ok, State, Data, Actions} -> started(Module, State, Data, Actions);
        {stop, Reason} -> verify_hosted:stop(Reason);
        {error, Reason} -> verify_hosted:stop(Reason);
        ignore -> stopped;
        Other -> error({bad_return_from_init, Other})
    end.

%% @doc Handles an event.
-spec handle(verify_hosted:event(), module(), t()) -> {running, t()} | stopped.
handle({timeout, Timer}, _Module, #statem{timers = Timers} = S) ->
    {Content, Others} = maps:take(Timer, Timers),
    events([{Timer, Content}], S#statem{timers = Others});
handle(Event, _Module, S) ->
    events([Event], S).

%% @doc The state and the data of the machine.
-spec state(t()) -> {State :: term(), Data :: term()}.
state(#statem{state = State, data = Data}) ->
    {State, Data}.

%% Internals: transitions.

called(Callback) ->
    try
        Callback()
    catch
        throw:Result -> Result
    end.

started(Module, State, Data, Actions) ->
    Modes = lists:flatten([Module:callback_mode()]),
    [Mode] = Modes -- [state_enter],
    S = #statem{
        module = Module,
        mode = Mode,
        enters = lists:member(state_enter, Modes),
        state = State,
        data = Data
    },
    entered(State, list(Actions), #actions{}, none, [], S).

events([], #statem{zero = []} = S) ->
    {running, S};
events([], #statem{zero = [Event | Zero]} = S) ->
    events([Event], S#statem{zero = Zero});
events([Event | Queue], S0) ->
    S = cancel(timeout, S0),
    transition(callback(Event, S), Event, Queue, S).

callback({Type, Content}, #statem{module = Module, mode = Mode, state = State, data = Data}) ->
    called(fun() ->
        case Mode of
            state_functions -> Module:State(Type, Content, Data);
            handle_event_function -> Module:handle_event(Type, Content, State, Data)
        end
    end).

transition(Result, Event, Queue, #statem{state = State} = S) ->
    case Result of
        {next_state, Next, Data} -> next(Next, Data, [], Event, Queue, S);
        {next_state, Next, Data, Actions} -> next(Next, Data, Actions, Event, Queue, S);
        {keep_state, Data} -> next(State, Data, [], Event, Queue, S);
        {keep_state, Data, Actions} -> next(State, Data, Actions, Event, Queue, S);
        keep_state_and_data -> next(State, S#statem.data, [], Event, Queue, S);
        {keep_state_and_data, Actions} -> next(State, S#statem.data, Actions, Event, Queue, S);
        {repeat_state, Data} -> repeat(Data, [], Event, Queue, S);
        {repeat_state, Data, Actions} -> repeat(Data, Actions, Event, Queue, S);
        repeat_state_and_data -> repeat(S#statem.data, [], Event, Queue, S);
        {repeat_state_and_data, Actions} -> repeat(S#statem.data, Actions, Event, Queue, S);
        _ -> stop(Result, S)
    end.

next(State, Data, Actions, Event, Queue, #statem{state = State} = S) ->
    done(list(Actions), #actions{}, Event, Queue, false, S#statem{data = Data});
next(Next, Data, Actions, Event, Queue, #statem{state = Previous} = S0) ->
    S = cancel(state_timeout, S0#statem{state = Next, data = Data}),
    entered(Previous, list(Actions), #actions{}, Event, Queue, S).

repeat(Data, Actions, Event, Queue, #statem{state = State} = S) ->
    entered(State, list(Actions), #actions{}, Event, Queue, S#statem{data = Data}).

%% The actions of the transition come before those of entering the state.
entered(Previous, Actions, Asked, Event, Queue, #statem{enters = false, state = State} = S) ->
    done(Actions, Asked, Event, Queue, Previous =/= State, S);
entered(Previous, Actions, Asked0, Event, Queue, #statem{state = State} = S0) ->
    {Asked, S} = actions(Actions, Event, Asked0, S0),
    Changed = Previous =/= State,
    case callback({enter, Previous}, S) of
        {next_state, State, Data} -> enter(Data, [], Asked, Event, Queue, Changed, S);
        {next_state, State, Data, More} -> enter(Data, More, Asked, Event, Queue, Changed, S);
        {keep_state, Data} -> enter(Data, [], Asked, Event, Queue, Changed, S);
        {keep_state, Data, More} -> enter(Data, More, Asked, Event, Queue, Changed, S);
        keep_state_and_data -> enter(S#statem.data, [], Asked, Event, Queue, Changed, S);
        {keep_state_and_data, More} ->
            enter(S#statem.data, More, Asked, Event, Queue, Changed, S);
        {repeat_state, Data} -> entered(State, [], Asked, Event, Queue, S#statem{data = Data});
        {repeat_state, Data, More} ->
            entered(State, list(More), Asked, Event, Queue, S#statem{data = Data});
        Other -> stop(Other, S)
    end.

enter(Data, Actions, Asked, Event, Queue, Changed, S) ->
    done(list(Actions), Asked, Event, Queue, Changed, S#statem{data = Data}).

%% Inserted events come first, then postponed ones if the state has changed.
done(Actions, Asked0, Event, Queue, Changed, S0) ->
    {#actions{postpone = Postpone, events = Inserted}, S1} = actions(Actions, Event, Asked0, S0),
    Postponed = [Event || Postpone] ++ S1#statem.postponed,
    {Retried, S} =
        case Changed of
            true -> {lists:reverse(Postponed), S1#statem{postponed = []}};
            false -> {[], S1#statem{postponed = Postponed}}
        end,
    events(lists:reverse(Inserted) ++ Retried ++ Queue, S).

%% Internals: actions.

list(Actions) when is_list(Actions) -> Actions;
list(Action) -> [Action].

actions(Actions, Event, Asked, S) ->
    lists:foldl(fun(Action, {A, Acc}) -> action(Action, Event, A, Acc) end, {Asked, S}, Actions).

action(postpone, Event, Asked, S) -> action({postpone, true}, Event, Asked, S);
action({postpone, Postpone}, _Event, Asked, S) -> {Asked#actions{postpone = Postpone}, S};
action({next_event, Type, Content}, _Event, #actions{events = Events} = Asked, S) ->
    {Asked#actions{events = [{Type, Content} | Events]}, S};
action({reply, {_Client, Ref}, Answer}, _Event, Asked, S) ->
    ok = verify_effects:effect({reply, Ref, Answer}),
    {Asked, S};
action(hibernate, _Event, Asked, S) -> {Asked, S};
action({hibernate, _}, _Event, Asked, S) -> {Asked, S};
action(Time, _Event, Asked, S) when is_integer(Time); Time =:= infinity ->
    {Asked, timer(timeout, Time, Time, [], S)};
action({Timer, cancel}, _Event, Asked, S) -> {Asked, cancel(Timer, S)};
action({Timer, update, Content}, _Event, Asked, #statem{timers = Timers} = S) ->
    case is_map_key(Timer, Timers) of
        true -> {Asked, S#statem{timers = Timers#{Timer := Content}}};
        false -> {Asked, timer(Timer, 0, Content, [], S)}
    end;
action({Timer, Time, Content}, _Event, Asked, S) ->
    {Asked, timer(Timer, Time, Content, [], S)};
action({Timer, Time, Content, Options}, _Event, Asked, S) ->
    {Asked, timer(Timer, Time, Content, list(Options), S)};
action(Action, _Event, _Asked, _S) -> error({bad_action_from_state_function, Action}).

timer(Timer, infinity, _Content, _Options, S) ->
    cancel(Timer, S);
timer(Timer, Time, Content, Options, S0) ->
    S = cancel(Timer, S0),
    case proplists:get_bool(abs, Options) of
        true -> start(Timer, max(0, Time - verify_effects:now()), Content, S);
        false -> start(Timer, Time, Content, S)
    end.

start(Timer, 0, Content, #statem{zero = Zero} = S) ->
    S#statem{zero = Zero ++ [{Timer, Content}]};
start(Timer, Time, Content, #statem{timers = Timers} = S) ->
    ok = verify_effects:effect({start_timer, Timer, Time}),
    S#statem{timers = Timers#{Timer => Content}}.

cancel(Timer, #statem{timers = Timers} = S) when is_map_key(Timer, Timers) ->
    ok = verify_effects:effect({cancel_timer, Timer}),
    S#statem{timers = maps:remove(Timer, Timers)};
cancel(Timer, #statem{zero = Zero} = S) ->
    S#statem{zero = lists:keydelete(Timer, 1, Zero)}.

%% Internals: the end.

stop(stop, S) -> terminate(normal, S);
stop({stop, Reason}, S) -> terminate(Reason, S);
stop({stop, Reason, Data}, S) -> terminate(Reason, S#statem{data = Data});
stop({stop_and_reply, Reason, Replies}, S) -> stop_and_reply(Reason, Replies, S);
stop({stop_and_reply, Reason, Replies, Data}, S) ->
    stop_and_reply(Reason, Replies, S#statem{data = Data});
stop(Other, _S) -> error({bad_return_from_state_function, Other}).

stop_and_reply(Reason, Replies, S) ->
    {_, _} = actions(list(Replies), none, #actions{}, S),
    terminate(Reason, S).

terminate(Reason, #statem{module = Module, state = State, data = Data}) ->
    _ = erlang:function_exported(Module, terminate, 3) andalso
        called(fun() -> Module:terminate(Reason, State, Data) end),
    verify_hosted:stop(Reason).

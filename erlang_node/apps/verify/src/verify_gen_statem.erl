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

%% What the actions of one transition ask for; `events' and `timers' newest first.
-record(actions, {
    postpone = false :: boolean(),
    events = [] :: [event()],
    timers = [] :: [{timer(), Time :: term(), Content :: term(), Options :: list()}]
}).

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
entered(Previous, Actions, Asked0, Event, Queue, #statem{state = State} = S) ->
    Asked = actions(Actions, Event, Asked0),
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
    #actions{events = Inserted} = Asked = actions(Actions, Event, Asked0),
    S1 = timers(Asked, S0),
    Postponed = [Event || Asked#actions.postpone] ++ S1#statem.postponed,
    {Retried, S} =
        case Changed of
            true -> {lists:reverse(Postponed), S1#statem{postponed = []}};
            false -> {[], S1#statem{postponed = Postponed}}
        end,
    events(lists:reverse(Inserted) ++ Retried ++ Queue, S).

%% Internals: actions.

list(Actions) when is_list(Actions) -> Actions;
list(Action) -> [Action].

actions(Actions, Event, Asked) ->
    lists:foldl(fun(Action, Acc) -> action(Action, Event, Acc) end, Asked, Actions).

action(postpone, Event, Asked) -> action({postpone, true}, Event, Asked);
action({postpone, Postpone}, _Event, Asked) -> Asked#actions{postpone = Postpone};
action({next_event, Type, Content}, _Event, #actions{events = Events} = Asked) ->
    Asked#actions{events = [{Type, Content} | Events]};
action({reply, {_Client, Ref}, Answer}, _Event, Asked) ->
    ok = verify_effects:effect({reply, Ref, Answer}),
    Asked;
action(hibernate, _Event, Asked) -> Asked;
action({hibernate, _}, _Event, Asked) -> Asked;
action(Time, _Event, Asked) when is_integer(Time); Time =:= infinity ->
    asked({timeout, Time, Time, []}, Asked);
action({Timer, cancel}, _Event, Asked) -> asked({Timer, infinity, none, []}, Asked);
action({Timer, Time, Content}, _Event, Asked) -> asked({Timer, Time, Content, []}, Asked);
action({Timer, Time, Content, Options}, _Event, Asked) ->
    asked({Timer, Time, Content, list(Options)}, Asked);
action(Action, _Event, _Asked) -> error({bad_action_from_state_function, Action}).

asked(Timer, #actions{timers = Timers} = Asked) ->
    Asked#actions{timers = [Timer | Timers]}.

%% Of several actions on one timer the last one counts.
timers(#actions{timers = Timers}, S) ->
    lists:foldr(fun timer/2, S, last_of_each(Timers)).

last_of_each([]) -> [];
last_of_each([Timer | Before]) ->
    Others = [Other || Other <- Before, element(1, Other) =/= element(1, Timer)],
    [Timer | last_of_each(Others)].

timer({Timer, infinity, _Content, _Options}, S) ->
    cancel(Timer, S);
timer({Timer, update, Content, _Options}, #statem{timers = Timers, zero = Zero} = S) ->
    case {is_map_key(Timer, Timers), lists:keymember(Timer, 1, Zero)} of
        {true, _} -> S#statem{timers = Timers#{Timer := Content}};
        {_, true} -> S#statem{zero = lists:keyreplace(Timer, 1, Zero, {Timer, Content})};
        _ -> start(Timer, 0, Content, S)
    end;
timer({Timer, Time, Content, Options}, S) ->
    case proplists:get_bool(abs, Options) of
        true -> start(Timer, max(0, Time - verify_effects:now()), Content, cancel(Timer, S));
        false -> start(Timer, Time, Content, cancel(Timer, S))
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
    #actions{} = actions(list(Replies), none, #actions{}),
    terminate(Reason, S).

terminate(Reason, #statem{module = Module, state = State, data = Data}) ->
    _ = erlang:function_exported(Module, terminate, 3) andalso
        called(fun() -> Module:terminate(Reason, State, Data) end),
    verify_hosted:stop(Reason).

%%% @doc A `gen_statem' that does what a program says, and logs its events; until its fuel is used.
-module(verify_test_statem).
-behaviour(gen_statem).

-export([start/1, init/1, callback_mode/0, handle_event/4]).

%% The program: what to do in a state after an event.
start(Program) ->
    gen_statem:start(?MODULE, Program, []).

callback_mode() ->
    [handle_event_function, state_enter].

init(Program) ->
    {ok, a, #{program => Program, log => [], fuel => 40}}.

handle_event(Type, Content, State, #{program := Program, log := Log, fuel := Fuel} = Data0) ->
    Data = Data0#{log := [{State, Type, Content} | Log], fuel := max(0, Fuel - 1)},
    Key =
        case Type of
            enter -> {State, enter};
            _ -> {State, Type, Content}
        end,
    case Program of
        #{Key := {keep, Actions}} when Fuel > 0 -> {keep_state, Data, Actions};
        #{Key := {repeat, Actions}} when Fuel > 0 -> {repeat_state, Data, Actions};
        #{Key := {Next, Actions}} when Fuel > 0 -> {next_state, Next, Data, Actions};
        #{} -> {keep_state, Data}
    end.

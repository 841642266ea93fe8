%%% A state machine with the same requests as the server of the cases.
-module(comparison_statem).
-behaviour(gen_statem).

-export([init/1, callback_mode/0, handle_event/4]).

init([]) ->
    {ok, closed, []}.

callback_mode() ->
    handle_event_function.

handle_event({call, From}, {echo, Term}, _State, _Data) ->
    {keep_state_and_data, {reply, From, Term}};
handle_event({call, From}, state, State, _Data) ->
    {keep_state_and_data, {reply, From, State}};
handle_event({call, From}, seen, _State, Data) ->
    {keep_state_and_data, {reply, From, lists:reverse(Data)}};
handle_event({call, From}, {go, Next}, _State, Data) ->
    {next_state, Next, Data, {reply, From, Next}};
%% Answered when it is open.
handle_event({call, _From}, enter, closed, _Data) ->
    {keep_state_and_data, postpone};
handle_event({call, From}, enter, open, _Data) ->
    {keep_state_and_data, {reply, From, entered}};
handle_event({call, _From}, keep, _State, _Data) ->
    keep_state_and_data;
handle_event({call, _From}, {stop, Reason}, _State, _Data) ->
    {stop, Reason};
handle_event({call, From}, {stop, Reason, Reply}, _State, _Data) ->
    {stop_and_reply, Reason, {reply, From, Reply}};
handle_event({call, _From}, {error, Reason}, _State, _Data) ->
    error(Reason);
handle_event({call, _From}, kill, _State, _Data) ->
    exit(self(), kill),
    keep_state_and_data;
handle_event(cast, {go, Next}, _State, Data) ->
    {next_state, Next, Data};
handle_event(_, Message, _State, Data) ->
    {keep_state, [Message | Data]}.

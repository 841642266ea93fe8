%%% @doc Two-phase commit of one transaction as an ordinary `gen_statem', with the messages and
%%% timeouts of {@link two_phase_commit}: a state for each step of the coordinator, and the
%%% participant's part in the data.
-module(hosted_commit_statem).
-behaviour(gen_statem).

-export([start_link/1, broadcast/1]).
-export([init/1, callback_mode/0, idle/3, preparing/3, decided/3]).
%% For the explorer.
-export([scenario/1, verdict/1, symmetry/1]).

-define(TIMEOUT, 1000).

-record(data, {
    client = none :: none | gen_statem:from(),
    missing = [] :: [partisan_peer:name()],
    participant = unknown :: unknown | prepared | committed | aborted,
    value :: term()
}).

start_link(Argument) ->
    gen_statem:start_link({local, ?MODULE}, ?MODULE, Argument, []).

broadcast(Value) ->
    gen_statem:call(?MODULE, {broadcast, Value}).

callback_mode() ->
    [state_functions, state_enter].

init(_Argument) ->
    {ok, idle, #data{}}.

idle(enter, idle, _Data) ->
    keep_state_and_data;
idle({call, From}, {broadcast, Value}, Data) ->
    Next = Data#data{client = From, missing = partisan:members(), value = Value},
    {next_state, preparing, Next};
idle(cast, Message, Data) ->
    participate(Message, Data).

preparing(enter, idle, #data{value = Value}) ->
    ok = to_all({prepare, partisan:node(), Value}),
    {keep_state_and_data, {state_timeout, ?TIMEOUT, give_up}};
preparing({call, _From}, _Request, _Data) ->
    {keep_state_and_data, postpone};
preparing(cast, {prepared, From}, #data{client = Client, missing = [From]} = Data) ->
    {next_state, decided, Data#data{missing = []}, [
        {reply, Client, {ok, 1}}, {next_event, internal, commit}
    ]};
preparing(cast, {prepared, From}, #data{missing = Missing} = Data) ->
    {keep_state, Data#data{missing = lists:delete(From, Missing)}};
preparing(state_timeout, give_up, #data{client = Client} = Data) ->
    {next_state, decided, Data, [{reply, Client, {error, 1}}, {next_event, internal, abort}]};
preparing(cast, Message, Data) ->
    participate(Message, Data).

decided(enter, preparing, _Data) ->
    keep_state_and_data;
decided(internal, Decision, _Data) ->
    ok = to_all({Decision, partisan:node()}),
    keep_state_and_data;
decided(cast, Message, Data) ->
    participate(Message, Data).

participate({prepare, From, Value}, #data{participant = unknown} = Data) ->
    ok = to(From, {prepared, partisan:node()}),
    {keep_state, Data#data{participant = prepared, value = Value}};
participate({prepare, From, _Value}, #data{participant = prepared}) ->
    ok = to(From, {prepared, partisan:node()}),
    keep_state_and_data;
participate({commit, From}, Data) ->
    ok = to(From, commit_ack),
    {keep_state, decide(committed, Data)};
participate({abort, From}, Data) ->
    ok = to(From, abort_ack),
    {keep_state, decide(aborted, Data)};
participate(_Message, _Data) ->
    keep_state_and_data.

decide(_Decision, #data{participant = Participant} = Data) when
    Participant =:= committed; Participant =:= aborted
->
    Data;
decide(Decision, Data) ->
    Data#data{participant = Decision}.

to(Node, Message) ->
    partisan:cast({?MODULE, Node}, Message).

to_all(Message) ->
    lists:foreach(fun(Node) -> ok = to(Node, Message) end, partisan:members()).

%% For the explorer.

scenario(Members) ->
    hosted_commit_server:scenario(Members).

verdict(#{states := States} = Outcome) ->
    Delivered = maps:map(fun(_Name, {_State, #data{participant = Participant, value = Value}}) ->
        [{1, Value} || Participant =:= committed]
    end, States),
    atomic_commit:verdict(Outcome#{delivered := Delivered}).

symmetry(Members) ->
    atomic_commit:symmetry(Members).

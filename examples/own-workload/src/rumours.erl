%%% @doc Rumours: every node starts one, and asks neighbours until it has heard those of all others.
%%%
%%% An example of your own workload: a module of behaviour {@link workload}, here a `gen_server'.
%%%
%%% An incomplete node asks one random neighbour per interval. The question has the rumours that the
%%% node has heard, the answer those that it lacks. Each node hears all rumours in the end, despite
%%% lost messages, restarted nodes and changed overlays: the next question repairs them. A question
%%% also has the start of the run, so that it is enough to start it on one node.
-module(rumours).
-behaviour(gen_server).
-behaviour(workload).

%% workload.
-export([child_specs/1, parameters/0, start/1, status/0, members/1]).
%% For the supervisor.
-export([start_link/1]).
%% gen_server.
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-type state() :: #{
    run := binary(),
    name := partisan_peer:name(),
    members := [partisan_peer:name()],
    channel := atom(),
    interval := pos_integer(),
    words := binary(),
    phase := waiting | running | finished,
    heard := #{partisan_peer:name() => binary()},
    started_at := null | float(),
    finished_at := null | float()
}.

%% workload.

%% @private
-spec child_specs(workload:options()) -> [supervisor:child_spec()].
child_specs(Options) ->
    [#{id => ?MODULE, start => {?MODULE, start_link, [Options]}}].

%% @doc `interval': milliseconds between two questions of a node. `words': the text of its rumour.
-spec parameters() -> #{atom() => workload:kind_of_parameter()}.
parameters() ->
    #{interval => {positive_integer, 500}, words => {text, <<"have you heard?">>}}.

%% @doc Start to ask, on this node; its questions start the others.
-spec start(Run :: binary()) -> ok | {error, iodata()}.
start(Run) ->
    gen_server:call(?MODULE, {start, Run}).

%% @doc Status for the operator: how many rumours were heard, of how many.
-spec status() -> workload:status().
status() ->
    gen_server:call(?MODULE, status).

%% @doc Change the members of the cluster, whose rumours are expected.
-spec members([partisan_peer:name()]) -> ok.
members(Names) ->
    gen_server:call(?MODULE, {members, Names}).

%% @private
-spec start_link(workload:options()) -> {ok, pid()} | {error, term()}.
start_link(Options) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Options, []).

%% gen_server.

%% @private
-spec init(workload:options()) -> {ok, state()}.
init(#{parameters := Parameters} = Options) ->
    ok = partisan_metrics:new(gauge, rumours_heard, "Rumours that this node has heard.", []),
    ok = partisan_metrics:new(counter, rumours_messages_total, "Messages sent.", [kind]),
    State = (maps:merge(maps:with([run, name, members, channel], Options), Parameters))#{
        phase => waiting, heard => #{}, started_at => null, finished_at => null
    },
    {ok, later(State)}.

%% @private
-spec handle_call(term(), gen_server:from(), state()) -> {reply, term(), state()}.
handle_call({start, Run}, _From, #{run := Run} = State) ->
    {reply, ok, begun(State)};
handle_call({start, _Other}, _From, #{run := Run} = State) ->
    {reply, {error, ["this node runs ", Run]}, State};
handle_call({members, Names}, _From, State) ->
    {reply, ok, settled(State#{members := Names})};
handle_call(status, _From, State) ->
    {reply, report(State), State}.

%% @private
-spec handle_cast(term(), state()) -> {noreply, state()}.
handle_cast(_Unexpected, State) ->
    {noreply, State}.

%% @private
%% Messages from other nodes arrive as they were sent. Those of another run are ignored: while pods
%% are replaced for another workload, nodes of both are in the overlay.
-spec handle_info(term(), state()) -> {noreply, state()}.
handle_info(ask, State) ->
    ok = ask(State),
    {noreply, later(State)};
handle_info({question, Run, From, HasBegun, Theirs}, #{run := Run} = State) ->
    Next = heard(HasBegun, Theirs, State),
    ok = answer(From, Theirs, Next),
    {noreply, Next};
handle_info({answer, Run, Theirs}, #{run := Run} = State) ->
    {noreply, heard(true, Theirs, State)};
handle_info(_OfAnotherRun, State) ->
    {noreply, State}.

%% Internals: talking to neighbours.

later(#{interval := Interval} = State) ->
    _ = erlang:send_after(Interval, self(), ask),
    State.

ask(#{phase := finished}) ->
    ok;
ask(#{run := Run, name := Name, phase := Phase, heard := Heard} = State) ->
    case partisan:neighbours() of
        [] ->
            ok;
        Neighbours ->
            One = lists:nth(rand:uniform(length(Neighbours)), Neighbours),
            send(One, {question, Run, Name, Phase =/= waiting, Heard}, State)
    end.

answer(_From, _Theirs, #{phase := waiting}) ->
    ok;
answer(From, Theirs, #{run := Run, heard := Heard} = State) ->
    send(From, {answer, Run, maps:without(maps:keys(Theirs), Heard)}, State).

%% The next question repairs what a full channel or a lost neighbour drops.
send(Node, Message, #{channel := Channel}) ->
    _ = partisan:forward(Node, ?MODULE, Message, #{channel => Channel, on_busy => drop}),
    partisan_metrics:inc(rumours_messages_total, [element(1, Message)]).

%% Internals: what has been heard.

heard(false, _Nothing, State) ->
    State;
heard(true, Theirs, State) ->
    #{heard := Heard} = Begun = begun(State),
    settled(Begun#{heard := maps:merge(Theirs, Heard)}).

begun(#{phase := waiting, name := Name, words := Words} = State) ->
    settled(State#{phase := running, heard := #{Name => Words}, started_at := now_in_seconds()});
begun(State) ->
    State.

settled(#{phase := waiting} = State) ->
    State;
settled(#{members := Members, phase := Phase} = State) ->
    Count = count(State),
    ok = partisan_metrics:set(rumours_heard, [], Count),
    case Count =:= length(Members) of
        true when Phase =:= running ->
            State#{phase := finished, finished_at := now_in_seconds()};
        true ->
            State;
        false ->
            State#{phase := running, finished_at := null}
    end.

count(#{members := Members, heard := Heard}) ->
    map_size(maps:with(Members, Heard)).

report(#{members := Members, phase := Phase, heard := Heard} = State) ->
    (maps:with([run, phase, started_at, finished_at], State))#{
        kind => ?MODULE,
        value => count(State),
        threshold => length(Members),
        converged => Phase =:= finished,
        % Equal on two nodes exactly when they have heard the same.
        digest => integer_to_binary(erlang:phash2(maps:with(Members, Heard)), 16)
    }.

now_in_seconds() ->
    erlang:system_time(microsecond) / 1.0e6.

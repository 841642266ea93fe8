%%% @doc The subscribers of this node, and the topics of all nodes: runs {@link partisan_topics}.
%%%
%%% == Bounds ==
%%% A subscriber with more than `mailbox_messages' waiting misses messages, which is counted
%%% (`busy'). This process never blocks, since two of them could wait for each other: steps that
%%% find no room wait in {@link partisan_pubsub_steps}, and with them their publishers.
%%%
%%% Longer than 300 lines: one process, with the API that calls it.
-module(partisan_pubsub).

-behaviour(gen_server).

-export([start_link/0]).
-export([subscribe/2]).
-export([unsubscribe/2]).
-export([publish/2]).
-export([subscribers/1]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% Timeout of a step of the tree, after which its node is skipped.
-define(STEP_TIMEOUT, 10000).
%% Milliseconds before another attempt when there was no room and no acknowledgement comes first.
-define(RETRY, 50).

%% The longest name.
-define(NAME_BYTES, 255).

-record(state, {
    topics :: partisan_topics:t(),
    steps = partisan_pubsub_steps:new() :: partisan_pubsub_steps:t(),
    retrying = false :: boolean(),
    pids = #{} :: #{pid() => {reference(), [partisan_topics:topic()]}},
    subscribers = #{} :: #{partisan_topics:topic() => [pid()]}
}).

%% @doc Starts the process.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Subscribes a process of this node to a topic.
-spec subscribe(partisan_topics:topic(), pid()) -> ok.
subscribe(Topic, Pid) when node(Pid) =:= node() ->
    gen_server:call(?MODULE, {subscribe, Topic, Pid}, infinity).

%% @doc Ends a process's subscription to a topic.
-spec unsubscribe(partisan_topics:topic(), pid()) -> ok.
unsubscribe(Topic, Pid) ->
    gen_server:call(?MODULE, {unsubscribe, Topic, Pid}, infinity).

%% @doc Publishes to all subscribers known here.
-spec publish(partisan_topics:topic(), Message :: term()) ->
    ok | {error, {too_large, Bytes :: pos_integer()}}.
publish(Topic, Message) ->
    % With the largest numbers, and without the names of the nodes to reach.
    Last = 1 bsl 64 - 1,
    Self = partisan:node(),
    Step = envelope({publish, {Self, Last, Last}, Topic, Message, []}),
    Bytes = partisan_ack_stream:bytes({Self, default, 65535}, ?MODULE, Step, none),
    gen_server:call(?MODULE, {publish, Topic, Message, Bytes}, infinity).

%% @doc The nodes known to subscribe.
-spec subscribers(partisan_topics:topic()) -> [partisan_peer:name()].
subscribers(Topic) ->
    gen_server:call(?MODULE, {subscribers, Topic}, infinity).

%% gen_server.

%% @private
-spec init([]) -> {ok, #state{}}.
init([]) ->
    process_flag(message_queue_data, off_heap),
    ok = partisan_manager:subscribe(self()),
    ok = compare_later(),
    Topics = partisan_topics:new(partisan_config:get(name), partisan_config:get(incarnation)),
    {ok, #state{topics = Topics}}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) ->
    {reply, term(), #state{}} | {noreply, #state{}}.
handle_call({subscribe, Topic, Pid}, _From, State) ->
    {reply, ok, add(Topic, Pid, State)};
handle_call({unsubscribe, Topic, Pid}, _From, State) ->
    {reply, ok, remove(Topic, Pid, State)};
handle_call({publish, Topic, Message, Bytes}, From, #state{topics = Topics} = State) ->
    Limit = partisan_config:get(message_bytes),
    Names = partisan_topics:subscribers(Topic, Topics),
    % A step carries the names of some of them, each with five bytes of framing, and is forwarded by
    % nodes whose names may be longer than ours.
    case Bytes + 3 * ?NAME_BYTES + lists:sum([5 + byte_size(Name) || Name <- Names]) of
        Total when Total =< Limit ->
            {noreply, publish(From, partisan_topics:publish(Topic, Message, Topics), State)};
        Total ->
            {reply, {error, {too_large, Total}}, State}
    end;
handle_call({subscribers, Topic}, _From, #state{topics = Topics} = State) ->
    {reply, partisan_topics:subscribers(Topic, Topics), State};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info({?MODULE, From, Message}, #state{topics = Topics} = State) ->
    try partisan_topics:message(From, Message, Topics) of
        Heard -> {noreply, run(Heard, State)}
    catch
        % From a faulty member: the topics are a value, and stay unchanged.
        error:_ ->
            ok = partisan_stray:message(Message),
            {noreply, State}
    end;
handle_info({partisan, {acknowledged, Tag, Outcome}}, #state{topics = Topics} = State) ->
    Node = partisan_topics:node_of(Tag, Topics),
    Ended = ended(Tag, Outcome, State),
    % That may have made room.
    {noreply, lists:foldl(fun retry/2, Ended, [Name || {ok, Name} <- [Node]])};
handle_info(retry, #state{steps = Steps0} = State0) ->
    {Late, Steps} = partisan_pubsub_steps:late(now_ms(), Steps0),
    State1 = lists:foldl(
        fun(Tag, S) -> ended(Tag, {error, timeout}, S) end,
        State0#state{steps = Steps, retrying = false},
        Late
    ),
    State = lists:foldl(fun retry/2, State1, partisan_pubsub_steps:waiting_for(State1#state.steps)),
    case partisan_pubsub_steps:waiting_for(State#state.steps) of
        [] -> {noreply, State};
        _ -> {noreply, retry_later(State)}
    end;
handle_info({partisan, {neighbour_up, Name}}, #state{topics = Topics} = State) ->
    {noreply, run(partisan_topics:neighbour_up(Name, Topics), State)};
handle_info({partisan, {neighbour_down, Name}}, #state{topics = Topics} = State) ->
    {noreply, State#state{topics = partisan_topics:neighbour_down(Name, Topics)}};
handle_info(tick, #state{topics = Topics} = State) ->
    ok = compare_later(),
    {noreply, run(partisan_topics:tick(Topics), State)};
handle_info({'DOWN', _, process, Pid, _}, #state{pids = Pids} = State) ->
    {_, Topics} = maps:get(Pid, Pids, {none, []}),
    {noreply, lists:foldl(fun(Topic, S) -> remove(Topic, Pid, S) end, State, Topics)};
handle_info({partisan, dissolved}, State) ->
    {noreply, State};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals.

%% Subscriptions are compared with a neighbour once per heartbeat interval: a lost message is
%% repaired about as fast as a lost neighbour is noticed.
compare_later() ->
    _ = erlang:send_after(partisan_config:get(heartbeat_interval), self(), tick),
    ok.

add(Topic, Pid, #state{pids = Pids, subscribers = Subscribers, topics = Topics} = State) ->
    {Monitor, Theirs} =
        case Pids of
            #{Pid := Known} -> Known;
            #{} -> {monitor(process, Pid), []}
        end,
    Present = maps:get(Topic, Subscribers, []),
    Added = State#state{
        pids = Pids#{Pid => {Monitor, lists:usort([Topic | Theirs])}},
        subscribers = Subscribers#{Topic => lists:usort([Pid | Present])}
    },
    case Present of
        [] -> run(partisan_topics:subscribe(Topic, Topics), Added);
        _ -> Added
    end.

remove(Topic, Pid, #state{pids = Pids, subscribers = Subscribers, topics = Topics} = State) ->
    case maps:get(Topic, Subscribers, []) of
        [Pid] ->
            Last = State#state{
                pids = forget(Topic, Pid, Pids), subscribers = maps:remove(Topic, Subscribers)
            },
            run(partisan_topics:unsubscribe(Topic, Topics), Last);
        Present ->
            Others = lists:delete(Pid, Present),
            case Others of
                Present ->
                    State;
                _ ->
                    State#state{
                        pids = forget(Topic, Pid, Pids),
                        subscribers = Subscribers#{Topic := Others}
                    }
            end
    end.

forget(Topic, Pid, Pids) ->
    #{Pid := {Monitor, Theirs}} = Pids,
    case lists:delete(Topic, Theirs) of
        [] ->
            true = demonitor(Monitor, [flush]),
            maps:remove(Pid, Pids);
        Others ->
            Pids#{Pid := {Monitor, Others}}
    end.

run({Topics, Effects}, State0) ->
    lists:foldl(fun effect/2, State0#state{topics = Topics}, Effects).

effect({send, Node, Message}, State) ->
    % To neighbours only: it is not worth a search through the whole cluster. A loss shows in the
    % next comparison.
    _ = send(Node, Message, #{on_busy => drop, ttl => 0, ack => false}),
    State;
effect({send, Node, Message, Tag}, State) ->
    step(Tag, Node, Message, none, State);
effect({deliver, Topic, Message}, #state{subscribers = Subscribers} = State) ->
    {ok, Channel} = partisan_channel:find(default),
    lists:foreach(
        fun(Pid) ->
            case partisan_mailbox:is_congested(Pid) of
                true ->
                    partisan_channel:dropped(Channel, busy);
                false ->
                    Pid ! {partisan, {published, Topic, Message}},
                    ok
            end
        end,
        maps:get(Topic, Subscribers, [])
    ),
    State.

send(Node, Message, Options) ->
    partisan:transmit(Node, ?MODULE, envelope(Message), Options#{partition_key => ?MODULE}).

envelope(Message) ->
    {?MODULE, partisan:node(), Message}.

%% Internals: the steps of the trees.

%% The publisher is answered when its own steps have found room.
publish(From, {Topics, Effects}, #state{steps = Steps} = State) ->
    Held = State#state{topics = Topics, steps = partisan_pubsub_steps:hold(From, Steps)},
    Published = lists:foldl(
        fun
            ({send, Node, Message, Tag}, S) -> step(Tag, Node, Message, From, S);
            (Effect, S) -> effect(Effect, S)
        end,
        Held,
        Effects
    ),
    Published#state{steps = partisan_pubsub_steps:release(From, Published#state.steps)}.

%% In order: behind those that wait for the same node.
step(Tag, Node, Message, Publisher, #state{steps = Steps} = State) ->
    case partisan_pubsub_steps:first(Node, Steps) of
        {ok, _} -> wait(Tag, Node, Message, Publisher, State);
        none -> try_step(Tag, Node, Message, Publisher, State)
    end.

try_step(Tag, Node, Message, Publisher, State) ->
    case take(Tag, Node, Message) of
        ok -> State;
        {error, busy} -> wait(Tag, Node, Message, Publisher, State);
        Error -> ended(Tag, Error, State)
    end.

take(Tag, Node, Message) ->
    send(Node, Message, #{ack => {notify, Tag}, timeout => ?STEP_TIMEOUT, on_busy => error}).

wait(Tag, Node, Message, Publisher, #state{steps = Steps0} = State) ->
    Step = {Tag, Message, Publisher, now_ms() + ?STEP_TIMEOUT},
    case partisan_pubsub_steps:add(Node, Step, Steps0) of
        {ok, Steps} ->
            retry_later(State#state{steps = Steps});
        full ->
            {ok, Channel} = partisan_channel:find(default),
            ok = partisan_channel:dropped(Channel, busy),
            run(partisan_topics:outcome(Tag, refused, State#state.topics), State)
    end.

retry(Node, #state{steps = Steps} = State) ->
    case partisan_pubsub_steps:first(Node, Steps) of
        none ->
            State;
        {ok, {Tag, Message, _Publisher, _Deadline}} ->
            case take(Tag, Node, Message) of
                {error, busy} ->
                    State;
                Result ->
                    Left = State#state{steps = partisan_pubsub_steps:remove_first(Node, Steps)},
                    retry(Node, taken(Tag, Result, Left))
            end
    end.

taken(_Tag, ok, State) -> State;
taken(Tag, Error, State) -> ended(Tag, Error, State).

retry_later(#state{retrying = true} = State) ->
    State;
retry_later(State) ->
    _ = erlang:send_after(?RETRY, self(), retry),
    State#state{retrying = true}.

ended(Tag, Outcome, #state{topics = Topics} = State) ->
    Kind = outcome(Outcome),
    Node = partisan_topics:node_of(Tag, Topics),
    Ended = run(partisan_topics:outcome(Tag, Kind, Topics), State),
    case {Kind, Node} of
        {failed, {ok, Name}} -> give_up(Name, Outcome, Ended);
        _ -> Ended
    end.

%% Steps that wait for a failed node would never end otherwise.
give_up(Node, Outcome, #state{steps = Steps0} = State) ->
    {Tags, Steps} = partisan_pubsub_steps:remove_all(Node, Steps0),
    lists:foldl(fun(Tag, S) -> ended(Tag, Outcome, S) end, State#state{steps = Steps}, Tags).

outcome(ok) -> ok;
outcome({error, {too_large, _}}) -> refused;
outcome({error, undecodable}) -> refused;
outcome({error, _}) -> failed.

now_ms() ->
    erlang:monotonic_time(millisecond).

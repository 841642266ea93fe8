%%% @doc The subscribers of this node, and the topics of all nodes: runs {@link partisan_topics} or,
%%% over an overlay with brokers, {@link partisan_brokers}. Both while one overlay replaces another:
%%% a subscriber drops the second copy.
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
    brokers :: partisan_brokers:t(),
    ways = trees :: partisan_stack:topics(),
    % Processes whose messages brokers have not accepted yet.
    publishers = #{} :: #{partisan_topics:id() => gen_server:from()},
    steps = partisan_pubsub_steps:new() :: partisan_pubsub_steps:t(),
    retrying = false :: boolean(),
    % Of this node's topics, to its neighbours.
    pace = partisan_pace:new() :: partisan_pace:t(),
    pids = #{} :: #{pid() => {reference(), [partisan_topics:topic()]}},
    subscribers = #{} :: #{partisan_topics:topic() => [pid()]}
}).

-type error() :: {too_large, Bytes :: pos_integer()} | no_broker | undecodable.
-export_type([error/0]).

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
-spec publish(partisan_topics:topic(), Message :: term()) -> ok | {error, error()}.
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
    Self = partisan_config:get(name),
    {ok, #state{
        topics = partisan_topics:new(Self, partisan_config:get(incarnation)),
        brokers = partisan_brokers:new(Self)
    }}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) ->
    {reply, term(), #state{}} | {noreply, #state{}}.
handle_call({subscribe, Topic, Pid}, _From, State) ->
    {reply, ok, add(Topic, Pid, State)};
handle_call({unsubscribe, Topic, Pid}, _From, State) ->
    {reply, ok, remove(Topic, Pid, State)};
handle_call({publish, Topic, Message, Bytes}, From, State0) ->
    #state{topics = Topics} = State = ways(State0),
    Limit = partisan_config:get(message_bytes),
    Names = partisan_topics:subscribers(Topic, Topics),
    % A step carries the names of some of them, each with five bytes of framing, and is forwarded by
    % nodes whose names may be longer than ours.
    case Bytes + 3 * ?NAME_BYTES + lists:sum([5 + byte_size(Name) || Name <- Names]) of
        Total when Total =< Limit ->
            {noreply, publish(From, Topic, Message, State)};
        Total ->
            {reply, {error, {too_large, Total}}, State}
    end;
handle_call({subscribers, Topic}, _From, #state{ways = {brokers, _}} = State) ->
    {reply, partisan_brokers:subscribers(Topic, State#state.brokers), State};
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
handle_info({?MODULE, From, Message}, State) ->
    try heard(From, Message, State) of
        {Part, Heard} -> {noreply, run(Part, Heard, State)}
    catch
        % From a faulty member: the topics are a value, and stay unchanged.
        error:_ ->
            ok = partisan_stray:message(Message),
            {noreply, State}
    end;
handle_info({partisan, {acknowledged, Tag, Outcome}}, State) ->
    Node = node_of(Tag, State),
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
handle_info({timeout, Timer, announce} = Message, #state{pace = Pace, topics = Topics} = State) ->
    case partisan_pace:ended(Timer, Pace) of
        due ->
            {noreply, announced(partisan_topics:announce(Topics), State)};
        idle ->
            {noreply, State#state{pace = partisan_pace:new()}};
        unknown ->
            ok = partisan_stray:message(Message),
            {noreply, State}
    end;
handle_info({served, Publisher, Id}, #state{brokers = Brokers} = State) ->
    {noreply, run(brokers, partisan_brokers:served(Publisher, Id, Brokers), State)};
handle_info({partisan, {neighbour_up, Name}}, State) ->
    {noreply, each(neighbour_up, [Name], ways(State))};
handle_info({partisan, {neighbour_down, Name}}, State) ->
    {noreply, each(neighbour_down, [Name], ways(State))};
handle_info(tick, State) ->
    ok = compare_later(),
    {noreply, each(tick, [], ways(State))};
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

add(Topic, Pid, #state{pids = Pids, subscribers = Subscribers} = State) ->
    {Monitor, Theirs} =
        case Pids of
            #{Pid := Known} -> Known;
            #{} -> {monitor(process, Pid), []}
        end,
    Present = maps:get(Topic, Subscribers, []),
    Added = State#state{
        pids = Pids#{Pid => {Monitor, partisan_topics:add(Topic, Theirs)}},
        subscribers = Subscribers#{Topic => lists:usort([Pid | Present])}
    },
    case Present of
        [] -> recorded(subscribe, Topic, Added);
        _ -> Added
    end.

remove(Topic, Pid, #state{pids = Pids, subscribers = Subscribers} = State) ->
    case maps:get(Topic, Subscribers, []) of
        [Pid] ->
            Last = State#state{
                pids = forget(Topic, Pid, Pids), subscribers = maps:remove(Topic, Subscribers)
            },
            recorded(unsubscribe, Topic, Last);
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

%% Each change is sent with all topics of this node.
recorded(Change, Topic, #state{topics = Topics0, brokers = Brokers, pace = Pace} = State0) ->
    {Topics, Effects} = apply(partisan_topics, Change, [Topic, Topics0]),
    State =
        case partisan_pace:due(Pace) of
            now -> announced({Topics, Effects}, State0);
            {later, Next} -> State0#state{topics = Topics, pace = Next}
        end,
    run(brokers, apply(partisan_brokers, Change, [Topic, Brokers]), State).

announced({_, Effects} = Announced, State0) ->
    State = run(topics, Announced, State0),
    Bytes =
        case Effects of
            [{send, _, Message} | _] -> erlang:external_size(Message);
            [] -> 0
        end,
    State#state{pace = partisan_pace:sent(Bytes)}.

%% Subscriptions are recorded both ways, so that either can begin at any time.
each(Function, Arguments, #state{topics = Topics, brokers = Brokers} = State0) ->
    State = run(topics, apply(partisan_topics, Function, Arguments ++ [Topics]), State0),
    run(brokers, apply(partisan_brokers, Function, Arguments ++ [Brokers]), State).

%% Looks whether the overlay has been changed.
ways(#state{ways = Before} = State) ->
    case partisan_view:topics() of
        Before -> State;
        Ways -> changed(Before, State#state{ways = Ways})
    end.

changed(Before, #state{ways = Ways, brokers = Brokers} = State0) ->
    Configuration =
        case Ways of
            trees -> {[], 1};
            {_, Known} -> Known
        end,
    State = run(brokers, partisan_brokers:configure(Configuration, Brokers), State0),
    case Before of
        {brokers, _} -> greet(partisan_view:neighbours(), State);
        _ -> State
    end.

%% Entries have not been compared for as long as the brokers were the only way.
greet(Names, State) ->
    lists:foldl(
        fun(Name, #state{topics = Topics} = S) ->
            run(topics, partisan_topics:neighbour_up(Name, Topics), S)
        end,
        State,
        Names
    ).

heard(From, {brokers, Message}, #state{brokers = Brokers}) ->
    {brokers, partisan_brokers:message(From, Message, Brokers)};
heard(From, Message, #state{topics = Topics}) ->
    {topics, partisan_topics:message(From, Message, Topics)}.

run(topics, {Topics, Effects}, State) ->
    lists:foldl(fun effect/2, State#state{topics = Topics}, Effects);
run(brokers, {Brokers, Effects}, State) ->
    lists:foldl(fun broker_effect/2, State#state{brokers = Brokers}, Effects).

broker_effect({send, Node, Message}, State) ->
    effect({send, Node, {brokers, Message}}, State);
broker_effect({send, Node, Message, Tag}, State) ->
    step(Tag, Node, {brokers, Message}, held, State);
broker_effect({copies, Publisher, Id, Topic, Payload, Copies}, State) ->
    Steps = [{send, Node, {publish, Id, Topic, Payload, []}, Tag} || {Node, Tag} <- Copies],
    hold({copies, Publisher, Id}, Steps, State);
broker_effect({deliver, Id, Topic, Payload}, #state{topics = Topics} = State) ->
    Copy = {publish, Id, Topic, Payload, []},
    run(topics, partisan_topics:message(partisan:node(), Copy, Topics), State);
broker_effect({answer, Id, Result}, #state{publishers = Publishers} = State) ->
    case maps:take(Id, Publishers) of
        {From, Others} ->
            ok = gen_server:reply(From, Result),
            State#state{publishers = Others};
        error ->
            State
    end.

effect({send, _Node, {Kind, _}}, #state{ways = {brokers, _}} = State) when
    Kind =:= entries; Kind =:= compare
->
    State;
effect({send, Node, Message}, State) ->
    % To neighbours only: it is not worth a search through the whole cluster. A loss shows in the
    % next comparison.
    case send(Node, Message, #{on_busy => drop, ttl => 0, ack => false}) of
        {error, {too_large, Bytes}} ->
            partisan_refusals:warn(
                message,
                "the topics of one node have ~b bytes, and do not reach ~ts; subscribe to fewer, "
                "or raise `message_bytes`",
                [Bytes, Node]
            );
        _ ->
            ok
    end,
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

publish(From, Topic, Payload, #state{topics = Topics, ways = Ways} = State0) ->
    {Id, Identified} = partisan_topics:identify(Topics),
    State = State0#state{topics = Identified},
    case Ways of
        trees -> publish_tree(From, Id, Topic, Payload, State);
        {brokers, _} -> publish_to_broker(From, Id, Topic, Payload, State);
        {both, _} ->
            Published = publish_tree(From, Id, Topic, Payload, State),
            run(
                brokers,
                partisan_brokers:publish(Id, Topic, Payload, Published#state.brokers),
                Published
            )
    end.

publish_to_broker(From, Id, Topic, Payload, State) ->
    #state{publishers = Publishers, brokers = Brokers} = State,
    run(
        brokers,
        partisan_brokers:publish(Id, Topic, Payload, Brokers),
        State#state{publishers = Publishers#{Id => From}}
    ).

publish_tree(From, Id, Topic, Payload, #state{topics = Topics0} = State) ->
    {Topics, Effects} = partisan_topics:publish(Id, Topic, Payload, Topics0),
    hold(From, Effects, State#state{topics = Topics}).

%% The publisher is answered when its own steps have found room.
hold(From, Effects, #state{steps = Steps} = State) ->
    Held = State#state{steps = partisan_pubsub_steps:hold(From, Steps)},
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
            outcome(Tag, refused, State)
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

ended(Tag, Outcome, State) ->
    Kind = outcome(Outcome),
    Node = node_of(Tag, State),
    Ended = outcome(Tag, Kind, State),
    case {Kind, Node} of
        {failed, {ok, Name}} -> give_up(Name, Outcome, Ended);
        _ -> Ended
    end.

%% Steps that wait for a failed node would never end otherwise.
give_up(Node, Outcome, #state{steps = Steps0} = State) ->
    {Tags, Steps} = partisan_pubsub_steps:remove_all(Node, Steps0),
    lists:foldl(fun(Tag, S) -> ended(Tag, Outcome, S) end, State#state{steps = Steps}, Tags).

outcome(Tag, Kind, #state{topics = Topics} = State) when is_integer(Tag) ->
    run(topics, partisan_topics:outcome(Tag, Kind, Topics), State);
outcome(Tag, Kind, #state{brokers = Brokers} = State) ->
    run(brokers, partisan_brokers:outcome(Tag, Kind, Brokers), State).

node_of(Tag, #state{topics = Topics}) when is_integer(Tag) ->
    partisan_topics:node_of(Tag, Topics);
node_of({partisan_brokers, _, Name, _}, _State) ->
    {ok, Name}.

outcome(ok) -> ok;
outcome({error, {too_large, _}}) -> refused;
outcome({error, undecodable}) -> refused;
outcome({error, _}) -> failed.

now_ms() ->
    erlang:monotonic_time(millisecond).

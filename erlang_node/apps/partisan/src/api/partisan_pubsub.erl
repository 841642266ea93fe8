%%% @doc The subscribers of this node, and the topics of all: runs {@link partisan_topics}.
%%%
%%% == Bounds ==
%%% A subscriber with more than `mailbox_messages' waiting misses what comes, which is counted
%%% (`busy'); publishers wait while the steps of the tree find no room.
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

%% How long a step of the tree may take before its node is passed over.
-define(STEP_TIMEOUT, 10000).

-record(state, {
    topics :: partisan_topics:t(),
    pids = #{} :: #{pid() => {reference(), [partisan_topics:topic()]}},
    subscribers = #{} :: #{partisan_topics:topic() => [pid()]}
}).

-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Delivers what is published under a topic to a process of this node.
-spec subscribe(partisan_topics:topic(), pid()) -> ok.
subscribe(Topic, Pid) when node(Pid) =:= node() ->
    gen_server:call(?MODULE, {subscribe, Topic, Pid}, infinity).

-spec unsubscribe(partisan_topics:topic(), pid()) -> ok.
unsubscribe(Topic, Pid) ->
    gen_server:call(?MODULE, {unsubscribe, Topic, Pid}, infinity).

%% @doc Publishes to all subscribers known here.
-spec publish(partisan_topics:topic(), Message :: term()) -> ok.
publish(Topic, Message) ->
    gen_server:call(?MODULE, {publish, Topic, Message}, infinity).

%% @doc The nodes that are known here to subscribe.
-spec subscribers(partisan_topics:topic()) -> [partisan_peer:name()].
subscribers(Topic) ->
    gen_server:call(?MODULE, {subscribers, Topic}, infinity).

%% gen_server.

-spec init([]) -> {ok, #state{}}.
init([]) ->
    process_flag(message_queue_data, off_heap),
    ok = partisan_manager:subscribe(self()),
    ok = compare_later(),
    Topics = partisan_topics:new(partisan_config:get(name), partisan_config:get(incarnation)),
    {ok, #state{topics = Topics}}.

-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({subscribe, Topic, Pid}, _From, State) ->
    {reply, ok, add(Topic, Pid, State)};
handle_call({unsubscribe, Topic, Pid}, _From, State) ->
    {reply, ok, remove(Topic, Pid, State)};
handle_call({publish, Topic, Message}, _From, #state{topics = Topics} = State) ->
    {reply, ok, run(partisan_topics:publish(Topic, Message, Topics), State)};
handle_call({subscribers, Topic}, _From, #state{topics = Topics} = State) ->
    {reply, partisan_topics:subscribers(Topic, Topics), State};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info({?MODULE, From, Message}, #state{topics = Topics} = State) ->
    {noreply, run(partisan_topics:message(From, Message, Topics), State)};
handle_info({partisan, {acknowledged, Tag, Outcome}}, #state{topics = Topics} = State) ->
    {noreply, run(partisan_topics:outcome(Tag, outcome(Outcome), Topics), State)};
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
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals.

%% Subscriptions are compared with a neighbour as often as neighbours give signs of life: what a
%% lost message cost is made good about when a lost neighbour is noticed.
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
    % To neighbours only: one that is none any more is not worth a search through the whole cluster.
    % What is lost shows in the next comparison.
    _ = send(Node, Message, #{on_busy => drop, ttl => 0, ack => false}),
    State;
effect({send, Node, Message, Tag}, #state{topics = Topics} = State) ->
    Options = #{ack => {notify, Tag}, timeout => ?STEP_TIMEOUT},
    case send(Node, Message, Options) of
        ok -> State;
        {error, _} -> run(partisan_topics:outcome(Tag, failed, Topics), State)
    end;
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
    Envelope = {?MODULE, partisan:node(), Message},
    partisan:forward(Node, ?MODULE, Envelope, Options#{partition_key => ?MODULE}).

outcome(ok) -> ok;
outcome({error, _}) -> failed.

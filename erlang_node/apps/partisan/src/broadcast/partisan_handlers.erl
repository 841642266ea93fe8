%%% @doc The broadcast handlers of this node: their processes, restarts and exchanges.
%%%
%%% The table outlives the process, so that handlers added by a call survive a restart of the
%%% runtime. {@link partisan_manager} only looks a handler up and leaves a request; it never waits
%%% for one. At most `mailbox_messages' requests wait for a handler; further ones are dropped.
%%%
%%% Once per `broadcast_exchange_interval' each handler exchanges with a neighbour, the neighbours
%%% taking turns. An exchange that lasts longer makes the handler miss its next ones, until it is
%%% ended.
-module(partisan_handlers).

-behaviour(gen_server).

-export([setup/0]).
-export([start_link/0]).
-export([add/1]).
-export([remove/1]).
-export([all/0]).
%% For the manager.
-export([request/2]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% {Handler, its process or none, requests that wait for it}.
-define(HANDLERS, ?MODULE).
%% Intervals after which an exchange is ended.
-define(EXCHANGE_INTERVALS, 6).

-record(state, {
    processes = #{} :: #{pid() => module()},
    exchanges = #{} :: #{module() => {pid(), Intervals :: non_neg_integer()}},
    % Last neighbour exchanged with.
    last = <<>> :: partisan_peer:name(),
    timer = none :: none | reference()
}).

%% API.

%% @doc Creates the table, owned by the caller, and registers the metric.
-spec setup() -> ok.
setup() ->
    ?HANDLERS = ets:new(?HANDLERS, [named_table, public, set, {read_concurrency, true}]),
    partisan_metrics:new(
        counter,
        partisan_broadcast_handler_events_total,
        "Events of broadcast handlers.",
        [handler, event]
    ).

%% @doc Starts the process, and those of all handlers.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], [{hibernate_after, 1000}]).

%% @doc Adds a handler. Idempotent.
-spec add(module()) -> ok.
add(Handler) ->
    gen_server:call(?MODULE, {add, Handler}, infinity).

%% @doc Removes a handler. Idempotent.
-spec remove(module()) -> ok.
remove(Handler) ->
    gen_server:call(?MODULE, {remove, Handler}, infinity).

%% @doc The handlers.
-spec all() -> [module()].
all() ->
    lists:sort([Handler || {Handler, _, _} <- ets:tab2list(?HANDLERS)]).

%% @doc Leaves a request for a handler; returns the answers that are known at once. Without the
%% handler, or room for the request, announced data is fetched: others may need it.
-spec request(module(), partisan_plumtree:request()) -> [partisan_plumtree:answer()].
request(Handler, Request) ->
    case ets:lookup(?HANDLERS, Handler) of
        [{_, Pid, Waiting}] when is_pid(Pid) -> request(Handler, Pid, Waiting, Request);
        _ -> unasked(Request)
    end.

%% gen_server.

%% @private
-spec init([]) -> {ok, #state{}}.
init([]) ->
    process_flag(trap_exit, true),
    Handlers = lists:usort(partisan_config:get(broadcast_handlers) ++ all()),
    {ok, lists:foldl(fun start/2, #state{}, Handlers)}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({add, Handler}, _From, State) ->
    case ets:member(?HANDLERS, Handler) of
        true -> {reply, ok, State};
        false -> {reply, ok, start(Handler, State)}
    end;
handle_call({remove, Handler}, _From, #state{processes = Processes, exchanges = Exchanges} = S) ->
    Theirs = [Pid || {Pid, H} <- maps:to_list(Processes), H =:= Handler],
    true = ets:delete(?HANDLERS, Handler),
    lists:foreach(fun(Pid) -> true = exit(Pid, kill) end, Theirs ++ exchanging(Handler, Exchanges)),
    {reply, ok, S#state{
        processes = maps:without(Theirs, Processes), exchanges = maps:remove(Handler, Exchanges)
    }};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info({timeout, Timer, exchange}, #state{timer = Timer} = State) ->
    {noreply, exchange(all(), State#state{timer = none})};
handle_info({'EXIT', Pid, Reason}, #state{processes = Processes} = State) ->
    case maps:take(Pid, Processes) of
        {Handler, Others} ->
            ok = partisan_refusals:warn(
                handler, "the process of broadcast handler ~0p ended: ~0tP", [Handler, Reason, 20]
            ),
            ok = partisan_handler:count(Handler, restarted),
            {noreply, start(Handler, State#state{processes = Others})};
        error ->
            {noreply, exchanged(Pid, Reason, State)}
    end;
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals: requests.

request(Handler, Pid, Waiting, Request) ->
    case counters:get(Waiting, 1) < partisan_config:get(mailbox_messages) of
        true ->
            ok = counters:add(Waiting, 1, 1),
            Pid ! {partisan_handler, Request},
            [];
        false ->
            ok = partisan_handler:count(Handler, dropped),
            unasked(Request)
    end.

unasked({is_stale, _Key, Id}) -> [{needed, Id}];
unasked(_Request) -> [].

start(Handler, #state{processes = Processes} = State) ->
    Waiting = counters:new(1, []),
    Pid = partisan_handler:start_link(Handler, Waiting),
    true = ets:insert(?HANDLERS, {Handler, Pid, Waiting}),
    timed(State#state{processes = Processes#{Pid => Handler}}).

%% Internals: exchanges.

timed(#state{timer = none} = State) ->
    Interval = partisan_config:get(broadcast_exchange_interval),
    % Nodes started together do not stay in step.
    Delay = Interval div 2 + rand:uniform(Interval),
    State#state{timer = erlang:start_timer(Delay, self(), exchange)};
timed(State) ->
    State.

exchange([], State) ->
    State;
exchange(Handlers, #state{last = Last} = State) ->
    Names = lists:sort(partisan_view:neighbours()),
    case [Name || Name <- Names, Name > Last] ++ Names of
        [] ->
            timed(State);
        [Next | _] ->
            Exchange = fun(Handler, S) -> exchange_with(Next, Handler, S) end,
            timed(lists:foldl(Exchange, State#state{last = Next}, Handlers))
    end.

exchange_with(Neighbour, Handler, #state{exchanges = Exchanges} = State) ->
    case Exchanges of
        #{Handler := {Pid, ?EXCHANGE_INTERVALS}} ->
            true = exit(Pid, kill),
            State;
        #{Handler := {Pid, Intervals}} ->
            State#state{exchanges = Exchanges#{Handler := {Pid, Intervals + 1}}};
        #{} ->
            Pid = partisan_handler:exchange(Handler, Neighbour),
            State#state{exchanges = Exchanges#{Handler => {Pid, 1}}}
    end.

exchanged(Pid, Reason, #state{exchanges = Exchanges} = State) ->
    case [Handler || {Handler, {P, _}} <- maps:to_list(Exchanges), P =:= Pid] of
        [Handler] ->
            _ = Reason =:= normal orelse partisan_handler:failed(Handler, Reason),
            State#state{exchanges = maps:remove(Handler, Exchanges)};
        [] ->
            State
    end.

exchanging(Handler, Exchanges) ->
    case Exchanges of
        #{Handler := {Pid, _}} -> [Pid];
        #{} -> []
    end.

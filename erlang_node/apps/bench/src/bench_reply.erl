%%% @doc Whether a `gen_server' should answer itself or delegate to another process.
%%%
%%% The request is Dynomite's: which servers of a ring of six hold a key. The variants:
%%%
%%% - `inline': in the callback;
%%% - `spawn_state': a spawned process whose closure holds the whole state;
%%% - `spawn_minimal': the same, with a closure of the ring alone;
%%% - `pool': one of as many servers as there are schedulers, by key;
%%% - `read': the caller reads the ring from a persistent term, without a server.
%%%
%%% The cost of an answer beyond the look-up (`cost_us') is waited for: a disk, or another node.
-module(bench_reply).
-behaviour(gen_server).

-export([run/1]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).

-define(RING, 6).
-define(REPLICAS, 3).
-define(KEYS, 10000).

-type way() :: inline | spawn_state | spawn_minimal | pool | read.
-record(state, {way :: way(), cost_us :: non_neg_integer(), ring :: tuple(), rest :: [integer()]}).

%% @doc Requests per second with that many concurrent callers and a state of that many words.
-spec run(#{
    way := way(),
    callers := pos_integer(),
    state_words := non_neg_integer(),
    cost_us := non_neg_integer(),
    milliseconds := pos_integer(),
    _ => _
}) -> #{requests_per_s := float()}.
run(#{way := Way, callers := Callers, milliseconds := Milliseconds} = Cell) ->
    #{state_words := Words, cost_us := Cost} = Cell,
    State = #state{
        way = Way,
        cost_us = Cost,
        ring = list_to_tuple([{server, I} || I <- lists:seq(1, ?RING)]),
        % Each element of a list is two words.
        rest = lists:seq(1, Words div 2)
    },
    ok = persistent_term:put(?MODULE, State#state.ring),
    Servers = [start(State) || _ <- lists:seq(1, servers(Way))],
    StartedAt = bench_system:now(),
    Until = StartedAt + Milliseconds * 1_000_000,
    Ask = ask(Way, Cost, list_to_tuple(Servers)),
    Workers = [
        bench_worker:start(fun() -> ask_until(Ask, Caller, 0, Until) end)
     || Caller <- lists:seq(1, Callers)
    ],
    Asked = lists:sum([bench_worker:await(Worker) || Worker <- Workers]),
    Seconds = (bench_system:now() - StartedAt) / 1.0e9,
    lists:foreach(fun gen_server:stop/1, Servers),
    #{requests_per_s => Asked / Seconds}.

%% @private
-spec init(#state{}) -> {ok, #state{}}.
init(State) ->
    {ok, State}.

%% @private
-spec handle_call({servers, integer()}, gen_server:from(), #state{}) ->
    {reply, [tuple()], #state{}} | {noreply, #state{}}.
handle_call({servers, Key}, From, #state{way = spawn_state} = State) ->
    _ = spawn_link(fun() -> gen_server:reply(From, answer(Key, State)) end),
    {noreply, State};
handle_call({servers, Key}, From, #state{way = spawn_minimal} = State) ->
    #state{ring = Ring, cost_us = Cost} = State,
    _ = spawn_link(fun() -> gen_server:reply(From, answer(Key, Ring, Cost)) end),
    {noreply, State};
handle_call({servers, Key}, _From, State) ->
    {reply, answer(Key, State), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(_, State) ->
    {noreply, State}.

%% Internals.

start(State) ->
    {ok, Server} = gen_server:start(?MODULE, State, []),
    Server.

servers(read) -> 0;
servers(pool) -> erlang:system_info(schedulers_online);
servers(_) -> 1.

ask(read, Cost, _Servers) ->
    fun(Key) -> answer(Key, persistent_term:get(?MODULE), Cost) end;
ask(_Way, _Cost, Servers) ->
    fun(Key) ->
        Server = element(1 + Key rem tuple_size(Servers), Servers),
        gen_server:call(Server, {servers, Key}, infinity)
    end.

ask_until(Ask, Key, Asked, Until) ->
    case bench_system:now() >= Until of
        true ->
            Asked;
        false ->
            ?REPLICAS = length(Ask(Key)),
            ask_until(Ask, (Key + 7) rem ?KEYS, Asked + 1, Until)
    end.

answer(Key, #state{ring = Ring, cost_us = Cost, rest = Rest}) ->
    % The state is used, so that a closure over it must hold it.
    true = is_list(Rest),
    answer(Key, Ring, Cost).

answer(Key, Ring, Cost) ->
    ok = take(Cost),
    First = erlang:phash2(Key, ?RING),
    [element(1 + (First + I) rem ?RING, Ring) || I <- lists:seq(0, ?REPLICAS - 1)].

take(0) -> ok;
take(Microseconds) -> timer:sleep(max(1, Microseconds div 1000)).

%%% @doc Whether a `gen_server' should answer itself or delegate to another process.
%%%
%%% The request is Dynomite's ({@link bench_members}). The ways to answer it:
%%%
%%% - `inline': in the callback;
%%% - `spawn_state': a spawned process whose closure holds the whole state;
%%% - `spawn_minimal': the same, with a closure of the ring alone;
%%% - `pool': one of as many servers as there are schedulers, by key;
%%% - `read': the caller reads the ring from a persistent term, without a server;
%%% - `ets': the caller reads it from a table.
%%%
%%% An answer takes `cost_us' beyond the look-up: of a processor (`busy', {@link bench_busy}) or of
%%% waiting (`wait': a disk, or another node; in whole milliseconds of Erlang's timers).
-module(bench_reply).
-behaviour(gen_server).

-export([main/1]).
-export([run/1]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).

-define(KEYS, 10000).
-define(STEP, 7).

-type way() :: inline | spawn_state | spawn_minimal | pool | read | ets.
-type work() :: {busy, Iterations :: non_neg_integer()} | {wait, Milliseconds :: pos_integer()}.
-type cell() :: #{
    way := way(),
    callers := pos_integer(),
    state_words := non_neg_integer(),
    ring := bench_members:kind(),
    hashes := pos_integer(),
    work := busy | wait,
    cost_us := non_neg_integer(),
    milliseconds := pos_integer(),
    % Of bench_busy:calibrate/0.
    iterations_per_us := float(),
    _ => _
}.
-record(answer, {
    ring :: bench_members:ring(),
    hashes :: pos_integer(),
    work :: work()
}).
-record(state, {way :: way(), answer :: #answer{}, rest :: [integer()]}).

%% @doc Measures the cells in a file, Erlang terms, in their order; writes each as a line of JSON:
%% `erl -run bench_reply main FILE'.
-spec main([File :: string()]) -> no_return().
main([File]) ->
    {ok, Cells} = file:consult(File),
    {Pid, Monitor} = spawn_monitor(fun() -> lists:foreach(fun write/1, calibrated(Cells)) end),
    receive
        {'DOWN', Monitor, process, Pid, normal} ->
            halt(0);
        {'DOWN', Monitor, process, Pid, Reason} ->
            io:format(standard_error, "bench: ~0p~n", [Reason]),
            halt(1)
    end.

%% @doc Requests per second of a cell. `closure_words' is the size of what is copied to a spawned
%% process, `cpu_us' the processor time of this virtual machine per request, and `others_cpus' the
%% processors that everything else used.
-spec run(cell()) ->
    #{
        requests := pos_integer(),
        requests_per_s := float(),
        closure_words := non_neg_integer(),
        cpu_us := float(),
        others_cpus := float()
    }.
run(#{way := Way, callers := Callers, milliseconds := Milliseconds, ring := Kind} = Cell) ->
    State = state(Cell),
    Keys = publish(Kind, State),
    Table = ets:new(?MODULE, [{read_concurrency, true}]),
    true = ets:insert(Table, {ring, State#state.answer}),
    Servers = [start(State) || _ <- lists:seq(1, servers(Way))],
    Ask = ask(Way, Table, list_to_tuple(Servers)),
    {Own, All} = {bench_vm:cpu_seconds(), bench_vm:machine_cpu_seconds()},
    StartedAt = bench_system:now(),
    Until = StartedAt + Milliseconds * 1_000_000,
    Workers = [
        bench_worker:start(fun() -> ask_until(Ask, Keys, Caller, 0, Until) end)
     || Caller <- lists:seq(1, Callers)
    ],
    Asked = lists:sum([bench_worker:await(Worker) || Worker <- Workers]),
    Seconds = (bench_system:now() - StartedAt) / 1.0e9,
    OwnSeconds = bench_vm:cpu_seconds() - Own,
    AllSeconds = bench_vm:machine_cpu_seconds() - All,
    lists:foreach(fun gen_server:stop/1, Servers),
    true = ets:delete(Table),
    #{
        requests => Asked,
        requests_per_s => Asked / Seconds,
        closure_words => closure_words(Way, State),
        cpu_us => 1.0e6 * OwnSeconds / Asked,
        others_cpus => max(0.0, (AllSeconds - OwnSeconds) / Seconds)
    }.

%% @private
-spec init(#state{}) -> {ok, #state{}}.
init(State) ->
    {ok, State}.

%% @private
-spec handle_call({servers, bench_members:key()}, gen_server:from(), #state{}) ->
    {reply, bench_members:servers(), #state{}} | {noreply, #state{}}.
handle_call({servers, Key}, From, #state{way = spawn_state} = State) ->
    _ = spawn_link(fun() -> gen_server:reply(From, answer(Key, State)) end),
    {noreply, State};
handle_call({servers, Key}, From, #state{way = spawn_minimal, answer = Answer} = State) ->
    _ = spawn_link(fun() -> gen_server:reply(From, answer(Key, Answer)) end),
    {noreply, State};
handle_call({servers, Key}, _From, State) ->
    {reply, answer(Key, State), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(_, State) ->
    {noreply, State}.

%% Internals.

calibrated(Cells) ->
    PerMicrosecond = bench_busy:calibrate(),
    [Cell#{iterations_per_us => PerMicrosecond} || Cell <- Cells].

write(Cell) ->
    Otp = list_to_binary(erlang:system_info(otp_release)),
    Schedulers = erlang:system_info(schedulers_online),
    Figures = (run(Cell))#{otp => Otp, schedulers => Schedulers},
    io:format("~ts~n", [node_json:encode(maps:merge(Cell, Figures))]).

state(#{way := Way, state_words := Words, ring := Kind, hashes := Hashes} = Cell) ->
    #state{
        way = Way,
        answer = #answer{ring = bench_members:ring(Kind), hashes = Hashes, work = work(Cell)},
        % Each element of a list is two words.
        rest = lists:seq(1, Words div 2)
    }.

work(#{work := busy, cost_us := Cost, iterations_per_us := PerMicrosecond}) ->
    {busy, round(Cost * PerMicrosecond)};
work(#{work := wait, cost_us := Cost}) ->
    {wait, max(1, Cost div 1000)}.

%% The keys are a persistent term, which callers share; so is what `read' reads.
publish(Kind, #state{answer = Answer}) ->
    ok = persistent_term:put({?MODULE, answer}, Answer),
    ok = persistent_term:put({?MODULE, Kind}, bench_members:keys(Kind)),
    persistent_term:get({?MODULE, Kind}).

start(State) ->
    {ok, Server} = gen_server:start(?MODULE, State, []),
    Server.

servers(read) -> 0;
servers(ets) -> 0;
servers(pool) -> erlang:system_info(schedulers_online);
servers(_) -> 1.

closure_words(spawn_state, State) -> erts_debug:flat_size(State);
closure_words(spawn_minimal, #state{answer = Answer}) -> erts_debug:flat_size(Answer);
closure_words(_, _) -> 0.

ask(read, _Table, _Servers) ->
    fun(Key) -> answer(Key, persistent_term:get({?MODULE, answer})) end;
ask(ets, Table, _Servers) ->
    fun(Key) ->
        [{ring, Answer}] = ets:lookup(Table, ring),
        answer(Key, Answer)
    end;
ask(_Way, _Table, Servers) ->
    fun(Key) ->
        Server = element(1 + erlang:phash2(Key, tuple_size(Servers)), Servers),
        gen_server:call(Server, {servers, Key}, infinity)
    end.

ask_until(Ask, Keys, Index, Asked, Until) ->
    case bench_system:now() >= Until andalso Asked > 0 of
        true ->
            Asked;
        false ->
            [_, _, _] = Ask(element(1 + Index rem ?KEYS, Keys)),
            ask_until(Ask, Keys, Index + ?STEP, Asked + 1, Until)
    end.

answer(Key, #state{answer = Answer, rest = Rest}) ->
    % The state is used, so that a closure over it must hold it.
    true = is_list(Rest),
    answer(Key, Answer);
answer(Key, #answer{ring = Ring, hashes = Hashes, work = Work}) ->
    ok = take(Work),
    bench_members:servers(Key, Ring, Hashes).

take({busy, Iterations}) -> bench_busy:take(Iterations);
take({wait, Milliseconds}) -> timer:sleep(Milliseconds).

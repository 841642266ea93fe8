%%% @doc One virtual machine's part of a cell of the ring: starts the ring over a transport, and
%%% runs actors that each have one request under way ({@link ring_echo}, {@link ring_kvs}).
%%%
%%% Keys of the store come from a normal distribution over 10,000 (mean 5,000, standard deviation
%%% 1,667); ten requests are reads to one write, each with the context that its node has last seen
%%% of the key. Partitions of the echo service are chosen evenly.
%%%
%%% Every answer is checked: an echo and a value must be what was sent, a warm store has every key,
%%% and a read covers all writes to its key that this node knew to be acknowledged when it began.
-module(bench_ring).

-export([start/3]).
-export([plan/3]).
-export([is_settled/1]).
-export([fill/2]).
-export([self/0]).
-export([run/2]).
-export([stop/1]).

-compile({no_auto_import, [self/0]}).

-define(KEYS, 10000).
-define(TIMEOUT_MS, 10000).
-define(DONE, 1).
-define(FOUND, 2).
-define(READ, 3).
-define(TIMEOUTS, 4).
-define(REFUSED, 5).
-define(REMOTE, 6).

-type service() :: echo | kvs.
%% `storage_ms' as `storage_delay' of {@link ring}, `payload' in bytes.
-type cell() :: #{
    service := service(),
    payload := pos_integer(),
    actors := pos_integer(),
    milliseconds := pos_integer(),
    values => cold | warm,
    reads => full | digest,
    storage_ms => non_neg_integer(),
    _ => _
}.
%% `remote': of those done, the ones that crossed the network; all of the store do, by its quorum.
%% `refused': requests that were not executed. `latency': as of {@link bench_histogram:counts/1}.
-type figures() :: #{
    done := non_neg_integer(),
    remote := non_neg_integer(),
    reads_done := non_neg_integer(),
    found := non_neg_integer(),
    timeouts := non_neg_integer(),
    refused := non_neg_integer(),
    latency := [non_neg_integer()]
}.
-export_type([service/0, cell/0, figures/0]).

-record(actor, {
    cell :: cell(),
    payload :: binary(),
    figures :: counters:counters_ref(),
    latency :: bench_histogram:t(),
    number :: non_neg_integer(),
    until :: integer()
}).

%% @doc Starts the ring of a cell.
-spec start(Transport :: module(), Self :: atom(), cell()) -> ok.
start(Transport, Self, Cell) ->
    ok = persistent_term:put(?MODULE, atom_to_binary(Self)),
    ok = start_rings(Transport),
    Options = #{transport => Transport, repair => never},
    case Cell of
        #{service := echo} ->
            ring_echo:start(Options);
        #{service := kvs, storage_ms := Delay} ->
            ring_kvs:start(Options#{storage_delay => Delay})
    end.

%% @doc Makes a plan of these nodes, on one of them.
-spec plan(service(), [atom()], Partitions :: pos_integer()) -> ok.
plan(Ring, Names, Partitions) ->
    Members = [atom_to_binary(Name) || Name <- Names],
    {ok, 1} = ring_manager:plan(Ring, #{members => Members, partitions => Partitions}),
    ok.

%% @doc Whether this node's seats serve.
-spec is_settled(service()) -> boolean().
is_settled(Ring) ->
    maps:get(settled, ring_manager:status(Ring)).

%% @doc Gives every key of a warm store the same value, of which a node has one copy, on each
%% replica of this node. What it answers does not depend on how many writes came before.
-spec fill(Partitions :: pos_integer(), cell()) -> ok.
fill(Partitions, #{values := warm, payload := Size}) ->
    Value = bench_traffic:payload(Size),
    Set = ring_dvv:write({{0, {0, 0}}, 1}, {value, Value}, [], ring_dvv:new()),
    Filled = lists:foldl(
        fun(Key, Acc) ->
            Partition = ring_view:partition_of(Key, Partitions),
            Acc#{Partition => [{Key, Set} | maps:get(Partition, Acc, [])]}
        end,
        #{},
        [key(N) || N <- lists:seq(1, ?KEYS)]
    ),
    Seats = ring_table:seats(kvs),
    % A request without a waiting client.
    Origin = {self(), ring_table:start(kvs)},
    _ = [
        Pid ! {request, {Origin, 0, fill, Index}, P, {store_all, maps:get(P, Filled, [])}}
     || {Index, {Pid, _}} <- Seats,
        P <- [(Index + Partitions - I) rem Partitions || I <- [0, 1, 2]]
    ],
    lists:foreach(fun({_, {Pid, _}}) -> ring_seat_server:state(Pid) end, Seats);
fill(_Partitions, _Cell) ->
    ok.

%% @doc This node's name in the ring.
-spec self() -> ring_state:member().
self() ->
    persistent_term:get(?MODULE).

%% @doc Runs the actors until that time. Requests that are under way then do not count, and are
%% abandoned.
-spec run(cell(), Until :: integer()) -> figures().
run(#{actors := Actors, payload := Size} = Cell, Until) ->
    Contexts = ets:new(?MODULE, [named_table, public, {write_concurrency, true}]),
    Figures = counters:new(?REMOTE, [write_concurrency]),
    Actor = #actor{
        cell = Cell,
        payload = bench_traffic:payload(Size),
        figures = Figures,
        latency = bench_histogram:new(),
        number = 0,
        until = Until
    },
    Started = [
        spawn_monitor(fun() -> act(Actor#actor{number = Number}) end)
     || Number <- lists:seq(1, Actors)
    ],
    ok = await(Until),
    _ = [
        begin
            true = demonitor(Monitor, [flush]),
            exit(Pid, kill)
        end
     || {Pid, Monitor} <- Started
    ],
    true = ets:delete(Contexts),
    [Done, Found, Reads, Timeouts, Refused, Remote] = [
        counters:get(Figures, I)
     || I <- [?DONE, ?FOUND, ?READ, ?TIMEOUTS, ?REFUSED, ?REMOTE]
    ],
    #{
        done => Done,
        remote => Remote,
        reads_done => Reads,
        found => Found,
        timeouts => Timeouts,
        refused => Refused,
        latency => bench_histogram:counts(Actor#actor.latency)
    }.

%% @doc Ends the ring of a cell.
-spec stop(service()) -> ok.
stop(Ring) ->
    ring:stop(Ring).

%% Internals: the ring.

%% The application `ring' needs the runtime, which runs with ours only.
start_rings(ring_partisan) ->
    {ok, _} = application:ensure_all_started(ring),
    ok;
start_rings(Transport) when is_atom(Transport) ->
    case whereis(ring_app) of
        undefined -> keep_rings();
        _ -> ok
    end.

%% A process that outlives the call.
keep_rings() ->
    Caller = erlang:self(),
    {Keeper, Monitor} = spawn_monitor(fun() ->
        {ok, _} = ring_app:start(normal, []),
        Caller ! {erlang:self(), started},
        timer:sleep(infinity)
    end),
    receive
        {Keeper, started} ->
            true = demonitor(Monitor, [flush]),
            ok;
        {'DOWN', Monitor, process, Keeper, Reason} ->
            error(Reason)
    end.

%% Internals: the actors.

%% An actor that ends has found a fault.
await(Until) ->
    receive
        {'DOWN', _, process, _, Reason} -> error({actor, Reason})
    after max(0, Until - bench_system:now()) div 1_000_000 -> ok
    end.

-spec act(#actor{}) -> no_return().
act(Actor) ->
    Begun = bench_system:now(),
    Result = request(Actor),
    ok = count(Result, Begun, bench_system:now(), Actor),
    act(Actor).

%% As published, an echo is waited for however long it takes.
request(#actor{cell = #{service := echo} = Cell, payload = Payload, number = Number}) ->
    #{milliseconds := Milliseconds} = Cell,
    Key = term_to_binary({Number, rand:uniform(1 bsl 60)}),
    [{_, Node} | _] = ring:preference(echo, Key),
    case ring_echo:echo(Key, {Key, Payload}, #{timeout => Milliseconds}) of
        {ok, {Key, Answer}} ->
            ok = intact(Answer, Payload),
            case Node =:= self() of
                true -> local;
                false -> remote
            end;
        {ok, Other} ->
            error({wrong_answer, Other});
        {error, _} = Error ->
            Error
    end;
request(#actor{cell = #{service := kvs}} = Actor) ->
    Key = key(max(1, min(?KEYS, round(rand:normal(?KEYS / 2, (?KEYS / 6) * (?KEYS / 6)))))),
    Known = known(Key),
    Options = #{context => Known, timeout => ?TIMEOUT_MS},
    case rand:uniform(11) of
        1 -> put(Key, Options, Actor);
        _ -> get(Key, Options, Actor)
    end.

put(Key, Options, #actor{payload = Payload}) ->
    case ring_kvs:put(Key, Payload, Options) of
        {ok, Context} ->
            ok = learn(Key, Context),
            remote;
        {error, _} = Error ->
            Error
    end.

get(Key, #{context := Known} = Options, #actor{cell = Cell, payload = Payload}) ->
    #{reads := Reads, values := Kind} = Cell,
    case ring_kvs:get(Key, Options#{reads => Reads}) of
        {ok, Values, Context} ->
            ring_dvv:covers(Context, Known) orelse error({lost, Key, Known, Context}),
            ok = learn(Key, Context),
            lists:foreach(fun(Value) -> intact(Value, Payload) end, Values),
            read(Values, Kind, Key);
        {error, _} = Error ->
            Error
    end.

read([], warm, Key) -> error({nothing_found, Key});
read([], cold, _Key) -> nothing;
read([_ | _], _Kind, _Key) -> found.

intact(Answer, Payload) ->
    bench_traffic:is_intact(Answer, Payload) orelse error(damaged),
    ok.

key(N) ->
    integer_to_binary(N).

known(Key) ->
    case ets:lookup(?MODULE, Key) of
        [{Key, Context}] -> Context;
        [] -> []
    end.

%% Of two that learn at once the later may win: then less is known, and less demanded.
learn(Key, Context) ->
    true = ets:insert(?MODULE, {Key, ring_dvv:join(Context, known(Key))}),
    ok.

count(_Result, _Begun, Ended, #actor{until = Until}) when Ended >= Until ->
    ok;
count({error, timeout}, _Begun, _Ended, #actor{figures = Figures}) ->
    counters:add(Figures, ?TIMEOUTS, 1);
count({error, unavailable}, _Begun, _Ended, #actor{figures = Figures}) ->
    counters:add(Figures, ?REFUSED, 1);
count(Result, Begun, Ended, #actor{figures = Figures, latency = Latency}) ->
    ok = bench_histogram:add(Latency, Ended - Begun),
    ok = counters:add(Figures, ?DONE, 1),
    _ = [counters:add(Figures, ?REMOTE, 1) || Result =/= local],
    _ = [counters:add(Figures, ?READ, 1) || Result =:= found orelse Result =:= nothing],
    _ = [counters:add(Figures, ?FOUND, 1) || Result =:= found],
    ok.

%%% @doc Clients of the key-value store in a campaign ({@link ring_campaign}): sessions at nodes,
%%% each of which writes and reads one after the other, and the history of what they saw.
-module(ring_clients).

-export([new/1]).
-export([start/2]).
-export([stopped/2]).
-export([ask/2]).
-export([done/4]).
-export([is_idle/1]).
-export([history/1]).
-export([failed/1]).
-export([key/1]).

-record(clients, {
    options :: ring_campaign:options(),
    % Sessions without a request, with the contexts that they know.
    idle = #{} :: #{session() => contexts()},
    % Requests by their id.
    busy = #{} :: #{term() => {Asked :: map(), contexts()}},
    number = 0 :: non_neg_integer(),
    sessions = 0 :: non_neg_integer(),
    history = [] :: [ring_history:event()],
    failed = 0 :: non_neg_integer()
}).

-opaque t() :: #clients{}.
-type session() :: {ring_state:member(), non_neg_integer()}.
-type contexts() :: #{ring_replica:key() => ring_dvv:context()}.

-export_type([t/0]).

%% @doc No clients yet.
-spec new(ring_campaign:options()) -> t().
new(Options) ->
    #clients{options = Options}.

%% @doc Clients of a node that has been started.
-spec start(ring_state:member(), t()) -> t().
start(Name, #clients{options = Options} = C) ->
    lists:foldl(
        fun(_, #clients{sessions = S, idle = Idle} = Acc) ->
            Acc#clients{sessions = S + 1, idle = Idle#{{Name, S} => #{}}}
        end,
        C,
        lists:seq(1, sessions(Name, Options))
    ).

%% @doc Clients of a node that has been stopped: their requests never end.
-spec stopped(ring_state:member(), t()) -> t().
stopped(Name, #clients{idle = Idle, busy = Busy, history = History} = C) ->
    {Gone, Left} = lists:partition(
        fun({_, {#{session := {N, _}}, _}}) -> N =:= Name end, maps:to_list(Busy)
    ),
    Abandoned = [
        {write, R#{ended => never, outcome => failed}}
     || {_, {#{value := _} = R, _}} <- Gone
    ],
    C#clients{
        idle = maps:filter(fun({N, _}, _) -> N =/= Name end, Idle),
        busy = maps:from_list(Left),
        history = Abandoned ++ History
    }.

%% @doc Some of those without a request begin one.
-spec ask(t(), ring_world:t()) -> {t(), ring_world:t()}.
ask(#clients{idle = Idle} = C, World) ->
    lists:foldl(fun ask_perhaps/2, {C, World}, lists:sort(maps:keys(Idle))).

%% @doc A request has ended.
-spec done(Id :: term(), ring_request:result(), Now :: non_neg_integer(), t()) -> t().
done(Id, Result, Now, #clients{busy = Busy} = C) ->
    case maps:take(Id, Busy) of
        {{Asked, Contexts}, Left} ->
            ended(Result, Asked#{ended => Now}, Contexts, C#clients{busy = Left});
        error ->
            C
    end.

%% @doc Whether no request is under way.
-spec is_idle(t()) -> boolean().
is_idle(#clients{busy = Busy}) ->
    Busy =:= #{}.

%% @doc The writes and reads of clients so far, the last first.
-spec history(t()) -> [ring_history:event()].
history(#clients{history = History}) ->
    History.

%% @doc The number of requests that have failed.
-spec failed(t()) -> non_neg_integer().
failed(#clients{failed = Failed}) ->
    Failed.

%% @doc The key of that number.
-spec key(pos_integer()) -> ring_replica:key().
key(N) ->
    <<"key-", (integer_to_binary(N))/binary>>.

%% Internals.

sessions(_Name, #{sessions := Count, nodes := Nodes}) when Count >= Nodes ->
    Count div Nodes;
sessions(<<"kv-", Ordinal/binary>>, #{sessions := Count, nodes := Nodes}) ->
    case binary_to_integer(Ordinal) rem (Nodes div Count) of
        0 -> 1;
        _ -> 0
    end.

ask_perhaps(Session, {C, W}) ->
    case ring_world:uniform(8, W) of
        {1, Next} -> ask(Session, C, Next);
        {_, Next} -> {C, Next}
    end.

ask({Node, _} = Session, #clients{options = O, number = Number} = C, W0) ->
    #clients{idle = Idle, busy = Busy} = C,
    #{mode := Mode, reads := Reads, availability := Availability, write := Write} = O,
    {K, W1} = ring_world:uniform(keys(C), W0),
    {Choice, W2} = ring_world:uniform(10, W1),
    Key = chosen(K, Choice =< 5, Session, O),
    Context = maps:get(Key, map_get(Session, Idle), []),
    {Operation, Request} =
        case Choice of
            1 -> {{put, Key, none}, #{value => none, availability => Availability}};
            _ when Choice =< 5 ->
                {{put, Key, {value, Number}}, #{value => Number, availability => Availability}};
            _ -> {{get, Key}, #{}}
        end,
    Options = #{
        context => Context,
        mode => Mode,
        reads => Reads,
        availability => Availability,
        write => Write,
        timeout => 4000,
        prefer => Node
    },
    case ring_world_requests:request(Node, Number, Operation, Options, W2) of
        {true, W3} ->
            Asked = Request#{
                session => Session,
                key => Key,
                context => Context,
                started => ring_world:now(W3)
            },
            Asking = C#clients{
                number = Number + 1,
                idle = maps:remove(Session, Idle),
                busy = Busy#{Number => {Asked, map_get(Session, Idle)}}
            },
            {Asking, W3};
        {false, W3} ->
            {C, W3}
    end.

keys(#clients{options = #{writers := one}, sessions = Sessions}) -> Sessions;
keys(#clients{options = #{keys := Keys}}) -> Keys.

chosen(_, true, {_, Number}, #{writers := one}) -> key(Number + 1);
chosen(K, _, _, _) -> key(K).

ended(Result, #{session := Session, key := Key} = Ended, Contexts, C) ->
    #clients{idle = Idle, history = History, failed = Failed} = C,
    Known = maps:get(Key, Contexts, []),
    {Events, Context, More} =
        case {Result, Ended} of
            {{error, _}, #{value := _}} ->
                {[{write, Ended#{outcome => failed}}], Known, 1};
            {{error, _}, _} ->
                {[], Known, 1};
            {{Acknowledged, Dot, _Set, Next}, _} ->
                {[{write, Ended#{outcome => {Acknowledged, Dot, Next}}}], Next, 0};
            {{ok, Set, Next}, _} ->
                Observed = #{observed => ring_dvv:context(Set), values => ring_dvv:entries(Set)},
                {[{read, maps:merge(Ended, Observed)}], Next, 0}
        end,
    C#clients{
        idle = Idle#{Session => Contexts#{Key => ring_dvv:join(Known, Context)}},
        history = Events ++ History,
        failed = Failed + More
    }.

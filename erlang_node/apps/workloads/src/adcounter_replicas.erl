%%% @doc The replicas of an ad counter in virtual time, without the overlay below them.
%%%
%%% The synchronisation protocols themselves run, on the type that the ad counter replicates, with
%%% {@link lasp_sync}'s promises kept by a network of given latencies. Every node counts every ten
%%% seconds at a phase of its own and propagates every five, as in the published experiment. Who is
%%% a neighbour of whom is for the caller to tell: a graph that stands still, or the trace of an
%%% overlay under faults.
%%%
%%% A node that stops is gone with what it has told nobody; it comes back as another actor with
%%% nothing. What each life of a node has really counted is kept beside the replicas, for them to
%%% be held against.
-module(adcounter_replicas).

-export([new/1]).
-export([start/2]).
-export([stop/2]).
-export([begin_counting/3]).
-export([end_counting/1]).
-export([tell/3]).
-export([later/3]).
-export([cut/2]).
-export([heal/1]).
-export([advance/2]).
-export([await/4]).
-export([now/1]).
-export([starts/2]).
-export([names/1]).
-export([values/1]).
-export([living/1]).
-export([dead/1]).
-export([seconds_behind/1]).
-export([sent/2]).
-export([increment_interval/0]).

-type milliseconds() :: partisan_sim_events:milliseconds().
-type name() :: lasp_sync:name().
%% What lives have counted.
-type counts() :: [{adcounter_state:actor(), non_neg_integer()}].

-type options() :: #{
    mode := lasp_sync:mode(),
    scope := binary(),
    % From one node to another, the same each time, so that messages of a pair stay in order.
    latency := fun((From :: name(), To :: name()) -> milliseconds()),
    % How often each node counts; then it reports itself done.
    increments := pos_integer() | infinity
}.

-type life() :: #{
    name := name(),
    % Microseconds from the beginning of all to the start of the node.
    started := non_neg_integer(),
    seed := {integer(), integer(), integer()}
}.

-record(node, {
    life :: pos_integer(),
    incarnation :: partisan_peer:incarnation(),
    actor :: adcounter_state:actor(),
    sync :: term(),
    counted = 0 :: non_neg_integer(),
    % The newest start of each timer; an event of an older start is stale.
    timers = #{} :: #{term() => pos_integer()}
}).

-record(replicas, {
    options :: options(),
    protocol :: module(),
    events = partisan_sim_events:new() :: partisan_sim_events:t(),
    nodes = #{} :: #{name() => #node{}},
    starts = #{} :: #{name() => pos_integer()},
    dead = #{} :: #{adcounter_state:actor() => non_neg_integer()},
    side = fun(_) -> true end :: fun((name()) -> term()),
    counting = true :: boolean(),
    serial = 0 :: non_neg_integer(),
    % Bytes by kind and as frames; the number of messages.
    sent = #{} :: #{lasp_sync:kind() | frames | messages => non_neg_integer()}
}).

-opaque t() :: #replicas{}.
-export_type([t/0, options/0, life/0]).

-define(INCREMENT_MS, 10000).
-define(PROPAGATION_MS, 5000).

%% @doc No nodes yet.
-spec new(options()) -> t().
new(Options = #{mode := Mode}) ->
    #replicas{options = Options, protocol = lasp_sync:protocol(Mode)}.

%% @doc A node starts, for the first time or again; it says that it is there and does not count yet.
-spec start(life(), t()) -> t().
start(#{name := Name, started := Started, seed := Seed}, R = #replicas{protocol = Protocol}) ->
    Incarnation = partisan_sim_wire:incarnation(Started),
    {Sync, Effects} = Protocol:init(#{
        name => Name,
        incarnation => Incarnation,
        type => adcounter_state,
        scope => maps:get(scope, R#replicas.options),
        interval => ?PROPAGATION_MS,
        seed => Seed
    }),
    Life = starts(Name, R) + 1,
    Node = #node{
        life = Life,
        incarnation = Incarnation,
        actor = {Name, Incarnation},
        sync = Sync
    },
    Begun = R#replicas{starts = (R#replicas.starts)#{Name => Life}},
    report(false, Name, interpret(Name, Node, Effects, Begun)).

%% @doc A living node is gone at once, and what it has counted is that of the dead.
-spec stop(name(), t()) -> t().
stop(Name, R = #replicas{nodes = Nodes, dead = Dead}) ->
    {#node{actor = Actor, counted = Counted}, Others} = maps:take(Name, Nodes),
    R#replicas{nodes = Others, dead = Dead#{Actor => Counted}}.

%% @doc A living node counts for the first time after a delay, and at each interval after that.
-spec begin_counting(Delay :: milliseconds(), name(), t()) -> t().
begin_counting(Delay, Name, R = #replicas{nodes = Nodes}) ->
    #{Name := #node{life = Life}} = Nodes,
    schedule(Delay, {count, Name, Life}, R).

%% @doc Nobody counts any more.
-spec end_counting(t()) -> t().
end_counting(R) ->
    R#replicas{counting = false}.

%% @doc An event for a node, which may be dead.
-spec tell(name(), lasp_sync:event(), t()) -> t().
tell(Name, Event, R = #replicas{nodes = Nodes}) ->
    case is_map_key(Name, Nodes) of
        true -> step(Name, Event, R);
        false -> R
    end.

%% @doc Has something done after a delay.
-spec later(Delay :: milliseconds(), fun((t()) -> t()), t()) -> t().
later(Delay, Action, R) ->
    schedule(Delay, {act, Action}, R).

%% @doc Cuts the network: nodes for which the function answers differently cannot reach each other.
-spec cut(fun((name()) -> term()), t()) -> t().
cut(Side, R) ->
    R#replicas{side = Side}.

-spec heal(t()) -> t().
heal(R) ->
    R#replicas{side = fun(_) -> true end}.

%% @doc Lets time pass to this moment.
-spec advance(Until :: milliseconds(), t()) -> t().
advance(Until, R = #replicas{events = Events}) ->
    case partisan_sim_events:due(Until, Events) of
        {due, Due, Later} ->
            advance(Until, lists:foldl(fun occur/2, R#replicas{events = Later}, Due));
        {elapsed, Elapsed} ->
            R#replicas{events = Elapsed}
    end.

%% @doc Lets time pass until something holds, at which it is looked once per period. An error when
%% it does not until this moment.
-spec await(fun((t()) -> boolean()), Period :: pos_integer(), Until :: milliseconds(), t()) -> t().
await(Holds, Period, Until, R) ->
    Now = now(R),
    case Holds(R) of
        true -> R;
        false when Now < Until -> await(Holds, Period, Until, advance(Now + Period, R));
        false -> error({does_not_hold_until, Until})
    end.

-spec now(t()) -> milliseconds().
now(#replicas{events = Events}) ->
    partisan_sim_events:now(Events).

%% @doc How often a node has started.
-spec starts(name(), t()) -> non_neg_integer().
starts(Name, #replicas{starts = Starts}) ->
    maps:get(Name, Starts, 0).

%% @doc The living nodes.
-spec names(t()) -> [name()].
names(#replicas{nodes = Nodes}) ->
    maps:keys(Nodes).

%% @doc What the living nodes hold.
-spec values(t()) -> [Value :: term()].
values(#replicas{protocol = Protocol, nodes = Nodes}) ->
    [Protocol:value(Sync) || #node{sync = Sync} <- maps:values(Nodes)].

%% @doc What the present lives have counted.
-spec living(t()) -> counts().
living(#replicas{nodes = Nodes}) ->
    [{Actor, Counted} || #node{actor = Actor, counted = Counted} <- maps:values(Nodes)].

%% @doc What the lives that are over had counted.
-spec dead(t()) -> counts().
dead(#replicas{dead = Dead}) ->
    maps:to_list(Dead).

%% @doc By how many seconds of counting a replica is behind what the living have counted, in the
%% mean.
-spec seconds_behind(t()) -> float().
seconds_behind(R) ->
    Counts = [Counted || {_, Counted} <- living(R)],
    Counted = lists:sum(Counts),
    Missing = [Counted - (adcounter_state:total(V) - of_dead(V, R)) || V <- values(R)],
    partisan_cells:mean(Missing) / (length(Counts) * 1000 / ?INCREMENT_MS).

%% @doc Bytes of these kinds that all have sent, or messages.
-spec sent([lasp_sync:kind() | frames | messages], t()) -> non_neg_integer().
sent(Kinds, #replicas{sent = Sent}) ->
    lists:sum([maps:get(Kind, Sent, 0) || Kind <- Kinds]).

%% @doc How much time is between two increments of a node.
-spec increment_interval() -> milliseconds().
increment_interval() ->
    ?INCREMENT_MS.

%% Internals: time.

schedule(Delay, Event, R = #replicas{events = Events}) ->
    R#replicas{events = partisan_sim_events:schedule(Delay, Event, Events)}.

occur({act, Action}, R) ->
    Action(R);
occur({count, Name, Life}, R = #replicas{nodes = Nodes, counting = true}) ->
    case Nodes of
        #{Name := Node = #node{life = Life}} -> count(Name, Node, R);
        #{} -> R
    end;
occur({count, _Name, _Life}, R) ->
    R;
occur({timer, Name, Life, Timer, Serial}, R = #replicas{nodes = Nodes}) ->
    case Nodes of
        #{Name := #node{life = Life, timers = #{Timer := Serial}}} ->
            step(Name, {timer, Timer}, R);
        #{} ->
            R
    end;
%% A message arrives at the life that it was sent to, and of no former life where there is another.
occur({message, {From, FromLife}, {To, ToLife}, Message}, R) ->
    #replicas{nodes = Nodes, starts = Starts, side = Side} = R,
    case {Nodes, Starts} of
        {#{To := #node{life = ToLife}}, #{From := FromLife}} ->
            case Side(From) =:= Side(To) of
                true -> step(To, {message, From, Message}, R);
                false -> R
            end;
        _ ->
            R
    end.

%% Internals: nodes.

count(Name, Node = #node{life = Life, actor = Actor, counted = Before}, R) ->
    #replicas{nodes = Nodes, options = #{increments := Increments}} = R,
    Counted = Before + 1,
    Own = R#replicas{nodes = Nodes#{Name := Node#node{counted = Counted}}},
    Shown = step(Name, {update, adcounter_state:counted(0, Actor, Counted)}, Own),
    case Counted of
        Increments -> report(true, Name, Shown);
        _ -> schedule(?INCREMENT_MS, {count, Name, Life}, Shown)
    end.

report(Done, Name, R = #replicas{nodes = Nodes}) ->
    #{Name := #node{incarnation = Incarnation, counted = Counted}} = Nodes,
    step(Name, {update, adcounter_state:report(Name, Incarnation, Done, Counted)}, R).

of_dead(Value, R) ->
    lists:sum([adcounter_state:count(Actor, Value) || {Actor, _} <- dead(R)]).

step(Name, Event, R = #replicas{protocol = Protocol, nodes = Nodes}) ->
    #{Name := Node = #node{sync = Sync}} = Nodes,
    {Next, Effects} = Protocol:handle(Event, Sync),
    interpret(Name, Node#node{sync = Next}, Effects, R).

interpret(Name, Node, Effects, R = #replicas{nodes = Nodes}) ->
    lists:foldl(
        fun(Effect, Acc) -> effect(Effect, Name, Acc) end,
        R#replicas{nodes = Nodes#{Name => Node}},
        Effects
    ).

effect({send, To, _Class, Message}, Name, R) ->
    #replicas{starts = #{Name := Life} = Starts, options = #{latency := Latency}} = R,
    {Bytes, _} = partisan_frame:message(lasp_store, {lasp_sync, Name, Message}),
    % Who is a neighbour before it has started is written to as what it will be first.
    Arrival = {message, {Name, Life}, {To, maps:get(To, Starts, 1)}, Message},
    schedule(Latency(Name, To), Arrival, add(frames, Bytes, add(messages, 1, R)));
effect({start_timer, Timer, Delay}, Name, R = #replicas{nodes = Nodes, serial = Before}) ->
    #{Name := Node = #node{life = Life, timers = Timers}} = Nodes,
    Serial = Before + 1,
    Started = Node#node{timers = Timers#{Timer => Serial}},
    schedule(Delay, {timer, Name, Life, Timer, Serial}, R#replicas{
        nodes = Nodes#{Name := Started}, serial = Serial
    });
effect({count, Kind, sent, Bytes}, _Name, R) ->
    add(Kind, Bytes, R);
effect(_Effect, _Name, R) ->
    R.

add(What, Amount, R = #replicas{sent = Sent}) ->
    R#replicas{sent = Sent#{What => maps:get(What, Sent, 0) + Amount}}.

%%% @doc The ad counter's replicas in virtual time, with the counting of the published experiment.
%%%
%%% Every node counts every ten seconds at its own phase and propagates every five, on {@link
%%% simulator_replicas}. The true counts of each incarnation are kept separately, and the replicas
%%% are checked against them.
-module(experiments_counter).
-behaviour(simulator_replicas).

-export([new/1]).
-export([start/2]).
-export([stop/2]).
-export([begin_counting/3]).
-export([end_counting/1]).
-export([living/1]).
-export([dead/1]).
-export([seconds_behind/1]).
-export([frame_bytes/1]).
-export([messages/1]).
-export([increment_interval/0]).
-export([due/3]).
-export([changed/2]).

-type milliseconds() :: simulator_clock:milliseconds().
-type name() :: lasp_sync:name().
-type replicas() :: simulator_replicas:t().
%% True counts of incarnations.
-type counts() :: [{adcounter_state:actor(), non_neg_integer()}].

-type options() :: #{
    mode := lasp_sync:mode(),
    scope := binary(),
    latency := fun((From :: name(), To :: name()) -> milliseconds()),
    % Increments per node, after which it reports itself done.
    increments := pos_integer() | infinity
}.

%% A node that starts that many microseconds after the beginning of the simulation.
-type identity() :: #{
    name := name(),
    started := non_neg_integer(),
    seed := {integer(), integer(), integer()}
}.

-record(counting, {
    increments :: pos_integer() | infinity,
    enabled = true :: boolean(),
    % The present incarnation of each living node, and its counts.
    living = #{} :: #{name() => {adcounter_state:actor(), non_neg_integer()}},
    dead = #{} :: #{adcounter_state:actor() => non_neg_integer()}
}).

-export_type([options/0, identity/0]).

-define(INCREMENT_MS, 10000).
-define(PROPAGATION_MS, 5000).

%% @doc No nodes.
-spec new(options()) -> replicas().
new(#{increments := Increments} = Options) ->
    simulator_replicas:new((maps:remove(increments, Options))#{
        type => adcounter_state,
        interval => ?PROPAGATION_MS,
        workload => {?MODULE, #counting{increments = Increments}}
    }).

%% @doc Starts a node, for the first time or again; it reports itself, and does not count yet.
-spec start(identity(), replicas()) -> replicas().
start(#{name := Name, started := Started} = Identity, R) ->
    #counting{living = Living} = C = simulator_replicas:state(R),
    Incarnation = simulator_wire:incarnation(Started),
    Counting = C#counting{living = Living#{Name => {{Name, Incarnation}, 0}}},
    Begun = simulator_replicas:start(
        Identity#{incarnation => Incarnation}, simulator_replicas:put_state(Counting, R)
    ),
    report(false, Name, Begun).

%% @doc Stops a living node at once; its counts belong to the dead.
-spec stop(name(), replicas()) -> replicas().
stop(Name, R) ->
    #counting{living = Living, dead = Dead} = C = simulator_replicas:state(R),
    {{Actor, Counted}, Others} = maps:take(Name, Living),
    Left = C#counting{living = Others, dead = Dead#{Actor => Counted}},
    simulator_replicas:stop(Name, simulator_replicas:put_state(Left, R)).

%% @doc Starts the counting of a living node: after a delay, and at each interval after that.
-spec begin_counting(Delay :: milliseconds(), name(), replicas()) -> replicas().
begin_counting(Delay, Name, R) ->
    simulator_replicas:schedule(Delay, Name, count, R).

%% @doc Stops all counting.
-spec end_counting(replicas()) -> replicas().
end_counting(R) ->
    C = simulator_replicas:state(R),
    simulator_replicas:put_state(C#counting{enabled = false}, R).

%% @doc The counts of the present incarnations.
-spec living(replicas()) -> counts().
living(R) ->
    #counting{living = Living} = simulator_replicas:state(R),
    maps:values(Living).

%% @doc The counts of the ended incarnations.
-spec dead(replicas()) -> counts().
dead(R) ->
    #counting{dead = Dead} = simulator_replicas:state(R),
    maps:to_list(Dead).

%% @doc The mean lag of the replicas behind the counts of the living nodes, in seconds of counting.
-spec seconds_behind(replicas()) -> float().
seconds_behind(R) ->
    Counts = [Counted || {_, Counted} <- living(R)],
    Counted = lists:sum(Counts),
    Missing = [
        Counted - (adcounter_state:total(Value) - of_dead(Value, R))
     || Value <- simulator_replicas:values(R)
    ],
    experiments_cells:mean(Missing) / (length(Counts) * 1000 / ?INCREMENT_MS).

%% @doc Bytes sent by all nodes, as frames of the transport.
-spec frame_bytes(replicas()) -> non_neg_integer().
frame_bytes(R) ->
    lists:sum([Bytes || {_, Bytes} <- maps:values(simulator_replicas:frames(R))]).

%% @doc Messages sent by all nodes.
-spec messages(replicas()) -> non_neg_integer().
messages(R) ->
    lists:sum([Messages || {Messages, _} <- maps:values(simulator_replicas:frames(R))]).

%% @doc The time between two increments of a node.
-spec increment_interval() -> milliseconds().
increment_interval() ->
    ?INCREMENT_MS.

%% Callbacks.

%% @private
-spec due(name(), count, replicas()) -> replicas().
due(Name, count, R) ->
    case simulator_replicas:state(R) of
        #counting{enabled = true} = C -> count(Name, C, R);
        #counting{} -> R
    end.

%% @private
-spec changed(name(), replicas()) -> replicas().
changed(_Name, R) ->
    R.

%% Internals.

count(Name, #counting{living = Living, increments = Increments} = C, R) ->
    #{Name := {Actor, Before}} = Living,
    Counted = Before + 1,
    Own = simulator_replicas:put_state(C#counting{living = Living#{Name := {Actor, Counted}}}, R),
    Update = {update, adcounter_state:counted(0, Actor, Counted)},
    Shown = simulator_replicas:deliver(Name, Update, Own),
    case Counted of
        Increments -> report(true, Name, Shown);
        _ -> simulator_replicas:schedule(?INCREMENT_MS, Name, count, Shown)
    end.

report(Done, Name, R) ->
    #counting{living = #{Name := {{Name, Incarnation}, Counted}}} = simulator_replicas:state(R),
    Report = adcounter_state:report(Name, Incarnation, Done, Counted),
    simulator_replicas:deliver(Name, {update, Report}, R).

of_dead(Value, R) ->
    lists:sum([adcounter_state:count(Actor, Value) || {Actor, _} <- dead(R)]).

%%% @doc Effects of faults on the overlay of a cluster with the runtime's settings, in virtual time.
%%%
%%% Experiments like those of {@link experiments_papers}, without counterparts in the papers: the
%%% runtime's own parameters, with seeds and beacons, and nodes that restart. Cells have the fault
%%% in place of the overlay.
-module(experiments_churn).

-export([names/0]).
-export([run/2]).
-export([faults/1]).

-import(experiments_cells, [emit/5, say/3]).

-type name() :: churn_kill | churn_steady | churn_partition.
-type options() :: #{
    nodes := pos_integer(),
    seed := integer(),
    cycles := non_neg_integer(),
    emit := fun((experiments_cells:cell()) -> ok),
    progress := fun((string()) -> ok),
    _ => _
}.

-export_type([name/0, options/0]).

-define(CHURN_MS, 300000).
-define(PARTITION_MS, 60000).

%% @doc The experiments.
-spec names() -> [name()].
names() ->
    [churn_kill, churn_steady, churn_partition].

%% @doc The faults of an experiment. Each is injected into the same cluster at the same moment.
-spec faults(name()) -> [experiments_faults:fault()].
faults(churn_kill) -> [{kill, 10}, {kill, 30}, {kill, 50}];
faults(churn_steady) -> [{churn, 1, ?CHURN_MS}];
faults(churn_partition) -> [{partition, ?PARTITION_MS}].

%% @doc Runs an experiment; cells go to `emit' as they come.
-spec run(name(), options()) -> ok.
run(Name, Options) ->
    say("~b nodes join", [maps:get(nodes, Options)], Options),
    Cluster = experiments_faults:form(Options),
    lists:foreach(
        fun(Fault) ->
            say("~s", [experiments_faults:name(Fault)], Options),
            report(experiments_faults:name(Fault), experiments_faults:play(Fault, Cluster), Options)
        end,
        faults(Name)
    ).

%% Internals.

report(Name, #{looks := Looks, over := Over} = Played, #{nodes := Nodes} = Options) ->
    #{trace := Trace, last := Last, whole := Whole, connected := Connected} = Played,
    [First | _] = Looks,
    End = lists:last(Looks),
    lists:foreach(
        fun(#{at := At, reach := Reach}) -> emit(churn_reach, Name, At / 1000, Reach, Options) end,
        Looks
    ),
    lists:foreach(
        fun({Parameter, Value}) -> emit(churn, Name, Parameter, Value, Options) end,
        [
            {killed, length([V || {_, {crash, Victims}} <- Trace, V <- Victims])},
            {least_reach, lists:min([Reach || #{reach := Reach} <- Looks])},
            {most_components, lists:max([Count || #{components := Count} <- Looks])},
            {messages_per_node_second, rate(sent, First, End) / Nodes},
            {frame_bytes_per_node_second, rate(bytes, First, End) / Nodes}
            | seconds(survivors_connected, Connected, Over) ++
                seconds(one_component, Whole, Last)
        ]
    ).

%% Growth of an observed figure per second.
rate(What, #{at := From} = First, #{at := To} = Last) ->
    (map_get(What, Last) - map_get(What, First)) * 1000 / (To - From).

%% An event that never came has no cell, which misses its target.
seconds(_Parameter, never, _Since) -> [];
seconds(Parameter, {ok, At}, Since) -> [{Parameter, (At - Since) / 1000}].

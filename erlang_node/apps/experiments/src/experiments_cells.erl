%%% @doc The output of experiments: cells and progress.
-module(experiments_cells).

-export([emit/5]).
-export([say/3]).
-export([mean/1]).
-export([live_bytes/0]).

%% One figure: its overlay, the number of nodes, and the value of the varied parameter.
-type cell() :: #{
    experiment := atom(),
    overlay := atom(),
    nodes := pos_integer(),
    parameter := atom() | number(),
    value := number()
}.

%% Destinations of cells and progress, and the size of the cluster.
-type reporting() :: #{
    nodes := pos_integer(),
    emit := fun((cell()) -> ok),
    progress := fun((string()) -> ok),
    _ => _
}.

-export_type([cell/0, reporting/0]).

%% @doc Reports one figure.
-spec emit(Experiment :: atom(), Overlay :: atom(), atom() | number(), number(), reporting()) -> ok.
emit(Experiment, Overlay, Parameter, Value, #{emit := Emit, nodes := Nodes}) ->
    Emit(#{
        experiment => Experiment,
        overlay => Overlay,
        nodes => Nodes,
        parameter => Parameter,
        value => Value
    }).

%% @doc Reports progress.
-spec say(io:format(), [term()], reporting()) -> ok.
say(Format, Arguments, #{progress := Progress}) ->
    Progress(lists:flatten(io_lib:format(Format, Arguments))).

%% @doc The arithmetic mean.
-spec mean([number(), ...]) -> float().
mean(Values) ->
    lists:sum(Values) / length(Values).

%% @doc Live bytes on the heap of this process: of an experiment, its cluster and almost nothing
%% else.
-spec live_bytes() -> non_neg_integer().
live_bytes() ->
    true = erlang:garbage_collect(),
    {_, Info} = process_info(self(), garbage_collection_info),
    % Words that survived a collection; the heap's own size includes room to grow.
    proplists:get_value(recent_size, Info) * erlang:system_info(wordsize).

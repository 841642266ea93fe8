%%% @doc Counters, gauges and histograms with writes of a few nanoseconds.
%%%
%%% A metric is registered once (`new/4'); each combination of label values is a separate series,
%%% created on first use. A write is an atomic add without a message; only the exporter pays, when
%%% it calls `collect/0'.
%%%
%%% ```
%%% partisan_metrics:new(counter, lasp_sync_bytes_total, "Payload bytes", [kind, direction]),
%%% partisan_metrics:inc(lasp_sync_bytes_total, [full, sent], 512),
%%% partisan_metrics:value(lasp_sync_bytes_total, [full, sent]).   % 512
%%% '''
%%%
%%% On a hot path, look up the series once and keep it (in a state, or in a persistent term):
%%% ```
%%% Series = partisan_metrics:series(lasp_sync_bytes_total, [full, sent]),
%%% partisan_metrics:add(Series, 512).
%%% '''
%%%
%%% A value computed from other state needs no gauge: `new_function/5' registers a function that the
%%% exporter calls. Histograms measure durations: recorded in nanoseconds, so that sums stay
%%% integers, and reported in seconds. Label values are atoms, binaries or integers; never the name
%%% of a peer, since their number must stay bounded.
%%%
%%% The registry is an ETS table of the calling process (the supervisor of the application; a test
%%% that runs without the application calls `init/0' itself). Only reads and the first use of a
%%% series touch it.
-module(partisan_metrics).

%% Registration.
-export([init/0]).
-export([new/4]).
-export([new_function/5]).
%% By name.
-export([inc/2]).
-export([inc/3]).
-export([set/3]).
-export([value/2]).
%% By series.
-export([series/2]).
-export([add/2]).
-export([record/2]).
%% For the exporter.
-export([collect/0]).

-define(TABLE, ?MODULE).

-type name() :: atom().
-type label_value() :: atom() | binary() | integer().
-type kind() :: counter | gauge | {histogram, UpperBoundsInSeconds :: [number()]}.
-opaque series() ::
    {counter, counters:counters_ref()}
    | {gauge, atomics:atomics_ref()}
    | {histogram, UpperBoundsInNanoseconds :: [pos_integer()], counters:counters_ref()}.
-type sample() ::
    {Labels :: [{atom(), label_value()}], Value :: number() | histogram()}.
%% Cumulative, as Prometheus expects them; the bucket of +Inf is `count'.
-type histogram() :: #{
    buckets := [{UpperBoundInSeconds :: float(), Count :: non_neg_integer()}],
    count := non_neg_integer(),
    sum := float()
}.
-type family() :: #{
    name := name(),
    type := counter | gauge | histogram,
    help := string(),
    samples := [sample()]
}.

-export_type([name/0, kind/0, label_value/0, series/0, sample/0, histogram/0, family/0]).

%% Registration.

%% @doc Creates the registry, owned by the caller. Idempotent.
-spec init() -> ok.
init() ->
    case ets:whereis(?TABLE) of
        undefined ->
            ?TABLE = ets:new(?TABLE, [named_table, public, ordered_set, {read_concurrency, true}]),
            ok;
        _ ->
            ok
    end.

%% @doc Registers a metric. Idempotent for the same definition, an error for another.
-spec new(kind(), name(), Help :: string(), LabelNames :: [atom()]) -> ok.
new(Kind, Name, Help, LabelNames) ->
    register_metric(Name, {Kind, Help, LabelNames}).

%% @doc Registers a metric whose samples `Module:Function()' computes at each collection, as a list
%% of `{LabelValues, Value}'.
-spec new_function(counter | gauge, name(), Help :: string(), LabelNames :: [atom()],
    {module(), Function :: atom()}) -> ok.
new_function(Type, Name, Help, LabelNames, {Module, Function}) ->
    register_metric(Name, {{function, Type, Module, Function}, Help, LabelNames}).

%% By name.

%% @doc Counts one event.
-spec inc(name(), [label_value()]) -> ok.
inc(Name, LabelValues) ->
    add(series(Name, LabelValues), 1).

%% @doc Adds to a counter.
-spec inc(name(), [label_value()], non_neg_integer()) -> ok.
inc(Name, LabelValues, N) ->
    add(series(Name, LabelValues), N).

%% @doc Sets a gauge.
-spec set(name(), [label_value()], integer()) -> ok.
set(Name, LabelValues, Value) ->
    {gauge, Gauge} = series(Name, LabelValues),
    atomics:put(Gauge, 1, Value).

%% @doc The value of a counter or gauge; 0 if never written.
-spec value(name(), [label_value()]) -> integer().
value(Name, LabelValues) ->
    case series(Name, LabelValues) of
        {counter, Counter} -> counters:get(Counter, 1);
        {gauge, Gauge} -> atomics:get(Gauge, 1)
    end.

%% By series.

%% @doc The series of these label values, in the order of the label names. Crashes with
%% `{unknown_metric, Name}' or `{bad_labels, ...}'.
-spec series(name(), [label_value()]) -> series().
series(Name, LabelValues) ->
    case ets:lookup(?TABLE, {series, Name, LabelValues}) of
        [{_, Series}] -> Series;
        [] -> make_series(Name, LabelValues)
    end.

%% @doc Adds to a counter or a gauge.
-spec add(series(), non_neg_integer()) -> ok.
add({counter, Counter}, N) ->
    counters:add(Counter, 1, N);
add({gauge, Gauge}, N) ->
    atomics:add(Gauge, 1, N).

%% @doc Adds a duration, in nanoseconds, to a histogram.
-spec record(series(), non_neg_integer()) -> ok.
record({histogram, Bounds, Counter}, Nanoseconds) ->
    counters:add(Counter, 1, Nanoseconds),
    counters:add(Counter, bucket(Bounds, Nanoseconds, 2), 1).

%% For the exporter.

%% @doc Every registered metric with the present values of its series, ordered by name.
-spec collect() -> [family()].
collect() ->
    Metrics = ets:match(?TABLE, {{metric, '$1'}, '$2'}),
    [collect(Name, Definition) || [Name, Definition] <- Metrics].

%% Internals.

register_metric(Name, Definition) ->
    case ets:insert_new(?TABLE, {{metric, Name}, Definition}) of
        true -> ok;
        false -> same_definition(Name, Definition)
    end.

same_definition(Name, Definition) ->
    case definition(Name) of
        Definition -> ok;
        Other -> error({metric_already_registered, Name, Other})
    end.

definition(Name) ->
    case ets:lookup(?TABLE, {metric, Name}) of
        [{_, Definition}] -> Definition;
        [] -> error({unknown_metric, Name})
    end.

make_series(Name, LabelValues) ->
    {Kind, _Help, LabelNames} = definition(Name),
    length(LabelValues) =:= length(LabelNames) orelse
        error({bad_labels, Name, LabelNames, LabelValues}),
    % The second of two concurrent callers uses the first one's series, so that no increment is
    % lost.
    Key = {series, Name, LabelValues},
    _ = ets:insert_new(?TABLE, {Key, make_series(Kind)}),
    ets:lookup_element(?TABLE, Key, 2).

make_series(counter) ->
    {counter, counters:new(1, [write_concurrency])};
make_series(gauge) ->
    {gauge, atomics:new(1, [])};
make_series({histogram, Seconds}) ->
    % One more bucket for values above every bound, and one more slot for the sum.
    Bounds = [round(S * 1_000_000_000) || S <- lists:usort(Seconds)],
    {histogram, Bounds, counters:new(length(Bounds) + 2, [write_concurrency])}.

bucket([Bound | Bounds], Value, Index) when Value > Bound ->
    bucket(Bounds, Value, Index + 1);
bucket(_Bounds, _Value, Index) ->
    Index.

collect(Name, {{function, Type, Module, Function}, Help, LabelNames}) ->
    Samples = [{lists:zip(LabelNames, Values), Value} || {Values, Value} <- Module:Function()],
    #{name => Name, type => Type, help => Help, samples => Samples};
collect(Name, {Kind, Help, LabelNames}) ->
    Series = ets:match(?TABLE, {{series, Name, '$1'}, '$2'}),
    Samples = [{lists:zip(LabelNames, Values), read(S)} || [Values, S] <- Series],
    #{name => Name, type => type(Kind), help => Help, samples => Samples}.

type({histogram, _}) -> histogram;
type(Kind) -> Kind.

read({counter, Counter}) ->
    counters:get(Counter, 1);
read({gauge, Gauge}) ->
    atomics:get(Gauge, 1);
read({histogram, Bounds, Counter}) ->
    Slots = lists:seq(2, length(Bounds) + 2),
    {Cumulative, Count} = lists:mapfoldl(
        fun(Slot, Acc) ->
            Sum = Acc + counters:get(Counter, Slot),
            {Sum, Sum}
        end,
        0,
        Slots
    ),
    #{
        buckets => lists:zip([B / 1.0e9 || B <- Bounds], lists:droplast(Cumulative)),
        count => Count,
        sum => counters:get(Counter, 1) / 1.0e9
    }.

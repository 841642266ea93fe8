%%% @doc A map of bounded size that keeps the latest entries.
%%%
%%% For data by node name: names come and go for as long as a cluster runs.
-module(partisan_recent).

-compile({no_auto_import, [size/1]}).

-export([new/1]).
-export([find/2]).
-export([store/3]).
-export([size/1]).

-opaque t(Key, Value) :: {
    Limit :: pos_integer(), Clock :: non_neg_integer(), #{Key => {Written :: pos_integer(), Value}}
}.
-export_type([t/2]).

%% @doc An empty map of at most that many entries.
-spec new(Limit :: pos_integer()) -> t(_, _).
new(Limit) ->
    {Limit, 0, #{}}.

%% @doc The value of a key, if it is kept.
-spec find(Key, t(Key, Value)) -> {ok, Value} | error.
find(Key, {_, _, Map}) ->
    case Map of
        #{Key := {_, Value}} -> {ok, Value};
        #{} -> error
    end.

%% @doc Stores a value as the latest entry; the oldest half goes when the map is full.
-spec store(Key, Value, t(Key, Value)) -> t(Key, Value).
store(Key, Value, {Limit, Clock0, Map0}) ->
    Clock = Clock0 + 1,
    Map = Map0#{Key => {Clock, Value}},
    case map_size(Map) > Limit of
        % Half of it at once, so that this is rare.
        true -> {Limit, Clock, maps:from_list(newest(Limit div 2, maps:to_list(Map)))};
        false -> {Limit, Clock, Map}
    end.

%% @doc The number of entries.
-spec size(t(_, _)) -> non_neg_integer().
size({_, _, Map}) ->
    map_size(Map).

%% Internals.

newest(Count, Entries) ->
    Sorted = lists:sort(fun({_, {A, _}}, {_, {B, _}}) -> A >= B end, Entries),
    lists:sublist(Sorted, max(1, Count)).

%%% @doc Counts of explored executions, and the counterexamples with the fewest decisions.
-module(verify_tally).

-export([new/0]).
-export([add/4]).
-export([cut/2]).
-export([executions/1]).
-export([failing/1]).
-export([result/2]).

%% `complete': whether all executions were explored; otherwise `frontier' counts the branches that
%% were not. A search that is not complete proves nothing, even if nothing failed.
%% `fewest': the failing executions with the fewest decisions, and the number of their classes
%% under symmetry.
%% `examples': those of `fewest' in canonical order, at most as many as the search asks for.
%% `raw': subsets of the decisions about the messages of the execution without faults. Several
%% subsets may make the same execution, as a message that is not sent cannot be dropped. Only for
%% the scopes `base' and `raw', order `distinct', without crashes.
-type result() :: #{
    executions := non_neg_integer(),
    failing := non_neg_integer(),
    complete := boolean(),
    frontier := non_neg_integer(),
    fewest :=
        none
        | #{decisions := non_neg_integer(), failing := pos_integer(), classes := pos_integer()},
    examples := [#{schedule := verify_schedule:t(), violated := binary()}],
    raw => #{executions := non_neg_integer(), failing := non_neg_integer()}
}.

-export_type([t/0, result/0]).

-record(tally, {
    executions = 0 :: non_neg_integer(),
    failing = 0 :: non_neg_integer(),
    raw = 0 :: non_neg_integer(),
    raw_failing = 0 :: non_neg_integer(),
    frontier = 0 :: non_neg_integer(),
    % Decisions of the shortest counterexamples, their number, and the first of them.
    fewest = infinity :: non_neg_integer() | infinity,
    shortest = 0 :: non_neg_integer(),
    examples = [] :: [{verify_schedule:t(), iodata()}]
}).

-opaque t() :: #tally{}.

%% Counterexamples kept to count their classes; of more, the classes are a lower bound.
-define(KEPT, 10000).

%% @doc Nothing explored yet.
-spec new() -> t().
new() ->
    #tally{}.

%% @doc Counts one execution, of a schedule in reverse order, that stands for so many subsets.
-spec add(ok | {violated, iodata()}, verify_schedule:t(), Subsets :: pos_integer(), t()) -> t().
add(ok, _Schedule, Subsets, #tally{executions = Executions, raw = Raw} = T) ->
    T#tally{executions = Executions + 1, raw = Raw + Subsets};
add({violated, Text}, Schedule, Subsets, #tally{} = T) ->
    Counted = T#tally{
        executions = T#tally.executions + 1,
        failing = T#tally.failing + 1,
        raw = T#tally.raw + Subsets,
        raw_failing = T#tally.raw_failing + Subsets
    },
    shortest(length(Schedule), Schedule, Text, Counted).

%% @doc Counts branches that are not explored.
-spec cut(non_neg_integer(), t()) -> t().
cut(Branches, #tally{frontier = Frontier} = T) ->
    T#tally{frontier = Frontier + Branches}.

%% @doc Executions so far.
-spec executions(t()) -> non_neg_integer().
executions(#tally{executions = Executions}) ->
    Executions.

%% @doc Executions so far that violate the property.
-spec failing(t()) -> non_neg_integer().
failing(#tally{failing = Failing}) ->
    Failing.

%% @doc The result for a complete search ({@link verify_search:complete/1}).
-spec result(map(), t()) -> result().
result(#{examples := Most} = Search, #tally{frontier = Frontier, examples = Examples} = T) ->
    #{
        executions => T#tally.executions,
        failing => T#tally.failing,
        complete => Frontier =:= 0,
        frontier => Frontier,
        fewest => fewest(Search, T),
        examples => [
            #{schedule => Schedule, violated => unicode:characters_to_binary(Text)}
         || {_Canonical, Schedule, Text} <- lists:sublist(in_order(Examples), Most)
        ],
        raw => #{executions => T#tally.raw, failing => T#tally.raw_failing}
    }.

%% Internals.

shortest(Length, Schedule, Text, #tally{fewest = Fewest} = T) when Length < Fewest ->
    T#tally{fewest = Length, shortest = 1, examples = [{Schedule, Text}]};
shortest(Fewest, Schedule, Text, #tally{fewest = Fewest, shortest = Number} = T) ->
    #tally{examples = Examples} = T,
    Kept =
        if
            Number < ?KEPT -> [{Schedule, Text} | Examples];
            true -> Examples
        end,
    T#tally{shortest = Number + 1, examples = Kept};
shortest(_Longer, _Schedule, _Text, T) ->
    T.

fewest(_Search, #tally{fewest = infinity}) ->
    none;
fewest(Search, #tally{fewest = Fewest, shortest = Number, examples = Examples}) ->
    Schedules = [Schedule || {Schedule, _Text} <- Examples],
    Classes = verify_symmetry:classes(Schedules, verify_search:group(Search)),
    #{decisions => Fewest, failing => Number, classes => length(Classes)}.

in_order(Examples) ->
    lists:sort([
        {verify_schedule:canonical(Schedule), lists:reverse(Schedule), Text}
     || {Schedule, Text} <- Examples
    ]).

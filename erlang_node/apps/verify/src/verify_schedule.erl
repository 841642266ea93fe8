%%% @doc A schedule: the decisions by which one execution of a world differs from the one without
%%% faults. Executions are deterministic, so it is all that a counterexample needs.
%%%
%%% Decisions are keyed by sender, receiver, type and occurrence of a message, so a schedule does
%%% not depend on the order in which an execution happens to reach them.
-module(verify_schedule).

-export([canonical/1]).
-export([run/2]).
-export([start/1]).
-export([decide/2]).
-export([from_trace/1]).
-export([rules/1]).
-export([rules/2]).
-export([key/1]).

-type step() :: {verify_world:key() | verify_world:crash_key(), verify_world:decision()}.
%% In the order of occurrence, without `deliver'.
-type t() :: [step()].

%% Decisions not yet met.
-type open() :: #{verify_world:key() | verify_world:crash_key() => verify_world:decision()}.

-export_type([t/0, step/0, open/0]).

%% @doc The form in which two schedules with the same decisions are equal.
-spec canonical(t()) -> t().
canonical(Schedule) ->
    lists:usort([Step || {_Key, Decision} = Step <- Schedule, Decision =/= deliver]).

%% @doc Runs a world to its end under a schedule. Also returns the decisions that were not met: if
%% there are any, the schedule belongs to another protocol or setup. Decisions `crash' need a world
%% with `crashes'.
-spec run(t(), verify_world:t()) -> {verify_world:t(), Unmet :: t()}.
run(Schedule, World0) ->
    {World, Open} = verify_world:run(fun decide/2, start(Schedule), World0),
    {World, lists:sort(maps:to_list(Open))}.

%% @doc The decisions of a schedule, for {@link decide/2}.
-spec start(t()) -> open().
start(Schedule) ->
    maps:from_list(canonical(Schedule)).

%% @doc The decision of a schedule at a point: a function for {@link verify_world:run/3}.
-spec decide(verify_world:point(), open()) -> {verify_world:decision(), open()}.
decide(Point, Open) ->
    Key = key(Point),
    case maps:take(Key, Open) of
        {Decision, Rest} -> {Decision, Rest};
        error -> {deliver, Open}
    end.

%% @doc The schedule of an execution, in the order of occurrence.
-spec from_trace([verify_world:entry()]) -> t().
from_trace(Trace) ->
    lists:flatmap(fun step/1, Trace).

%% @doc The schedule as rules of faults, for a live node or for {@link verify_world:set_rules/2}, if
%% they are in force from the first message on. A late message is 3 s late.
-spec rules(t()) -> [partisan_fault:rule()].
rules(Schedule) ->
    rules(Schedule, 3000).

%% @doc As {@link rules/1}, with the milliseconds of `late'.
-spec rules(t(), Late :: pos_integer()) -> [partisan_fault:rule()].
rules(Schedule, Late) ->
    [
        rule(<<"step-", (integer_to_binary(Number))/binary>>, Step, Late)
     || {Number, Step} <- lists:zip(lists:seq(1, length(Schedule)), Schedule)
    ].

%% @doc The key of a point.
-spec key(verify_world:point()) -> verify_world:key() | verify_world:crash_key().
key({message, Key, _Msg}) -> Key;
key({event, Key}) -> Key.

%% Internals.

rule(Name, {{crash, Node, N}, crash}, _Late) ->
    #{name => Name, action => crash, match => #{node => Node, event => N}};
rule(Name, {{From, To, Type, Occurrence}, Decision}, Late) ->
    Match = #{from => From, to => To, message => Type, occurrence => Occurrence},
    #{name => Name, action => action(Decision, Late), match => Match}.

action(drop, _Late) -> drop;
action(late, Late) -> {delay, Late};
action(duplicate, _Late) -> duplicate;
action({corrupt, How}, _Late) -> {corrupt, How}.

step({_At, {message, _Key, _Msg, _Sent, Fate}}) when
    Fate =:= deliver; Fate =:= arrive; Fate =:= lost
->
    [];
step({_At, {message, Key, _Msg, _Sent, Decision}}) ->
    [{Key, Decision}];
step({_At, {crash, _Name, _N} = Key}) ->
    [{Key, crash}];
step(_Entry) ->
    [].

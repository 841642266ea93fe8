%%% @doc Rules of faults ({@link partisan_fault}) in a world, with the counts that they need.
-module(verify_rules).

-export([new/1]).
-export([message/4]).
-export([step/3]).

-type name() :: partisan_process:name().
-type t() :: none | {partisan_fault:compiled(), partisan_fault:counts()}.
-export_type([t/0]).

%% @doc These rules; raises `{invalid_rules, Description}'.
-spec new([partisan_fault:rule()]) -> t().
new([]) -> none;
new(Rules) -> {partisan_fault:compile(Rules), #{}}.

%% @doc The decision about a message sent now. Worlds have no channels: it is on `undefined'.
-spec message(verify_world:key(), Msg :: term(), Now :: non_neg_integer(), t()) ->
    {partisan_fault:decision(), t()}.
message(_Key, _Msg, _Now, none) ->
    {pass, none};
message({From, To, _Type, _Occurrence}, Msg, Now, Rules) ->
    decide({message, Now, From, To, undefined, Msg}, Rules).

%% @doc Whether a node crashes before its next event.
-spec step(name(), Now :: non_neg_integer(), t()) -> {partisan_fault:decision(), t()}.
step(_Name, _Now, none) ->
    {pass, none};
step(Name, Now, Rules) ->
    decide({step, Now, Name}, Rules).

%% Internals.

decide(Event, {Compiled, Counts0}) ->
    {Decision, Counts} = partisan_fault:decide(Compiled, Event, Counts0),
    {Decision, {Compiled, Counts}}.

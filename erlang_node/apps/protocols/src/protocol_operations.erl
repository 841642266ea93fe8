%%% @doc The operations of a {@link protocol_workload}, numbered from 1 on each node, and those of
%%% all nodes that one node has seen.
%%%
%%% Protocols that broadcast deliver the values `{Node, Number}', which a node collects. Protocols
%%% that store have one key per node, its name, whose value is the number of its last operation.
-module(protocol_operations).

-export([request/3]).
-export([query/2]).
-export([is_done/1]).
-export([new/1]).
-export([delivered/2]).
-export([read/3]).
-export([seen/2]).
-export([count/2]).
-export([unread/3]).

-type name() :: partisan_peer:name().

-opaque t() ::
    {delivered, #{{name(), pos_integer()} => []}} | {read, #{name() => pos_integer()}}.
-export_type([t/0]).

%% @doc The request that performs an operation of a node.
-spec request(module(), name(), pos_integer()) -> term().
request(quorum_kv, Name, Number) -> {write, Name, Number};
request(primary_backup, Name, Number) -> {update, Name, Number};
request(_Broadcasts, Name, Number) -> {broadcast, {Name, Number}}.

%% @doc The request that reads the key of a node, if the protocol stores.
-spec query(module(), name()) -> {ok, term()} | none.
query(quorum_kv, Name) -> {ok, {read, Name}};
query(primary_backup, Name) -> {ok, {query, Name}};
query(_Broadcasts, _Name) -> none.

%% @doc Whether the answer says that the operation has been performed.
-spec is_done(Answer :: term()) -> boolean().
is_done(ok) -> true;
is_done({ok, _}) -> true;
is_done(_) -> false.

%% @doc No operation of this protocol seen.
-spec new(module()) -> t().
new(Protocol) ->
    case query(Protocol, <<>>) of
        none -> {delivered, #{}};
        {ok, _} -> {read, #{}}
    end.

%% @doc Adds an output of the protocol; the commit protocols put an identifier in front.
-spec delivered(Output :: term(), t()) -> t().
delivered({{_Coordinator, _Transaction}, Value}, Seen) -> delivered(Value, Seen);
delivered({_Name, _Number} = Value, {delivered, Values}) -> {delivered, Values#{Value => []}}.

%% @doc Adds what the key of a node was read to be.
-spec read(name(), pos_integer(), t()) -> t().
read(Name, Number, {read, Keys}) -> {read, Keys#{Name => Number}}.

%% @doc Those of these nodes, sorted: all that were delivered, or the last ones that were read.
-spec seen([name()], t()) -> [{name(), pos_integer()}].
seen(Names, {delivered, Values}) -> of_members(Names, maps:keys(Values));
seen(Names, {read, Keys}) -> of_members(Names, maps:to_list(Keys)).

%% @doc The number of operations of these nodes that have been seen.
-spec count([name()], t()) -> non_neg_integer().
count(Names, {delivered, _} = Seen) -> length(seen(Names, Seen));
count(Names, {read, _} = Seen) -> lists:sum([Number || {_, Number} <- seen(Names, Seen)]).

%% @doc The nodes whose last operation, with this number, has not been read.
-spec unread([name()], Last :: pos_integer(), t()) -> [name()].
unread(_Names, _Last, {delivered, _}) -> [];
unread(Names, Last, {read, Keys}) -> [Name || Name <- Names, maps:get(Name, Keys, 0) < Last].

%% Internals.

of_members(Names, Operations) ->
    lists:sort([Operation || {Name, _} = Operation <- Operations, lists:member(Name, Names)]).

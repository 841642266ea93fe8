%%% @doc The commands of the models of the quorum store, and their notation.
%%%
%%% `{join, [A, B]}' makes one cluster of two nodes' clusters, `{write, [Node, Key, Value]}' and
%%% `{read, [Node, Key]}' are a client's requests at a node. They begin when all nodes have joined.
-module(quorum_kv_commands).

-export([new/1]).
-export([commands/1]).
-export([precondition/2]).
-export([perform/2]).
-export([next/3]).
-export([writes/2]).
-export([text/4]).

-type name() :: partisan_process:name().
-type key() :: atom().

-record(commands, {
    nodes :: [name()],
    % Sorted nodes of each cluster, sorted.
    clusters :: [[name()]],
    % Values of requested writes, the latest first.
    writes = #{} :: #{key() => [integer()]}
}).

-opaque t() :: #commands{}.
-export_type([t/0, key/0]).

-define(KEYS, [x, y]).

%% @doc No node has joined another.
-spec new([name()]) -> t().
new(Nodes) ->
    #commands{nodes = Nodes, clusters = [[Name] || Name <- lists:sort(Nodes)]}.

%% @doc The commands that are useful now.
-spec commands(t()) -> [{pos_integer(), {atom(), [verify_generate:generator()]}}].
commands(#commands{clusters = [_]}) ->
    [
        {1, {write, [node, {one_of, ?KEYS}, {integer, 1, 9}]}},
        {1, {read, [node, {one_of, ?KEYS}]}}
    ];
commands(#commands{}) ->
    [{2, {join, [node, node]}}].

%% @doc Whether a command makes sense now.
-spec precondition(t(), verify_model:command()) -> boolean().
precondition(#commands{clusters = Clusters}, {join, [A, B]}) ->
    % Either may be named first: once is enough.
    A < B andalso cluster(A, Clusters) =/= cluster(B, Clusters);
precondition(#commands{clusters = Clusters}, _Request) ->
    length(Clusters) =:= 1.

%% @doc The actions of a command.
-spec perform(t(), verify_model:command()) -> [verify_model:action()].
perform(#commands{clusters = Clusters}, {join, [A, B]}) ->
    Joined = lists:sort(cluster(A, Clusters) ++ cluster(B, Clusters)),
    [{event, Name, {members, Joined}} || Name <- Joined];
perform(_, {write, [Node, Key, Value]}) ->
    [{call, Node, {write, Key, Value}}];
perform(_, {read, [Node, Key]}) ->
    [{call, Node, {read, Key}}].

%% @doc After a step.
-spec next(t(), verify_model:step(), verify_model:result()) -> t().
next(#commands{clusters = Clusters} = C, {join, [A, B]}, _Result) ->
    Joined = [cluster(A, Clusters), cluster(B, Clusters)],
    C#commands{clusters = lists:sort([lists:append(lists:sort(Joined)) | Clusters -- Joined])};
next(#commands{writes = Writes} = C, {write, [_, Key, Value]}, _Result) ->
    C#commands{writes = Writes#{Key => [Value | writes(Key, C)]}};
next(#commands{} = C, _Step, _Result) ->
    C.

%% @doc The values of requested writes of a key, the latest first.
-spec writes(key(), t()) -> [integer()].
writes(Key, #commands{writes = Writes}) ->
    maps:get(Key, Writes, []).

%% @doc A command and its result as the slides write them: a read with the value that was written
%% last, whose result is `OK' if it is that and allowed.
-spec text(t(), verify_model:command(), verify_model:result(), IsAllowed :: boolean()) ->
    {iodata(), iodata()}.
text(#commands{} = C, {read, [_, Key]} = Read, Result, IsAllowed) ->
    {Written, IsLatest} =
        case writes(Key, C) of
            [] -> {[], Result =:= not_found};
            [Latest | _] -> {[$\s, integer_to_list(Latest)], Result =:= {ok, Latest}}
        end,
    {[verify_notation:command(Read), Written], read_result(Result, IsLatest andalso IsAllowed)};
text(_, Command, Result, _IsAllowed) ->
    {verify_notation:command(Command), verify_notation:result(Result)}.

%% Internals.

cluster(Name, Clusters) ->
    hd([Cluster || Cluster <- Clusters, lists:member(Name, Cluster)]).

read_result(_Result, true) ->
    "OK";
read_result({error, {disagree, Values}}, false) ->
    Texts = [verify_notation:term(Value) || Value <- Values],
    ["FAIL, {", lists:join(", ", Texts), "}"];
read_result(Result, false) ->
    verify_notation:result(Result).

%%% @doc Dynomite's request: which servers hold a key. Two rings of six nodes:
%%%
%%% - `six': a tuple of the nodes, and integers for keys; an answer is mostly the call itself;
%%% - `strings': the published benchmark. Keys are strings of eight characters, 64 partitions are a
%%%   list of `{Node, Partition}', and a server is named after the partition.
-module(bench_members).

-export([ring/1]).
-export([keys/1]).
-export([servers/3]).

-define(REPLICAS, 3).
-define(KEYS, 10000).
-define(PARTITIONS, 64).
-define(NODES, {a, b, c, d, e, f}).

-type kind() :: six | strings.
-type ring() :: tuple() | [{Node :: atom(), Partition :: non_neg_integer()}].
-type key() :: non_neg_integer() | string().
-type servers() :: [{Name :: atom(), Node :: atom() | pos_integer()}].
-export_type([kind/0, ring/0, key/0, servers/0]).

%% @doc The ring of that kind.
-spec ring(kind()) -> ring().
ring(six) ->
    list_to_tuple([{server, I} || I <- lists:seq(1, tuple_size(?NODES))]);
ring(strings) ->
    [
        {element(1 + P * tuple_size(?NODES) div ?PARTITIONS, ?NODES), P}
     || P <- lists:seq(0, ?PARTITIONS - 1)
    ].

%% @doc The 10,000 keys that are requested.
-spec keys(kind()) -> tuple().
keys(six) ->
    list_to_tuple(lists:seq(0, ?KEYS - 1));
keys(strings) ->
    list_to_tuple([string(I, 8, []) || I <- lists:seq(1, ?KEYS)]).

%% @doc The three servers of a key; the key is hashed so many times, of which one is enough.
-spec servers(key(), ring(), Hashes :: pos_integer()) -> servers().
servers(Key, Ring, Hashes) when is_tuple(Ring) ->
    First = hash(Key, tuple_size(Ring), Hashes),
    [element(1 + (First + I) rem tuple_size(Ring), Ring) || I <- lists:seq(0, ?REPLICAS - 1)];
servers(Key, Ring, Hashes) ->
    Partition = hash(Key, ?PARTITIONS, Hashes),
    {First, Partition} = lists:keyfind(Partition, 2, Ring),
    Name = list_to_atom(lists:concat([storage_, Partition])),
    [{Name, Node} || Node <- following(First)].

%% Internals.

hash(Key, Range, 1) ->
    erlang:phash2(Key, Range);
hash(Key, Range, Hashes) ->
    _ = erlang:phash2(Key, Range),
    hash(Key, Range, Hashes - 1).

following(First) ->
    Nodes = tuple_to_list(?NODES),
    {Before, From} = lists:splitwith(fun(Node) -> Node =/= First end, Nodes),
    lists:sublist(From ++ Before, ?REPLICAS).

%% The number in letters, `a' for 0, as the published benchmark counts up from "aaaaaaaa".
string(_Number, 0, Letters) ->
    Letters;
string(Number, Length, Letters) ->
    string(Number div 26, Length - 1, [$a + Number rem 26 | Letters]).

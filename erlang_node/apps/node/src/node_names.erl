%%% @doc Names of a cluster's nodes, equal to those of their pods, and their host names.
%%%
%%% The operator splits a cluster into StatefulSets of 250 pods, each with a headless Service of the
%%% same name: pods `ads-0' to `ads-249' of `ads', then `ads-s1-250' and so on of `ads-s1'. Ordinals
%%% are continuous, so that one identifies a node whatever the size of the cluster.
-module(node_names).

-export([members/2]).
-export([member/2]).
-export([host/1]).

-define(SHARD_SIZE, 250).

%% @doc The nodes of a cluster, by ordinal.
-spec members(Cluster :: binary(), pos_integer()) -> [partisan_peer:name()].
members(Cluster, Replicas) ->
    [member(Cluster, Ordinal) || Ordinal <- lists:seq(0, Replicas - 1)].

%% @doc The name of the pod of this ordinal.
-spec member(Cluster :: binary(), Ordinal :: non_neg_integer()) -> partisan_peer:name().
member(Cluster, Ordinal) when Ordinal < ?SHARD_SIZE ->
    <<Cluster/binary, $-, (integer_to_binary(Ordinal))/binary>>;
member(Cluster, Ordinal) ->
    Shard = integer_to_binary(Ordinal div ?SHARD_SIZE),
    <<Cluster/binary, "-s", Shard/binary, $-, (integer_to_binary(Ordinal))/binary>>.

%% @doc The host name that other pods of the namespace resolve: `ads-s1-250.ads-s1'.
-spec host(partisan_peer:name()) -> string().
host(Name) ->
    {Dash, 1} = lists:last(binary:matches(Name, <<"-">>)),
    Shard = binary:part(Name, 0, Dash),
    binary_to_list(<<Name/binary, $., Shard/binary>>).

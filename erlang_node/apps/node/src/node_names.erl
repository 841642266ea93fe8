%%% @doc The names of a cluster's nodes, which are those of its pods, and the hosts that they mean.
%%%
%%% The operator cuts a cluster into StatefulSets of 250 pods, each with a headless Service of its
%%% own name: pods `ads-0' to `ads-249' of `ads', then `ads-s1-250' and so on of `ads-s1'. Ordinals
%%% run through, so that one names a node whatever the size of the cluster.
-module(node_names).

-export([members/2]).
-export([member/2]).
-export([host/1]).

-define(SHARD_SIZE, 250).

%% @doc The nodes of a cluster, by their ordinals.
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

%% @doc What the other pods of the namespace resolve: `ads-s1-250.ads-s1'.
-spec host(partisan_peer:name()) -> string().
host(Name) ->
    {Dash, 1} = lists:last(binary:matches(Name, <<"-">>)),
    Shard = binary:part(Name, 0, Dash),
    binary_to_list(<<Name/binary, $., Shard/binary>>).

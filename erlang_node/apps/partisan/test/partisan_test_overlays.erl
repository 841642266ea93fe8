%%% @doc The overlays in virtual time, as tests start them.
-module(partisan_test_overlays).

-export([node_count/0]).
-export([sim/4]).
-export([started/2]).
-export([parameters/1]).

-define(NODES, 20).

%% The nodes of most tests, for which the parameters are.
node_count() ->
    ?NODES.

sim(Kind, Parameters, Seeds, Seed) ->
    simulator:new(#{seed => Seed, seeds => Seeds, overlay => {Kind, Parameters}}).

started(N, Sim) ->
    lists:foldl(fun simulator:start/2, Sim, lists:seq(1, N)).

parameters(client_server) -> #{servers => [<<"n1">>, <<"n2">>]};
parameters(publish_subscribe) -> #{brokers => [<<"n1">>, <<"n2">>]};
%% Smaller than the cluster, so that the views are partial.
parameters(cyclon) -> #{view_size => 6, shuffle_size => 4};
parameters(Kind) when Kind =:= scamp_v1; Kind =:= scamp_v2 -> #{redundancy => 1};
parameters(hiscamp) -> fun(Index) -> #{level => Index rem 3, redundancy => 1} end;
%% A ring with a few chords.
parameters(static) ->
    Name = fun(Index) -> <<"n", (integer_to_binary(1 + Index rem ?NODES))/binary>> end,
    Peers = [partisan_peer:new(Name(I), "localhost", 1) || I <- lists:seq(1, ?NODES)],
    Ring = [{Name(I), Name(I + 1)} || I <- lists:seq(1, ?NODES)],
    #{peers => Peers, edges => Ring ++ [{Name(I), Name(I + 7)} || I <- [1, 8, 15]]};
parameters(_) -> #{}.

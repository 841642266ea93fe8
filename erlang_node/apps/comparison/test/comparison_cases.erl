%%% The table of calls: each runs once over Distributed Erlang and once over ours.
-module(comparison_cases).

-export([all/0]).

%% The call by OTP's name, the case, its kind (`ok', `error' or `loss': of a node), and the function
%% that makes it over a system; in a loss, a function of the system, the node that will be lost, and
%% what the case calls when it waits for that.
all() ->
    lists:append([
        comparison_messages:cases(),
        comparison_calls:cases(),
        comparison_behaviours:cases(),
        comparison_control:cases(),
        comparison_monitors:cases(),
        comparison_remote:cases(),
        comparison_processes:cases(),
        comparison_spawning:cases(),
        comparison_supervision:cases(),
        comparison_groups:cases(),
        comparison_nodes:cases(),
        comparison_global:cases()
    ]).

%%% A supervisor of one server.
-module(comparison_supervisor).
-behaviour(supervisor).

-export([init/1]).

init([]) ->
    Start = {gen_server, start_link, [comparison_server, [], []]},
    {ok, {#{strategy => one_for_one}, [#{id => server, start => Start}]}}.

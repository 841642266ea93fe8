%%% A supervisor of one server, or of what it is given.
-module(comparison_supervisor).
-behaviour(supervisor).

-export([init/1]).

init({Flags, Children}) ->
    {ok, {Flags, Children}};
init([]) ->
    Start = {gen_server, start_link, [comparison_server, [], []]},
    {ok, {#{strategy => one_for_one}, [#{id => server, start => Start}]}}.

%%% @doc `gen_server:abcast' and `gen_server:multi_call': requests to the servers of one name on
%%% many nodes. OTP's own reach only nodes of Distributed Erlang; everything else of `gen_server'
%%% works with `{via, partisan, {Name, Node}}'.
%%%
%%% Without a list of nodes they mean the members that this node knows ({@link partisan:members/0}),
%%% itself included: in a partial view not all of the cluster.
-module(partisan_gen_server).

-export([abcast/2]).
-export([abcast/3]).
-export([multi_call/2]).
-export([multi_call/3]).
-export([multi_call/4]).

-type name() :: partisan_peer:name().

%% @equiv abcast(partisan:members(), Name, Request)
-spec abcast(Name :: atom(), Request :: term()) -> abcast.
abcast(Name, Request) ->
    abcast(partisan:members(), Name, Request).

%% @doc Casts a request to the server of that name on each node. What cannot be sent is lost, as in
%% `gen_server:abcast/3'.
-spec abcast([name()], Name :: atom(), Request :: term()) -> abcast.
abcast(Nodes, Name, Request) ->
    lists:foreach(fun(Node) -> partisan:cast({Name, Node}, Request) end, Nodes),
    abcast.

%% @equiv multi_call(partisan:members(), Name, Request, infinity)
-spec multi_call(Name :: atom(), Request :: term()) -> {[{name(), Reply :: term()}], [name()]}.
multi_call(Name, Request) ->
    multi_call(partisan:members(), Name, Request).

%% @equiv multi_call(Nodes, Name, Request, infinity)
-spec multi_call([name()], Name :: atom(), Request :: term()) ->
    {[{name(), Reply :: term()}], [name()]}.
multi_call(Nodes, Name, Request) ->
    multi_call(Nodes, Name, Request, infinity).

%% @doc Calls the server of that name on each node at the same time. Returns the answers, and the
%% nodes without one within the timeout in milliseconds: there is no such server, it has ended, or
%% the node is lost. Both are in the order of the nodes. No late answer arrives.
-spec multi_call([name()], Name :: atom(), Request :: term(), timeout()) ->
    {[{name(), Reply :: term()}], BadNodes :: [name()]}.
multi_call(Nodes, Name, Request, Timeout) ->
    Calls = [{Node, partisan_call:start({Name, Node}, Request, Timeout, #{})} || Node <- Nodes],
    End = end_of(Timeout),
    Outcomes = [{Node, outcome(Call, End)} || {Node, Call} <- Calls],
    {
        [{Node, Reply} || {Node, {ok, Reply}} <- Outcomes],
        [Node || {Node, error} <- Outcomes]
    }.

%% Internals.

end_of(infinity) -> infinity;
end_of(Timeout) -> erlang:monotonic_time(millisecond) + Timeout.

outcome({Proxy, Monitor}, End) ->
    receive
        {'DOWN', Monitor, process, Proxy, {partisan_call, Reply}} -> {ok, Reply};
        {'DOWN', Monitor, process, Proxy, _Reason} -> error
    after rest(End) ->
        true = demonitor(Monitor, [flush]),
        ok = partisan_call:abandon(Proxy),
        error
    end.

rest(infinity) -> infinity;
rest(End) -> max(0, End - erlang:monotonic_time(millisecond)).

%%% @doc `gen_server:abcast' and `gen_server:multi_call': requests to the servers of one name on
%%% many nodes. OTP's own reach only nodes of Distributed Erlang; everything else of `gen_server'
%%% works with `{via, partisan, {Name, Node}}'.
%%%
%%% Without a list of nodes they mean the members that this node knows ({@link partisan:members/0}),
%%% itself included: in a partial view not all of the cluster. Names of a wrong type fail with
%%% `badarg' before anything is sent.
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
    Servers = servers(Name, Nodes),
    lists:foreach(fun(Server) -> partisan:cast(Server, Request) end, Servers),
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
multi_call(Nodes, Name, Request, Timeout0) ->
    Servers = servers(Name, Nodes),
    Timeout = partisan_arguments:milliseconds(Timeout0, badarg),
    Calls = [{N, partisan_call:start(S, Request, Timeout, #{})} || {_, N} = S <- Servers],
    Deadline = partisan_deadline:new(Timeout),
    Outcomes = [{Node, outcome(Call, Deadline)} || {Node, Call} <- Calls],
    {
        [{Node, Reply} || {Node, {ok, Reply}} <- Outcomes],
        [Node || {Node, error} <- Outcomes]
    }.

%% Internals.

%% All are valid before the first one is asked.
servers(Name, Nodes) ->
    ok = partisan_arguments:check(Nodes, {Name, Name, []}, badarg),
    [{Name, Node} || Node <- Nodes].

outcome({Proxy, Monitor}, Deadline) ->
    receive
        {'DOWN', Monitor, process, Proxy, {partisan_call, Reply}} -> {ok, Reply};
        {'DOWN', Monitor, process, Proxy, _Reason} -> error
    after partisan_deadline:remaining(Deadline) ->
        true = demonitor(Monitor, [flush]),
        ok = partisan_call:abandon(Proxy),
        error
    end.

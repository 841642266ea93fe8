%%% @doc Children of OTP's `supervisor' on other nodes.
%%%
%%% ```
%%% #{id => counter, start => {partisan_child, start_link, [Nodes, counter, start_link, [Name]]}}
%%% '''
%%%
%%% A supervisor needs a local pid that it is linked with, so it gets one: the *adapter*. It is
%%% linked with a *guard* on the other node, which has called the child's start function and is the
%%% child's parent. The end of the child ends both with its reason. A shutdown by the supervisor
%%% reaches the child, whose end the adapter waits for, so that `shutdown' in a child specification
%%% means what it means for a local child. When the adapter is killed or its node is lost, the guard
%%% ends the child; when the child's node is lost, the adapter ends with `noconnection'.
%%%
%%% The other node's `remote_execution' must list the module of the start function.
-module(partisan_child).

-export([start_link/4]).
-export([child/1]).
%% For proc_lib and partisan_spawned.
-export([init/3]).
-export([guard/3]).

%% Milliseconds after which a child is killed whose supervisor is lost.
-define(SHUTDOWN, 5000).

-type start() :: {module(), Function :: atom(), Arguments :: [term()]}.
%% What a start function has returned, with a reference for the pid.
-type result() :: {ok, partisan_ref:t()} | ignore | {error, Reason :: term()}.
-export_type([result/0]).

%% @doc Starts a child on a node, or on the first of several that is not lost, and links it with the
%% caller. The function is an ordinary `start_link' or `start'. Returns a local pid for the
%% supervisor and a reference for everything else; `{error, Reason}': what the function has returned
%% or failed with, `noconnection', or `{not_allowed, Module}'.
-spec start_link(
    partisan_peer:name() | [partisan_peer:name()], module(), Function :: atom(), [term()]
) -> {ok, pid(), partisan_ref:t()} | ignore | {error, Reason :: term()}.
start_link(Node, Module, Function, Arguments) when is_binary(Node) ->
    Start = {Module, Function, Arguments},
    proc_lib:start_link(?MODULE, init, [self(), Node, Start]);
start_link([], _Module, _Function, _Arguments) ->
    {error, noconnection};
start_link([Node | Nodes], Module, Function, Arguments) ->
    case start_link(Node, Module, Function, Arguments) of
        {error, noconnection} -> start_link(Nodes, Module, Function, Arguments);
        Result -> Result
    end.

%% @doc The child of a pid that `start_link/4' has returned.
-spec child(pid()) -> partisan_ref:t().
child(Adapter) ->
    gen_server:call(Adapter, child, infinity).

%% On the node of the supervisor.

%% @private
-spec init(Parent :: pid(), partisan_peer:name(), start()) -> no_return().
init(Parent, Node, Start) ->
    false = process_flag(trap_exit, true),
    case partisan_spawn_request:spawn_child(Node, Start) of
        {ok, Guard, {ok, Child}} ->
            ok = proc_lib:init_ack(Parent, {ok, self(), Child}),
            adapt(Parent, Guard, Child);
        {ok, _Guard, NotStarted} ->
            not_started(Parent, NotStarted);
        {error, _} = Error ->
            not_started(Parent, Error)
    end.

%% On the node of the child.

%% @private Starts a child, reports the result to a process of this node, and is its parent then.
-spec guard(Starter :: pid(), Adapter :: partisan_ref:t(), fun(() -> term())) -> no_return().
guard(Starter, Adapter, Start) ->
    false = process_flag(trap_exit, true),
    case started(Start) of
        {ok, Pid} ->
            % Also if the function has not.
            true = link(Pid),
            Starter ! {self(), {ok, partisan:ref(Pid)}},
            guard(Pid, Adapter);
        NotStarted ->
            Starter ! {self(), NotStarted},
            exit(normal)
    end.

%% Internals.

%% The end is no failure of a child to the supervisor, which has the result.
-spec not_started(pid(), ignore | {error, Reason :: term()}) -> no_return().
not_started(Parent, Result) ->
    true = unlink(Parent),
    ok = proc_lib:init_ack(Parent, Result),
    exit(normal).

adapt(Parent, Guard, Child) ->
    receive
        {'EXIT', Parent, Reason} ->
            % It ends when the child has, unless its supervisor kills it before that.
            _ = partisan:forward(Guard, {?MODULE, stop, Reason}, #{ack => {notify, ?MODULE}}),
            receive
                {'EXIT', Guard, Ended} -> exit(Ended)
            end;
        {'EXIT', Guard, Reason} ->
            exit(Reason);
        {'EXIT', _Other, Reason} ->
            exit(Reason);
        {'$gen_call', From, child} ->
            ok = gen_server:reply(From, Child),
            adapt(Parent, Guard, Child);
        _Other ->
            adapt(Parent, Guard, Child)
    end.

started(Start) ->
    try Start() of
        {ok, Pid} when is_pid(Pid) -> {ok, Pid};
        {ok, Pid, _Info} when is_pid(Pid) -> {ok, Pid};
        ignore -> ignore;
        {error, _} = Error -> Error;
        Other -> {error, Other}
    catch
        throw:Thrown -> {error, Thrown};
        exit:Reason -> {error, Reason};
        error:Reason:Stacktrace -> {error, {Reason, Stacktrace}}
    end.

guard(Pid, Adapter) ->
    receive
        {'EXIT', Pid, Reason} ->
            exit(Reason);
        {?MODULE, stop, Reason} ->
            true = exit(Pid, Reason),
            guard(Pid, Adapter);
        {'EXIT', Adapter, killed} ->
            ended(Pid, kill);
        {'EXIT', Adapter, Reason} ->
            ended(Pid, Reason);
        _Other ->
            guard(Pid, Adapter)
    end.

%% The adapter is gone.
ended(Pid, Reason) ->
    true = exit(Pid, Reason),
    receive
        {'EXIT', Pid, _} -> exit(normal)
    after ?SHUTDOWN -> exit(Pid, kill)
    end.

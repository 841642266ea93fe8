%%% @doc The functions of `erlang' for processes of any node: the same names, arguments and
%%% semantics, with references ({@link partisan_ref}) in the place of pids.
%%%
%%% Spawning needs the module of the function in the other node's `remote_execution'; `link/1',
%%% `exit/2' and `process_info/1,2' need {@link partisan_control} there. Otherwise they fail with
%%% `error:{not_allowed, Module}', on the own node too. A fun belongs to the module that defines it.
%%% docs/runtime.md lists what differs from OTP.
-module(partisan_erlang).

-compile({no_auto_import, [
    exit/2,
    is_process_alive/1,
    link/1,
    process_info/1,
    process_info/2,
    spawn/2,
    spawn/4,
    spawn_link/2,
    spawn_link/4,
    spawn_monitor/2,
    spawn_monitor/4,
    unlink/1,
    whereis/1
]}).

-export([spawn/2]).
-export([spawn/4]).
-export([spawn_link/2]).
-export([spawn_link/4]).
-export([spawn_monitor/2]).
-export([spawn_monitor/4]).
-export([link/1]).
-export([unlink/1]).
-export([exit/2]).
-export([is_process_alive/1]).
-export([process_info/1]).
-export([process_info/2]).
-export([whereis/1]).

%% @doc Spawns a process on a node. A reference to no process if the node is lost.
-spec spawn(partisan_peer:name(), fun(() -> term())) -> partisan_ref:t().
spawn(Node, Fun) when is_function(Fun, 0) ->
    partisan_spawned:spawn(Node, Fun).

%% @doc As `spawn/2', of a function.
-spec spawn(partisan_peer:name(), module(), Function :: atom(), [term()]) -> partisan_ref:t().
spawn(Node, Module, Function, Arguments) ->
    partisan_spawned:spawn(Node, {Module, Function, Arguments}).

%% @doc Spawns a process on a node and links it with the caller: the exit signal of a lost node is
%% `noconnection'. A caller that traps exits gets `{'EXIT', Reference, Reason}'.
-spec spawn_link(partisan_peer:name(), fun(() -> term())) -> partisan_ref:t().
spawn_link(Node, Fun) when is_function(Fun, 0) ->
    partisan_spawned:spawn_link(Node, Fun).

%% @doc As `spawn_link/2', of a function.
-spec spawn_link(partisan_peer:name(), module(), Function :: atom(), [term()]) ->
    partisan_ref:t().
spawn_link(Node, Module, Function, Arguments) ->
    partisan_spawned:spawn_link(Node, {Module, Function, Arguments}).

%% @doc Spawns a process on a node and monitors it. Its reason arrives however early it ends.
-spec spawn_monitor(partisan_peer:name(), fun(() -> term())) -> {partisan_ref:t(), reference()}.
spawn_monitor(Node, Fun) when is_function(Fun, 0) ->
    partisan_spawned:spawn_monitor(Node, Fun).

%% @doc As `spawn_monitor/2', of a function.
-spec spawn_monitor(partisan_peer:name(), module(), Function :: atom(), [term()]) ->
    {partisan_ref:t(), reference()}.
spawn_monitor(Node, Module, Function, Arguments) ->
    partisan_spawned:spawn_monitor(Node, {Module, Function, Arguments}).

%% @doc Links the caller with a process. The exit signal is `noproc' if there is none.
-spec link(partisan_ref:t()) -> true.
link(Process) ->
    partisan_spawned:link(Process).

%% @doc Ends a link of the caller; no exit signal of it comes, or remains in the mailbox,
%% afterwards.
-spec unlink(partisan_ref:t()) -> true.
unlink(Process) ->
    partisan_spawned:unlink(Process).

%% @doc Sends an exit signal to a process, in the name of the caller.
-spec exit(partisan_ref:target(), Reason :: term()) -> true.
exit(Target, Reason) ->
    control(Target, exit, [Target, partisan:self(), Reason], true).

%% @doc Whether a process that its node offers exists. `false' if the node is lost.
-spec is_process_alive(partisan_ref:target()) -> boolean().
is_process_alive(Target) ->
    case find(Target) of
        {ok, {IsAlive, _Process}} -> IsAlive;
        {exit, _} -> false
    end.

%% @doc Information on a process, as on `erlang:process_info/1'; references stand for pids.
-spec process_info(partisan_ref:target()) -> [{atom(), term()}] | undefined.
process_info(Target) ->
    control(Target, process_info, [Target], undefined).

%% @doc Information on a process, as of `erlang:process_info/2'; references stand for pids.
-spec process_info(partisan_ref:target(), Items :: term()) -> term().
process_info(Target, Items) ->
    control(Target, process_info, [Target, Items], undefined).

%% @doc The process of a name, if its node offers it. `undefined' if the node is lost.
-spec whereis({RegisteredName :: atom(), partisan_peer:name()}) -> partisan_ref:t() | undefined.
whereis(Target) ->
    case find(Target) of
        {ok, {_IsAlive, Process}} -> Process;
        {exit, _} -> undefined
    end.

%% Internals.

find(Target) ->
    {Node, Destination} = partisan_ref:address(Target),
    partisan_call:request(Node, {find, Destination}, none, infinity, #{}).

control(Target, Function, Arguments, Absent) ->
    {Node, _} = partisan_ref:address(Target),
    Work = {partisan_control, Function, Arguments},
    case partisan_execution:call(Node, call, Work, infinity) of
        {ok, {returned, Result}} -> Result;
        {ok, {failed, Reason, _}} -> error(Reason);
        {error, {not_allowed, _} = Refusal} -> error(Refusal);
        {error, _} -> Absent
    end.

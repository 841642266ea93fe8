%%% @doc The functions of `erlang' for processes of any node: the same names, arguments and
%%% semantics, with references ({@link partisan_ref}) in the place of pids.
%%%
%%% Spawning needs the module of the function in the other node's `remote_execution'; `link/1',
%%% `exit/2' and `process_info/1,2' need {@link partisan_control} there. Otherwise they fail with
%%% `error:{not_allowed, Module}', on the own node too. A fun belongs to the module that defines it.
%%% docs/reference/runtime.md lists what differs from OTP.
%%%
%%% Longer than 300 lines: the functions of `erlang', a line or two for each.
-module(partisan_erlang).

-compile({no_auto_import, [
    alias/0,
    alias/1,
    demonitor/1,
    demonitor/2,
    disconnect_node/1,
    exit/2,
    is_process_alive/1,
    link/1,
    monitor/2,
    monitor/3,
    monitor_node/2,
    node/0,
    node/1,
    nodes/0,
    nodes/1,
    process_info/1,
    process_info/2,
    spawn/2,
    spawn/4,
    spawn_link/2,
    spawn_link/4,
    spawn_monitor/2,
    spawn_monitor/4,
    spawn_opt/3,
    spawn_opt/5,
    spawn_request/2,
    spawn_request/3,
    spawn_request/4,
    spawn_request/5,
    spawn_request_abandon/1,
    self/0,
    unalias/1,
    unlink/1,
    whereis/1
]}).

-export([node/0]).
-export([node/1]).
-export([nodes/0]).
-export([nodes/1]).
-export([self/0]).
-export([monitor/2]).
-export([monitor/3]).
-export([demonitor/1]).
-export([demonitor/2]).
-export([monitor_node/2]).
-export([disconnect_node/1]).
-export([alias/0]).
-export([alias/1]).
-export([unalias/1]).
-export([send_after/3]).
-export([send_after/4]).
-export([cancel_timer/1]).
-export([spawn/2]).
-export([spawn/4]).
-export([spawn_link/2]).
-export([spawn_link/4]).
-export([spawn_monitor/2]).
-export([spawn_monitor/4]).
-export([spawn_opt/3]).
-export([spawn_opt/5]).
-export([spawn_request/2]).
-export([spawn_request/3]).
-export([spawn_request/4]).
-export([spawn_request/5]).
-export([spawn_request_abandon/1]).
-export([link/1]).
-export([unlink/1]).
-export([exit/2]).
-export([is_process_alive/1]).
-export([process_info/1]).
-export([process_info/2]).
-export([whereis/1]).

-type nodes() :: connected | visible | hidden | this | known.

%% @doc The name of this node.
-spec node() -> partisan_peer:name().
node() ->
    partisan:node().

%% @doc The node of a process or Erlang reference; of a raw one, this node.
-spec node(pid() | reference() | partisan_ref:t()) -> partisan_peer:name().
node(Local) when is_pid(Local); is_reference(Local) -> node();
node(Reference) -> partisan_ref:peer_name(Reference).

%% @doc The neighbours: in a partial view not all members.
-spec nodes() -> [partisan_peer:name()].
nodes() ->
    nodes(connected).

%% @doc `connected', `visible': the neighbours. `this': this node. `known': the members that this
%% node knows. `hidden': none. A list: all of these.
-spec nodes(nodes() | [nodes()]) -> [partisan_peer:name()].
nodes(connected) -> partisan:neighbours();
nodes(visible) -> partisan:neighbours();
nodes(hidden) -> [];
nodes(this) -> [node()];
nodes(known) -> lists:usort([node() | partisan:neighbours()] ++ partisan:members());
nodes(Kinds) when is_list(Kinds) -> lists:usort(lists:flatmap(fun nodes/1, Kinds)).

%% @doc A reference to the caller.
-spec self() -> partisan_ref:t().
self() ->
    partisan:self().

%% @doc Monitors a process ({@link partisan:monitor/2}).
-spec monitor(process, partisan_ref:target()) -> reference().
monitor(process, Target) ->
    partisan:monitor(process, Target).

%% @doc Monitors a process. `tag' replaces `DOWN'. With `alias' the monitor's reference is an alias
%% of the caller, for other nodes as `partisan:ref(Monitor)': `explicit_unalias' until `unalias/1',
%% `demonitor' until `demonitor/1', and `reply_demonitor' also until the first message to it, which
%% ends the monitor too. It outlives a notification unless it is `reply_demonitor'.
-spec monitor(process, partisan_ref:target(), [partisan_remote:monitor_option()]) -> reference().
monitor(process, Target, Options) ->
    partisan_remote:monitor(Target, partisan_remote:monitor_options(Options)).

%% @doc Ends a monitor ({@link partisan:demonitor/1}).
-spec demonitor(reference()) -> true.
demonitor(Monitor) ->
    partisan:demonitor(Monitor).

%% @doc Ends a monitor; with `info' returns whether it was active and had not fired. `flush' is
%% always done. Fails with `badarg' for other options.
-spec demonitor(reference(), [flush | info]) -> boolean().
demonitor(Monitor, Options) ->
    lists:usort(Options) -- [flush, info] =:= [] orelse error(badarg),
    IsActive = partisan_remote:demonitor(Monitor),
    IsActive orelse not lists:member(info, Options).

%% @doc Begins or ends the monitoring of a node ({@link partisan:monitor_node/1}).
-spec monitor_node(partisan_peer:name(), boolean()) -> true.
monitor_node(Node, true) -> partisan:monitor_node(Node);
monitor_node(Node, false) -> partisan:demonitor_node(Node).

%% @doc Breaks the connections to a neighbour ({@link partisan_nodes:disconnect/1}).
-spec disconnect_node(partisan_peer:name()) -> boolean().
disconnect_node(Node) ->
    partisan_nodes:disconnect(Node).

%% @equiv alias([explicit_unalias])
-spec alias() -> partisan_ref:t().
alias() ->
    alias([]).

%% @doc A reference to the caller until `unalias/1', or with `reply' until its first message.
-spec alias([explicit_unalias | reply]) -> partisan_ref:t().
alias(Options) ->
    partisan_ref:of_local(erlang:alias(Options)).

%% @doc Ends an alias of the caller. Whether it was active.
-spec unalias(partisan_ref:t()) -> boolean().
unalias(Alias) ->
    case partisan_ref:to_local(Alias) of
        {ok, Reference} -> erlang:unalias(Reference);
        error -> false
    end.

%% @equiv send_after(Time, Target, Message, [])
-spec send_after(non_neg_integer(), partisan_ref:target(), Message :: term()) -> reference().
send_after(Time, Target, Message) ->
    send_after(Time, Target, Message, []).

%% @doc Sends a message to a process after a time in milliseconds, or with `{abs, true}' at that
%% monotonic time. The timer outlives the caller.
-spec send_after(integer(), partisan_ref:target(), Message :: term(), [{abs, boolean()}]) ->
    reference().
send_after(Time, Target, Message, Options) ->
    partisan_remote:send_after(Time, Target, Message, Options).

%% @doc Cancels a timer. Returns the milliseconds that were left, `false' if it has expired.
-spec cancel_timer(reference()) -> non_neg_integer() | false.
cancel_timer(Timer) ->
    erlang:cancel_timer(Timer).

%% @doc Spawns a process on a node. A reference to no process if the node is lost.
-spec spawn(partisan_peer:name(), fun(() -> term())) -> partisan_ref:t().
spawn(Node, Fun) when is_function(Fun, 0) ->
    spawn_opt(Node, Fun, []).

%% @doc As `spawn/2', of a function.
-spec spawn(partisan_peer:name(), module(), Function :: atom(), [term()]) -> partisan_ref:t().
spawn(Node, Module, Function, Arguments) ->
    spawn_opt(Node, Module, Function, Arguments, []).

%% @doc Spawns a process on a node and links it with the caller: the exit signal of a lost node is
%% `noconnection'. A caller that traps exits gets `{'EXIT', Reference, Reason}'.
-spec spawn_link(partisan_peer:name(), fun(() -> term())) -> partisan_ref:t().
spawn_link(Node, Fun) when is_function(Fun, 0) ->
    spawn_opt(Node, Fun, [link]).

%% @doc As `spawn_link/2', of a function.
-spec spawn_link(partisan_peer:name(), module(), Function :: atom(), [term()]) ->
    partisan_ref:t().
spawn_link(Node, Module, Function, Arguments) ->
    spawn_opt(Node, Module, Function, Arguments, [link]).

%% @doc Spawns a process on a node and monitors it. Its reason arrives however early it ends.
-spec spawn_monitor(partisan_peer:name(), fun(() -> term())) -> {partisan_ref:t(), reference()}.
spawn_monitor(Node, Fun) when is_function(Fun, 0) ->
    spawn_opt(Node, Fun, [monitor]).

%% @doc As `spawn_monitor/2', of a function.
-spec spawn_monitor(partisan_peer:name(), module(), Function :: atom(), [term()]) ->
    {partisan_ref:t(), reference()}.
spawn_monitor(Node, Module, Function, Arguments) ->
    spawn_opt(Node, Module, Function, Arguments, [monitor]).

%% @doc Spawns a process with options: `link', `monitor', `{monitor, Options}' as of `monitor/3',
%% and those of `erlang:spawn_opt/2', such as `{priority, Level}'. Fails with `badarg' for others.
-spec spawn_opt(partisan_peer:name(), fun(() -> term()), [partisan_spawn_request:option()]) ->
    partisan_ref:t() | {partisan_ref:t(), reference()}.
spawn_opt(Node, Fun, Options) when is_function(Fun, 0) ->
    partisan_spawn_request:spawn(Node, Fun, Options).

%% @doc As `spawn_opt/3', of a function.
-spec spawn_opt(
    partisan_peer:name(),
    module(),
    Function :: atom(),
    [term()],
    [partisan_spawn_request:option()]
) -> partisan_ref:t() | {partisan_ref:t(), reference()}.
spawn_opt(Node, Module, Function, Arguments, Options) ->
    partisan_spawn_request:spawn(Node, {Module, Function, Arguments}, Options).

%% @equiv spawn_request(Node, Fun, [])
-spec spawn_request(partisan_peer:name(), fun(() -> term())) -> reference().
spawn_request(Node, Fun) ->
    spawn_request(Node, Fun, []).

%% @doc Requests a process without waiting for it. The caller gets `{spawn_reply, Reference, ok,
%% Process}' or `{spawn_reply, Reference, error, Reason}': `noconnection', `badopt', `system_limit'
%% or `{not_allowed, Module}'. The options are those of `spawn_opt/3', and `{reply_tag, Tag}' and
%% `{reply, yes | no | error_only | success_only}'. The reference is that of the monitor too.
-spec spawn_request(
    partisan_peer:name(), fun(() -> term()), [partisan_spawn_request:request_option()]
) -> reference().
spawn_request(Node, Fun, Options) when is_function(Fun, 0) ->
    partisan_spawn_request:request(Node, Fun, Options).

%% @equiv spawn_request(Node, Module, Function, Arguments, [])
-spec spawn_request(partisan_peer:name(), module(), Function :: atom(), [term()]) -> reference().
spawn_request(Node, Module, Function, Arguments) ->
    spawn_request(Node, Module, Function, Arguments, []).

%% @doc As `spawn_request/3', of a function.
-spec spawn_request(
    partisan_peer:name(),
    module(),
    Function :: atom(),
    [term()],
    [partisan_spawn_request:request_option()]
) -> reference().
spawn_request(Node, Module, Function, Arguments, Options) ->
    partisan_spawn_request:request(Node, {Module, Function, Arguments}, Options).

%% @doc Abandons a request of the caller: no reply, link or monitor follows. `false' if it was not
%% under way any more. The process may exist nevertheless.
-spec spawn_request_abandon(reference()) -> boolean().
spawn_request_abandon(Reference) ->
    partisan_spawn_request:abandon(Reference).

%% @doc Links the caller with a process. The exit signal is `noproc' if there is none. A pid of this
%% node is linked as by `erlang:link/1', so the signal comes from the pid; end that link by the pid
%% too. Fails with `badarg' for what is neither a pid nor a reference to a process.
-spec link(pid() | partisan_ref:t()) -> true.
link(Process) ->
    partisan_spawned:link(Process).

%% @doc Ends a link of the caller; no exit signal of it comes, or remains in the mailbox,
%% afterwards. Of a pid, as by `erlang:unlink/1', one may remain. Fails as `link/1' does.
-spec unlink(pid() | partisan_ref:t()) -> true.
unlink(Process) ->
    partisan_spawned:unlink(Process).

%% @doc Sends an exit signal to a process, in the name of the caller. Unlike `erlang:exit/2' it
%% waits for the answer of the other node: the signal has arrived there, or the node is lost. Fails
%% with `badarg' for a name without a node, as OTP's does.
-spec exit(
    pid() | partisan_ref:t() | {RegisteredName :: atom(), partisan_peer:name()}, Reason :: term()
) -> true.
exit(Name, _Reason) when is_atom(Name) ->
    error(badarg);
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
-spec whereis(RegisteredName | {RegisteredName, partisan_peer:name()}) ->
    partisan_ref:t() | undefined
when
    RegisteredName :: atom().
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

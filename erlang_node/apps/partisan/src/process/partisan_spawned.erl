%%% @doc Processes started on other nodes, and links between processes of different nodes.
%%%
%%% A monitor set after a process was spawned may come too late for its reason. So a process spawned
%%% to be monitored has a *keeper* on its node, which ends with the same reason, but not before it
%%% is monitored: the other node monitors the keeper.
%%%
%%% A link has a keeper at either end, linked to the process there and monitoring the other keeper.
%%% The end of a process ends its keeper; the other one notices and sends the exit signal. When a
%%% node is lost, the signal is `noconnection'. A process that traps exits gets `{'EXIT', Reference,
%%% Reason}'.
-module(partisan_spawned).

-compile({no_auto_import, [spawn/2, spawn_link/2, spawn_monitor/2, link/1, unlink/1]}).

-export([init/0]).
%% On the node that asks, for the calling process.
-export([spawn/2]).
-export([spawn_monitor/2]).
-export([spawn_link/2]).
-export([link/1]).
-export([unlink/1]).
%% On the node of the process.
-export([start/2]).
-export([link_to/3]).

%% Links of this node's processes: `{{pid(), Other :: partisan_ref:t()}, Keeper :: pid()}'.
-define(LINKS, ?MODULE).
%% Milliseconds between checks for a monitor, and heartbeats until there will be none.
-define(CHECK, 20).
-define(HEARTBEATS, 3).

%% `link': with this process of the asking node, whose keeper is the second.
-type mode() :: spawn | monitor | {link, partisan_ref:t(), Keeper :: partisan_ref:t()}.
%% A process, and what to monitor instead.
-type t() :: {partisan_ref:t(), Keeper :: partisan_ref:t()}.
-export_type([mode/0, t/0]).

%% @doc Creates the table of links, owned by the caller. Idempotent.
-spec init() -> ok.
init() ->
    _ = ets:whereis(?LINKS) =:= undefined andalso ets:new(?LINKS, [named_table, public, set]),
    ok.

%% @doc Spawns a process on a node that allows it. A reference to no process if the node is lost;
%% fails with `{not_allowed, Module}' if it does not allow the module.
-spec spawn(partisan_peer:name(), partisan_execution:work()) -> partisan_ref:t().
spawn(Node, Work) ->
    case partisan_execution:call(Node, spawn, Work, infinity) of
        {ok, {Process, _}} -> Process;
        {error, Reason} -> absent(Node, Reason)
    end.

%% @doc As `spawn/2', and monitors the process.
-spec spawn_monitor(partisan_peer:name(), partisan_execution:work()) ->
    {partisan_ref:t(), reference()}.
spawn_monitor(Node, Work) ->
    {Process, Keeper} =
        case partisan_execution:call(Node, monitor, Work, infinity) of
            {ok, Spawned} ->
                Spawned;
            {error, Reason} ->
                Absent = absent(Node, Reason),
                {Absent, Absent}
        end,
    {Process, partisan_remote:monitor(Keeper, #{object => Process})}.

%% @doc As `spawn/2', and links the process with the caller.
-spec spawn_link(partisan_peer:name(), partisan_execution:work()) -> partisan_ref:t().
spawn_link(Node, Work) ->
    Linker = partisan_ref:of_local(self()),
    keep(Node, fun(Keeper) ->
        partisan_execution:call(Node, {link, Linker, Keeper}, Work, infinity)
    end).

%% @doc Links the caller with a process of a node that allows {@link partisan_control}. The exit
%% signal is `noproc' if there is no such process, `noconnection' if its node is lost.
-spec link(partisan_ref:t()) -> true.
link(Process) ->
    case ets:lookup(?LINKS, {self(), Process}) of
        [] ->
            Linker = partisan_ref:of_local(self()),
            Node = partisan_ref:peer_name(Process),
            Process = keep(Node, fun(Keeper) ->
                Work = {partisan_control, link, [Process, Linker, Keeper]},
                case partisan_execution:call(Node, call, Work, infinity) of
                    {ok, {returned, Other}} -> {ok, {Process, Other}};
                    {ok, {exited, noproc}} -> {gone, Process, noproc};
                    {error, {nodedown, _}} -> {gone, Process, noconnection};
                    {error, _} = Error -> Error
                end
            end),
            true;
        [_] ->
            true
    end.

%% @doc Ends the link of the caller with this process; no exit signal comes afterwards.
-spec unlink(partisan_ref:t()) -> true.
unlink(Process) ->
    case ets:lookup(?LINKS, {self(), Process}) of
        [{_, Keeper}] ->
            Monitor = monitor(process, Keeper),
            Keeper ! {?MODULE, unlink},
            receive
                {'DOWN', Monitor, process, Keeper, _} -> ok;
                {Keeper, unlinked} -> demonitor(Monitor, [flush])
            end;
        [] ->
            ok
    end,
    receive
        {'EXIT', Process, _} -> true
    after 0 -> true
    end.

%% On the node of the process.

-dialyzer({no_return, start/2}).
%% @doc Starts a process for another node.
-spec start(mode(), fun(() -> term())) -> {ok, t()}.
start(spawn, Work) ->
    Process = partisan_ref:of_local(erlang:spawn(Work)),
    {ok, {Process, Process}};
start(monitor, Work) ->
    started(fun() ->
        {Pid, Monitor} = erlang:spawn_monitor(Work),
        {Pid, fun() ->
            receive
                {'DOWN', Monitor, process, Pid, Reason} -> ended(Reason)
            end
        end}
    end);
start({link, Linker, Other}, Work) ->
    started(fun() ->
        false = process_flag(trap_exit, true),
        Pid = erlang:spawn_link(Work),
        {Pid, fun() -> linked(Pid, Linker, Other) end}
    end).

%% @doc Links a process of this node with one of another; returns the keeper here.
-spec link_to(pid(), Linker :: partisan_ref:t(), Keeper :: partisan_ref:t()) -> partisan_ref:t().
link_to(Pid, Linker, Other) ->
    {ok, {_, Keeper}} = started(fun() ->
        false = process_flag(trap_exit, true),
        true = erlang:link(Pid),
        {Pid, fun() -> linked(Pid, Linker, Other) end}
    end),
    Keeper.

%% Internals: keepers.

%% The keeper of a process here, in a process of its own.
started(Start) ->
    Asker = self(),
    {Keeper, Monitor} = erlang:spawn_monitor(fun() ->
        {Pid, Keep} = Start(),
        Asker ! {self(), {partisan_ref:of_local(Pid), partisan_ref:for_answer()}},
        Keep()
    end),
    receive
        {Keeper, Spawned} ->
            true = demonitor(Monitor, [flush]),
            {ok, Spawned};
        {'DOWN', Monitor, process, Keeper, Reason} ->
            exit(Reason)
    end.

%% The keeper of the calling process, which asks for the one at the other end.
keep(Node, Ask) ->
    Pid = self(),
    Keeper = erlang:spawn_link(fun() ->
        false = process_flag(trap_exit, true),
        case Ask(partisan_ref:for_answer()) of
            {ok, {Process, Other}} ->
                true = ets:insert(?LINKS, {{Pid, Process}, self()}),
                Pid ! {self(), {ok, Process}},
                linked(Pid, Process, Other);
            {gone, Process, Reason} ->
                Pid ! {self(), {ok, Process}},
                signal(Pid, Process, Reason);
            {error, Reason} ->
                case is_fault(Reason) of
                    true ->
                        true = erlang:unlink(Pid),
                        Pid ! {self(), {error, Reason}};
                    false ->
                        Absent = partisan_ref:nowhere(Node),
                        Pid ! {self(), {ok, Absent}},
                        signal(Pid, Absent, noconnection)
                end
        end
    end),
    receive
        {Keeper, {ok, Process}} -> Process;
        {Keeper, {error, Reason}} -> error(Reason)
    end.

linked(Pid, Process, Other) ->
    true = ets:insert(?LINKS, {{Pid, Process}, self()}),
    % After a restart of the runtime this node is another incarnation.
    Runtime = monitor(process, partisan_remote),
    Monitor = partisan_remote:monitor(Other, #{}),
    linked(Pid, Process, Runtime, Monitor).

linked(Pid, Process, Runtime, Monitor) ->
    receive
        {'EXIT', Pid, Reason} ->
            true = ets:delete(?LINKS, {Pid, Process}),
            ended(Monitor, Reason);
        {'DOWN', Monitor, process, _, {?MODULE, unlinked}} ->
            true = ets:delete(?LINKS, {Pid, Process}),
            erlang:unlink(Pid);
        {'DOWN', Monitor, process, _, Reason} ->
            signal(Pid, Process, Reason);
        {'DOWN', Runtime, process, _, _} ->
            signal(Pid, Process, noconnection);
        {?MODULE, unlink} ->
            true = ets:delete(?LINKS, {Pid, Process}),
            true = erlang:unlink(Pid),
            Pid ! {self(), unlinked},
            ended(Monitor, {?MODULE, unlinked});
        _Other ->
            linked(Pid, Process, Runtime, Monitor)
    end.

%% A link's exit signal in the name of a process elsewhere, which no pid stands for.
signal(Pid, Process, Reason) ->
    true = ets:delete(?LINKS, {Pid, Process}),
    case process_info(Pid, trap_exit) of
        {trap_exit, true} ->
            true = erlang:unlink(Pid),
            Pid ! {'EXIT', Process, Reason},
            ok;
        _ ->
            exit(Reason)
    end.

%% Without the monitor of its own, for which it is monitored too.
-spec ended(reference(), Reason :: term()) -> no_return().
ended(Monitor, Reason) ->
    _ = partisan_remote:demonitor(Monitor),
    ended(Reason).

%% Ends with that reason once the other node monitors this process.
-spec ended(Reason :: term()) -> no_return().
ended(Reason) ->
    await_monitor(?HEARTBEATS * partisan_config:get(heartbeat_interval)),
    exit(Reason).

await_monitor(Left) when Left > 0 ->
    {monitored_by, Monitoring} = process_info(self(), monitored_by),
    case lists:member(whereis(partisan_remote), Monitoring) of
        true ->
            ok;
        false ->
            receive after ?CHECK -> await_monitor(Left - ?CHECK) end
    end;
await_monitor(_Left) ->
    ok.

%% Internals.

%% Whether the caller has to know, rather than to learn of the loss of the node as OTP reports it.
is_fault({nodedown, _}) -> false;
is_fault(timeout) -> false;
is_fault(_) -> true.

absent(Node, Reason) ->
    case is_fault(Reason) of
        true -> error(Reason);
        false -> partisan_ref:nowhere(Node)
    end.

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
%%%
%%% Longer than 300 lines: spawned processes and links have the same keepers.
-module(partisan_spawned).

-compile({no_auto_import, [link/1, unlink/1]}).

-export([init/0]).
%% On the node that asks, for the calling process.
-export([link/1]).
-export([unlink/1]).
%% On the node of the process.
-export([start/2]).
-export([link_to/3]).
%% For partisan_spawn_request.
-export([mode/3]).
-export([keepers/1]).
-export([linked/4]).
-export([signal/3]).
-export([ended/1]).

%% Links of this node's processes: `{{pid(), Other :: partisan_ref:t()}, Keeper :: pid()}'.
-define(LINKS, ?MODULE).
%% Milliseconds between checks for a monitor, and heartbeats until there will be none.
-define(CHECK, 20).
-define(HEARTBEATS, 3).

%% With this process of the asking node, whose keeper is the second.
-type link() :: {partisan_ref:t(), Keeper :: partisan_ref:t()}.
-type mode() ::
    spawn
    | monitor
    | {link, partisan_ref:t(), Keeper :: partisan_ref:t()}
    % A child of a supervisor there ({@link partisan_child}).
    | {child, partisan_ref:t(), Keeper :: partisan_ref:t()}
    % With options of `erlang:spawn_opt/2', or both a link and a monitor.
    | {spawn, Options :: [term()], none | link(), IsMonitored :: boolean()}.
%% A process, and what the other end of its link and its monitor monitor instead; one of the two,
%% unless the mode is the last one. For a child its guard, the keeper, and what has become of it.
-type t() ::
    {partisan_ref:t(), Keeper :: partisan_ref:t()}
    | {partisan_ref:t(), LinkKeeper :: partisan_ref:t(), MonitorKeeper :: partisan_ref:t()}
    | {partisan_ref:t(), LinkKeeper :: partisan_ref:t(), partisan_child:result()}.
-export_type([mode/0, t/0]).

%% @doc Creates the table of links, owned by the caller. Idempotent.
-spec init() -> ok.
init() ->
    _ = ets:whereis(?LINKS) =:= undefined andalso ets:new(?LINKS, [named_table, public, set]),
    ok.

%% @doc Links the caller with a process of a node that allows {@link partisan_control}. The exit
%% signal is `noproc' if there is no such process, `noconnection' if its node is lost. A pid is
%% linked by Erlang itself.
-spec link(pid() | partisan_ref:t()) -> true.
link(Pid) when is_pid(Pid) ->
    erlang:link(Pid);
link(Process) ->
    case keeper_of(Process) of
        none ->
            Pid = self(),
            Keep = fun() -> keep(Pid, Process) end,
            {Keeper, Monitor} = erlang:spawn_opt(Keep, [link, monitor]),
            receive
                {Keeper, Answer} ->
                    true = demonitor(Monitor, [flush]),
                    answered(Answer);
                {'DOWN', Monitor, process, Keeper, Reason} ->
                    error(Reason)
            end;
        _Keeper ->
            true
    end.

%% @doc Ends the link of the caller with this process; no exit signal comes afterwards.
-spec unlink(pid() | partisan_ref:t()) -> true.
unlink(Pid) when is_pid(Pid) ->
    erlang:unlink(Pid);
unlink(Process) ->
    case keeper_of(Process) of
        none ->
            ok;
        Keeper ->
            Monitor = monitor(process, Keeper),
            Keeper ! {?MODULE, unlink},
            receive
                {'DOWN', Monitor, process, Keeper, _} -> ok;
                {Keeper, unlinked} -> demonitor(Monitor, [flush])
            end
    end,
    receive
        {'EXIT', Process, _} -> true
    after 0 -> true
    end.

%% On the node of the process.

%% @doc Starts a process for another node. It begins its work when it is linked and monitored.
-spec start(mode(), fun(() -> term())) -> {ok, t()} | {exit, badopt}.
start(spawn, Work) ->
    narrow(2, start([], none, false, Work));
start(monitor, Work) ->
    narrow(3, start([], none, true, Work));
start({link, Linker, Keeper}, Work) ->
    narrow(2, start([], {Linker, Keeper}, false, Work));
start({child, Adapter, Keeper}, Work) ->
    Starter = self(),
    Guard = fun() -> partisan_child:guard(Starter, Adapter, Work) end,
    {ok, {Process, LinkKeeper, _}} = start([], {Adapter, Keeper}, false, Guard),
    {ok, Pid} = partisan_ref:to_local(Process),
    Monitor = monitor(process, Pid),
    receive
        {Pid, Result} ->
            true = demonitor(Monitor, [flush]),
            {ok, {Process, LinkKeeper, Result}};
        {'DOWN', Monitor, process, Pid, Reason} ->
            {ok, {Process, LinkKeeper, {error, Reason}}}
    end;
start({spawn, Options, Link, IsMonitored}, Work) ->
    start(Options, Link, IsMonitored, Work).

%% @doc Links a process of this node with one of another; returns the keeper here.
-spec link_to(pid(), Linker :: partisan_ref:t(), Keeper :: partisan_ref:t()) -> partisan_ref:t().
link_to(Pid, Linker, Other) ->
    keeper(fun() ->
        false = process_flag(trap_exit, true),
        true = erlang:link(Pid),
        fun() -> linked(Pid, Linker, Other, fun() -> ok end) end
    end).

%% For partisan_spawn_request.

%% @doc The mode for options, a link and a monitor: where it can be, one that earlier versions know.
-spec mode(Options :: [term()], none | link(), IsMonitored :: boolean()) -> mode().
mode([], none, false) -> spawn;
mode([], none, true) -> monitor;
mode([], {Linker, Keeper}, false) -> {link, Linker, Keeper};
mode(Options, Link, IsMonitored) -> {spawn, Options, Link, IsMonitored}.

%% @doc A process and its keepers.
-spec keepers(t()) ->
    {partisan_ref:t(), LinkKeeper :: partisan_ref:t(), partisan_ref:t() | partisan_child:result()}.
keepers({Process, Keeper}) -> {Process, Keeper, Keeper};
keepers({_, _, _} = Spawned) -> Spawned.

%% @doc Makes the calling process, which traps exits and is linked with one of this node, the keeper
%% of its link with another node's process and keeper. Returns when the link has ended.
-spec linked(pid(), partisan_ref:t(), Keeper :: partisan_ref:t(), Begun :: fun(() -> ok)) -> ok.
linked(Pid, Process, Other, Begun) ->
    true = ets:insert(?LINKS, {{Pid, Process}, self()}),
    ok = Begun(),
    % After a restart of the runtime this node is another incarnation.
    Runtime = monitor(process, partisan_remote),
    try partisan_remote:monitor(Other, #{}) of
        Monitor -> linked_until(Pid, Process, Runtime, Monitor)
    catch
        error:system_limit -> broken(Pid, Process, system_limit);
        % The runtime has ended.
        exit:_ -> broken(Pid, Process, noconnection)
    end.

%% @doc Sends a link's exit signal in the name of a process elsewhere, which no pid stands for.
-spec signal(pid(), partisan_ref:t(), Reason :: term()) -> ok.
signal(Pid, Process, Reason) ->
    case process_info(Pid, trap_exit) of
        {trap_exit, true} ->
            true = erlang:unlink(Pid),
            Pid ! {'EXIT', Process, Reason},
            ok;
        _ ->
            exit(Reason)
    end.

%% @doc Ends the calling process with that reason once the other node monitors it.
-spec ended(Reason :: term()) -> no_return().
ended(Reason) ->
    await_monitor(?HEARTBEATS * partisan_config:get(heartbeat_interval)),
    exit(Reason).

%% Internals: a process and its keepers.

start(Options, Link, IsMonitored, Work) ->
    try erlang:spawn_opt(held(Work), Options) of
        Pid when is_pid(Pid) ->
            Process = partisan_ref:of_local(Pid),
            LinkKeeper =
                case Link of
                    none -> Process;
                    {Linker, Other} -> link_to(Pid, Linker, Other)
                end,
            MonitorKeeper =
                case IsMonitored of
                    true -> keeper(fun() -> monitored(Pid) end);
                    false -> Process
                end,
            Pid ! {?MODULE, start},
            {ok, {Process, LinkKeeper, MonitorKeeper}}
    catch
        error:badarg -> {exit, badopt}
    end.

narrow(Element, {ok, Spawned}) ->
    {ok, {element(1, Spawned), element(Element, Spawned)}}.

%% Work that waits for the caller to begin it, and ends with the caller.
held(Work) ->
    Starter = self(),
    fun() ->
        Monitor = monitor(process, Starter),
        receive
            {?MODULE, start} ->
                true = demonitor(Monitor, [flush]),
                Work();
            {'DOWN', Monitor, process, Starter, _} ->
                ok
        end
    end.

%% Another process of this node, which begins as one function and goes on as what that returns.
keeper(Begin) ->
    Starter = self(),
    {Keeper, Monitor} = erlang:spawn_monitor(fun() ->
        Keep = Begin(),
        Starter ! {self(), partisan_ref:for_answer()},
        Keep()
    end),
    receive
        {Keeper, Reference} ->
            true = demonitor(Monitor, [flush]),
            Reference;
        {'DOWN', Monitor, process, Keeper, Reason} ->
            exit(Reason)
    end.

-dialyzer({no_return, monitored/1}).
monitored(Pid) ->
    Monitor = monitor(process, Pid),
    fun() ->
        receive
            {'DOWN', Monitor, process, Pid, Reason} -> ended(Reason)
        end
    end.

%% Internals: keepers of links.

%% The keeper of a link of the caller. Only a process can be linked.
keeper_of(Process) ->
    partisan_ref:is_process(Process) orelse error(badarg),
    case ets:lookup(?LINKS, {self(), Process}) of
        [{_, Keeper}] -> Keeper;
        [] -> none
    end.

answered(true) -> true;
answered({error, Reason}) -> error(Reason).

%% The keeper of a process here, which asks for the one at the other end.
keep(Pid, Process) ->
    false = process_flag(trap_exit, true),
    Node = partisan_ref:peer_name(Process),
    Ends = [Process, partisan_ref:of_local(Pid), partisan_ref:for_answer()],
    Linked = fun() -> Pid ! {self(), true}, ok end,
    case partisan_execution:call(Node, call, {partisan_control, link, Ends}, infinity) of
        {ok, {returned, Other}} ->
            linked(Pid, Process, Other, Linked);
        {ok, {exited, noproc}} ->
            ok = Linked(),
            signal(Pid, Process, noproc);
        {error, Lost} when element(1, Lost) =:= nodedown; Lost =:= timeout ->
            ok = Linked(),
            signal(Pid, Process, noconnection);
        {ok, Failed} ->
            % The reason comes second in all other outcomes.
            refused(Pid, element(2, Failed));
        {error, Reason} ->
            refused(Pid, Reason)
    end.

refused(Pid, Reason) ->
    true = erlang:unlink(Pid),
    Pid ! {self(), {error, Reason}}.

linked_until(Pid, Process, Runtime, Monitor) ->
    receive
        {'EXIT', Pid, Reason} ->
            ok = forget(Pid, Process),
            ended_linked(Monitor, Reason);
        {'DOWN', Monitor, process, _, {?MODULE, unlinked}} ->
            ok = forget(Pid, Process),
            true = erlang:unlink(Pid),
            ok;
        {'DOWN', Monitor, process, _, Reason} ->
            broken(Pid, Process, Reason);
        {'DOWN', Runtime, process, _, _} ->
            broken(Pid, Process, noconnection);
        {?MODULE, unlink} ->
            ok = forget(Pid, Process),
            true = erlang:unlink(Pid),
            Pid ! {self(), unlinked},
            ended_linked(Monitor, {?MODULE, unlinked});
        _Other ->
            linked_until(Pid, Process, Runtime, Monitor)
    end.

broken(Pid, Process, Reason) ->
    ok = forget(Pid, Process),
    signal(Pid, Process, Reason).

%% The table ends with the runtime, perhaps before the keeper notices.
forget(Pid, Process) ->
    try ets:delete(?LINKS, {Pid, Process}) of
        true -> ok
    catch
        error:badarg -> ok
    end.

%% Without the monitor of its own, for which it is monitored too.
-spec ended_linked(reference(), Reason :: term()) -> no_return().
ended_linked(Monitor, Reason) ->
    _ = partisan_remote:demonitor(Monitor),
    ended(Reason).

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

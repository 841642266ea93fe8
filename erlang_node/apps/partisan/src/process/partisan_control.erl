%%% @doc Control of a node's processes by other nodes: allowed as a whole by listing this module in
%%% the setting `remote_execution'.
%%%
%%% The functions of {@link partisan_erlang} and {@link partisan_nodes} execute these on the other
%%% node, and so do `sys', `stop' and changes of an event manager's handlers by via names. They act
%%% on processes that the node offers ({@link partisan_reach}), and on no others.
%%%
%%% A function for `sys:replace_state' or `sys:install', and the handler that an event manager is to
%%% add, must belong to a module that `remote_execution' lists too; `sys:change_code' and
%%% `sys:log_to_file' need the module `sys' there. Supervised handlers are refused.
-module(partisan_control).

-compile({no_auto_import, [exit/2, process_info/1, process_info/2, link/1]}).

-export([exit/3]).
-export([process_info/1]).
-export([process_info/2]).
-export([link/3]).
-export([system/2]).
-export([event/2]).
-export([leave/0]).

%% Milliseconds for the answer to reach the other node.
-define(ANSWER, 500).

%% @doc Sends an exit signal in the name of another process.
-spec exit(partisan_ref:target(), From :: partisan_ref:t(), Reason :: term()) -> true.
exit(Target, From, Reason) ->
    case find(Target) of
        {ok, Pid} ->
            case erlang:process_info(Pid, trap_exit) of
                {trap_exit, true} when Reason =/= kill ->
                    Pid ! {'EXIT', From, Reason},
                    true;
                _ ->
                    erlang:exit(Pid, Reason)
            end;
        {error, _} ->
            true
    end.

%% @doc As `erlang:process_info/1', with references for the processes in it.
-spec process_info(partisan_ref:target()) -> [{atom(), term()}] | undefined.
process_info(Target) ->
    info(Target, fun erlang:process_info/1).

%% @doc As `erlang:process_info/2', with references for the processes in it.
-spec process_info(partisan_ref:target(), Items :: term()) -> term().
process_info(Target, Items) ->
    info(Target, fun(Pid) -> erlang:process_info(Pid, Items) end).

%% @doc Links a process with one of another node; exits with `noproc' if there is none.
-spec link(partisan_ref:target(), Linker :: partisan_ref:t(), Keeper :: partisan_ref:t()) ->
    partisan_ref:t().
link(Target, Linker, Keeper) ->
    partisan_spawned:link_to(existing(Target), Linker, Keeper).

%% @doc Makes a request of the module `sys' to a process, and for `terminate' waits for its end.
%% Exits with `noproc', `{not_allowed, Module}' or the reason with which the process ends.
-spec system(partisan_ref:target(), Request :: term()) ->
    {reply, term()} | {ended, Reply :: term(), Reason :: term()}.
system(Target, {terminate, _} = Request) ->
    Pid = existing(Target),
    Monitor = monitor(process, Pid),
    Reply = partisan_otp_calls:ask(Pid, system, Request, infinity),
    receive
        {'DOWN', Monitor, process, Pid, Reason} -> {ended, Reply, Reason}
    end;
system(Target, Request) ->
    ok = allow(system_modules(Request)),
    {reply, global(partisan_otp_calls:ask(existing(Target), system, Request, infinity))}.

%% @doc Adds, deletes or swaps a handler of an event manager. Exits as `system/2' does.
-spec event(partisan_ref:target(), Request :: term()) -> {reply, term()}.
event(Target, Request) ->
    ok = allow(event_modules(Request)),
    {reply, global(partisan_otp_calls:ask(existing(Target), self(), Request, infinity))}.

%% @doc Makes this node leave the overlay, once the answer has been sent.
-spec leave() -> ok.
leave() ->
    _ = spawn(fun() ->
        receive after ?ANSWER -> partisan:leave() end
    end),
    ok.

%% Internals.

existing(Target) ->
    case find(Target) of
        {ok, Pid} -> Pid;
        {error, _} -> erlang:exit(noproc)
    end.

allow(Modules) ->
    lists:foreach(
        fun(Module) ->
            case partisan_reach:executable(atom_to_binary(Module)) of
                {ok, Module} -> ok;
                error -> erlang:exit({not_allowed, Module})
            end
        end,
        Modules
    ).

%% The modules whose code a request brings in.
system_modules(get_state) -> [];
system_modules(get_status) -> [];
system_modules(suspend) -> [];
system_modules(resume) -> [];
system_modules({replace_state, Fun}) -> [module(Fun)];
system_modules({debug, no_debug}) -> [];
system_modules({debug, {Setting, _}}) when
    Setting =:= log; Setting =:= trace; Setting =:= statistics
->
    [];
system_modules({debug, {install, {Fun, _State}}}) -> [module(Fun)];
system_modules({debug, {install, {_Id, Fun, _State}}}) -> [module(Fun)];
system_modules({debug, {remove, _}}) -> [];
system_modules(_) -> [sys].

event_modules({add_handler, Handler, _}) -> [handler(Handler)];
event_modules({delete_handler, _, _}) -> [];
event_modules({swap_handler, _, _, Handler, _}) -> [handler(Handler)];
%% A handler that a process of the other node supervises: by a pid, which means another one here.
event_modules(_) -> erlang:exit({not_allowed, gen_event}).

module(Fun) when is_function(Fun) ->
    {module, Module} = erlang:fun_info(Fun, module),
    Module;
module(_) ->
    sys.

handler({Module, _Id}) when is_atom(Module) -> Module;
handler(Module) when is_atom(Module) -> Module.

find(Target) ->
    {_Node, Destination} = partisan_ref:address(Target),
    partisan_reach:find(Destination).

info(Target, Info) ->
    case find(Target) of
        {ok, Pid} -> global(Info(Pid));
        {error, _} -> undefined
    end.

%% Terms whose pids mean the same processes on other nodes.
global(Pid) when is_pid(Pid), node(Pid) =:= node() -> partisan_ref:of_local(Pid);
global([Head | Tail]) -> [global(Head) | global(Tail)];
global(Tuple) when is_tuple(Tuple) -> list_to_tuple(global(tuple_to_list(Tuple)));
global(#{} = Map) -> maps:map(fun(_Key, Value) -> global(Value) end, Map);
global(Other) -> Other.

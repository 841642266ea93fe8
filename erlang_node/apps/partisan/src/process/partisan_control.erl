%%% @doc Control of a node's processes by other nodes: allowed as a whole by listing this module in
%%% the setting `remote_execution'.
%%%
%%% The functions of {@link partisan_erlang} and {@link partisan_nodes} execute these on the other
%%% node. They act on processes that the node offers ({@link partisan_reach}), and on no others.
-module(partisan_control).

-compile({no_auto_import, [exit/2, process_info/1, process_info/2, link/1]}).

-export([exit/3]).
-export([process_info/1]).
-export([process_info/2]).
-export([link/3]).
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
    case find(Target) of
        {ok, Pid} -> partisan_spawned:link_to(Pid, Linker, Keeper);
        {error, _} -> erlang:exit(noproc)
    end.

%% @doc Makes this node leave the overlay, once the answer has been sent.
-spec leave() -> ok.
leave() ->
    _ = spawn(fun() ->
        receive after ?ANSWER -> partisan:leave() end
    end),
    ok.

%% Internals.

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

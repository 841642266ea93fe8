%%% @doc Names for processes of all nodes: OTP's `global' over any overlay.
%%%
%%% ```
%%% {ok, _} = partisan_global:start_link(),     % on every node, in a supervisor of its application
%%% {ok, _} = gen_server:start({via, partisan_global, leader}, my_server, [], []),
%%% gen_server:call({via, partisan_global, leader}, hello)     % on any node
%%% '''
%%%
%%% == Consistency ==
%%% One of several registrations of a name succeeds, as long as the nodes that run this server know
%%% of each other and none is lost: the name's home node grants it once ({@link partisan_registry}).
%%% While nodes start, are lost, or are partitioned, several may succeed. When the nodes meet again,
%%% the resolve method of one of the registrations chooses, once, and the name has one process
%%% again. Names are known elsewhere, and free again elsewhere, after a few hops. `global' has the
%%% same guarantee but locks all nodes, which no partial view can: it serialises registrations also
%%% while nodes start.
%%%
%%% A node that starts answers registrations when it knows the names that others know, or after
%%% three `heartbeat_interval's without an answer.
%%%
%%% == Resolve methods ==
%%% A function of the name and two references, which returns the one that keeps the name, or `none'.
%%% It runs on the node whose name comes first, that of its own registration. What the process that
%%% loses gets depends on *its* registration: no node ends a process of another.
%%%
%%% There are no locks (`global:set_lock', `trans'): with partial views no node can know that all
%%% have granted one, and one that two processes hold is none.
-module(partisan_global).

-export([start/0]).
-export([start_link/0]).
-export([register_name/2]).
-export([register_name/3]).
-export([re_register_name/2]).
-export([re_register_name/3]).
-export([unregister_name/1]).
-export([whereis_name/1]).
-export([reference/1]).
-export([registered_names/0]).
-export([send/2]).
%% Resolve methods.
-export([random_exit_name/3]).
-export([random_notify_name/3]).
-export([notify_all_name/3]).

-type name() :: term().
-type method() ::
    fun((name(), partisan_ref:t(), partisan_ref:t()) -> partisan_ref:t() | none).
-export_type([name/0, method/0]).

%% @doc Starts the server of this node.
-spec start() -> {ok, pid()} | {error, term()}.
start() ->
    gen_server:start({local, ?MODULE}, partisan_global_server, [], []).

%% @doc Starts the server of this node, linked to the caller.
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?MODULE}, partisan_global_server, [], []).

%% @equiv register_name(Name, Pid, fun partisan_global:random_exit_name/3)
-spec register_name(name(), pid()) -> yes | no.
register_name(Name, Pid) ->
    register_name(Name, Pid, fun ?MODULE:random_exit_name/3).

%% @doc Gives a process of this node a name. `no': the name is taken, or the process has a name.
%% Fails with `{nolocal, Process}' for one of another node. The name is free again when the process
%% ends or its node is lost.
-spec register_name(name(), pid(), method()) -> yes | no.
register_name(Name, Pid, Method) ->
    register(Name, Pid, Method, new).

%% @equiv re_register_name(Name, Pid, fun partisan_global:random_exit_name/3)
-spec re_register_name(name(), pid()) -> yes.
re_register_name(Name, Pid) ->
    re_register_name(Name, Pid, fun ?MODULE:random_exit_name/3).

%% @doc Gives a process of this node a name, whichever process has it, besides its other names.
-spec re_register_name(name(), pid(), method()) -> yes.
re_register_name(Name, Pid, Method) ->
    register(Name, Pid, Method, replace).

%% @doc Frees a name, on any node.
-spec unregister_name(name()) -> ok.
unregister_name(Name) ->
    gen_server:call(?MODULE, {unregister, Name}, infinity).

%% @doc The process of a name if it is of this node, or a local process that forwards one message to
%% it, for OTP's own functions ({@link partisan_via}). See `reference/1'.
-spec whereis_name(name()) -> pid() | undefined.
whereis_name(Name) ->
    case find(Name) of
        {local, Pid} -> Pid;
        undefined -> undefined;
        Reference -> partisan_via:whereis_name(Reference)
    end.

%% @doc The reference of the process of a name, to send to, call or monitor.
-spec reference(name()) -> partisan_ref:t() | undefined.
reference(Name) ->
    case find(Name) of
        {local, Pid} -> partisan:ref(Pid);
        Other -> Other
    end.

%% @doc The names that this node knows, sorted.
-spec registered_names() -> [name()].
registered_names() ->
    lists:sort(ets:select(table(), [{{{name, '$1'}, '_'}, [], ['$1']}])).

%% @doc Sends a message to the process of a name, and returns the process. Exits with `{badarg,
%% {Name, Message}}' if there is none.
-spec send(name(), Message :: term()) -> pid() | partisan_ref:t().
send(Name, Message) ->
    case find(Name) of
        undefined ->
            exit({badarg, {Name, Message}});
        {local, Pid} ->
            Pid ! Message,
            Pid;
        Reference ->
            _ = partisan:forward(Reference, Message),
            Reference
    end.

%% Resolve methods.

%% @doc One process keeps the name; the other is killed.
-spec random_exit_name(name(), partisan_ref:t(), partisan_ref:t()) -> partisan_ref:t().
random_exit_name(_Name, One, Other) ->
    min(One, Other).

%% @doc One process keeps the name; the other gets `{global_name_conflict, Name}'.
-spec random_notify_name(name(), partisan_ref:t(), partisan_ref:t()) -> partisan_ref:t().
random_notify_name(_Name, One, Other) ->
    min(One, Other).

%% @doc No process keeps the name; each gets `{global_name_conflict, Name, OtherProcess}'.
-spec notify_all_name(name(), partisan_ref:t(), partisan_ref:t()) -> none.
notify_all_name(_Name, _One, _Other) ->
    none.

%% Internals.

register(Name, Pid, Method, Mode) when
    is_pid(Pid), node(Pid) =:= node(), is_function(Method, 3)
->
    _ = table(),
    gen_server:call(
        ?MODULE, {register, partisan_reach:here(), Name, Pid, Method, Mode}, infinity
    );
register(_Name, Process, Method, _Mode) when
    is_tuple(Process) orelse is_pid(Process), is_function(Method, 3)
->
    error({nolocal, Process}).

%% Fails as a call of the server does if it does not run.
table() ->
    case ets:whereis(?MODULE) of
        undefined -> exit({noproc, {?MODULE, start_link, []}});
        _ -> ?MODULE
    end.

find(Name) ->
    case ets:lookup(table(), {name, Name}) of
        [{_, Reference}] ->
            case partisan_ref:to_local(Reference) of
                {ok, Pid} ->
                    case is_process_alive(Pid) of
                        true -> {local, Pid};
                        false -> undefined
                    end;
                error ->
                    Reference
            end;
        [] ->
            undefined
    end.

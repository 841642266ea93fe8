%%% @doc Access control: which processes of this node receive messages from the network, and which
%%% messages.
%%%
%%% A member of the cluster may send only to what the node offers:
%%%
%%% - *Names* listed in the setting `reachable'; by default every name of a process of the node's
%%%   own applications. Never those of the runtime, of OTP or of a supervisor: `init' ends the
%%%   node, and a supervisor starts whatever it is asked to. `{Name, messages}' offers a server
%%%   whose calls are for its own node only, such as one that takes functions.
%%% - *References* made by this node ({@link partisan_ref}), for processes of the same kind.
%%%   They are signed, so none can be forged from the number of a process.
%%% - *Modules* that `remote_execution' lists ({@link partisan_execution}); none by default.
%%%
%%% == Services ==
%%% The runtime's own protocols travel under the names of their processes, but are no messages to a
%%% name: no call of {@link partisan} can send them, and a process gets them only with the name of
%%% the node they came from, so none speaks for another member.
%%%
%%% == Messages ==
%%% OTP's behaviours obey system messages, exits and raw calls from anywhere, whose pids would be
%%% those of this node; and `{partisan, _}' is how the runtime notifies processes. None of them is
%%% accepted from another node.
-module(partisan_reach).

-export([init/0]).
-export([here/0]).
-export([route/3]).
-export([route/4]).
-export([remember/3]).
-export([find/1]).
-export([server/1]).
-export([is_offered/1]).
-export([is_service/1]).
-export([executable/1]).

%% By name: its process and whether it is offered. If another process registers the name, the
%% decision is made again.
-define(DECIDED, ?MODULE).
-define(HERE, {?MODULE, here}).
%% Destinations a connection remembers.
-define(KNOWN, 256).

%% OTP's applications: in a release they are in the same directory as all others.
-define(OTP, [
    asn1, common_test, compiler, crypto, debugger, dialyzer, diameter, edoc, eldap, erl_interface,
    erts, et, eunit, ftp, inets, kernel, megaco, mnesia, observer, odbc, os_mon, parsetools,
    public_key, reltool, runtime_tools, sasl, snmp, ssh, ssl, stdlib, syntax_tools, tftp, tools,
    wx, xmerl
]).

-type origin() :: partisan_peer:name() | none.
-type refusal() :: no_process | unreachable.
%% An alias, with its process, drops messages when it is no longer active.
-type routed() ::
    {ok, pid(), Message :: term()}
    | {alias, pid(), reference(), Message :: term()}
    | {error, refusal()}.
%% What a connection has delivered to: references, whose signatures are not checked again; and
%% names, which are not decided again while the same processes have them.
-type known() :: #{partisan_ref:destination() => pid()}.
-export_type([origin/0, known/0]).

%% @doc Creates the table of names, owned by the caller. Idempotent.
-spec init() -> ok.
init() ->
    Options = [named_table, public, set, {read_concurrency, true}],
    _ = ets:whereis(?DECIDED) =:= undefined andalso ets:new(?DECIDED, Options),
    _ = here() =:= none andalso persistent_term:put(?HERE, make_ref()),
    partisan_ref:init().

%% @doc A mark by which an offered server recognises the requests of its own node; `none' before
%% the first start of the runtime.
-spec here() -> reference() | none.
here() ->
    persistent_term:get(?HERE, none).

%% @equiv route(Origin, Destination, Message, #{})
-spec route(origin(), partisan_ref:destination(), Message :: term()) -> routed().
route(Origin, Destination, Message) ->
    route(Origin, Destination, Message, #{}).

%% @doc The process that gets a message, and what it gets. The origin is the member at the other end
%% of the connection, or the one named by a relayed message; `none' if unknown. A connection passes
%% the destinations it has resolved, to save doing so again.
-spec route(origin(), partisan_ref:destination(), Message :: term(), known()) -> routed().
route(Origin, partisan_acks, Message, _Known) ->
    service(Origin, partisan_acks, {partisan_acks, Origin, Message});
route(Origin, partisan_remote, {partisan_remote, Origin, _, _} = Message, _Known) ->
    service(Origin, partisan_remote, Message);
route(Origin, partisan_pubsub, {partisan_pubsub, Origin, _} = Message, _Known) ->
    service(Origin, partisan_pubsub, Message);
route(_Origin, {alias, _, _} = Destination, Message, _Known) ->
    case {partisan_ref:alias(Destination), is_local(Message)} of
        {{ok, Pid, Alias}, false} -> {alias, Pid, Alias, Message};
        {{ok, _, _}, true} -> {error, unreachable};
        {Error, _} -> Error
    end;
route(_Origin, Destination, Message, Known) ->
    case find(Destination, Known) of
        {ok, Pid} ->
            case is_local(Message) of
                true -> {error, unreachable};
                false -> {ok, Pid, Message}
            end;
        {error, _} = Error ->
            Error
    end.

%% @doc Adds a destination that was resolved. Never a service, whose name is not offered to other
%% messages.
-spec remember(partisan_ref:destination(), routed(), known()) -> known().
remember(Destination, {ok, Process, _}, Known) when map_get(Destination, Known) =:= Process ->
    Known;
remember(Destination, {ok, Process, _}, Known) ->
    case is_service(Destination) of
        true -> Known;
        false when map_size(Known) < ?KNOWN -> Known#{Destination => Process};
        false -> #{Destination => Process}
    end;
remember(_Destination, _Route, Known) ->
    Known.

%% @doc The process of a destination, if it is offered.
-spec find(partisan_ref:destination()) -> {ok, pid()} | {error, refusal()}.
find(Name) when is_atom(Name) ->
    case whereis(Name) of
        undefined ->
            {error, no_process};
        Process ->
            case is_offered(Name, Process) of
                true -> {ok, Process};
                false -> refused(Name)
            end
    end;
find(Destination) ->
    partisan_ref:offered(Destination).

%% A reference always leads to the same process.
find(Destination, Known) when is_map_key(Destination, Known), element(1, Destination) =:= process ->
    {ok, map_get(Destination, Known)};
find(Name, Known) when is_atom(Name), is_map_key(Name, Known) ->
    Process = map_get(Name, Known),
    case whereis(Name) of
        Process -> {ok, Process};
        _ -> find(Name)
    end;
find(Destination, _Known) ->
    find(Destination).

%% @doc The process of a destination, if it serves calls from other nodes.
-spec server(partisan_ref:destination()) -> {ok, pid()} | {error, refusal()}.
server(Destination) ->
    case has_messages_only(Destination, partisan_config:get(reachable)) of
        true -> {error, unreachable};
        false -> find(Destination)
    end.

%% @doc Whether a process belongs to one of the node's own applications, or to none, as in a shell.
-spec is_offered(pid()) -> boolean().
is_offered(Pid) ->
    not is_system(Pid, application:get_application(Pid)) andalso not is_supervisor(Pid).

%% @doc Whether this name is a protocol of the runtime.
-spec is_service(partisan_ref:destination()) -> boolean().
is_service(Name) ->
    Name =:= partisan_acks orelse Name =:= partisan_remote orelse Name =:= partisan_pubsub.

%% @doc The module of this name if other nodes may execute its functions. Faults are injected from
%% inside the node only, whatever the setting lists.
-spec executable(ModuleName :: binary()) -> {ok, module()} | error.
executable(Name) ->
    Listed = partisan_config:get(remote_execution) -- [partisan_interposition, partisan_injection],
    case [Module || Module <- Listed, atom_to_binary(Module) =:= Name] of
        [Module | _] -> {ok, Module};
        [] -> error
    end.

%% Internals.

%% A node addresses itself without the network.
service(Origin, Service, Message) when is_binary(Origin) ->
    case {partisan_config:get(name), whereis(Service)} of
        {Origin, _} -> {error, unreachable};
        {_, undefined} -> {error, no_process};
        {_, Pid} -> {ok, Pid, Message}
    end;
service(none, _Service, _Message) ->
    {error, unreachable}.

is_local({partisan, _}) -> true;
is_local({system, _, _}) -> true;
is_local({'EXIT', _, _}) -> true;
is_local({'$gen_call', _, _}) -> true;
%% A call of `gen_event', which may start any module as a handler.
is_local({_, {_, _}, Request}) when is_tuple(Request), tuple_size(Request) > 0 ->
    lists:member(element(1, Request), [
        add_handler, add_sup_handler, delete_handler, swap_handler, swap_sup_handler
    ]);
is_local(_) -> false.

%% Deciding is slow and takes a signal to the process, and refused messages may come in a flood.
is_offered(Name, Process) ->
    case ets:lookup(?DECIDED, Name) of
        [{_, Process, IsOffered}] ->
            IsOffered;
        _ ->
            IsOffered = is_pid(Process) andalso is_named(Name) andalso is_offered(Process),
            true = ets:insert(?DECIDED, {Name, Process, IsOffered}),
            IsOffered
    end.

refused(Name) ->
    ok = partisan_refusals:warn(
        message, "message to ~tp refused: this node does not offer it", [Name]
    ),
    {error, unreachable}.

is_named(Name) ->
    not lists:member(Name, partisan_config:get(unreachable)) andalso
        case partisan_config:get(reachable) of
            applications -> true;
            Names -> lists:member(Name, Names) orelse has_messages_only(Name, Names)
        end.

has_messages_only(_Destination, applications) -> false;
has_messages_only(Destination, Names) -> lists:member({Destination, messages}, Names).

is_system(_Pid, {ok, Application}) ->
    Application =:= partisan orelse lists:member(Application, ?OTP);
is_system(Pid, undefined) ->
    % Processes started by the emulator itself, including init, write to `init'.
    lists:member(Pid, [whereis(application_controller), whereis(user)]) orelse
        process_info(Pid, group_leader) =:= {group_leader, whereis(init)}.

%% Elixir also names the module `supervisor'; others have its functions.
is_supervisor(Pid) ->
    case proc_lib:initial_call(Pid) of
        {Module, _, _} ->
            Module =:= supervisor orelse Module =:= supervisor_bridge orelse
                (erlang:function_exported(Module, start_child, 2) andalso
                    erlang:function_exported(Module, which_children, 1));
        false ->
            false
    end.

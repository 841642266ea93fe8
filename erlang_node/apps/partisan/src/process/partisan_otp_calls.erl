%%% @doc Requests of OTP's behaviours that have other forms than those of `gen_server': system
%%% messages (`sys', `stop') and the calls of `gen_event', by via names ({@link partisan_via}).
%%%
%%% Calls of a handler, `sync_notify' and `which_handlers' are served as any call is. All others
%%% control a process: the other node makes them if its setting `remote_execution' lists {@link
%%% partisan_control}, and refuses them undecoded otherwise.
-module(partisan_otp_calls).

-export([start/3]).
%% On the node of the process.
-export([serve/3]).
-export([ask/4]).

%% A process that makes the call, and how the asker answers OTP with what that ends with.
-type started() :: {{pid(), Monitor :: reference()}, From :: {pid(), term()}, finish()}.
-type finish() :: fun((Down :: term()) -> ok).
-export_type([started/0]).

%% @doc Starts the call that OTP asks for with this message; `none' if it is none.
-spec start(partisan_ref:target(), Message :: term(), Asker :: pid()) -> {ok, started()} | none.
start(Target, {'$gen_call', From, Request}, Asker) ->
    {ok, {partisan_call:start(Target, Request, infinity, key(Asker)), From, answer(From)}};
start(Target, {system, {_, _} = From, Request}, _Asker) ->
    {ok, control(Target, system, Request, From)};
start(Target, {Label, {Caller, _} = From, Request}, Asker) when is_pid(Label), is_pid(Caller) ->
    case is_open(Request) of
        true ->
            {Node, Destination} = partisan_ref:address(Target),
            Call = partisan_call:start(Node, {event, Destination}, Request, infinity, key(Asker)),
            {ok, {Call, From, answer(From)}};
        false ->
            {ok, control(Target, event, Request, From)}
    end;
start(_Target, _Message, _Asker) ->
    none.

%% On the node of the process.

%% @doc Makes a call of an event manager for another node.
-spec serve(partisan_ref:destination(), Request :: term(), timeout()) -> partisan_call:result().
serve(Destination, Request, Timeout) ->
    case is_open(Request) andalso partisan_reach:server(Destination) of
        {ok, Pid} ->
            try
                {ok, ask(Pid, self(), Request, Timeout)}
            catch
                exit:Reason -> {exit, Reason}
            end;
        _ ->
            {exit, noproc}
    end.

%% @doc Makes a request as OTP's behaviours do: `system', or a pid for an event manager.
-spec ask(pid(), Label :: system | pid(), Request :: term(), timeout()) -> Reply :: term().
ask(Pid, Label, Request, Timeout) ->
    {ok, Reply} = gen:call(Pid, Label, Request, Timeout),
    Reply.

%% Internals.

key(Asker) ->
    #{partition_key => Asker}.

%% Runs no code but that of handlers which are there.
is_open({call, _Handler, _Query}) -> true;
is_open({sync_notify, _Event}) -> true;
is_open(which_handlers) -> true;
is_open(_) -> false.

answer(From) ->
    fun
        ({'DOWN', _, process, _, {partisan_call, Reply}}) -> gen_server:reply(From, Reply);
        ({'DOWN', _, process, _, Reason}) -> exit(Reason)
    end.

control(Target, Kind, Request, From) ->
    {Node, _} = partisan_ref:address(Target),
    Work = {partisan_control, Kind, [Target, Request]},
    {_, Call} = Execution = partisan_execution:start(Node, Work, infinity),
    Finish = fun(Down) ->
        case partisan_execution:check(Down, Execution) of
            {ok, {returned, {reply, Reply}}} ->
                gen_server:reply(From, Reply);
            {ok, {returned, {ended, Reply, Reason}}} ->
                ok = gen_server:reply(From, Reply),
                exit(Reason);
            {ok, {_, Reason}} ->
                exit(Reason);
            {ok, {failed, Reason, _}} ->
                exit(Reason);
            {error, Reason} ->
                exit(Reason)
        end
    end,
    {Call, From, Finish}.

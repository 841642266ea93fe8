%%% @doc Processes of other nodes as `{via, partisan, {Name, Node}}', for OTP's own functions.
%%%
%%% OTP asks a registry for a local pid, so one is created: a process that forwards one message and,
%%% for a call, the answer. It ends with the message, with the process that asked for it, or after a
%%% timeout; so the pid serves OTP's immediate operation and nothing else. Whether the remote
%%% process exists is known only when it answers.
%%%
%%% System messages, and what changes the handlers of an event manager, need {@link
%%% partisan_control} on the other node ({@link partisan_otp_calls}).
%%%
%%% It monitors the caller, which alone knows its timeout, and abandons the call when the caller
%%% stops waiting. The way to the other node takes a minute at most ({@link partisan_call}), also
%%% for other messages: if the node is absent, the messages waiting for room must not grow with each
%%% caller.
-module(partisan_via).

-export([whereis_name/1]).
-export([register_name/2]).
-export([unregister_name/1]).
-export([send/2]).

%% Milliseconds to wait for the message. OTP sends it at once.
-define(TIMEOUT, 5000).
%% Milliseconds between checks whether the caller still waits.
-define(CHECK, 1000).

%% @doc The process itself, or for another node's process, one that forwards one message to it.
-spec whereis_name(partisan_ref:target()) -> pid() | undefined.
whereis_name(Target) ->
    {Node, Destination} = partisan_ref:address(Target),
    case partisan:node() of
        Node ->
            partisan_ref:find(Destination);
        _Other ->
            Asker = self(),
            spawn(fun() -> pass_on(Target, Asker, monitor(process, Asker)) end)
    end.

%% @doc Registers a process under a name of this node; `no' for names of other nodes.
-spec register_name(partisan_ref:target(), pid()) -> yes | no.
register_name(Target, Pid) ->
    Self = partisan:node(),
    case partisan_ref:address(Target) of
        {Self, Name} when is_atom(Name) ->
            try register(Name, Pid) of
                true -> yes
            catch
                error:badarg -> no
            end;
        _ ->
            no
    end.

%% @doc Frees a name of this node.
-spec unregister_name(partisan_ref:target()) -> ok.
unregister_name(Target) ->
    Self = partisan:node(),
    case partisan_ref:address(Target) of
        {Self, Name} when is_atom(Name) ->
            try unregister(Name) of
                true -> ok
            catch
                % It is free already.
                error:badarg -> ok
            end;
        _ ->
            ok
    end.

%% @doc Sends a message. Exits with `badarg' if it is known to have no receiver.
-spec send(partisan_ref:target(), Message :: term()) -> ok.
send(Target, Message) ->
    {Node, Destination} = partisan_ref:address(Target),
    IsHere = partisan:node() =:= Node,
    case IsHere andalso partisan_ref:find(Destination) =:= undefined of
        true -> exit({badarg, {Target, Message}});
        false -> sent(partisan:forward(Target, Message), Target, Message)
    end.

%% Internals.

sent(ok, _Target, _Message) -> ok;
sent({error, _}, Target, Message) -> exit({badarg, {Target, Message}}).

pass_on(Target, Asker, Monitor) ->
    receive
        {'DOWN', Monitor, process, Asker, _} ->
            ok;
        Message ->
            case partisan_otp_calls:start(Target, Message, Asker) of
                {ok, Call} -> await(Call);
                none -> forward(Target, Message, Asker)
            end
    after ?TIMEOUT -> ok
    end.

%% If it cannot be sent it is lost, as a message to a pid may be.
forward(Target, Message, Asker) ->
    Timeout = partisan_call:delivery_timeout(infinity),
    passed(partisan:forward(Target, Message, #{partition_key => Asker, timeout => Timeout})).

passed({error, timeout}) ->
    {ok, Channel} = partisan_channel:find(default),
    partisan_channel:dropped(Channel, busy);
passed(_) ->
    ok.

await({{Proxy, Monitor}, {Caller, _}, Finish} = Call) ->
    receive
        {'DOWN', Monitor, process, Proxy, _} = Down -> Finish(Down)
    after ?CHECK ->
        {monitored_by, Waiting} = process_info(self(), monitored_by),
        case lists:member(Caller, Waiting) of
            true -> await(Call);
            false -> partisan_call:abandon(Proxy)
        end
    end.

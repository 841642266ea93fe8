%%% @doc Calls of generic servers on other nodes, which notice no difference.
%%%
%%% Each call has two processes of its own. One here waits for the answer, so that whatever comes
%%% late ends with it, and is never taken for the answer to a later call. One there makes an
%%% ordinary `gen_server:call' to the server and sends back how it ended. Request and answer are
%%% acknowledged ({@link partisan_acks}) unless `ack' is false, so that a broken connection loses
%%% neither; a lost or restarted node ends the call ({@link partisan_remote}).
-module(partisan_call).

-export([call/4]).
-export([cast/3]).
%% For partisan_remote, on the node of the server.
-export([serve/1]).
-export([refuse/2]).

-type options() :: #{
    channel => atom(),
    % The caller by default.
    partition_key => term(),
    ttl => non_neg_integer(),
    ack => boolean()
}.
-type request() :: #{
    reply_to := partisan_ref:t(),
    destination := partisan_ref:destination(),
    request := term(),
    timeout := timeout(),
    % For the answer.
    options := options()
}.
-export_type([options/0, request/0]).

%% How long an answer is kept for a node that does not take it, when the caller waits for ever.
-define(ANSWER_TIMEOUT, 60000).

%% @doc Calls a server and waits for its answer. Exits as `gen_server:call/3' does.
-spec call(partisan_ref:target(), Request :: term(), timeout(), options()) -> Reply :: term().
call(Target, Request, Timeout, Options) ->
    Origin = {partisan, call, [Target, Request, Timeout]},
    case partisan_ref:address(Target) of
        {Node, Destination} ->
            case partisan:node() of
                Node ->
                    case local(Destination, Request, Timeout) of
                        {ok, Reply} -> Reply;
                        {exit, Reason} -> exit({Reason, Origin})
                    end;
                _Other ->
                    remote(Node, Destination, Request, Timeout, Options, Origin)
            end
    end.

%% @doc Sends a server a request without an answer.
-spec cast(partisan_ref:target(), Request :: term(), partisan_transport:options()) ->
    ok | {error, partisan:error()}.
cast(Target, Request, Options) ->
    partisan:forward(Target, {'$gen_cast', Request}, Options).

%% @doc Makes the call that another node asks for; answers with who is about it, monitored.
-spec serve(request()) -> {pid(), reference()}.
serve(Request) ->
    spawn_monitor(fun() ->
        #{destination := Destination, request := Call, timeout := Timeout} = Request,
        answer(local(Destination, Call, Timeout), Request)
    end).

%% @doc Tells the caller that the call will not be made.
-spec refuse(request(), Reason :: term()) -> {pid(), reference()}.
refuse(Request, Reason) ->
    spawn_monitor(fun() -> answer({exit, Reason}, Request) end).

%% Internals: the caller's node.

remote(Node, Destination, Request, Timeout, Options, Origin) ->
    Caller = self(),
    Key = maps:get(partition_key, Options, Caller),
    Given = (maps:with([channel, ttl, ack], Options))#{partition_key => Key},
    {Proxy, Monitor} = spawn_monitor(fun() ->
        _ = monitor(process, Caller),
        ok = partisan_remote:monitor_node(Node, self()),
        Call = #{
            reply_to => partisan_ref:of_local(self()),
            destination => Destination,
            request => Request,
            timeout => Timeout,
            options => Given#{partition_key := erlang:phash2(Key, 1 bsl 32)}
        },
        ask(Node, Call, Given#{timeout => Timeout})
    end),
    receive
        {'DOWN', Monitor, process, Proxy, {?MODULE, Reply}} -> Reply;
        {'DOWN', Monitor, process, Proxy, Reason} -> exit({Reason, Origin})
    after Timeout ->
        true = demonitor(Monitor, [flush]),
        true = exit(Proxy, kill),
        exit({timeout, Origin})
    end.

-spec ask(partisan_peer:name(), request(), partisan_transport:options()) -> no_return().
ask(Node, Call, Options) ->
    Message = {partisan_remote, partisan:node(), partisan:incarnation(), {call, Call}},
    case send(Node, partisan_remote, Message, Options) of
        ok -> await(Node);
        {error, Reason} -> exit(Reason)
    end.

-spec await(partisan_peer:name()) -> no_return().
await(Node) ->
    receive
        {partisan_reply, {ok, Reply}} -> exit({?MODULE, Reply});
        {partisan_reply, {exit, Reason}} -> exit(Reason);
        {partisan, {acknowledged, ?MODULE, ok}} -> await(Node);
        {partisan, {acknowledged, ?MODULE, {error, timeout}}} -> exit(timeout);
        {partisan, {acknowledged, ?MODULE, {error, _}}} -> exit({nodedown, Node});
        {nodedown, Node} -> exit({nodedown, Node});
        % The caller.
        {'DOWN', _, process, _, _} -> exit(normal)
    end.

%% Internals: the server's node.

local(Destination, Request, Timeout) ->
    case partisan_ref:find(Destination) of
        undefined ->
            {exit, noproc};
        Pid ->
            try
                {ok, gen_server:call(Pid, Request, Timeout)}
            catch
                exit:{Reason, {gen_server, call, _}} -> {exit, Reason}
            end
    end.

answer({exit, timeout}, _Request) ->
    % The caller knows by itself.
    ok;
answer(Outcome, #{reply_to := Caller, timeout := Timeout, options := Options0}) ->
    {Node, Destination} = partisan_ref:address(Caller),
    Options = Options0#{timeout => min(Timeout, ?ANSWER_TIMEOUT)},
    case send(Node, Destination, {partisan_reply, Outcome}, Options) of
        ok ->
            ok;
        {error, Reason} ->
            % Too large, perhaps; where this does not arrive either the caller's time is over.
            _ = send(Node, Destination, {partisan_reply, {exit, Reason}}, Options),
            ok
    end.

%% Internals.

send(Node, Destination, Message, #{ack := false} = Options) ->
    Name = maps:get(channel, Options, default),
    case partisan_channel:find(Name) of
        {ok, Channel} ->
            % There a call would replace another one that waits.
            case partisan_channel:is_monotonic(Channel) of
                true -> {error, {monotonic_channel, Name}};
                false -> partisan:forward(Node, Destination, Message, Options)
            end;
        error ->
            {error, {unknown_channel, Name}}
    end;
send(Node, Destination, Message, Options) ->
    partisan:forward(Node, Destination, Message, Options#{ack => {notify, ?MODULE}}).

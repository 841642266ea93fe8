%%% @doc Calls to generic servers on other nodes, which notice no difference.
%%%
%%% Each call has two processes. One here waits for the answer, so that a late one is never taken
%%% for the answer to another call. One there makes an ordinary `gen_server:call' and returns the
%%% outcome. Both messages are acknowledged ({@link partisan_acks}) unless `ack' is false, so that a
%%% broken connection loses neither; a lost or restarted node ends the call ({@link
%%% partisan_remote}). When the caller ends or stops waiting, the server's node is sent a
%%% cancellation.
%%%
%%% A process that waits for room in a full window notices nothing else. So the way to the server
%%% has its own limit, however long the caller would wait.
%%%
%%% Longer than 300 lines: both ends of a call, which share its messages and options.
-module(partisan_call).

-export([call/4]).
-export([request/5]).
-export([cast/3]).
%% For partisan_via and partisan_execution.
-export([start/4]).
-export([start/5]).
-export([abandon/1]).
-export([delivery_timeout/1]).
%% For partisan_remote, on the node of the server.
-export([is_request/1]).
-export([serve/1]).
-export([refuse/2]).

-type options() :: #{
    channel => atom(),
    % The caller by default.
    partition_key => term(),
    ttl => non_neg_integer(),
    ack => boolean(),
    % Channel to use instead if the first one does not exist or is full.
    fallback => atom(),
    % Of the answer, in milliseconds of `erlang:monotonic_time/1'; the timeout applies too.
    deadline => integer(),
    % Milliseconds by which the request leaves later, and by which the other node handles it later.
    egress_delay => non_neg_integer(),
    ingress_delay => non_neg_integer()
}.
%% A server; a function that the request encodes, named by its module; an event manager; whether
%% there is a process.
-type callee() ::
    partisan_ref:destination()
    | {execute, ModuleName :: binary()}
    | {event, partisan_ref:destination()}
    | {find, partisan_ref:destination()}.
-type request() :: #{
    reply_to := partisan_ref:t(),
    destination := callee(),
    request := term(),
    timeout := timeout(),
    % For the answer.
    options := options(),
    ingress_delay => non_neg_integer()
}.
-type result() :: {ok, Reply :: term()} | {exit, Reason :: term()}.
-export_type([options/0, callee/0, request/0, result/0]).

%% Milliseconds a request, answer or cancellation may take to a node, even if its caller would wait
%% longer: then the node is lost, and the call with it.
-define(DELIVERY_TIMEOUT, 60000).

%% @doc Calls a server and waits for its answer. Exits as `gen_server:call/3' does. Fails with
%% `{unknown_option, Name}' or `{bad_option, {Name, Value}}', which the other node would refuse.
-spec call(partisan_ref:target(), Request :: term(), timeout(), options()) -> Reply :: term().
call(Target, Request, Timeout, Options) ->
    _ = [error(Wrong) || Wrong <- partisan_arguments:wrong(fun is_valid/2, Options)],
    {Node, Destination} = partisan_ref:address(Target),
    case request(Node, Destination, Request, Timeout, Options) of
        {ok, Reply} -> Reply;
        {exit, Reason} -> exit({Reason, {partisan, call, [Target, Request, Timeout]}})
    end.

%% @doc Makes a request of a callee and waits for the answer, at most the timeout in milliseconds.
%% Fails with `timeout_value' for a timeout that is neither from 0 to 2^32 - 1 nor `infinity'.
-spec request(partisan_peer:name(), callee(), Request :: term(), timeout(), options()) -> result().
request(Node, Callee, Request, Timeout0, Options) ->
    partisan_arguments:is_timeout(Timeout0) orelse error(timeout_value),
    Timeout = until(Timeout0, Options),
    case {partisan:node(), Callee} of
        {Node, {execute, _}} -> await(spawn_local(Callee, Request, Timeout), Timeout);
        {Node, _} -> local(Callee, Request, Timeout);
        {_Other, _} -> await(start(Node, Callee, Request, Timeout, Options), Timeout)
    end.

%% @doc Sends a server a request without an answer.
-spec cast(partisan_ref:target(), Request :: term(), partisan_transport:options()) ->
    ok | {error, partisan:error()}.
cast(Target, Request, Options) ->
    partisan:forward(Target, {'$gen_cast', Request}, Options).

%% @doc Whether this is a valid call, from any sender.
-spec is_request(term()) -> boolean().
is_request(#{
    reply_to := Caller,
    destination := _,
    request := _,
    timeout := Timeout,
    options := Options
} = Request) ->
    partisan_ref:is_process(Caller) andalso partisan_arguments:is_timeout(Timeout) andalso
        is_map(Options) andalso
        is_delay(maps:get(ingress_delay, Request, 0)) andalso
        lists:all(fun is_option/1, maps:to_list(Options));
is_request(_) ->
    false.

%% @doc Makes the call that another node asks for; returns the process that handles it, monitored.
-spec serve(request()) -> {pid(), reference()}.
serve(Request) ->
    spawn_monitor(fun() ->
        #{destination := Callee, request := Call, timeout := Timeout} = Request,
        ok = pause(ingress_delay, Request),
        try local(Callee, Call, Timeout) of
            Outcome -> answer(Outcome, Request)
        catch
            error:Reason:Stacktrace ->
                % The caller might wait for ever otherwise.
                ok = answer({exit, Reason}, Request),
                erlang:raise(error, Reason, Stacktrace)
        end
    end).

%% @doc Reports to the caller that the call is refused. Starts no process and does not wait, since
%% there are too many calls already; if there is no room for that either, the caller times out.
-spec refuse(request(), Reason :: term()) -> ok.
refuse(#{reply_to := Caller} = Request, Reason) ->
    {Node, Destination} = partisan_ref:address(Caller),
    Refusal = {partisan_reply, {exit, Reason}},
    Options = (answer_options(Request))#{on_busy => error, await_route => false},
    case send(Node, Destination, Refusal, Options) of
        ok ->
            ok;
        {error, _} ->
            _ = send(Node, Destination, Refusal, Options#{on_busy => drop, ack => false}),
            ok
    end.

%% @doc Starts a call. Its process ends with `{partisan_call, Reply}' or the reason for having none.
-spec start(partisan_ref:target(), Request :: term(), timeout(), options()) ->
    {pid(), Monitor :: reference()}.
start(Target, Request, Timeout, Options) ->
    {Node, Destination} = partisan_ref:address(Target),
    start(Node, Destination, Request, Timeout, Options).

%% @doc As `start/4', of a callee on a node.
-spec start(partisan_peer:name(), callee(), Request :: term(), timeout(), options()) ->
    {pid(), Monitor :: reference()}.
start(Node, Callee, Request, Timeout, Options) ->
    case partisan:node() of
        Node -> spawn_local(Callee, Request, Timeout);
        _Other -> start_remote(Node, Callee, Request, Timeout, Options)
    end.

%% @doc Milliseconds that a message of a call with this timeout may take to its node.
-spec delivery_timeout(timeout()) -> non_neg_integer().
delivery_timeout(Timeout) ->
    % An atom is greater than any number.
    min(Timeout, ?DELIVERY_TIMEOUT).

%% @doc Cancels the call with that answer.
-spec abandon(pid()) -> ok.
abandon(Proxy) ->
    Proxy ! {?MODULE, abandon},
    ok.

%% Internals: the caller's node.

is_valid(channel, Name) -> is_atom(Name);
is_valid(fallback, Name) -> is_atom(Name);
is_valid(partition_key, _Key) -> true;
is_valid(ttl, Hops) -> is_integer(Hops) andalso Hops >= 0;
is_valid(ack, Ack) -> is_boolean(Ack);
is_valid(deadline, Time) -> is_integer(Time);
is_valid(egress_delay, Ms) -> is_delay(Ms);
is_valid(ingress_delay, Ms) -> is_delay(Ms);
is_valid(_Name, _Value) -> unknown.

until(Timeout, #{deadline := Deadline}) ->
    min(Timeout, max(0, Deadline - erlang:monotonic_time(millisecond)));
until(Timeout, #{}) ->
    Timeout.

await({Proxy, Monitor}, Timeout) ->
    receive
        {'DOWN', Monitor, process, Proxy, {?MODULE, Reply}} -> {ok, Reply};
        {'DOWN', Monitor, process, Proxy, Reason} -> {exit, Reason}
    after Timeout ->
        true = demonitor(Monitor, [flush]),
        ok = abandon(Proxy),
        {exit, timeout}
    end.

-dialyzer({no_return, spawn_local/3}).
%% For a callee whose process it becomes.
spawn_local(Callee, Request, Timeout) ->
    spawn_monitor(fun() -> ended(local(Callee, Request, Timeout)) end).

-spec ended(result()) -> no_return().
ended({ok, Reply}) -> exit({?MODULE, Reply});
ended({exit, Reason}) -> exit(Reason).

start_remote(Node, Callee, Request, Timeout, Options) ->
    Caller = self(),
    Key = maps:get(partition_key, Options, Caller),
    Given = (maps:with([channel, ttl, ack], Options))#{partition_key => Key},
    spawn_monitor(fun() ->
        _ = monitor(process, Caller),
        % It ends when this node becomes another incarnation, which no answer reaches.
        _ = monitor(process, partisan_remote),
        ok = partisan_remote:monitor_node(Node, self()),
        Call = (maps:with([ingress_delay], Options))#{
            reply_to => partisan_ref:for_answer(),
            destination => Callee,
            request => Request,
            timeout => Timeout,
            options => Given#{partition_key := erlang:phash2(Key, 1 bsl 32)}
        },
        ok = pause(egress_delay, Options),
        Limited = Given#{timeout => delivery_timeout(Timeout)},
        case say(Node, {call, Call}, first(Limited, Options)) of
            ok -> await(Node, Call, Given);
            {error, Reason} -> fall_back(Reason, Node, Call, Limited, Options)
        end
    end).

%% A caller that has stopped waiting is noticed afterwards.
pause(Delay, Options) ->
    case Options of
        #{Delay := Ms} -> receive after Ms -> ok end;
        #{} -> ok
    end.

first(Limited, #{fallback := _}) -> Limited#{on_busy => error};
first(Limited, #{}) -> Limited.

%% The answer takes the way of the request.
fall_back(Reason, Node, #{options := Answer} = Call, Limited, #{fallback := Channel}) when
    Reason =:= busy; element(1, Reason) =:= unknown_channel
->
    Given = Limited#{channel => Channel},
    Again = Call#{options := Answer#{channel => Channel}},
    case say(Node, {call, Again}, Given) of
        ok -> await(Node, Again, maps:remove(timeout, Given));
        {error, Second} -> exit(Second)
    end;
fall_back(Reason, _Node, _Call, _Limited, _Options) ->
    exit(Reason).

-spec await(partisan_peer:name(), request(), partisan_transport:options()) -> no_return().
await(Node, Call, Options) ->
    receive
        {partisan_reply, {ok, Reply}} -> exit({?MODULE, Reply});
        {partisan_reply, {exit, Reason}} -> exit(Reason);
        {partisan, {acknowledged, ?MODULE, ok}} -> await(Node, Call, Options);
        {partisan, {acknowledged, ?MODULE, {error, timeout}}} ->
            % The request may have arrived.
            cancel(Node, Call, Options, timeout);
        {partisan, {acknowledged, ?MODULE, {error, _}}} -> exit({nodedown, Node});
        {nodedown, Node} -> exit({nodedown, Node});
        {'DOWN', _, process, {partisan_remote, _}, _} -> exit({nodedown, Node});
        {?MODULE, abandon} -> cancel(Node, Call, Options, normal);
        % The caller.
        {'DOWN', _, process, _, _} -> cancel(Node, Call, Options, normal)
    end.

%% On the path of the call, so that it does not overtake it.
-spec cancel(partisan_peer:name(), request(), partisan_transport:options(), Reason :: term()) ->
    no_return().
cancel(Node, #{reply_to := Id}, Options, Reason) ->
    _ = say(Node, {cancel, Id}, Options#{timeout => delivery_timeout(infinity)}),
    exit(Reason).

say(Node, Body, Options) ->
    Message = {partisan_remote, partisan:node(), partisan:incarnation(), Body},
    send(Node, partisan_remote, Message, Options).

%% Internals: the server's node.

is_delay(Ms) -> is_integer(Ms) andalso partisan_arguments:is_timeout(Ms).

%% The options that start/5 sends, and no others, such as a causal label.
is_option({partition_key, Hash}) -> is_integer(Hash);
is_option({Name, Value}) -> lists:member(Name, [channel, ttl, ack]) andalso is_valid(Name, Value).

local({execute, Name}, Encoded, _Timeout) when is_binary(Name), is_binary(Encoded) ->
    partisan_execution:serve(Name, Encoded);
local({event, Destination}, Request, Timeout) ->
    partisan_otp_calls:serve(Destination, Request, Timeout);
local({find, Destination}, _Request, _Timeout) ->
    case partisan_reach:find(Destination) of
        {ok, Pid} -> {ok, {is_process_alive(Pid), partisan_ref:of_local(Pid)}};
        {error, _} -> {exit, noproc}
    end;
local(Destination, Request, Timeout) ->
    case partisan_reach:server(Destination) of
        {error, _} ->
            {exit, noproc};
        {ok, Pid} ->
            try
                {ok, gen_server:call(Pid, Request, Timeout)}
            catch
                exit:{Reason, {gen_server, call, _}} -> {exit, Reason}
            end
    end.

answer({exit, timeout}, _Request) ->
    % The caller knows already.
    ok;
answer(Outcome, #{reply_to := Caller} = Request) ->
    {Node, Destination} = partisan_ref:address(Caller),
    Options = answer_options(Request),
    case send(Node, Destination, {partisan_reply, Outcome}, Options) of
        ok ->
            ok;
        {error, Reason} ->
            % Too large, perhaps; if this does not arrive either, the caller times out.
            _ = send(Node, Destination, {partisan_reply, {exit, Reason}}, Options),
            ok
    end.

answer_options(#{timeout := Timeout, options := Options}) ->
    Options#{timeout => delivery_timeout(Timeout)}.

%% Internals.

send(Node, Destination, Message, #{ack := false} = Options) ->
    Name = maps:get(channel, Options, default),
    case partisan_channel:find(Name) of
        {ok, Channel} ->
            % There a call would replace another one that waits.
            case partisan_channel:is_monotonic(Channel) of
                true -> {error, {monotonic_channel, Name}};
                false -> partisan:transmit(Node, Destination, Message, Options)
            end;
        error ->
            {error, {unknown_channel, Name}}
    end;
send(Node, Destination, Message, Options) ->
    partisan:transmit(Node, Destination, Message, Options#{ack => {notify, ?MODULE}}).

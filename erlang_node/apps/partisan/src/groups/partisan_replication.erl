%%% @doc Replicas ({@link partisan_replica}) over the network: a process of the same name on each
%%% node, which gets the messages of the others as tuples that begin with its module.
-module(partisan_replication).

-export([new_count/0]).
-export([monitor_runtime/0]).
-export([broadcast/2]).
-export([compare/2]).
-export([compare_later/0]).
-export([send/3]).
-export([received/4]).

%% The module whose messages these are, and the registered name of its processes.
-type server() :: {module(), atom()}.
-export_type([server/0]).

%% Milliseconds between checks whether the runtime has restarted.
-define(CHECK, 20).

%% @doc A count of changes larger than those of all previous replicas of this emulator: they have
%% changed less than once per microsecond.
-spec new_count() -> non_neg_integer().
new_count() ->
    erlang:convert_time_unit(
        erlang:monotonic_time() - erlang:system_info(start_time), native, microsecond
    ).

%% @doc Monitors the runtime of this node, first waiting for its restart: it ends the caller's
%% predecessor, and with a failed start it would end the supervisor that starts the caller at once.
-spec monitor_runtime() -> reference().
monitor_runtime() ->
    IsRestarting = whereis(partisan_remote) =:= undefined andalso is_pid(whereis(partisan_sup)),
    case IsRestarting of
        true -> receive after ?CHECK -> monitor_runtime() end;
        false -> monitor(process, partisan_remote)
    end.

%% @doc Sends a message to the processes on all nodes. One that is too large for a message reaches
%% none, and no comparison makes up for it.
-spec broadcast(server(), tuple()) -> ok.
broadcast({Module, Name}, Message) ->
    case partisan:broadcast(Name, tagged(Module, Message)) of
        ok ->
            ok;
        {error, {too_large, Bytes}} ->
            partisan_refusals:warn(
                message,
                "the entries of ~tp on this node have ~b bytes, and reach no other node; have "
                "fewer, or raise `message_bytes`",
                [Name, Bytes]
            )
    end.

%% @doc Sends `{timeout, Timer, compare}' to the caller after a `heartbeat_interval'; other nodes,
%% which can send to the caller too, do not know the timer.
-spec compare_later() -> Timer :: reference().
compare_later() ->
    erlang:start_timer(partisan_config:get(heartbeat_interval), self(), compare).

%% @doc Compares with one neighbour: both learn what they lack.
-spec compare(server(), partisan_replica:t()) -> ok.
compare(Server, Replica) ->
    case partisan:neighbours() of
        [] ->
            ok;
        Names ->
            Neighbour = lists:nth(rand:uniform(length(Names)), Names),
            send(Server, Neighbour, partisan_replica:question(Replica))
    end.

%% @doc Sends a message to the process on a node. A loss shows in the next comparison.
-spec send(server(), partisan_peer:name(), tuple()) -> ok.
send({Module, Name}, Node, Message) ->
    Options = #{on_busy => drop, await_route => false, ack => false},
    _ = partisan:forward(Node, Name, tagged(Module, Message), Options),
    ok.

%% @doc Handles a message of another node's process, and sends what it asks for. `error' if it is
%% malformed, which it is only if sent by a faulty member.
-spec received(server(), fun((tuple()) -> boolean()), tuple(), partisan_replica:t()) ->
    {ok, partisan_replica:t()} | error.
received(Server, IsValid, Message, Replica) ->
    Untagged = erlang:delete_element(1, Message),
    try
        true = IsValid(Untagged),
        partisan_replica:handle(Untagged, Replica)
    of
        {Answers, Changed} ->
            _ = [send(Server, Node, Answer) || {Node, Answer} <- Answers],
            {ok, Changed}
    catch
        error:_ ->
            ok = partisan_stray:message(Message),
            error
    end.

%% Internals.

tagged(Module, Message) ->
    erlang:insert_element(1, Message, Module).

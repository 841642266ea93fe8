%%% @doc Replicas ({@link partisan_replica}) over the network: a process of the same name on each
%%% node, which gets the messages of the others as tuples that begin with its module.
-module(partisan_replication).

-export([new_count/0]).
-export([broadcast/2]).
-export([compare/2]).
-export([compare_later/0]).
-export([send/3]).
-export([received/3]).

%% The module whose messages these are, and the registered name of its processes.
-type server() :: {module(), atom()}.
-export_type([server/0]).

%% @doc A count of changes larger than those of all previous replicas of this emulator: they have
%% changed less than once per microsecond.
-spec new_count() -> non_neg_integer().
new_count() ->
    erlang:convert_time_unit(
        erlang:monotonic_time() - erlang:system_info(start_time), native, microsecond
    ).

%% @doc Sends a message to the processes on all nodes. Of one that is too large to be broadcast,
%% neighbours learn when they compare.
-spec broadcast(server(), tuple()) -> ok.
broadcast({Module, Name}, Message) ->
    _ = partisan:broadcast(Name, tagged(Module, Message)),
    ok.

%% @doc Sends `compare' to the caller after a `heartbeat_interval'.
-spec compare_later() -> ok.
compare_later() ->
    _ = erlang:send_after(partisan_config:get(heartbeat_interval), self(), compare),
    ok.

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
-spec received(server(), tuple(), partisan_replica:t()) -> {ok, partisan_replica:t()} | error.
received(Server, Message, Replica) ->
    try partisan_replica:handle(erlang:delete_element(1, Message), Replica) of
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

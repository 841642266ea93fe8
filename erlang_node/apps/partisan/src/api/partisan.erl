%%% @doc Membership and messaging for a cluster of Erlang nodes, without Distributed Erlang.
%%%
%%% Nodes form an overlay (a full mesh, a star, partial views) and exchange messages over named
%%% channels, each with one or more TCP connections per peer, so that bulk data never holds up
%%% urgent messages.
%%%
%%% ```
%%% ok = partisan_config:set(#{name => <<"ads-0">>, ...}),
%%% {ok, _} = application:ensure_all_started(partisan),
%%% [Neighbour | _] = partisan:neighbours(),
%%% ok = partisan:forward(Neighbour, my_server, {hello, partisan:node()}, #{channel => gossip}).
%%% '''
%%%
%%% A process is named by `{Name, Node}', on the own node also by `Name', or by a reference ({@link
%%% partisan_ref}) that means the same process on every node; `call', `cast' and `monitor' work as
%%% OTP's local functions do.
%%%
%%% == Guarantees ==
%%% A message arrives at most once. Messages from one process (or of one `partition_key') to one
%%% destination on one channel arrive in the order of sending, acknowledged or not, from the first
%%% one on and across reconnections; docs/explanation/delivery.md describes what else is ordered,
%%% and what is not. A lane's queue is bounded; `on_busy' decides what happens when it is full. On a
%%% monotonic channel a message replaces a waiting one with the same destination and partition key.
%%% On an acknowledged channel it is retransmitted until it has arrived, and delivered once.
%%%
%%% Longer than 300 lines: the whole API in one place, a line or two for each function.
-module(partisan).

-compile({no_auto_import, [node/0, self/0, monitor/2, demonitor/1]}).

-export([node/0]).
-export([incarnation/0]).
-export([join/1]).
-export([leave/0]).
-export([dissolve/0]).
-export([dissolved/0]).
-export([switch/1]).
-export([reconfigure/1]).
-export([members/0]).
-export([neighbours/0]).
-export([joined/0]).
-export([overlay/0]).
-export([channels/0]).
-export([self/0]).
-export([ref/1]).
-export([forward/2]).
-export([forward/3]).
-export([forward/4]).
-export([call/2]).
-export([call/3]).
-export([call/4]).
-export([execute/4]).
-export([execute/5]).
-export([cast/2]).
-export([cast/3]).
-export([monitor/2]).
-export([demonitor/1]).
-export([monitor_node/1]).
-export([demonitor_node/1]).
-export([broadcast/2]).
-export([broadcast/3]).
-export([subscribe/1]).
-export([subscribe/2]).
-export([unsubscribe/2]).
-export([publish/2]).
%% For OTP, which reaches other nodes by `{via, partisan, {Name, Node}}'.
-export([whereis_name/1]).
-export([register_name/2]).
-export([unregister_name/1]).
-export([send/2]).
%% For the rest of the application.
-export([transmit/4]).
-export([deliver/4]).

-type error() ::
    partisan_transport:send_error()
    | partisan_ack_out:failure()
    | {monotonic_channel, atom()}.
-export_type([error/0]).

%% @doc The name of this node.
-spec node() -> partisan_peer:name().
node() ->
    partisan_config:get(name).

%% @doc The incarnation of this node: larger than all before. It changes when the runtime restarts.
-spec incarnation() -> partisan_peer:incarnation().
incarnation() ->
    partisan_config:get(incarnation).

%% @doc Joins the overlay through these peers, in addition to the configured seeds. Fails with
%% `{bad_peers, Description}' for what are no peers.
-spec join([partisan_peer:t()]) -> ok.
join(Peers) ->
    partisan_manager:join(Peers).

%% @doc Leaves the overlay gracefully: notifies the neighbours and flushes the queues first. The
%% node cannot join again; stop the application afterwards.
-spec leave() -> ok.
leave() ->
    partisan_manager:leave().

%% @doc Announces to every node that the cluster is being deleted. From then on nodes repair nothing
%% and send nothing; subscribers ({@link subscribe/1}) get `{partisan, dissolved}'. Only a restart
%% brings a node back.
-spec dissolve() -> ok.
dissolve() ->
    partisan_manager:dissolve().

%% @doc Whether this node has learnt that the cluster is being deleted.
-spec dissolved() -> boolean().
dissolved() ->
    partisan_view:dissolved().

%% @doc Moves this node to another overlay, or other parameters, at run time; do so on every node.
%% It keeps its neighbours until it has others, and messages in transit arrive.
-spec switch(partisan_overlay_switch:spec()) -> ok | {error, Description :: string()}.
switch(Spec) ->
    reconfigure(#{overlay => Spec}).

%% @doc Changes settings of this node at run time, all of them or, if one is invalid, none: the
%% overlay (`switch/1'), the number of lanes of a channel, the seeds, the size of the cluster.
%% Messages keep their order when the lanes change: the new lanes wait until the previous ones have
%% delivered their contents.
-spec reconfigure(partisan_config:changes()) -> ok | {error, Description :: string()}.
reconfigure(Changes) ->
    partisan_manager:reconfigure(Changes).

%% @doc The members known to this node, itself included; not all of them in partial views.
-spec members() -> [partisan_peer:name()].
members() ->
    partisan_view:members().

%% @doc The members this node has connections to.
-spec neighbours() -> [partisan_peer:name()].
neighbours() ->
    partisan_view:neighbours().

%% @doc Whether this node is part of the overlay.
-spec joined() -> boolean().
joined() ->
    #{joined := Joined} = overlay(),
    Joined.

%% @doc The overlay of this node: its kind and state, and its passive view.
-spec overlay() -> partisan_stack:info().
overlay() ->
    partisan_view:info().

%% @doc The traffic of every channel since the start.
-spec channels() -> #{atom() => partisan_channel_stats:t()}.
channels() ->
    partisan_channel_stats:channels().

%% @doc A reference to the calling process that other nodes can send to, call and monitor. A raw pid
%% in a message would mean a process of the receiver.
-spec self() -> partisan_ref:t().
self() ->
    ref(erlang:self()).

%% @doc A reference to a process, or an Erlang reference, of this node ({@link partisan_ref}).
-spec ref(pid() | reference()) -> partisan_ref:t().
ref(Local) ->
    partisan_ref:of_local(Local).

%% @doc Sends a message to a process on any node.
-spec forward(partisan_ref:target(), Message :: term()) -> ok | {error, error()}.
forward(Target, Message) ->
    forward(Target, Message, #{}).

%% @doc `forward(Target, Message, Options)' or `forward(Node, RegisteredName, Message)'.
-spec forward
    (partisan_ref:target(), Message :: term(), partisan_transport:options()) ->
        ok | {error, error()};
    (partisan_peer:name(), RegisteredName :: atom(), Message :: term()) -> ok | {error, error()}.
forward(Node, RegisteredName, Message) when is_binary(Node) ->
    forward(Node, RegisteredName, Message, #{});
forward(Target, Message, Options) ->
    {Node, Destination} = partisan_ref:address(Target),
    forward(Node, Destination, Message, Options).

%% @doc Sends a message to a process of a member. `ok': it has been queued, here or, for a member
%% that is not a neighbour, on the first hop (of at most `ttl'); with `ack': the member has it; on
%% an acknowledged channel without `ack': it is retransmitted until it has arrived. If there is no
%% such process, or it is not offered ({@link partisan_reach}), the member drops and counts the
%% message.
-spec forward(
    partisan_peer:name(),
    partisan_ref:destination(),
    Message :: term(),
    partisan_transport:options()
) -> ok | {error, error()}.
forward(Node, Destination, Message, Options) when
    is_binary(Node), is_atom(Destination) orelse is_tuple(Destination)
->
    % A service accepts only the runtime's own messages.
    case node() =:= Node orelse partisan_reach:is_service(Destination) of
        true -> deliver_here(Destination, Message, maps:get(channel, Options, default), Options);
        false -> transmit(Node, Destination, Message, Options)
    end.

%% @private Sends a message of a runtime protocol to another node, also to a service.
-spec transmit(
    partisan_peer:name(),
    partisan_ref:destination(),
    Message :: term(),
    partisan_transport:options()
) -> ok | {error, error()}.
transmit(Node, Destination, Message, Options) ->
    Name = maps:get(channel, Options, default),
    case partisan_channel:find(Name) of
        {ok, Channel} when Name =/= overlay ->
            send(Node, Destination, Message, Channel, Options);
        _ ->
            {error, {unknown_channel, Name}}
    end.

send(Node, Destination, Message, Channel, Options) ->
    case is_acknowledged(Channel, Options) of
        true ->
            partisan_acks:send(Node, Destination, Message, Channel, Options);
        false ->
            case is_behind_acknowledged(Node, Channel, Options) of
                true -> send_behind(Node, Destination, Message, Channel, Options);
                false -> partisan_transport:send(Node, Destination, Message, Channel, Options)
            end
    end.

%% A stream takes any route to its node: a message for neighbours only must not join it elsewhere.
send_behind(Node, Destination, Message, Channel, Options) ->
    case maps:get(ttl, Options, none) =:= 0 andalso not lists:member(Node, neighbours()) of
        true -> {error, not_connected};
        false -> partisan_acks:send(Node, Destination, Message, Channel, Options#{ack => false})
    end.

%% Whether the message could overtake acknowledged ones.
is_behind_acknowledged(Node, Channel, Options) ->
    partisan_ack_order:is_under_way(fun() ->
        Key = partisan_transport:partition_key(Options),
        partisan_ack_order:key(Node, partisan_channel:name(Channel), Key)
    end).

is_acknowledged(_Channel, #{causal := _}) -> true;
is_acknowledged(_Channel, #{ack := Ack}) -> Ack =/= false;
is_acknowledged(Channel, #{}) -> partisan_channel:is_acknowledged(Channel).

deliver_here(Destination, Message, Channel, #{ack := {notify, Tag}}) ->
    Outcome = deliver(none, Destination, Message, Channel),
    erlang:self() ! {partisan, {acknowledged, Tag, Outcome}},
    ok;
deliver_here(Destination, Message, Channel, _Options) ->
    deliver(none, Destination, Message, Channel).

%% @equiv call(Target, Request, 5000)
-spec call(partisan_ref:target(), Request :: term()) -> Reply :: term().
call(Target, Request) ->
    call(Target, Request, 5000).

%% @equiv call(Target, Request, Timeout, #{})
-spec call(partisan_ref:target(), Request :: term(), timeout()) -> Reply :: term().
call(Target, Request, Timeout) ->
    call(Target, Request, Timeout, #{}).

%% @doc Calls a generic server, or any process that answers `gen_server:call/3', on any node. Exits
%% with `{Reason, {partisan, call, Arguments}}' if there is no such process (`noproc'), it ends (its
%% reason), the call times out (`timeout'), or its node is lost (`{nodedown, Node}'). Fails with
%% `{unknown_option, Name}' or `{bad_option, {Name, Value}}' before anything is sent.
-spec call(partisan_ref:target(), Request :: term(), timeout(), partisan_call:options()) ->
    Reply :: term().
call(Target, Request, Timeout, Options) ->
    partisan_call:call(Target, Request, Timeout, Options).

%% @equiv execute(Node, Module, Function, Arguments, 5000)
-spec execute(partisan_peer:name(), module(), Function :: atom(), [term()]) -> Result :: term().
execute(Node, Module, Function, Arguments) ->
    execute(Node, Module, Function, Arguments, 5000).

%% @doc Executes a function on a node whose setting `remote_execution' (empty by default) lists the
%% module. Exits as `call/4' does, with `{not_allowed, Module}' if it does not. {@link partisan_rpc}
%% and {@link partisan_erpc} have the other forms.
-spec execute(partisan_peer:name(), module(), Function :: atom(), [term()], timeout()) ->
    Result :: term().
execute(Node, Module, Function, Arguments, Timeout) ->
    partisan_rpc:execute(Node, {Module, Function, Arguments}, Timeout).

%% @equiv cast(Target, Request, #{})
-spec cast(partisan_ref:target(), Request :: term()) -> ok | {error, error()}.
cast(Target, Request) ->
    cast(Target, Request, #{}).

%% @doc Sends a request without an answer to a generic server. The options are those of `forward/4'.
-spec cast(partisan_ref:target(), Request :: term(), partisan_transport:options()) ->
    ok | {error, error()}.
cast(Target, Request, Options) ->
    partisan_call:cast(Target, Request, Options).

%% @doc Monitors a process. The caller gets `{'DOWN', Reference, process, Target, Reason}' once it
%% has ended: with its own reason, `noproc' if there is none, `noconnection' if its node is lost or
%% restarts, or the runtime of this node ends. The target of a name alone is `{Name, Node}'.
-spec monitor(process, partisan_ref:target()) -> reference().
monitor(process, Target) ->
    partisan_remote:monitor(Target, #{}).

%% @doc Ends a monitor; no `DOWN' of it comes, or remains in the mailbox, afterwards.
-spec demonitor(reference()) -> true.
demonitor(Monitor) ->
    _ = partisan_remote:demonitor(Monitor),
    true.

%% @doc Monitors a node. The caller gets `{nodedown, Node}' once when the node is lost or restarts,
%% or the runtime of this node ends, however often it has asked.
-spec monitor_node(partisan_peer:name()) -> true.
monitor_node(Node) ->
    ok = partisan_remote:monitor_node(Node, erlang:self()),
    true.

%% @doc Ends the monitoring of a node by the caller.
-spec demonitor_node(partisan_peer:name()) -> true.
demonitor_node(Node) ->
    ok = partisan_remote:demonitor_node(Node, erlang:self()),
    true.

%% @equiv broadcast(RegisteredName, Message, #{})
-spec broadcast(RegisteredName :: atom(), Message :: term()) ->
    ok | {error, {too_large, Bytes :: pos_integer()}}.
broadcast(RegisteredName, Message) when is_atom(RegisteredName) ->
    partisan_manager:broadcast(RegisteredName, Message).

%% @doc Sends a message to the process of that name on every member, this node included. It shares
%% the overlay's channel, so keep it small; there are no options yet.
-spec broadcast(RegisteredName :: atom(), Message :: term(), #{}) ->
    ok | {error, {too_large, Bytes :: pos_integer()}}.
broadcast(RegisteredName, Message, Options) when map_size(Options) =:= 0 ->
    broadcast(RegisteredName, Message).

%% @doc Subscribes a process to `{partisan, {neighbour_up, Name}}' and `{partisan, {neighbour_down,
%% Name}}', beginning with the present neighbours; `{partisan, dissolved}' at the end.
-spec subscribe(pid()) -> ok.
subscribe(Pid) ->
    partisan_manager:subscribe(Pid).

%% @doc Subscribes a process of this node to a topic: it gets `{partisan, {published, Topic,
%% Message}}' for all messages of publishers that know of the subscription ({@link
%% partisan_topics}).
-spec subscribe(Topic :: term(), pid()) -> ok.
subscribe(Topic, Pid) ->
    partisan_pubsub:subscribe(Topic, Pid).

%% @doc Ends a process's subscription to a topic.
-spec unsubscribe(Topic :: term(), pid()) -> ok.
unsubscribe(Topic, Pid) ->
    partisan_pubsub:unsubscribe(Topic, Pid).

%% @doc Sends a message to the subscribers of a topic, over a tree of their nodes or, on an overlay
%% with brokers, by way of one ({@link partisan_brokers}).
-spec publish(Topic :: term(), Message :: term()) -> ok | {error, partisan_pubsub:error()}.
publish(Topic, Message) ->
    partisan_pubsub:publish(Topic, Message).

%% @private
-spec whereis_name(partisan_ref:target()) -> pid() | undefined.
whereis_name(Target) ->
    partisan_via:whereis_name(Target).

%% @private
-spec register_name(partisan_ref:target(), pid()) -> yes | no.
register_name(Target, Pid) ->
    partisan_via:register_name(Target, Pid).

%% @private
-spec unregister_name(partisan_ref:target()) -> ok.
unregister_name(Target) ->
    partisan_via:unregister_name(Target).

%% @private
-spec send(partisan_ref:target(), Message :: term()) -> ok.
send(Target, Message) ->
    partisan_via:send(Target, Message).

%% @private Delivers a message on this node, with its sender if known.
-spec deliver(partisan_reach:origin(), partisan_ref:destination(), term(), Channel :: atom()) ->
    ok | {error, {unknown_channel, atom()}}.
deliver(Origin, Destination, Message, ChannelName) ->
    case {partisan_reach:route(Origin, Destination, Message), partisan_channel:find(ChannelName)} of
        {_, error} ->
            {error, {unknown_channel, ChannelName}};
        {{error, Reason}, {ok, Channel}} ->
            partisan_channel:dropped(Channel, Reason);
        {{ok, Pid, Delivered}, _} ->
            Pid ! Delivered,
            ok;
        {{alias, _Pid, Alias, Delivered}, _} ->
            partisan_remote:send_alias(Alias, Delivered)
    end.

%%% @doc Membership and messaging for a cluster of Erlang nodes, without Distributed Erlang.
%%%
%%% Nodes form an overlay (a full mesh, a star, partial views) and exchange messages over named
%%% channels, each of them one or more TCP connections per peer, so that bulk data never holds up
%%% what is urgent.
%%%
%%% ```
%%% ok = partisan_config:set(#{name => <<"ads-0">>, ...}),
%%% {ok, _} = application:ensure_all_started(partisan),
%%% [Neighbour | _] = partisan:neighbours(),
%%% ok = partisan:forward(Neighbour, my_server, {hello, partisan:node()}, #{channel => gossip}).
%%% '''
%%%
%%% A process is named by `{Name, Node}', or by a reference ({@link partisan_ref}) that means the
%%% same process on every node; `call', `cast' and `monitor' reach it as OTP's functions do at home.
%%%
%%% == Guarantees ==
%%% A message arrives at most once. Messages from one process (or of one `partition_key') to one
%%% destination on one channel arrive in the order in which they were sent, acknowledged or not,
%%% from the first one on and through reconnections; docs/runtime.md says what else is ordered, and
%%% what is not. A lane's queue is bounded; `on_busy' says what happens when it is
%%% full. On a monotonic channel a message replaces the one that still waits with the same
%%% destination and partition key. On an acknowledged channel it is sent again until it has arrived,
%%% and delivered once.
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

%% @doc Which incarnation of this node this is: larger than all before. It changes when the runtime
%% starts again.
-spec incarnation() -> partisan_peer:incarnation().
incarnation() ->
    partisan_config:get(incarnation).

%% @doc Joins the overlay through these peers, beside the configured seeds.
-spec join([partisan_peer:t()]) -> ok.
join(Peers) ->
    partisan_manager:join(Peers).

%% @doc Leaves the overlay gracefully: the neighbours are told, and what is queued is sent first.
%% The node cannot join again; stop the application afterwards.
-spec leave() -> ok.
leave() ->
    partisan_manager:leave().

%% @doc The cluster is being deleted: has every node know it. From then on nodes repair nothing, and
%% nothing can be sent; subscribers ({@link subscribe/1}) get `{partisan, dissolved}'. A node cannot
%% come back from it but by a restart.
-spec dissolve() -> ok.
dissolve() ->
    partisan_manager:dissolve().

%% @doc Has this node learnt that the cluster is being deleted?
-spec dissolved() -> boolean().
dissolved() ->
    partisan_view:dissolved().

%% @doc Moves this node to another overlay, or other parameters, while everything runs; do so on
%% every node. It keeps its neighbours until it has others, and what is under way arrives.
-spec switch(partisan_overlay_switch:spec()) -> ok | {error, Description :: string()}.
switch(Spec) ->
    reconfigure(#{overlay => Spec}).

%% @doc Changes settings of this node while everything runs, all or, where one is wrong, none: the
%% overlay (`switch/1'), how many lanes a channel has, the seeds, the size of the cluster. When the
%% lanes change messages keep their order: those of the new lanes wait until the former ones have
%% delivered what they held.
-spec reconfigure(partisan_config:changes()) -> ok | {error, Description :: string()}.
reconfigure(Changes) ->
    partisan_manager:reconfigure(Changes).

%% @doc The members this node knows, itself included. In partial views that is not everybody.
-spec members() -> [partisan_peer:name()].
members() ->
    partisan_view:members().

%% @doc The members this node has connections to.
-spec neighbours() -> [partisan_peer:name()].
neighbours() ->
    partisan_view:neighbours().

%% @doc Is this node part of the overlay?
-spec joined() -> boolean().
joined() ->
    #{joined := Joined} = overlay(),
    Joined.

%% @doc The overlay of this node: its kind and state, and its passive view.
-spec overlay() -> partisan_stack:info().
overlay() ->
    partisan_view:info().

%% @doc The traffic of every channel since the start.
-spec channels() -> #{atom() => partisan_transport:channel_stats()}.
channels() ->
    partisan_transport:channels().

%% @doc A reference to the calling process that other nodes can send to, call and monitor. A raw pid
%% that travels in a message means a process of the receiver.
-spec self() -> partisan_ref:t().
self() ->
    ref(erlang:self()).

%% @doc A reference to a process, or an Erlang reference, of this node ({@link partisan_ref}).
-spec ref(pid() | reference()) -> partisan_ref:t().
ref(Local) ->
    partisan_ref:of_local(Local).

%% @doc Sends a message to a process, whatever node it is on.
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

%% @doc Sends a message to a process of a member. `ok' says that it has been queued, here or, for a
%% member that is no neighbour, on the first hop of its way (up to `ttl' hops); with `ack', that the
%% member has it; on an acknowledged channel without `ack', that it is sent until it has arrived.
%% Where there is no such process, or it is not offered ({@link partisan_reach}), it is dropped and
%% counted there.
-spec forward(
    partisan_peer:name(),
    partisan_ref:destination(),
    Message :: term(),
    partisan_transport:options()
) -> ok | {error, error()}.
forward(Node, Destination, Message, Options) ->
    % A service gets nothing but what the runtime says.
    case node() =:= Node orelse partisan_reach:is_service(Destination) of
        true -> deliver_here(Destination, Message, maps:get(channel, Options, default), Options);
        false -> transmit(Node, Destination, Message, Options)
    end.

%% @private Sends a message to another node, for the protocols of the runtime: to a service too.
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

%% A stream takes any way to its node: one that is for neighbours alone must not join it elsewhere.
send_behind(Node, Destination, Message, Channel, Options) ->
    case maps:get(ttl, Options, none) =:= 0 andalso not lists:member(Node, neighbours()) of
        true -> {error, not_connected};
        false -> partisan_acks:send(Node, Destination, Message, Channel, Options#{ack => false})
    end.

%% It must not overtake those.
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

%% @doc Calls a generic server, or whatever else answers `gen_server:call/3', on any node. Exits
%% with `{Reason, {partisan, call, Arguments}}' where there is no such process (`noproc'), it ends
%% (its reason), the time is over (`timeout'), or its node is lost (`{nodedown, Node}').
-spec call(partisan_ref:target(), Request :: term(), timeout(), partisan_call:options()) ->
    Reply :: term().
call(Target, Request, Timeout, Options) ->
    partisan_call:call(Target, Request, Timeout, Options).

%% @equiv execute(Node, Module, Function, Arguments, 5000)
-spec execute(partisan_peer:name(), module(), Function :: atom(), [term()]) -> Result :: term().
execute(Node, Module, Function, Arguments) ->
    execute(Node, Module, Function, Arguments, 5000).

%% @doc Has a node execute a function of a module that its setting `remote_execution' lists, which
%% is empty by default. Exits as `call/4' does, with `{not_allowed, Module}' where it does not.
-spec execute(partisan_peer:name(), module(), Function :: atom(), [term()], timeout()) ->
    Result :: term().
execute(Node, Module, Function, Arguments, Timeout) ->
    partisan_call:execute(Node, {Module, Function}, Arguments, Timeout).

%% @equiv cast(Target, Request, #{})
-spec cast(partisan_ref:target(), Request :: term()) -> ok | {error, error()}.
cast(Target, Request) ->
    cast(Target, Request, #{}).

%% @doc Sends a generic server a request without an answer. The options are those of `forward/4'.
-spec cast(partisan_ref:target(), Request :: term(), partisan_transport:options()) ->
    ok | {error, error()}.
cast(Target, Request, Options) ->
    partisan_call:cast(Target, Request, Options).

%% @doc The caller gets `{'DOWN', Reference, process, Target, Reason}' once the process has ended:
%% with its own reason, `noproc' where there is none, `noconnection' when its node is lost or starts
%% again.
-spec monitor(process, partisan_ref:target()) -> reference().
monitor(process, Target) ->
    partisan_remote:monitor(Target, Target).

%% @doc Ends a monitor; no `DOWN' of it comes, or is left in the mailbox, from then on.
-spec demonitor(reference()) -> true.
demonitor(Monitor) ->
    ok = partisan_remote:demonitor(Monitor),
    receive
        {'DOWN', Monitor, process, _, _} -> true
    after 0 -> true
    end.

%% @doc The caller gets `{nodedown, Node}' when the node is lost or starts again, once, however
%% often it has asked.
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
broadcast(RegisteredName, Message) ->
    partisan_manager:broadcast(RegisteredName, Message).

%% @doc Sends a message to the process of that name on every member, this node included. It
%% travels with the overlay's own traffic, so keep it small; there are no options yet.
-spec broadcast(RegisteredName :: atom(), Message :: term(), #{}) ->
    ok | {error, {too_large, Bytes :: pos_integer()}}.
broadcast(RegisteredName, Message, Options) when map_size(Options) =:= 0 ->
    broadcast(RegisteredName, Message).

%% @doc The process gets `{partisan, {neighbour_up, Name}}' and `{partisan, {neighbour_down, Name}}'
%% from now on, beginning with the present neighbours; `{partisan, dissolved}' at the end.
-spec subscribe(pid()) -> ok.
subscribe(Pid) ->
    partisan_manager:subscribe(Pid).

%% @doc A process of this node gets `{partisan, {published, Topic, Message}}' for all that any node
%% publishes under that topic from when it knows of the subscription ({@link partisan_topics}).
-spec subscribe(Topic :: term(), pid()) -> ok.
subscribe(Topic, Pid) ->
    partisan_pubsub:subscribe(Topic, Pid).

%% @doc Ends a process's subscription to a topic.
-spec unsubscribe(Topic :: term(), pid()) -> ok.
unsubscribe(Topic, Pid) ->
    partisan_pubsub:unsubscribe(Topic, Pid).

%% @doc Sends a message to the subscribers of a topic, over a tree of the nodes that have any.
-spec publish(Topic :: term(), Message :: term()) ->
    ok | {error, {too_large, Bytes :: pos_integer()}}.
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

%% @private Delivers a message on this node, that a member has sent, if it is known which.
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
            ok
    end.

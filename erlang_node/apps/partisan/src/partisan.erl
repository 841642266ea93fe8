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
%%% == Guarantees ==
%%% A message arrives at most once. Messages from one process (or of one `partition_key') to one
%%% destination on one channel arrive in the order in which they were sent, from the first one on
%%% and through reconnections. A lane's queue is bounded; `on_busy' says what happens when it is
%%% full. On a monotonic channel a message replaces the one that still waits with the same
%%% destination and partition key.
-module(partisan).

-compile({no_auto_import, [node/0]}).

-export([node/0]).
-export([incarnation/0]).
-export([join/1]).
-export([leave/0]).
-export([members/0]).
-export([neighbours/0]).
-export([joined/0]).
-export([overlay/0]).
-export([channels/0]).
-export([forward/3]).
-export([forward/4]).
-export([broadcast/2]).
-export([broadcast/3]).
-export([subscribe/1]).
%% For the rest of the application.
-export([deliver/3]).

-type error() ::
    partisan_transport:send_error()
    | partisan_ack_out:failure()
    | {monotonic_channel, atom()}.
-export_type([error/0]).

%% @doc The name of this node.
-spec node() -> partisan_peer:name().
node() ->
    partisan_config:get(name).

%% @doc Which life of this node this is: larger than in every former life.
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

%% @doc The members this node knows, itself included. In partial views that is not everybody.
-spec members() -> [partisan_peer:name()].
members() ->
    partisan_manager:members().

%% @doc The members this node has connections to.
-spec neighbours() -> [partisan_peer:name()].
neighbours() ->
    partisan_manager:neighbours().

%% @doc Is this node part of the overlay?
-spec joined() -> boolean().
joined() ->
    #{joined := Joined} = overlay(),
    Joined.

-spec overlay() -> partisan_stack:info().
overlay() ->
    partisan_manager:info().

%% @doc The traffic of every channel since the start.
-spec channels() -> #{atom() => partisan_transport:channel_stats()}.
channels() ->
    partisan_transport:channels().

-spec forward(partisan_peer:name(), RegisteredName :: atom(), Message :: term()) ->
    ok | {error, error()}.
forward(Node, RegisteredName, Message) ->
    forward(Node, RegisteredName, Message, #{}).

%% @doc Sends a message to a registered process of a member. `ok' says that it has been queued, for
%% a member that is no neighbour on the first hop of its way (of up to `ttl' hops). Where nobody has
%% that name there, it is dropped and counted there.
-spec forward(partisan_peer:name(), RegisteredName :: atom(), Message :: term(),
    partisan_transport:options()) -> ok | {error, error()}.
forward(Node, RegisteredName, Message, Options) ->
    Channel = maps:get(channel, Options, default),
    case node() of
        Node -> deliver_here(RegisteredName, Message, Channel, Options);
        _ when is_map_key(causal, Options) -> acknowledged(Node, RegisteredName, Message, Options);
        _ when map_get(ack, Options) =/= false ->
            acknowledged(Node, RegisteredName, Message, Options);
        _ -> partisan_transport:send(Node, RegisteredName, Message, Options)
    end.

acknowledged(Node, RegisteredName, Message, Options) ->
    Name = maps:get(channel, Options, default),
    case partisan_channel:find(Name) of
        {ok, Channel} when Name =/= overlay ->
            partisan_acks:send(Node, RegisteredName, Message, Channel, Options);
        _ ->
            {error, {unknown_channel, Name}}
    end.

deliver_here(RegisteredName, Message, Channel, #{ack := {notify, Tag}}) ->
    Outcome = deliver(RegisteredName, Message, Channel),
    self() ! {partisan, {acknowledged, Tag, Outcome}},
    ok;
deliver_here(RegisteredName, Message, Channel, _Options) ->
    deliver(RegisteredName, Message, Channel).

-spec broadcast(RegisteredName :: atom(), Message :: term()) -> ok.
broadcast(RegisteredName, Message) ->
    partisan_manager:broadcast(RegisteredName, Message).

%% @doc Sends a message to the process of that name on every member, this node included. It
%% travels with the overlay's own traffic, so keep it small; there are no options yet.
-spec broadcast(RegisteredName :: atom(), Message :: term(), #{}) -> ok.
broadcast(RegisteredName, Message, Options) when map_size(Options) =:= 0 ->
    broadcast(RegisteredName, Message).

%% @doc The process gets `{partisan, {neighbour_up, Name}}' and `{partisan, {neighbour_down, Name}}'
%% from now on, beginning with the present neighbours.
-spec subscribe(pid()) -> ok.
subscribe(Pid) ->
    partisan_manager:subscribe(Pid).

%% @private Delivers a message on this node.
-spec deliver(atom(), term(), Channel :: atom()) -> ok | {error, {unknown_channel, atom()}}.
deliver(RegisteredName, Message, ChannelName) ->
    case {whereis(RegisteredName), partisan_channel:find(ChannelName)} of
        {_, error} ->
            {error, {unknown_channel, ChannelName}};
        {undefined, {ok, Channel}} ->
            partisan_channel:dropped(Channel, no_process);
        {Pid, _} ->
            Pid ! Message,
            ok
    end.

%%% @doc The nodes of the cluster: who is up, connections, joining and leaving.
%%%
%%% The names follow `net_kernel' and upstream's `partisan_peer_service'. In a partial view
%%% *members* are the nodes that this one knows, and *neighbours* those it has connections to: each
%%% function states which it means. Functions that act on another node need its permission ({@link
%%% partisan_control}).
-module(partisan_nodes).

-export([monitor_nodes/1]).
-export([monitor_nodes/2]).
-export([on_up/2]).
-export([on_up/3]).
-export([on_down/2]).
-export([on_down/3]).
-export([is_connected/1]).
-export([is_connected/2]).
-export([connections/0]).
-export([connections/1]).
-export([disconnect/1]).
-export([sync_join/2]).
-export([leave/1]).
-export([update_members/1]).

-type name() :: partisan_peer:name().
-type hook() :: fun(() -> term()) | fun((name()) -> term()).
-type node_type() :: visible | hidden | all.
-type options() ::
    [nodedown_reason | {node_type, node_type()}]
    | #{nodedown_reason => boolean(), node_type => node_type()}.

%% Milliseconds between checks of the members while joining.
-define(CHECK, 50).

-define(IS_NODE_TYPE(Type), (Type =:= visible orelse Type =:= hidden orelse Type =:= all)).

%% @doc Subscribes the caller to `{nodeup, Node}' and `{nodedown, Node}' of neighbours, or ends all
%% its subscriptions of this form. A neighbour is up until this incarnation is lost, not merely
%% replaced in the view, so each incarnation is reported once. In a partial view every node that was
%% a neighbour is asked for its incarnation each `heartbeat_interval' from then on. When the runtime
%% of this node ends, all nodes that are up are reported down. `error' if the flag is no boolean.
-spec monitor_nodes(boolean()) -> ok | error.
monitor_nodes(Flag) ->
    monitor_nodes(Flag, []).

%% @doc As `monitor_nodes/1'; with options, `{nodeup | nodedown, Node, Info}'. `node_type' adds
%% `{node_type, visible}'; no node is `hidden'. `nodedown_reason' adds `{nodedown_reason, lost}':
%% there is no other reason. `Info' is a list, or a map if the options are one. Invalid options are
%% `{error, Reason}', as in `net_kernel'; its `connection_id' is unknown here.
-spec monitor_nodes(boolean(), options()) -> ok | error | {error, Reason :: term()}.
monitor_nodes(Flag, Options) when is_boolean(Flag) ->
    case subscription(Options) of
        {ok, Key} when Flag -> partisan_events_server:subscribe(Key);
        {ok, Key} -> partisan_events_server:unsubscribe(Key);
        {error, _} = Error -> Error
    end;
monitor_nodes(_Flag, _Options) ->
    error.

%% @equiv on_up(Node, Fun, #{})
-spec on_up(partisan_events:pattern(), hook()) -> ok.
on_up(Node, Fun) ->
    on_up(Node, Fun, #{}).

%% @doc Calls a function when a node comes up (`monitor_nodes/1'), or with `channel' when the first
%% connection of that channel to it is established. `_' is any node. The function runs in a process
%% of its own, until the caller ends. Fails with `{unknown_option, Name}' or `{unknown_channel,
%% Channel}' for what would never happen.
-spec on_up(partisan_events:pattern(), hook(), #{channel => atom()}) -> ok.
on_up(Node, Fun, Options) ->
    hook(up, Node, Fun, Options).

%% @equiv on_down(Node, Fun, #{})
-spec on_down(partisan_events:pattern(), hook()) -> ok.
on_down(Node, Fun) ->
    on_down(Node, Fun, #{}).

%% @doc Calls a function when a node is lost or the runtime of this one ends, or with `channel' when
%% the last connection of that channel to it has broken.
-spec on_down(partisan_events:pattern(), hook(), #{channel => atom()}) -> ok.
on_down(Node, Fun, Options) ->
    hook(down, Node, Fun, Options).

%% @doc Whether a node is this one or a neighbour.
-spec is_connected(name()) -> boolean().
is_connected(Node) ->
    Node =:= partisan:node() orelse lists:member(Node, partisan:neighbours()).

%% @doc Whether a connection of that channel to the node is established. Its first message opens it.
-spec is_connected(name(), Channel :: atom()) -> boolean().
is_connected(Node, Channel) ->
    lists:any(fun({_, Key}) -> Key =:= {Node, Channel} end, partisan_channel_stats:connected()).

%% @doc The established outgoing connections of this node by neighbour and channel, sorted.
-spec connections() -> [{name(), Channel :: atom(), Count :: pos_integer()}].
connections() ->
    Keys = [Key || {_, Key} <- partisan_channel_stats:connected()],
    [
        {Node, Channel, length([Key || Key <- Keys, Key =:= {Node, Channel}])}
     || {Node, Channel} <- lists:usort(Keys)
    ].

%% @doc The same of one node.
-spec connections(name()) -> [{Channel :: atom(), Count :: pos_integer()}].
connections(Node) ->
    [{Channel, Count} || {Name, Channel, Count} <- connections(), Name =:= Node].

%% @doc Breaks this node's connections to a neighbour; `false' if it is none. The overlay treats the
%% neighbour as lost and may choose it again: a full mesh connects again at once.
-spec disconnect(name()) -> boolean().
disconnect(Node) ->
    lists:member(Node, partisan:neighbours()) andalso partisan_manager:disconnect(Node).

%% @doc Joins through a peer and waits until this node is part of the overlay and the peer a member
%% that it knows, at most the timeout in milliseconds.
-spec sync_join(partisan_peer:t(), timeout()) -> ok | {error, timeout}.
sync_join(#{name := Name} = Peer, Timeout) ->
    Milliseconds = partisan_arguments:milliseconds(Timeout, badarg),
    ok = partisan:join([Peer]),
    await_member(Name, partisan_deadline:new(Milliseconds)).

%% @doc Makes a node leave the overlay: this one, or one that allows {@link partisan_control}. It
%% returns when the node has the order. A lost node gets none: the overlay forgets it by itself.
-spec leave(name()) ->
    ok | {error, {not_allowed, module()} | {nodedown, name()} | timeout | term()}.
leave(Node) when is_binary(Node) ->
    case partisan:node() of
        Node -> partisan:leave();
        _Other ->
            case partisan_execution:call(Node, call, {partisan_control, leave, []}, 60000) of
                {ok, {returned, ok}} -> ok;
                {ok, Failed} -> {error, Failed};
                {error, _} = Error -> Error
            end
    end.

%% @doc Joins the peers that are no members yet, and makes those members leave that are not among
%% them, this node excepted. Of a partial view, the members that this node knows. Returns the nodes
%% that could not be made to leave. Fails with `{bad_peers, Description}' if one is no peer: without
%% it, others would have to leave.
-spec update_members([partisan_peer:t()]) -> ok | {error, [{name(), Reason :: term()}]}.
update_members(Peers) ->
    ok = partisan_config:check_peers(Peers),
    Names = [Name || #{name := Name} <- Peers],
    Members = partisan:members(),
    ok = partisan:join([Peer || #{name := Name} = Peer <- Peers, not lists:member(Name, Members)]),
    Leaving = lists:sort((Members -- Names) -- [partisan:node()]),
    case [{Node, Reason} || Node <- Leaving, {error, Reason} <- [leave(Node)]] of
        [] -> ok;
        Failed -> {error, Failed}
    end.

%% Internals.

%% Equal options are one subscription, in whatever order; `false' is the same as none.
subscription([]) ->
    {ok, node};
subscription(Options) when is_map(Options) ->
    Invalid = [
        #{Key => Value}
     || Key <- [nodedown_reason, node_type],
        #{Key := Value} <- [Options],
        not is_valid(Key, Value)
    ],
    case {Invalid, maps:without([nodedown_reason, node_type], Options)} of
        {[Option | _], _} -> {error, {bad_option_value, Option}};
        {[], Unknown} when map_size(Unknown) > 0 -> {error, {unknown_options, Unknown}};
        {[], _} -> {ok, {node, maps:filter(fun(_, Value) -> Value =/= false end, Options)}}
    end;
%% Not of an improper list.
subscription(Options) when length(Options) > 0 ->
    Types = [Option || {node_type, _} = Option <- Options],
    Others = [Option || Option <- Types, Option =/= hd(Types)],
    Unknown = [
        Option
     || Option <- Options, Option =/= nodedown_reason, not lists:member(Option, Types)
    ],
    case {Types, Others, Unknown} of
        {[First | _], [Other | _], _} ->
            {error, {option_value_mismatch, [Other, First]}};
        {[{node_type, Type} = Option | _], [], _} when not ?IS_NODE_TYPE(Type) ->
            {error, {bad_option_value, Option}};
        {_, [], [_ | _]} ->
            {error, {unknown_options, Unknown}};
        {_, [], []} ->
            {ok, {node, lists:usort(proplists:unfold(Options))}}
    end;
subscription(Options) ->
    {error, {invalid_options, Options}}.

is_valid(nodedown_reason, Value) -> is_boolean(Value);
is_valid(node_type, Value) -> ?IS_NODE_TYPE(Value).

hook(When, Node, Fun, Options) when is_binary(Node) orelse Node =:= '_' ->
    Call =
        case Fun of
            _ when is_function(Fun, 1) -> Fun;
            _ when is_function(Fun, 0) -> fun(_Node) -> Fun() end
        end,
    Channel = lists:foldl(fun channel/2, any, maps:to_list(Options)),
    partisan_events_server:subscribe({When, Node, Channel, Call}).

channel({channel, Name}, _Any) ->
    case partisan_channel:find(Name) of
        {ok, _} -> Name;
        error -> error({unknown_channel, Name})
    end;
channel({Option, _Value}, _Any) ->
    error({unknown_option, Option}).

await_member(Name, Deadline) ->
    IsMember = partisan:joined() andalso lists:member(Name, partisan:members()),
    case IsMember orelse partisan_deadline:remaining(Deadline) =:= 0 of
        true when IsMember -> ok;
        true -> {error, timeout};
        false -> receive after ?CHECK -> await_member(Name, Deadline) end
    end.

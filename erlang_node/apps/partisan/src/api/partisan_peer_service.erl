%%% @doc Membership and messages under the names of upstream Partisan's `partisan_peer_service', so
%%% that its users change their configuration and not their calls.
%%%
%%% Nodes are named by binaries; an atom in an argument stands for the binary of its characters, and
%%% results have binaries. `manager/0' is this module: code that calls `Manager:forward_message/4'
%%% works with it, whatever the overlay.
-module(partisan_peer_service).

-export([join/1]).
-export([leave/0]).
-export([members/0]).
-export([manager/0]).
-export([forward_message/2]).
-export([forward_message/3]).
-export([forward_message/4]).

-type name() :: partisan_peer:name() | atom().
%% Upstream's specification of a node, or ours.
-type spec() ::
    partisan_peer:t()
    | #{name := name(), listen_addrs := [#{ip := inet:ip_address(), port := 1..65535}], _ => _}.
-type server() :: partisan_ref:t() | pid() | RegisteredName :: atom().
%% As upstream: a list or a map. `ack', `partition_key' and `channel' are those of {@link
%% partisan:forward/4}; `transitive' is always so, hence ignored.
-type options() :: [{atom(), term()}] | #{atom() => term()}.
-export_type([name/0, spec/0, server/0, options/0]).

%% @doc Joins the overlay through a node. Like upstream's, it does not wait until it has joined.
%% Fails with `badarg' if the specification has neither `host' and `port' nor `listen_addrs'.
-spec join(spec()) -> ok.
join(#{name := Name, host := Host, port := Port}) ->
    partisan:join([partisan_peer:new(name(Name), Host, Port)]);
join(#{name := Name, listen_addrs := [#{ip := Ip, port := Port} | _]}) ->
    partisan:join([partisan_peer:new(name(Name), Ip, Port)]);
join(Spec) ->
    error(badarg, [Spec]).

%% @doc Leaves the overlay. The node cannot join again before a restart.
-spec leave() -> ok.
leave() ->
    partisan:leave().

%% @doc The members known to this node, itself included.
-spec members() -> {ok, [partisan_peer:name()]}.
members() ->
    {ok, partisan:members()}.

%% @doc The module whose `forward_message' sends messages.
-spec manager() -> module().
manager() ->
    ?MODULE.

%% @doc Sends a message to a process on any node.
-spec forward_message(partisan_ref:t() | pid() | {RegisteredName :: atom(), name()}, term()) ->
    ok | {error, partisan:error()}.
forward_message({Server, Node}, Message) when is_atom(Server) ->
    partisan:forward({Server, name(Node)}, Message);
forward_message(Reference, Message) ->
    partisan:forward(Reference, Message).

%% @equiv forward_message(Node, Server, Message, [])
-spec forward_message(name(), server(), Message :: term()) -> ok | {error, partisan:error()}.
forward_message(Node, Server, Message) ->
    forward_message(Node, Server, Message, []).

%% @doc Sends a message to a process of a node. Fails with `{unknown_option, Name}' for an option
%% that is not listed above.
-spec forward_message(name(), server(), Message :: term(), options()) ->
    ok | {error, partisan:error()}.
forward_message(Node, Server, Message, Options) when is_atom(Server) ->
    partisan:forward({Server, name(Node)}, Message, options(Options));
forward_message(_Node, Reference, Message, Options) ->
    partisan:forward(Reference, Message, options(Options)).

%% Internals.

name(Name) when is_atom(Name) -> atom_to_binary(Name);
name(Name) when is_binary(Name) -> Name.

options(List) when is_list(List) ->
    options(maps:from_list(proplists:unfold(List)));
options(Options) ->
    Known = [ack, partition_key, channel, transitive],
    case maps:keys(maps:without(Known, Options)) of
        [] -> maps:remove(transitive, Options);
        [Name | _] -> error({unknown_option, Name})
    end.

%%% @doc References to processes that mean the same process on every node.
%%%
%%% Nodes of a cluster do not use Distributed Erlang, so all of them call themselves `nonode@nohost'
%%% and a pid that travels inside of a message turns into a pid of the receiver. A reference does
%%% not: it names the node and the life of the node that it belongs to, and holds the pid (or the
%%% Erlang reference) as bytes that only that life decodes. A reference to a former life leads to no
%%% process, never to another one.
%%%
%%% ```
%%% {partisan_ref, <<"ads-3">>, 1795224000123456, process, <<131, 88, ...>>}
%%% '''
-module(partisan_ref).

-export([of_local/1]).
-export([peer_name/1]).
-export([to_local/1]).
%% Where a message goes.
-export([address/1]).
-export([find/1]).
-export([label/1]).

-type kind() :: process | reference.
-opaque t() ::
    {partisan_ref, partisan_peer:name(), partisan_peer:incarnation(), kind(), Identity :: binary()}.

%% Whom an application may name.
-type target() :: pid() | t() | {RegisteredName :: atom(), partisan_peer:name()}.
%% What travels in a frame beside the message: a registered name, or a process of one life.
-type destination() ::
    RegisteredName :: atom() | {process, partisan_peer:incarnation(), Identity :: binary()}.

-export_type([t/0, target/0, destination/0]).

%% @doc The reference to a process, or an Erlang reference, of this node.
-spec of_local(pid() | reference()) -> t().
of_local(Pid) when is_pid(Pid), node(Pid) =:= node() ->
    make(process, Pid);
of_local(Reference) when is_reference(Reference) ->
    make(reference, Reference).

%% @doc The node that a reference belongs to.
-spec peer_name(t()) -> partisan_peer:name().
peer_name({partisan_ref, Node, _, _, _}) ->
    Node.

%% @doc What a reference stands for, if it belongs to this life of this node.
-spec to_local(t()) -> {ok, pid() | reference()} | error.
to_local({partisan_ref, Node, Incarnation, Kind, Identity}) ->
    case partisan_config:get(name) of
        Node -> decode(Kind, Incarnation, Identity);
        _ -> error
    end.

%% Where a message goes.

%% @doc The node and the destination there.
-spec address(target()) -> {partisan_peer:name(), destination()}.
address(Pid) when is_pid(Pid) ->
    address(of_local(Pid));
address({partisan_ref, Node, Incarnation, process, Identity}) ->
    {Node, {process, Incarnation, Identity}};
address({Name, Node}) when is_atom(Name), is_binary(Node) ->
    {Node, Name}.

%% @doc The process of this node that a destination means. It may come from anywhere: what makes no
%% sense means nobody.
-spec find(destination()) -> pid() | undefined.
find(Name) when is_atom(Name) ->
    whereis(Name);
find({process, Incarnation, Identity}) ->
    case decode(process, Incarnation, Identity) of
        {ok, Pid} -> Pid;
        error -> undefined
    end;
find(_) ->
    undefined.

%% @doc A text that tells destinations apart, for those who pass messages on.
-spec label(destination()) -> binary().
label(Name) when is_atom(Name) -> atom_to_binary(Name);
label({process, _Incarnation, Identity}) -> Identity.

%% Internals.

make(Kind, Local) ->
    {partisan_ref, partisan_config:get(name), partisan_config:get(incarnation), Kind,
        term_to_binary(Local)}.

decode(Kind, Incarnation, Identity) when is_binary(Identity) ->
    case partisan_config:get(incarnation) of
        Incarnation ->
            try binary_to_term(Identity, [safe]) of
                Pid when Kind =:= process, is_pid(Pid), node(Pid) =:= node() -> {ok, Pid};
                Ref when Kind =:= reference, is_reference(Ref) -> {ok, Ref};
                _ -> error
            catch
                error:badarg -> error
            end;
        _Another ->
            error
    end;
decode(_Kind, _Incarnation, _Identity) ->
    error.

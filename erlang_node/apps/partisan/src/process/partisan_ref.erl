%%% @doc References to processes that mean the same process on every node.
%%%
%%% The nodes do not use Distributed Erlang, so all of them call themselves `nonode@nohost', and a
%%% pid inside a message turns into a pid of the receiver. A reference does not: it names its node
%%% and the node's incarnation, and holds the pid (or the Erlang reference) as bytes that only that
%%% incarnation decodes. A reference to a previous incarnation leads to no process, never to another
%%% one.
%%%
%%% ```
%%% {partisan_ref, <<"ads-3">>, 1795224000123456, process, <<1, Signature:16/binary, 131, 88, ...>>}
%%% '''
%%%
%%% The bytes are signed by the node: only a reference it has made leads to a process. The first
%%% byte says whether that process is offered to other nodes ({@link partisan_reach}), decided when
%%% the reference was made, so that messages need no further check. The signature is half of a
%%% SHA-256 hash, which rules out length extension.
-module(partisan_ref).

-compile({no_auto_import, [alias/1]}).

-export([init/0]).
-export([of_local/1]).
-export([for_answer/0]).
-export([nowhere/1]).
-export([peer_name/1]).
-export([is_process/1]).
-export([to_local/1]).
%% Where a message goes.
-export([address/1]).
-export([find/1]).
-export([alias/1]).
-export([offered/1]).
-export([label/1]).

-type kind() :: process | reference.
-opaque t() ::
    {partisan_ref, partisan_peer:name(), partisan_peer:incarnation(), kind(), Identity :: binary()}.

%% Target named by an application; a name alone is that of a process of the own node.
-type target() ::
    pid()
    | t()
    | RegisteredName :: atom()
    | {RegisteredName :: atom(), partisan_peer:name()}.
%% Destination in a frame, next to the message: a registered name, or a process of one incarnation
%% or an alias there.
-type destination() ::
    RegisteredName :: atom() | {process | alias, partisan_peer:incarnation(), Identity :: binary()}.

-export_type([t/0, target/0, destination/0]).

-define(KEY, ?MODULE).
-define(KEY_BYTES, 32).
-define(SIGNATURE_BYTES, 16).

%% @doc Draws the signing key, once per emulator, whatever the number of starts.
-spec init() -> ok.
init() ->
    case persistent_term:get(?KEY, none) of
        none -> persistent_term:put(?KEY, crypto:strong_rand_bytes(?KEY_BYTES));
        _Key -> ok
    end.

%% @doc The reference to a process, or an Erlang reference, of this node. As an alias, the latter
%% leads to the calling process.
-spec of_local(pid() | reference()) -> t().
of_local(Pid) when is_pid(Pid), node(Pid) =:= node() ->
    make(process, partisan_reach:is_offered(Pid), Pid);
of_local(Reference) when is_reference(Reference) ->
    make(reference, partisan_reach:is_offered(self()), {self(), Reference}).

%% @doc The reference for answers to the calling process, whatever its application.
-spec for_answer() -> t().
for_answer() ->
    make(process, true, self()).

%% @doc A reference to no process of that node.
-spec nowhere(partisan_peer:name()) -> t().
nowhere(Node) ->
    {partisan_ref, Node, 0, process, <<>>}.

%% @doc The node of a reference.
-spec peer_name(t()) -> partisan_peer:name().
peer_name({partisan_ref, Node, _, _, _}) ->
    Node.

%% @doc Whether a term is a reference to a process, of any node.
-spec is_process(term()) -> boolean().
is_process({partisan_ref, Node, Incarnation, process, Identity}) ->
    is_binary(Node) andalso is_integer(Incarnation) andalso is_binary(Identity);
is_process(_) ->
    false.

%% @doc The process or Erlang reference behind a reference to this incarnation of this node.
-spec to_local(t()) -> {ok, pid() | reference()} | error.
to_local({partisan_ref, Node, Incarnation, Kind, Identity}) ->
    case partisan_config:get(name) of
        Node ->
            case decode(Kind, Incarnation, Identity) of
                {ok, {_Pid, Reference}, _IsOffered} -> {ok, Reference};
                {ok, Pid, _IsOffered} -> {ok, Pid};
                error -> error
            end;
        _ ->
            error
    end.

%% Where a message goes.

%% @doc The node, and the destination on it.
-spec address(target()) -> {partisan_peer:name(), destination()}.
address(Pid) when is_pid(Pid) ->
    address(of_local(Pid));
address({partisan_ref, Node, Incarnation, process, Identity}) when is_binary(Node) ->
    {Node, {process, Incarnation, Identity}};
address({partisan_ref, Node, Incarnation, reference, Identity}) when is_binary(Node) ->
    {Node, {alias, Incarnation, Identity}};
address(Name) when is_atom(Name) ->
    {partisan_config:get(name), Name};
address({Name, Node}) when is_atom(Name), is_binary(Node) ->
    {Node, Name}.

%% @doc The process of this node at a destination from any source; none if it is malformed.
-spec find(destination()) -> pid() | undefined.
find(Name) when is_atom(Name) ->
    case whereis(Name) of
        Pid when is_pid(Pid) -> Pid;
        _ -> undefined
    end;
find({process, Incarnation, Identity}) ->
    case decode(process, Incarnation, Identity) of
        {ok, Pid, _IsOffered} -> Pid;
        error -> undefined
    end;
find({alias, _, _} = Alias) ->
    case alias(Alias) of
        {ok, Pid, _Alias} -> Pid;
        {error, _} -> undefined
    end;
find(_) ->
    undefined.

%% @doc An alias of this node and the process that it leads to.
-spec alias(destination()) -> {ok, pid(), reference()} | {error, no_process | unreachable}.
alias({alias, Incarnation, Identity}) ->
    case decode(reference, Incarnation, Identity) of
        {ok, {Pid, Alias}, true} -> {ok, Pid, Alias};
        {ok, _, false} -> {error, unreachable};
        error -> {error, no_process}
    end.

%% @doc The process of a reference, if other nodes may send to it.
-spec offered(destination()) -> {ok, pid()} | {error, no_process | unreachable}.
offered({process, Incarnation, Identity}) ->
    case decode(process, Incarnation, Identity) of
        {ok, Pid, true} -> {ok, Pid};
        {ok, _Pid, false} -> {error, unreachable};
        error -> {error, no_process}
    end;
offered(_) ->
    {error, no_process}.

%% @doc A text that identifies a destination, for forwarding nodes.
-spec label(destination()) -> binary().
label(Name) when is_atom(Name) -> atom_to_binary(Name);
label({_Kind, _Incarnation, Identity}) -> Identity.

%% Internals.

make(Kind, IsOffered, Local) ->
    Offered = byte(IsOffered),
    Bytes = term_to_binary(Local),
    Identity = <<Offered, (signature(Offered, Bytes))/binary, Bytes/binary>>,
    {partisan_ref, partisan_config:get(name), partisan_config:get(incarnation), Kind, Identity}.

decode(Kind, Incarnation, <<Offered, Signature:?SIGNATURE_BYTES/binary, Bytes/binary>>) ->
    IsOurs =
        partisan_config:get(incarnation) =:= Incarnation andalso
            crypto:hash_equals(Signature, signature(Offered, Bytes)),
    case IsOurs andalso binary_to_term(Bytes) of
        Pid when Kind =:= process, is_pid(Pid) -> {ok, Pid, Offered =:= byte(true)};
        {_, _} = Alias when Kind =:= reference -> {ok, Alias, Offered =:= byte(true)};
        _ -> error
    end;
decode(_Kind, _Incarnation, _Identity) ->
    error.

signature(Offered, Bytes) ->
    Hash = crypto:hash(sha256, [persistent_term:get(?KEY), Offered, Bytes]),
    binary:part(Hash, 0, ?SIGNATURE_BYTES).

byte(false) -> 0;
byte(true) -> 1.

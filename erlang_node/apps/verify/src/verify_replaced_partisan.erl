%%% @doc The calls of `partisan' that a hosted process makes instead of the originals
%%% ({@link verify_replaced}).
-module(verify_replaced_partisan).

-compile({no_auto_import, [node/0, self/0]}).

-export([node/0]).
-export([incarnation/0]).
-export([self/0]).
-export([members/0]).
-export([neighbours/0]).
-export([joined/0]).
-export([dissolved/0]).
-export([forward/2]).
-export([forward/3]).
-export([forward/4]).
-export([send/2]).
-export([cast/2]).
-export([cast/3]).
-export([broadcast/2]).
-export([broadcast/3]).
-export([config/1]).

-type name() :: partisan_process:name().
-type result() :: ok | {error, not_connected}.

%% @private
-spec node() -> name().
node() -> verify_effects:read(self).

%% @private
-spec incarnation() -> pos_integer().
incarnation() -> verify_effects:read(incarnation).

%% @private A pid that means the same process on every node.
-spec self() -> pid().
self() -> verify_effects:read(pid).

%% @private
-spec members() -> [name()].
members() -> verify_effects:read(members).

%% @private A full mesh.
-spec neighbours() -> [name()].
neighbours() -> lists:delete(node(), members()).

%% @private
-spec joined() -> true.
joined() -> true.

%% @private
-spec dissolved() -> false.
dissolved() -> false.

%% @private
-spec forward(verify_replaced:destination(), Msg :: term()) -> result().
forward(Target, Msg) -> forward(Target, Msg, #{}).

%% @private An acknowledged message is lost like any other; what is retransmitted may come late.
-spec forward(verify_replaced:destination() | name(), term(), term()) -> result().
forward(Node, Name, Msg) when is_binary(Node) -> forward(Node, Name, Msg, #{});
forward(_Target, _Msg, #{ack := {notify, _}}) -> verify_replaced:refused(notification());
forward(Target, Msg, _Options) -> verify_effects:send(Target, Msg).

%% @private
-spec forward(name(), Name :: atom(), Msg :: term(), map()) -> result().
forward(Node, Name, Msg, Options) when is_atom(Name) -> forward({Name, Node}, Msg, Options).

%% @private
-spec send(verify_replaced:destination(), Msg :: term()) -> ok.
send(Target, Msg) ->
    _ = forward(Target, Msg),
    ok.

%% @private
-spec cast(verify_replaced:destination(), Request :: term()) -> result().
cast(Target, Request) -> cast(Target, Request, #{}).

%% @private
-spec cast(verify_replaced:destination(), Request :: term(), map()) -> result().
cast(Target, Request, Options) -> forward(Target, {'$gen_cast', Request}, Options).

%% @private
-spec broadcast(Name :: atom(), Msg :: term()) -> ok.
broadcast(Name, Msg) -> broadcast(Name, Msg, #{}).

%% @private
-spec broadcast(Name :: atom(), Msg :: term(), map()) -> ok.
broadcast(Name, Msg, Options) ->
    lists:foreach(fun(Node) -> ok = forward({Name, Node}, Msg, Options) end, members()).

%% @private `partisan_config:get/1'.
-spec config(Key :: atom()) -> name() | pos_integer().
config(name) -> node();
config(incarnation) -> incarnation();
config(Key) -> verify_replaced:refused("partisan_config:get(" ++ atom_to_list(Key) ++ ")").

%% Internals.

notification() -> "the option ack => {notify, Tag} cannot be hosted: await an answer".

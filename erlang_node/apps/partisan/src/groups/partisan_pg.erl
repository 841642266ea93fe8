%%% @doc Process groups on all nodes: OTP's `pg' over any overlay.
%%%
%%% ```
%%% {ok, _} = partisan_pg:start_link(chat),     % on every node, in a supervisor of its application
%%% ok = partisan_pg:join(chat, room, self()),
%%% [partisan:forward(Member, hello) || Member <- partisan_pg:get_members(chat, room)].
%%% '''
%%%
%%% A scope is a process with that registered name on each node ({@link partisan_pg_server}); the
%%% functions without one mean the scope `partisan_pg', which your application starts like any
%%% other. Members are references ({@link partisan_ref}), those of this node included;
%%% `get_local_members/2' returns process identifiers.
%%%
%%% == Consistency ==
%%% As in `pg', there is none beyond convergence: a change is broadcast, and once per
%%% `heartbeat_interval' a node compares what it knows with one neighbour, which repairs what was
%%% lost. Members of a node disappear when its scope ends, and when it is noticed that the node is
%%% lost or restarts; if it was not lost after all, they are back after ten heartbeats, or its next
%%% change. When the runtime of the own node restarts, the scope ends with `{shutdown,
%%% runtime_restarted}' and its supervisor starts it again, without members: all scopes of a
%%% supervisor end at once, so it needs an `intensity' of at least their number.
-module(partisan_pg).

-compile({no_auto_import, [monitor/2, demonitor/1, demonitor/2]}).

-export([start/1]).
-export([start_link/1]).
-export([join/3]).
-export([leave/3]).
-export([get_members/2]).
-export([get_local_members/2]).
-export([which_groups/1]).
-export([monitor_scope/1]).
-export([monitor/2]).
-export([demonitor/2]).
%% Of the default scope.
-export([start_link/0]).
-export([join/2]).
-export([leave/2]).
-export([get_members/1]).
-export([get_local_members/1]).
-export([which_groups/0]).
-export([monitor_scope/0]).
-export([monitor/1]).
-export([demonitor/1]).

%% The default scope.
-define(SCOPE, ?MODULE).

-type scope() :: atom().
-type group() :: partisan_groups:group().
-export_type([scope/0, group/0]).

%% @doc Starts a scope.
-spec start(scope()) -> {ok, pid()} | {error, term()}.
start(Scope) ->
    gen_server:start({local, Scope}, partisan_pg_server, Scope, []).

%% @doc Starts a scope, linked to the caller.
-spec start_link(scope()) -> {ok, pid()} | {error, term()}.
start_link(Scope) ->
    gen_server:start_link({local, Scope}, partisan_pg_server, Scope, []).

%% @doc Adds processes of this node to a group; a process may be in it several times. Fails with
%% `{nolocal, Member}' for one of another node.
-spec join(scope(), group(), pid() | [pid()]) -> ok.
join(Scope, Group, Pid) when is_pid(Pid) ->
    join(Scope, Group, [Pid]);
join(Scope, Group, Pids) ->
    ok = are_local(Pids),
    request(Scope, {join, Group, Pids}).

%% @doc Removes processes of this node from a group, each once; `not_joined' if it has none of them.
-spec leave(scope(), group(), pid() | [pid()]) -> ok | not_joined.
leave(Scope, Group, Pid) when is_pid(Pid) ->
    leave(Scope, Group, [Pid]);
leave(Scope, Group, Pids) ->
    ok = are_local(Pids),
    request(Scope, {leave, Group, Pids}).

%% @doc The members of a group on all nodes; none if the scope does not run on this node.
-spec get_members(scope(), group()) -> [partisan_ref:t()].
get_members(Scope, Group) ->
    case known(Scope, {members, Group}) of
        {ok, Members} -> Members;
        error -> []
    end.

%% @doc The members of a group on this node; none if the scope does not run on it.
-spec get_local_members(scope(), group()) -> [pid()].
get_local_members(Scope, Group) ->
    case known(Scope, {local_members, Group}) of
        {ok, Pids} -> Pids;
        error -> []
    end.

%% @doc The groups with members. Fails with `badarg', as in `pg', if the scope does not run on this
%% node.
-spec which_groups(scope()) -> [group()].
which_groups(Scope) ->
    case known(Scope, which_groups) of
        {ok, Groups} -> Groups;
        error -> error(badarg)
    end.

%% @doc Notifies the caller of changes by `{Reference, join | leave, Group, Members}'; returns the
%% reference and the present groups.
-spec monitor_scope(scope()) -> {reference(), #{group() => [partisan_ref:t()]}}.
monitor_scope(Scope) ->
    request(Scope, {monitor, self()}).

%% @doc As `monitor_scope/1', of one group; returns its present members.
-spec monitor(scope(), group()) -> {reference(), [partisan_ref:t()]}.
monitor(Scope, Group) ->
    request(Scope, {monitor, self(), Group}).

%% @doc Ends the notifications of a monitor; none remains in the mailbox. `false' if there are none;
%% on OTP 29, as in its `pg', also `ok'.
-spec demonitor(scope(), reference()) -> ok | false.
demonitor(Scope, Reference) ->
    Ended = request(Scope, {demonitor, Reference}),
    ok = flush(Reference),
    Ended.

%% Of the default scope.

%% @equiv start_link(partisan_pg)
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    start_link(?SCOPE).

%% @equiv join(partisan_pg, Group, Pids)
-spec join(group(), pid() | [pid()]) -> ok.
join(Group, Pids) ->
    join(?SCOPE, Group, Pids).

%% @equiv leave(partisan_pg, Group, Pids)
-spec leave(group(), pid() | [pid()]) -> ok | not_joined.
leave(Group, Pids) ->
    leave(?SCOPE, Group, Pids).

%% @equiv get_members(partisan_pg, Group)
-spec get_members(group()) -> [partisan_ref:t()].
get_members(Group) ->
    get_members(?SCOPE, Group).

%% @equiv get_local_members(partisan_pg, Group)
-spec get_local_members(group()) -> [pid()].
get_local_members(Group) ->
    get_local_members(?SCOPE, Group).

%% @equiv which_groups(partisan_pg)
-spec which_groups() -> [group()].
which_groups() ->
    which_groups(?SCOPE).

%% @equiv monitor_scope(partisan_pg)
-spec monitor_scope() -> {reference(), #{group() => [partisan_ref:t()]}}.
monitor_scope() ->
    monitor_scope(?SCOPE).

%% @equiv monitor(partisan_pg, Group)
-spec monitor(group()) -> {reference(), [partisan_ref:t()]}.
monitor(Group) ->
    monitor(?SCOPE, Group).

%% @equiv demonitor(partisan_pg, Reference)
-spec demonitor(reference()) -> ok | false.
demonitor(Reference) ->
    demonitor(?SCOPE, Reference).

%% Internals.

%% Scopes are offered to other nodes, but take requests from their own alone.
request(Scope, Request) ->
    gen_server:call(Scope, {partisan_reach:here(), Request}, infinity).

known(Scope, Request) ->
    try
        {ok, request(Scope, Request)}
    catch
        % It does not run, or has ended meanwhile.
        exit:{_, {gen_server, call, _}} -> error
    end.

are_local(Pids) when is_list(Pids) ->
    _ = [error({nolocal, Pid}) || Pid <- Pids, not is_pid(Pid) orelse node(Pid) =/= node()],
    ok;
are_local(Reference) when is_tuple(Reference) ->
    error({nolocal, Reference}).

flush(Reference) ->
    receive
        {Reference, _, _, _} -> flush(Reference)
    after 0 -> ok
    end.

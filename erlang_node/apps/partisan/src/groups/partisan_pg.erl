%%% @doc Process groups on all nodes: OTP's `pg' over any overlay.
%%%
%%% ```
%%% {ok, _} = partisan_pg:start_link(chat),     % on every node, in a supervisor of its application
%%% ok = partisan_pg:join(chat, room, self()),
%%% [partisan:forward(Member, hello) || Member <- partisan_pg:get_members(chat, room)].
%%% '''
%%%
%%% A scope is a process with that registered name on each node. Members are references ({@link
%%% partisan_ref}), those of this node included; `get_local_members/2' returns process identifiers.
%%%
%%% == Consistency ==
%%% As in `pg', there is none beyond convergence: a change is broadcast, and once per
%%% `heartbeat_interval' a node compares what it knows with one neighbour, which repairs what was
%%% lost. Members of a node that is lost or restarts disappear when that is noticed; if it was not
%%% lost after all, they are back after ten heartbeats, or its next change. When the
%%% runtime of the own node restarts, the scope ends with `{shutdown, runtime_restarted}' and its
%%% supervisor starts it again, without members.
-module(partisan_pg).
-behaviour(gen_server).

-compile({no_auto_import, [monitor/2]}).

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
%% gen_server.
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% What `demonitor/2' returns for what is no monitor of a scope: as the `pg' of the release.
-if(?OTP_RELEASE >= 29).
-define(NOT_MONITORED, ok).
-else.
-define(NOT_MONITORED, false).
-endif.

-type scope() :: atom().
-type group() :: partisan_groups:group().
-export_type([scope/0, group/0]).

-record(state, {
    scope :: scope(),
    groups :: partisan_groups:t(),
    % The processes of this node with their groups, one for each time that they have joined. Of
    % one that has ended, no reference could be made.
    joined = #{} :: #{pid() => {Monitor :: reference(), partisan_ref:t(), [group()]}},
    % Who is notified of changes, and of which.
    watchers = #{} :: #{reference() => {pid(), all | {group, group()}}},
    watched = [] :: [partisan_peer:name()]
}).

%% @doc Starts a scope.
-spec start(scope()) -> {ok, pid()} | {error, term()}.
start(Scope) ->
    gen_server:start({local, Scope}, ?MODULE, Scope, []).

%% @doc Starts a scope, linked to the caller.
-spec start_link(scope()) -> {ok, pid()} | {error, term()}.
start_link(Scope) ->
    gen_server:start_link({local, Scope}, ?MODULE, Scope, []).

%% @doc Adds processes of this node to a group; a process may be in it several times. Fails with
%% `{nolocal, Member}' for one of another node.
-spec join(scope(), group(), pid() | [pid()]) -> ok.
join(Scope, Group, Pid) when is_pid(Pid) ->
    join(Scope, Group, [Pid]);
join(Scope, Group, Pids) ->
    ok = are_local(Pids),
    gen_server:call(Scope, {join, Group, Pids}, infinity).

%% @doc Removes processes of this node from a group, each once; `not_joined' if it has none of them.
-spec leave(scope(), group(), pid() | [pid()]) -> ok | not_joined.
leave(Scope, Group, Pid) when is_pid(Pid) ->
    leave(Scope, Group, [Pid]);
leave(Scope, Group, Pids) ->
    ok = are_local(Pids),
    gen_server:call(Scope, {leave, Group, Pids}, infinity).

%% @doc The members of a group on all nodes.
-spec get_members(scope(), group()) -> [partisan_ref:t()].
get_members(Scope, Group) ->
    gen_server:call(Scope, {members, Group}, infinity).

%% @doc The members of a group on this node.
-spec get_local_members(scope(), group()) -> [pid()].
get_local_members(Scope, Group) ->
    gen_server:call(Scope, {local_members, Group}, infinity).

%% @doc The groups with members.
-spec which_groups(scope()) -> [group()].
which_groups(Scope) ->
    gen_server:call(Scope, which_groups, infinity).

%% @doc Notifies the caller of changes by `{Reference, join | leave, Group, Members}'; returns the
%% reference and the present groups.
-spec monitor_scope(scope()) -> {reference(), #{group() => [partisan_ref:t()]}}.
monitor_scope(Scope) ->
    gen_server:call(Scope, {monitor, self()}, infinity).

%% @doc As `monitor_scope/1', of one group; returns its present members.
-spec monitor(scope(), group()) -> {reference(), [partisan_ref:t()]}.
monitor(Scope, Group) ->
    gen_server:call(Scope, {monitor, self(), Group}, infinity).

%% @doc Ends the notifications of a monitor; none remains in the mailbox. `false' if there are none;
%% on OTP 29, as in its `pg', also `ok'.
-spec demonitor(scope(), reference()) -> ok | false.
demonitor(Scope, Reference) ->
    Ended = gen_server:call(Scope, {demonitor, Reference}, infinity),
    ok = flush(Reference),
    Ended.

%% gen_server.

%% @private
-spec init(scope()) -> {ok, #state{}}.
init(Scope) ->
    Count = partisan_replication:new_count(),
    Groups = partisan_groups:new(partisan:node(), partisan:incarnation(), Count),
    State = #state{scope = Scope, groups = Groups},
    _ = erlang:monitor(process, partisan_remote),
    ok = partisan_replication:compare_later(),
    ok = partisan_replication:compare(server(State), Groups),
    {ok, State}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({join, Group, Pids}, _From, #state{groups = Groups, joined = Joined0} = State) ->
    Joined = lists:foldl(fun(Pid, J) -> add(Pid, Group, J) end, Joined0, Pids),
    Changed = partisan_groups:join(Group, references(Pids, Joined), Groups),
    {reply, ok, own(Changed, State#state{joined = Joined})};
handle_call({leave, Group, Pids}, _From, State) ->
    case left(Group, Pids, State) of
        State -> {reply, not_joined, State};
        Left -> {reply, ok, Left}
    end;
handle_call({members, Group}, _From, #state{groups = Groups} = State) ->
    {reply, partisan_groups:members(Group, Groups), State};
handle_call({local_members, Group}, _From, #state{joined = Joined} = State) ->
    {reply, [P || {P, {_, _, Theirs}} <- maps:to_list(Joined), G <- Theirs, G =:= Group], State};
handle_call(which_groups, _From, #state{groups = Groups} = State) ->
    {reply, partisan_groups:groups(Groups), State};
handle_call({monitor, Pid}, _From, #state{groups = Groups} = State) ->
    Present = [{G, partisan_groups:members(G, Groups)} || G <- partisan_groups:groups(Groups)],
    watched(Pid, all, maps:from_list(Present), State);
handle_call({monitor, Pid, Group}, _From, #state{groups = Groups} = State) ->
    watched(Pid, {group, Group}, partisan_groups:members(Group, Groups), State);
handle_call({demonitor, Reference}, _From, #state{watchers = Watchers} = State) ->
    case is_map_key(Reference, Watchers) of
        true ->
            true = erlang:demonitor(Reference, [flush]),
            {reply, ok, State#state{watchers = maps:remove(Reference, Watchers)}};
        false ->
            {reply, ?NOT_MONITORED, State}
    end;
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, term(), #state{}}.
handle_info(Message, #state{groups = Groups} = State) when
    is_tuple(Message), element(1, Message) =:= ?MODULE
->
    case partisan_replication:received(server(State), Message, Groups) of
        {ok, Changed} -> {noreply, changed(Changed, State)};
        error -> {noreply, State}
    end;
handle_info(compare, #state{groups = Groups} = State) ->
    ok = partisan_replication:compare_later(),
    ok = partisan_replication:compare(server(State), Groups),
    {noreply, State#state{groups = partisan_replica:round(Groups)}};
handle_info({nodedown, Node}, #state{groups = Groups, watched = Watched} = State) ->
    Forgotten = State#state{watched = lists:delete(Node, Watched)},
    {noreply, changed(partisan_replica:lost(Node, Groups), Forgotten)};
handle_info({'DOWN', _, process, {partisan_remote, _}, _}, State) ->
    % The runtime becomes another incarnation, for which no reference here is valid.
    {stop, {shutdown, runtime_restarted}, State};
handle_info({'DOWN', Reference, process, Pid, _}, #state{watchers = Watchers} = State) ->
    case is_map_key(Reference, Watchers) of
        true -> {noreply, State#state{watchers = maps:remove(Reference, Watchers)}};
        false -> {noreply, ended(Pid, State)}
    end;
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals.

references(Pids, Joined) -> [element(2, maps:get(Pid, Joined)) || Pid <- Pids].

groups_of(Pid, Joined) -> element(3, maps:get(Pid, Joined, {none, none, []})).

add(Pid, Group, Joined) ->
    case Joined of
        #{Pid := {Monitor, Reference, Groups}} ->
            Joined#{Pid := {Monitor, Reference, [Group | Groups]}};
        #{} ->
            Joined#{Pid => {erlang:monitor(process, Pid), partisan:ref(Pid), [Group]}}
    end.

left(Group, Pids, #state{groups = Groups, joined = Joined0} = State) ->
    case lists:foldl(fun(Pid, Acc) -> remove(Pid, Group, Acc) end, {[], Joined0}, Pids) of
        {[], _} ->
            State;
        {Left, Joined} ->
            own(partisan_groups:leave(Group, Left, Groups), State#state{joined = Joined})
    end.

remove(Pid, Group, {Left, Joined} = Unchanged) ->
    Theirs = groups_of(Pid, Joined),
    case lists:delete(Group, Theirs) of
        Theirs ->
            Unchanged;
        Others ->
            #{Pid := {Monitor, Reference, _}} = Joined,
            {[Reference | Left], kept(Pid, {Monitor, Reference, Others}, Joined)}
    end.

kept(Pid, {Monitor, _, []}, Joined) ->
    true = erlang:demonitor(Monitor, [flush]),
    maps:remove(Pid, Joined);
kept(Pid, Own, Joined) ->
    Joined#{Pid := Own}.

are_local(Pids) when is_list(Pids) ->
    _ = [error({nolocal, Pid}) || Pid <- Pids, not is_pid(Pid)],
    ok;
are_local(Reference) when is_tuple(Reference) ->
    error({nolocal, Reference}).

ended(Pid, #state{joined = Joined} = State) ->
    lists:foldl(fun(Group, S) -> left(Group, [Pid], S) end, State, groups_of(Pid, Joined)).

%% This node's own groups have changed.
own(Groups, State) ->
    ok = partisan_replication:broadcast(
        server(State), partisan_replica:announcement(Groups)
    ),
    changed(Groups, State).

changed(Groups, #state{groups = Before, watchers = Watchers, watched = Watched} = State) ->
    Changes = partisan_groups:changes(Before, Groups),
    _ = [
        Pid ! {Reference, What, Group, Members}
     || {Reference, {Pid, Of}} <- maps:to_list(Watchers),
        {What, Group, Members} <- Changes,
        Of =:= all orelse Of =:= {group, Group}
    ],
    New = partisan_groups:nodes(Groups) -- Watched,
    _ = [true = partisan:monitor_node(Node) || Node <- New],
    State#state{groups = Groups, watched = New ++ Watched}.

watched(Pid, Of, Present, #state{watchers = Watchers} = State) ->
    Reference = erlang:monitor(process, Pid),
    {reply, {Reference, Present}, State#state{watchers = Watchers#{Reference => {Pid, Of}}}}.

server(#state{scope = Scope}) ->
    {?MODULE, Scope}.

flush(Reference) ->
    receive
        {Reference, _, _, _} -> flush(Reference)
    after 0 -> ok
    end.

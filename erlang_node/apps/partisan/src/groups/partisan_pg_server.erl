%%% @doc The process of a scope of {@link partisan_pg} on a node.
%%%
%%% == Scopes that end ==
%%% A scope that ends in order announces that it has no members. In case that is lost, or the scope
%%% is killed, the others monitor it while it has members. But what is known of a node may be newer
%%% than the process that has ended: a scope that was started again announces itself on another way.
%%% So a monitor's `DOWN' removes the members only if nothing newer has become known since the
%%% monitor began; otherwise another monitor begins. A scope that the other node does not offer
%%% ({@link partisan_reach}) counts as ended.
%%%
%%% ```
%%% a                              b
%%%   --1 monitor-->                 its scope runs; a knows version 5
%%%   <--2 {entries, version 6}--    a process joins
%%%   <--3 DOWN--                    the scope is killed; is version 6 of a new one?
%%%   --4 monitor-->                 none runs; a knows version 6
%%%   <--5 DOWN, noproc--            version 6 is over
%%% '''
-module(partisan_pg_server).
-behaviour(gen_server).

-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).
-export([terminate/2]).

%% The first element of the messages between scopes.
-define(MESSAGE, partisan_pg).

%% What `demonitor/2' returns for what is no monitor of a scope: as the `pg' of the release.
-if(?OTP_RELEASE >= 29).
-define(NOT_MONITORED, ok).
-else.
-define(NOT_MONITORED, false).
-endif.

-type name() :: partisan_peer:name().
-type scope() :: partisan_pg:scope().
-type group() :: partisan_pg:group().

-record(state, {
    scope :: scope(),
    groups :: partisan_groups:t(),
    % The processes of this node with their groups, one for each time that they have joined. Of
    % one that has ended, no reference could be made.
    joined = #{} :: #{pid() => {Monitor :: reference(), partisan_ref:t(), [group()]}},
    % Who is notified of changes, and of which.
    watchers = #{} :: #{reference() => {pid(), all | {group, group()}}},
    % Monitors of other nodes' scopes, with what was known of each when its monitor began.
    watched = #{} :: #{name() => {Monitor :: reference(), partisan_replica:version() | none}},
    % Shows that a request comes from this node: others could name any process here.
    here = partisan_reach:here() :: reference() | none,
    % The monitor of the runtime, and the timer of the next comparison.
    runtime :: reference(),
    timer :: reference(),
    % Of the announcements of the own groups, on the overlay's own channel.
    pace = partisan_pace:new() :: partisan_pace:t()
}).

%% gen_server.

%% @private
-spec init(scope()) -> {ok, #state{}}.
init(Scope) ->
    % So that it announces its end.
    false = process_flag(trap_exit, true),
    Runtime = partisan_replication:monitor_runtime(),
    Count = partisan_replication:new_count(),
    Groups = partisan_groups:new(partisan:node(), partisan:incarnation(), Count),
    Timer = partisan_replication:compare_later(),
    State = #state{scope = Scope, groups = Groups, runtime = Runtime, timer = Timer},
    % The members of a previous scope are none any more.
    ok = announce(Groups, State),
    ok = partisan_replication:compare(server(State), Groups),
    {ok, State}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({Here, Request}, _From, #state{here = Here} = State) ->
    request(Request, State);
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
    is_tuple(Message), element(1, Message) =:= ?MESSAGE
->
    IsValid = fun partisan_groups:is_valid/1,
    case partisan_replication:received(server(State), IsValid, Message, Groups) of
        {ok, Changed} -> {noreply, changed(Changed, State)};
        error -> {noreply, State}
    end;
handle_info({timeout, Timer, compare}, #state{timer = Timer, groups = Groups} = State) ->
    ok = partisan_replication:compare(server(State), Groups),
    Next = partisan_replication:compare_later(),
    {noreply, watch(State#state{groups = partisan_replica:round(Groups), timer = Next})};
handle_info({timeout, Timer, announce} = Message, #state{pace = Pace} = State) ->
    Rested = State#state{pace = partisan_pace:new()},
    case partisan_pace:ended(Timer, Pace) of
        due ->
            {noreply, announce_own(Rested)};
        idle ->
            {noreply, Rested};
        unknown ->
            ok = partisan_stray:message(Message),
            {noreply, State}
    end;
handle_info({'DOWN', Runtime, process, _, _}, #state{runtime = Runtime} = State) ->
    % The runtime becomes another incarnation, for which no reference here is valid.
    {stop, {shutdown, runtime_restarted}, State};
handle_info({'DOWN', Monitor, process, {_, Node}, Reason}, #state{watched = Watched} = State) when
    is_map_key(Node, Watched), element(1, map_get(Node, Watched)) =:= Monitor
->
    case partisan_remote:is_running() of
        true -> {noreply, scope_ended(Node, Reason, State)};
        % The own runtime ends: its `DOWN' comes next.
        false -> {noreply, State}
    end;
handle_info({'DOWN', Reference, process, Pid, _}, #state{watchers = Watchers} = State) ->
    case is_map_key(Reference, Watchers) of
        true -> {noreply, State#state{watchers = maps:remove(Reference, Watchers)}};
        false -> {noreply, ended(Reference, Pid, State)}
    end;
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% @private
-spec terminate(term(), #state{}) -> ok.
terminate({shutdown, runtime_restarted}, _State) ->
    % The node's next incarnation has no members.
    ok;
terminate(_Reason, #state{joined = Joined}) when map_size(Joined) =:= 0 ->
    ok;
terminate(_Reason, #state{groups = Groups} = State) ->
    try
        announce(partisan_groups:clear(Groups), State)
    catch
        % The runtime has ended too, which others notice.
        exit:_ -> ok
    end.

%% Internals.

request({join, Group, Pids}, #state{groups = Groups, joined = Joined0} = State) ->
    Joined = lists:foldl(fun(Pid, J) -> add(Pid, Group, J) end, Joined0, Pids),
    Changed = partisan_groups:join(Group, references(Pids, Joined), Groups),
    {reply, ok, own(Changed, State#state{joined = Joined})};
request({leave, Group, Pids}, State) ->
    case left(Group, Pids, State) of
        State -> {reply, not_joined, State};
        Left -> {reply, ok, Left}
    end;
request({members, Group}, #state{groups = Groups} = State) ->
    {reply, partisan_groups:members(Group, Groups), State};
request({local_members, Group}, #state{joined = Joined} = State) ->
    {reply, [P || {P, {_, _, Theirs}} <- maps:to_list(Joined), G <- Theirs, G =:= Group], State};
request(which_groups, #state{groups = Groups} = State) ->
    {reply, partisan_groups:groups(Groups), State};
request({monitor, Pid}, #state{groups = Groups} = State) ->
    Present = [{G, partisan_groups:members(G, Groups)} || G <- partisan_groups:groups(Groups)],
    watched(Pid, all, maps:from_list(Present), State);
request({monitor, Pid, Group}, #state{groups = Groups} = State) ->
    watched(Pid, {group, Group}, partisan_groups:members(Group, Groups), State);
request({demonitor, Reference}, #state{watchers = Watchers} = State) ->
    case is_map_key(Reference, Watchers) of
        true ->
            true = erlang:demonitor(Reference, [flush]),
            {reply, ok, State#state{watchers = maps:remove(Reference, Watchers)}};
        false ->
            {reply, ?NOT_MONITORED, State}
    end.

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

ended(Monitor, Pid, #state{joined = Joined} = State) ->
    case Joined of
        #{Pid := {Monitor, _, Groups}} ->
            lists:foldl(fun(Group, S) -> left(Group, [Pid], S) end, State, Groups);
        #{} ->
            State
    end.

%% This node's own groups have changed.
own(Groups, State) ->
    announce_own(changed(Groups, State)).

announce_own(#state{pace = Pace, groups = Groups} = State) ->
    case partisan_pace:due(Pace) of
        now ->
            Announcement = partisan_replica:announcement(Groups),
            ok = partisan_replication:broadcast(server(State), Announcement),
            State#state{pace = partisan_pace:sent(erlang:external_size(Announcement))};
        {later, Next} ->
            State#state{pace = Next}
    end.

announce(Groups, State) ->
    partisan_replication:broadcast(server(State), partisan_replica:announcement(Groups)).

changed(Groups, #state{groups = Before, watchers = Watchers} = State) ->
    Changes = [C || map_size(Watchers) > 0, C <- partisan_groups:changes(Before, Groups)],
    _ = [
        Pid ! {Reference, What, Group, Members}
     || {Reference, {Pid, Of}} <- maps:to_list(Watchers),
        {What, Group, Members} <- Changes,
        Of =:= all orelse Of =:= {group, Group}
    ],
    watch(State#state{groups = Groups}).

%% Monitors the scopes of the other nodes with members.
watch(#state{groups = Groups, watched = Watched} = State) ->
    New = [Node || Node <- partisan_groups:nodes(Groups), not is_map_key(Node, Watched)],
    lists:foldl(fun watch/2, State, New).

watch(Node, #state{scope = Scope, groups = Groups, watched = Watched} = State) ->
    try partisan:monitor(process, {Scope, Node}) of
        Monitor ->
            Version = partisan_replica:version(Node, Groups),
            State#state{watched = Watched#{Node => {Monitor, Version}}}
    catch
        % This node has too many monitors: the next round tries again.
        error:system_limit -> State
    end.

%% The scope of a node has ended, or the node is lost.
scope_ended(Node, Reason, #state{groups = Groups, watched = Watched0} = State0) ->
    {{_, Version}, Watched} = maps:take(Node, Watched0),
    State = State0#state{watched = Watched},
    case {Reason, partisan_replica:version(Node, Groups)} of
        {system_limit, _} ->
            % The other node has too many monitors: the next round tries again.
            State;
        {_, Known} when Reason =:= noconnection; Known =:= Version ->
            changed(partisan_replica:lost(Node, Groups), State);
        _ ->
            watch(State)
    end.

watched(Pid, Of, Present, #state{watchers = Watchers} = State) ->
    Reference = erlang:monitor(process, Pid),
    {reply, {Reference, Present}, State#state{watchers = Watchers#{Reference => {Pid, Of}}}}.

server(#state{scope = Scope}) ->
    {?MESSAGE, Scope}.

%%% @doc Process groups: replicas become equal, and real nodes notice joins, ends and losses.
-module(partisan_pg_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, await/1]).

%% On the nodes.
-export([start_member/2, watch/1, notices/0, monitor_group/1]).
-export([end_scope/2, restart_scope/2, forge_down/2, default_scope/0, join_often/2]).

%% Changes of three replicas with messages lost, repeated and out of order; then every one hears of
%% every other.
converges_test_() ->
    {timeout, 600, ?_assert(proper:quickcheck(converges(), [{numtests, 200}, {to_file, user}]))}.

converges() ->
    Node = oneof([<<"a">>, <<"b">>, <<"c">>]),
    Group = oneof([g, h]),
    Change = oneof([
        {join, Node, Group, integer(1, 3)}, {leave, Node, Group, integer(1, 3)}, {hear, Node, Node}
    ]),
    ?FORALL(Changes, list(Change), begin
        Names = [<<"a">>, <<"b">>, <<"c">>],
        New = maps:from_list([{Name, partisan_groups:new(Name, 1, 0)} || Name <- Names]),
        Changed = lists:foldl(fun change/2, New, Changes),
        All = [{hear, To, From} || From <- Names, To <- Names, To =/= From],
        Equal = maps:values(lists:foldl(fun change/2, Changed, All)),
        Views = [[{G, partisan_groups:members(G, V)} || G <- [g, h]] || V <- Equal],
        Own = [own(V) || V <- maps:values(Changed)],
        length(lists:usort(Views)) =:= 1 andalso
            Own =:= [own(V) || V <- Equal]
    end).

change({join, Name, Group, Number}, Replicas) ->
    #{Name := View} = Replicas,
    Replicas#{Name := partisan_groups:join(Group, [{Name, Number}], View)};
change({leave, Name, Group, Number}, Replicas) ->
    #{Name := View} = Replicas,
    Replicas#{Name := partisan_groups:leave(Group, [{Name, Number}], View)};
change({hear, To, From}, Replicas) ->
    #{To := View, From := Other} = Replicas,
    Replicas#{To := hear(Other, View)}.

hear(Other, View) ->
    Self = partisan_replica:self(View),
    {Answers, _} = partisan_replica:handle(partisan_replica:question(View), Other),
    lists:foldl(
        fun({To, Message}, V) when To =:= Self ->
            {_, Heard} = partisan_replica:handle(Message, V),
            Heard
        end,
        View,
        Answers
    ).

own(View) ->
    {entries, Own} = partisan_replica:announcement(View),
    Own.

%% Two nodes that notice a loss one after the other would bring it back to each other for ever.
lost_test() ->
    Name = <<"c">>,
    Lost = partisan_groups:join(g, [{Name, 1}], partisan_groups:new(Name, 1, 0)),
    Late = hear(Lost, partisan_groups:new(<<"b">>, 1, 0)),
    Early = hear(Lost, partisan_groups:new(<<"a">>, 1, 0)),
    Noticed = partisan_replica:lost(Name, Early),
    Members = fun(Heard, View) -> partisan_groups:members(g, hear(Heard, View)) end,
    ?assertEqual([], Members(Late, Noticed)),
    % A change shows that it lives, as does a restart.
    Changed = partisan_groups:join(g, [{Name, 2}], Lost),
    ?assertEqual([{Name, 2}, {Name, 1}], Members(Changed, Noticed)),
    Restarted = partisan_groups:join(g, [{Name, 3}], partisan_groups:new(Name, 2, 0)),
    ?assertEqual([{Name, 3}], Members(Restarted, Noticed)),
    % A scope that starts again has changed more often, and has no members.
    ?assertEqual([], partisan_groups:members(g, hear(partisan_groups:new(Name, 1, 7), Late))),
    % One that was not lost, and changes nothing, is back in the end.
    Rounds = fun(Count) ->
        lists:foldl(fun(_, V) -> partisan_replica:round(V) end, Noticed, lists:seq(1, Count))
    end,
    ?assertEqual([], Members(Lost, Rounds(9))),
    ?assertEqual([{Name, 1}], Members(Lost, Rounds(10))).

changes_test() ->
    New = fun(Name) -> partisan_groups:new(Name, 1, 0) end,
    A = partisan_groups:join(g, [{a, 1}], New(<<"a">>)),
    B1 = partisan_groups:join(h, [{b, 1}], partisan_groups:join(g, [{b, 1}, {b, 2}], New(<<"b">>))),
    B2 = partisan_groups:leave(g, [{b, 1}], partisan_groups:join(h, [{b, 1}], B1)),
    Views = [A, hear(B1, A), hear(B2, hear(B1, A)), partisan_replica:lost(<<"b">>, hear(B2, A))],
    ?assertEqual(
        [
            [{join, g, [{b, 1}, {b, 2}]}, {join, h, [{b, 1}]}],
            [{leave, g, [{b, 1}]}, {join, h, [{b, 1}]}],
            [{leave, g, [{b, 2}]}, {leave, h, [{b, 1}, {b, 1}]}]
        ],
        [
            partisan_groups:changes(Before, After)
         || {Before, After} <- lists:zip(lists:droplast(Views), tl(Views))
        ]
    ),
    ?assertEqual([], partisan_groups:changes(A, A)).

%% More than fits into one message arrives, also if some of it is lost.
parts_test() ->
    Name = fun(N) -> <<"n", (integer_to_binary(N))/binary>> end,
    Known = lists:foldl(
        fun(N, View) ->
            Member = {N, binary:copy(<<0>>, 100000)},
            hear(partisan_groups:join(g, [Member], partisan_groups:new(Name(N), 1, 0)), View)
        end,
        partisan_groups:new(<<"a">>, 1, 0),
        lists:seq(1, 9)
    ),
    Lacking = partisan_groups:new(<<"b">>, 1, 0),
    {Answers, _} = partisan_replica:handle(partisan_replica:question(Lacking), Known),
    Parts = [Message || {_, {entries, _} = Message} <- Answers],
    ?assertEqual(5, length(Parts)),
    ?assert(lists:all(fun(Part) -> erlang:external_size(Part) < 1 bsl 18 end, Parts)),
    {[], Heard} = partisan_replica:handle(hd(Parts), Lacking),
    ?assertNotEqual(9, length(partisan_groups:members(g, Heard))),
    ?assertEqual(9, length(partisan_groups:members(g, hear(Known, Heard)))).

nodes_test_() ->
    Star = #{
        overlay => {client_server, #{servers => [<<"node-1">>]}}, heartbeat_interval => 2000
    },
    {setup, fun() -> partisan_test_cluster:start(3, Star) end, fun partisan_test_cluster:stop/1,
        fun(Nodes) ->
            [
                {Title, {timeout, 600, fun() -> Test(Nodes) end}}
             || {Title, Test} <- [
                    {"scopes that end", fun scopes/1},
                    {"an end that is older than what is known", fun late/1},
                    {"the default scope", fun default/1},
                    {"many members", fun many/1},
                    {"three nodes, of which one is lost", fun groups/1}
                ]
            ]
        end}.

%% On a node that does not end.
scopes([Server, A, B] = Nodes) ->
    ok = await(fun() -> lists:all(fun(N) -> call(N, partisan, joined, []) end, Nodes) end),
    ?assertEqual([], call(A, partisan_pg, get_members, [ending, group])),
    ?assertEqual([], call(A, partisan_pg, get_local_members, [ending, group])),
    ?assertError(badarg, call(A, partisan_pg, which_groups, [ending])),
    [{ok, _} = call(N, partisan_pg, start, [ending]) || N <- Nodes],
    Others = fun() -> [call(N, partisan_pg, get_members, [ending, group]) || N <- [Server, A]] end,
    [
        begin
            Member = call(B, ?MODULE, start_member, [ending, Reason]),
            ok = await(fun() -> Others() =:= [[Member], [Member]] end),
            ok = call(B, ?MODULE, end_scope, [ending, Reason]),
            ok = await(fun() -> Others() =:= [[], []] end),
            {ok, _} = call(B, partisan_pg, start, [ending])
        end
     || Reason <- [normal, kill]
    ],
    % One that is started again at once.
    Before = call(B, ?MODULE, start_member, [ending, before]),
    ok = await(fun() -> Others() =:= [[Before], [Before]] end),
    After = call(B, ?MODULE, restart_scope, [ending, 'after']),
    ok = await(fun() -> Others() =:= [[After], [After]] end),
    ok = call(B, ?MODULE, end_scope, [ending, kill]),
    ok = await(fun() -> Others() =:= [[], []] end).

%% As if the scope of another node had been started again before its end is noticed.
late([_, A, B] = Nodes) ->
    [{ok, _} = call(N, partisan_pg, start, [late]) || N <- Nodes],
    Members = fun() -> length(call(A, partisan_pg, get_members, [late, group])) end,
    _ = call(B, ?MODULE, start_member, [late, late_1]),
    ok = await(fun() -> Members() =:= 1 end),
    _ = call(B, ?MODULE, start_member, [late, late_2]),
    ok = await(fun() -> Members() =:= 2 end),
    ?assertEqual(2, length(call(A, ?MODULE, forge_down, [late, partisan_test_cluster:name(B)]))),
    % Another monitor has begun.
    ok = call(B, ?MODULE, end_scope, [late, kill]),
    ok = await(fun() -> Members() =:= 0 end).

%% Each of them would be announced with all before it: some 100 MB.
many([Server, A, _] = Nodes) ->
    [{ok, _} = call(N, partisan_pg, start, [many]) || N <- Nodes],
    Before = sent_bytes(A),
    ok = call(A, ?MODULE, join_often, [many, 1500]),
    Members = fun() -> length(call(Server, partisan_pg, get_members, [many, group])) end,
    ok = await(fun() -> Members() =:= 1500 end),
    ?assert(sent_bytes(A) - Before < 50000000).

sent_bytes(Node) ->
    lists:sum([Bytes || #{sent_bytes := Bytes} <- maps:values(call(Node, partisan, channels, []))]).

default([_, A, _]) ->
    Joined = {join, group, 1},
    ?assertEqual(
        [#{}, [], ok, [pid], true, [group], [Joined, Joined], ok, ok, []],
        call(A, ?MODULE, default_scope, [])
    ).

groups([_, A, B] = Nodes) ->
    [{ok, _} = call(N, partisan_pg, start, [scope]) || N <- Nodes],
    ok = call(A, ?MODULE, watch, [scope]),
    _ = call(B, ?MODULE, start_member, [scope, one]),
    _ = call(B, ?MODULE, start_member, [scope, two]),
    ok = await(fun() -> length(members(A)) =:= 2 end),
    ?assertEqual([group], call(A, partisan_pg, which_groups, [scope])),
    ?assertEqual([], call(A, partisan_pg, get_local_members, [scope, group])),
    ?assertEqual(not_joined, call(A, partisan_pg, leave, [scope, group, self()])),
    % A member is a process on its node.
    [ok = call(A, partisan, forward, [Member, stop]) || Member <- [hd(members(A))]],
    ok = await(fun() -> [length(members(N)) || N <- Nodes] =:= [1, 1, 1] end),
    % A scope that starts later learns of the groups.
    ok = call(A, gen_server, stop, [scope]),
    {ok, _} = call(A, partisan_pg, start, [scope]),
    ok = await(fun() -> length(members(A)) =:= 1 end),
    ok = call(A, ?MODULE, watch, [scope]),
    ?assertEqual([{join, [pid]}, ok, false], call(A, ?MODULE, monitor_group, [scope])),
    ok = partisan_test_cluster:kill(B),
    ok = await(fun() -> members(A) =:= [] end),
    Leave = {leave, group, 1},
    ok = await(fun() -> lists:member(Leave, call(A, ?MODULE, notices, [])) end).

members(Node) ->
    call(Node, partisan_pg, get_members, [scope, group]).

start_member(Scope, Name) ->
    Pid = spawn(fun() -> receive stop -> ok end end),
    true = register(Name, Pid),
    ok = partisan_pg:join(Scope, group, Pid),
    partisan:ref(Pid).

end_scope(Scope, normal) ->
    gen_server:stop(Scope);
end_scope(Scope, kill) ->
    Monitor = monitor(process, Scope),
    true = exit(whereis(Scope), kill),
    receive {'DOWN', Monitor, process, _, killed} -> ok end.

restart_scope(Scope, Name) ->
    ok = end_scope(Scope, kill),
    {ok, _} = partisan_pg:start(Scope),
    start_member(Scope, Name).

%% The end of a scope's monitor of another node's, and the members after it.
forge_down(Scope, Node) ->
    #{Node := {Monitor, _}} = element(6, sys:get_state(Scope)),
    Scope ! {'DOWN', Monitor, process, {Scope, Node}, killed},
    Members = partisan_pg:get_members(Scope, group),
    #{Node := {Another, _}} = element(6, sys:get_state(Scope)),
    true = Another =/= Monitor,
    Members.

join_often(Scope, Count) ->
    Pid = spawn(fun() -> receive stop -> ok end end),
    lists:foreach(fun(_) -> ok = partisan_pg:join(Scope, group, Pid) end, lists:seq(1, Count)).

%% The functions without a scope.
default_scope() ->
    {ok, _} = partisan_pg:start_link(),
    {OfScope, Groups} = partisan_pg:monitor_scope(),
    {OfGroup, Present} = partisan_pg:monitor(group),
    Joined = partisan_pg:join(group, self()),
    Members = [pid || Member <- partisan_pg:get_members(group), Member =:= partisan:self()],
    IsLocal = partisan_pg:get_local_members(group) =:= [self()],
    Which = partisan_pg:which_groups(),
    Notices = [
        receive {Reference, What, Group, Pids} -> {What, Group, length(Pids)} end
     || Reference <- [OfScope, OfGroup]
    ],
    [ok, ok] = [partisan_pg:demonitor(Reference) || Reference <- [OfScope, OfGroup]],
    Left = partisan_pg:leave(group, self()),
    Rest = partisan_pg:get_members(group),
    [Groups, Present, Joined, Members, IsLocal, Which, Notices, ok, Left, Rest].

%% Starts a process that keeps the notices of a scope.
watch(Scope) ->
    _ = [unregister(watcher) || whereis(watcher) =/= undefined],
    Caller = self(),
    _ = spawn(fun() ->
        true = register(watcher, self()),
        {Reference, _} = partisan_pg:monitor_scope(Scope),
        Caller ! watching,
        keep(Reference, [])
    end),
    receive watching -> ok end.

%% Notices of one group alone, and none after the end of the monitor.
monitor_group(Scope) ->
    {Reference, []} = partisan_pg:monitor(Scope, mine),
    ok = partisan_pg:join(Scope, other, self()),
    ok = partisan_pg:join(Scope, mine, self()),
    Joined = receive {Reference, What, mine, Who} -> {What, [pid || _ <- Who]} end,
    Ended = partisan_pg:demonitor(Scope, Reference),
    ok = partisan_pg:leave(Scope, mine, self()),
    ok = partisan_pg:leave(Scope, other, self()),
    Later = receive {Reference, _, _, _} -> true after 0 -> false end,
    [Joined, Ended, Later].

keep(Reference, Kept) ->
    receive
        {Reference, What, Group, Members} ->
            keep(Reference, [{What, Group, length(Members)} | Kept]);
        {notices, Pid} ->
            Pid ! {notices, lists:reverse(Kept)},
            keep(Reference, Kept)
    end.

notices() ->
    watcher ! {notices, self()},
    receive {notices, Notices} -> Notices end.

%%% Cases: process groups.
-module(comparison_groups).

-export([cases/0]).

-import(comparison_run, [b/0, c/0, mailbox/0]).

-define(SCOPE, comparison).

cases() ->
    own() ++ absent() ++ default() ++ monitors() ++ others() ++ scopes() ++ losses().

own() ->
    [
        {"pg:join/3", Title, Kind, fun(S) -> Run(S:pg(), {Title, make_ref()}) end}
     || {Title, Kind, Run} <- [
            {"its value, and the members", ok, fun(Pg, Group) ->
                {Pg:join(?SCOPE, Group, self()), Pg:get_members(?SCOPE, Group)}
            end},
            {"twice: twice a member", ok, fun(Pg, Group) ->
                ok = Pg:join(?SCOPE, Group, self()),
                ok = Pg:join(?SCOPE, Group, self()),
                Pg:get_members(?SCOPE, Group)
            end},
            {"several processes", ok, fun(Pg, Group) ->
                Other = spawn(fun() -> receive never -> ok end end),
                ok = Pg:join(?SCOPE, Group, [self(), Other]),
                length(Pg:get_members(?SCOPE, Group))
            end},
            {"no processes", ok, fun(Pg, Group) ->
                {Pg:join(?SCOPE, Group, []), Pg:get_members(?SCOPE, Group)}
            end},
            {"no process", error, fun(Pg, Group) -> Pg:join(?SCOPE, Group, process) end},
            {"no process in a list", error, fun(Pg, Group) -> Pg:join(?SCOPE, Group, [1]) end},
            {"a scope that does not exist", error, fun(Pg, Group) ->
                Pg:join(absent, Group, self())
            end}
        ]
    ] ++
        [
            {"pg:leave/3", Title, Kind, fun(S) -> Run(S:pg(), {Title, make_ref()}) end}
         || {Title, Kind, Run} <- [
                {"of a member", ok, fun(Pg, Group) ->
                    ok = Pg:join(?SCOPE, Group, self()),
                    {Pg:leave(?SCOPE, Group, self()), Pg:get_members(?SCOPE, Group)}
                end},
                {"of one that has joined twice", ok, fun(Pg, Group) ->
                    ok = Pg:join(?SCOPE, Group, [self(), self()]),
                    {Pg:leave(?SCOPE, Group, self()), Pg:get_members(?SCOPE, Group)}
                end},
                {"of no member", error, fun(Pg, Group) -> Pg:leave(?SCOPE, Group, self()) end},
                {"of a member and of none", error, fun(Pg, Group) ->
                    ok = Pg:join(?SCOPE, Group, self()),
                    Other = spawn(fun() -> receive never -> ok end end),
                    {Pg:leave(?SCOPE, Group, [Other, self()]), Pg:get_members(?SCOPE, Group)}
                end},
                {"twice", error, fun(Pg, Group) ->
                    ok = Pg:join(?SCOPE, Group, self()),
                    {Pg:leave(?SCOPE, Group, self()), Pg:leave(?SCOPE, Group, self())}
                end},
                {"no process", error, fun(Pg, Group) -> Pg:leave(?SCOPE, Group, process) end}
            ]
        ] ++
        [
            {"pg:get_members/2", "of a group without members", error, fun(S) ->
                (S:pg()):get_members(?SCOPE, make_ref())
            end},
            {"pg:get_local_members/2", "of a group", ok, fun(S) ->
                Group = {local, make_ref()},
                ok = (S:pg()):join(?SCOPE, Group, self()),
                (S:pg()):get_local_members(?SCOPE, Group) =:= [self()]
            end},
            {"pg:get_local_members/2", "of a group without members", error, fun(S) ->
                (S:pg()):get_local_members(?SCOPE, make_ref())
            end},
            {"pg:which_groups/1", "has a group with members alone", ok, fun(S) ->
                [Group, Other] = [{which, N, make_ref()} || N <- [1, 2]],
                ok = (S:pg()):join(?SCOPE, Group, self()),
                ok = (S:pg()):join(?SCOPE, Other, self()),
                ok = (S:pg()):leave(?SCOPE, Other, self()),
                Groups = (S:pg()):which_groups(?SCOPE),
                [lists:member(G, Groups) || G <- [Group, Other]]
            end},
            {"pg:monitor_scope/1", "joins and leaves", ok, fun(S) ->
                Group = {watched, make_ref()},
                {Reference, _} = (S:pg()):monitor_scope(?SCOPE),
                ok = (S:pg()):join(?SCOPE, Group, self()),
                ok = (S:pg()):leave(?SCOPE, Group, self()),
                [receive {Reference, What, Group, Who} -> {What, Who} end || _ <- [1, 2]]
            end},
            {"pg:monitor_scope/1", "the present groups", ok, fun(S) ->
                Group = {watched, make_ref()},
                ok = (S:pg()):join(?SCOPE, Group, self()),
                {_, #{Group := Present}} = (S:pg()):monitor_scope(?SCOPE),
                Present
            end},
            {"pg:monitor_scope/1", "of a scope that does not exist", error, fun(S) ->
                (S:pg()):monitor_scope(absent)
            end},
            {"pg:demonitor/2", "of a scope", ok, fun(S) ->
                {Reference, _} = (S:pg()):monitor_scope(?SCOPE),
                (S:pg()):demonitor(?SCOPE, Reference)
            end},
            {"pg:demonitor/2", "of what is not monitored", error, fun(S) ->
                (S:pg()):demonitor(?SCOPE, make_ref())
            end}
        ].

absent() ->
    [
        {"pg:get_members/2", "of a scope that does not exist", error, fun(S) ->
            (S:pg()):get_members(absent, group)
        end},
        {"pg:get_local_members/2", "of a scope that does not exist", error, fun(S) ->
            (S:pg()):get_local_members(absent, group)
        end},
        {"pg:which_groups/1", "of a scope that does not exist", error, fun(S) ->
            (S:pg()):which_groups(absent)
        end}
    ].

%% One after the other, since there is one default scope.
default() ->
    [
        {"pg:start_link/0", "the default scope", ok, fun(S) ->
            Pg = S:pg(),
            {ok, Scope} = Pg:start_link(),
            {Monitor, Present} = Pg:monitor_scope(),
            Joined = Pg:join(group, self()),
            Members = {Pg:get_members(group), Pg:get_local_members(group) =:= [self()]},
            Notice = receive {Monitor, What, group, Who} -> {What, Who} end,
            Ended = Pg:demonitor(Monitor),
            Left = {Pg:which_groups(), Pg:leave(group, self()), Pg:get_members(group)},
            ok = gen_server:stop(Scope),
            [Present, Joined, Members, Notice, Ended, Left]
        end}
    ].

%% Each in a scope of its own: that of OTP 25 fails when the monitor of a group ends.
monitors() ->
    [
        {"pg:monitor/2", Title, Kind, fun(S) ->
            Scope = list_to_atom("scope_" ++ integer_to_list(erlang:unique_integer([positive]))),
            {ok, _} = (S:pg()):start(Scope),
            Run(S:pg(), Scope)
        end}
     || {Title, Kind, Run} <- [
            {"joins and leaves", ok, fun(Pg, Scope) ->
                {Reference, Present} = Pg:monitor(Scope, group),
                ok = Pg:join(Scope, group, self()),
                ok = Pg:leave(Scope, group, self()),
                {Present, [receive {Reference, What, group, Who} -> {What, Who} end || _ <- [1, 2]]}
            end},
            {"of a group with members", ok, fun(Pg, Scope) ->
                ok = Pg:join(Scope, group, [self(), self()]),
                {_, Present} = Pg:monitor(Scope, group),
                Present
            end},
            {"not of another group", ok, fun(Pg, Scope) ->
                {Reference, _} = Pg:monitor(Scope, group),
                ok = Pg:join(Scope, other, self()),
                ok = Pg:join(Scope, group, self()),
                receive {Reference, join, group, _} -> mailbox() end
            end},
            {"a member ends", error, fun(Pg, Scope) ->
                {Reference, _} = Pg:monitor(Scope, group),
                Member = spawn(fun() -> receive stop -> ok end end),
                ok = Pg:join(Scope, group, [Member, self()]),
                receive {Reference, join, group, _} -> Member ! stop end,
                receive {Reference, leave, group, Who} -> Who end
            end},
            {"of a scope that does not exist", error, fun(Pg, _Scope) ->
                Pg:monitor(absent, group)
            end}
        ]
    ].

others() ->
    [
        {"pg:get_members/2", "a member on another node gets a message", ok, fun(S) ->
            Group = group(),
            _ = S:call({fixture, b()}, {member, ?SCOPE, Group}, 60000),
            [Member] = members(S, Group, 1),
            _ = S:send(Member, hello),
            _ = S:send(Member, {seen, S:own(), tag}),
            receive {tag, Seen} -> Seen end
        end},
        {"pg:get_members/2", "members on two nodes", ok, fun(S) ->
            Group = group(),
            _ = [S:call({fixture, Node}, {member, ?SCOPE, Group}, 60000) || Node <- [b(), c()]],
            members(S, Group, 2)
        end},
        {"pg:get_local_members/2", "a member on another node is not local", ok, fun(S) ->
            Group = group(),
            _ = S:call({fixture, b()}, {member, ?SCOPE, Group}, 60000),
            _ = members(S, Group, 1),
            (S:pg()):get_local_members(?SCOPE, Group)
        end},
        {"pg:get_members/2", "a member on another node ends", error, fun(S) ->
            Group = group(),
            Member = S:call({fixture, b()}, {member, ?SCOPE, Group}, 60000),
            _ = members(S, Group, 1),
            _ = S:send(Member, {stop, oops}),
            members(S, Group, 0)
        end},
        {"pg:leave/3", "of a member on another node", error, fun(S) ->
            Group = group(),
            Member = S:call({fixture, b()}, {member, ?SCOPE, Group}, 60000),
            (S:pg()):leave(?SCOPE, Group, Member)
        end}
    ].

%% The scope ends on a node that does not.
scopes() ->
    [
        {"pg:get_members/2", Title, error, fun(S) ->
            Others = [b(), c()],
            {ok, _} = (S:pg()):start(Scope),
            [ok = S:call({fixture, Node}, {scope, start, Scope}, 60000) || Node <- Others],
            _ = S:call({fixture, b()}, {member, Scope, group}, 60000),
            [_] = members(S, Scope, group, 1),
            ok = S:call({fixture, b()}, {scope, End, Scope}, 60000),
            Ended = members(S, Scope, group, 0),
            ok = S:call({fixture, b()}, {scope, start, Scope}, 60000),
            Member = S:call({fixture, b()}, {member, Scope, group}, 60000),
            [Known] = members(S, Scope, group, 1),
            [ok = S:call({fixture, Node}, {scope, stop, Scope}, 60000) || Node <- Others],
            ok = gen_server:stop(Scope),
            {Ended, Known =:= Member}
        end}
     || {Title, End, Scope} <- [
            {"the scope of another node stops, and starts again", stop, comparison_stopped},
            {"the scope of another node is killed, and starts again", kill, comparison_killed}
        ]
    ].

losses() ->
    [
        {"pg:get_members/2", "the node of a member is killed", loss, fun(S, Node, Ready) ->
            Group = group(),
            _ = S:call({fixture, Node}, {member, ?SCOPE, Group}, 60000),
            _ = members(S, Group, 1),
            Ready(),
            members(S, Group, 0)
        end}
    ].

%% Of one case alone.
group() ->
    {group, erlang:unique_integer()}.

%% The members of a group once there are so many.
members(S, Group, Count) ->
    members(S, ?SCOPE, Group, Count).

members(S, Scope, Group, Count) ->
    case (S:pg()):get_members(Scope, Group) of
        Members when length(Members) =:= Count -> Members;
        _ -> receive after 20 -> members(S, Scope, Group, Count) end
    end.

%%% Cases: processes spawned on other nodes, which allow it, links, exit signals and aliases.
-module(comparison_processes).

-export([cases/0]).

-import(comparison_run, [b/0, absent/0, fixture/1, fixture/2, mailbox/0, ended/2]).
-import(comparison_monitors, [established/1]).

-define(F, comparison_functions).

cases() ->
    spawned() ++ monitored() ++ linked() ++ links() ++ signals() ++ aliases() ++ losses().

spawned() ->
    [
        {"erlang:spawn/4", "what it does", ok, fun(S) ->
            _ = (S:erlang()):spawn(b(), ?F, inform, [S:own(), hello]),
            receive Message -> Message end
        end},
        {"erlang:spawn/4", "on the own node", ok, fun(S) ->
            _ = (S:erlang()):spawn(S:own_node(), ?F, inform, [S:own(), hello]),
            receive Message -> Message end
        end},
        {"erlang:spawn/4", "a process to send to", ok, fun(S) ->
            S:send((S:erlang()):spawn(b(), ?F, echo, []), {S:own(), hello}),
            receive Message -> Message end
        end},
        {"erlang:spawn/2", "what it does", ok, fun(S) ->
            Own = S:own(),
            _ = (S:erlang()):spawn(b(), ?F:work(inform, [Own, hello])),
            receive Message -> Message end
        end},
        {"erlang:spawn/4", "on an absent node", error, fun(S) ->
            (S:erlang()):spawn(absent(), ?F, wait, [])
        end},
        {"erlang:spawn/4", "a monitor of that process", error, fun(S) ->
            Pid = (S:erlang()):spawn(absent(), ?F, wait, []),
            Monitor = S:monitor(process, Pid),
            receive {'DOWN', Monitor, process, _, Why} -> Why end
        end}
    ].

%% What a process does, and with which kind of end.
works() ->
    [
        {"ends normally", ok, value, [1]},
        {"ends with a reason", error, leave, [oops]},
        {"ends with the reason noproc", error, leave, [noproc]},
        {"ends with the reason killed", error, leave, [killed]},
        {"fails", error, fail, [oops]},
        {"throws", error, thrown, [oops]},
        {"has a function that does not exist", error, none, []}
    ].

monitored() ->
    [
        {"erlang:spawn_monitor/4", "a process that " ++ Title, Kind, fun(S) ->
            {Pid, Monitor} = (S:erlang()):spawn_monitor(b(), ?F, Function, Arguments),
            receive {'DOWN', Monitor, process, Object, Why} -> {Object =:= Pid, Why} end
        end}
     || {Title, Kind, Function, Arguments} <- works()
    ] ++
        [
            {"erlang:spawn_monitor/4", "on an absent node", error, fun(S) ->
                {_, Monitor} = (S:erlang()):spawn_monitor(absent(), ?F, wait, []),
                receive {'DOWN', Monitor, process, _, Why} -> Why end
            end},
            {"erlang:spawn_monitor/2", "a process that ends with a reason", error, fun(S) ->
                {_, Monitor} = (S:erlang()):spawn_monitor(b(), ?F:work(leave, [oops])),
                receive {'DOWN', Monitor, process, _, Why} -> Why end
            end},
            {"erlang:spawn_monitor/4", "no more after demonitor/1", ok, fun(S) ->
                {Pid, Monitor} = (S:erlang()):spawn_monitor(b(), ?F, echo, []),
                true = S:demonitor(Monitor),
                S:send(Pid, {S:own(), hello}),
                receive hello -> mailbox() end
            end}
        ].

linked() ->
    [
        {"erlang:spawn_link/4", "trapping exits, a process that " ++ Title, Kind, fun(S) ->
            false = process_flag(trap_exit, true),
            Pid = (S:erlang()):spawn_link(b(), ?F, Function, Arguments),
            receive {'EXIT', From, Why} -> {From =:= Pid, Why} end
        end}
     || {Title, Kind, Function, Arguments} <- works()
    ] ++
        [
            {"erlang:spawn_link/4", "a process that ends with a reason", error, fun(S) ->
                _ = (S:erlang()):spawn_link(b(), ?F, leave, [oops]),
                receive Message -> Message end
            end},
            {"erlang:spawn_link/4", "on an absent node", error, fun(S) ->
                false = process_flag(trap_exit, true),
                Pid = (S:erlang()):spawn_link(absent(), ?F, wait, []),
                receive {'EXIT', From, Why} -> {From =:= Pid, Why} end
            end},
            {"erlang:spawn_link/2", "a process that ends with a reason", error, fun(S) ->
                _ = (S:erlang()):spawn_link(b(), ?F:work(leave, [oops])),
                receive Message -> Message end
            end}
        ].

links() ->
    [
        {"erlang:link/1", Title, Kind, fun(S) ->
            false = process_flag(trap_exit, true),
            {Name, Reference} = fixture(process),
            _ = [true = (S:erlang()):link(Reference) || _ <- lists:seq(1, Times)],
            _ = S:send(Name, {stop, Reason}),
            receive {'EXIT', From, Why} -> {From =:= Reference, Why, mailbox()} end
        end}
     || {Title, Kind, Times, Reason} <- [
            {"with a process that ends normally", ok, 1, normal},
            {"with a process that ends with a reason", error, 1, oops},
            {"twice", ok, 2, oops}
        ]
    ] ++
        [
            {"erlang:link/1", "with a process of the own node, by its identifier", ok, fun(S) ->
                false = process_flag(trap_exit, true),
                Pid = spawn(fun() -> receive {stop, Why} -> exit(Why) end end),
                true = (S:erlang()):link(Pid),
                Pid ! {stop, oops},
                receive {'EXIT', From, Why} -> {From =:= Pid, Why, mailbox()} end
            end},
            {"erlang:unlink/1", "of a process of the own node, by its identifier", ok, fun(S) ->
                {Pid, Monitor} = spawn_monitor(fun() -> receive {stop, Why} -> exit(Why) end end),
                true = (S:erlang()):link(Pid),
                true = (S:erlang()):unlink(Pid),
                Pid ! {stop, oops},
                receive {'DOWN', Monitor, process, _, Why} -> {Why, mailbox()} end
            end}
        ] ++
        [
            {"erlang:" ++ atom_to_list(Function) ++ "/1", "of " ++ Title, error, fun(S) ->
                false = process_flag(trap_exit, true),
                Target = Make(S),
                {comparison_outcome:of_call(fun() -> (S:erlang()):Function(Target) end), mailbox()}
            end}
         || Function <- [link, unlink],
            {Title, Make} <- [
                {"a number", fun(_) -> 42 end},
                {"a name of the own node", fun(_) -> fixture end},
                {"a name of another node", fun(_) -> {fixture, b()} end},
                {"an Erlang reference", fun(_) -> make_ref() end},
                {"an alias", fun(S) -> (S:erlang()):alias() end}
            ]
        ] ++
        [
            {"erlang:link/1", "with a process that has ended", error, fun(S) ->
                false = process_flag(trap_exit, true),
                {_, Reference} = Process = fixture(process),
                ok = ended(S, Process),
                true = (S:erlang()):link(Reference),
                receive {'EXIT', From, Why} -> {From =:= Reference, Why} end
            end},
            {"erlang:link/1", "the linker ends", error, fun(S) ->
                {_, Reference} = fixture(process),
                Monitor = S:monitor(process, Reference),
                ok = established(S),
                _ = spawn(fun() ->
                    true = (S:erlang()):link(Reference),
                    exit(enough)
                end),
                receive {'DOWN', Monitor, process, _, Why} -> Why end
            end},
            {"erlang:link/1", "the linker ends normally", ok, fun(S) ->
                {Name, Reference} = fixture(process),
                {Pid, Ended} = spawn_monitor(fun() -> true = (S:erlang()):link(Reference) end),
                receive {'DOWN', Ended, process, Pid, normal} -> ok end,
                _ = S:send(Name, {seen, S:own(), seen}),
                receive {seen, Seen} -> Seen end
            end},
            {"erlang:unlink/1", "no signal afterwards", ok, fun(S) ->
                {Name, Reference} = fixture(process),
                true = (S:erlang()):link(Reference),
                true = (S:erlang()):unlink(Reference),
                Monitor = S:monitor(process, Reference),
                ok = established(S),
                _ = S:send(Name, {stop, oops}),
                receive {'DOWN', Monitor, process, _, Why} -> {Why, mailbox()} end
            end},
            {"erlang:unlink/1", "without a link", error, fun(S) ->
                {_, Reference} = fixture(process),
                (S:erlang()):unlink(Reference)
            end}
        ].

signals() ->
    [
        {"erlang:exit/2", "with the reason " ++ atom_to_list(Reason), error, fun(S) ->
            {_, Reference} = fixture(process),
            Monitor = S:monitor(process, Reference),
            ok = established(S),
            Result = (S:erlang()):exit(Reference, Reason),
            receive {'DOWN', Monitor, process, _, Why} -> {Result, Why} end
        end}
     || Reason <- [oops, kill, killed, shutdown]
    ] ++
        [
            {"erlang:exit/2", "with the reason normal", ok, fun(S) ->
                {Name, Reference} = fixture(process),
                Result = (S:erlang()):exit(Reference, normal),
                _ = S:send(Name, {seen, S:own(), seen}),
                receive {seen, Seen} -> {Result, Seen} end
            end},
            {"erlang:exit/2", "to a process that traps exits", ok, fun(S) ->
                Pid = (S:erlang()):spawn(b(), ?F, trap, [S:own()]),
                receive ready -> ok end,
                Result = (S:erlang()):exit(Pid, hint),
                receive Trapped -> {Result, Trapped} end
            end},
            {"erlang:exit/2", "to a name of the own node", error, fun(S) ->
                {{Name, _}, _} = fixture(process, S:own_node()),
                (S:erlang()):exit(Name, oops)
            end},
            {"erlang:exit/2", "to a process that has ended", error, fun(S) ->
                {_, Reference} = Process = fixture(process),
                ok = ended(S, Process),
                (S:erlang()):exit(Reference, oops)
            end},
            {"erlang:exit/2", "to a process of an absent node", error, fun(S) ->
                (S:erlang()):exit((S:erlang()):spawn(absent(), ?F, wait, []), oops)
            end}
        ].

aliases() ->
    [
        {"erlang:alias/1", "two messages to " ++ Title, ok, fun(S) ->
            Alias = (S:erlang()):alias(Options),
            Echo = (S:erlang()):spawn(b(), ?F, echo, []),
            _ = [S:send(Echo, {Alias, N}) || N <- [1, 2]],
            S:send(Echo, {S:own(), last}),
            receive last -> mailbox() end
        end}
     || {Title, Options} <- [{"an alias", []}, {"an alias for a reply", [reply]}]
    ] ++
        [
            {"erlang:unalias/1", "a message to an alias that has ended", error, fun(S) ->
                Alias = (S:erlang()):alias(),
                true = (S:erlang()):unalias(Alias),
                Echo = (S:erlang()):spawn(b(), ?F, echo, []),
                S:send(Echo, {Alias, 1}),
                S:send(Echo, {S:own(), last}),
                receive last -> {mailbox(), (S:erlang()):unalias(Alias)} end
            end},
            {"erlang:monitor/3", "with a tag", ok, fun(S) ->
                {Name, Reference} = fixture(process),
                Monitor = (S:erlang()):monitor(process, Reference, [{tag, {gone, 1}}]),
                ok = established(S),
                _ = S:send(Name, {stop, oops}),
                receive {Tag, Monitor, process, _, Why} -> {Tag, Why} end
            end},
            {"erlang:monitor/3", "with a tag, of an absent name", error, fun(S) ->
                Monitor = (S:erlang()):monitor(process, {absent, b()}, [{tag, gone}]),
                receive {Tag, Monitor, process, _, Why} -> {Tag, Why} end
            end},
            {"erlang:monitor/3", "with an alias, no reply", error, fun(S) ->
                {Name, Reference} = fixture(process),
                Monitor = (S:erlang()):monitor(process, Reference, [{alias, reply_demonitor}]),
                ok = established(S),
                _ = S:send(Name, {stop, oops}),
                receive {'DOWN', Monitor, process, _, Why} -> Why end
            end}
        ].

losses() ->
    [
        {"erlang:spawn_link/4", "the node is killed", loss, fun(S, Node, Ready) ->
            false = process_flag(trap_exit, true),
            Pid = (S:erlang()):spawn_link(Node, ?F, inform, [S:own(), ready, wait]),
            receive ready -> Ready() end,
            receive {'EXIT', From, Why} -> {From =:= Pid, Why} end
        end},
        {"erlang:spawn_monitor/4", "the node is killed", loss, fun(S, Node, Ready) ->
            {_, Monitor} = (S:erlang()):spawn_monitor(Node, ?F, inform, [S:own(), ready, wait]),
            receive ready -> Ready() end,
            receive {'DOWN', Monitor, process, _, Why} -> Why end
        end}
    ].

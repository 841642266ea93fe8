%%% Cases: names for processes of all nodes.
-module(comparison_global).

-export([cases/0]).

-import(comparison_run, [b/0, c/0, mailbox/0]).

cases() ->
    [
        {Call, Title, Kind, fun(S) ->
            Run(S, S:global(), {name, Call, Title})
        end}
     || {Call, Title, Kind, Run} <- given() ++ refused() ++ freed() ++ elsewhere() ++ via()
    ] ++ losses().

given() ->
    [
        {"global:register_name/2", "its value, and the process", ok, fun(_S, Global, Name) ->
            {Global:register_name(Name, self()), Global:whereis_name(Name) =:= self()}
        end},
        {"global:register_name/2", "a second name", ok, fun(_S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            {Global:register_name({second, Name}, self()), Global:whereis_name(Name) =:= self()}
        end},
        {"global:register_name/3", "with a method of its own", ok, fun(_S, Global, Name) ->
            Global:register_name(Name, self(), fun(_, One, _) -> One end)
        end},
        {"global:register_name/3", "with methods of the module", ok, fun(_S, Global, Name) ->
            [
                Global:register_name({Name, Method}, waiting(), fun Global:Method/3)
             || Method <- [random_exit_name, random_notify_name, notify_all_name]
            ]
        end},
        {"global:registered_names/0", "a name", ok, fun(_S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            lists:member(Name, Global:registered_names())
        end},
        {"global:send/2", "a message, and its value", ok, fun(_S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            {Global:send(Name, hello) =:= self(), receive hello -> mailbox() end}
        end},
        {"global:re_register_name/2", "of a name that is free", ok, fun(_S, Global, Name) ->
            {Global:re_register_name(Name, self()), Global:whereis_name(Name) =:= self()}
        end},
        {"global:re_register_name/2", "of a name that is taken", ok, fun(_S, Global, Name) ->
            Other = waiting(),
            yes = Global:register_name(Name, Other),
            {
                Global:re_register_name(Name, self()),
                Global:whereis_name(Name) =:= self(),
                is_process_alive(Other)
            }
        end}
    ].

refused() ->
    [
        {"global:register_name/2", "of a name that is taken", error, fun(_S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            {Global:register_name(Name, waiting()), Global:whereis_name(Name) =:= self()}
        end},
        {"global:register_name/2", "twice by the same process", error, fun(_S, Global, Name) ->
            [Global:register_name(Name, self()) || _ <- [1, 2]]
        end},
        {"global:register_name/2", "three at a time", error, fun(_S, Global, Name) ->
            Caller = self(),
            _ = [
                spawn_link(fun() ->
                    Caller ! {answer, Global:register_name(Name, self())},
                    receive never -> ok end
                end)
             || _ <- [1, 2, 3]
            ],
            lists:sort([receive {answer, Answer} -> Answer end || _ <- [1, 2, 3]])
        end},
        {"global:register_name/2", "of no process, which is no target", error,
            fun(_S, Global, Name) -> Global:register_name(Name, process) end},
        {"global:register_name/3", "with a method that is none", error, fun(_S, Global, Name) ->
            Global:register_name(Name, self(), method)
        end},
        {"global:re_register_name/2", "of no process, which is no target", error,
            fun(_S, Global, Name) -> Global:re_register_name(Name, process) end},
        {"global:whereis_name/1", "of an absent name", error, fun(_S, Global, Name) ->
            Global:whereis_name(Name)
        end},
        {"global:send/2", "to an absent name", error, fun(_S, Global, Name) ->
            Global:send(Name, hello)
        end},
        {"global:unregister_name/1", "of an absent name", error, fun(_S, Global, Name) ->
            Global:unregister_name(Name)
        end},
        {"global:registered_names/0", "not an absent name", error, fun(_S, Global, Name) ->
            lists:member(Name, Global:registered_names())
        end}
    ].

freed() ->
    [
        {"global:unregister_name/1", "its value, and no process", ok, fun(_S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            {Global:unregister_name(Name), Global:whereis_name(Name)}
        end},
        {"global:unregister_name/1", "twice", error, fun(_S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            [Global:unregister_name(Name) || _ <- [1, 2]]
        end},
        {"global:send/2", "to a name that has been unregistered", error, fun(_S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            _ = Global:unregister_name(Name),
            Global:send(Name, hello)
        end},
        {"global:register_name/2", "again after the end of its process", error,
            fun(_S, Global, Name) ->
                Pid = waiting(),
                yes = Global:register_name(Name, Pid),
                exit(Pid, kill),
                ok = until(fun() -> Global:register_name(Name, self()) =:= yes end)
            end},
        {"global:whereis_name/1", "of a process that has ended", error, fun(_S, Global, Name) ->
            Pid = waiting(),
            yes = Global:register_name(Name, Pid),
            exit(Pid, kill),
            until(fun() -> Global:whereis_name(Name) =:= undefined end)
        end}
    ].

elsewhere() ->
    [
        {"global:whereis_name/1", "of a process of another node", ok, fun(S, Global, Name) ->
            _ = named(S, b(), process, Name),
            Global:whereis_name(Name)
        end},
        {"global:whereis_name/1", "on another node", ok, fun(S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            until(fun() -> S:call({fixture, b()}, {whereis, Name}, 60000) =/= undefined end)
        end},
        {"global:send/2", "to a process of another node", ok, fun(S, Global, Name) ->
            _ = named(S, b(), process, Name),
            _ = Global:send(Name, hello),
            _ = Global:send(Name, {seen, S:own(), tag}),
            {receive {tag, Seen} -> Seen end, Global:send(Name, hello)}
        end},
        {"global:registered_names/0", "of two other nodes", ok, fun(S, Global, Name) ->
            _ = named(S, b(), process, Name),
            _ = named(S, c(), process, {c, Name}),
            [lists:member(N, Global:registered_names()) || N <- [Name, {c, Name}]]
        end},
        {"global:unregister_name/1", "of a process of another node", ok, fun(S, Global, Name) ->
            _ = named(S, b(), process, Name),
            Unregistered = Global:unregister_name(Name),
            ok = until(fun() -> S:call({fixture, b()}, {whereis, Name}, 60000) =:= undefined end),
            {Unregistered, Global:whereis_name(Name)}
        end},
        {"global:re_register_name/2", "of a name of another node", ok, fun(S, Global, Name) ->
            _ = named(S, b(), process, Name),
            {Global:re_register_name(Name, self()), Global:whereis_name(Name) =:= self()}
        end},
        {"global:register_name/2", "of a name of another node", error, fun(S, Global, Name) ->
            _ = named(S, b(), process, Name),
            {Global:register_name(Name, self()), Global:whereis_name(Name)}
        end},
        {"global:register_name/2", "of a process of another node", error, fun(_S, Global, Name) ->
            {_, Reference} = comparison_run:fixture(process),
            Global:register_name(Name, Reference)
        end},
        {"global:whereis_name/1", "of a process of another node that ends", error,
            fun(S, Global, Name) ->
                Target = named(S, b(), process, Name),
                _ = S:send(Target, {stop, oops}),
                until(fun() -> Global:whereis_name(Name) =:= undefined end)
            end}
    ].

via() ->
    [
        {"gen_server:start/4", "with a global name", ok, fun(S, _Global, Name) ->
            {ok, Pid} = gen_server:start(via(S, Name), comparison_server, [], []),
            {is_pid(Pid), gen_server:call(via(S, Name), {echo, hello})}
        end},
        {"gen_server:start/4", "with a global name that is taken", error, fun(S, Global, Name) ->
            yes = Global:register_name(Name, self()),
            gen_server:start(via(S, Name), comparison_server, [], [])
        end},
        {"gen_server:start/4", "with a global name of another node", error, fun(S, _G, Name) ->
            _ = named(S, b(), server, Name),
            gen_server:start(via(S, Name), comparison_server, [], [])
        end},
        {"gen_statem:start/4", "with a global name", ok, fun(S, _Global, Name) ->
            {ok, Pid} = gen_statem:start(via(S, Name), comparison_statem, [], []),
            is_pid(Pid)
        end},
        {"supervisor:start_link/3", "with a global name, twice", error, fun(S, _Global, Name) ->
            Start = fun() -> supervisor:start_link(via(S, Name), comparison_supervisor, []) end,
            {ok, _} = Start(),
            Start()
        end},
        {"gen_server:call/3", "by a global name", ok, fun(S, _Global, Name) ->
            _ = named(S, b(), server, Name),
            gen_server:call(via(S, Name), {echo, hello}, 60000)
        end},
        {"gen_server:cast/2", "by a global name", ok, fun(S, _Global, Name) ->
            _ = named(S, b(), process, Name),
            _ = gen_server:cast(via(S, Name), hello),
            _ = (S:global()):send(Name, {seen, S:own(), tag}),
            receive {tag, Seen} -> Seen end
        end},
        {"gen_server:call/3", "by an absent global name", error, fun(S, _Global, Name) ->
            gen_server:call(via(S, Name), hello, 60000)
        end},
        {"gen_server:cast/2", "by an absent global name", error, fun(S, _Global, Name) ->
            gen_server:cast(via(S, Name), hello)
        end},
        {"gen_server:call/3", "by a global name: the server stops", error, fun(S, _G, Name) ->
            _ = named(S, b(), server, Name),
            gen_server:call(via(S, Name), {stop, oops}, 60000)
        end},
        {"gen_server:call/3", "by a global name: not answered in time", error, fun(S, _G, Name) ->
            _ = named(S, b(), server, Name),
            gen_server:call(via(S, Name), keep, 50)
        end}
    ].

losses() ->
    [
        {Call, Title, loss, fun(S, Node, Ready) ->
            Name = {name, Call, Title},
            _ = named(S, Node, process, Name),
            Ready(),
            Run(S, Name)
        end}
     || {Call, Title, Run} <- [
            {"global:whereis_name/1", "the node of the process is killed", fun(S, Name) ->
                until(fun() -> (S:global()):whereis_name(Name) =:= undefined end)
            end},
            {"global:register_name/2", "again after its node has been killed", fun(S, Name) ->
                until(fun() -> (S:global()):register_name(Name, self()) =:= yes end)
            end},
            {"gen_server:call/3", "by a global name whose node has been killed", fun(S, Name) ->
                ok = until(fun() -> (S:global()):whereis_name(Name) =:= undefined end),
                gen_server:call(via(S, Name), hello, 60000)
            end}
        ]
    ].

%% A process of this kind with a name, on a node, once the name is known here.
named(S, Node, Kind, Name) ->
    Target = S:call({fixture, Node}, {named, Kind, Name}, 60000),
    ok = until(fun() -> (S:global()):whereis_name(Name) =/= undefined end),
    Target.

via(S, Name) ->
    {via, S:global(), Name}.

waiting() ->
    spawn(fun() -> receive never -> ok end end).

until(Condition) ->
    case Condition() of
        true -> ok;
        false -> receive after 20 -> until(Condition) end
    end.

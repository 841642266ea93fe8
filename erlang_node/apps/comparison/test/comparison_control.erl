%%% Cases: control of processes on other nodes, which allow it: system messages, ends, handlers.
-module(comparison_control).

-export([cases/0]).

-import(comparison_run, [b/0, fixture/1, fixture/2, mailbox/0, ended/2]).

-define(F, comparison_functions).

cases() ->
    stops() ++ states() ++ settings() ++ unreached() ++ handlers() ++ events() ++ losses().

stops() ->
    [
        {lists:concat([Module, ":stop/3"]), Title, Kind, fun(S) ->
            {Name, Reference} = fixture(Fixture),
            Monitor = S:monitor(process, Reference),
            ok = comparison_monitors:established(S),
            Stopped = Module:stop(S:via(Name), Reason, 60000),
            receive {'DOWN', Monitor, process, _, Why} -> {Stopped, Why, mailbox()} end
        end}
     || {Module, Fixture} <- [{gen_server, server}, {gen_statem, statem}, {gen_event, event}],
        {Title, Kind, Reason} <- [
            {"normally", ok, normal},
            {"with a reason", error, {shutdown, enough}},
            {"with another reason", error, oops}
        ]
    ].

states() ->
    [
        {"sys:get_state/2", "of a " ++ Title, ok, fun(S) ->
            {Name, _} = fixture(Fixture),
            sys:get_state(S:via(Name), 60000)
        end}
     || {Title, Fixture} <- [
            {"server", server}, {"state machine", statem}, {"manager of events", event}
        ]
    ] ++
        [
            {"sys:replace_state/3", Title, Kind, fun(S) ->
                {Name, _} = fixture(server),
                sys:replace_state(S:via(Name), Fun, 60000)
            end}
         || {Title, Kind, Fun} <- [
                {"of a server", ok, ?F:same()},
                {"by a function of OTP", error, fun erlang:tuple_to_list/1},
                {"by a function of a module that is not allowed", error, fun(State) -> State end}
            ]
        ] ++
        [
            {"sys:get_status/2", "of a server", ok, fun(S) ->
                {Name, _} = fixture(server),
                {status, _, {module, Module}, _} = sys:get_status(S:via(Name), 60000),
                Module
            end},
            {"sys:get_state/2", "of a server that is suspended", ok, fun(S) ->
                {Name, _} = fixture(server),
                ok = sys:suspend(S:via(Name), 60000),
                {sys:get_state(S:via(Name), 60000), sys:resume(S:via(Name), 60000)}
            end},
            {"sys:suspend/2", "no call is answered", error, fun(S) ->
                {Name, _} = fixture(server),
                ok = sys:suspend(S:via(Name), 60000),
                S:call(Name, {echo, hello}, 50)
            end},
            {"sys:resume/2", "calls are answered again", ok, fun(S) ->
                {Name, _} = fixture(server),
                ok = sys:suspend(S:via(Name), 60000),
                ok = sys:resume(S:via(Name), 60000),
                {S:call(Name, {echo, hello}, 60000), mailbox()}
            end}
        ].

settings() ->
    [
        {"sys:statistics/3", "the messages of a server", ok, fun(S) ->
            {Name, _} = fixture(server),
            ok = sys:statistics(S:via(Name), true, 60000),
            hello = S:call(Name, {echo, hello}, 60000),
            {ok, Statistics} = sys:statistics(S:via(Name), get, 60000),
            lists:keyfind(messages_in, 1, Statistics)
        end},
        {"sys:log/3", "the events of a server", ok, fun(S) ->
            {Name, _} = fixture(server),
            ok = sys:log(S:via(Name), true, 60000),
            hello = S:call(Name, {echo, hello}, 60000),
            {ok, Events} = sys:log(S:via(Name), get, 60000),
            length(Events)
        end},
        {"sys:no_debug/2", "of a server", ok, fun(S) ->
            {Name, _} = fixture(server),
            ok = sys:statistics(S:via(Name), true, 60000),
            {sys:no_debug(S:via(Name), 60000), sys:statistics(S:via(Name), get, 60000)}
        end},
        {"sys:install/3", "a function of a module that is not allowed", error, fun(S) ->
            {Name, _} = fixture(server),
            Ignore = fun(State, _Event, _ProcState) -> State end,
            sys:install(S:via(Name), {Ignore, none}, 60000)
        end}
    ].

unreached() ->
    [
        {Call, Title, error, fun(S) -> Function(S, Target(S)) end}
     || {Call, Function} <- [
            {"sys:get_state/2", fun(S, Name) -> sys:get_state(S:via(Name), 60000) end},
            {"gen_server:stop/3", fun(S, Name) -> gen_server:stop(S:via(Name), normal, 60000) end},
            {"gen_event:add_handler/3", fun(S, Name) ->
                gen_event:add_handler(S:via(Name), comparison_handler, [])
            end},
            {"gen_event:which_handlers/1", fun(S, Name) ->
                gen_event:which_handlers(S:via(Name))
            end}
        ],
        {Title, Target} <- [
            {"of an absent name", fun(_S) -> {absent, b()} end},
            {"of a process that has ended", fun(S) ->
                {_, Reference} = Process = fixture(process),
                ok = ended(S, Process),
                Reference
            end}
        ]
    ] ++
        [
            {"sys:get_state/2", "not answered in time", error, fun(S) ->
                {Name, _} = fixture(process),
                sys:get_state(S:via(Name), 50)
            end},
            {"gen_server:stop/3", "of a process that does not answer", error, fun(S) ->
                {Name, _} = fixture(process),
                {comparison_outcome:of_call(fun() ->
                    gen_server:stop(S:via(Name), normal, 50)
                end), mailbox()}
            end}
        ].

handlers() ->
    [
        {"gen_event:add_handler/3", "to a manager", ok, fun(S) ->
            {Name, _} = fixture(event),
            Added = gen_event:add_handler(S:via(Name), {comparison_handler, two}, []),
            {Added, lists:sort(gen_event:which_handlers(S:via(Name)))}
        end},
        {"gen_event:add_handler/3", "one that is there already", error, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:add_handler(S:via(Name), comparison_handler, [])
        end},
        {"gen_event:add_handler/3", "of a module that is not allowed", error, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:add_handler(S:via(Name), no_such_module, [])
        end},
        {"gen_event:delete_handler/3", "of a manager", ok, fun(S) ->
            {Name, _} = fixture(event),
            Seen = gen_event:delete_handler(S:via(Name), comparison_handler, []),
            {Seen, gen_event:which_handlers(S:via(Name))}
        end},
        {"gen_event:delete_handler/3", "that is not there", error, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:delete_handler(S:via(Name), no_such_module, [])
        end},
        {"gen_event:swap_handler/3", "of a manager", ok, fun(S) ->
            {Name, _} = fixture(event),
            Old = {comparison_handler, []},
            Swapped = gen_event:swap_handler(S:via(Name), Old, {{comparison_handler, new}, []}),
            {Swapped, gen_event:which_handlers(S:via(Name))}
        end},
        {"gen_event:add_sup_handler/3", "supervised by the caller", error, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:add_sup_handler(S:via(Name), {comparison_handler, two}, [])
        end}
    ].

events() ->
    [
        {"gen_event:send_request/3", "answered", ok, fun(S) ->
            {Name, _} = fixture(event),
            Id = gen_event:send_request(S:via(Name), comparison_handler, {echo, hello}),
            {gen_event:receive_response(Id, 60000), mailbox()}
        end},
        {"gen_event:send_request/3", "of no handler of the manager", error, fun(S) ->
            {Name, _} = fixture(event),
            Id = gen_event:send_request(S:via(Name), lists, hello),
            gen_event:receive_response(Id, 60000)
        end},
        {"gen_event:sync_notify/2", "a handler that fails is removed", error, fun(S) ->
            {Name, _} = fixture(event),
            Notified = gen_event:sync_notify(S:via(Name), {error, oops}),
            {Notified, gen_event:which_handlers(S:via(Name))}
        end},
        {"gen_event:call/4", "not answered in time", error, fun(S) ->
            {Name, _} = fixture(process),
            {comparison_outcome:of_call(fun() ->
                gen_event:call(S:via(Name), comparison_handler, seen, 50)
            end), mailbox()}
        end}
    ].

losses() ->
    [
        {"sys:get_state/2", "the node is killed", loss, fun(S, Node, Ready) ->
            {Name, _} = fixture(process, Node),
            Ready(),
            sys:get_state(S:via(Name), infinity)
        end},
        {"gen_event:call/4", "the node is killed", loss, fun(S, Node, Ready) ->
            {Name, _} = fixture(event, Node),
            Ready(),
            gen_event:call(S:via(Name), comparison_handler, wait, infinity)
        end}
    ].

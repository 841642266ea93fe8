%%% Cases: state machines, event managers and servers that OTP's functions reach elsewhere.
-module(comparison_behaviours).

-export([cases/0]).

-import(comparison_run, [b/0, fixture/1, fixture/2, mailbox/0]).

cases() ->
    statem() ++ event() ++ registration().

statem() ->
    [
        {"gen_statem:call/3", Title, Kind, fun(S) ->
            {Name, _} = fixture(statem),
            gen_statem:call(S:via(Name), Request, Timeout)
        end}
     || {Title, Kind, Request, Timeout} <- [
            {"answered", ok, {echo, hello}, 60000},
            {"answered, with a clean timeout", ok, {echo, hello}, {clean_timeout, 60000}},
            {"answered, with a dirty timeout", ok, {echo, hello}, {dirty_timeout, 60000}},
            {"answered without a timeout", ok, {echo, hello}, infinity},
            {"changes the state", ok, {go, open}, 60000},
            {"stops and answers", ok, {stop, normal, done}, 60000},
            {"not answered in time", error, keep, 50},
            {"not answered in time, clean", error, keep, {clean_timeout, 50}},
            {"postponed for ever", error, enter, 50},
            {"stops normally", error, {stop, normal}, 60000},
            {"stops with a reason", error, {stop, oops}, 60000},
            {"stops with a shutdown", error, {stop, {shutdown, enough}}, 60000},
            {"fails", error, {error, oops}, 60000},
            {"is killed", error, kill, 60000}
        ]
    ] ++
        [
            {"gen_statem:call/3", "postponed until another call", ok, fun(S) ->
                {Name, _} = fixture(statem),
                Id = gen_statem:send_request(S:via(Name), enter),
                Go = gen_statem:call(S:via(Name), {go, open}, 60000),
                {Go, gen_statem:receive_response(Id, 60000)}
            end},
            {"gen_statem:call/3", "of an absent name", error, fun(S) ->
                gen_statem:call(S:via({absent, b()}), hello, 60000)
            end},
            {"gen_statem:call/3", "of one that has ended", error, fun(S) ->
                {_, Reference} = Machine = fixture(statem),
                Monitor = S:monitor(process, Reference),
                _ = comparison_outcome:of_call(fun() ->
                    gen_statem:call(S:via(element(1, Machine)), {stop, normal}, 60000)
                end),
                receive {'DOWN', Monitor, process, _, _} -> ok end,
                gen_statem:call(S:via(Reference), hello, 60000)
            end},
            {"gen_statem:call/3", "of the own node", ok, fun(S) ->
                {Name, _} = fixture(statem, S:own_node()),
                gen_statem:call(S:via(Name), {echo, hello}, 60000)
            end},
            {"gen_statem:cast/2", "changes the state", ok, fun(S) ->
                {Name, _} = fixture(statem),
                Cast = gen_statem:cast(S:via(Name), {go, open}),
                {Cast, gen_statem:call(S:via(Name), state, 60000)}
            end},
            {"gen_statem:cast/2", "100 arrive in order", ok, fun(S) ->
                {Name, _} = fixture(statem),
                _ = [gen_statem:cast(S:via(Name), N) || N <- lists:seq(1, 100)],
                gen_statem:call(S:via(Name), seen, 60000)
            end},
            {"gen_statem:cast/2", "to an absent name", error, fun(S) ->
                gen_statem:cast(S:via({absent, b()}), hello)
            end},
            {"gen_statem:send_request/2", "answered", ok, fun(S) ->
                {Name, _} = fixture(statem),
                Id = gen_statem:send_request(S:via(Name), {echo, hello}),
                {gen_statem:receive_response(Id, 60000), mailbox()}
            end},
            {"gen_statem:send_request/2", "the machine stops", error, fun(S) ->
                {Name, _} = fixture(statem),
                Id = gen_statem:send_request(S:via(Name), {stop, oops}),
                gen_statem:receive_response(Id, 60000)
            end},
            {"gen_statem:send_request/2", "not answered in time", error, fun(S) ->
                {Name, _} = fixture(statem),
                gen_statem:receive_response(gen_statem:send_request(S:via(Name), keep), 50)
            end}
        ].

event() ->
    [
        {"gen_event:notify/2", "arrives", ok, fun(S) ->
            {Name, _} = fixture(event),
            Sent = gen_event:notify(S:via(Name), hello),
            {Sent, seen_there(S, Name, 1)}
        end},
        {"gen_event:notify/2", "100 arrive in order", ok, fun(S) ->
            {Name, _} = fixture(event),
            _ = [gen_event:notify(S:via(Name), N) || N <- lists:seq(1, 100)],
            seen_there(S, Name, 100)
        end},
        {"gen_event:notify/2", "to an absent name", error, fun(S) ->
            gen_event:notify(S:via({absent, b()}), hello)
        end},
        {"gen_event:sync_notify/2", "arrives", ok, fun(S) ->
            {Name, _} = fixture(event),
            {gen_event:sync_notify(S:via(Name), hello), seen_there(S, Name, 1)}
        end},
        {"gen_event:sync_notify/2", "to an absent name", error, fun(S) ->
            gen_event:sync_notify(S:via({absent, b()}), hello)
        end},
        {"gen_event:call/4", "of a handler", ok, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:call(S:via(Name), comparison_handler, {echo, hello}, 60000)
        end},
        {"gen_event:call/4", "a handler that is removed by it", ok, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:call(S:via(Name), comparison_handler, remove, 60000)
        end},
        {"gen_event:call/4", "of no handler of the manager", error, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:call(S:via(Name), lists, hello, 60000)
        end},
        {"gen_event:call/4", "the handler fails", error, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:call(S:via(Name), comparison_handler, {error, oops}, 60000)
        end},
        {"gen_event:call/4", "the manager is killed", error, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:call(S:via(Name), comparison_handler, kill, 60000)
        end},
        {"gen_event:call/4", "of an absent name", error, fun(S) ->
            gen_event:call(S:via({absent, b()}), comparison_handler, hello, 60000)
        end},
        {"gen_event:which_handlers/1", "of a manager", ok, fun(S) ->
            {Name, _} = fixture(event),
            gen_event:which_handlers(S:via(Name))
        end}
    ].

%% Names that are registered on their own node.
registration() ->
    [
        {"gen_server:start/4", "under a name of the own node", ok, fun(S) ->
            {ok, Pid} = S:start_server(registered_1),
            Answer = S:call({registered_1, S:own_node()}, {echo, hello}, 60000),
            ok = gen_server:stop(Pid),
            Answer
        end},
        {"gen_server:start/4", "under a name that is taken", error, fun(S) ->
            {ok, Pid} = S:start_server(registered_2),
            {error, {already_started, Other}} = S:start_server(registered_2),
            ok = gen_server:stop(Pid),
            Other =:= Pid
        end},
        {"gen_server:start/4", "under a name that has become free", ok, fun(S) ->
            {ok, Pid} = S:start_server(registered_3),
            ok = gen_server:stop(Pid),
            {ok, Next} = S:start_server(registered_3),
            ok = gen_server:stop(Next)
        end}
    ].

%% What the handler of a manager has received, once it has received that many; asked by a reference
%% to nothing but the manager.
seen_there(S, Name, Count) ->
    case gen_event:call(S:via(Name), comparison_handler, seen, 60000) of
        Seen when length(Seen) >= Count -> Seen;
        _ -> seen_there(S, Name, Count)
    end.

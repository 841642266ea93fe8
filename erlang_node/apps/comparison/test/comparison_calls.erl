%%% Cases: calls and casts of generic servers, by the system's own functions and by OTP's.
-module(comparison_calls).

-export([cases/0]).

-import(comparison_run, [b/0, c/0, absent/0, fixture/1, fixture/2, mailbox/0, ended/2]).

cases() ->
    [
        {Function, Title ++ Suffix, Kind, fun(S) -> Run(S, Way) end}
     || {Function, Suffix, Way} <- [
            {"gen_server:call/3", "", fun(S, T, R, Ms) -> S:call(T, R, Ms) end},
            {"gen_server:call/3", ", by a via name", fun(S, T, R, Ms) ->
                gen_server:call(S:via(T), R, Ms)
            end}
        ],
        {Title, Kind, Run} <- calls()
    ] ++ casts() ++ requests().

calls() ->
    answered() ++ ends() ++ unanswered().

answered() ->
    [
        {"answered", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            Call(S, Name, {echo, hello}, 60000)
        end},
        {"answered, by reference", ok, fun(S, Call) ->
            {_, Reference} = fixture(server),
            Call(S, Reference, {echo, hello}, 60000)
        end},
        {"without a timeout", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            Call(S, Name, {echo, hello}, infinity)
        end},
        {"of the own node", ok, fun(S, Call) ->
            {Name, _} = fixture(server, S:own_node()),
            Call(S, Name, {echo, hello}, 60000)
        end},
        {"of a third node", ok, fun(S, Call) ->
            {Name, _} = fixture(server, c()),
            Call(S, Name, {echo, hello}, 60000)
        end},
        {"answered by another process", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            Call(S, Name, {by_another, hello}, 60000)
        end},
        {"answered before the server has returned", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            Call(S, Name, {early, hello}, 60000)
        end},
        {"answered again later: the second answer is dropped", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            First = Call(S, Name, {early, first}, 60000),
            ok = Call(S, Name, {release, second}, 60000),
            {First, Call(S, Name, {echo, next}, 60000), mailbox()}
        end},
        {"answered after other calls", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            Caller = self(),
            Kept = spawn_link(fun() -> Caller ! {self(), Call(S, Name, keep, 60000)} end),
            ok = kept(S, Name),
            Echo = Call(S, Name, {echo, hello}, 60000),
            ok = Call(S, Name, {release, late}, 60000),
            {Echo, receive {Kept, Answer} -> Answer end}
        end},
        {"ten at a time", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            Caller = self(),
            Pids = [
                spawn_link(fun() -> Caller ! {self(), Call(S, Name, {echo, N}, 60000)} end)
             || N <- lists:seq(1, 10)
            ],
            [receive {Pid, Answer} -> Answer end || Pid <- Pids]
        end},
        {"a hundred in turn", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            lists:sum([Call(S, Name, {echo, N}, 60000) || N <- lists:seq(1, 100)])
        end},
        {"the server stops with an answer", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            Call(S, Name, {stop, normal, done}, 60000)
        end},
        {"nothing is left in the mailbox", ok, fun(S, Call) ->
            {Name, _} = fixture(server),
            _ = Call(S, Name, {echo, hello}, 60000),
            mailbox()
        end}
    ].

%% The server ends during the call.
ends() ->
    [
        {"the server " ++ Title, error, fun(S, Call) ->
            {Name, _} = fixture(server),
            Call(S, Name, Request, 60000)
        end}
     || {Title, Request} <- [
            {"stops normally", {stop, normal}},
            {"shuts down", {stop, shutdown}},
            {"stops with a shutdown and a reason", {stop, {shutdown, enough}}},
            {"stops with a reason", {stop, oops}},
            {"stops with a reason that is a tuple", {stop, {oops, [1, 2]}}},
            {"stops with an answer that is not taken back", {stop, oops, done}},
            {"fails", {error, oops}},
            {"exits", {exit, oops}},
            {"exits normally", {exit, normal}},
            {"throws, which is a bad return value", {throw, oops}},
            {"returns a bad value", {return, oops}},
            {"has no clause for the request", no_clause},
            {"is killed", kill}
        ]
    ] ++
        [
            {"the server ends while another process is to answer", error, fun(S, Call) ->
                {Name, Reference} = fixture(server),
                Caller = self(),
                Waiting = spawn_link(fun() ->
                    Caller ! {self(), comparison_outcome:of_call(fun() ->
                        Call(S, Name, keep, 60000)
                    end)}
                end),
                ok = kept(S, Name),
                _ = S:cast(Reference, {stop, oops}),
                receive {Waiting, Outcome} -> Outcome end
            end},
            {"a process that is no server ends during it", error, fun(S, Call) ->
                {Name, _} = fixture(process),
                Caller = self(),
                Waiting = spawn_link(fun() ->
                    Caller ! {self(), comparison_outcome:of_call(fun() ->
                        Call(S, Name, request, 60000)
                    end)}
                end),
                ok = received(S, Name),
                _ = S:send(Name, {stop, oops}),
                receive {Waiting, Outcome} -> Outcome end
            end},
            {"the caller survives it, with an empty mailbox", error, fun(S, Call) ->
                {Name, _} = fixture(server),
                _ = comparison_outcome:of_call(fun() -> Call(S, Name, {stop, oops}, 60000) end),
                mailbox()
            end}
        ].

unanswered() ->
    [
        {"to an absent name", error, fun(S, Call) -> Call(S, {absent, b()}, hello, 60000) end},
        {"to an absent name of the own node", error, fun(S, Call) ->
            Call(S, {absent, S:own_node()}, hello, 60000)
        end},
        {"to an absent node", error, fun(S, Call) ->
            Call(S, {server, absent()}, hello, 60000)
        end},
        {"to a server that has ended", error, fun(S, Call) ->
            {Name, _} = Server = fixture(server),
            ok = ended(S, Server),
            Call(S, Name, hello, 60000)
        end},
        {"to a server that has ended, by reference", error, fun(S, Call) ->
            {_, Reference} = Server = fixture(server),
            ok = ended(S, Server),
            Call(S, Reference, hello, 60000)
        end},
        {"not answered in time", error, fun(S, Call) ->
            {Name, _} = fixture(server),
            Call(S, Name, keep, 50)
        end},
        {"not answered in no time", error, fun(S, Call) ->
            {Name, _} = fixture(server),
            Call(S, Name, keep, 0)
        end},
        {"of a process that is no server, not answered", error, fun(S, Call) ->
            {Name, _} = fixture(process),
            Call(S, Name, hello, 50)
        end},
        {"a late answer is not the answer to the next call", error, fun(S, Call) ->
            {Name, _} = fixture(server),
            First = comparison_outcome:of_call(fun() -> Call(S, Name, keep, 50) end),
            ok = kept(S, Name),
            ok = Call(S, Name, {release, late}, 60000),
            {First, Call(S, Name, {echo, next}, 60000), mailbox()}
        end},
        {"of the own process", error, fun(S, Call) -> Call(S, S:own(), hello, 50) end}
    ] ++
        [
            {"with the timeout " ++ Title, error, fun(S, Call) ->
                {Name, _} = fixture(server),
                Call(S, Name, {echo, hello}, Timeout)
            end}
         || {Title, Timeout} <- [{"never", never}, {"-1", -1}, {"1.5", 1.5}, {"2^32", 1 bsl 32}]
        ].

casts() ->
    [
        {"gen_server:cast/2", Title ++ Suffix, Kind, fun(S) -> Run(S, Way) end}
     || {Suffix, Way} <- [
            {"", fun(S, T, R) -> S:cast(T, R) end},
            {", by a via name", fun(S, T, R) -> gen_server:cast(S:via(T), R) end}
        ],
        {Title, Kind, Run} <- [
            {"arrives", ok, fun(S, Cast) ->
                {Name, _} = fixture(server),
                {Cast(S, Name, hello), S:call(Name, seen, 60000)}
            end},
            {"arrives, by reference", ok, fun(S, Cast) ->
                {Name, Reference} = fixture(server),
                {Cast(S, Reference, hello), S:call(Name, seen, 60000)}
            end},
            {"arrives on the own node", ok, fun(S, Cast) ->
                {Name, _} = fixture(server, S:own_node()),
                {Cast(S, Name, hello), S:call(Name, seen, 60000)}
            end},
            {"200 arrive in order", ok, fun(S, Cast) ->
                {Name, _} = fixture(server),
                _ = [Cast(S, Name, N) || N <- lists:seq(1, 200)],
                S:call(Name, seen, 60000)
            end},
            {"to an absent name", error, fun(S, Cast) -> Cast(S, {absent, b()}, hello) end},
            {"to an absent name of the own node", error, fun(S, Cast) ->
                Cast(S, {absent, S:own_node()}, hello)
            end},
            {"to a server that has ended", error, fun(S, Cast) ->
                {_, Reference} = Server = fixture(server),
                ok = ended(S, Server),
                Cast(S, Reference, hello)
            end},
            {"that ends the server", error, fun(S, Cast) ->
                {Name, Reference} = fixture(server),
                Monitor = S:monitor(process, Reference),
                ok = comparison_monitors:established(S),
                _ = Cast(S, Name, {stop, oops}),
                receive {'DOWN', Monitor, process, _, Reason} -> Reason end
            end}
        ]
    ].

%% OTP's functions for requests that are answered later.
requests() ->
    [
        {"gen_server:send_request/2", Title, Kind, fun(S) ->
            {Name, _} = fixture(server),
            Run(fun(Request) -> gen_server:send_request(S:via(Name), Request) end)
        end}
     || {Title, Kind, Run} <- [
            {"wait_response/2: answered", ok, fun(Send) ->
                gen_server:wait_response(Send({echo, hello}), 60000)
            end},
            {"receive_response/2: answered", ok, fun(Send) ->
                gen_server:receive_response(Send({echo, hello}), 60000)
            end},
            {"wait_response/2: answered, without a timeout", ok, fun(Send) ->
                gen_server:wait_response(Send({echo, hello}), infinity)
            end},
            {"wait_response/2: waited for again", ok, fun(Send) ->
                Id = Send(keep),
                First = gen_server:wait_response(Id, 50),
                {First, gen_server:wait_response(Id, 0)}
            end},
            {"receive_response/2: not answered in time", error, fun(Send) ->
                gen_server:receive_response(Send(keep), 50)
            end},
            {"receive_response/2: the server stops", error, fun(Send) ->
                gen_server:receive_response(Send({stop, oops}), 60000)
            end},
            {"receive_response/2: the server fails", error, fun(Send) ->
                gen_server:receive_response(Send({error, oops}), 60000)
            end},
            {"receive_response/2: the server is killed", error, fun(Send) ->
                gen_server:receive_response(Send(kill), 60000)
            end},
            {"check_response/2: of another message", error, fun(Send) ->
                gen_server:check_response(another, Send(keep))
            end},
            {"check_response/2: of the answer", ok, fun(Send) ->
                Id = Send({echo, hello}),
                receive Message -> gen_server:check_response(Message, Id) end
            end},
            {"three requests, answered in any order", ok, fun(Send) ->
                Ids = [Send({echo, N}) || N <- [1, 2, 3]],
                [gen_server:receive_response(Id, 60000) || Id <- lists:reverse(Ids)]
            end},
            {"nothing is left in the mailbox", ok, fun(Send) ->
                _ = gen_server:receive_response(Send({echo, hello}), 60000),
                mailbox()
            end}
        ]
    ] ++
        [
            {"gen_server:send_request/2", "to an absent name", error, fun(S) ->
                Id = gen_server:send_request(S:via({absent, b()}), hello),
                gen_server:receive_response(Id, 60000)
            end},
            {"gen_server:send_request/2", "to a server that has ended", error, fun(S) ->
                {_, Reference} = Server = fixture(server),
                ok = ended(S, Server),
                Id = gen_server:send_request(S:via(Reference), hello),
                gen_server:receive_response(Id, 60000)
            end},
            {"gen_server:send_request/4", "two in a collection", ok, fun(S) ->
                {Name, _} = fixture(server),
                One = gen_server:send_request(
                    S:via(Name), {echo, 1}, one, gen_server:reqids_new()
                ),
                Two = gen_server:send_request(S:via(Name), {echo, 2}, two, One),
                {First, L1, Rest} = gen_server:receive_response(Two, 60000, true),
                {Second, L2, _} = gen_server:receive_response(Rest, 60000, true),
                {gen_server:reqids_size(Two), lists:sort([{L1, First}, {L2, Second}])}
            end},
            {"gen_server:send_request/4", "an empty collection has no answers", error, fun(_S) ->
                gen_server:receive_response(gen_server:reqids_new(), 50, true)
            end}
        ].

%% Returns when the server keeps a call; its state shows that.
kept(S, Name) ->
    case S:call(Name, is_kept, 60000) of
        true -> ok;
        false -> kept(S, Name)
    end.

%% Returns when a process has received a message that it does not understand, as a call is.
received(S, Name) ->
    _ = S:send(Name, {seen, S:own(), received}),
    receive
        {received, [_ | _]} -> ok;
        {received, []} -> received(S, Name)
    end.

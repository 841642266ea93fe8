%%% Cases: processes spawned with options and by requests, and collections of requests.
-module(comparison_spawning).

-export([cases/0]).

-import(comparison_run, [b/0, c/0, absent/0, mailbox/0]).

-define(F, comparison_functions).

cases() ->
    options() ++ both() ++ requests() ++ abandoned() ++ collections() ++ losses().

options() ->
    [
        {"erlang:spawn_opt/5", Title, Kind, fun(S) ->
            _ = opt(S, b(), inform, [S:own(), hello], Options),
            receive hello -> ok end
        end}
     || {Title, Kind, Options} <- [
            {"no options", ok, []},
            {"a priority", ok, [{priority, low}]},
            {"sizes of the heap", ok, [{min_heap_size, 1000}, {min_bin_vheap_size, 50000}]},
            {"a limit of the heap, and messages off it", ok, [
                {max_heap_size, 1000000}, {message_queue_data, off_heap}
            ]},
            {"garbage collections", ok, [{fullsweep_after, 10}]},
            {"an option that does not exist", error, [none]},
            {"a priority that does not exist", error, [{priority, none}]},
            {"options that are no list", error, none},
            {"a monitor with an option that does not exist", error, [{monitor, [none]}]}
        ]
    ].

both() ->
    [
        {"erlang:spawn_opt/5", "linked and monitored, a process that " ++ Title, Kind, fun(S) ->
            false = process_flag(trap_exit, true),
            {Pid, Monitor} = opt(S, b(), Function, Arguments, [link, monitor]),
            Down = receive {'DOWN', Monitor, process, Object, Why} -> {Object =:= Pid, Why} end,
            Exit = receive {'EXIT', From, Reason} -> {From =:= Pid, Reason} end,
            {Down, Exit, mailbox()}
        end}
     || {Title, Kind, Function, Arguments} <- [
            {"ends normally", ok, value, [1]},
            {"ends with a reason", error, leave, [oops]},
            {"fails", error, fail, [oops]}
        ]
    ] ++
        [
            {"erlang:spawn_opt/5", "linked, a process that ends with a reason", error, fun(S) ->
                _ = opt(S, b(), leave, [oops], [link]),
                receive Message -> Message end
            end},
            {"erlang:spawn_opt/5", "linked and monitored, on an absent node", error, fun(S) ->
                false = process_flag(trap_exit, true),
                {Pid, Monitor} = opt(S, absent(), wait, [], [link, monitor]),
                Down = receive {'DOWN', Monitor, process, _, Why} -> Why end,
                {Down, receive {'EXIT', From, Reason} -> {From =:= Pid, Reason} end}
            end},
            {"erlang:spawn_opt/5", "on an absent node", error, fun(S) ->
                opt(S, absent(), wait, [], [{priority, low}])
            end},
            {"erlang:spawn_opt/5", "monitored with a tag", ok, fun(S) ->
                {_, Monitor} = opt(S, b(), value, [1], [{monitor, [{tag, gone}]}]),
                receive {Tag, Monitor, process, _, Why} -> {Tag, Why} end
            end},
            {"erlang:spawn_opt/5", "monitored, and no more after demonitor/1", ok, fun(S) ->
                {Pid, Monitor} = opt(S, b(), echo, [], [monitor, {priority, low}]),
                true = S:demonitor(Monitor),
                S:send(Pid, {S:own(), hello}),
                receive hello -> mailbox() end
            end},
            {"erlang:spawn_opt/5", "linked, and no more after unlink/1", ok, fun(S) ->
                Pid = opt(S, b(), echo, [], [link, {priority, low}]),
                true = (S:erlang()):unlink(Pid),
                S:send(Pid, {S:own(), hello}),
                receive hello -> mailbox() end
            end},
            {"erlang:spawn_opt/3", "linked and monitored", error, fun(S) ->
                false = process_flag(trap_exit, true),
                Fun = ?F:work(leave, [oops]),
                {Pid, Monitor} = (S:erlang()):spawn_opt(b(), Fun, [link, monitor]),
                Down = receive {'DOWN', Monitor, process, Pid, Why} -> Why end,
                {Down, receive {'EXIT', Pid, Reason} -> Reason end}
            end},
            {"erlang:spawn_opt/5", "on the own node", error, fun(S) ->
                {_, Monitor} = opt(S, S:own_node(), leave, [oops], [monitor]),
                receive {'DOWN', Monitor, process, _, Why} -> Why end
            end}
        ].

requests() ->
    [
        {"erlang:spawn_request/5", Title, Kind, fun(S) ->
            Reference = request(S, b(), Function, Arguments, Options),
            [reply(Message, Reference) || Message <- received(Count)]
        end}
     || {Title, Kind, Function, Arguments, Options, Count} <- [
            {"replied", ok, value, [1], [], 1},
            {"replied with a tag", ok, value, [1], [{reply_tag, {here, 1}}], 1},
            {"a reply to success only", ok, value, [1], [{reply, success_only}], 1},
            {"monitored: the reply, then the end", ok, value, [1], [monitor], 2},
            {"monitored, a process that fails", error, fail, [oops], [monitor], 2},
            {"no reply, monitored", ok, value, [1], [{reply, no}, monitor], 1},
            {"a reply to errors only, monitored", error, leave, [oops], [
                {reply, error_only}, monitor
            ], 1},
            {"a function that does not exist, monitored", error, none, [], [monitor], 2},
            {"an option that does not exist", error, value, [1], [none], 1},
            {"an option that does not exist, with a tag", error, value, [1], [
                none, {reply_tag, no}
            ], 1}
        ]
    ] ++
        [
            {"erlang:spawn_request/5", "on an absent node" ++ Title, error, fun(S) ->
                false = process_flag(trap_exit, true),
                Reference = request(S, absent(), wait, [], Options),
                {reply(hd(received(1)), Reference), mailbox()}
            end}
         || {Title, Options} <- [
                {"", []},
                {", linked", [link]},
                {", monitored", [monitor]},
                {", a reply to errors only", [{reply, error_only}]}
            ]
        ] ++
        [
            {"erlang:spawn_request/4", "what it does", ok, fun(S) ->
                Own = S:own(),
                Reference = (S:erlang()):spawn_request(b(), ?F, inform, [Own, hello]),
                receive hello -> ok end,
                {spawn_reply, Reference, ok, _} = hd(received(1)),
                mailbox()
            end},
            {"erlang:spawn_request/2", "what it does", ok, fun(S) ->
                Own = S:own(),
                _ = (S:erlang()):spawn_request(b(), ?F:work(inform, [Own, hello])),
                receive hello -> ok end
            end},
            {"erlang:spawn_request/3", "linked, a process that ends with a reason", error, fun(S) ->
                false = process_flag(trap_exit, true),
                Fun = ?F:work(leave, [oops]),
                Reference = (S:erlang()):spawn_request(b(), Fun, [link]),
                Pid = receive {spawn_reply, Reference, ok, Spawned} -> Spawned end,
                receive {'EXIT', From, Why} -> {From =:= Pid, Why, mailbox()} end
            end},
            {"erlang:spawn_request/5", "linked, without trapping exits", error, fun(S) ->
                _ = request(S, b(), leave, [oops], [link, {reply, no}]),
                receive Message -> Message end
            end},
            {"erlang:spawn_request/5", "options that are no list", error, fun(S) ->
                request(S, b(), value, [1], none)
            end}
        ].

abandoned() ->
    [
        {"erlang:spawn_request_abandon/1", "of a request that has ended", error, fun(S) ->
            Reference = request(S, b(), value, [1], []),
            receive {spawn_reply, Reference, ok, _} -> ok end,
            (S:erlang()):spawn_request_abandon(Reference)
        end},
        {"erlang:spawn_request_abandon/1", "no monitor and no reply afterwards", ok, fun(S) ->
            Abandon = fun(_Again) ->
                Reference = request(S, b(), value, [1], [monitor]),
                (S:erlang()):spawn_request_abandon(Reference)
            end,
            % It is under way, unless another node is very fast.
            true = lists:any(Abandon, lists:seq(1, 100)),
            receive {spawn_reply, _, error, Reason} -> Reason after 0 -> none end
        end},
        {"erlang:spawn_request_abandon/1", "of what is no reference", error, fun(S) ->
            (S:erlang()):spawn_request_abandon(none)
        end},
        {"erlang:spawn_request_abandon/1", "of another reference", error, fun(S) ->
            (S:erlang()):spawn_request_abandon(make_ref())
        end},
        {"erlang:spawn_request_abandon/1", "of a request of another process", error, fun(S) ->
            Caller = self(),
            _ = spawn(fun() -> Caller ! request(S, b(), value, [1], []) end),
            receive Reference -> (S:erlang()):spawn_request_abandon(Reference) end
        end}
    ].

collections() ->
    [
        {"erpc:receive_response/3", "two requests, in any order", ok, fun(S) ->
            Erpc = S:erpc(),
            {First, L1, Rest} = Erpc:receive_response(two(S), 60000, true),
            {Second, L2, Empty} = Erpc:receive_response(Rest, 60000, true),
            {lists:sort([{L1, First}, {L2, Second}]), Erpc:reqids_size(Empty)}
        end},
        {"erpc:receive_response/3", "the request stays", ok, fun(S) ->
            Erpc = S:erpc(),
            Collection = Erpc:send_request(b(), ?F, value, [1], one, Erpc:reqids_new()),
            {Result, Label, Rest} = Erpc:receive_response(Collection, infinity, false),
            {Result, Label, Erpc:reqids_size(Rest)}
        end},
        {"erpc:receive_response/3", "until a time", ok, fun(S) ->
            Until = {abs, erlang:monotonic_time(millisecond) + 60000},
            element(2, (S:erpc()):receive_response(two(S), Until, true)) =/= none
        end},
        {"erpc:receive_response/3", "of an empty collection", error, fun(S) ->
            (S:erpc()):receive_response((S:erpc()):reqids_new(), 50, true)
        end},
        {"erpc:receive_response/3", "not answered in time", error, fun(S) ->
            {comparison_outcome:of_call(fun() ->
                (S:erpc()):receive_response(waiting(S), 50, true)
            end), mailbox()}
        end},
        {"erpc:wait_response/3", "answered", ok, fun(S) ->
            Erpc = S:erpc(),
            Collection = Erpc:send_request(b(), ?F:work(value, [1]), one, Erpc:reqids_new()),
            {Response, Label, Rest} = Erpc:wait_response(Collection, 60000, true),
            {Response, Label, Erpc:reqids_size(Rest)}
        end},
        {"erpc:wait_response/3", "not answered yet", error, fun(S) ->
            (S:erpc()):wait_response(waiting(S), 50, true)
        end},
        {"erpc:wait_response/3", "not answered until a time that has passed", error, fun(S) ->
            Until = {abs, erlang:monotonic_time(millisecond) - 1},
            (S:erpc()):wait_response(waiting(S), Until, true)
        end},
        {"erpc:wait_response/3", "of an empty collection", error, fun(S) ->
            (S:erpc()):wait_response((S:erpc()):reqids_new(), 50, true)
        end},
        {"erpc:check_response/3", "of the answer", ok, fun(S) ->
            Erpc = S:erpc(),
            Collection = Erpc:send_request(b(), ?F, value, [1], one, Erpc:reqids_new()),
            receive
                Message ->
                    {Response, Label, Rest} = Erpc:check_response(Message, Collection, true),
                    {Response, Label, Erpc:reqids_size(Rest)}
            end
        end},
        {"erpc:check_response/3", "of another message", error, fun(S) ->
            (S:erpc()):check_response(another, waiting(S), true)
        end},
        {"erpc:check_response/3", "of an empty collection", error, fun(S) ->
            (S:erpc()):check_response(another, (S:erpc()):reqids_new(), true)
        end},
        {"erpc:reqids_add/3", "sizes and labels", ok, fun(S) ->
            Erpc = S:erpc(),
            Id = Erpc:send_request(b(), ?F, value, [1]),
            Collection = Erpc:reqids_add(Id, one, two(S)),
            Labels = [Label || {_, Label} <- Erpc:reqids_to_list(Collection)],
            {Erpc:reqids_size(Collection), lists:sort(Labels)}
        end},
        {"erpc:reqids_add/3", "a request that is in it already", error, fun(S) ->
            Erpc = S:erpc(),
            Id = Erpc:send_request(b(), ?F, value, [1]),
            Erpc:reqids_add(Id, two, Erpc:reqids_add(Id, one, Erpc:reqids_new()))
        end}
    ] ++
        [
            {"erpc:receive_response/3", "a function that " ++ Title, error, fun(S) ->
                Erpc = S:erpc(),
                Collection = Erpc:send_request(Node(), ?F, Name, [oops], one, Erpc:reqids_new()),
                failed(S, fun() -> Erpc:receive_response(Collection, 60000, true) end)
            end}
         || {Title, Name, Node} <- [
                {"fails", fail, fun() -> b() end},
                {"exits", leave, fun() -> b() end},
                {"throws", thrown, fun() -> b() end},
                {"does not exist", none, fun() -> b() end},
                {"is on an absent node", value, fun() -> absent() end}
            ]
        ].

losses() ->
    [
        {"erlang:spawn_opt/5", "the node is killed", loss, fun(S, Node, Ready) ->
            false = process_flag(trap_exit, true),
            Options = [link, monitor],
            {Pid, Monitor} = opt(S, Node, inform, [S:own(), ready, wait], Options),
            receive ready -> Ready() end,
            Down = receive {'DOWN', Monitor, process, _, Why} -> Why end,
            {Down, receive {'EXIT', From, Reason} -> {From =:= Pid, Reason} end}
        end},
        {"erlang:spawn_request/5", "the node is killed", loss, fun(S, Node, Ready) ->
            Monitor = request(S, Node, inform, [S:own(), ready, wait], [monitor, {reply, no}]),
            receive ready -> Ready() end,
            receive {'DOWN', Monitor, process, _, Why} -> Why end
        end}
    ].

opt(S, Node, Function, Arguments, Options) ->
    (S:erlang()):spawn_opt(Node, ?F, Function, Arguments, Options).

request(S, Node, Function, Arguments, Options) ->
    (S:erlang()):spawn_request(Node, ?F, Function, Arguments, Options).

%% The next messages, in order.
received(Count) ->
    [receive Message -> Message end || _ <- lists:seq(1, Count)].

%% A reply, or the notification of a monitor, without what differs from run to run.
reply({Tag, Reference, ok, _Process}, Reference) -> {Tag, ok};
reply({Tag, Reference, error, Reason}, Reference) -> {Tag, Reason};
reply({'DOWN', Reference, process, _, Reason}, Reference) -> {'DOWN', Reason}.

two(S) ->
    Erpc = S:erpc(),
    One = Erpc:send_request(b(), ?F, value, [1], one, Erpc:reqids_new()),
    Erpc:send_request(c(), ?F, value, [2], two, One).

waiting(S) ->
    (S:erpc()):send_request(b(), ?F, wait, [], one, (S:erpc()):reqids_new()).

%% The class and reason of a failure, with the size of the collection that is left.
failed(S, Fun) ->
    try
        Fun()
    catch
        Class:{Reason, Label, Rest} -> {Class, Reason, Label, (S:erpc()):reqids_size(Rest)}
    end.

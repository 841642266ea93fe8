%%% Cases: messages to processes.
-module(comparison_messages).

-export([cases/0]).

-import(comparison_run, [b/0, c/0, absent/0, fixture/1, fixture/2, ended/2]).

cases() ->
    arrivals() ++ terms() ++ no_receiver() ++ invalid() ++ options() ++ refused().

arrivals() ->
    [
        {"erlang:send/2", "to a name", ok, fun(S) ->
            {Name, _} = fixture(server),
            seen(S, Name, [hello])
        end},
        {"erlang:send/2", "to a reference", ok, fun(S) ->
            {_, Reference} = fixture(server),
            seen(S, Reference, [hello])
        end},
        {"erlang:send/2", "to a name of the own node", ok, fun(S) ->
            {Name, _} = fixture(server, S:own_node()),
            seen(S, Name, [hello])
        end},
        {"erlang:send/2", "to a name of the own node, without the node", ok, fun(S) ->
            {{Name, _}, _} = fixture(server, S:own_node()),
            seen(S, Name, [hello])
        end},
        {"gen_server:cast/2", "to a name of the own node, without the node", ok, fun(S) ->
            {{Name, _}, _} = fixture(server, S:own_node()),
            _ = S:cast(Name, hello),
            S:call(Name, seen, 60000)
        end},
        {"erlang:send/2", "to a reference of the own node", ok, fun(S) ->
            {_, Reference} = fixture(server, S:own_node()),
            seen(S, Reference, [hello])
        end},
        {"erlang:send/2", "to a third node", ok, fun(S) ->
            {Name, _} = fixture(server, c()),
            seen(S, Name, [hello])
        end},
        {"erlang:send/2", "to itself, by the reference to itself", ok, fun(S) ->
            _ = S:send(S:own(), hello),
            receive Message -> Message end
        end},
        {"erlang:send/2", "500 messages arrive in order", ok, fun(S) ->
            {Name, _} = fixture(server),
            seen(S, Name, lists:seq(1, 500))
        end},
        {"erlang:send/2", "by name and by reference in turns, in order", ok, fun(S) ->
            {Name, Reference} = fixture(server),
            _ = [S:send(case N rem 2 of 0 -> Name; 1 -> Reference end, N) || N <- lists:seq(1, 50)],
            S:call(Name, seen, 60000)
        end},
        {"erlang:send/2", "a cast between messages stays between them", ok, fun(S) ->
            {Name, _} = fixture(server),
            _ = S:send(Name, 1),
            _ = S:cast(Name, 2),
            _ = S:send(Name, 3),
            S:call(Name, seen, 60000)
        end},
        {"erlang:send/2", "a process that is no behaviour answers to a reference in a message", ok,
            fun(S) ->
                {Name, _} = fixture(process),
                _ = S:send(Name, hello),
                _ = S:send(Name, {seen, S:own(), tag}),
                receive {tag, Seen} -> Seen end
            end},
        {"erlang:send/2", "its value", ok, fun(S) ->
            {Name, _} = fixture(server),
            S:send(Name, hello)
        end}
    ].

%% Any term arrives as itself.
terms() ->
    Terms = [
        {"an improper list", [a, b | c]},
        {"a tuple of 300 elements", list_to_tuple(lists:seq(1, 300))},
        {"an empty tuple, list, map and binary", {{}, [], #{}, <<>>}},
        {"a bit string", <<5:3>>},
        {"a binary of 1 MiB", binary:copy(<<7>>, 1 bsl 20)},
        {"a binary of 64 bytes, and one of 65", {binary:copy(<<1>>, 64), binary:copy(<<2>>, 65)}},
        {"an integer of 2,000 bits", 1 bsl 2000},
        {"a negative integer of 65 bits", -(1 bsl 65)},
        {"floating point numbers", [1.5, -0.0, 1.0e308, 2.2250738585072014e-308]},
        {"an atom of 255 characters", list_to_atom(lists:duplicate(255, $x))},
        {"an atom beyond Latin-1", 'ключ'},
        {"a map of 100 keys", maps:from_list([{N, {N}} || N <- lists:seq(1, 100)])},
        {"a map with keys of all kinds", #{1 => a, 1.0 => b, [] => c, #{} => d, <<"k">> => e}},
        {"an external function", fun lists:reverse/1},
        {"a list of 10,000 elements", lists:seq(1, 10000)},
        {"a string beyond Latin-1", "γράμμα"}
    ],
    [
        {"gen_server:call/3", "echo: " ++ Title, ok, fun(S) ->
            {Name, _} = fixture(server),
            S:call(Name, {echo, Term}, 60000) =:= Term
        end}
     || {Title, Term} <- Terms
    ] ++
        [
            {"gen_server:call/3", "echo: a local function, applied here", ok, fun(S) ->
                {Name, _} = fixture(server),
                Added = S:call(Name, {echo, fun(N) -> N + 1 end}, 60000),
                Added(1)
            end},
            {"gen_server:call/3", "echo: a reference to the own process leads back to it", ok,
                fun(S) ->
                    {Name, _} = fixture(server),
                    _ = S:send(S:call(Name, {echo, S:own()}, 60000), hello),
                    receive Message -> Message end
                end},
            {"gen_server:call/3", "echo: a raw process identifier", ok, fun(S) ->
                {Name, _} = fixture(server),
                S:call(Name, {echo, self()}, 60000) =:= self()
            end},
            {"gen_server:call/3", "a raw process identifier made there", error, fun(_S) ->
                {_, Reference} = fixture(server),
                is_pid(Reference)
            end},
            {"gen_server:call/3", "echo: an Erlang reference", ok, fun(S) ->
                {Name, _} = fixture(server),
                Reference = make_ref(),
                S:call(Name, {echo, Reference}, 60000) =:= Reference
            end}
        ].

no_receiver() ->
    [
        {"erlang:send/2", "to a name without a node, which is absent", error, fun(S) ->
            _ = S:send(absent, hello),
            sent
        end},
        {"gen_server:call/3", "to a name without a node, which is absent", error, fun(S) ->
            S:call(absent, hello, 60000)
        end},
        {"gen_server:cast/2", "to a name without a node, which is absent", error, fun(S) ->
            S:cast(absent, hello)
        end}
    ] ++ [
        {"erlang:send/2", Title, error, fun(S) ->
            _ = S:send(Target(S), hello),
            sent
        end}
     || {Title, Target} <- [
            {"to an absent name", fun(_) -> {absent, b()} end},
            {"to an absent name of the own node", fun(S) -> {absent, S:own_node()} end},
            {"to an absent node", fun(_) -> {server, absent()} end},
            {"to a process that has ended", fun(S) ->
                {_, Reference} = Process = fixture(process),
                ok = ended(S, Process),
                Reference
            end},
            {"to a name whose process has ended", fun(S) ->
                {Name, _} = Process = fixture(process),
                ok = ended(S, Process),
                Name
            end},
            {"to a process of the own node that has ended", fun(S) ->
                {_, Reference} = Process = fixture(process, S:own_node()),
                ok = ended(S, Process),
                Reference
            end}
        ]
    ].

invalid() ->
    [
        {"erlang:send/2", "to " ++ Title ++ ", which is no target", error, fun(S) ->
            S:send(Target, hello)
        end}
     || {Title, Target} <- targets()
    ] ++
        [
            {"gen_server:call/3", "to " ++ Title ++ ", which is no target", error, fun(S) ->
                S:call(Target, hello, 1000)
            end}
         || {Title, Target} <- targets()
        ] ++
        [
            {"gen_server:cast/2", "to " ++ Title ++ ", which is no target", error, fun(S) ->
                S:cast(Target, hello)
            end}
         || {Title, Target} <- targets()
        ] ++
        [
            {"erlang:monitor/2", "of " ++ Title ++ ", which is no target", error, fun(S) ->
                S:monitor(process, Target)
            end}
         || {Title, Target} <- targets()
        ].

targets() ->
    [
        {"a number", 42},
        {"a string", "name"},
        {"an empty list", []},
        {"a tuple of one element", {name}},
        {"a name that is a number", {42, node_b}},
        {"a node that is a number", {name, 42}},
        {"a name that is no atom", {"name", node_b}},
        {"a map", #{}}
    ].

options() ->
    [
        {"erlang:send/3", "nosuspend, with room", ok, fun(S) ->
            {Name, _} = fixture(server),
            S:send(Name, hello, nosuspend)
        end},
        {"erlang:send/3", "noconnect, to a connected node", ok, fun(S) ->
            {Name, _} = fixture(server),
            S:send(Name, hello, noconnect)
        end},
        {"erlang:send/3", "noconnect, to an absent node", error, fun(S) ->
            S:send({server, absent()}, hello, noconnect)
        end},
        {"erlang:send/3", "options that are an atom", error, fun(S) ->
            {Name, _} = fixture(server),
            S:send(Name, hello, hello)
        end}
    ].

%% Messages that OTP's behaviours obey from any sender.
refused() ->
    [
        {"erlang:send/2", "to a plain process: " ++ Title, ok, fun(S) ->
            {Name, _} = fixture(process),
            _ = S:send(Name, Message),
            _ = S:send(Name, {seen, S:own(), tag}),
            receive {tag, Seen} -> Seen end
        end}
     || {Title, Message} <- [
            {"a system message", {system, {from, tag}, get_state}},
            {"an exit signal's message", {'EXIT', from, reason}},
            {"a raw call", {'$gen_call', {from, tag}, request}},
            {"a notification of the runtime", {partisan, {neighbour_up, <<"x">>}}},
            {"a message about a monitor", {'DOWN', monitor, process, from, reason}},
            {"a message about a node", {nodedown, node}}
        ]
    ] ++
        [
            {"supervisor:which_children/1", "of a supervisor elsewhere", ok, fun(S) ->
                {Name, _} = fixture(supervisor),
                length(supervisor:which_children(S:via(Name)))
            end},
            {"supervisor:start_child/2", "at a supervisor elsewhere", ok, fun(S) ->
                {Name, _} = fixture(supervisor),
                Start = {gen_server, start_link, [comparison_server, [], []]},
                supervisor:start_child(S:via(Name), #{id => another, start => Start})
            end},
            {"supervisor:terminate_child/2", "at a supervisor elsewhere", ok, fun(S) ->
                {Name, _} = fixture(supervisor),
                supervisor:terminate_child(S:via(Name), server)
            end},
            {"supervisor:count_children/1", "of a supervisor of OTP", ok, fun(S) ->
                length(supervisor:count_children(S:via({kernel_sup, b()})))
            end},
            {"gen_server:call/3", "to a process of OTP", ok, fun(S) ->
                is_list(S:call({kernel_sup, b()}, which_children, 60000))
            end}
        ].

%% Sends these, and shows what has arrived.
seen(S, Target, Messages) ->
    _ = [S:send(Target, Message) || Message <- Messages],
    S:call(Target, seen, 60000).

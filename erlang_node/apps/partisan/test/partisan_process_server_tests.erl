%%% @doc Processes as values, run by real nodes.
-module(partisan_process_server_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1]).

%% On the nodes.
-export([start/1, restart/1]).

-define(LONG, 3600000).

server_test_() ->
    {setup, fun form/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> Test(Nodes) end}}
         || {Title, Test} <- [
                {"its options", fun options/1},
                {"a message to another node", fun message/1},
                {"a message to itself is its next event", fun own_message/1},
                {"a timer fires once, and not if it is started again or cancelled", fun timers/1},
                {"clients on other nodes", fun remote_call/1},
                {"the members change", fun members/1},
                {"what it has persisted survives it", fun persisted/1},
                {"what is no message of it is ignored", fun stray/1},
                {"outputs may go to a function", fun function/1}
            ]
        ]
    end}.

invalid_options_test_() ->
    Valid = #{module => partisan_test_process, name => process},
    [
        ?_assertEqual({error, Reason}, partisan_process_server:start_link(maps:merge(Valid, Given)))
     || {Given, Reason} <- [
            {#{members => [node]}, {bad_option, {members, [node]}}},
            {#{options => []}, {bad_option, {options, []}}},
            {#{deliver => none}, {bad_option, {deliver, none}}},
            {#{send => drop}, {bad_option, {send, drop}}},
            {#{directory => "/absent"}, {bad_option, {directory, "/absent"}}},
            {#{sent => #{}}, {unknown_option, sent}}
        ]
    ].

options([A, B]) ->
    Names = [name(A), name(B)],
    Self = name(A),
    ?assertMatch(
        #{self := Self, members := Names, given := option, seed := {_, _, _}}, ask(A, options)
    ).

message([A, B]) ->
    ok = effects(A, [{send, name(B), hello}]),
    ?assertEqual([{process, {message, name(A), hello}}], take(B, 1)).

own_message([A, B]) ->
    Self = name(A),
    ok = effects(A, [
        {send, Self, {effects, [{send, Self, third}, {send, name(B), last}, {deliver, first}]}},
        {send, Self, second}
    ]),
    ?assertEqual(
        [{process, first}, {process, {message, Self, second}}, {process, {message, Self, third}}],
        take(A, 3)
    ),
    ?assertEqual([{process, {message, Self, last}}], take(B, 1)).

timers([A, _]) ->
    ok = effects(A, [
        {start_timer, a, ?LONG}, {start_timer, b, ?LONG}, {start_timer, c, 0}, {start_timer, d, 0},
        {cancel_timer, d}, {cancel_timer, unknown}, {start_timer, c, ?LONG}
    ]),
    % Those that have fired already do not count either.
    ok = effects(A, [{start_timer, a, 0}, {cancel_timer, c}, {start_timer, e, 20}]),
    ?assertEqual([{process, {timer, a}}, {process, {timer, e}}], take(A, 2)),
    ok = effects(A, [{cancel_timer, b}]).

remote_call([A, B]) ->
    Target = {process, name(B)},
    Answer = call(A, partisan_process_server, call, [Target, {effects, [{deliver, asked}]}]),
    ?assertEqual(ok, Answer),
    ?assertEqual([{process, asked}], take(B, 1)).

members([A, B]) ->
    ok = call(A, partisan_process_server, members, [process, [<<"other">>]]),
    ?assertEqual([{process, {members, [name(A), <<"other">>]}}], take(A, 1)),
    ok = call(A, partisan_process_server, members, [process, [name(B), name(A)]]),
    ?assertEqual([{process, {members, [name(A), name(B)]}}], take(A, 1)).

persisted([A, _]) ->
    Dir = partisan_test_directory:new(),
    try
        ok = call(A, ?MODULE, restart, [#{directory => Dir}]),
        ?assertNot(is_map_key(persisted, ask(A, options))),
        ok = effects(A, [{persist, one}, {persist, two}]),
        ok = call(A, ?MODULE, restart, [#{directory => list_to_binary(Dir)}]),
        ?assertMatch(#{persisted := two}, ask(A, options)),
        [File] = filelib:wildcard(filename:join(Dir, "*")),
        ok = file:write_file(File, <<"damaged">>),
        ok = call(A, ?MODULE, restart, [#{directory => Dir}]),
        ?assertNot(is_map_key(persisted, ask(A, options)))
    after
        ok = file:del_dir_r(Dir)
    end.

stray([A, B]) ->
    ok = call(B, partisan, forward, [name(A), process, hello]),
    ok = call(B, partisan, cast, [{process, name(A)}, hello]),
    ok = call(B, partisan, cast, [{process, name(A)}, {members, [name(B) | none]}]),
    Call = [{process, name(A)}, hello],
    ?assertEqual({error, unknown_request}, call(B, partisan, call, Call)),
    ok = effects(A, [{deliver, alive}]),
    ?assertEqual([{process, alive}], take(A, 1)).

function([A, _]) ->
    ok = call(A, ?MODULE, restart, [#{deliver => fun erlang:exit/1}]),
    Exit = try effects(A, [{deliver, output}]) catch _:Reason -> Reason end,
    ?assertMatch({match, _}, re:run(io_lib:format("~0p", [Exit]), "output")),
    ok = call(A, ?MODULE, restart, [#{}]).

%% The tests' own side.

form() ->
    Nodes = partisan_test_cluster:start_connected(2, #{}),
    [
        begin
            ok = call(Node, partisan_test_sink, start, [sink]),
            ok = call(Node, ?MODULE, start, [#{}])
        end
     || Node <- Nodes
    ],
    Nodes.

ask(Node, Request) ->
    call(Node, partisan_process_server, call, [process, Request]).

effects(Node, Effects) ->
    ask(Node, {effects, Effects}).

take(Node, Count) ->
    call(Node, partisan_test_sink, take, [sink, Count]).

%% On the nodes.

%% Linked to a process that lives on.
start(Options) ->
    Starter = self(),
    {Parent, Monitor} = spawn_monitor(fun() ->
        {ok, _} = partisan_process_server:start_link(
            maps:merge(
                #{
                    module => partisan_test_process,
                    name => process,
                    options => #{given => option, self => ignored},
                    deliver => whereis(sink)
                },
                Options
            )
        ),
        Starter ! {self(), started},
        receive after infinity -> ok end
    end),
    receive
        {Parent, started} -> true = demonitor(Monitor, [flush]), ok;
        {'DOWN', Monitor, process, Parent, Reason} -> {error, Reason}
    end.

restart(Options) ->
    case whereis(process) of
        undefined ->
            ok;
        Pid ->
            Monitor = monitor(process, Pid),
            exit(Pid, kill),
            receive {'DOWN', Monitor, process, Pid, _} -> ok end
    end,
    start(Options).

%%% @doc Modules that are hosted, and those that are refused in one line.
-module(verify_host_tests).

-include_lib("eunit/include/eunit.hrl").

-define(S, verify_test_source).
-define(SERVER, [
    "-behaviour(gen_server).",
    "-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).",
    "init(Options) -> {ok, Options}.",
    "handle_cast(_, S) -> {noreply, S}.",
    "handle_info(_, S) -> {noreply, S}."
]).

refused_test_() ->
    {foreach, fun ?S:new/0, fun ?S:remove/1, [
        fun(Dir) -> {Code, fun() -> refused(Code, Pattern, Dir) end} end
     || {Code, Pattern} <- [
            {"receive X -> {reply, X, S} end", "receive cannot be hosted: handle the message in a"},
            {"{reply, ets:new(t, []), S}", "ets:new/2 cannot be hosted: keep the contents in the"},
            {"{reply, ets:lookup(t, a), S}", "ets:lookup/2 cannot be hosted"},
            {"{reply, spawn(fun() -> ok end), S}", "erlang:spawn/1 cannot be hosted: do the work"},
            {"{reply, gen_server:call(other, q), S}", "gen_server:call/2 .*: send a message"},
            {"{reply, partisan:call({other, <<\"n2\">>}, q), S}", "partisan:call/2 .*: send a m"},
            {"{reply, open_port({spawn, \"ls\"}, []), S}", "erlang:open_port/2"},
            {"{reply, file:read_file(\"f\"), S}", "file:read_file/1 cannot be hosted: do it in a"},
            {"{reply, lists:map(fun file:read_file/1, S), S}", "file:read_file/1"},
            {"{reply, erlang:localtime(), S}", "erlang:localtime/0 .*: use erlang:system_time/1"},
            {"{reply, erlang:monitor(process, S), S}", "erlang:monitor/2 .*: detect a lost"},
            {"case S of P when P =:= self() -> {noreply, S} end", "self\\(\\) in a guard"},
            {"[timer:sleep(1) || _ <- [1]], {noreply, S}", "timer:sleep/1"}
        ]
    ]}.

refused(Code, Pattern, Dir) ->
    hosted_test_server = ?S:compile(
        Dir, hosted_test_server, ?SERVER ++ ["handle_call(_, _From, S) ->", Code, "."]
    ),
    {error, Text} = verify_host:load(hosted_test_server),
    Line = unicode:characters_to_list(Text),
    ?assertMatch({match, _}, re:run(Line, "^hosted_test_server:8: .*" ++ Pattern)),
    ?assertEqual(nomatch, re:run(Line, "\n")).

errors_test_() ->
    {foreach, fun ?S:new/0, fun ?S:remove/1, [
        fun(_Dir) ->
            {"no such module", ?_assertEqual(
                "no_such_module: no such module: compile it and add its directory to the code path",
                failure(no_such_module)
            )}
        end,
        fun(Dir) -> {"a callback is missing", fun() ->
            hosted_test_server = ?S:compile(Dir, hosted_test_server, [
                "-behaviour(gen_server).", "-export([init/1]).", "init(_) -> {ok, s}."
            ]),
            ?assertEqual(
                "hosted_test_server: is no gen_server: it lacks handle_call/3 handle_cast/2",
                failure(hosted_test_server)
            )
        end} end,
        fun(Dir) -> {"no behaviour", fun() ->
            Lines = ["-export([f/0]).", "f() -> 1."],
            hosted_test_server = ?S:compile(Dir, hosted_test_server, Lines),
            ?assertMatch(
                "hosted_test_server: declares none of the behaviours" ++ _,
                failure(hosted_test_server)
            )
        end} end,
        fun(Dir) -> {"no debug information", fun() ->
            Lines = ?SERVER ++ ["handle_call(_, _, S) -> {reply, ok, S}."],
            hosted_test_server = ?S:compile(Dir, hosted_test_server, Lines, []),
            ?assertEqual(
                "hosted_test_server: no debug_info: compile it with the option debug_info",
                failure(hosted_test_server)
            )
        end} end,
        fun(Dir) -> {"a helper's call, with the line of the helper", fun() ->
            hosted_test_helper = ?S:compile(Dir, hosted_test_helper, [
                "-export([f/0]).", "f() ->", "g().", "g() -> spawn(fun() -> ok end)."
            ]),
            hosted_test_server = ?S:compile(Dir, hosted_test_server, ?SERVER ++ [
                "handle_call(_, _, S) -> {reply, hosted_test_helper:f(), S}."
            ]),
            ?assertMatch(
                "hosted_test_helper:5: erlang:spawn/1 cannot be hosted" ++ _,
                failure(hosted_test_server)
            )
        end} end
    ]}.

failure(Module) ->
    {error, Text} = verify_host:load(Module),
    unicode:characters_to_list(Text).

hosted_test_() ->
    {foreach, fun ?S:new/0, fun ?S:remove/1, [
        fun(Dir) -> {Title, fun() -> Test(Dir) end} end
     || {Title, Test} <- [
            {"what only clients call may do anything", fun clients/1},
            {"the original stays as it is", fun untouched/1},
            {"a helper with effects is hosted too, a pure one is not", fun helpers/1},
            {"calls whose module is computed", fun dynamic/1},
            {"defaults of records", fun records/1},
            {"external funs and imports", fun funs/1},
            {"changed code is hosted anew", fun changed/1}
        ]
    ]}.

clients(Dir) ->
    Lines = ["-export([ask/0]).", "ask() -> receive X -> gen_server:call(other, X) end."],
    {ok, Hosted} = verify_host:load(server(Dir, "{reply, ok, S}", Lines)),
    ?assertMatch({ok, _}, call(Hosted, hello)).

untouched(Dir) ->
    Module = server(Dir, "{reply, self(), S}", []),
    MD5 = Module:module_info(md5),
    {ok, Hosted} = verify_host:load(Module),
    {Hosted, Again} = {Hosted, verify_host:load(Module)},
    ?assertEqual({ok, Hosted}, Again),
    ?assertEqual([{Module, MD5}], verify_host:modules(Hosted)),
    ?assertEqual({reply, self(), s}, Module:handle_call(q, from, s)),
    {Pid, _} = call(Hosted, q),
    ?assertEqual(n1, node(Pid)).

helpers(Dir) ->
    _ = ?S:compile(Dir, hosted_test_pure, ["-export([f/1]).", "f(X) -> X + 1."]),
    _ = ?S:compile(Dir, hosted_test_helper, ["-export([f/1]).", "f(X) -> self() ! X."]),
    Module = server(Dir, "{reply, hosted_test_helper:f(hosted_test_pure:f(1)), S}", []),
    {ok, Hosted} = verify_host:load(Module),
    ?assertMatch([{hosted_test_helper, _}, {Module, _}], verify_host:modules(Hosted)),
    ?assertEqual({2, [{send, <<"n1">>, 2}]}, call(Hosted, q)).

dynamic(Dir) ->
    Module = server(Dir, "{M, F, A} = Q, {reply, M:F(A), S}", []),
    {ok, Hosted} = verify_host:load(Module),
    ?assertEqual({3, []}, call(Hosted, {erlang, length, [a, b, c]})),
    ?assertEqual({undefined, []}, call(Hosted, {erlang, whereis, init})),
    _ = ?S:compile(Dir, hosted_test_helper, [
        "-export([f/1, g/1]).", "f(X) -> X + 1.", "g(X) -> h(X).", "h(X) -> self() ! X."
    ]),
    ?assertEqual({2, []}, call(Hosted, {hosted_test_helper, f, 1})),
    Text = "hosted_test_helper:g/1 has effects: call it by its name",
    ?assertExit({not_hosted, Text}, call(Hosted, {hosted_test_helper, g, 1})),
    ?assertExit({not_hosted, "ets:info/1 cannot be hosted" ++ _}, call(Hosted, {ets, info, t})).

records(Dir) ->
    Lines = [
        "-record(r, {ref = make_ref() :: t(), pid = self()}).",
        "-opaque t() :: reference().",
        "-export_type([t/0])."
    ],
    {ok, Hosted} = verify_host:load(server(Dir, "{reply, #r{}, S}", Lines)),
    {{r, Ref, Pid}, []} = call(Hosted, q),
    ?assertEqual({n1, n1}, {node(Ref), node(Pid)}).

funs(Dir) ->
    Lines = ["-import(partisan, [forward/3])."],
    Code = "F = fun self/0, G = fun partisan_metrics:inc/2, "
        "{reply, {F(), G(a, []), forward(<<\"n2\">>, ?MODULE, hello)}, S}",
    {ok, Hosted} = verify_host:load(server(Dir, Code, Lines)),
    {{Pid, ok, ok}, Effects} = call(Hosted, q),
    ?assertEqual(n1, node(Pid)),
    ?assertEqual([{send, <<"n2">>, hello}], Effects).

changed(Dir) ->
    {ok, Hosted} = verify_host:load(server(Dir, "{reply, 1, S}", [])),
    ?assertEqual({1, []}, call(Hosted, q)),
    {ok, Hosted} = verify_host:load(server(Dir, "{reply, 2, S}", [])),
    ?assertEqual({2, []}, call(Hosted, q)).

server(Dir, Code, Lines) ->
    {Attributes, Functions} = lists:partition(fun(Line) -> hd(Line) =:= $- end, Lines),
    Callback = ["handle_call(Q, _From, S) -> _ = Q,", Code, "."],
    ?S:compile(Dir, hosted_test_server, Attributes ++ ?SERVER ++ Functions ++ Callback).

%% The answer and the other effects.
call(Hosted, Request) ->
    {State, []} = Hosted:init(#{
        self => <<"n1">>, members => [<<"n1">>, <<"n2">>], seed => {1, 2, 3}
    }),
    try Hosted:handle({call, ref, Request}, State) of
        {_, Effects} ->
            [Answer] = [A || {reply, ref, A} <- Effects],
            {Answer, [E || E <- Effects, element(1, E) =/= reply]}
    catch
        error:{not_hosted, _} = Reason -> exit(Reason)
    end.

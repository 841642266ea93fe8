-module(node_console_tests).

%% For other tests.
-export([session/2]).

-include_lib("eunit/include/eunit.hrl").
-include_lib("kernel/include/file.hrl").

console_test_() ->
    {setup, fun start/0, fun stop/1, fun({Directory, Pid}) ->
        [
            {Title, {timeout, 600, Test}}
         || {Title, Test} <- [
                {"a shell evaluates on the node", ?_test(evaluates(Directory, Pid))},
                {"output comes back, in any language", ?_test(prints(Directory))},
                {"errors in the input do not end the session", ?_test(errs(Directory))},
                {"programs read from the terminal", ?_test(reads(Directory))},
                {"a session ends with its connection", ?_test(ends(Directory))},
                {"only its owner may enter", ?_test(is_private(Directory))},
                {"a socket left behind is replaced", ?_test(replaced(Directory))}
            ]
        ]
    end}.

start() ->
    Directory = partisan_test_directory:new(),
    {ok, Pid} = node_console:start_link(Directory),
    {Directory, Pid}.

stop({Directory, _Pid}) ->
    whereis(node_console) =:= undefined orelse gen_server:stop(node_console),
    ok = file:del_dir_r(Directory).

evaluates(Directory, Pid) ->
    Typed = "X = whereis(node_console).\nX.\n",
    Answer = session(Directory, Typed),
    ?assertNotEqual(nomatch, string:find(Answer, pid_to_list(Pid))).

prints(Directory) ->
    Answer = session(Directory, "io:format(\"~ts~n\", [[246, 8364, $!]]).\n"),
    ?assertNotEqual(nomatch, string:find(Answer, [246, 8364, $!])).

errs(Directory) ->
    Answer = session(Directory, "error(mine).\n1 +.\n40 + 2.\n"),
    [?assertNotEqual(nomatch, string:find(Answer, Part)) || Part <- ["mine", "syntax", "42"]].

reads(Directory) ->
    Answer = session(Directory, "{typed, io:get_line(\"? \")}.\nhello\n"),
    ?assertNotEqual(nomatch, string:find(Answer, "{typed,\"hello\\n\"}")).

%% A process started by it outlives it on its group leader, and ends with it.
ends(Directory) ->
    Socket = connect(Directory),
    ok = gen_tcp:send(Socket, "register(console_probe, self()).\n"),
    ok = partisan_test_cluster:await(fun() -> whereis(console_probe) =/= undefined end),
    Monitor = monitor(process, console_probe),
    ok = gen_tcp:close(Socket),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    after 30000 -> error(still_there)
    end.

is_private(Directory) ->
    {ok, #file_info{mode = Mode}} = file:read_file_info(filename:join(Directory, "console")),
    ?assertEqual(8#700, Mode band 8#777).

replaced(Directory) ->
    ok = gen_server:stop(node_console),
    {ok, _} = node_console:start_link(Directory),
    ?assertNotEqual(nomatch, string:find(session(Directory, "6 * 7.\n"), "42")).

%% All output of a shell for the given input, after which the input ends.
session(Directory, Typed) ->
    Socket = connect(Directory),
    ok = gen_tcp:send(Socket, unicode:characters_to_binary(Typed)),
    ok = gen_tcp:shutdown(Socket, write),
    unicode:characters_to_list(received(Socket)).

received(Socket) ->
    case gen_tcp:recv(Socket, 0, 30000) of
        {ok, Bytes} -> <<Bytes/binary, (received(Socket))/binary>>;
        {error, closed} -> <<>>
    end.

connect(Directory) ->
    Path = filename:join([Directory, "console", "socket"]),
    {ok, Socket} = gen_tcp:connect({local, Path}, 0, [local, binary, {active, false}]),
    Socket.

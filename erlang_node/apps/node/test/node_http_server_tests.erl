%%% @doc The HTTP server by itself, spoken to byte by byte.
-module(node_http_server_tests).

-include_lib("eunit/include/eunit.hrl").

-define(HOST, {127, 0, 0, 1}).

server_test_() ->
    {setup, fun start/0, fun stop/1, fun({_Server, Port}) ->
        [
            {Title, {timeout, 60, fun() -> Test(Port) end}}
         || {Title, Test} <- [
                {"a request in pieces", fun pieces/1},
                {"path, query, token and body reach the handler", fun parts/1},
                {"a client that waits to be asked for its body", fun continue/1},
                {"a handler that fails costs its request alone", fun failure/1},
                {"each refusal says why", fun refusals/1},
                {"more clients than are served at once all get their turn", fun crowd/1}
            ]
        ]
    end}.

taken_test() ->
    {ok, Socket} = node_http_server:listen(?HOST, 0),
    {ok, Port} = inet:port(Socket),
    Expected = {error, inet:format_error(eaddrinuse)},
    ?assertEqual(Expected, node_http_server:listen(?HOST, Port)),
    ok = gen_tcp:close(Socket).

%% Who comes before there is a server waits for it, and outlives it.
early_test() ->
    {ok, Socket} = node_http_server:listen(?HOST, 0),
    {ok, Port} = inet:port(Socket),
    Early = connect(Port),
    ok = gen_tcp:send(Early, "GET /a HTTP/1.1\r\n\r\n"),
    {ok, Server} = node_http_server:start_link(Socket, fun echo/1),
    ?assertMatch({200, <<"GET /a">>}, answer(Early)),
    stop({Server, Port}),
    Late = connect(Port),
    ok = gen_tcp:send(Late, "GET /b HTTP/1.1\r\n\r\n"),
    {ok, Successor} = node_http_server:start_link(Socket, fun echo/1),
    ?assertMatch({200, <<"GET /b">>}, answer(Late)),
    stop({Successor, Port}),
    ok = gen_tcp:close(Socket).

pieces(Port) ->
    Socket = connect(Port),
    Request = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n",
    _ = [ok = gen_tcp:send(Socket, [Byte]) || Byte <- Request],
    ?assertMatch({200, <<"GET /a">>}, answer(Socket)).

parts(Port) ->
    Request =
        "POST /a/b?c=1&d HTTP/1.1\r\nhost: x\r\nAUTHORIZATION: Bearer t\r\n"
        "Content-Length: 4\r\n\r\nbody",
    ?assertMatch({200, <<"POST /a/b c=1&d Bearer t body">>}, ask(Request, Port)),
    ?assertMatch({200, <<"BREW /a">>}, ask("BREW /a HTTP/1.0\r\n\r\n", Port)).

continue(Port) ->
    Socket = connect(Port),
    Head = "POST /a HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n",
    ok = gen_tcp:send(Socket, Head),
    Continue = <<"HTTP/1.1 100 Continue\r\n\r\n">>,
    ?assertEqual({ok, Continue}, gen_tcp:recv(Socket, byte_size(Continue))),
    ok = gen_tcp:send(Socket, "ok"),
    ?assertMatch({200, <<"POST /a ok">>}, answer(Socket)).

failure(Port) ->
    #{level := Level} = logger:get_primary_config(),
    ok = logger:set_primary_config(level, none),
    ?assertMatch({503, _}, ask("GET /fail HTTP/1.1\r\n\r\n", Port)),
    ok = logger:set_primary_config(level, Level),
    ?assertMatch({200, _}, ask("GET /a HTTP/1.1\r\n\r\n", Port)).

refusals(Port) ->
    Long = lists:duplicate(5000, $a),
    _ = [
        ?assertMatch({Request, {Status, _}}, {Request, ask(Request, Port)})
     || {Status, Request} <- [
            {400, "what?\r\n\r\n"},
            {400, "GET http://elsewhere/ HTTP/1.1\r\n\r\n"},
            {400, "POST /a HTTP/1.1\r\ncontent-length: many\r\n\r\n"},
            {400, "POST /a HTTP/1.1\r\ncontent-length: -1\r\n\r\n"},
            {411, "POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
            {413, ["POST /a HTTP/1.1\r\ncontent-length: 70000\r\n\r\n", lists:duplicate(14, Long)]},
            {414, ["GET /", Long, " HTTP/1.1\r\n\r\n"]},
            {431, ["GET /a HTTP/1.1\r\nx: ", Long, "\r\n\r\n"]},
            {431, ["GET /a HTTP/1.1\r\n", lists:duplicate(40, "x: y\r\n"), "\r\n"]}
        ]
    ].

%% Those that are served do not speak before all are connected.
crowd(Port) ->
    Sockets = [connect(Port) || _ <- lists:seq(1, 100)],
    _ = [ok = gen_tcp:send(Socket, "GET /a HTTP/1.1\r\n\r\n") || Socket <- Sockets],
    _ = [?assertMatch({200, _}, answer(Socket)) || Socket <- Sockets].

%% Helpers.

start() ->
    {ok, Socket} = node_http_server:listen(?HOST, 0),
    {ok, Port} = inet:port(Socket),
    {ok, Server} = node_http_server:start_link(Socket, fun echo/1),
    {Server, Port}.

stop({Server, _Port}) ->
    unlink(Server),
    Reference = monitor(process, Server),
    exit(Server, shutdown),
    receive
        {'DOWN', Reference, _, _, _} -> ok
    end.

echo(#{path := <<"/fail">>}) ->
    error(on_purpose);
echo(#{method := Method, path := Path} = Request) ->
    Values = [maps:get(Key, Request) || Key <- [query, authorization, body]],
    Rest = [Value || Value <- Values, Value =/= <<>>],
    {200, "text/plain", lists:join($\s, [[Method, $\s, Path] | Rest])}.

connect(Port) ->
    {ok, Socket} = gen_tcp:connect(?HOST, Port, [binary, {active, false}]),
    Socket.

ask(Request, Port) ->
    Socket = connect(Port),
    ok = gen_tcp:send(Socket, Request),
    answer(Socket).

answer(Socket) ->
    Text = receive_all(Socket, <<>>),
    ok = gen_tcp:close(Socket),
    [Head, Body] = binary:split(Text, <<"\r\n\r\n">>),
    <<"HTTP/1.1 ", Status:3/binary, _/binary>> = Head,
    {binary_to_integer(Status), Body}.

receive_all(Socket, Read) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, More} -> receive_all(Socket, <<Read/binary, More/binary>>);
        {error, closed} -> Read
    end.

%%% @doc The HTTP server by itself, byte by byte.
-module(node_http_server_tests).

-include_lib("eunit/include/eunit.hrl").

%% On a node.
-export([serve/0, reading/0]).

-define(HOST, {127, 0, 0, 1}).

server_test_() ->
    {setup, fun start/0, fun stop/1, fun({Server, Port}) ->
        [
            {Title, {timeout, 600, fun() -> ok = idle(Server), Test(Port) end}}
         || {Title, Test} <- [
                {"a fragmented request", fun pieces/1},
                {"path, query, token and body reach the handler", fun parts/1},
                {"a client that waits to be asked for its body", fun continue/1},
                {"a handler crash affects only its own request", fun failure/1},
                {"each refusal gives the reason", fun refusals/1},
                {"silent clients delay no other client", fun silent/1},
                {"clients with incomplete requests delay no other client", fun slow/1},
                {"requests that take long leave room for probes", fun busy/1},
                {"waiting probes leave room for others", fun waiting/1},
                {"a missing head is refused soon", fun late/1},
                {"refusals are counted, and logged rarely", fun refusals_shown/1}
            ]
        ]
    end}.

%% Like a node that has used up its CPU quota: bytes arrive all the same.
starved_test_() ->
    {"a request that arrived in time is answered, even if the node reads it late",
        {timeout, 600, fun starved/0}}.

starved() ->
    Net = partisan_test_cluster:net(),
    Configuration = partisan_test_cluster:configuration(Net, 1, #{}),
    Node = partisan_test_cluster:start_bare(Net, Configuration),
    Call = fun(Module, Function, Arguments) ->
        partisan_test_cluster:call(Node, Module, Function, Arguments)
    end,
    ok = Call(code, add_pathsa, [[filename:dirname(code:which(M)) || M <- [node_http, ?MODULE]]]),
    Port = Call(?MODULE, serve, []),
    Sockets = frozen(Node, Port),
    _ = [ok = gen_tcp:send(S, "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n") || S <- Sockets],
    % Longer than the timeout of a head.
    receive after 2500 -> ok end,
    ok = partisan_test_cluster:thaw(Node),
    ?assertEqual([200], lists:usort([element(1, answer(S)) || S <- Sockets])),
    partisan_test_cluster:stop([Node]).

%% Connections that wait for a request on a node that is frozen by now. On a busy machine some may
%% have been given up before: then others take their places.
frozen(Node, Port) ->
    Sockets = [connect(Port) || _ <- lists:seq(1, 10)],
    ok = partisan_test_cluster:await(fun() ->
        partisan_test_cluster:call(Node, ?MODULE, reading, []) =:= 10 orelse not silent_all(Sockets)
    end),
    ok = partisan_test_cluster:freeze(Node),
    case silent_all(Sockets) of
        true ->
            Sockets;
        false ->
            ok = partisan_test_cluster:thaw(Node),
            _ = [ok = gen_tcp:close(Socket) || Socket <- Sockets],
            frozen(Node, Port)
    end.

%% Whether the server has sent nothing, and closed nothing.
silent_all(Sockets) ->
    lists:all(fun(Socket) -> gen_tcp:recv(Socket, 0, 0) =:= {error, timeout} end, Sockets).

%% TLS takes processor time. A startup probe waits for 15 s.
tls_time_test() ->
    ok = metrics(),
    {ok, Socket} = node_http_server:listen(?HOST, 0),
    {ok, Port} = inet:port(Socket),
    Self = self(),
    Secure = fun(_Accepted, Timeout) -> Self ! {given, Timeout}, {error, timeout} end,
    {ok, Server} = node_http_server:start_link(Socket, (options())#{secure => Secure}),
    Client = connect(Port),
    Given = receive {given, Timeout} -> Timeout end,
    ?assert(Given > 10000 andalso Given =< 15000),
    ok = gen_tcp:close(Client),
    stop({Server, Port}),
    ok = gen_tcp:close(Socket).

%% Serves until its node ends.
serve() ->
    Caller = self(),
    spawn(fun() ->
        {_, Port} = start(),
        Caller ! {serving, Port},
        receive never -> ok end
    end),
    receive {serving, Port} -> Port end.

%% Number of connections that wait for a request.
reading() ->
    length([
        Pid
     || Pid <- processes(),
        {current_stacktrace, Stack} <- [process_info(Pid, current_stacktrace)],
        lists:keymember(node_http_connection, 1, Stack)
    ]).

taken_test() ->
    {ok, Socket} = node_http_server:listen(?HOST, 0),
    {ok, Port} = inet:port(Socket),
    Expected = {error, inet:format_error(eaddrinuse)},
    ?assertEqual(Expected, node_http_server:listen(?HOST, Port)),
    ok = gen_tcp:close(Socket).

%% A client that comes before the server waits for it, and outlives it.
early_test() ->
    ok = metrics(),
    {ok, Socket} = node_http_server:listen(?HOST, 0),
    {ok, Port} = inet:port(Socket),
    Early = connect(Port),
    ok = gen_tcp:send(Early, "GET /a HTTP/1.1\r\n\r\n"),
    {ok, Server} = node_http_server:start_link(Socket, options()),
    ?assertMatch({200, <<"GET /a">>}, answer(Early)),
    stop({Server, Port}),
    Late = connect(Port),
    ok = gen_tcp:send(Late, "GET /b HTTP/1.1\r\n\r\n"),
    {ok, Successor} = node_http_server:start_link(Socket, options()),
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
            {400, "POST /a HTTP/1.1\r\ncontent-length: +2\r\n\r\nok"},
            {400, "POST /a HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 1\r\n\r\nok"},
            {400, "POST /a HTTP/1.1\r\ncontent-length: 0\r\ncontent-length: 2\r\n\r\nok"},
            {200, "POST /a HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok"},
            {411, "POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
            {413, ["POST /a HTTP/1.1\r\ncontent-length: 70000\r\n\r\n", lists:duplicate(14, Long)]},
            {414, ["GET /", Long, " HTTP/1.1\r\n\r\n"]},
            {431, ["GET /a HTTP/1.1\r\nx: ", Long, "\r\n\r\n"]},
            {431, ["GET /a HTTP/1.1\r\n", lists:duplicate(40, "x: y\r\n"), "\r\n"]}
        ]
    ].

%% From one source and from many. Requests are answered while none of these has timed out.
silent(Port) ->
    crowd("", Port).

slow(Port) ->
    crowd("GET /sta", Port),
    crowd("POST /a HTTP/1.1\r\ncontent-length: 60000\r\n\r\nbeginning", Port).

crowd(Beginning, Port) ->
    Before = refused(displaced),
    Crowd = [connect({127, 0, 0, 2 + I div 20}, Port) || I <- lists:seq(1, 200)],
    _ = [gen_tcp:send(Socket, Beginning) || Socket <- Crowd],
    Own = [connect(Port) || _ <- lists:seq(1, 100)],
    ?assertMatch({200, <<"GET /livez">>}, ask("GET /livez HTTP/1.1\r\n\r\n", Port)),
    ?assertMatch({200, <<"GET /a">>}, ask("GET /a HTTP/1.1\r\n\r\n", Port)),
    ?assert(refused(displaced) - Before >= 200),
    _ = [ok = gen_tcp:close(Socket) || Socket <- Own ++ Crowd],
    ok.

busy(Port) ->
    Before = refused(busy),
    true = register(?MODULE, self()),
    Slow = [begin_request("/hold", {127, 0, 0, 2 + I div 10}, Port) || I <- lists:seq(0, 39)],
    Held = [receive {held, Pid} -> Pid end || _ <- Slow],
    ?assertMatch({503, <<"too many", _/binary>>}, ask("GET /a HTTP/1.1\r\n\r\n", Port)),
    ?assertEqual(Before + 1, refused(busy)),
    ?assertMatch({200, _}, ask("GET /livez HTTP/1.1\r\n\r\n", Port)),
    _ = [Pid ! release || Pid <- Held],
    _ = [?assertMatch({200, _}, answer(Socket)) || Socket <- Slow],
    true = unregister(?MODULE).

waiting(Port) ->
    true = register(?MODULE, self()),
    Waiting = [begin_request("/readyz", {127, 0, 0, 2}, Port) || _ <- lists:seq(1, 8)],
    Held = [receive {held, Pid} -> Pid end || _ <- Waiting],
    ?assertMatch({200, <<"at once">>}, ask("GET /readyz HTTP/1.1\r\n\r\n", Port)),
    _ = [Pid ! release || Pid <- Held],
    _ = [?assertMatch({200, <<"released">>}, answer(Socket)) || Socket <- Waiting],
    true = unregister(?MODULE).

%% The server ends it, long before the timeout of a whole request.
late(Port) ->
    Socket = connect(Port),
    ok = gen_tcp:send(Socket, "GET /a HTTP/1.1\r\n"),
    {ok, Answer} = gen_tcp:recv(Socket, 0),
    ?assertMatch(<<"HTTP/1.1 408", _/binary>>, Answer),
    ok = gen_tcp:close(Socket).

refusals_shown(Port) ->
    Before = refused(malformed),
    _ = [{400, _} = ask("what?\r\n\r\n", Port) || _ <- lists:seq(1, 5)],
    ?assertEqual(Before + 5, refused(malformed)),
    _ = [{401, _} = ask("GET /secret HTTP/1.1\r\n\r\n", Port) || _ <- lists:seq(1, 5)],
    ?assertEqual(5, refused(unauthorized)).

%% Helpers.

start() ->
    ok = metrics(),
    {ok, Socket} = node_http_server:listen(any(), 0),
    {ok, Port} = inet:port(Socket),
    {ok, Server} = node_http_server:start_link(Socket, options()),
    {Server, Port}.

any() -> {0, 0, 0, 0}.

metrics() ->
    ok = partisan_metrics:init(),
    node_http_refusals:register_metric().

refused(Reason) ->
    partisan_metrics:value(partisan_http_refused_total, [Reason]).

options() ->
    #{
        handler => fun echo/1,
        probes => [<<"/livez">>, <<"/readyz">>],
        secure => fun(_Socket, _Timeout) -> plain end
    }.

stop({Server, _Port}) ->
    ok = gen_server:stop(Server).

%% Waits until the server has seen the ends of all connections: until then they count.
idle(Server) ->
    partisan_test_cluster:await(fun() -> process_info(Server, monitors) =:= {monitors, []} end).

echo(#{path := <<"/fail">>}) ->
    error(on_purpose);
echo(#{path := <<"/secret">>}) ->
    node_http_server:text(401, "no");
echo(#{path := <<"/readyz">>, may_wait := false}) ->
    {200, "text/plain", "at once"};
echo(#{path := Path}) when Path =:= <<"/hold">>; Path =:= <<"/readyz">> ->
    ?MODULE ! {held, self()},
    receive
        release -> {200, "text/plain", "released"}
    end;
echo(#{method := Method, path := Path} = Request) ->
    Values = [maps:get(Key, Request) || Key <- [query, authorization, body]],
    Rest = [Value || Value <- Values, Value =/= <<>>],
    {200, "text/plain", lists:join($\s, [[Method, $\s, Path] | Rest])}.

connect(Port) ->
    connect(?HOST, Port).

%% From a separate address.
connect(From, Port) ->
    {ok, Socket} = gen_tcp:connect(?HOST, Port, [binary, {active, false}, {ip, From}]),
    Socket.

begin_request(Path, From, Port) ->
    Socket = connect(From, Port),
    ok = gen_tcp:send(Socket, ["GET ", Path, " HTTP/1.1\r\n\r\n"]),
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

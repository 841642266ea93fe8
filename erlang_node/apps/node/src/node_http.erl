%%% @doc What the node answers over HTTP: probes, metrics, its view, its status; and the orders
%%% that it takes from who has the token of the cluster.
-module(node_http).

-export([listen/1]).
-export([start_link/2]).
-export([route/2]).

%% A probe that asks to wait gets its answer after so many seconds at the latest.
-define(MAX_WAIT_SECONDS, 30).
-define(LOOK_MS, 50).

%% @doc Open the socket for requests, which wait until the server is started.
-spec listen(node_config:t()) -> {ok, gen_tcp:socket()} | {error, iolist()}.
listen(#{listen_ip := Address, http_port := Port}) ->
    case node_http_server:listen(Address, Port) of
        {ok, Socket} -> {ok, Socket};
        {error, Reason} -> {error, ["http_port ", integer_to_list(Port), ": ", Reason]}
    end.

%% @doc Start the server.
-spec start_link(gen_tcp:socket(), node_config:t()) -> {ok, pid()}.
start_link(Socket, #{workload := Workload}) ->
    ok = node_report:register_metrics(),
    Module = module(Workload),
    node_http_server:start_link(Socket, fun(Request) -> route(Request, Module) end).

%% @doc The answer to a request.
-spec route(node_http_server:request(), none | module()) ->
    node_http_server:response().
route(#{method := Method, path := Path} = Request, Workload) ->
    case {allowed(Path), Method} of
        {none, _} -> node_http_server:text(404, "there is nothing at this path");
        {Method, _} -> respond(Path, Request, Workload);
        {Allowed, _} -> node_http_server:text(405, ["this path takes ", Allowed, " only"])
    end.

%% Internals.

allowed(<<"/livez">>) -> <<"GET">>;
allowed(<<"/readyz">>) -> <<"GET">>;
allowed(<<"/metrics">>) -> <<"GET">>;
allowed(<<"/overlay">>) -> <<"GET">>;
allowed(<<"/status">>) -> <<"GET">>;
allowed(<<"/workload/start">>) -> <<"POST">>;
allowed(<<"/configuration">>) -> <<"POST">>;
allowed(<<"/dissolve">>) -> <<"POST">>;
allowed(_) -> none.

respond(<<"/livez">>, _Request, Workload) ->
    case node_report:alive(Workload) of
        true -> node_http_server:text(200, "ok");
        false -> node_http_server:text(503, "a part of the node does not answer")
    end;
respond(<<"/readyz">>, #{query := Query}, _Workload) ->
    case joined(erlang:monotonic_time(millisecond) + 1000 * wait_seconds(Query)) of
        true -> node_http_server:text(200, "ok");
        false -> node_http_server:text(503, "not joined to the overlay")
    end;
respond(<<"/metrics">>, _Request, _Workload) ->
    Text = node_prometheus:render(partisan_metrics:collect()),
    {200, node_prometheus:content_type(), Text};
respond(<<"/overlay">>, _Request, _Workload) ->
    json(node_report:overlay());
respond(<<"/status">>, _Request, Workload) ->
    json(node_report:status(Workload));
respond(Path, #{authorization := Authorization, body := Body}, Workload) ->
    case is_authorized(Authorization) of
        true -> act(Path, Body, Workload);
        false -> node_http_server:text(401, "wrong or missing bearer token")
    end.

act(<<"/workload/start">>, Body, Workload) ->
    start_workload(hd(binary:split(Body, [<<"\r">>, <<"\n">>])), Workload);
act(<<"/configuration">>, Body, _Workload) ->
    case node_settings:change(Body) of
        ok -> node_http_server:text(200, "in force");
        {error, Reason} -> node_http_server:text(400, Reason)
    end;
act(<<"/dissolve">>, _Body, _Workload) ->
    ok = partisan:dissolve(),
    node_http_server:text(202, "the nodes keep still").

start_workload(_Run, none) ->
    node_http_server:text(409, "this node has no workload");
start_workload(<<>>, _Workload) ->
    node_http_server:text(400, "the body must be the id of the run");
start_workload(Run, Workload) ->
    case Workload:start(Run) of
        ok -> node_http_server:text(202, "started");
        {error, Reason} -> node_http_server:text(409, Reason)
    end.

%% The digests have one size and are compared in constant time: how long it takes tells nothing.
is_authorized(Authorization) ->
    Expected = <<"Bearer ", (partisan_config:get(token))/binary>>,
    crypto:hash_equals(crypto:hash(sha256, Authorization), crypto:hash(sha256, Expected)).

json(Value) ->
    {200, "application/json", node_json:encode(Value)}.

%% A probe that waits has its answer the moment the node joins, and fails once where one that does
%% not wait fails every second, each time with an event on the pod.
joined(Deadline) ->
    Wait = ?LOOK_MS =< Deadline - erlang:monotonic_time(millisecond),
    case partisan:joined() of
        false when Wait -> timer:sleep(?LOOK_MS), joined(Deadline);
        Joined -> Joined
    end.

wait_seconds(<<"wait=", Text/binary>>) ->
    try
        max(0, min(binary_to_integer(Text), ?MAX_WAIT_SECONDS))
    catch
        error:badarg -> 0
    end;
wait_seconds(_) ->
    0.

module(none) -> none;
module({Module, _Options}) -> Module.

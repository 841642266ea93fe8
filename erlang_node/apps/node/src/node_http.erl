%%% @doc The node's HTTP interface: probes, metrics, view and status, and commands from clients that
%%% present the bearer.
%%%
%%% == Two generations of pods ==
%%% A pod of this version mounts the bearer, a secret for commands alone. It is read at each
%%% command, so that a new one takes effect as soon as the kubelet has written it. If the cluster
%%% has TLS, such a pod serves TLS only, and its probes use it.
%%%
%%% A pod created by an operator without the bearer has none. Its probes and its operator use plain
%%% HTTP, and commands present the token of the cluster, until the pod is replaced.
-module(node_http).

-export([listen/1]).
-export([start_link/2]).
-export([route/2]).

-export_type([served/0]).

%% Maximum wait of a probe that asks to wait.
-define(MAX_WAIT_SECONDS, 30).
-define(LOOK_MS, 50).

-type served() :: #{
    workload := none | module(),
    bearer := node_config:bearer(),
    origin := node_backup:origin()
}.

%% @doc Opens the socket; requests wait until the server is started.
-spec listen(node_config:t()) -> {ok, gen_tcp:socket()} | {error, iolist()}.
listen(#{listen_ip := Address, http_port := Port}) ->
    case node_http_server:listen(Address, Port) of
        {ok, Socket} -> {ok, Socket};
        {error, Reason} -> {error, ["http_port ", integer_to_list(Port), ": ", Reason]}
    end.

%% @doc Starts the server.
-spec start_link(gen_tcp:socket(), node_config:t()) -> {ok, pid()} | {error, term()}.
start_link(Socket, #{workload := Workload, bearer := Bearer} = Config) ->
    ok = node_report:register_metrics(),
    ok = node_http_refusals:register_metric(),
    Served = #{
        workload => module(Workload),
        bearer => Bearer,
        origin => node_backup:origin(Config)
    },
    node_http_server:start_link(Socket, #{
        handler => fun(Request) -> route(Request, Served) end,
        probes => [<<"/livez">>, <<"/readyz">>],
        secure => secure(Bearer)
    }).

%% @doc The answer to a request.
-spec route(node_http_server:request(), served()) -> node_http_server:response().
route(#{method := Method, path := Path} = Request, Served) ->
    case {allowed(Path), Method} of
        {none, _} -> node_http_server:text(404, "not found");
        {Method, _} -> respond(Path, Request, Served);
        {Allowed, _} -> node_http_server:text(405, ["this path takes ", Allowed, " only"])
    end.

%% Internals.

allowed(<<"/livez">>) -> <<"GET">>;
allowed(<<"/readyz">>) -> <<"GET">>;
allowed(<<"/metrics">>) -> <<"GET">>;
allowed(<<"/overlay">>) -> <<"GET">>;
allowed(<<"/status">>) -> <<"GET">>;
allowed(<<"/backup">>) -> <<"GET">>;
allowed(<<"/workload/start">>) -> <<"POST">>;
allowed(<<"/configuration">>) -> <<"POST">>;
allowed(<<"/dissolve">>) -> <<"POST">>;
allowed(_) -> none.

respond(<<"/livez">>, _Request, #{workload := Workload}) ->
    case node_report:alive(Workload) of
        true -> node_http_server:text(200, "ok");
        false -> node_http_server:text(503, "a process of the node does not answer")
    end;
respond(<<"/readyz">>, #{query := Query, may_wait := MayWait}, _Served) ->
    Wait =
        case MayWait of
            true -> wait_seconds(Query);
            false -> 0
        end,
    case joined(erlang:monotonic_time(millisecond) + 1000 * Wait) of
        true -> node_http_server:text(200, "ok");
        false -> node_http_server:text(503, "not joined to the overlay")
    end;
respond(<<"/metrics">>, _Request, _Served) ->
    Text = node_prometheus:render(partisan_metrics:collect()),
    {200, node_prometheus:content_type(), Text};
respond(<<"/overlay">>, _Request, _Served) ->
    json(node_report:overlay());
respond(<<"/status">>, #{query := <<"traffic">>}, #{workload := Workload}) ->
    json(maps:merge(node_report:status(Workload), node_report:traffic()));
respond(<<"/status">>, _Request, #{workload := Workload}) ->
    json(node_report:status(Workload));
respond(<<"/backup">>, _Request, #{origin := Origin}) ->
    case node_backup:take(Origin) of
        {ok, Backup} -> {200, "text/plain; charset=utf-8", Backup};
        {error, Text} -> node_http_server:text(409, Text)
    end;
respond(Path, #{authorization := Shown, body := Body}, #{workload := Workload} = Served) ->
    #{bearer := Bearer} = Served,
    case node_config:read_bearer(Bearer) of
        {ok, Expected} ->
            case is_bearer(Shown, Expected) of
                true -> act(Path, Body, Workload);
                false -> node_http_server:text(401, "wrong or missing bearer")
            end;
        {error, Text} ->
            node_http_server:text(503, Text)
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
    node_http_server:text(202, "dissolving").

start_workload(_Run, none) ->
    node_http_server:text(409, "this node has no workload");
start_workload(<<>>, _Workload) ->
    node_http_server:text(400, "the body must be the run id");
start_workload(Run, Workload) ->
    case Workload:start(Run) of
        ok -> node_http_server:text(202, "started");
        {error, Reason} -> node_http_server:text(409, Reason)
    end.

%% Digests of equal size, compared in constant time against timing attacks.
is_bearer(Shown, Expected) ->
    Wanted = <<"Bearer ", Expected/binary>>,
    crypto:hash_equals(crypto:hash(sha256, Shown), crypto:hash(sha256, Wanted)).

secure(cluster_token) -> fun(_Socket, _Timeout) -> plain end;
secure({file, _}) -> fun partisan_tls:serve/2.

json(Value) ->
    {200, "application/json", node_json:encode(Value)}.

%% A waiting probe is answered the moment the node joins, and fails once, while a probe that does
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

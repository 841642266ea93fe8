%%% @doc The node's HTTP endpoint: a module for the request chain of `httpd', the only one in it.
%%%
%%% Requests are small and so are the bounds; each connection has a process of its own and carries
%%% one request, so that a client that hangs holds up nobody else and is dropped after seconds.
-module(node_http).

-export([start_link/1]).
-export([route/3]).
%% The callback of httpd.
-export([do/1]).

-include_lib("inets/include/httpd.hrl").
-include_lib("kernel/include/logger.hrl").

-define(MAX_CLIENTS, 64).
%% A configuration with a static overlay of a thousand edges.
-define(MAX_BODY_BYTES, 65536).
-define(MAX_HEADER_BYTES, 8192).
-define(MAX_URI_BYTES, 512).
-define(IDLE_SECONDS, 5).

-type request() :: #{
    method := string(), path := string(), authorization := binary(), body := binary()
}.
-type response() :: {Status :: 200..599, ContentType :: string(), Body :: iodata()}.

-export_type([request/0, response/0]).

%% @doc Start the server.
-spec start_link(node_config:t()) -> {ok, pid()} | {error, term()}.
start_link(#{listen_ip := Address, http_port := Port, token := Token, workload := Workload}) ->
    ok = node_report:register_metrics(),
    Root = code:root_dir(),
    inets:start(
        httpd,
        [
            {port, Port},
            {bind_address, Address},
            {ipfamily, family(Address)},
            {server_name, "partisan"},
            {server_tokens, none},
            %% Required, and never served from: there is no module for files in the chain.
            {server_root, Root},
            {document_root, Root},
            {mime_types, []},
            {modules, [?MODULE]},
            {keep_alive, false},
            {keep_alive_timeout, ?IDLE_SECONDS},
            {max_clients, ?MAX_CLIENTS},
            {max_body_size, ?MAX_BODY_BYTES},
            {max_header_size, ?MAX_HEADER_BYTES},
            {max_uri_size, ?MAX_URI_BYTES},
            {partisan_token, Token},
            {partisan_workload, module(Workload)}
        ],
        stand_alone
    ).

%% @private
-spec do(#mod{}) -> {proceed, list()}.
do(#mod{method = Method, request_uri = Uri, entity_body = Body} = Request) ->
    #mod{parsed_header = Headers, config_db = Config} = Request,
    Given = #{
        method => Method,
        path => path(Uri),
        authorization => list_to_binary(proplists:get_value("authorization", Headers, "")),
        body => iolist_to_binary(Body)
    },
    Token = httpd_util:lookup(Config, partisan_token),
    Workload = httpd_util:lookup(Config, partisan_workload),
    {Status, ContentType, Content} = answer(Given, Token, Workload),
    Bytes = iolist_to_binary(Content),
    Head = [
        {code, Status},
        {content_type, ContentType},
        {content_length, integer_to_list(byte_size(Bytes))},
        {cache_control, "no-store"}
    ],
    {proceed, [{response, {response, Head, [Bytes]}}]}.

%% @doc The answer to a request.
-spec route(request(), Token :: binary(), none | module()) -> response().
route(#{method := Method, path := Path} = Request, Token, Workload) ->
    case {allowed(Path), Method} of
        {none, _} -> text(404, "there is nothing at this path");
        {Method, _} -> respond(Path, Request, Token, Workload);
        {Allowed, _} -> text(405, ["this path takes ", Allowed, " only"])
    end.

%% Internals.

%% A part of the node that does not answer, or that is just being restarted, fails this request
%% alone; the log says why.
answer(Request = #{path := Path}, Token, Workload) ->
    try
        route(Request, Token, Workload)
    catch
        Class:Reason:Stack ->
            ?LOG_WARNING(#{
                event => request_failed,
                path => Path,
                class => Class,
                reason => Reason,
                stack => Stack
            }),
            text(503, "a part of the node does not answer")
    end.

allowed(Path) when Path =:= "/workload/start"; Path =:= "/configuration" ->
    "POST";
allowed(Path) ->
    case lists:member(Path, ["/livez", "/readyz", "/metrics", "/overlay", "/status"]) of
        true -> "GET";
        false -> none
    end.

respond("/livez", _Request, _Token, Workload) ->
    case node_report:alive(Workload) of
        true -> text(200, "ok");
        false -> text(503, "a part of the node does not answer")
    end;
respond("/readyz", _Request, _Token, _Workload) ->
    case partisan:joined() of
        true -> text(200, "ok");
        false -> text(503, "not joined to the overlay")
    end;
respond("/metrics", _Request, _Token, _Workload) ->
    Text = node_prometheus:render(partisan_metrics:collect()),
    {200, node_prometheus:content_type(), Text};
respond("/overlay", _Request, _Token, _Workload) ->
    json(node_report:overlay());
respond("/status", _Request, _Token, Workload) ->
    json(node_report:status(Workload));
respond(Path, #{authorization := Authorization, body := Body}, Token, Workload) ->
    case is_authorized(Authorization, Token) of
        true -> act(Path, Body, Workload);
        false -> text(401, "wrong or missing bearer token")
    end.

act("/workload/start", Body, Workload) ->
    start_workload(hd(binary:split(Body, [<<"\r">>, <<"\n">>])), Workload);
act("/configuration", Body, _Workload) ->
    case node_settings:change(Body) of
        ok -> text(200, "in force");
        {error, Reason} -> text(400, Reason)
    end.

start_workload(_Run, none) ->
    text(409, "this node has no workload");
start_workload(<<>>, _Workload) ->
    text(400, "the body must be the id of the run");
start_workload(Run, Workload) ->
    case Workload:start(Run) of
        ok -> text(202, "started");
        {error, Reason} -> text(409, Reason)
    end.

%% The digests have one size and are compared in constant time: how long it takes tells nothing.
is_authorized(Authorization, Token) ->
    Expected = <<"Bearer ", Token/binary>>,
    crypto:hash_equals(crypto:hash(sha256, Authorization), crypto:hash(sha256, Expected)).

text(Status, Text) ->
    {Status, "text/plain; charset=utf-8", [Text, $\n]}.

json(Value) ->
    {200, "application/json", node_json:encode(Value)}.

path(Uri) ->
    lists:takewhile(fun(Char) -> Char =/= $? end, Uri).

module(none) -> none;
module({Module, _Options}) -> Module.

family({_, _, _, _}) -> inet;
family(_) -> inet6.

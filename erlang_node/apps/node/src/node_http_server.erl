%%% @doc A small HTTP/1.1 server: one request a connection, every size and every wait bounded.
%%%
%%% The emulator's own packet parser (`{packet, http_bin}') reads the head. `inets' has a server
%%% too, but it brings its request chain, `uri_string', `string' and `unicode_util' into a node that
%%% needs none of them otherwise: processor time at each start and more than a megabyte of memory,
%%% a thousand times over.
%%%
%%% One process accepts; each connection has a process of its own, so that a client that hangs holds
%%% up nobody else. At the bound on clients newcomers wait in the kernel's backlog.
-module(node_http_server).

-export([listen/2]).
-export([start_link/2]).
-export([text/2]).

-include_lib("kernel/include/logger.hrl").

-define(BACKLOG, 128).
-define(MAX_CLIENTS, 64).
%% A configuration with a static overlay of a thousand edges.
-define(MAX_BODY_BYTES, 65536).
-define(MAX_URI_BYTES, 1024).
-define(MAX_HEADER_BYTES, 4096).
%% What the parser holds at most; it closes the connection where a line is longer.
-define(MAX_LINE_BYTES, 65536).
-define(MAX_HEADERS, 32).
%% For the whole request, however slowly it arrives, and for the whole answer.
-define(REQUEST_MS, 5000).
-define(SEND_MS, 5000).
%% After a failed accept: the machine is out of descriptors or memory.
-define(RETRY_MS, 200).

-type request() :: #{
    method := binary(), path := binary(), query := binary(), authorization := binary(),
    body := binary()
}.
-type response() :: {Status :: 200..599, ContentType :: iodata(), Body :: iodata()}.
-type handler() :: fun((request()) -> response()).

-export_type([request/0, response/0, handler/0]).

%% What is known of a request before its body has come.
-record(head, {
    method :: binary(),
    uri :: binary(),
    authorization = <<>> :: binary(),
    length = 0 :: non_neg_integer(),
    expects_continue = false :: boolean()
}).

%% @doc Open the socket: from here on clients wait for an answer instead of being turned away. It is
%% the caller's, and outlives the server.
-spec listen(inet:ip_address(), inet:port_number()) ->
    {ok, gen_tcp:socket()} | {error, Reason :: string()}.
listen(Address, Port) ->
    case gen_tcp:listen(Port, options(Address)) of
        {ok, Socket} -> {ok, Socket};
        {error, Reason} -> {error, inet:format_error(Reason)}
    end.

%% @doc Answer every well-formed request with what the handler makes of it. A handler that fails
%% costs its own request alone.
-spec start_link(gen_tcp:socket(), handler()) -> {ok, pid()}.
start_link(Socket, Handler) ->
    {ok, proc_lib:spawn_link(fun() -> accept(Socket, Handler, 0) end)}.

%% @doc A response of one line of text.
-spec text(Status :: 200..599, Text :: iodata()) -> response().
text(Status, Text) ->
    {Status, "text/plain; charset=utf-8", [Text, $\n]}.

%% Internals.

options(Address) ->
    Family =
        case tuple_size(Address) of
            4 -> inet;
            8 -> inet6
        end,
    [
        Family,
        binary,
        {ip, Address},
        {packet, http_bin},
        {packet_size, ?MAX_LINE_BYTES},
        {active, false},
        {reuseaddr, true},
        {nodelay, true},
        {backlog, ?BACKLOG},
        {send_timeout, ?SEND_MS},
        {send_timeout_close, true}
    ].

accept(Listen, Handler, Clients) ->
    receive
        {'DOWN', _, process, _, _} -> accept(Listen, Handler, Clients - 1)
    after patience(Clients) ->
        case gen_tcp:accept(Listen) of
            {ok, Socket} ->
                serve(Socket, Handler),
                accept(Listen, Handler, Clients + 1);
            {error, Reason} when Reason =:= closed; Reason =:= einval ->
                exit({listening_socket, Reason});
            {error, Reason} ->
                ?LOG_WARNING(#{event => cannot_accept, reason => Reason}),
                timer:sleep(?RETRY_MS),
                accept(Listen, Handler, Clients)
        end
    end.

%% How long to wait for a client to go before the next one is accepted.
patience(Clients) when Clients < ?MAX_CLIENTS -> 0;
patience(_Clients) -> infinity.

serve(Socket, Handler) ->
    {Pid, _} = spawn_monitor(fun() ->
        receive
            go -> connection(Socket, Handler)
        end
    end),
    %% A client that has gone by now is noticed when its request is read.
    _ = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    ok.

connection(Socket, Handler) ->
    Deadline = erlang:monotonic_time(millisecond) + ?REQUEST_MS,
    case request(Socket, Deadline) of
        {ok, Request} ->
            answer(Socket, handle(Handler, Request)),
            gen_tcp:close(Socket);
        {refuse, Status, Text} ->
            answer(Socket, text(Status, Text)),
            linger(Socket, Deadline);
        closed ->
            gen_tcp:close(Socket)
    end.

handle(Handler, #{path := Path} = Request) ->
    try
        Handler(Request)
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

%% Closing a socket with unread input would reset the connection, and the client would never see
%% why it was refused: what it still sends is read first, for as long as a request may take.
linger(Socket, Deadline) ->
    _ = gen_tcp:shutdown(Socket, write),
    _ = inet:setopts(Socket, [{packet, raw}]),
    discard(Socket, Deadline).

discard(Socket, Deadline) ->
    case gen_tcp:recv(Socket, 0, left(Deadline)) of
        {ok, _} -> discard(Socket, Deadline);
        {error, _} -> gen_tcp:close(Socket)
    end.

request(Socket, Deadline) ->
    case gen_tcp:recv(Socket, 0, left(Deadline)) of
        {ok, {http_request, _, {abs_path, Uri}, _}} when byte_size(Uri) > ?MAX_URI_BYTES ->
            {refuse, 414, "the path is too long"};
        {ok, {http_request, Method, {abs_path, Uri}, _Version}} ->
            Head = #head{method = method(Method), uri = Uri},
            headers(Socket, Deadline, Head, ?MAX_HEADERS);
        Other ->
            malformed(Other)
    end.

headers(_Socket, _Deadline, _Head, 0) ->
    {refuse, 431, "too many headers"};
headers(Socket, Deadline, Head, Room) ->
    case gen_tcp:recv(Socket, 0, left(Deadline)) of
        {ok, http_eoh} ->
            body(Socket, Deadline, Head);
        {ok, {http_header, _, _, _, Value}} when byte_size(Value) > ?MAX_HEADER_BYTES ->
            {refuse, 431, "a header is too long"};
        {ok, {http_header, _, Name, _, Value}} ->
            case header(Name, Value, Head) of
                #head{} = Head1 -> headers(Socket, Deadline, Head1, Room - 1);
                Refusal -> Refusal
            end;
        Other ->
            malformed(Other)
    end.

%% The names that the parser knows come as atoms, others with each word capitalised.
header('Authorization', Value, Head) ->
    Head#head{authorization = Value};
header('Content-Length', Value, Head) ->
    try binary_to_integer(Value) of
        Length when Length > ?MAX_BODY_BYTES -> {refuse, 413, "the body is too large"};
        Length when Length >= 0 -> Head#head{length = Length};
        _ -> {refuse, 400, "content-length is no length"}
    catch
        error:badarg -> {refuse, 400, "content-length is no length"}
    end;
header('Transfer-Encoding', _Value, _Head) ->
    {refuse, 411, "the body needs a content-length"};
header(<<"Expect">>, _Value, Head) ->
    Head#head{expects_continue = true};
header(_Name, _Value, Head) ->
    Head.

body(_Socket, _Deadline, #head{length = 0} = Head) ->
    {ok, complete(Head, <<>>)};
body(Socket, Deadline, #head{length = Length} = Head) ->
    _ = Head#head.expects_continue andalso gen_tcp:send(Socket, "HTTP/1.1 100 Continue\r\n\r\n"),
    _ = inet:setopts(Socket, [{packet, raw}]),
    case gen_tcp:recv(Socket, Length, left(Deadline)) of
        {ok, Body} -> {ok, complete(Head, Body)};
        Other -> malformed(Other)
    end.

complete(#head{method = Method, uri = Uri, authorization = Authorization}, Body) ->
    {Path, Query} =
        case binary:split(Uri, <<"?">>) of
            [Whole] -> {Whole, <<>>};
            [Front, Rest] -> {Front, Rest}
        end,
    #{
        method => Method, path => Path, query => Query, authorization => Authorization,
        body => Body
    }.

malformed({ok, {http_error, _}}) -> {refuse, 400, "this is no HTTP request"};
malformed({ok, _}) -> {refuse, 400, "the request must name a path of this server"};
malformed({error, timeout}) -> {refuse, 408, "the request did not arrive in time"};
malformed({error, _}) -> closed.

answer(Socket, {Status, ContentType, Body}) ->
    Head = [
        <<"HTTP/1.1 ">>, integer_to_binary(Status), $\s, reason(Status),
        <<"\r\ncontent-type: ">>, ContentType,
        <<"\r\ncontent-length: ">>, integer_to_binary(iolist_size(Body)),
        <<"\r\ncache-control: no-store\r\nconnection: close\r\n\r\n">>
    ],
    %% Who has gone gets no answer.
    _ = gen_tcp:send(Socket, [Head, Body]),
    ok.

method(Method) when is_atom(Method) -> atom_to_binary(Method);
method(Method) -> Method.

left(Deadline) ->
    max(0, Deadline - erlang:monotonic_time(millisecond)).

reason(200) -> <<"OK">>;
reason(202) -> <<"Accepted">>;
reason(400) -> <<"Bad Request">>;
reason(401) -> <<"Unauthorized">>;
reason(404) -> <<"Not Found">>;
reason(405) -> <<"Method Not Allowed">>;
reason(408) -> <<"Request Timeout">>;
reason(409) -> <<"Conflict">>;
reason(411) -> <<"Length Required">>;
reason(413) -> <<"Content Too Large">>;
reason(414) -> <<"URI Too Long">>;
reason(431) -> <<"Request Header Fields Too Large">>;
reason(503) -> <<"Service Unavailable">>;
reason(_) -> <<"Other">>.

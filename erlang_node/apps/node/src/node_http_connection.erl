%%% @doc One connection of the HTTP server: reads a request, answers it, and closes.
%%%
%%% OTP's own packet parser (`{packet, http_bin}') reads the head, over TCP and TLS alike.
-module(node_http_connection).

-export([run/3]).

-include_lib("kernel/include/logger.hrl").

%% Room for a static overlay of a thousand edges.
-define(MAX_BODY_BYTES, 65536).
-define(MAX_URI_BYTES, 1024).
-define(MAX_HEADER_BYTES, 4096).
%% The parser's limit; it closes the connection if a line is longer.
-define(MAX_LINE_BYTES, 65536).
-define(MAX_HEADERS, 32).
%% For the head, however slowly it arrives: every client sends it with the connection. A head that
%% arrived in time is read even if the node gets to it late.
-define(HEAD_MS, 2000).
%% For the whole request.
-define(REQUEST_MS, 5000).
%% For the whole request over TLS, which adds processor time to the client's: an overloaded node
%% needs as long as the longest timeout of a probe. Slow clients gain nothing: they make room for
%% others ({@link node_http_admission}).
-define(TLS_REQUEST_MS, 15000).

-type socket() :: {gen_tcp, gen_tcp:socket()} | {ssl, ssl:sslsocket()}.

%% A request whose body has not arrived.
-record(head, {
    method :: binary(),
    uri :: binary(),
    authorization = <<>> :: binary(),
    length = none :: none | non_neg_integer(),
    expects_continue = false :: boolean()
}).

%% @doc Serves an accepted connection owned by the calling process.
-spec run(gen_tcp:socket(), pid(), node_http_server:options()) -> ok.
run(Accepted, Server, #{secure := Secure} = Options) ->
    Began = erlang:monotonic_time(millisecond),
    TlsBy = Began + ?TLS_REQUEST_MS,
    case Secure(Accepted, left(TlsBy)) of
        plain ->
            Deadlines = {Began + ?HEAD_MS, Began + ?REQUEST_MS},
            serve({gen_tcp, Accepted}, Server, Deadlines, Options);
        {ok, Socket} ->
            serve({ssl, Socket}, Server, {TlsBy, TlsBy}, Options);
        {error, closed} -> ok;
        {error, _} -> node_http_server:refused(Server, tls)
    end.

%% Internals.

serve(Socket, Server, {_, Deadline} = Deadlines, Options) ->
    _ = setopts(Socket, [{packet, http_bin}, {packet_size, ?MAX_LINE_BYTES}]),
    case request(Socket, Deadlines) of
        {ok, Request} -> respond(Socket, Server, Deadline, Request, Options);
        {refuse, Status, Text} -> refuse(Socket, Server, Deadline, reason(Status), {Status, Text});
        closed -> close(Socket)
    end.

respond(Socket, Server, Deadline, #{path := Path} = Request, Options) ->
    #{handler := Handler, probes := Probes} = Options,
    Class =
        case lists:member(Path, Probes) of
            true -> probe;
            false -> request
        end,
    case node_http_server:ask(Server, Class) of
        busy ->
            refuse(Socket, Server, Deadline, busy, {503, "too many concurrent requests"});
        Go ->
            {Status, _, _} = Response = handle(Handler, Request#{may_wait => Go =:= go}),
            _ = Status =:= 401 andalso node_http_server:refused(Server, unauthorized),
            answer(Socket, Response),
            close(Socket)
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
            node_http_server:text(503, "a process of the node does not answer")
    end.

%% Closing a socket with unread input would reset the connection and hide the answer from the
%% client, so the rest is read first, for at most the time of a request.
refuse(Socket, Server, Deadline, Reason, {Status, Text}) ->
    ok = node_http_server:refused(Server, Reason),
    answer(Socket, node_http_server:text(Status, Text)),
    _ = shutdown(Socket),
    _ = setopts(Socket, [{packet, raw}]),
    discard(Socket, Deadline).

discard(Socket, Deadline) ->
    case left(Deadline) > 0 andalso recv(Socket, 0, Deadline) of
        {ok, _} -> discard(Socket, Deadline);
        _LateOrClosed -> close(Socket)
    end.

request(Socket, {HeadBy, Deadline}) ->
    case recv(Socket, 0, HeadBy) of
        {ok, {http_request, _, {abs_path, Uri}, _}} when byte_size(Uri) > ?MAX_URI_BYTES ->
            {refuse, 414, "the path is too long"};
        {ok, {http_request, Method, {abs_path, Uri}, _Version}} ->
            case headers(Socket, HeadBy, #head{method = method(Method), uri = Uri}, ?MAX_HEADERS) of
                #head{} = Head -> body(Socket, Deadline, Head);
                Refusal -> Refusal
            end;
        Other ->
            malformed(Other)
    end.

headers(_Socket, _HeadBy, _Head, 0) ->
    {refuse, 431, "too many headers"};
headers(Socket, HeadBy, Head, Room) ->
    case recv(Socket, 0, HeadBy) of
        {ok, http_eoh} ->
            Head;
        {ok, {http_header, _, _, _, Value}} when byte_size(Value) > ?MAX_HEADER_BYTES ->
            {refuse, 431, "a header is too long"};
        {ok, {http_header, _, Name, _, Value}} ->
            case header(Name, Value, Head) of
                #head{} = Head1 -> headers(Socket, HeadBy, Head1, Room - 1);
                Refusal -> Refusal
            end;
        Other ->
            malformed(Other)
    end.

%% The parser returns the names it knows as atoms, others with each word capitalised.
header('Authorization', Value, Head) ->
    Head#head{authorization = Value};
header('Content-Length', Value, #head{length = Known} = Head) ->
    case length_of(Value) of
        none -> {refuse, 400, "content-length is not a length"};
        Length when Known =/= none, Length =/= Known ->
            {refuse, 400, "two different content-lengths"};
        Length when Length > ?MAX_BODY_BYTES -> {refuse, 413, "the body is too large"};
        Length -> Head#head{length = Length}
    end;
header('Transfer-Encoding', _Value, _Head) ->
    {refuse, 411, "the body needs a content-length"};
header(<<"Expect">>, _Value, Head) ->
    Head#head{expects_continue = true};
header(_Name, _Value, Head) ->
    Head.

%% Digits only: other servers interpret `+5' differently.
length_of(Value) ->
    Digits = [Byte || <<Byte>> <= Value, Byte >= $0, Byte =< $9],
    case Digits =/= [] andalso length(Digits) =:= byte_size(Value) of
        true -> list_to_integer(Digits);
        false -> none
    end.

body(_Socket, _Deadline, #head{length = Length} = Head) when Length =:= none; Length =:= 0 ->
    {ok, complete(Head, <<>>)};
body(Socket, Deadline, #head{length = Length} = Head) ->
    _ = Head#head.expects_continue andalso send(Socket, "HTTP/1.1 100 Continue\r\n\r\n"),
    _ = setopts(Socket, [{packet, raw}]),
    case recv(Socket, Length, Deadline) of
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

malformed({ok, {http_error, _}}) -> {refuse, 400, "not an HTTP request"};
malformed({ok, _}) -> {refuse, 400, "the request must name a path of this server"};
malformed({error, timeout}) -> {refuse, 408, "the request did not arrive in time"};
malformed({error, _}) -> closed.

answer(Socket, {Status, ContentType, Body}) ->
    Head = [
        <<"HTTP/1.1 ">>, integer_to_binary(Status), $\s, phrase(Status),
        <<"\r\ncontent-type: ">>, ContentType,
        <<"\r\ncontent-length: ">>, integer_to_binary(iolist_size(Body)),
        <<"\r\ncache-control: no-store\r\nconnection: close\r\n\r\n">>
    ],
    % A client that has gone gets no answer.
    _ = send(Socket, [Head, Body]),
    ok.

method(Method) when is_atom(Method) -> atom_to_binary(Method);
method(Method) -> Method.

left(Deadline) ->
    max(0, Deadline - erlang:monotonic_time(millisecond)).

%% Internals: TCP or TLS.

-spec recv(socket(), non_neg_integer(), Deadline :: integer()) -> {ok, term()} | {error, term()}.
recv({Transport, Socket}, Length, Deadline) ->
    case Transport:recv(Socket, Length, left(Deadline)) of
        % A node that was not scheduled meanwhile may see the timeout before the data that has
        % arrived.
        {error, timeout} -> Transport:recv(Socket, Length, 0);
        Received -> Received
    end.

send({Transport, Socket}, Data) -> Transport:send(Socket, Data).

setopts({gen_tcp, Socket}, Options) -> inet:setopts(Socket, Options);
setopts({ssl, Socket}, Options) -> ssl:setopts(Socket, Options).

shutdown({Transport, Socket}) -> Transport:shutdown(Socket, write).

close({Transport, Socket}) ->
    _ = Transport:close(Socket),
    ok.

%% Internals: status phrases.

reason(408) -> too_slow;
reason(Status) when Status =:= 413; Status =:= 414; Status =:= 431 -> too_large;
reason(_) -> malformed.

phrase(200) -> <<"OK">>;
phrase(202) -> <<"Accepted">>;
phrase(400) -> <<"Bad Request">>;
phrase(401) -> <<"Unauthorized">>;
phrase(404) -> <<"Not Found">>;
phrase(405) -> <<"Method Not Allowed">>;
phrase(408) -> <<"Request Timeout">>;
phrase(409) -> <<"Conflict">>;
phrase(411) -> <<"Length Required">>;
phrase(413) -> <<"Content Too Large">>;
phrase(414) -> <<"URI Too Long">>;
phrase(431) -> <<"Request Header Fields Too Large">>;
phrase(503) -> <<"Service Unavailable">>;
phrase(_) -> <<"Other">>.

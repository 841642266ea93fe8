%%% @doc Input and output of one console session: Erlang's I/O protocol over a socket, by lines.
%%% {@link node_console} accepts the connection.
-module(node_console_io).

-export([serve/1]).
-export([until_newline/3]).

-type read() :: {
    From :: pid(), ReplyAs :: term(), {module(), atom(), [term()]}, Continuation :: term()
}.
-type session() :: #{
    socket := gen_tcp:socket(),
    shell := pid(),
    % Typed, not read yet.
    input := string(),
    ended := boolean(),
    reads := [read()]
}.

%% @doc Runs a shell on a socket until either ends. The calling process must own the socket.
-spec serve(gen_tcp:socket()) -> no_return().
serve(Socket) ->
    receive
        {node_console, ready} -> ok
    end,
    % Processes started by the session write here, and end with it.
    true = group_leader(self(), self()),
    Shell = shell:start(true),
    _ = monitor(process, Shell),
    ok = inet:setopts(Socket, [{active, once}, {exit_on_close, false}]),
    loop(#{socket => Socket, shell => Shell, input => "", ended => false, reads => []}).

%% @private Collects a line, as the I/O protocol requires. A module on one line comes in hundreds of
%% parts: they are joined once, and the last comes first until then.
-spec until_newline([string()], string(), term()) ->
    {done, string(), string()} | {more, [string()]}.
until_newline(Before, Typed, _) ->
    case lists:splitwith(fun(Character) -> Character =/= $\n end, Typed) of
        {Line, [$\n | Rest]} -> {done, lists:append(lists:reverse(Before, [Line, "\n"])), Rest};
        {Line, ""} -> {more, [Line | Before]}
    end.

%% Internals.

-spec loop(session()) -> no_return().
loop(#{socket := Socket, shell := Shell} = Session) ->
    receive
        {io_request, From, ReplyAs, Request} ->
            loop(request(Request, From, ReplyAs, Session));
        {tcp, Socket, Bytes} ->
            ok = inet:setopts(Socket, [{active, once}]),
            loop(typed(unicode(Bytes), Session));
        {tcp_closed, Socket} ->
            loop(typed(eof, Session));
        {tcp_error, Socket, _} ->
            finish(Session);
        {'DOWN', _, process, Shell, _} ->
            finish(Session);
        _Other ->
            loop(Session)
    end.

-spec finish(session()) -> no_return().
finish(#{socket := Socket, shell := Shell}) ->
    true = exit(Shell, kill),
    ok = gen_tcp:close(Socket),
    exit(normal).

typed(eof, #{input := Input} = Session) ->
    serve_reads(Session#{input := Input ++ "\n", ended := true});
typed(Characters, #{input := Input} = Session) ->
    serve_reads(Session#{input := Input ++ Characters}).

request({put_chars, Encoding, Characters}, From, ReplyAs, Session) ->
    reply(From, ReplyAs, write(Characters, Encoding, Session)),
    Session;
request({put_chars, Encoding, Module, Function, Arguments}, From, ReplyAs, Session) ->
    reply(From, ReplyAs, write(apply(Module, Function, Arguments), Encoding, Session)),
    Session;
request({get_line, Encoding, Prompt}, From, ReplyAs, Session) ->
    Until = {get_until, Encoding, Prompt, ?MODULE, until_newline, [ignored]},
    request(Until, From, ReplyAs, Session);
request({get_until, _, Prompt, Module, Function, Arguments}, From, ReplyAs, Session) ->
    _ = write(io_lib:format_prompt(Prompt, unicode), unicode, Session),
    #{reads := Reads} = Session,
    serve_reads(Session#{reads := Reads ++ [{From, ReplyAs, {Module, Function, Arguments}, []}]});
request({requests, Requests}, From, ReplyAs, Session) ->
    several(Requests, From, ReplyAs, Session);
request(getopts, From, ReplyAs, Session) ->
    reply(From, ReplyAs, [{encoding, unicode}, {echo, false}, {binary, false}]),
    Session;
request({setopts, _}, From, ReplyAs, Session) ->
    reply(From, ReplyAs, ok),
    Session;
request(_, From, ReplyAs, Session) ->
    reply(From, ReplyAs, {error, request}),
    Session.

%% All but the last are writes, so only the last reply counts.
several([Last], From, ReplyAs, Session) ->
    request(Last, From, ReplyAs, Session);
several([First | Rest], From, ReplyAs, Session) ->
    several(Rest, From, ReplyAs, request(First, self(), ignored, Session));
several([], From, ReplyAs, Session) ->
    reply(From, ReplyAs, ok),
    Session.

write(Characters, Encoding, #{socket := Socket}) ->
    case unicode:characters_to_binary(Characters, Encoding, unicode) of
        Bytes when is_binary(Bytes) -> sent(gen_tcp:send(Socket, Bytes));
        _ -> {error, put_chars}
    end.

%% A client that has left needs no answer; the session ends by itself.
sent(_) -> ok.

serve_reads(#{reads := []} = Session) ->
    Session;
%% A shell that reads the end of its input halts the virtual machine, so it never does here.
serve_reads(#{input := "", ended := true} = Session) ->
    finish(Session);
serve_reads(#{input := ""} = Session) ->
    Session;
serve_reads(#{reads := [{From, ReplyAs, Collect, Before} | Reads], input := Input} = Session) ->
    {Module, Function, Arguments} = Collect,
    case apply(Module, Function, [Before, Input | Arguments]) of
        {done, Result, Rest} ->
            reply(From, ReplyAs, Result),
            serve_reads(Session#{reads := Reads, input := Rest});
        {more, Continuation} ->
            More = [{From, ReplyAs, Collect, Continuation} | Reads],
            serve_reads(Session#{reads := More, input := ""})
    end.

reply(From, ReplyAs, Result) ->
    From ! {io_reply, ReplyAs, Result},
    ok.

%% A multi-byte character may arrive in two parts, only when many lines are pasted; it is then read
%% byte by byte, as Latin 1.
unicode(Bytes) ->
    case unicode:characters_to_list(Bytes) of
        Characters when is_list(Characters) -> Characters;
        _ -> binary_to_list(Bytes)
    end.

%%% @doc An Erlang shell on a running node: `partisan_node remote_console' attaches to it.
%%%
%%% Reachable only by a Unix socket in the state directory: no port is opened, and Distributed
%%% Erlang is not started. Only the socket's owner can enter its directory (mode 0700), that is,
%%% processes of the same user in the same pod. A session and everything it has started end with its
%%% connection; {@link node_console_io} serves the shell's input and output.
-module(node_console).
-behaviour(gen_server).

-export([start_link/1]).
-export([attach/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-include_lib("kernel/include/logger.hrl").

-define(AGAIN_MS, 1000).

%% @doc Listens in the state directory. If that fails the node runs without a console.
-spec start_link(file:filename_all()) -> {ok, pid()} | ignore.
start_link(Directory) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Directory, []).

%% @doc Connects standard input and output to a node's console: `erl -run node_console attach PATH'.
-spec attach([Path :: string()]) -> no_return().
attach([Path]) ->
    case gen_tcp:connect({local, Path}, 0, [local, binary, {active, true}]) of
        {ok, Socket} ->
            copy(Socket, open_port({fd, 0, 1}, [binary, stream, eof]));
        {error, Reason} ->
            io:format(standard_error, "partisan_node: no node listens at ~ts: ~ts~n", [
                Path, inet:format_error(Reason)
            ]),
            halt(1)
    end.

%% @private
-spec init(file:filename_all()) -> {ok, gen_tcp:socket()} | ignore.
init(Directory) ->
    Path = filename:join([Directory, "console", "socket"]),
    case listen(Path) of
        {ok, Socket} ->
            _ = proc_lib:spawn_link(fun() -> accept(Socket) end),
            {ok, Socket};
        {error, Reason} ->
            ?LOG_WARNING(#{event => no_console, path => Path, reason => Reason}),
            ignore
    end.

%% @private
-spec handle_call(term(), gen_server:from(), gen_tcp:socket()) ->
    {reply, {error, unknown_request}, gen_tcp:socket()}.
handle_call(Unknown, _From, Socket) ->
    {reply, partisan_stray:call(Unknown), Socket}.

%% @private
-spec handle_cast(term(), gen_tcp:socket()) -> {noreply, gen_tcp:socket()}.
handle_cast(Unknown, Socket) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, Socket}.

%% @private
-spec handle_info(term(), gen_tcp:socket()) -> {noreply, gen_tcp:socket()}.
handle_info(Unknown, Socket) ->
    ok = partisan_stray:message(Unknown),
    {noreply, Socket}.

%% Internals.

listen(Path) ->
    % Restricted before the socket exists, so that no other user can ever connect.
    maybe_ok([
        fun() -> filelib:ensure_dir(Path) end,
        fun() -> file:change_mode(filename:dirname(Path), 8#700) end,
        % A previous incarnation of the container may have left its socket.
        fun() -> absent(file:delete(Path)) end,
        fun() -> gen_tcp:listen(0, [{ifaddr, {local, Path}}, binary, {active, false}]) end
    ]).

maybe_ok([Last]) ->
    Last();
maybe_ok([Step | Steps]) ->
    case Step() of
        ok -> maybe_ok(Steps);
        {error, _} = Error -> Error
    end.

absent({error, enoent}) -> ok;
absent(Result) -> Result.

accept(Listening) ->
    case gen_tcp:accept(Listening) of
        {ok, Socket} ->
            Session = proc_lib:spawn(node_console_io, serve, [Socket]),
            _ = gen_tcp:controlling_process(Socket, Session),
            Session ! {?MODULE, ready},
            accept(Listening);
        {error, closed} ->
            ok;
        {error, _NoDescriptors} ->
            timer:sleep(?AGAIN_MS),
            accept(Listening)
    end.

copy(Socket, Terminal) ->
    receive
        {Terminal, {data, Input}} ->
            _ = gen_tcp:send(Socket, Input),
            copy(Socket, Terminal);
        {Terminal, eof} ->
            % The last input is still answered.
            _ = gen_tcp:shutdown(Socket, write),
            copy(Socket, Terminal);
        {tcp, Socket, Output} ->
            true = port_command(Terminal, Output),
            copy(Socket, Terminal);
        {tcp_closed, Socket} ->
            halt(0, [{flush, true}])
    end.

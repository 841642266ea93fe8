%%% @doc A small HTTP/1.1 server over TCP or TLS: one request per connection, every size and wait
%%% bounded.
%%%
%%% `inets' has a server too, but it loads its request chain, `uri_string', `string' and
%%% `unicode_util', which a node does not need otherwise: processor time at each start and more than
%%% a megabyte of memory, a thousand times over.
%%%
%%% One process accepts, each connection has its own process ({@link node_http_connection}), and
%%% this one decides which connections to keep ({@link node_http_admission}). New connections never
%%% wait for old ones: at the limits the slowest make room, and every refusal is counted and logged
%%% ({@link node_http_refusals}).
-module(node_http_server).
-behaviour(gen_server).

-export([listen/2]).
-export([start_link/2]).
-export([text/2]).
%% For connections.
-export([ask/2]).
-export([refused/2]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).
-export([terminate/2]).

-include_lib("kernel/include/logger.hrl").

-define(BACKLOG, 1024).
%% A probe comes alone, Prometheus and the operator send one request at a time, and a few people may
%% use the plugin at once through the address of one API server.
-define(LIMITS, #{
    total => 64, per_source => 16, requests => 40, source_requests => 12, waiting => 8
}).
-define(SEND_MS, 5000).
%% Pause after a failed accept: the host is out of descriptors or memory.
-define(RETRY_MS, 200).

-type request() :: #{
    method := binary(), path := binary(), query := binary(), authorization := binary(),
    body := binary(),
    % Whether the answer may wait for an event.
    may_wait := boolean()
}.
-type response() :: {Status :: 200..599, ContentType :: iodata(), Body :: iodata()}.
-type options() :: #{
    handler := fun((request()) -> response()),
    % Paths with a capacity of their own.
    probes := [binary()],
    % Sets up TLS on an accepted connection; `plain' leaves it as it is.
    secure := fun((gen_tcp:socket(), timeout()) -> plain | {ok, ssl:sslsocket()} | {error, term()})
}.

-export_type([request/0, response/0, options/0]).

-record(state, {
    options :: options(),
    acceptor :: pid(),
    admission = node_http_admission:new(?LIMITS) :: node_http_admission:t(),
    refusals = node_http_refusals:new() :: node_http_refusals:t(),
    processes = #{} :: #{pid() => node_http_admission:key()},
    pids = #{} :: #{node_http_admission:key() => pid()}
}).

%% @doc Opens the socket: from here on clients wait instead of being refused. It belongs to the
%% caller and outlives the server.
-spec listen(inet:ip_address(), inet:port_number()) ->
    {ok, gen_tcp:socket()} | {error, Reason :: string()}.
listen(Address, Port) ->
    case gen_tcp:listen(Port, options(Address)) of
        {ok, Socket} -> {ok, Socket};
        {error, Reason} -> {error, inet:format_error(Reason)}
    end.

%% @doc Answers every well-formed request with the result of the handler. A crash of the handler
%% affects only its own request.
-spec start_link(gen_tcp:socket(), options()) -> {ok, pid()} | {error, term()}.
start_link(Socket, Options) ->
    gen_server:start_link(?MODULE, {Socket, Options}, []).

%% @doc A response of one line of text.
-spec text(Status :: 200..599, Text :: iodata()) -> response().
text(Status, Text) ->
    {Status, "text/plain; charset=utf-8", [Text, $\n]}.

%% For connections.

%% @private Called by a connection that has read its request.
-spec ask(pid(), node_http_admission:class()) -> go | at_once | busy.
ask(Server, Class) ->
    gen_server:call(Server, {ask, Class}, infinity).

%% @private Called by a connection that refuses a request. Counted before the client knows.
-spec refused(pid(), node_http_refusals:reason()) -> ok.
refused(Server, Reason) ->
    gen_server:call(Server, {refused, Reason}, infinity).

%% @private
-spec init({gen_tcp:socket(), options()}) -> {ok, #state{}}.
init({Listen, Options}) ->
    _ = process_flag(trap_exit, true),
    Server = self(),
    Acceptor = spawn_link(fun() -> accept(Listen, Server) end),
    {ok, #state{options = Options, acceptor = Acceptor}}.

%% @private
-spec handle_call(Request, gen_server:from(), #state{}) -> {reply, Reply, #state{}} when
    Request ::
        {arrived, undefined | inet:ip_address()}
        | {ask, node_http_admission:class()}
        | {refused, node_http_refusals:reason()}
        | term(),
    Reply :: {ok, pid()} | refuse | go | at_once | busy | ok | {error, unknown_request}.
handle_call({arrived, Source}, _From, #state{admission = Admission} = State) ->
    case node_http_admission:arrive(Source, Admission) of
        {admit, Key, Displaced, Admission1} ->
            State1 = displace(Displaced, State),
            {Pid, State2} = start(Key, State1#state{admission = Admission1}),
            {reply, {ok, Pid}, State2};
        refuse ->
            {reply, refuse, count(busy, Source, State)}
    end;
handle_call({ask, Class}, {Pid, _}, #state{admission = Admission, processes = Keys} = State) ->
    case Keys of
        #{Pid := Key} ->
            {Answer, Admission1} = node_http_admission:ask(Key, Class, Admission),
            {reply, Answer, State#state{admission = Admission1}};
        #{} ->
            % Displaced while it asked.
            {reply, busy, State}
    end;
handle_call({refused, Reason}, {Pid, _}, State) ->
    #state{admission = Admission, processes = Keys} = State,
    case Keys of
        #{Pid := Key} ->
            Source = node_http_admission:source(Key, Admission),
            {reply, ok, count(Reason, Source, State)};
        #{} ->
            % Displaced meanwhile, and counted as such.
            {reply, ok, State}
    end;
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, term(), #state{}}.
handle_info({'DOWN', _, process, Pid, _}, #state{processes = Keys} = State) ->
    case Keys of
        #{Pid := Key} -> {noreply, forget(Pid, Key, State)};
        #{} -> {noreply, State}
    end;
handle_info({'EXIT', Acceptor, Reason}, #state{acceptor = Acceptor} = State) ->
    {stop, Reason, State};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% @private Later connections wait for the next server.
-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, #state{acceptor = Acceptor}) ->
    Monitor = monitor(process, Acceptor),
    exit(Acceptor, kill),
    receive
        {'DOWN', Monitor, process, Acceptor, _} -> ok
    end.

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
        {packet, raw},
        {active, false},
        {reuseaddr, true},
        {nodelay, true},
        {backlog, ?BACKLOG},
        {send_timeout, ?SEND_MS},
        {send_timeout_close, true}
    ].

accept(Listen, Server) ->
    case gen_tcp:accept(Listen) of
        {ok, Socket} ->
            ok = serve(Socket, gen_server:call(Server, {arrived, source(Socket)}, infinity)),
            accept(Listen, Server);
        {error, Reason} when Reason =:= closed; Reason =:= einval ->
            exit({listening_socket, Reason});
        {error, Reason} ->
            ?LOG_WARNING(#{event => cannot_accept, reason => Reason}),
            timer:sleep(?RETRY_MS),
            accept(Listen, Server)
    end.

serve(Socket, refuse) ->
    gen_tcp:close(Socket);
serve(Socket, {ok, Pid}) ->
    % A client that has left by now is noticed when its request is read.
    case gen_tcp:controlling_process(Socket, Pid) of
        ok ->
            Pid ! {go, Socket},
            ok;
        {error, _} ->
            % Displaced already.
            gen_tcp:close(Socket)
    end.

source(Socket) ->
    case inet:peername(Socket) of
        {ok, {Address, _}} -> Address;
        {error, _} -> undefined
    end.

start(Key, #state{options = Options, processes = Processes, pids = Pids} = State) ->
    Server = self(),
    {Pid, _} = spawn_monitor(fun() ->
        receive
            {go, Socket} -> node_http_connection:run(Socket, Server, Options)
        after ?SEND_MS -> ok
        end
    end),
    {Pid, State#state{processes = Processes#{Pid => Key}, pids = Pids#{Key => Pid}}}.

displace(none, State) ->
    State;
displace(Key, #state{admission = Admission, pids = Pids} = State) ->
    #{Key := Pid} = Pids,
    Source = node_http_admission:source(Key, Admission),
    % Its socket ends with it.
    exit(Pid, kill),
    count(displaced, Source, forget(Pid, Key, State)).

forget(Pid, Key, #state{admission = Admission, processes = Processes, pids = Pids} = State) ->
    State#state{
        admission = node_http_admission:gone(Key, Admission),
        processes = maps:remove(Pid, Processes),
        pids = maps:remove(Key, Pids)
    }.

count(Reason, Source, #state{refusals = Refusals} = State) ->
    Now = erlang:monotonic_time(millisecond),
    State#state{refusals = node_http_refusals:refused(Reason, Source, Now, Refusals)}.

%%% @doc Owns the listening socket and, by link, every accepted connection.
%%%
%%% One process at a time waits in accept; when it gets a connection, the next one takes its place,
%%% unless too many unauthenticated peers are in their handshakes. Then further connections wait in
%%% the kernel's backlog until one of those finishes or times out. Nodes that start all at once are
%%% thus served in turn, and a flood costs a bounded number of processes.
%%%
%%% The listener also knows which connection serves which lane of which peer, so that a new
%%% connection can wait until its predecessors have delivered what they received: the order of a
%%% lane survives a reconnection, and messages of a previous incarnation come before those of the
%%% next.
%%%
%%% An incarnation is refused while a connection of a higher one is up: it has a successor. If the
%%% clock of a restarted node is behind, however, the successor has the lower number. The old
%%% connections are dead then; the kernel's probes find that out ({@link partisan_liveness}), and
%%% until then they may still have something to deliver.
-module(partisan_listener).

-behaviour(gen_server).

-export([start_link/0]).
-export([accept/0]).
-export([local/0]).
-export([interpose/1]).
%% For partisan_inbound.
-export([accepted/0]).
-export([established/1]).
-export([of_peer/2]).
-export([connections/0]).
-export([peers/0]).

-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).
-export([terminate/2]).

%% A lane of one incarnation of a peer.
-type key() ::
    {partisan_peer:name(), partisan_peer:incarnation(), Channel :: atom(), Lane :: 0..65535}.
-export_type([key/0]).

%% Number of member connections, and of members that have any, readable by all.
-define(COUNTS, {?MODULE, counts}).
-define(CONNECTIONS, 1).
-define(PEERS, 2).
%% Diallers wait for seconds: a listener that is so slow that a longer backlog outlasts them would
%% answer none but those that have given up.
-define(BACKLOG, 256).
%% Pause after a failed accept: the host is out of descriptors or memory.
-define(ACCEPT_RETRY, 200).

-record(state, {
    socket :: gen_tcp:socket(),
    limit :: pos_integer(),
    acceptor = none :: none | pid(),
    % Accepted, not authenticated yet.
    handshakes = #{} :: #{pid() => []},
    members = #{} :: #{pid() => key()},
    peers = #{} :: #{partisan_peer:name() => connections()},
    lanes = #{} :: #{key() => pid()}
}).

%% The connections of one peer.
-type connections() :: #{pid() => partisan_peer:incarnation()}.

%% API.

%% @doc Starts the listener for connections of other nodes.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Begins to accept: connections can now be handled.
-spec accept() -> ok.
accept() ->
    gen_server:cast(?MODULE, accept).

%% @doc This node's side of handshakes, identity and proof; the port is the actual one.
-spec local() -> partisan_handshake:local().
local() ->
    persistent_term:get(?MODULE).

%% @doc Switches the injection of faults in all connections. It applies to each frame that arrives
%% after this returns: signals to a process are queued in the order of their arrival.
-spec interpose(boolean()) -> ok.
interpose(Interposed) ->
    gen_server:call(?MODULE, {interpose, Interposed}, infinity).

%% @doc The calling acceptor has a connection.
-spec accepted() -> ok.
accepted() ->
    gen_server:cast(?MODULE, {accepted, self()}).

%% @doc The caller's peer is authenticated; returns the connections that it replaces.
-spec established(key()) -> {ok, Predecessors :: [pid()]} | outdated.
established(Key) ->
    gen_server:call(?MODULE, {established, Key}, infinity).

%% @doc The connections of a peer's incarnations before the given one.
-spec of_peer(partisan_peer:name(), Before :: partisan_peer:incarnation() | infinity) -> [pid()].
of_peer(Name, Before) ->
    gen_server:call(?MODULE, {of_peer, Name, Before}, infinity).

%% @doc Number of incoming connections that are up.
-spec connections() -> non_neg_integer().
connections() ->
    counters:get(persistent_term:get(?COUNTS), ?CONNECTIONS).

%% @doc Number of nodes with an incoming connection that is up.
-spec peers() -> non_neg_integer().
peers() ->
    counters:get(persistent_term:get(?COUNTS), ?PEERS).

%% gen_server.

%% @private
-spec init([]) -> {ok, #state{}} | {stop, term()}.
init([]) ->
    process_flag(trap_exit, true),
    Ip = partisan_config:get(listen_ip),
    Port = partisan_config:get(listen_port),
    case gen_tcp:listen(Port, options(Ip)) of
        {ok, Socket} ->
            {ok, ActualPort} = inet:port(Socket),
            persistent_term:put(?MODULE, local(ActualPort)),
            persistent_term:put(?COUNTS, counters:new(2, [])),
            {ok, #state{socket = Socket, limit = partisan_config:get(handshakes)}};
        {error, Reason} ->
            {stop, {cannot_listen, Ip, Port, inet:format_error(Reason)}}
    end.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) ->
    {reply, ok | {ok, [pid()]} | outdated | [pid()] | {error, unknown_request}, #state{}}.
handle_call({established, {Name, Incarnation, _, _} = Key}, {Pid, _}, State) ->
    #state{handshakes = Handshakes, members = Members, peers = Peers, lanes = Lanes} = State,
    Theirs = maps:get(Name, Peers, #{}),
    case lists:any(fun(I) -> I > Incarnation end, maps:values(Theirs)) of
        false ->
            State1 = State#state{
                handshakes = maps:remove(Pid, Handshakes),
                members = Members#{Pid => Key},
                peers = Peers#{Name => Theirs#{Pid => Incarnation}},
                lanes = Lanes#{Key => Pid}
            },
            Replaced = [P || #{Key := P} <- [Lanes]],
            Predecessors = Replaced ++ before(Incarnation, Theirs),
            {reply, {ok, Predecessors}, next_acceptor(counted(State1))};
        true ->
            {reply, outdated, State}
    end;
handle_call({interpose, _} = Order, _From, State) ->
    #state{acceptor = Acceptor, handshakes = Handshakes, members = Members} = State,
    Accepting = [Acceptor || is_pid(Acceptor)],
    Connections = Accepting ++ maps:keys(Handshakes) ++ maps:keys(Members),
    lists:foreach(fun(Connection) -> Connection ! Order end, Connections),
    {reply, ok, State};
handle_call({of_peer, Name, Before}, _From, #state{peers = Peers} = State) ->
    {reply, before(Before, maps:get(Name, Peers, #{})), State};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(accept, State) ->
    {noreply, next_acceptor(State)};
handle_cast({accepted, Pid}, #state{acceptor = Pid, handshakes = Handshakes} = State) ->
    {noreply, next_acceptor(State#state{acceptor = none, handshakes = Handshakes#{Pid => []}})};
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, term(), #state{}}.
handle_info({'EXIT', Pid, Reason}, #state{acceptor = Pid} = State) ->
    logger:error("partisan: cannot accept connections: ~0p", [Reason]),
    _ = erlang:send_after(?ACCEPT_RETRY, self(), accept_again),
    {noreply, State#state{acceptor = none}};
handle_info({'EXIT', Pid, _}, #state{handshakes = Handshakes} = State) when
    is_map_key(Pid, Handshakes)
->
    {noreply, next_acceptor(State#state{handshakes = maps:remove(Pid, Handshakes)})};
handle_info({'EXIT', Pid, _}, #state{members = Members} = State) when is_map_key(Pid, Members) ->
    {noreply, counted(ended(Pid, State))};
handle_info(accept_again, State) ->
    {noreply, next_acceptor(State)};
handle_info({'EXIT', Socket, Reason}, #state{socket = Socket} = State) ->
    {stop, Reason, State};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% @private
-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, #state{socket = Socket}) ->
    gen_tcp:close(Socket).

%% Internals.

%% An atom is greater than any number.
before(Incarnation, Theirs) ->
    [Pid || {Pid, I} <- maps:to_list(Theirs), I < Incarnation].

ended(Pid, #state{members = Members0, peers = Peers, lanes = Lanes} = State) ->
    {{Name, _, _, _} = Key, Members} = maps:take(Pid, Members0),
    Theirs = maps:remove(Pid, map_get(Name, Peers)),
    State#state{
        members = Members,
        peers =
            case map_size(Theirs) of
                0 -> maps:remove(Name, Peers);
                _ -> Peers#{Name := Theirs}
            end,
        lanes =
            case Lanes of
                #{Key := Pid} -> maps:remove(Key, Lanes);
                #{} -> Lanes
            end
    }.

counted(#state{members = Members, peers = Peers} = State) ->
    Counts = persistent_term:get(?COUNTS),
    ok = counters:put(Counts, ?CONNECTIONS, map_size(Members)),
    ok = counters:put(Counts, ?PEERS, map_size(Peers)),
    State.

next_acceptor(#state{acceptor = none, handshakes = Handshakes, limit = Limit} = State) when
    map_size(Handshakes) < Limit
->
    State#state{acceptor = partisan_inbound:start_link(State#state.socket)};
next_acceptor(State) ->
    State.

local(Port) ->
    Self = partisan_peer:new(
        partisan_config:get(name),
        partisan_config:get(host),
        Port,
        partisan_config:get(incarnation)
    ),
    #{
        self => Self,
        cluster => partisan_config:get(cluster),
        token => partisan_config:get(token)
    }.

options(Ip) ->
    [
        case tuple_size(Ip) of
            8 -> inet6;
            4 -> inet
        end,
        binary,
        {ip, Ip},
        {packet, raw},
        {active, false},
        {reuseaddr, true},
        {backlog, ?BACKLOG},
        {nodelay, true},
        % Only handshakes and heartbeat answers are written: a peer that does not read them is gone.
        {send_timeout, partisan_config:get(handshake_timeout)},
        {send_timeout_close, true}
        % Accepted connections inherit these.
        | partisan_liveness:keepalive(partisan_config:get(heartbeat_interval))
    ].

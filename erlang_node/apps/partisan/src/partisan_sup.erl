%%% @doc The processes of the runtime and the tables that outlive them.
%%%
%%% Each start is another incarnation of the node, chosen first. The listener is next: the manager
%%% describes the node by the actual port, and accepts connections once it is there to handle them.
%%% Neither works without the other, and every connection is linked to one of them, so they restart
%%% together, and with them all processes with state about other nodes: acknowledgements, monitors,
%%% subscriptions.
-module(partisan_sup).

-behaviour(supervisor).

-export([start_link/0]).
-export([init/1]).

%% @doc Starts the runtime.
-spec start_link() -> supervisor:startlink_ret().
start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

%% @private
-spec init([]) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init([]) ->
    ok = partisan_metrics:init(),
    ok = partisan_injection:init(),
    ok = partisan_transport:init(),
    ok = partisan_view:init(),
    ok = partisan_ack_order:init(),
    ok = partisan_reach:init(),
    ok = partisan_parked:setup(),
    ok = partisan_spawned:init(),
    ok = partisan_spawn_request:init(),
    ok = partisan_handlers:setup(),
    Flags = #{strategy => one_for_all, intensity => 3, period => 60},
    Children = [
        #{id => Module, start => {Module, start_link, []}}
     || Module <- [
            partisan_incarnation,
            partisan_interposition,
            partisan_handlers,
            partisan_listener,
            partisan_manager,
            partisan_acks,
            partisan_remote,
            partisan_events_server,
            partisan_pubsub,
            partisan_liveness,
            partisan_discovery_server
        ]
    ],
    {ok, {Flags, Children}}.

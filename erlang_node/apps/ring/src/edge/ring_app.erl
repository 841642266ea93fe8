%%% @doc The application: a supervisor of the rings on this node, of which there are none at first.
-module(ring_app).
-behaviour(application).
-behaviour(supervisor).

-export([start_ring/2]).
-export([stop_ring/1]).
-export([start/2]).
-export([stop/1]).
-export([init/1]).

%% @private
-spec start_ring(ring_table:ring(), ring_table:options()) -> ok | {error, term()}.
start_ring(Ring, Options) ->
    Start = {ring_sup, start_link, [Ring, Options]},
    try supervisor:start_child(?MODULE, #{id => Ring, type => supervisor, start => Start}) of
        {ok, _} -> ok;
        {error, {{shutdown, {failed_to_start_child, table, Description}}, _}} ->
            {error, Description};
        {error, _} = Error -> Error
    catch
        exit:{noproc, _} ->
            {error, "the application ring does not run; application:ensure_all_started(ring)"}
    end.

%% @private
-spec stop_ring(ring_table:ring()) -> ok.
stop_ring(Ring) ->
    case supervisor:terminate_child(?MODULE, Ring) of
        ok -> supervisor:delete_child(?MODULE, Ring);
        {error, not_found} -> ok
    end.

%% @private
-spec start(application:start_type(), term()) -> {ok, pid()} | {error, term()}.
start(_Type, _Arguments) ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

%% @private
-spec stop(term()) -> ok.
stop(_State) ->
    ok.

%% @private
-spec init([]) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init([]) ->
    {ok, {#{strategy => one_for_one, intensity => 3, period => 60}, []}}.

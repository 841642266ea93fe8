%%% Keeps a node's log for a test: of the node it runs on, or of a cluster's by peer:call/4.
-module(partisan_test_log).

-export([start/1, lines/0]).
%% The handler.
-export([log/2]).

%% Starts keeping events of this level or above; calling it again starts over.
start(Level) ->
    ok = make_table(ets:whereis(?MODULE)),
    true = ets:delete_all_objects(?MODULE),
    ok = logger:set_primary_config(level, Level),
    case logger:add_handler(?MODULE, ?MODULE, #{level => Level}) of
        ok -> ok;
        {error, {already_exist, ?MODULE}} -> ok
    end.

%% The table lives as long as the node.
make_table(undefined) ->
    Caller = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        ?MODULE = ets:new(?MODULE, [named_table, public, ordered_set]),
        Caller ! {made, self()},
        receive stop -> ok end
    end),
    receive
        {made, Pid} -> true = demonitor(Monitor, [flush]), ok
    end;
make_table(_Table) ->
    ok.

%% Texts, the oldest first.
lines() ->
    [Line || {_, Line} <- ets:tab2list(?MODULE)].

log(Event, _Config) ->
    Line = unicode:characters_to_list(logger_formatter:format(Event, #{single_line => true})),
    true = ets:insert(?MODULE, {erlang:unique_integer([monotonic]), Line}).

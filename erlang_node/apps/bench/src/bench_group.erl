%%% @doc The virtual machines of one system: two or more, each in a place of its own. They are
%%% controlled over their standard input and output, so that only the measured messages are on the
%%% wire between them.
-module(bench_group).

-export([start/4]).
-export([stop/1]).
-export([call/4]).

-define(BOOT_MS, 60000).
-define(CALL_MS, 600000).
%% Two periods in which HyParView looks for neighbours.
-define(REST_MS, 10000).
%% Of these, until links that still change are an error.
-define(RESTS, 30).
-define(DISTERL_PORT, 4370).
-define(PORT, 7946).

%% A place that a virtual machine runs in.
-type host() :: #{ip := inet:ip4_address(), command := [string()]}.
-type system() :: #{
    % For example bench_ours.
    module := module(),
    arguments := [string()],
    environment := [{string(), string()}],
    % Two by default.
    nodes => pos_integer(),
    % A full mesh by default; only ours has others.
    overlay => bench_system:overlay(),
    % Instead of the default channels.
    channels => [{bench_system:channel(), Lanes :: pos_integer()}],
    % Directories of the code that it runs, by default those of the driver's own.
    paths => [file:filename()]
}.
%% `a' and `b' are the measured pair: the first two in a full mesh, otherwise no neighbours.
-type t() :: #{
    a := pid(), b := pid(), nodes := [pid()], names := [atom()], module := module()
}.
-export_type([host/0, system/0, t/0]).

%% @doc Starts a system in these places. Systems with different numbers can run at once.
-spec start([atom()], system(), [host()], Number :: non_neg_integer()) -> t().
start(Names, #{module := Module} = System, Hosts, Number) ->
    Addresses = [
        #{name => Name, ip => Ip, port => ?PORT + Number}
     || {Name, #{ip := Ip}} <- lists:zip(Names, Hosts)
    ],
    Booting = [
        bench_worker:start(fun() -> boot(Host, System, ?DISTERL_PORT + Number) end)
     || Host <- Hosts
    ],
    Nodes = [bench_worker:await(Boot) || Boot <- Booting],
    Channels = maps:get(channels, System, bench_system:channels()),
    Overlay = maps:get(overlay, System, full_mesh),
    _ = [ok = call(Node, bench_system, configure, [Channels, Overlay]) || Node <- Nodes],
    _ = [
        ok = call(Node, Module, start, [Address, lists:delete(Address, Addresses)])
     || {Node, Address} <- lists:zip(Nodes, Addresses)
    ],
    _ = [ok = call(Node, Module, connect, []) || Node <- Nodes],
    {A, B} = pair(Overlay, Nodes, Names),
    #{a => A, b => B, nodes => Nodes, names => Names, module => Module}.

%% @doc Ends them. `peer:stop/1' would first have each write what its sockets hold, for another one
%% that does not read any more.
-spec stop(t()) -> ok.
stop(#{nodes := Nodes}) ->
    Monitors = [monitor(process, Node) || Node <- Nodes],
    _ = [ok = peer:cast(Node, erlang, halt, [0, [{flush, false}]]) || Node <- Nodes],
    lists:foreach(
        fun(Monitor) ->
            receive
                {'DOWN', Monitor, process, _, _} -> ok
            end
        end,
        Monitors
    ).

%% @doc Calls a function in one of them.
-spec call(pid(), module(), atom(), [term()]) -> term().
call(Node, Module, Function, Arguments) ->
    peer:call(Node, Module, Function, Arguments, ?CALL_MS).

%% Internals.

pair(full_mesh, [A, B | _], _Names) ->
    {A, B};
pair(_Partial, Nodes, Names) ->
    ok = await_rest(Nodes, [], ?RESTS),
    [{A, NameA, NameB} | _] = [
        {Node, Name, Distant}
     || {Node, Name} <- lists:zip(Nodes, Names),
        [Distant | _] <- [call(Node, bench_ours, distant, [])]
    ],
    {B, NameB} = lists:keyfind(NameB, 2, lists:zip(Nodes, Names)),
    ok = call(A, bench_ours, set_peer, [NameB]),
    ok = call(B, bench_ours, set_peer, [NameA]),
    {A, B}.

%% Until no links change any more: those that are no neighbours now must stay so.
await_rest(_Nodes, _Before, 0) ->
    error(links_do_not_rest);
await_rest(Nodes, Before, Left) ->
    case [lists:sort(call(Node, partisan, neighbours, [])) || Node <- Nodes] of
        Before ->
            ok;
        Now ->
            timer:sleep(?REST_MS),
            await_rest(Nodes, Now, Left - 1)
    end.

boot(#{command := Command}, System, DisterlPort) ->
    #{arguments := Arguments, environment := Environment} = System,
    [Program | Before] = Command ++ ["erl"],
    Ours = [Path || Path <- code:get_path(), is_ours(Path)],
    Paths = lists:append([["-pa", Path] || Path <- maps:get(paths, System, Ours)]),
    {ok, Node, _} = peer:start(#{
        connection => standard_io,
        exec => {os:find_executable(Program), Before},
        wait_boot => ?BOOT_MS,
        env => Environment,
        args => Arguments ++ Paths ++ [
            "-start_epmd", "false", "-erl_epmd_port", integer_to_list(DisterlPort),
            "-kernel", "logger_level", "critical"
        ]
    }),
    Node.

is_ours(Path) ->
    string:find(Path, "_build") =/= nomatch.

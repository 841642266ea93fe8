%%% @doc The table of calls over Distributed Erlang and over ours on each overlay: outcomes are
%%% equal, or the difference has a written reason. Writes build/results/api.json.
-module(comparison_tests).

-include_lib("eunit/include/eunit.hrl").

-define(T, partisan_test_cluster).
%% The node that does not exist is the last.
-define(ROLES, [node_a, node_b, node_c, node_victim, node_absent]).
%% Of all cases on one overlay, in milliseconds; each has a limit of its own.
-define(ALL, 600000).

comparison_test_() ->
    {timeout, 3600, fun() ->
        {First, Others} = lists:split(5, comparison_overlays:kinds()),
        [Disterl | Ours] = at_the_same_time([
            fun distributed_erlang/0, fun() -> ours(First) end, fun() -> ours(Others) end
        ]),
        Expected = maps:from_list(Disterl),
        Cells = [
            cell(Overlay, Key, maps:get(Key, Expected), Outcome)
         || {Overlay, Outcomes} <- lists:append(Ours), {Key, Outcome} <- lists:sort(Outcomes)
        ],
        ok = comparison_results:write(Cells),
        ?assertEqual([], [Cell || Cell <- Cells, is_hung(Cell)]),
        ?assertEqual([], [Cell || #{equal := false, reason := none} = Cell <- Cells]),
        ?assertEqual([], comparison_differences:obsolete(Cells))
    end}.

%% At least 300 calls, half of them about errors, each with a name of its own.
table_test() ->
    Cases = comparison_cases:all(),
    Keys = [{Call, Case} || {Call, Case, _, _} <- Cases],
    ?assertEqual([], Keys -- lists:usort(Keys)),
    ?assert(length(Cases) >= 300),
    ?assert(2 * length([error || {_, _, Kind, _} <- Cases, Kind =/= ok]) >= length(Cases)).

page_test() ->
    ?assertEqual(ok, comparison_page:check()).

is_hung(#{disterl := Disterl, ours := Ours}) ->
    lists:member(<<"killed">>, [Disterl, Ours]).

cell(Overlay, {Call, Case}, Disterl, Ours) ->
    #{
        call => Call,
        'case' => Case,
        overlay => Overlay,
        disterl => comparison_outcome:text(Disterl),
        ours => comparison_outcome:text(Ours),
        equal => Disterl =:= Ours,
        reason =>
            case Disterl of
                Ours -> none;
                _ -> comparison_differences:reason(Call, Case)
            end
    }.

%% The outcomes over Distributed Erlang. All nodes listen on one port, each on its own address.
distributed_erlang() ->
    Net = ?T:net(),
    Port = integer_to_list(free_port()),
    Configurations = [?T:configuration(Net, I, #{}) || I <- lists:seq(1, 5)],
    Names = [
        list_to_atom(lists:concat([Role, "@", inet:ntoa(Host)]))
     || {Role, #{host := Host}} <- lists:zip(?ROLES, Configurations)
    ],
    Roles = maps:from_list(lists:zip(?ROLES, Names)),
    Nodes = [
        start(Net, Configuration, ["-start_epmd", "false", "-erl_epmd_port", Port])
     || Configuration <- lists:droplast(Configurations)
    ],
    _ = [
        prepare(Node, comparison_disterl, #{node => Name, ip => Host}, Roles)
     || {Node, Name, #{host := Host}} <- zip3(Nodes, Names, Configurations)
    ],
    try
        outcomes(Nodes)
    after
        ?T:stop(Nodes)
    end.

at_the_same_time(Functions) ->
    Started = [spawn_monitor(fun() -> exit({ok, F()}) end) || F <- Functions],
    [receive {'DOWN', M, process, _, Result} -> {ok, R} = Result, R end || {_, M} <- Started].

%% The outcomes by overlay. The emulators are the same for all but that of the victim.
ours(Overlays) ->
    Net = ?T:net(),
    Configurations = [?T:configuration(Net, I, #{}) || I <- lists:seq(1, 5)],
    Present = lists:droplast(Configurations),
    Others = [start(Net, Configuration, []) || Configuration <- lists:droplast(Present)],
    Names = [Name || #{name := Name} <- Configurations],
    Roles = maps:from_list(lists:zip(?ROLES, Names)),
    try
        [
            {Overlay, over(Overlay, Roles, Net, Present, Others)}
         || Overlay <- Overlays
        ]
    after
        ?T:stop(Others)
    end.

over(Overlay, Roles, Net, Configurations, Others) ->
    Victim = start(Net, lists:last(Configurations), []),
    Nodes = Others ++ [Victim],
    Parameters = comparison_overlays:parameters(Overlay, [?T:peer(Node) || Node <- Nodes]),
    try
        _ = [
            prepare(
                Node,
                comparison_ours,
                Configuration#{
                    overlay => {Overlay, Parameters},
                    % In a star, the server.
                    seeds => [?T:peer(lists:nth(3, Nodes))],
                    replicas => length(Nodes),
                    heartbeat_interval => 1000,
                    remote_execution => [
                        lists, erlang, comparison_functions, comparison_handler, partisan_control
                    ]
                },
                Roles
            )
         || {Node, Configuration} <- lists:zip(Nodes, Configurations)
        ],
        ok = ?T:await(fun() ->
            lists:all(fun(Node) -> ?T:call(Node, partisan, joined, []) end, Nodes)
        end),
        Outcomes = outcomes(Nodes),
        _ = [ok = ?T:call(Node, comparison_run, finish, []) || Node <- Others],
        Outcomes
    after
        ?T:stop([Victim])
    end.

%% The first node runs every case, then those in which the last one is killed.
outcomes([#{peer := A}, _, _, #{os := Victim}]) ->
    peer:call(A, comparison_run, all, [Victim], ?ALL).

start(Net, Configuration, Flags) ->
    ?T:start_bare(Net, Configuration, ["-pa", filename:dirname(code:which(?MODULE)) | Flags]).

prepare(Node, System, Configuration, Roles) ->
    ok = ?T:call(Node, comparison_run, prepare, [System, Configuration, Roles]).

free_port() ->
    {ok, Socket} = gen_tcp:listen(0, []),
    {ok, Port} = inet:port(Socket),
    ok = gen_tcp:close(Socket),
    Port.

zip3([A | As], [B | Bs], [C | Cs]) -> [{A, B, C} | zip3(As, Bs, Cs)];
zip3(_, _, _) -> [].

%%% @doc Discovery of seeds: answers as values, and nodes that find one another by DNS and a file.
-module(partisan_discovery_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, await/1]).

%% Answers.

addresses_test() ->
    {ok, Peers} = partisan_discovery:records([{10, 0, 0, 12}, {10, 0, 0, 3}, {10, 0, 0, 12}], #{}),
    ?assertEqual(
        [peer(<<"10.0.0.3">>, {10, 0, 0, 3}), peer(<<"10.0.0.12">>, {10, 0, 0, 12})], Peers
    ),
    {ok, [Six]} = partisan_discovery:records([{16#fd00, 0, 0, 0, 0, 0, 0, 1}], #{port => 1}),
    ?assertMatch(#{name := <<"fd00::1">>, port := 1}, Six).

services_test() ->
    {ok, Peers} = partisan_discovery:records(
        [{2, 0, 7001, "ads-0.ads"}, {1, 9, 7002, "Ads-7.ads"}, {1, 0, 7003, "ads-5.ads"}], #{}
    ),
    ?assertEqual(
        [{<<"ads-5">>, 7003}, {<<"ads-7">>, 7002}, {<<"ads-0">>, 7001}],
        [{Name, Port} || #{name := Name, port := Port} <- Peers]
    ).

file_test() ->
    Text = <<"# the first two\nads-1 10.0.0.1\r\n\n ads-0\tads-0.example 7001 # there\nads-2 ::1">>,
    ?assertEqual(
        {ok, [
            peer(<<"ads-1">>, {10, 0, 0, 1}),
            partisan_peer:new(<<"ads-0">>, "ads-0.example", 7001),
            peer(<<"ads-2">>, {0, 0, 0, 0, 0, 0, 0, 1})
        ]},
        partisan_discovery:parse(Text, #{})
    ),
    [
        ?assertEqual({error, "line 2 must be NAME HOST [PORT]"}, partisan_discovery:parse(Bad, #{}))
     || Bad <- [<<"a b\nads-1">>, <<"\na b c">>, <<"\na b 65536">>, <<"\na b 1 2">>]
    ].

decisions_test() ->
    [A, B, C] = Peers = [peer(Name, {127, 0, 0, 1}) || Name <- [<<"a">>, <<"b">>, <<"c">>]],
    Two = #{file => "nodes", seeds => 2},
    ?assertEqual({use, [A, B]}, partisan_discovery:decide({ok, Peers}, [], Two)),
    ?assertEqual(keep, partisan_discovery:decide({ok, Peers}, [A, B], Two)),
    ?assertEqual({use, [B, C]}, partisan_discovery:decide({ok, [B, B, C]}, [A, B], Two)),
    ?assertEqual({keep, "no nodes are listed"}, partisan_discovery:decide({ok, []}, [A], Two)),
    ?assertEqual({keep, "x"}, partisan_discovery:decide({error, "x"}, [A], Two)).

options_test_() ->
    [
        {lists:flatten(io_lib:format("~0p", [Given])),
            ?_assertEqual(Valid, partisan_discovery:is_valid(Given))}
     || {Valid, Given} <- [
            {true, none},
            {true, #{dns => {srv, "_ads._tcp.example"}}},
            {true, #{dns => {a, "x"}, port => 1, seeds => 3, interval => 1, nameservers => []}},
            {true, #{dns => {aaaa, "x"}, nameservers => [{{127, 0, 0, 1}, 53}]}},
            {true, #{file => <<"nodes.txt">>}},
            {false, #{}},
            {false, #{dns => {mx, "x"}}},
            {false, #{dns => {a, ""}}},
            {false, #{dns => {a, "x"}, file => "nodes"}},
            {false, #{dns => {a, "x"}, nameservers => [{127, 0, 0, 1}]}},
            {false, #{file => "nodes", nameservers => []}},
            {false, #{file => "nodes", seeds => 0}},
            {false, #{file => "nodes", port => 0}},
            {false, #{file => "nodes", every => 1}}
        ]
    ].

%% Nodes.

nodes_test_() ->
    [
        {Title, {timeout, 600, fun() -> with_name_server(Test) end}}
     || {Title, Test} <- [
            {"nodes find one another by their addresses", fun by_address/1},
            {"nodes find one another by services, and follow them", fun by_service/1},
            {"nodes find one another in a file, and follow it", fun by_file/1}
        ]
    ].

by_address({Net, Dns}) ->
    Addresses = [host(Net, I) || I <- [1, 2, 3]],
    ok = partisan_test_dns:set(Dns, #{{"ads.example", a} => Addresses}),
    Nodes = start(Net, #{dns => {a, "ads.example"}}, Dns, fun partisan_discovery:name/1),
    ok = partisan_test_cluster:connected(Nodes),
    partisan_test_cluster:stop(Nodes).

%% The service is unknown at first, and the nodes are alone; then it names one that never starts.
by_service({Net, Dns}) ->
    Nodes = start(Net, #{dns => {srv, "_ads._tcp.example"}, seeds => 1}, Dns, fun node_name/1),
    Service = fun(I) ->
        Record = {0, 0, 7946, binary_to_list(node_name(host(Net, I))) ++ ".ads.example"},
        partisan_test_dns:set(Dns, #{{"_ads._tcp.example", srv} => [Record]})
    end,
    ok = Service(4),
    ok = all_have_seeds([<<"node-4">>], Nodes),
    ok = Service(1),
    ok = partisan_test_cluster:connected(Nodes),
    partisan_test_cluster:stop(Nodes).

%% The file lists a node that does not exist, is written again in two steps, and vanishes.
by_file({Net, Dns}) ->
    File = filename:join(partisan_test_directory:new(), "nodes"),
    Line = fun(I) ->
        [node_name(host(Net, I)), " ", inet:ntoa(host(Net, I)), $\n]
    end,
    try
        Nodes = start(Net, #{file => File}, Dns, fun node_name/1),
        ok = file:write_file(File, Line(4)),
        ok = all_have_seeds([<<"node-4">>], Nodes),
        ok = file:write_file(File, "node-1"),
        ok = file:write_file(File, [Line(1), Line(2)]),
        ok = all_have_seeds([<<"node-1">>, <<"node-2">>], Nodes),
        ok = partisan_test_cluster:connected(Nodes),
        % A file that cannot be used, and none, leave the seeds as they are.
        ok = file:write_file(File, [lists:duplicate(300, $n), " 127.0.0.1"]),
        ok = asked_again(Nodes),
        ok = file:delete(File),
        ok = asked_again(Nodes),
        [?assertEqual([<<"node-1">>, <<"node-2">>], seed_names(N)) || N <- Nodes],
        partisan_test_cluster:stop(Nodes)
    after
        file:del_dir_r(filename:dirname(File))
    end.

%% Internals.

with_name_server(Test) ->
    Dns = partisan_test_dns:start(),
    try
        Test({partisan_test_cluster:net(), Dns})
    after
        partisan_test_dns:stop(Dns)
    end.

%% Each node knows the host names that a service may list.
start(Net, Discovery, Dns, Name) ->
    Nodes = [start_bare(Net, I, options(Discovery, Dns), Name) || I <- [1, 2, 3]],
    [ok = call(N, partisan_test_cluster, boot, [C]) || #{configuration := C} = N <- Nodes],
    Nodes.

start_bare(Net, I, Discovery, Name) ->
    #{host := Host} = Common = partisan_test_cluster:configuration(Net, I, #{seeds => []}),
    Node = partisan_test_cluster:start_bare(Net, Common#{
        name => Name(Host), discovery => Discovery
    }),
    ok = call(Node, inet_db, set_lookup, [[file]]),
    [
        ok = call(Node, inet_db, add_host, [Ip, [binary_to_list(node_name(Ip)) ++ ".ads.example"]])
     || J <- [1, 2, 3], Ip <- [host(Net, J)]
    ],
    Node.

options(#{dns := _} = Discovery, Dns) ->
    Discovery#{interval => 100, nameservers => [partisan_test_dns:address(Dns)]};
options(Discovery, _Dns) ->
    Discovery#{interval => 100}.

asked_again(Nodes) ->
    lists:foreach(
        fun(N) ->
            ask = call(N, erlang, send, [partisan_discovery_server, ask]),
            % It handles that first, and is still there.
            _ = call(N, sys, get_state, [partisan_discovery_server])
        end,
        Nodes
    ).

all_have_seeds(Names, Nodes) ->
    await(fun() -> lists:all(fun(N) -> seed_names(N) =:= Names end, Nodes) end).

seed_names(Node) ->
    [Name || #{name := Name} <- call(Node, partisan_config, get, [seeds])].

node_name({_, _, _, I}) -> <<"node-", (integer_to_binary(I))/binary>>.

host({A, B}, I) -> {127, A, B, I}.

peer(Name, Host) -> partisan_peer:new(Name, Host, 7946).

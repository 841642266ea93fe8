%%% @doc Changing the overlay of running nodes, on real sockets, under acknowledged traffic.
-module(partisan_switch_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).
-export([send_all/3]).

-define(COUNT, 6).
-define(LAST, 1500).

switch_test_() ->
    {setup, fun cluster/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {"what cannot be an overlay is refused", {timeout, 60, fun() -> refused(Nodes) end}},
            {"from overlay to overlay, and nothing acknowledged is lost",
                {timeout, 120, fun() -> under_load(Nodes) end}}
        ]
    end}.

cluster() ->
    Nodes = partisan_test_cluster:start(?COUNT, #{
        overlay => {full_mesh, #{}}, channels => [#{name => default, parallelism => 2}]
    }),
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
    ok = await(fun() -> degrees(Nodes) =:= [?COUNT - 1] end),
    Nodes.

refused([Node | _]) ->
    ?assertMatch({error, "overlay must be " ++ _}, call(Node, partisan, switch, [{nonsense, #{}}])).

under_load([A | _] = Nodes) ->
    B = lists:last(Nodes),
    _ = call(A, erlang, spawn, [?MODULE, send_all, [name(B), sink, ?LAST]]),
    lists:foreach(
        fun({Kind, _} = Spec) ->
            [ok = call(Node, partisan, switch, [Spec]) || Node <- Nodes],
            ok = await(fun() -> kinds(Nodes) =:= [Kind] andalso components(Nodes) =:= 1 end)
        end,
        [
            {hyparview, #{}},
            {client_server, #{servers => [<<"node-1">>]}},
            {cyclon, #{}},
            {full_mesh, #{}}
        ]
    ),
    ok = await(fun() -> degrees(Nodes) =:= [?COUNT - 1] end),
    ok = await(fun() -> call(B, partisan_test_sink, count, [sink]) >= ?LAST end),
    ?assertEqual(lists:seq(1, ?LAST), call(B, partisan_test_sink, take, [sink, ?LAST])).

send_all(To, Sink, Last) ->
    lists:foreach(
        fun(N) -> ok = partisan:forward(To, Sink, N, #{ack => {notify, N}}) end, lists:seq(1, Last)
    ).

kinds(Nodes) ->
    lists:usort([maps:get(kind, call(Node, partisan, overlay, [])) || Node <- Nodes]).

degrees(Nodes) ->
    lists:usort([length(call(Node, partisan, neighbours, [])) || Node <- Nodes]).

components(Nodes) ->
    Links = maps:from_list([{name(N), call(N, partisan, neighbours, [])} || N <- Nodes]),
    partisan_graph:component_count(Links).

%%% @doc Every overlay of the simulator, on real sockets: it forms, and broadcasts arrive.
-module(partisan_overlay_sockets_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

-define(NODES, 6).

forms_and_delivers_test_() ->
    [
        {
            atom_to_list(Kind),
            {timeout, 600, fun() -> with_nodes(Overlay, fun forms_and_delivers/1) end}
        }
     || {Kind, _} = Overlay <- [
            {xbot, #{active_max => 3, active_min => 2}},
            {cyclon, #{view_size => 3, shuffle_size => 2, shuffle_interval => 500}},
            {scamp_v1, #{redundancy => 1}},
            {scamp_v2, #{redundancy => 1}},
            {hiscamp, #{level => <<"zone-a">>}}
        ]
    ].

xbot_measures_test_() ->
    {"X-BOT measures its neighbours",
        {timeout, 600, fun() ->
            Fast = #{active_max => 3, active_min => 2, optimisation_interval => 200},
            with_nodes({xbot, Fast}, fun(Nodes) ->
                await(fun() -> lists:all(fun has_measured/1, Nodes) end)
            end)
        end}}.

with_nodes(Overlay, Test) ->
    Nodes = partisan_test_cluster:start(?NODES, #{overlay => Overlay}),
    try
        Test(Nodes)
    after
        partisan_test_cluster:stop(Nodes)
    end.

forms_and_delivers([Origin | _] = Nodes) ->
    await(fun() -> simulator_graph:component_count(links(Nodes)) =:= 1 end),
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
    ok = call(Origin, partisan, broadcast, [sink, news]),
    % The sender gets it as well.
    await(fun() ->
        lists:all(fun(Node) -> call(Node, partisan_test_sink, count, [sink]) =:= 1 end, Nodes)
    end).

links(Nodes) ->
    maps:from_list([{name(Node), call(Node, partisan, neighbours, [])} || Node <- Nodes]).

%% Every neighbour more than once; the series does not exist before the first time.
has_measured(Node) ->
    Value = [partisan_overlay_events_total, [measured]],
    try call(Node, partisan_metrics, value, Value) > 10
    catch error:badarg -> false
    end.

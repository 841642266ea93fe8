%%% @doc The rule for notifications of nodes and channels.
-module(partisan_events_tests).

-include_lib("eunit/include/eunit.hrl").

-define(E, partisan_events).

once_test() ->
    E0 = ?E:subscribe(self(), node, ?E:new()),
    {Up, E1} = ?E:node_up(<<"a">>, E0),
    ?assertEqual([{send, self(), {nodeup, <<"a">>}}], Up),
    ?assertEqual({[], E1}, ?E:node_up(<<"a">>, E1)),
    ?assertEqual([<<"a">>], ?E:up(E1)),
    {Down, E2} = ?E:node_down(<<"a">>, lost, E1),
    ?assertEqual([{send, self(), {nodedown, <<"a">>}}], Down),
    ?assertEqual({[], E2}, ?E:node_down(<<"a">>, lost, E2)),
    ?assertEqual([], ?E:up(E2)).

subscriptions_test() ->
    Other = spawn(fun() -> ok end),
    Subscribe = fun({Pid, Key}, E) -> ?E:subscribe(Pid, Key, E) end,
    E0 = lists:foldl(Subscribe, ?E:new(), [{self(), node}, {self(), node}, {Other, node}]),
    Notified = fun(E) -> {Effects, _} = ?E:node_up(<<"a">>, E), [P || {send, P, _} <- Effects] end,
    ?assertEqual([self(), self(), Other], Notified(E0)),
    ?assertEqual([Other], Notified(?E:unsubscribe(self(), node, E0))),
    ?assertEqual([self(), self()], Notified(?E:forget(Other, E0))),
    ?assertEqual(Notified(E0), Notified(?E:unsubscribe(self(), {node, []}, E0))).

options_test() ->
    Events = fun(Options) ->
        E0 = ?E:subscribe(self(), {node, Options}, ?E:new()),
        {Up, E1} = ?E:node_up(<<"a">>, E0),
        {Down, _} = ?E:node_down(<<"a">>, lost, E1),
        [Message || {send, _, Message} <- Up ++ Down]
    end,
    ?assertEqual([{nodeup, <<"a">>, []}, {nodedown, <<"a">>, []}], Events([])),
    ?assertEqual(
        [{nodeup, <<"a">>, []}, {nodedown, <<"a">>, [{nodedown_reason, lost}]}],
        Events([{nodedown_reason, true}])
    ),
    ?assertEqual(
        [
            {nodeup, <<"a">>, [{node_type, visible}]},
            {nodedown, <<"a">>, [{node_type, visible}]}
        ],
        Events([{node_type, all}])
    ),
    ?assertEqual([], Events([{node_type, hidden}])),
    % As a map.
    ?assertEqual([{nodeup, <<"a">>, #{}}, {nodedown, <<"a">>, #{}}], Events(#{})),
    ?assertEqual(
        [
            {nodeup, <<"a">>, #{node_type => visible}},
            {nodedown, <<"a">>, #{node_type => visible, nodedown_reason => lost}}
        ],
        Events(#{node_type => visible, nodedown_reason => true})
    ),
    ?assertEqual([], Events(#{node_type => hidden})).

hooks_test() ->
    Fun = fun(Node) -> Node end,
    Hooks = [{up, <<"a">>, any, Fun}, {down, '_', any, Fun}, {up, '_', bulk, Fun}],
    E0 = lists:foldl(fun(H, E) -> ?E:subscribe(self(), H, E) end, ?E:new(), Hooks),
    {Up, E1} = ?E:node_up(<<"a">>, E0),
    ?assertEqual([{run, Fun, <<"a">>}], Up),
    ?assertMatch({[], _}, ?E:node_up(<<"b">>, E0)),
    ?assertMatch({[{run, Fun, <<"a">>}], _}, ?E:node_down(<<"a">>, lost, E1)).

%% Two lanes of one channel are one channel.
lanes_test() ->
    Fun = fun(Node) -> Node end,
    [One, Two] = [spawn(fun() -> ok end) || _ <- [1, 2]],
    E0 = ?E:subscribe(self(), {down, '_', bulk, Fun}, ?E:new()),
    E1 = ?E:subscribe(self(), {up, '_', bulk, Fun}, E0),
    Key = {<<"a">>, bulk},
    {Up, E2} = ?E:lane_up(One, Key, E1),
    ?assertEqual([{run, Fun, <<"a">>}], Up),
    ?assertEqual({[], E2}, ?E:lane_up(One, Key, E2)),
    {[], E3} = ?E:lane_up(Two, Key, E2),
    ?assertMatch({[], _}, ?E:lane_up(Two, {<<"a">>, default}, E1)),
    {[], E4} = ?E:lane_down(One, E3),
    {Down, E5} = ?E:lane_down(Two, E4),
    ?assertEqual([{run, Fun, <<"a">>}], Down),
    ?assertEqual({[], E5}, ?E:lane_down(Two, E5)).

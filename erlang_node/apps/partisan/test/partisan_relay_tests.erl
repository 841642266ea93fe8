%%% @doc Messages to members that are not neighbours, on real sockets.
-module(partisan_relay_tests).

-include_lib("eunit/include/eunit.hrl").

%% On the nodes.
-export([waits/3]).

-define(LARGE, 524288).
-define(DROPPED, 5).

-import(partisan_test_cluster, [call/4, name/1, await/1, send_in_background/5]).

%% Two clients of one server, without a connection to each other.
star_test_() ->
    {setup, fun() -> cluster(3, fun star/1) end, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {"the first messages stay in order", {timeout, 600, fun() -> first(Nodes) end}},
            {"a client reaches a client through the server",
                {timeout, 600, fun() -> through_the_server(Nodes) end}},
            {"messages of one key stay in order on the way",
                {timeout, 600, fun() -> in_order(Nodes) end}},
            {"no route to an absent node is found",
                {timeout, 600, fun() -> absent_node(Nodes) end}},
            {"neighbours only", {timeout, 600, fun() -> neighbours_only(Nodes) end}},
            {"a message takes at most its number of hops",
                {timeout, 600, fun() -> hops(Nodes) end}},
            {"a frozen client does not delay messages to others",
                {timeout, 600, fun() -> frozen_client(Nodes) end}}
        ]
    end}.

%% Partial views smaller than the cluster: every pair still exchanges a message.
partial_views_test_() ->
    {setup, fun() -> cluster(8, fun partial/1) end, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        {"every pair of a partial view", {timeout, 600, fun() -> every_pair(Nodes) end}}
    end}.

%% They are sent while the route is searched for, and afterwards.
first([_Server, A, B]) ->
    Last = 2000,
    ok = send_in_background(B, A, key, Last, bulk),
    ?assertEqual([{key, N} || N <- lists:seq(1, Last)], take(A, Last)).

through_the_server([_Server, A, B]) ->
    ?assertEqual([], call(A, partisan, neighbours, []) -- [<<"node-1">>]),
    ?assertEqual(ok, forward(A, B, hello, #{})),
    ?assertEqual([hello], take(B, 1)).

in_order([_Server, A, B]) ->
    Last = 2000,
    ok = send_in_background(A, B, key, Last, bulk),
    ?assertEqual([{key, N} || N <- lists:seq(1, Last)], take(B, Last)).

%% Not even together do the messages wait for as long as the search.
absent_node([_Server, A, _B]) ->
    Dropped = fun() -> maps:get(dropped, maps:get(default, call(A, partisan, channels, []))) end,
    Before = Dropped(),
    Send = fun(Options) -> call(A, partisan, forward, [<<"absent">>, sink, hello, Options]) end,
    ?assertEqual({error, no_route}, Send(#{await_route => false})),
    ?assertEqual([ok], lists:usort([Send(#{}) || _ <- lists:seq(1, 100)])),
    ok = await(fun() -> Dropped() =:= Before + 100 end),
    % There is room again.
    ok = await(fun() -> call(A, ets, info, [partisan_parked, size]) =:= 0 end).

neighbours_only([Server, A, B]) ->
    ?assertEqual({error, not_connected}, forward(A, B, too_far, #{ttl => 0})),
    ?assertEqual(ok, forward(A, Server, near_enough, #{ttl => 0})),
    ?assertEqual([near_enough], take(Server, 1)).

hops([Server, A, B]) ->
    {ok, Channel} = call(Server, partisan_channel, find, [default]),
    Arrived = fun(Hops) ->
        Header = {name(B), name(A), Hops, 1, partisan_ref:label(sink)},
        {Result, _Busy} =
            call(Server, partisan_relay, arrived, [Header, <<>>, Channel, partisan_relay:new()]),
        Result
    end,
    ?assertEqual({dropped, hops_exceeded}, Arrived(0)),
    ?assertEqual(passed, Arrived(1)).

%% Of the messages to a frozen client that do not fit in its lane, only the first one waits for
%% room.
frozen_client([Server, A, B]) ->
    ok = forward(A, B, hello, #{}),
    [hello] = take(B, 1),
    ok = partisan_test_cluster:freeze(B),
    try
        ?assertEqual(1, call(Server, ?MODULE, waits, [name(A), name(B), ?DROPPED]))
    after
        partisan_test_cluster:thaw(B)
    end.

%% How often a connection waits for room before it has dropped that many messages.
waits(Source, Target, Dropped) ->
    {ok, Channel} = partisan_channel:find(narrow),
    Header = {Target, Source, 9, 1, partisan_ref:label(sink)},
    Payload = iolist_to_binary(partisan_frame:payload({sink, rand:bytes(?LARGE)})),
    1 = erlang:trace(self(), true, [send, {tracer, spawn(fun() -> count(0) end)}]),
    ok = pass_on(Dropped, Header, Payload, Channel, partisan_relay:new()),
    {tracer, Counter} = erlang:trace_info(self(), tracer),
    1 = erlang:trace(self(), false, [all]),
    Delivered = erlang:trace_delivered(self()),
    receive {trace_delivered, _, Delivered} -> ok end,
    Counter ! {waits, self()},
    receive {waits, Count} -> Count end.

pass_on(0, _Header, _Payload, _Channel, _Busy) ->
    ok;
pass_on(Left, Header, Payload, Channel, Busy0) ->
    case partisan_relay:arrived(Header, Payload, Channel, Busy0) of
        {passed, Busy} -> pass_on(Left, Header, Payload, Channel, Busy);
        {{dropped, busy}, Busy} -> pass_on(Left - 1, Header, Payload, Channel, Busy)
    end.

count(Waits) ->
    receive
        {trace, _, send, {await_room, _}, _} -> count(Waits + 1);
        {trace, _, _, _, _} -> count(Waits);
        {waits, From} -> From ! {waits, Waits}
    end.

%% Acknowledged: the views may still change, and a message on a link that ends is lost.
every_pair(Nodes) ->
    Pairs = [{From, To} || From <- Nodes, To <- Nodes, From =/= To],
    Options = #{ack => true, timeout => 60000},
    [?assertEqual(ok, forward(From, To, {from, name(From)}, Options)) || {From, To} <- Pairs],
    lists:foreach(
        fun(To) ->
            Expected = [{from, name(From)} || {From, T} <- Pairs, T =:= To],
            ?assertEqual(lists:sort(Expected), lists:sort(take(To, length(Expected))))
        end,
        Nodes
    ).

%% Helpers.

cluster(Count, Overlay) ->
    Nodes = partisan_test_cluster:start(Count, maps:merge(Overlay(Count), #{
        channels => [
            #{name => default},
            #{name => bulk, parallelism => 4},
            #{name => narrow, queue_bytes => ?LARGE}
        ],
        % A frozen node stays a neighbour for as long as a test lasts.
        heartbeat_interval => 60000
    })),
    ok = await(fun() -> is_one_component(Nodes) end),
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
    Nodes.

is_one_component(Nodes) ->
    Links = maps:from_list([{name(N), call(N, partisan, neighbours, [])} || N <- Nodes]),
    simulator_graph:component_count(Links) =:= 1.

star(_Count) ->
    #{overlay => {client_server, #{servers => [<<"node-1">>]}}}.

partial(_Count) ->
    #{overlay => {hyparview, #{active_max => 3, active_min => 2, promotion_interval => 500}}}.

forward(From, To, Message, Options) ->
    call(From, partisan, forward, [name(To), sink, Message, Options]).

take(Node, Count) ->
    call(Node, partisan_test_sink, take, [sink, Count]).

%%% @doc Publishers on real nodes: large messages, and more than there is room for.
-module(partisan_pubsub_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([subscribe/1, publish_many/3, published/0, failures/0]).

-define(LIMIT, 100000).
-define(PUBLISHERS, 150).
-define(EACH, 4).

trio_test_() ->
    {setup, fun trio/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> Test(Nodes) end}}
         || {Title, Test} <- [
                {"an oversized broadcast is refused", fun broadcast/1},
                {"an oversized message is refused, and no subscriber is lost", fun publish/1},
                {"publishers do not wait for each other", fun each_other/1}
            ]
        ]
    end}.

trio() ->
    Nodes = partisan_test_cluster:start_connected(3, #{
        message_bytes => ?LIMIT, lane_queue_bytes => 65536, mailbox_messages => 100
    }),
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
    [ok = call(Node, ?MODULE, subscribe, [news]) || Node <- Nodes],
    ok = await(fun() -> agreed(Nodes) end),
    Nodes.

broadcast([A | _] = Nodes) ->
    Send = fun(Size) -> call(A, partisan, broadcast, [sink, binary:copy(<<1>>, Size)]) end,
    Sizes = lists:seq(?LIMIT - 200, ?LIMIT, 10),
    Outcomes = [{Size, Send(Size)} || Size <- Sizes],
    Sent = [Size || {Size, ok} <- Outcomes],
    Refused = [Size || {Size, {error, {too_large, Bytes}}} <- Outcomes, Bytes > ?LIMIT],
    ?assertEqual(Sizes, Sent ++ Refused),
    ?assert(Sent =/= [] andalso Refused =/= []),
    [?assertEqual(Sent, lists:sort(sizes(Node, length(Sent)))) || Node <- Nodes].

publish([A | _] = Nodes) ->
    Send = fun(Size) -> call(A, partisan, publish, [news, binary:copy(<<1>>, Size)]) end,
    Sizes = lists:seq(?LIMIT - 1500, ?LIMIT, 50),
    Outcomes = [{Size, Send(Size)} || Size <- Sizes],
    Sent = [Size || {Size, ok} <- Outcomes],
    Refused = [Size || {Size, {error, {too_large, Bytes}}} <- Outcomes, Bytes > ?LIMIT],
    ?assertEqual(Sizes, Sent ++ Refused),
    ?assert(Sent =/= [] andalso Refused =/= []),
    ok = call(A, partisan, publish, [news, <<"after">>]),
    [?assertEqual(Sent ++ [5], sizes(Node, length(Sent) + 1)) || Node <- Nodes],
    ?assert(agreed(Nodes)).

%% More callers than a mailbox may hold, on all nodes at once, with little room on the way.
each_other(Nodes) ->
    Before = [dropped(Node) || Node <- Nodes],
    [ok = call(Node, ?MODULE, publish_many, [news, ?PUBLISHERS, ?EACH]) || Node <- Nodes],
    Each = ?PUBLISHERS * ?EACH,
    ok = await(
        fun() -> [call(Node, ?MODULE, published, []) || Node <- Nodes] =:= [Each, Each, Each] end,
        100000
    ),
    ?assertEqual([0, 0, 0], [call(Node, ?MODULE, failures, []) || Node <- Nodes]),
    % Messages missed by a slow subscriber are counted; no node was taken for lost.
    ok = await(fun() ->
        Arrived = lists:sum([call(Node, partisan_test_sink, count, [sink]) || Node <- Nodes]),
        Missed = lists:sum([dropped(Node) || Node <- Nodes]) - lists:sum(Before),
        Arrived + Missed =:= 3 * 3 * Each
    end),
    ?assert(agreed(Nodes)).

%% Helpers.

await(Condition, Timeout) -> partisan_test_cluster:await(Condition, Timeout).

agreed(Nodes) ->
    Names = lists:sort([name(Node) || Node <- Nodes]),
    lists:all(
        fun(N) -> lists:sort(call(N, partisan_pubsub, subscribers, [news])) =:= Names end, Nodes
    ).

sizes(Node, Count) ->
    [
        case Message of
            {partisan, {published, news, Payload}} -> byte_size(Payload);
            Payload -> byte_size(Payload)
        end
     || Message <- call(Node, partisan_test_sink, take, [sink, Count])
    ].

dropped(Node) ->
    #{default := #{dropped := Dropped}} = call(Node, partisan, channels, []),
    Dropped.

%% On the nodes.

subscribe(Topic) ->
    partisan:subscribe(Topic, whereis(sink)).

publish_many(Topic, Publishers, Each) ->
    Counter = counters:new(2, []),
    persistent_term:put(?MODULE, Counter),
    [
        spawn(fun() ->
            [
                case partisan:publish(Topic, rand:bytes(5000)) of
                    ok -> counters:add(Counter, 1, 1);
                    _ -> counters:add(Counter, 2, 1)
                end
             || _ <- lists:seq(1, Each)
            ]
        end)
     || _ <- lists:seq(1, Publishers)
    ],
    ok.

published() -> counters:get(persistent_term:get(?MODULE), 1).
failures() -> counters:get(persistent_term:get(?MODULE), 2).

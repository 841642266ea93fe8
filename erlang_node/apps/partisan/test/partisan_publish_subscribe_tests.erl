%%% @doc Publish-subscribe over brokers, on real nodes.
-module(partisan_publish_subscribe_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([subscribe/1, publish_some/2, count/0]).

-define(BROKERS, [<<"node-1">>, <<"node-2">>]).
-define(BLOCK, 65536).

%% Two brokers and four clients; the last but one test kills a broker.
cluster_test_() ->
    {setup, fun cluster/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> Test(Nodes) end}}
         || {Title, Test} <- [
                {"links to brokers only", fun links/1},
                {"a message reaches an inbox without a search", fun inboxes/1},
                {"a topic reaches its subscribers", fun topics/1},
                {"a subscriber that does not read holds its publishers back", fun pressure/1},
                {"subscriptions follow the loss of a broker", fun broker_lost/1},
                {"a switch to another overlay and back loses no message", fun switch/1}
            ]
        ]
    end}.

links([A, B | Clients]) ->
    [?assertEqual(?BROKERS, neighbours(Node)) || Node <- Clients],
    Names = [name(Node) || Node <- Clients],
    ?assertEqual([name(B) | Names], neighbours(A)),
    ?assertEqual([name(A) | Names], neighbours(B)),
    [?assert(call(Node, partisan, joined, [])) || Node <- Clients].

inboxes([_, _, C, D | _]) ->
    Searches = broadcasts(C),
    ?assertEqual(ok, call(C, partisan, forward, [name(D), sink, hello])),
    ?assertEqual([hello], call(D, partisan_test_sink, take, [sink, 1])),
    ?assertEqual(Searches, broadcasts(C)).

topics([A, _, C, D, E, F] = Nodes) ->
    In = [A, C, D, F],
    [ok = call(N, ?MODULE, subscribe, [news]) || N <- In],
    ok = registered(Nodes, news, In),
    Last = 50,
    [?assertEqual(ok, call(E, partisan, publish, [news, N])) || N <- lists:seq(1, Last)],
    [?assertEqual(lists:seq(1, Last), published(N, news, Last)) || N <- In],
    [?assertEqual(0, call(N, partisan_test_sink, count, [sink])) || N <- Nodes -- In].

%% The broker's lane and the subscriber's window are full long before the last message; the
%% publisher waits, and goes on when the subscriber does.
pressure([_, _, C, D | _] = Nodes) ->
    Total = 200,
    ok = call(D, ?MODULE, subscribe, [bulk]),
    ok = registered(Nodes, bulk, [D]),
    ok = partisan_test_cluster:freeze(D),
    ok = call(C, ?MODULE, publish_some, [bulk, Total]),
    Count = fun() -> call(C, ?MODULE, count, []) end,
    try
        ok = await(fun() -> step_waits(Nodes) end),
        ?assert(Count() < Total)
    after
        partisan_test_cluster:thaw(D)
    end,
    ok = await(fun() -> Count() =:= Total end),
    ?assertEqual(lists:seq(1, Total), published(D, bulk, Total)).

broker_lost([_, _, C, D, E, F] = Nodes) ->
    {Dead, Left} = homes(Nodes),
    ok = partisan_test_cluster:kill(Dead),
    ?assertEqual(ok, call(E, partisan, publish, [news, after_the_loss])),
    [?assertEqual([after_the_loss], published(N, news, 1)) || N <- [C, D, F]],
    ok = await(fun() -> neighbours(E) =:= [name(Left)] end),
    ok = call(E, ?MODULE, subscribe, [later]),
    ok = await(fun() -> call(Left, partisan_pubsub, subscribers, [later]) =:= [name(E)] end),
    ?assertEqual(ok, call(C, partisan, publish, [later, hello])),
    ?assertEqual([hello], published(E, later, 1)).

switch([_, _, C, D | _] = Nodes) ->
    {Dead, Left} = homes(Nodes),
    ok = call(D, ?MODULE, subscribe, [moving]),
    ok = await(fun() -> call(Left, partisan_pubsub, subscribers, [moving]) =:= [name(D)] end),
    Specs = [{full_mesh, #{}}, overlay()],
    Sent = lists:flatmap(
        fun({Spec, First}) ->
            [ok = call(N, partisan, switch, [Spec]) || N <- Nodes -- [Dead]],
            Numbers = lists:seq(First, First + 19),
            [?assertEqual(ok, call(C, partisan, publish, [moving, N])) || N <- Numbers],
            ok = await(fun() -> length(neighbours(C)) =:= 4 end),
            ok = await(fun() -> length(neighbours(D)) =:= 4 end),
            Numbers
        end,
        lists:zip(Specs, [1, 101])
    ),
    ?assertEqual(Sent, published(D, moving, length(Sent))),
    ?assertEqual(0, call(D, partisan_test_sink, count, [sink])).

%% Helpers.

cluster() ->
    Net = partisan_test_cluster:net(),
    Start = fun(Index) ->
        Configuration = partisan_test_cluster:configuration(Net, Index, #{
            overlay => overlay(),
            seeds => [peer(Net, 1), peer(Net, 2)],
            lane_queue_bytes => 1 bsl 20,
            % Searches alone are broadcast.
            broadcast_exchange_interval => 3600000,
            % A frozen node stays a neighbour for as long as a test lasts.
            heartbeat_interval => 60000
        }),
        partisan_test_cluster:start_node(Net, Configuration)
    end,
    Nodes = lists:map(Start, lists:seq(1, 6)),
    ok = await(fun() ->
        [length(neighbours(N)) || N <- Nodes] =:= [5, 5, 2, 2, 2, 2]
    end),
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
    Nodes.

overlay() ->
    {publish_subscribe, #{brokers => ?BROKERS}}.

peer(Net, Index) ->
    #{name := Name, host := Host, listen_port := Port} =
        partisan_test_cluster:configuration(Net, Index, #{}),
    partisan_peer:new(Name, Host, Port).

neighbours(Node) ->
    lists:sort(call(Node, partisan, neighbours, [])).

%% The first broker of the topic `news', and the other one.
homes([A, B | _]) ->
    case partisan_rendezvous:ranked({topic, news}, ?BROKERS) of
        [<<"node-1">>, _] -> {A, B};
        [<<"node-2">>, _] -> {B, A}
    end.

broadcasts(Node) ->
    [
        Samples
     || #{name := partisan_broadcast_messages_total, samples := Samples} <-
            call(Node, partisan_metrics, collect, [])
    ].

registered([A, B | _], Topic, Subscribers) ->
    Names = lists:sort([name(N) || N <- Subscribers]),
    await(fun() ->
        [call(N, partisan_pubsub, subscribers, [Topic]) || N <- [A, B]] =:= [Names, Names]
    end).

published(Node, Topic, Count) ->
    Taken = call(Node, partisan_test_sink, take, [sink, Count]),
    [
        case Message of
            {Number, Block} when is_binary(Block) -> Number;
            _ -> Message
        end
     || {partisan, {published, T, Message}} <- Taken, T =:= Topic
    ].

%% Whether a step waits for room on one of the brokers.
step_waits([A, B | _]) ->
    lists:any(
        fun(Node) ->
            State = call(Node, sys, get_state, [partisan_pubsub]),
            [Steps] = [Part || Part <- tuple_to_list(State), is_record(Part, steps, 3)],
            partisan_pubsub_steps:waiting_for(Steps) =/= []
        end,
        [A, B]
    ).

%% On the nodes.

subscribe(Topic) ->
    partisan:subscribe(Topic, whereis(sink)).

publish_some(Topic, Total) ->
    Done = counters:new(1, []),
    persistent_term:put(?MODULE, Done),
    _ = spawn(fun() ->
        lists:foreach(
            fun(N) ->
                ok = partisan:publish(Topic, {N, rand:bytes(?BLOCK)}),
                counters:add(Done, 1, 1)
            end,
            lists:seq(1, Total)
        )
    end),
    ok.

count() ->
    counters:get(persistent_term:get(?MODULE), 1).

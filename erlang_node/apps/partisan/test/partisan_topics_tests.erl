%%% @doc Subscriptions spread, and publications reach exactly the subscribers.
-module(partisan_topics_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([change_all/2]).

%% Nodes in a connected graph; messages arrive in any order, and some subscriptions are lost.
exactly_the_subscribers_test_() ->
    {timeout, 600, fun() ->
        ?assert(proper:quickcheck(exactly_the_subscribers(), [{numtests, 300}, {to_file, user}]))
    end}.

exactly_the_subscribers() ->
    ?FORALL(
        {Count, Seed, Loss, Dead},
        {range(2, 24), integer(1, 1 bsl 30), range(0, 50), range(0, 3)},
        begin
            _ = rand:seed(exsss, {Seed, Count, Loss}),
            World0 = world(Count),
            Subscribers = [N || N <- nodes_of(World0), rand:uniform(2) =:= 1],
            Subscribed = lists:foldl(
                fun(N, W) ->
                    event(N, fun(T) -> partisan_topics:subscribe(news, T) end, W)
                end,
                World0,
                Subscribers
            ),
            Quiet = repair(Count * 3, run(Loss, Subscribed)),
            Agreed = [
                lists:sort(partisan_topics:subscribers(news, T)) || T <- maps:values(states(Quiet))
            ],
            % Some die silently; the publisher survives.
            Publisher = hd(nodes_of(Quiet)),
            Killed = lists:sublist(tl(nodes_of(Quiet)), Dead),
            Publish = fun(T) -> partisan_topics:publish(news, hello, T) end,
            Published = run(0, event(Publisher, Publish, kill(Killed, Quiet))),
            Delivered = lists:sort([N || {N, news, hello} <- delivered(Published)]),
            ?WHENFAIL(
                io:format(user, "~p~n~p~n~p~n", [Subscribers, Agreed, Delivered]),
                lists:usort(Agreed) =:= [Subscribers] andalso
                    Delivered =:= Subscribers -- Killed
            )
        end
    ).

a_node_taken_for_dead_objects_test() ->
    A0 = partisan_topics:new(<<"a">>, 1),
    {A1, []} = partisan_topics:subscribe(news, A0),
    {A2, _} = partisan_topics:neighbour_up(<<"b">>, A1),
    Claim = {entries, #{<<"a">> => {{1, 2}, []}}},
    {A3, [{send, <<"b">>, Objection}]} = partisan_topics:message(<<"b">>, Claim, A2),
    ?assertEqual({entries, #{<<"a">> => {{1, 3}, [news]}}}, Objection),
    ?assertEqual([<<"a">>], partisan_topics:subscribers(news, A3)).

entries_beyond_one_message_test() ->
    Name = fun(N) -> <<"n", (integer_to_binary(N))/binary>> end,
    Large = binary:copy(<<0>>, 100000),
    Entries = maps:from_list([{Name(N), {{1, 1}, [{N, Large}]}} || N <- lists:seq(1, 50)]),
    Heard = {entries, Entries},
    {T0, []} = partisan_topics:message(<<"b">>, Heard, partisan_topics:new(<<"a">>, 1)),
    {T1, First} = partisan_topics:neighbour_up(<<"c">>, T0),
    {_, Again} = partisan_topics:message(<<"c">>, {compare, 0}, T1),
    Parts = [Part || {send, <<"c">>, {entries, Part}} <- First],
    ?assertEqual(25, length(Parts)),
    ?assertEqual(Entries, lists:foldl(fun maps:merge/2, #{}, Parts)),
    % Those that found no room are not always the same.
    ?assertEqual(lists:sort(First), lists:sort(Again)),
    ?assertNotEqual(hd(First), hd(Again)).

a_faulty_list_of_topics_is_not_learnt_test() ->
    T = partisan_topics:new(<<"a">>, 1),
    Faulty = {entries, #{<<"b">> => {{1, 1}, [news | sport]}}},
    ?assertEqual({T, []}, partisan_topics:message(<<"b">>, Faulty, T)).

a_second_copy_is_dropped_test() ->
    {T0, []} = partisan_topics:subscribe(news, partisan_topics:new(<<"a">>, 1)),
    Message = {publish, {<<"b">>, 7, 1}, news, hello, []},
    {T1, [{deliver, news, hello}]} = partisan_topics:message(<<"b">>, Message, T0),
    ?assertEqual({T1, []}, partisan_topics:message(<<"c">>, Message, T1)),
    % Another incarnation numbers from 1; messages of a previous one are too late.
    Later = setelement(2, Message, {<<"b">>, 8, 1}),
    {T2, [{deliver, news, hello}]} = partisan_topics:message(<<"b">>, Later, T1),
    Previous = setelement(2, Message, {<<"b">>, 7, 2}),
    ?assertEqual({T2, []}, partisan_topics:message(<<"b">>, Previous, T2)).

%% On real sockets, in views smaller than the cluster.
cluster_test_() ->
    {setup, fun cluster/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {"many topics of a node", {timeout, 600, fun() -> many(Nodes) end}},
            {"topics on real nodes", {timeout, 600, fun() -> on_nodes(Nodes) end}}
        ]
    end}.

cluster() ->
    Overlay = {hyparview, #{active_max => 3, active_min => 2, promotion_interval => 500}},
    Nodes = partisan_test_cluster:start(6, #{overlay => Overlay}),
    ok = await(fun() -> lists:all(fun(N) -> call(N, partisan, joined, []) end, Nodes) end),
    [ok = call(Node, partisan_test_sink, start, [sink]) || Node <- Nodes],
    Nodes.

%% Each of them would be sent with all before it: some 300 MB.
many([A, B | _]) ->
    Before = sent_bytes(B),
    Topics = [{N, binary:copy(<<0>>, 100)} || N <- lists:seq(1, 1500)],
    Known = fun(Expected) ->
        lists:all(
            fun(T) -> call(A, partisan_pubsub, subscribers, [T]) =:= Expected end,
            [hd(Topics), lists:last(Topics)]
        )
    end,
    ok = call(B, ?MODULE, change_all, [subscribe, Topics]),
    ok = await(fun() -> Known([name(B)]) end),
    ok = call(B, ?MODULE, change_all, [unsubscribe, Topics]),
    ok = await(fun() -> Known([]) end),
    ?assert(sent_bytes(B) - Before < 100000000).

change_all(Change, Topics) ->
    lists:foreach(fun(T) -> ok = apply(partisan, Change, [T, whereis(sink)]) end, Topics).

sent_bytes(Node) ->
    lists:sum([Bytes || #{sent_bytes := Bytes} <- maps:values(call(Node, partisan, channels, []))]).

on_nodes([A, B, C, D, E, F] = Nodes) ->
    In = [A, C, D, F],
    [ok = subscribe(N, news) || N <- In],
    ok = subscribe(B, weather),
    ok = agreed(Nodes, news, In),
    Last = 50,
    [ok = call(E, partisan, publish, [news, N]) || N <- lists:seq(1, Last)],
    Expected = [{partisan, {published, news, N}} || N <- lists:seq(1, Last)],
    [?assertEqual(Expected, call(N, partisan_test_sink, take, [sink, Last])) || N <- In],
    [?assertEqual(0, call(N, partisan_test_sink, count, [sink])) || N <- [B, E]],
    % A subscriber that ends, and one whose node does.
    ok = call(D, partisan_test_sink, stop, [sink]),
    ok = agreed(Nodes, news, [A, C, F]),
    ok = partisan_test_cluster:kill(F),
    ok = call(B, partisan, publish, [news, again]),
    Again = [{partisan, {published, news, again}}],
    [?assertEqual(Again, call(N, partisan_test_sink, take, [sink, 1])) || N <- [A, C]],
    ok = agreed([A, B, C, D, E], news, [A, C]).

subscribe(Node, Topic) ->
    call(Node, erlang, apply, [fun() -> partisan:subscribe(Topic, whereis(sink)) end, []]).

agreed(Nodes, Topic, Expected) ->
    Names = lists:sort([name(N) || N <- Expected]),
    await(fun() ->
        lists:all(
            fun(N) -> lists:sort(call(N, partisan_pubsub, subscribers, [Topic])) =:= Names end,
            Nodes
        )
    end).

%% A world: the nodes, the messages in flight, and those delivered.

world(Count) ->
    Names = [<<"n", (integer_to_binary(I))/binary>> || I <- lists:seq(10, 9 + Count)],
    Nodes = maps:from_list([{N, partisan_topics:new(N, 1)} || N <- Names]),
    Chain = lists:zip(lists:droplast(Names), tl(Names)),
    Random = [{lists:nth(rand:uniform(Count), Names), lists:nth(rand:uniform(Count), Names)}
              || _ <- Names],
    Links = lists:usort([{X, Y} || {A, B} <- Chain ++ Random, A =/= B, {X, Y} <- [{A, B}, {B, A}]]),
    lists:foldl(
        fun({From, To}, World) ->
            event(From, fun(T) -> partisan_topics:neighbour_up(To, T) end, World)
        end,
        {Nodes, [], []},
        Links
    ).

states({Nodes, _, _}) -> Nodes.
nodes_of({Nodes, _, _}) -> lists:sort(maps:keys(Nodes)).
delivered({_, _, Delivered}) -> Delivered.
kill(Names, {Nodes, Flying, Delivered}) -> {maps:without(Names, Nodes), Flying, Delivered}.

event(Name, Change, {Nodes, Flying, Delivered}) ->
    {T, Effects} = Change(maps:get(Name, Nodes)),
    {Here, Sent} = lists:partition(fun(E) -> element(1, E) =:= deliver end, Effects),
    {
        Nodes#{Name := T},
        Flying ++ [{Name, Send} || Send <- Sent],
        Delivered ++ [{Name, Topic, Payload} || {deliver, Topic, Payload} <- Here]
    }.

%% Until nothing is in flight, in any order; Loss of a hundred subscriptions are lost.
run(_Loss, {_, [], _} = World) ->
    World;
run(Loss, {Nodes, Flying, Delivered}) ->
    {Before, [{From, Send} | After]} = lists:split(rand:uniform(length(Flying)) - 1, Flying),
    World = {Nodes, Before ++ After, Delivered},
    To = element(2, Send),
    IsLost = rand:uniform(100) =< Loss,
    case Send of
        {send, _, _} when IsLost; not is_map_key(To, Nodes) ->
            run(Loss, World);
        {send, _, Message} ->
            run(Loss, event(To, fun(T) -> partisan_topics:message(From, Message, T) end, World));
        {send, _, Message, Tag} when is_map_key(To, Nodes) ->
            Arrived = event(To, fun(T) -> partisan_topics:message(From, Message, T) end, World),
            run(Loss, event(From, fun(T) -> partisan_topics:outcome(Tag, ok, T) end, Arrived));
        {send, _, _, Tag} ->
            run(Loss, event(From, fun(T) -> partisan_topics:outcome(Tag, failed, T) end, World))
    end.

repair(0, World) ->
    World;
repair(Rounds, World) ->
    Ticked = lists:foldl(
        fun(N, W) -> event(N, fun partisan_topics:tick/1, W) end, World, nodes_of(World)
    ),
    repair(Rounds - 1, run(0, Ticked)).

%%% @doc Topics at brokers: every subscriber gets every message once, whichever brokers are lost.
-module(partisan_brokers_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(TICKS, 8).

-record(world, {
    brokers :: [binary()],
    replication :: pos_integer(),
    alive = #{} :: #{binary() => {partisan_topics:t(), partisan_brokers:t()}},
    incarnations = #{} :: #{binary() => pos_integer()},
    % What has not happened yet: {From, Effect}, or a change that a node will notice.
    flying = [] :: [term()],
    delivered = [] :: [{binary(), term()}],
    answers = [] :: [term()]
}).

ranks_move_only_the_keys_of_a_lost_owner_test() ->
    Owners = [<<"a">>, <<"b">>, <<"c">>, <<"d">>],
    [
        ?assertEqual(
            lists:delete(Lost, partisan_rendezvous:ranked(Key, Owners)),
            partisan_rendezvous:ranked(Key, lists:delete(Lost, Owners))
        )
     || Key <- lists:seq(1, 100), Lost <- Owners
    ],
    Firsts = [hd(partisan_rendezvous:ranked(Key, Owners)) || Key <- lists:seq(1, 4000)],
    [?assert(length([F || F <- Firsts, F =:= Owner]) > 800) || Owner <- Owners].

%% In each round fewer brokers than `replication' die unnoticed just before a message is published;
%% then one of the dead comes back just before another. Messages arrive in any order; subscriptions
%% may be lost.
every_subscriber_once_test_() ->
    {timeout, 600, fun() ->
        ?assert(proper:quickcheck(every_subscriber_once(), [{numtests, 1000}, {to_file, user}]))
    end}.

every_subscriber_once() ->
    ?FORALL(
        {Brokers, Clients, Seed, Loss, Rounds},
        {range(1, 4), range(1, 8), integer(1, 1 bsl 30), range(0, 50), range(1, 4)},
        begin
            _ = rand:seed(exsss, {Seed, Brokers, Clients}),
            Subscribed = subscribe(Loss, world(Brokers, Clients)),
            Outcomes = rounds(Rounds, Subscribed),
            ?WHENFAIL(
                io:format(user, "~p~n", [[O || {Expected, Got} = O <- Outcomes, Expected =/= Got]]),
                lists:all(fun({Expected, Got}) -> Expected =:= Got end, Outcomes)
            )
        end
    ).

rounds(0, _World) ->
    [];
rounds(Left, W0) ->
    {W1, First} = publish({Left, 1}, [], kill(W0)),
    {New, Restarted} = restart(tick(rand:uniform(?TICKS), W1)),
    {W2, Second} = publish({Left, 2}, New, Restarted),
    [First, Second | rounds(Left - 1, tick(rand:uniform(?TICKS) - 1, W2))].

%% The subscribers that are alive, and the answer; what has arrived, and was answered. A new node
%% does not count: neither its subscription nor those of others may have arrived.
publish(Message, New, #world{alive = Alive} = W0) ->
    Others = maps:keys(Alive) -- New,
    Publisher = pick(Others),
    Change = fun({T0, B0}) ->
        {Id, T} = partisan_topics:identify(T0),
        {B, Effects} = partisan_brokers:publish(Id, news, Message, B0),
        {{T, B}, Effects}
    end,
    W = run(0, event(Publisher, Change, W0#world{delivered = [], answers = []})),
    Subscribers = lists:sort([{N, Message} || N <- Others, is_subscriber(N)]),
    Delivered = lists:sort([D || {N, _} = D <- W#world.delivered, not lists:member(N, New)]),
    {W, {{Subscribers, [ok]}, {Delivered, W#world.answers}}}.

no_broker_at_all_test() ->
    {B0, []} = partisan_brokers:configure({[<<"b">>], 1}, partisan_brokers:new(<<"a">>)),
    Id = {<<"a">>, 1, 1},
    {B1, []} = partisan_brokers:publish(Id, news, hello, B0),
    {B2, []} = partisan_brokers:tick(B1),
    {Found, [{send, <<"b">>, {publish, Id, news, hello}, _}]} =
        partisan_brokers:neighbour_up(<<"b">>, B2),
    {_, [{answer, Id, ok}]} = partisan_brokers:message(<<"b">>, {accepted, Id}, Found),
    {B3, []} = partisan_brokers:tick(B2),
    {_, Given} = partisan_brokers:tick(B3),
    ?assertEqual([{answer, Id, {error, no_broker}}], Given).

a_node_answers_for_itself_only_test() ->
    B0 = partisan_brokers:new(<<"b">>),
    ?assertError(
        function_clause,
        partisan_brokers:message(<<"c">>, {publish, {<<"a">>, 1, 1}, news, hello}, B0)
    ),
    {B1, []} = partisan_brokers:configure({[<<"b">>, <<"d">>], 1}, B0),
    {B2, [{copies, _, _, _, _, []}]} = partisan_brokers:publish({<<"b">>, 1, 1}, news, hello, B1),
    ?assertEqual({B2, []}, partisan_brokers:message(<<"c">>, {accepted, {<<"b">>, 1, 1}}, B2)).

%% The world.

world(Brokers, Clients) ->
    Names = [<<"b", (integer_to_binary(I))/binary>> || I <- lists:seq(1, Brokers)],
    Others = [<<"c", (integer_to_binary(I))/binary>> || I <- lists:seq(1, Clients)],
    World = #world{brokers = Names, replication = rand:uniform(Brokers)},
    lists:foldl(fun start/2, World, Names ++ Others).

%% Half of the nodes, brokers among them.
is_subscriber(Name) ->
    erlang:phash2({subscriber, Name}, 2) =:= 0.

start(Name, #world{alive = Alive, incarnations = Incarnations, flying = Flying} = W0) ->
    Incarnation = maps:get(Name, Incarnations, 0) + 1,
    Linked = [Other || Other <- maps:keys(Alive), is_linked(Name, Other, W0)],
    Ups = [{up, A, B} || Other <- Linked, {A, B} <- [{Name, Other}, {Other, Name}]],
    New = {partisan_topics:new(Name, Incarnation), partisan_brokers:new(Name)},
    W1 = W0#world{
        alive = Alive#{Name => New},
        incarnations = Incarnations#{Name => Incarnation},
        flying = Flying ++ Ups
    },
    #world{brokers = Brokers, replication = Replication} = W1,
    event(Name, brokers(fun(B) -> partisan_brokers:configure({Brokers, Replication}, B) end), W1).

is_linked(One, Other, #world{brokers = Brokers}) ->
    lists:member(One, Brokers) orelse lists:member(Other, Brokers).

subscribe(Loss, #world{alive = Alive} = W0) ->
    Subscribers = [N || N <- maps:keys(Alive), is_subscriber(N)],
    W1 = run(Loss, lists:foldl(fun subscribe_one/2, W0, Subscribers)),
    tick(3, W1).

subscribe_one(Name, W) ->
    Change = fun({T0, B0}) ->
        {T, _} = partisan_topics:subscribe(news, T0),
        {B, Effects} = partisan_brokers:subscribe(news, B0),
        {{T, B}, Effects}
    end,
    event(Name, Change, W).

%% Fewer brokers than keep a subscription, and never the last. The others notice later.
kill(#world{brokers = Brokers, replication = Replication, alive = Alive} = W) ->
    Living = [N || N <- Brokers, is_map_key(N, Alive)],
    Number = min(rand:uniform(Replication), length(Living)) - 1,
    Killed = lists:sublist(shuffled(Living), Number),
    Left = maps:without(Killed, Alive),
    Downs = [{down, N, Dead} || Dead <- Killed, N <- maps:keys(Left), is_linked(N, Dead, W)],
    W#world{alive = Left, flying = W#world.flying ++ Downs}.

restart(#world{brokers = Brokers, alive = Alive} = W) ->
    case [N || N <- Brokers, not is_map_key(N, Alive)] of
        [] ->
            {[], W};
        Dead ->
            Name = pick(Dead),
            Started = start(Name, W),
            Again =
                case is_subscriber(Name) of
                    true -> subscribe_one(Name, Started);
                    false -> Started
                end,
            % What it gets before its first subscriptions is lost, if there is no other broker.
            case length(Dead) =:= length(Brokers) of
                true -> {[Name], run(0, Again)};
                false -> {[Name], some(rand:uniform(20), Again)}
            end
    end.

tick(0, W) ->
    W;
tick(Times, #world{alive = Alive} = W) ->
    Ticked = lists:foldl(
        fun(N, Acc) -> event(N, brokers(fun partisan_brokers:tick/1), Acc) end,
        W,
        shuffled(maps:keys(Alive))
    ),
    tick(Times - 1, run(0, Ticked)).

brokers(Change) ->
    fun({T, B0}) ->
        {B, Effects} = Change(B0),
        {{T, B}, Effects}
    end.

event(Name, Change, #world{alive = Alive} = W) ->
    case Alive of
        #{Name := State0} ->
            {State, Effects} = Change(State0),
            lists:foldl(
                fun(Effect, Acc) -> effect(Name, Effect, Acc) end,
                W#world{alive = Alive#{Name := State}},
                Effects
            );
        #{} ->
            W
    end.

effect(Name, {copies, Publisher, Id, Topic, Payload, Copies}, W) ->
    Sent = [{Name, {send, To, {copy, Id, Topic, Payload}, Tag}} || {To, Tag} <- Copies],
    W#world{flying = W#world.flying ++ Sent ++ [{served, Name, Publisher, Id}]};
effect(Name, {deliver, Id, Topic, Payload}, W) ->
    deliver(Name, Id, Topic, Payload, W);
effect(_Name, {answer, _Id, Answer}, W) ->
    W#world{answers = [Answer | W#world.answers]};
effect(Name, Send, W) ->
    W#world{flying = W#world.flying ++ [{Name, Send}]}.

deliver(Name, Id, Topic, Payload, #world{alive = Alive, delivered = Delivered} = W) ->
    #{Name := {T0, B}} = Alive,
    {T, Here} = partisan_topics:message(Name, {publish, Id, Topic, Payload, []}, T0),
    W#world{
        alive = Alive#{Name := {T, B}},
        delivered = Delivered ++ [{Name, Message} || {deliver, _, Message} <- Here]
    }.

%% Until nothing is in flight, in any order; Loss of a hundred messages without a tag are lost.
run(_Loss, #world{flying = []} = W) -> W;
run(Loss, W) -> run(Loss, step(Loss, W)).

some(Steps, #world{flying = Flying} = W) when Steps =:= 0; Flying =:= [] -> W;
some(Steps, W) -> some(Steps - 1, step(0, W)).

step(Loss, #world{flying = Flying, alive = Alive} = W0) ->
    {Before, [Event | After]} = lists:split(rand:uniform(length(Flying)) - 1, Flying),
    W = W0#world{flying = Before ++ After},
    case Event of
        {served, Name, Publisher, Id} ->
            event(Name, brokers(fun(B) -> partisan_brokers:served(Publisher, Id, B) end), W);
        {up, Name, Other} ->
            event(Name, brokers(fun(B) -> partisan_brokers:neighbour_up(Other, B) end), W);
        {down, Name, Other} ->
            event(Name, brokers(fun(B) -> partisan_brokers:neighbour_down(Other, B) end), W);
        {From, {send, To, Message, Tag}} when is_map_key(To, Alive) ->
            outcome(From, Tag, ok, arrive(From, To, Message, W));
        {From, {send, _To, _Message, Tag}} ->
            outcome(From, Tag, failed, W);
        {From, {send, To, Message}} ->
            case rand:uniform(100) =< Loss of
                true -> W;
                false -> arrive(From, To, Message, W)
            end
    end.

arrive(_From, To, {copy, Id, Topic, Payload}, W) ->
    deliver(To, Id, Topic, Payload, W);
arrive(From, To, Message, W) ->
    event(To, brokers(fun(B) -> partisan_brokers:message(From, Message, B) end), W).

outcome(From, Tag, Outcome, W) ->
    event(From, brokers(fun(B) -> partisan_brokers:outcome(Tag, Outcome, B) end), W).

pick(List) ->
    lists:nth(rand:uniform(length(List)), lists:sort(List)).

shuffled(List) ->
    [X || {_, X} <- lists:sort([{rand:uniform(), X} || X <- lists:sort(List)])].

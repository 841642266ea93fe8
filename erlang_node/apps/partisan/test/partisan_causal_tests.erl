%%% @doc Causal order: a message that happened before another is delivered before it.
-module(partisan_causal_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(NODES, [a, b, c, d]).

triangle_test() ->
    % A -> C m1 is slow; A -> B m2, B -> C m3 overtakes it.
    {Stamp1, A1} = partisan_causal:send(instance(c), start(a)),
    {Stamp2, _} = partisan_causal:send(instance(b), A1),
    {[m2], B1} = partisan_causal:receive_message(instance(a), Stamp2, m2, start(b)),
    {Stamp3, _} = partisan_causal:send(instance(c), B1),
    {[], C1} = partisan_causal:receive_message(instance(b), Stamp3, m3, start(c)),
    ?assertEqual(1, partisan_causal:waiting(C1)),
    {Delivered, C2} = partisan_causal:receive_message(instance(a), Stamp1, m1, C1),
    ?assertEqual([m1, m3], Delivered),
    ?assertEqual(0, partisan_causal:waiting(C2)).

lost_predecessor_test() ->
    % As above, but A dies and m1 with it: m3 is released when A is known to be gone.
    {_, A1} = partisan_causal:send(instance(c), start(a)),
    {Stamp2, _} = partisan_causal:send(instance(b), A1),
    {[m2], B1} = partisan_causal:receive_message(instance(a), Stamp2, m2, start(b)),
    {Stamp3, _} = partisan_causal:send(instance(c), B1),
    {[], C1} = partisan_causal:receive_message(instance(b), Stamp3, m3, start(c)),
    ?assertMatch({[m3], _}, partisan_causal:forget(instance(a), C1)).

successor_starts_afresh_test() ->
    % Messages to C's previous incarnation do not hold up the next one.
    {_, A1} = partisan_causal:send({<<"c">>, 1}, start(a)),
    {Stamp, _} = partisan_causal:send({<<"c">>, 2}, A1),
    ?assertMatch(
        {[m], _},
        partisan_causal:receive_message(instance(a), Stamp, m, partisan_causal:new({<<"c">>, 2}))
    ).

conversation_stays_small_test() ->
    % Two nodes in conversation prune what each knows the other has seen.
    {A, B} = lists:foldl(
        fun(N, {A0, B0}) ->
            {StampA, A1} = partisan_causal:send(instance(b), A0),
            {[N], B1} = partisan_causal:receive_message(instance(a), StampA, N, B0),
            {StampB, B2} = partisan_causal:send(instance(a), B1),
            {[N], A2} = partisan_causal:receive_message(instance(b), StampB, N, A1),
            {A2, B2}
        end,
        {start(a), start(b)},
        lists:seq(1, 1000)
    ),
    ?assert(partisan_causal:size(A) + partisan_causal:size(B) =< 8).

order_test_() ->
    {timeout, 600,
        ?_assert(proper:quickcheck(prop_order(), [{numtests, 500}, {to_file, user}]))}.

%% On any lossless network, whatever its delivery order, everything is delivered in the end, and
%% nothing before what happened before it.
prop_order() ->
    ?FORALL(
        Steps,
        list({oneof(?NODES), oneof(?NODES), non_neg_integer()}),
        begin
            Nodes0 = maps:from_list([{N, start(N)} || N <- ?NODES]),
            World0 = #{nodes => Nodes0, flight => [], log => #{}, seen => #{}},
            World1 = lists:foldl(fun step/2, World0, Steps),
            World2 = arrive_all(World1),
            #{log := Log, flight := [], nodes := Nodes} = World2,
            lists:all(fun in_order/1, maps:values(Log)) andalso
                lists:all(fun(C) -> partisan_causal:waiting(C) =:= 0 end, maps:values(Nodes))
        end
    ).

%% Sends a message, and delivers one of those in flight, picked by the number.
step({From, To, Pick}, World) ->
    arrive(Pick, send(From, To, World)).

send(From, From, World) ->
    World;
send(From, To, #{nodes := Nodes, flight := Flight, seen := Seen} = World) ->
    {Stamp, C} = partisan_causal:send(instance(To), maps:get(From, Nodes)),
    % The past of a message: all its sender had sent or delivered, and the past of that.
    Id = make_ref(),
    Past = maps:get(From, Seen, []),
    Message = {Id, To, Past},
    World#{
        nodes := Nodes#{From := C},
        flight := [{From, To, Stamp, Message} | Flight],
        seen := Seen#{From => [{Id, To} | Past]}
    }.

arrive(_Pick, #{flight := []} = World) ->
    World;
arrive(Pick, #{flight := Flight, nodes := Nodes} = World) ->
    {From, To, Stamp, Message} = Entry = lists:nth(Pick rem length(Flight) + 1, Flight),
    {Delivered, C} = partisan_causal:receive_message(
        instance(From), Stamp, Message, maps:get(To, Nodes)
    ),
    lists:foldl(
        fun(M, W) -> delivered(To, M, W) end,
        World#{nodes := Nodes#{To := C}, flight := lists:delete(Entry, Flight)},
        Delivered
    ).

delivered(At, {Id, At, Past} = Message, #{log := Log, seen := Seen} = World) ->
    Known = maps:get(At, Seen, []),
    World#{
        log := Log#{At => maps:get(At, Log, []) ++ [Message]},
        seen := Seen#{At => lists:usort([{Id, At} | Past] ++ Known)}
    }.

arrive_all(#{flight := []} = World) ->
    World;
arrive_all(World) ->
    arrive_all(arrive(0, World)).

%% No message precedes one of its past that went to the same node.
in_order([]) ->
    true;
in_order([{_, At, Past} | Later]) ->
    not lists:any(fun({Id, _, _}) -> lists:member({Id, At}, Past) end, Later) andalso
        in_order(Later).

start(Name) ->
    partisan_causal:new(instance(Name)).

instance(Name) ->
    {atom_to_binary(Name), 1}.

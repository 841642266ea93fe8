%%% @doc Acknowledged delivery over a network that loses, repeats and reorders.
-module(partisan_ack_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

in_order_and_once_test() ->
    {deliver, In1} = partisan_ack_in:receive_number(1, partisan_ack_in:new()),
    ?assertMatch({duplicate, In1}, partisan_ack_in:receive_number(1, In1)),
    ?assertMatch({gap, In1}, partisan_ack_in:receive_number(3, In1)),
    ?assertEqual(1, partisan_ack_in:holds(In1)).

window_test() ->
    Out0 = partisan_ack_out:new(#{max_bytes => 10, max_messages => 3}),
    {ok, Out1, _} = partisan_ack_out:add(big, 100, o1, infinity, 0, Out0),
    ?assertEqual(full, partisan_ack_out:add(small, 1, o2, infinity, 0, Out1)),
    {Out2, [{settle, o1, ok}]} = partisan_ack_out:acknowledged(1, 0, Out1),
    ?assertMatch({ok, _, _}, partisan_ack_out:add(small, 1, o2, infinity, 0, Out2)).

no_resend_while_moving_test() ->
    % A slow receiver that makes progress gets nothing twice.
    Out0 = partisan_ack_out:new(#{retransmit_after => 100}),
    {ok, Out1, _} = partisan_ack_out:add(m1, 1, o1, infinity, 0, Out0),
    {ok, Out2, _} = partisan_ack_out:add(m2, 1, o2, infinity, 0, Out1),
    {Out3, [{settle, o1, ok}]} = partisan_ack_out:acknowledged(1, 90, Out2),
    ?assertMatch({_, []}, partisan_ack_out:tick(150, Out3)),
    ?assertMatch({_, [{transmit, [{2, {message, m2}}]}]}, partisan_ack_out:tick(190, Out3)).

late_message_is_skipped_test() ->
    % Its owner is notified, and the stream goes on.
    Out0 = partisan_ack_out:new(#{}),
    {ok, Out1, _} = partisan_ack_out:add(m1, 1, o1, 50, 0, Out0),
    {ok, Out2, _} = partisan_ack_out:add(m2, 1, o2, infinity, 0, Out1),
    {Out3, [{settle, o1, {error, timeout}}]} = partisan_ack_out:tick(50, Out2),
    {_, [{transmit, Again}]} = partisan_ack_out:reconnected(60, Out3),
    ?assertEqual([{1, skip}, {2, {message, m2}}], Again).

abandoned_test() ->
    {ok, Out, _} = partisan_ack_out:add(m, 1, o, infinity, 0, partisan_ack_out:new(#{})),
    ?assertEqual([{settle, o, {error, restarted}}], partisan_ack_out:abandon(restarted, Out)).

network_test_() ->
    {timeout, 600,
        ?_assert(proper:quickcheck(prop_network(), [{numtests, 500}, {to_file, user}]))}.

%% Whatever happens on the way: delivered once, in order, and each owner notified once.
prop_network() ->
    ?FORALL(
        Steps,
        list(
            frequency([
                {4, send},
                {4, {carry, nat()}},
                {2, {lose, nat()}},
                {2, {repeat, nat()}},
                {2, wait},
                {1, reconnect}
            ])
        ),
        begin
            World0 = #{
                now => 0,
                sent => 0,
                out => partisan_ack_out:new(#{retransmit_after => 100, retransmit_max => 400}),
                in => partisan_ack_in:new(),
                wire => [],
                delivered => [],
                settled => []
            },
            World = finish(lists:foldl(fun step/2, World0, Steps), 1000),
            #{sent := Sent, delivered := Delivered, settled := Settled} = World,
            Expected = lists:seq(1, Sent),
            lists:reverse(Delivered) =:= Expected andalso lists:sort(Settled) =:= Expected
        end
    ).

step(send, #{sent := Sent, out := Out, now := Now} = World) ->
    {ok, Out1, Actions} = partisan_ack_out:add(Sent + 1, 1, Sent + 1, infinity, Now, Out),
    act(Actions, World#{sent := Sent + 1, out := Out1});
step(wait, #{now := Now, out := Out} = World) ->
    {Out1, Actions} = partisan_ack_out:tick(Now + 120, Out),
    act(Actions, World#{now := Now + 120, out := Out1});
step(reconnect, #{now := Now, out := Out} = World) ->
    {Out1, Actions} = partisan_ack_out:reconnected(Now, Out),
    act(Actions, World#{out := Out1, wire := []});
step(_, #{wire := []} = World) ->
    World;
step({lose, Pick}, #{wire := Wire} = World) ->
    World#{wire := lists:delete(chosen(Pick, Wire), Wire)};
step({repeat, Pick}, #{wire := Wire} = World) ->
    World#{wire := Wire ++ [chosen(Pick, Wire)]};
step({carry, Pick}, #{wire := Wire} = World) ->
    Frame = chosen(Pick, Wire),
    arrive(Frame, World#{wire := lists:delete(Frame, Wire)}).

arrive({data, Number, Content}, #{in := In, wire := Wire, delivered := Delivered} = World) ->
    {Verdict, In1} = partisan_ack_in:receive_number(Number, In),
    Now =
        case {Verdict, Content} of
            {deliver, {message, Message}} -> [Message | Delivered];
            _ -> Delivered
        end,
    World#{in := In1, delivered := Now, wire := Wire ++ [{ack, partisan_ack_in:holds(In1)}]};
arrive({ack, Number}, #{out := Out, now := Now} = World) ->
    {Out1, Actions} = partisan_ack_out:acknowledged(Number, Now, Out),
    act(Actions, World#{out := Out1}).

act(Actions, World) ->
    lists:foldl(
        fun
            ({transmit, Again}, #{wire := Wire} = W) ->
                W#{wire := Wire ++ [{data, N, Content} || {N, Content} <- Again]};
            ({settle, Owner, ok}, #{settled := Settled} = W) ->
                W#{settled := [Owner | Settled]}
        end,
        World,
        Actions
    ).

%% From here the network is faultless, and retransmission must deliver everything.
finish(World, 0) ->
    World;
finish(#{wire := [Frame | Wire]} = World, Left) ->
    finish(arrive(Frame, World#{wire := Wire}), Left);
finish(#{out := Out} = World, Left) ->
    case partisan_ack_out:outstanding(Out) of
        #{messages := 0} -> World;
        _ -> finish(step(wait, World), Left - 1)
    end.

chosen(Pick, Wire) ->
    lists:nth(Pick rem length(Wire) + 1, Wire).

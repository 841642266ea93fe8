%%% @doc Guarantees of connections to an overlay, whatever happens to their frames.
-module(verify_own_link_tests).

-include_lib("eunit/include/eunit.hrl").

-define(L, verify_own_link).

in_order_and_once_test() ->
    {[], A, Frames} = sent([one, two, three], ?L:new(peer(<<"a">>, 1))),
    [One, Two, Three] = Frames,
    % The first one is late; the second one comes twice.
    {Events, _B, Answers} = received([Two, Two, One, Three], ?L:new(peer(<<"b">>, 1))),
    ?assertEqual([one, two, three], [Msg || {message, #{name := <<"a">>}, Msg} <- Events]),
    {[], _, Effects} = received([lists:last(Answers)], A),
    ?assertEqual([{cancel_timer, {link, <<"b">>}}], Effects).

lost_frame_test() ->
    {[], A, [_Lost, Two]} = sent([one, two], ?L:new(peer(<<"a">>, 1))),
    {[], B, []} = received([Two], ?L:new(peer(<<"b">>, 1))),
    {[{peer_down, <<"b">>, timeout}], Down, []} = ?L:timer(<<"b">>, A),
    % Another connection; a frame of the previous one comes too late.
    {[], _, [Three]} = sent([three], Down),
    {Events, Next, _} = received([Three], B),
    ?assertMatch([{message, _, three}], Events),
    ?assertMatch({[], _, []}, received([Two], Next)).

pinned_test() ->
    {[], A, [{send, <<"b">>, Dial}, {start_timer, _, _}]} =
        ?L:connect(peer(<<"b">>, 0), ?L:new(peer(<<"a">>, 1))),
    ?assertMatch({[], A, []}, ?L:connect(peer(<<"b">>, 0), A)),
    {[], _, [Ack]} = received([Dial], ?L:new(peer(<<"b">>, 7))),
    {Events, Up, _} = received([Ack], A),
    ?assertMatch([{peer_up, #{name := <<"b">>, incarnation := 7}}], Events),
    % Known, and the next incarnation is not.
    ?assertMatch({[], _, []}, ?L:connect(peer(<<"b">>, 7), Up)),
    ?assertMatch({[], _, [_, _]}, ?L:connect(peer(<<"b">>, 8), Up)).

restarted_test() ->
    % A connection to the previous incarnation leads nowhere.
    {[], A, [One, Two]} = sent([one, two], ?L:new(peer(<<"a">>, 1))),
    {_, _, [Ack]} = received([One], ?L:new(peer(<<"b">>, 1))),
    {[], _, []} = received([Two], ?L:new(peer(<<"b">>, 2))),
    {[], Waiting, [{start_timer, _, _}]} = received([Ack], A),
    ?assertMatch({[{peer_down, <<"b">>, timeout}], _, []}, ?L:timer(<<"b">>, Waiting)).

%% Helpers.

peer(Name, Incarnation) ->
    partisan_peer:new(Name, "localhost", 7946, Incarnation).

sent(Messages, Links) ->
    lists:foldl(
        fun(Msg, {[], L, Frames}) ->
            {[], Next, [{send, <<"b">>, Frame} | _Timer]} = ?L:send(peer(<<"b">>, 0), Msg, L),
            {[], Next, Frames ++ [Frame]}
        end,
        {[], Links, []},
        Messages
    ).

%% Frames that go to the other node, and other effects.
received(Frames, Links) ->
    lists:foldl(
        fun(Frame, {Events, L, Out}) ->
            #{name := From} = element(2, Frame),
            {More, Next, Effects} = ?L:message(From, Frame, L),
            {Events ++ More, Next, Out ++ [frame(Effect) || Effect <- Effects]}
        end,
        {[], Links, []},
        Frames
    ).

frame({send, _To, Frame}) -> Frame;
frame(Effect) -> Effect.

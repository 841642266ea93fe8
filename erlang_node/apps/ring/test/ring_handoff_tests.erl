-module(ring_handoff_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

%% A transfer with writes meanwhile, and with pulls and chunks that are lost, repeated and late: the
%% receiver has the newest item of every key when it may serve.
transfer_test_() ->
    {timeout, 600,
        ?_assert(proper:quickcheck(prop_transfer(), [{to_file, user}, {numtests, 500}]))}.

prop_transfer() ->
    ?FORALL(
        {Count, Steps},
        {integer(0, 1500), list(oneof([pull, deliver, repeat, lose, {write, integer(1, 1600)}]))},
        begin
            Items = [{K, 0} || K <- lists:seq(1, Count)],
            Sender0 = ring_handoff:sender(s, Items),
            Begun = {maps:from_list(Items), Sender0, ring_handoff:receiver(), #{}, []},
            Stepped = lists:foldl(fun step/2, Begun, Steps),
            {Source, Sender, Receiver, Copy, _} = finish(Stepped, 100),
            ring_handoff:is_sealed(Sender) andalso ring_handoff:is_complete(Receiver) andalso
                Source =:= Copy
        end
    ).

finish({_, Sender, _, _, _} = State, Left) when Left > 0 ->
    case ring_handoff:is_sealed(Sender) of
        true -> step(deliver, step(pull, State));
        false -> finish(step(deliver, step(pull, State)), Left - 1)
    end;
finish(State, 0) ->
    State.

step(pull, {Source, Sender, Receiver, Copy, Wire}) ->
    Serial = ring_handoff:wanted(Receiver),
    case ring_handoff:pull(Serial, true, Sender) of
        {Chunk, Next} -> {Source, Next, Receiver, Copy, [Chunk | Wire]};
        none -> {Source, Sender, Receiver, Copy, Wire}
    end;
step(deliver, {Source, Sender, Receiver, Copy, [Chunk | Wire]}) ->
    {Source, Sender, taken(Chunk, Receiver), merged(Chunk, Receiver, Copy), Wire};
step(repeat, {Source, Sender, Receiver, Copy, [Chunk | _] = Wire}) ->
    {Source, Sender, taken(Chunk, Receiver), merged(Chunk, Receiver, Copy), Wire};
step(lose, {Source, Sender, Receiver, Copy, [_ | Wire]}) ->
    {Source, Sender, Receiver, Copy, Wire};
step({write, Key}, {Source, Sender, Receiver, Copy, Wire}) ->
    case ring_handoff:is_paused(Sender) of
        true ->
            {Source, Sender, Receiver, Copy, Wire};
        false ->
            Item = maps:get(Key, Source, 0) + 1,
            Changed = ring_handoff:changed([{Key, Item}], Sender),
            {Source#{Key => Item}, Changed, Receiver, Copy, Wire}
    end;
step(_, State) ->
    State.

taken({Serial, Kind, _}, Receiver) ->
    case ring_handoff:take(Serial, Kind, Receiver) of
        {ok, Next} -> Next;
        none -> Receiver
    end.

merged({Serial, Kind, Items}, Receiver, Copy) ->
    case ring_handoff:take(Serial, Kind, Receiver) of
        {ok, _} -> maps:merge_with(fun(_, A, B) -> max(A, B) end, Copy, maps:from_list(Items));
        none -> Copy
    end.

%% An item that changes before its turn is sent once.
a_changed_item_is_sent_once_test() ->
    Items = [{K, 0} || K <- lists:seq(1, 300)],
    Sender = ring_handoff:changed([{300, 1}], ring_handoff:sender(s, Items)),
    {{_, more, First}, Next} = ring_handoff:pull({none, 1}, true, Sender),
    {{_, last, Second}, _} = ring_handoff:pull({s, 2}, true, Next),
    ?assertEqual(lists:sort([{300, 1} | lists:droplast(Items)]), lists:sort(First ++ Second)).

the_last_chunk_waits_for_leave_test() ->
    First = ring_handoff:sender(s, [{a, 1}]),
    {{_, more, [_]}, Sender} = ring_handoff:pull({none, 1}, false, First),
    ?assertEqual(wait, ring_handoff:pull({s, 2}, false, Sender)),
    {{_, last, []}, Paused} = ring_handoff:pull({s, 2}, true, Sender),
    ?assertNot(ring_handoff:is_sealed(Paused)),
    {{_, seal, []}, Sealed} = ring_handoff:pull({s, 3}, true, Paused),
    ?assert(ring_handoff:is_sealed(Sealed)),
    ?assertEqual(none, ring_handoff:pull({s, 1}, true, Sealed)).

%% A sender that has forgotten a transfer has another snapshot: neither end counts what is left of
%% the previous session.
sessions_do_not_mix_test() ->
    Items = [{K, 0} || K <- lists:seq(1, 300)],
    First = ring_handoff:sender(first, Items),
    {{Serial, more, _} = Chunk, _} = ring_handoff:pull({none, 1}, true, First),
    {ok, Receiver} = ring_handoff:take(Serial, more, ring_handoff:receiver()),
    % A repeated pull begins another transfer, after a write to an item that was sent.
    Second = ring_handoff:sender(second, [{1, 1} | tl(Items)]),
    {{_, more, _}, Begun} = ring_handoff:pull({none, 1}, true, Second),
    ?assertEqual(again, ring_handoff:pull(ring_handoff:wanted(Receiver), true, Begun)),
    {{Later, last, _}, _} = ring_handoff:pull({second, 2}, true, Begun),
    ?assertEqual(none, ring_handoff:take(Later, last, Receiver)),
    % A receiver that begins anew takes late chunks of one session only.
    {ok, Anew} = ring_handoff:take(element(1, Chunk), more, ring_handoff:receiver()),
    ?assertEqual(none, ring_handoff:take(Later, last, Anew)).

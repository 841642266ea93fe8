-module(ring_handoff_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

%% A transfer with writes meanwhile, and with pulls and chunks that are lost, repeated and late: the
%% receiver has the newest item of every key when it may serve.
transfer_test_() ->
    {timeout, 60, ?_assert(proper:quickcheck(prop_transfer(), [quiet, {numtests, 500}]))}.

prop_transfer() ->
    ?FORALL(
        {Count, Steps},
        {integer(0, 1500), list(oneof([pull, deliver, repeat, lose, {write, integer(1, 1600)}]))},
        begin
            Items = [{K, 0} || K <- lists:seq(1, Count)],
            Sender0 = ring_handoff:sender(Items),
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
        {{Kind, Items}, Next} -> {Source, Next, Receiver, Copy, [{Serial, Kind, Items} | Wire]};
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
    Sender = ring_handoff:changed([{300, 1}], ring_handoff:sender(Items)),
    {{more, First}, Next} = ring_handoff:pull(1, true, Sender),
    {{last, Second}, _} = ring_handoff:pull(2, true, Next),
    ?assertEqual(lists:sort([{300, 1} | lists:droplast(Items)]), lists:sort(First ++ Second)).

the_last_chunk_waits_for_leave_test() ->
    {{more, [_]}, Sender} = ring_handoff:pull(1, false, ring_handoff:sender([{a, 1}])),
    ?assertEqual(wait, ring_handoff:pull(2, false, Sender)),
    {{last, []}, Paused} = ring_handoff:pull(2, true, Sender),
    ?assertNot(ring_handoff:is_sealed(Paused)),
    {{seal, []}, Sealed} = ring_handoff:pull(3, true, Paused),
    ?assert(ring_handoff:is_sealed(Sealed)),
    ?assertEqual(none, ring_handoff:pull(1, true, Sealed)).

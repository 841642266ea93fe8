%% The contents of one write.
-module(partisan_batch_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(WRITE_BYTES, 262144).
-define(SLICE_BYTES, 1048576).
-define(PIECE_BYTES, 16384).

every_byte_is_written_once_in_order_test_() ->
    {timeout, 600, fun every_byte_is_written_once_in_order/0}.

every_byte_is_written_once_in_order() ->
    ?assert(
        proper:quickcheck(
            ?FORALL(Sizes, non_empty(list(size())), begin
                Frames = [frame(Size, I) || {I, Size} <- lists:zip(numbers(Sizes), Sizes)],
                Writes = writes(add_all(Frames)),
                data(Writes) =:= iolist_to_binary([Data || {_, Data} <- Frames]) andalso
                    sum(messages, Writes) =:= length(Frames) andalso
                    sum(charged, Writes) =:= lists:sum([Bytes || {Bytes, _} <- Frames]) andalso
                    lists:all(fun is_accounted/1, Writes)
            end),
            [{to_file, user}, {numtests, 100}]
        )
    ).

what_was_not_written_whole_is_written_again_test_() ->
    {timeout, 600, fun what_was_not_written_whole_is_written_again/0}.

what_was_not_written_whole_is_written_again() ->
    ?assert(
        proper:quickcheck(
            ?FORALL({Sizes, Written}, {non_empty(list(size())), range(0, 20)}, begin
                Frames = [frame(Size, I) || {I, Size} <- lists:zip(numbers(Sizes), Sizes)],
                {Before, Batch} = write(Written, add_all(Frames), []),
                Lost = lists:nthtail(sum(messages, Before), Frames),
                Again = writes(partisan_batch:rewind(Batch)),
                data(Again) =:= iolist_to_binary([Data || {_, Data} <- Lost]) andalso
                    sum(charged, Before) + sum(charged, Again) =:= lists:sum(Sizes)
            end),
            [{to_file, user}, {numtests, 100}]
        )
    ).

write(Count, Batch, Writes) ->
    case Count =:= 0 orelse partisan_batch:is_empty(Batch) of
        true ->
            {lists:reverse(Writes), Batch};
        false ->
            {Data, Write, Left} = partisan_batch:take(Batch, no_lane),
            write(Count - 1, Left, [{Data, Write} | Writes])
    end.

data(Writes) ->
    iolist_to_binary([Data || {Data, _} <- Writes]).

sum(Key, Writes) ->
    lists:sum([maps:get(Key, Write) || {_, Write} <- Writes]).

size() ->
    frequency([
        {6, oneof([range(1, 300), range(8000, 9000), range(1, 200000)])},
        {1, range(?SLICE_BYTES - 9, 2 * ?SLICE_BYTES + 9)}
    ]).

numbers(Sizes) ->
    lists:seq(1, length(Sizes)).

small_frames_are_one_piece_and_large_ones_are_not_copied_test() ->
    {_, Large} = LargeFrame = {20000, binary:copy(<<7>>, 20000)},
    [{[Before, Large, After], #{bytes := Bytes}}] =
        writes(add_all([frame(10, 1), frame(20, 2), LargeFrame, frame(30, 3), frame(40, 4)])),
    ?assertEqual({30, 70, 20100}, {byte_size(Before), byte_size(After), Bytes}).

a_write_is_bounded_test() ->
    Writes = writes(add_all([frame(1000, I) || I <- lists:seq(1, 1000)])),
    Most = ?WRITE_BYTES + ?PIECE_BYTES,
    ?assert(lists:all(fun({_, #{bytes := Bytes}}) -> Bytes < Most end, Writes)),
    ?assertEqual(1000_000, lists:sum([Bytes || {_, #{bytes := Bytes}} <- Writes])).

a_heartbeat_does_not_come_between_the_slices_of_a_message_test() ->
    {Size, Data} = Frame = frame(4 * ?SLICE_BYTES + 1, 7),
    Whole = add_all([Frame, frame(10, 8)]),
    {First, Write, Sliced} = partisan_batch:take(Whole, no_lane),
    ?assertMatch(#{messages := 0, bytes := ?SLICE_BYTES}, Write),
    ?assert(partisan_batch:is_full(Sliced)),
    [Second, Third, Fourth, Last, {Ping, #{messages := 0}}, _] =
        writes(partisan_batch:add_ping(Sliced)),
    ?assertEqual(Data, iolist_to_binary([First, data([Second, Third, Fourth, Last])])),
    ?assertMatch(#{messages := 1, charged := Size, since := 0}, element(2, Last)),
    ?assertEqual(partisan_frame:ping(), {byte_size(Ping), Ping}).

%% Thousands of messages may wait for a busy port, but not as terms on the lane's heap.
small_frames_do_not_stay_on_the_heap_test() ->
    Batch = add_all([frame(100, 1) || _ <- lists:seq(1, 10000)]),
    ?assert(erts_debug:flat_size(Batch) < 3000).

it_is_full_when_there_is_enough_for_a_write_test() ->
    Batch = partisan_batch:add({0, {?WRITE_BYTES - 1, <<>>}}, partisan_batch:new()),
    ?assertNot(partisan_batch:is_full(Batch)),
    ?assert(partisan_batch:is_full(partisan_batch:add({0, {1, <<>>}}, Batch))).

the_time_is_that_of_the_oldest_message_test() ->
    Batch = partisan_batch:add({5, {1, <<1>>}}, partisan_batch:new()),
    [{_, Write}] = writes(partisan_batch:add({9, {1, <<2>>}}, Batch)),
    ?assertMatch(#{since := 5, messages := 2, charged := 2}, Write).

a_heartbeat_goes_first_and_counts_for_nothing_test() ->
    Batch = partisan_batch:add_ping(partisan_batch:add({0, {1, <<1>>}}, partisan_batch:new())),
    {_, Ping} = partisan_frame:ping(),
    ?assertMatch([{Ping, #{messages := 0, charged := 0, since := none}}, {_, _}], writes(Batch)).

a_slot_is_emptied_when_it_is_written_test_() ->
    Setup = fun() -> partisan_test_channels:setup([#{name => newest, monotonic => true}]) end,
    {setup, Setup, fun partisan_test_channels:cleanup/1,
        fun a_slot_is_emptied_when_it_is_written/0}.

a_slot_is_emptied_when_it_is_written() ->
    {ok, Channel} = partisan_channel:find(newest),
    Lane = partisan_lane:new(Channel),
    Item = #{slot => s, on_busy => error, timeout => 0},
    ok = partisan_lane:send(Lane, Channel, Item#{frame => {3, <<"old">>}}),
    Batch =
        receive
            {slot, s} -> partisan_batch:add({slot, s}, partisan_batch:new())
        end,
    ok = partisan_lane:send(Lane, Channel, Item#{frame => {5, <<"newer">>}}),
    {Data, Write, Left} = partisan_batch:take(Batch, Lane),
    ?assertEqual(<<"newer">>, iolist_to_binary(Data)),
    % The account is credited for what it was charged for.
    ?assertMatch(#{messages := 1, bytes := 5, charged := 3}, Write),
    ?assert(partisan_batch:is_empty(Left)).

frame(Size, I) ->
    {Size, binary:copy(<<I>>, Size)}.

add_all(Frames) ->
    lists:foldl(
        fun(Frame, Batch) -> partisan_batch:add({0, Frame}, Batch) end, partisan_batch:new(), Frames
    ).

writes(Batch) ->
    case partisan_batch:is_empty(Batch) of
        true ->
            [];
        false ->
            {Data, Write, Left} = partisan_batch:take(Batch, no_lane),
            [{Data, Write} | writes(Left)]
    end.

is_accounted({Data, #{bytes := Bytes}}) ->
    iolist_size(Data) =:= Bytes andalso Bytes < ?WRITE_BYTES + ?SLICE_BYTES.

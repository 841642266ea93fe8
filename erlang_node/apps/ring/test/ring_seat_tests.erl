%%% One index that moves between two seats, message by message. Faults: ring_campaign_tests.
-module(ring_seat_tests).

-include_lib("eunit/include/eunit.hrl").

-define(INDEX, 5).
-define(FROM, <<"kv-1">>).
-define(TO, <<"kv-2">>).

%% The service of docs/tutorials/ring-service.md, without siblings: replication 1.
a_service_of_ones_own_moves_test() ->
    ok = load_page(),
    % More than fits into one chunk.
    Full = lists:foldl(
        fun(I, Seat) -> element(1, add(integer_to_binary(I), Seat)) end,
        seat(?FROM, {1, 1}, plan([?FROM, ?TO])),
        lists:seq(1, 300)
    ),
    {Added, [{answer, ref, {vote, ?INDEX, {1, 1}, _, 1}}]} = add(Full),
    Held = ring_state:held(?INDEX, {1, 1}, ?FROM),
    View = ring_view:new(ring_state:merge(plan([?FROM, ?TO]), Held)),
    {Second, [Pull]} = ring_seat:new(options(?TO, {1, 2}, View)),
    {Sending, [More]} = exchange(Pull, ?TO, Added),
    {Second1, [Pull2]} = exchange(More, ?FROM, Second),
    % Written meanwhile.
    {Written, [{answer, ref, {vote, ?INDEX, {1, 1}, _, 2}}]} = add(Sending),
    {Ended, [Last]} = exchange(Pull2, ?TO, Written),
    {Ended, [{answer, ref, {not_serving, ?INDEX}}]} = add(Ended),
    {Second2, [Pull3]} = exchange(Last, ?FROM, Second1),
    {Second2, [{answer, ref, {not_serving, ?INDEX}}]} = add(Second2),
    {Sealed, [Seal | _]} = exchange(Pull3, ?TO, Ended),
    {Sealed, [{answer, ref, {moved, ?INDEX, {{1, 2}, ?TO}}}]} = add(Sealed),
    {Serving, [{held, ?INDEX, {1, 2}, ?TO}]} = exchange(Seal, ?FROM, Second2),
    {_, [{answer, ref, {vote, ?INDEX, {1, 2}, _, 3}}]} = add(Serving),
    % The previous holder may go.
    {_, [{send, ?TO, ?INDEX, MayGo}]} = ring_seat:handle(tick, 0, Sealed),
    {_, [{send, ?FROM, ?INDEX, Go}]} = ring_seat:handle({message, ?FROM, MayGo}, 0, Serving),
    {_, [finished]} = ring_seat:handle({message, ?TO, Go}, 0, Sealed).

%% The sender serves again if the receiver is lost before the seal.
a_lost_receiver_test() ->
    ok = load_page(),
    First = seat(?FROM, {1, 1}, plan([?FROM, ?TO])),
    Pull = {message, ?TO, {pull, {1, 2}, {none, 1}, ring_known:new()}},
    {Paused, [{send, ?TO, ?INDEX, {chunk, _, {Session, 1}, last, [], _}}]} =
        ring_seat:handle(Pull, 0, First),
    {Paused, [{answer, ref, {not_serving, ?INDEX}}]} = add(Paused),
    {Again, []} = ring_seat:handle({lost, ?TO}, 0, Paused),
    {Written, [{answer, ref, {vote, ?INDEX, {1, 1}, _, 1}}]} = add(Again),
    % Its pulls that are still under way do not take the index away: the first one begins another
    % transfer, in which the others do not count. One that was only silent begins again.
    {Begun, [{send, ?TO, ?INDEX, {chunk, _, {Other, 1}, last, [_], _}}]} =
        ring_seat:handle(Pull, 0, Written),
    ?assertNotEqual(Session, Other),
    Late = {message, ?TO, {pull, {1, 2}, {Session, 2}, ring_known:new()}},
    [
        ?assertMatch(
            {Seat, [{send, ?TO, ?INDEX, {refused, {1, 2}, {again, {Session, 2}}}}]},
            ring_seat:handle(Late, 0, Seat)
        )
     || Seat <- [Again, Begun]
    ].

%% Without siblings to ask, a seat of a later plan waits for news of a previous holder.
a_later_plan_test() ->
    ok = load_page(),
    Plan = #{partitions => 12, replication => 1, members => [?FROM, ?TO]},
    View = ring_view:new(ring_state:plan(2, Plan)),
    {Seat, []} = ring_seat:new(options(?TO, {2, 1}, View)),
    {Waiting, []} = ring_seat:handle(tick, 0, Seat),
    Held = ring_state:held(?INDEX, {1, 1}, ?FROM),
    Known = ring_view:new(ring_state:merge(ring_state:plan(2, Plan), Held)),
    ?assertMatch(
        {_, [{send, ?FROM, ?INDEX, {pull, {2, 1}, {none, 1}, _}}]},
        ring_seat:handle({view, Known}, 0, Waiting)
    ).

%% A seat that is over gets its index back from the present holder, without ending that one, unless
%% it is lost.
an_index_given_back_test() ->
    Members = [?FROM, ?TO, <<"kv-3">>],
    Plan = ring_state:plan(3, #{partitions => 12, replication => 3, members => Members}),
    Holder = ring_state:held(?INDEX, {2, 1}, ?TO),
    Options = (options(?FROM, {1, 1}, ring_view:new(Plan)))#{
        module := ring_kvs_vnode, replicated := true
    },
    {Searching, _} = ring_seat:new(Options),
    View = ring_view:new(ring_state:merge(Plan, Holder)),
    {Seat, _} = ring_seat:handle({view, View}, 0, Searching),
    {Renewed, Effects} = ring_seat:handle({renew, {3, 1}, []}, 0, Seat),
    ?assertMatch([{send, ?TO, ?INDEX, {pull, {3, 1}, {none, 1}, _}}], Effects),
    ?assertEqual(none, ring_known:last_begun(?INDEX, ring_seat:known(Renewed))),
    {Alone, Questions} = ring_seat:handle({renew, {3, 1}, [?TO]}, 0, Seat),
    ?assertEqual({3, 1}, ring_known:last_begun(?INDEX, ring_seat:known(Alone))),
    ?assertEqual([copy], lists:usort([element(1, M) || {send, _, _, M} <- Questions])).

load_page() ->
    {[Source], _} = partisan_test_page:blocks("tutorials/ring-service.md"),
    partisan_test_page:load(Source).

%% A service that is not replicated begins empty, and with one replica there are no grants.
seat(Node, Incarnation, State) ->
    {Searching, []} = ring_seat:new(options(Node, Incarnation, ring_view:new(State))),
    {Seat, [{held, ?INDEX, Incarnation, Node}]} = ring_seat:handle(tick, 0, Searching),
    Seat.

options(Node, Incarnation, View) ->
    #{
        index => ?INDEX,
        node => Node,
        incarnation => Incarnation,
        module => ring_counter,
        replicated => false,
        view => View
    }.

plan(Members) ->
    ring_state:plan(1, #{partitions => 12, replication => 1, members => Members}).

add(Seat) ->
    add(<<"k">>, Seat).

add(Key, Seat) ->
    ring_seat:handle({request, ref, ?INDEX, {add, Key}}, 0, Seat).

exchange({send, _, ?INDEX, Message}, From, Seat) ->
    ring_seat:handle({message, From, Message}, 0, Seat).

-module(ring_request_tests).

-include_lib("eunit/include/eunit.hrl").

-define(KEY, <<"k">>).

%% The first step of a write is not repeated while its outcome is unknown.
a_write_is_not_repeated_test() ->
    {Request, Index, _} = writing(),
    {Request, Effects} = ring_request:handle({retry, view()}, Request),
    ?assertMatch([{start_timer, retry, _}], Effects),
    ?assertMatch({_, [{done, {error, timeout}}]}, ring_request:handle(deadline, Request)),
    Node = ring_view:address(Index, view()),
    ?assertMatch({_, [{done, {error, timeout}}]}, ring_request:handle({lost, Node}, Request)).

%% It is tried elsewhere if it was not executed.
a_write_is_redirected_test() ->
    {Request, Index, [Second | _]} = writing(),
    Moved = {answer, write, Index, {moved, Index, {{9, 9}, <<"kv-9">>}}},
    {_, [{command, write, Index, <<"kv-9">>, _, _}]} = ring_request:handle(Moved, Request),
    {Next, Effects} = ring_request:handle({unreachable, write, Index}, Request),
    ?assertMatch([{command, write, Second, _, _, _}], Effects),
    {Third, [{command, write, Last, _, _, _}]} =
        ring_request:handle({answer, write, Second, {not_serving, Second}}, Next),
    {None, []} = ring_request:handle({answer, write, Last, {not_serving, Last}}, Third),
    ?assertMatch({_, [{done, {error, unavailable}}]}, ring_request:handle(deadline, None)).

%% Two votes are a quorum; one whose incarnation the other knows to be over is not one.
votes_test() ->
    {Request, First, [Second, Third]} = writing(),
    Set = ring_dvv:write({{First, {1, 1}}, 1}, {value, 1}, [], ring_dvv:new()),
    {Storing, [_, _]} = ring_request:handle(
        {answer, write, First, written(First, {{First, {1, 1}}, 1}, Set)}, Request
    ),
    ?assertMatch(
        {_, [{done, {ok, _, Set, _}}]},
        ring_request:handle({answer, store, Second, stored(Second)}, Storing)
    ),
    Over = ring_known:began(First, {2, 1}, ring_known:new()),
    {Waiting, []} = ring_request:handle(
        {answer, store, Second, vote(Second, Over, stored)}, Storing
    ),
    % The one that is over is asked again, and the third one suffices.
    ?assertMatch(
        {_, [{start_timer, retry, _}, {command, store, First, _, _, _}]},
        ring_request:handle({retry, view()}, Waiting)
    ),
    ?assertMatch(
        {_, [{done, {ok, _, Set, _}}]},
        ring_request:handle({answer, store, Third, stored(Third)}, Waiting)
    ).

%% A digest that does not match leads to the value; what lacks something is repaired.
a_digest_read_test() ->
    {Request, [{command, read, First, _, _, _}, {command, digest, Second, _, _, _} | _]} =
        reading(#{reads => digest}),
    Old = ring_dvv:write({{First, {1, 1}}, 1}, {value, 1}, [], ring_dvv:new()),
    New = ring_dvv:write({{First, {1, 1}}, 2}, {value, 2}, ring_dvv:context(Old), Old),
    {One, []} = ring_request:handle({answer, read, First, found(First, Old)}, Request),
    Digest = vote(Second, ring_known:new(), {digest, ring_dvv:digest(?KEY, New)}),
    {Two, [{command, read, Second, _, _, {read, ?KEY}}]} =
        ring_request:handle({answer, digest, Second, Digest}, One),
    {_, [{command, repair, First, _, _, {store, ?KEY, New}}, {done, {ok, New, _}}]} =
        ring_request:handle({answer, read, Second, found(Second, New)}, Two).

%% A session does not read less than it knows, unless all replicas agree that there is no more.
a_session_widens_a_read_test() ->
    Known = [{{0, {1, 1}}, 7}],
    {Request, Commands} = reading(#{context => Known}),
    [A, B, C] = [Index || {command, read, Index, _, _, _} <- Commands],
    {One, []} = ring_request:handle({answer, read, A, found(A, ring_dvv:new())}, Request),
    {Two, []} = ring_request:handle({answer, read, B, found(B, ring_dvv:new())}, One),
    ?assertMatch({_, [{done, {error, unavailable}}]}, ring_request:handle(deadline, Two)),
    ?assertMatch(
        {_, [{done, {ok, _, Known}}]},
        ring_request:handle({answer, read, C, found(C, ring_dvv:new())}, Two)
    ).

%% An atomic read is written back before it ends.
an_atomic_read_test() ->
    {Request, [{command, read, A, _, _, _}, {command, read, B, _, _, _} | _]} =
        reading(#{mode => atomic}),
    Set = ring_dvv:write({{A, {1, 1}}, 1}, {value, 1}, [], ring_dvv:new()),
    {One, []} = ring_request:handle({answer, read, A, found(A, ring_dvv:new())}, Request),
    {Two, Stores} = ring_request:handle({answer, read, B, found(B, Set)}, One),
    ?assertMatch([{command, store, A, _, _, _}, {command, store, _, _, _, _}], Stores),
    ?assertMatch(
        {_, [{done, {ok, Set, _}}]},
        ring_request:handle({answer, store, A, stored(A)}, Two)
    ).

%% A context that would cover a concurrent value does not come back.
concurrent_writes_test() ->
    {Request, First, [Second | _]} = writing(),
    Actor = {First, {1, 1}},
    Concurrent = ring_dvv:write({Actor, 1}, {value, 1}, [], ring_dvv:new()),
    Set = ring_dvv:write({Actor, 2}, {value, 2}, [], Concurrent),
    {Storing, _} = ring_request:handle(
        {answer, write, First, written(First, {Actor, 2}, Set)}, Request
    ),
    ?assertMatch(
        {_, [{done, {ok, {Actor, 2}, Set, []}}]},
        ring_request:handle({answer, store, Second, stored(Second)}, Storing)
    ).

%% Only a second attempt goes to stand-ins, which count as long as the quorum lacks them.
a_sloppy_write_is_hinted_test() ->
    {Request, First, [Second, Third]} = sloppy(),
    Dot = {{First, {1, 1}}, 1},
    Set = ring_dvv:write(Dot, {value, 1}, [], ring_dvv:new()),
    Written = {answer, write, First, written(First, Dot, Set)},
    {Storing, [_, _]} = ring_request:handle(Written, Request),
    {One, []} = ring_request:handle({unreachable, store, Second}, Storing),
    {Both, []} = ring_request:handle({unreachable, store, Third}, One),
    {Asked, Effects} = ring_request:handle({retry, view()}, Both),
    [_, _, {command, store, {hints, Node} = Place, Node, _, {keep, ?KEY, Set, 2}}] =
        commands(Effects),
    ?assertMatch(
        {_, [{done, {hinted, Dot, Set, _}}]},
        ring_request:handle({answer, store, Place, {kept, stored}}, Asked)
    ),
    % A holder that answers after all makes it an ordinary write.
    ?assertMatch(
        {_, [{done, {ok, Dot, Set, _}}]},
        ring_request:handle({answer, store, Third, stored(Third)}, Asked)
    ),
    % Another one is asked if it has no room; with none left, the next retry begins again.
    {Refused, [{command, store, Other, _, _, _}]} =
        ring_request:handle({answer, store, Place, refused}, Asked),
    ?assertNotEqual(Place, Other),
    {None, []} = ring_request:handle({unreachable, store, Other}, Refused),
    {Silent, []} = ring_request:handle({unreachable, store, Second}, None),
    {_, Again} = ring_request:handle({retry, view()}, Silent),
    ?assertMatch(
        [{command, store, Second, _, _, _}, {command, store, Place, Node, _, _}], commands(Again)
    ).

%% A stand-in executes a write if no holder can, with its own dot.
a_stand_in_executes_a_write_test() ->
    {Request, First, [Second, Third]} = sloppy(),
    {Tried, Effects} = lists:foldl(
        fun(I, {R, _}) -> ring_request:handle({unreachable, write, I}, R) end,
        {Request, []},
        [First, Second, Third]
    ),
    ?assertEqual([], Effects),
    {Again, [_Timer, {command, write, First, _, _, _}]} =
        ring_request:handle({retry, view()}, Tried),
    {Standing, [{command, write, {hints, Node} = Place, Node, _, {write, ?KEY, _, [], 2}}]} =
        lists:foldl(
            fun(I, {R, _}) -> ring_request:handle({unreachable, write, I}, R) end,
            {Again, []},
            [First, Second, Third]
        ),
    % It is not repeated.
    ?assertMatch({_, [{done, {error, timeout}}]}, ring_request:handle({lost, Node}, Standing)),
    Dot = {{13, {1, 1}}, 1},
    Set = ring_dvv:write(Dot, {value, 1}, [], ring_dvv:new()),
    {Storing, Stores} =
        ring_request:handle({answer, write, Place, {kept, {written, Dot, Set}}}, Standing),
    ?assertMatch([{command, store, _, _, _, _}, _, _], Stores),
    ?assertMatch(
        {_, [{done, {hinted, Dot, Set, _}}]},
        ring_request:handle({answer, store, Second, stored(Second)}, Storing)
    ).

%% A hint is delivered by a quorum of replicas alone.
a_delivery_test() ->
    Set = ring_dvv:write({{13, {1, 1}}, 1}, {value, 1}, [], ring_dvv:new()),
    {Request, Effects} = ring_request:new({store, ?KEY, Set}, view(), #{}),
    [A, B, _] = [I || {command, store, I, _, _, {store, ?KEY, _}} <- commands(Effects)],
    {One, []} = ring_request:handle({answer, store, A, stored(A)}, Request),
    ?assertMatch({_, [{done, {error, unavailable}}]}, ring_request:handle(deadline, One)),
    ?assertMatch(
        {_, [{done, {ok, Set, _}}]}, ring_request:handle({answer, store, B, stored(B)}, One)
    ).

%% Helpers.

sloppy() ->
    Options = #{availability => sloppy},
    {Request, Effects} = ring_request:new({put, ?KEY, {value, 1}}, view(), Options),
    [{command, write, First, _, _, _}] = commands(Effects),
    Indexes = ring_view:indexes(ring_view:partition(?KEY, view()), view()),
    {Request, First, lists:delete(First, Indexes)}.

writing() ->
    {Request, Effects} = ring_request:new({put, ?KEY, {value, 1}}, view(), #{}),
    [{command, write, First, _, _, {write, ?KEY, {value, 1}, []}}] = commands(Effects),
    Indexes = ring_view:indexes(ring_view:partition(?KEY, view()), view()),
    {Request, First, lists:delete(First, Indexes)}.

reading(Options) ->
    {Request, Effects} = ring_request:new({get, ?KEY}, view(), Options),
    {Request, commands(Effects)}.

commands(Effects) ->
    [E || E <- Effects, element(1, E) =:= command].

found(Index, Set) ->
    vote(Index, ring_known:new(), {found, Set}).

written(Index, Dot, Set) ->
    vote(Index, ring_known:new(), {written, Dot, Set}).

stored(Index) ->
    vote(Index, ring_known:new(), stored).

vote(Index, Known, Reply) ->
    {vote, Index, {1, 1}, Known, Reply}.

view() ->
    Members = [<<"kv-", (integer_to_binary(I))/binary>> || I <- lists:seq(0, 4)],
    ring_view:new(
        ring_state:plan(1, #{partitions => 12, replication => 3, members => Members})
    ).

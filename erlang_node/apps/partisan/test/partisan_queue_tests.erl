-module(partisan_queue_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

a_full_queue_refuses_test() ->
    Queue = partisan_queue:new(100),
    ?assertEqual(ok, partisan_queue:reserve(Queue, 60)),
    ?assertEqual(full, partisan_queue:reserve(Queue, 60)),
    ?assertEqual(ok, partisan_queue:reserve(Queue, 40)),
    ?assertEqual({2, 100}, {partisan_queue:messages(Queue), partisan_queue:bytes(Queue)}),
    ?assertNot(partisan_queue:has_room(Queue, 10)),
    ok = partisan_queue:release(Queue, 1, 60),
    ?assert(partisan_queue:has_room(Queue, 10)),
    ?assertEqual(ok, partisan_queue:reserve(Queue, 60)).

an_empty_queue_takes_a_message_of_any_size_test() ->
    Queue = partisan_queue:new(100),
    ?assertEqual(ok, partisan_queue:reserve(Queue, 1000)),
    ?assertEqual(full, partisan_queue:reserve(Queue, 1)).

a_sealed_queue_takes_nothing_and_keeps_its_account_test() ->
    Queue = partisan_queue:new(100),
    ?assertEqual(ok, partisan_queue:reserve(Queue, 60)),
    ?assertNot(partisan_queue:is_sealed(Queue)),
    [ok = partisan_queue:seal(Queue) || _ <- [1, 2]],
    ?assert(partisan_queue:is_sealed(Queue)),
    ?assertEqual(sealed, partisan_queue:reserve(Queue, 1)),
    ?assertEqual({1, 60}, partisan_queue:balance(Queue)),
    ok = partisan_queue:release(Queue, 1, 60),
    ?assertEqual({0, 0}, partisan_queue:balance(Queue)),
    ?assert(partisan_queue:is_sealed(Queue)),
    ?assertEqual(sealed, partisan_queue:reserve(Queue, 1)).

the_bound_holds_whatever_comes_test_() ->
    {timeout, 600, fun the_bound_holds_whatever_comes/0}.

the_bound_holds_whatever_comes() ->
    ?assert(
        proper:quickcheck(
            ?FORALL(Operations, [{range(1, 60), boolean()}], begin
                Queue = partisan_queue:new(100),
                Charged = lists:foldl(
                    fun
                        ({Bytes, true}, Acc) ->
                            case partisan_queue:reserve(Queue, Bytes) of
                                ok -> [Bytes | Acc];
                                full -> Acc
                            end;
                        ({_, false}, []) ->
                            [];
                        ({_, false}, [Bytes | Acc]) ->
                            ok = partisan_queue:release(Queue, 1, Bytes),
                            Acc
                    end,
                    [],
                    Operations
                ),
                partisan_queue:bytes(Queue) =:= lists:sum(Charged) andalso
                    partisan_queue:messages(Queue) =:= length(Charged) andalso
                    lists:sum(Charged) =< 100
            end),
            [{to_file, user}, {numtests, 500}]
        )
    ).

senders_at_once_never_exceed_it_test() ->
    Queue = partisan_queue:new(1000),
    Senders = [
        spawn_monitor(fun() ->
            Results = [partisan_queue:reserve(Queue, 7) || _ <- lists:seq(1, 100)],
            exit({taken, length([ok || ok <- Results])})
        end)
     || _ <- lists:seq(1, 20)
    ],
    Taken = lists:sum([
        receive {'DOWN', Ref, process, Pid, {taken, N}} -> N end
     || {Pid, Ref} <- Senders
    ]),
    ?assertEqual(Taken * 7, partisan_queue:bytes(Queue)),
    ?assert(Taken * 7 =< 1000).

%%% @doc Admission of connections, as equations and for random histories.
-module(node_http_admission_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(M, node_http_admission).
-define(LIMITS, #{
    total => 6, per_source => 3, requests => 3, source_requests => 2, waiting => 1
}).

within_the_limits_test() ->
    {admit, 1, none, A} = ?M:arrive(a, ?M:new(?LIMITS)),
    {admit, 2, none, B} = ?M:arrive(b, A),
    ?assertEqual(a, ?M:source(1, B)),
    ?assertEqual(b, ?M:source(2, B)).

the_oldest_of_the_same_source_makes_room_test() ->
    Full = arrivals([b, a, a, a]),
    ?assertMatch({admit, 5, 2, _}, ?M:arrive(a, Full)),
    ?assertMatch({admit, 5, none, _}, ?M:arrive(b, Full)).

the_oldest_of_all_makes_room_test() ->
    ?assertMatch({admit, 7, 1, _}, ?M:arrive(d, arrivals([a, a, b, b, c, c]))).

one_whose_request_has_arrived_stays_test() ->
    {go, Asked} = ?M:ask(1, request, arrivals([a, a, a])),
    ?assertMatch({admit, 4, 2, _}, ?M:arrive(a, Asked)).

requests_leave_room_test() ->
    {go, A} = ?M:ask(1, request, arrivals([a, a, a, b, c])),
    {go, B} = ?M:ask(2, request, A),
    {busy, C} = ?M:ask(3, request, B),
    {go, D} = ?M:ask(4, request, C),
    {busy, E} = ?M:ask(5, request, D),
    ?assertMatch({go, _}, ?M:ask(5, request, ?M:gone(4, E))),
    ?assertMatch({go, _}, ?M:ask(3, probe, E)).

few_probes_wait_test() ->
    {go, A} = ?M:ask(1, probe, arrivals([a, b])),
    ?assertMatch({at_once, _}, ?M:ask(2, probe, A)),
    ?assertMatch({go, _}, ?M:ask(2, probe, ?M:gone(1, A))).

%% Whatever other clients do, a probe that does not wait is answered, unless probes themselves fill
%% all capacity.
probes_test_() ->
    {timeout, 600, ?_assert(proper:quickcheck(prop_probe(), [{numtests, 500}, {to_file, user}]))}.

prop_probe() ->
    ?FORALL(
        History,
        list(oneof([{arrive, oneof([a, b, c, d])}, {ask, range(1, 20)}, {gone, range(1, 20)}])),
        begin
            {Admission, _} = lists:foldl(fun step/2, {?M:new(?LIMITS), #{}}, History),
            lists:all(
                fun(Source) ->
                    {admit, Key, _, Admitted} = ?M:arrive(Source, Admission),
                    {Answer, _} = ?M:ask(Key, probe, Admitted),
                    lists:member(Answer, [go, at_once])
                end,
                [a, e]
            )
        end
    ).

%% The keys of present connections, next to the value.
step({arrive, Source}, {Admission, Keys}) ->
    {admit, Key, Displaced, Next} = ?M:arrive(Source, Admission),
    {Next, (maps:remove(Displaced, Keys))#{Key => reading}};
step({ask, Key}, {Admission, Keys}) when map_get(Key, Keys) =:= reading ->
    {Answer, Next} = ?M:ask(Key, request, Admission),
    {Next, Keys#{Key := case Answer of go -> asked; busy -> reading end}};
step({gone, Key}, {Admission, Keys}) ->
    {?M:gone(Key, Admission), maps:remove(Key, Keys)};
step(_, Both) ->
    Both.

arrivals(Sources) ->
    lists:foldl(
        fun(Source, Admission) ->
            {admit, _, none, Next} = ?M:arrive(Source, Admission),
            Next
        end,
        ?M:new(?LIMITS),
        Sources
    ).

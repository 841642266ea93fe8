-module(partisan_doze_tests).

-include_lib("eunit/include/eunit.hrl").

lone_messages_find_it_asleep_each_time_test() ->
    Doze = lists:foldl(fun disturb/2, partisan_doze:new(), [At * 1000 || At <- lists:seq(1, 10)]),
    ?assertEqual(0, partisan_doze:hibernate_after(Doze)).

a_heartbeat_and_its_answer_do_not_keep_it_awake_test() ->
    Times = lists:append([[At * 5000, At * 5000 + 1] || At <- lists:seq(1, 10)]),
    Doze = lists:foldl(fun disturb/2, partisan_doze:new(), Times),
    ?assertEqual(0, partisan_doze:hibernate_after(Doze)).

a_busy_one_stays_awake_test() ->
    ?assert(partisan_doze:hibernate_after(in_demand()) > 0).

one_that_was_busy_starts_over_test() ->
    Doze = disturb(1800, partisan_doze:asleep(1500, in_demand())),
    ?assertEqual(0, partisan_doze:hibernate_after(Doze)).

in_demand() ->
    lists:foldl(fun disturb/2, partisan_doze:new(), [100, 200, 300, 400, 500]).

%% It hibernates just after it was woken, as one does without a timeout.
disturb(Now, Doze) ->
    Woken = partisan_doze:woken(Now, Doze),
    case partisan_doze:hibernate_after(Woken) of
        0 -> partisan_doze:asleep(Now, Woken);
        _ -> Woken
    end.

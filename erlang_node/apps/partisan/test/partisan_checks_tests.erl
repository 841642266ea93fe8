%%% @doc Which receivers a connection checks.
-module(partisan_checks_tests).

-include_lib("eunit/include/eunit.hrl").

-define(SHARE, 40).
-define(MESSAGES, 10000).

%% Among twenty little-used receivers, one that gets half of all messages is checked for half of the
%% samples; the limits are eight standard deviations away.
the_one_that_gets_much_is_checked_often_test() ->
    [Flooded | Others] = Pids = processes(21),
    Checked = run(?MESSAGES, fun(N) -> pick(N, Flooded, Others) end, opened(?SHARE), #{}),
    Samples = lists:sum(maps:values(Checked)),
    ?assert(abs(Samples - ?MESSAGES div (?SHARE div 4)) < 200),
    ?assert(abs(maps:get(Flooded, Checked) - Samples div 2) < 130),
    % None is missed.
    ?assertEqual(length(Pids), map_size(Checked)).

%% Senders in rotation, as many as messages between two samples.
senders_that_take_turns_test() ->
    Pids = processes(?SHARE div 4),
    Turn = fun(N) -> lists:nth(1 + N rem length(Pids), Pids) end,
    ?assertEqual(length(Pids), map_size(run(?MESSAGES, Turn, opened(?SHARE), #{}))).

%% With thousands of connections each message counts.
each_receiver_is_checked_where_the_share_is_small_test() ->
    [Pid | _] = processes(1),
    ?assertEqual(#{Pid => 100}, run(100, fun(_) -> Pid end, opened(0), #{})).

the_first_message_is_a_sample_test() ->
    Checks = partisan_checks:allow(?SHARE, partisan_checks:new()),
    ?assertEqual([self()], partisan_checks:due(partisan_checks:delivered(self(), Checks))).

a_congested_one_stays_due_test() ->
    [A, B] = processes(2),
    Delivered = partisan_checks:delivered(B, partisan_checks:delivered(A, opened(0))),
    ?assertEqual([A, B], lists:sort(partisan_checks:due(Delivered))),
    Checked = partisan_checks:checked([B], Delivered),
    ?assertEqual([B], partisan_checks:due(Checked)),
    % Once, whatever else it receives.
    ?assertEqual([B], partisan_checks:due(partisan_checks:delivered(B, Checked))).

opened(Share) ->
    partisan_checks:allow(Share, partisan_checks:new()).

processes(Count) ->
    [list_to_pid("<0." ++ integer_to_list(N) ++ ".0>") || N <- lists:seq(1, Count)].

pick(N, Flooded, _Others) when N rem 2 =:= 0 -> Flooded;
pick(N, _Flooded, Others) -> lists:nth(1 + (N div 2) rem length(Others), Others).

%% How often each was due.
run(0, _Pick, _Checks, Due) ->
    Due;
run(Left, Pick, Checks, Due) ->
    Delivered = partisan_checks:delivered(Pick(Left), Checks),
    Counted = lists:foldl(
        fun(Pid, Counts) -> maps:update_with(Pid, fun(N) -> N + 1 end, 1, Counts) end,
        Due,
        partisan_checks:due(Delivered)
    ),
    run(Left - 1, Pick, partisan_checks:checked([], Delivered), Counted).

%%% @doc When heartbeats are sent, as properties.
-module(partisan_heartbeat_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

properties_test_() ->
    [
        {timeout, 600, ?_assert(proper:quickcheck(Property, [{numtests, 500}, {to_file, user}]))}
     || Property <- [
            prop_few_peers_get_the_configured_interval(),
            prop_many_peers_get_as_many_heartbeats_together(),
            prop_an_answer_has_nearly_the_interval(),
            prop_links_made_at_any_time_have_eight_instants_of_an_interval()
        ]
    ].

prop_few_peers_get_the_configured_interval() ->
    ?FORALL(
        {Configured, Peers},
        {pos_integer(), range(0, 64)},
        partisan_heartbeat:interval(Configured, Peers) =:= Configured
    ).

prop_many_peers_get_as_many_heartbeats_together() ->
    ?FORALL(
        {Configured, Peers},
        {range(1000, 60000), range(64, 2000)},
        begin
            Interval = partisan_heartbeat:interval(Configured, Peers),
            % Per millisecond, with what the division cuts off.
            Interval >= Configured andalso
                Peers / (Interval + 1) =< 64 / min(Configured, 5000)
        end
    ).

%% Seldom enough for 192 peers already.
a_long_interval_grows_later_test() ->
    ?assertEqual(15000, partisan_heartbeat:interval(15000, 192)),
    ?assertEqual(20000, partisan_heartbeat:interval(15000, 256)).

prop_an_answer_has_nearly_the_interval() ->
    ?FORALL({Now, Interval}, {integer(), range(8, 60000)}, begin
        Pause = partisan_heartbeat:due(Now, Interval) - Now,
        Pause =< Interval andalso Pause > Interval - Interval div 8
    end).

prop_links_made_at_any_time_have_eight_instants_of_an_interval() ->
    ?FORALL({Now, Eighth}, {integer(), range(1, 5000)}, begin
        Interval = 8 * Eighth,
        Ages = lists:seq(0, Interval - 1, max(1, Interval div 100)),
        Instants = lists:usort([partisan_heartbeat:due(Now + Age, Interval) || Age <- Ages]),
        length(Instants) =< 9 andalso lists:all(fun(At) -> At rem Eighth =:= 0 end, Instants)
    end).

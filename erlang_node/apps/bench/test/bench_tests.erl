%% The basis of the figures: percentiles, and receivers that notice faults.
-module(bench_tests).

-include_lib("eunit/include/eunit.hrl").

-define(LOAD(Affinity), #{pairs => 1, payload => 1024, affinity => Affinity}).

percentiles_are_off_by_a_thirty_second_at_most_test() ->
    Histogram = bench_histogram:new(),
    [ok = bench_histogram:add(Histogram, Value * 1000) || Value <- lists:seq(1, 10000)],
    [
        begin
            Found = bench_histogram:percentile(Histogram, Share),
            ?assert(Found >= 10 * Share andalso Found =< 10 * Share * (1 + 1 / 32))
        end
     || Share <- [0.001, 0.5, 0.99, 1.0]
    ].

nothing_has_no_percentile_test() ->
    ?assertEqual(null, bench_histogram:percentile(bench_histogram:new(), 0.5)).

intact_messages_in_order_are_no_faults_test() ->
    ?assertMatch(#{messages := 20, faults := 0}, received(?LOAD(true), lists:seq(1, 20), good())).

order_is_not_asked_for_without_affinity_test() ->
    Load = ?LOAD(false),
    ?assertMatch(#{faults := 0}, received(Load, [3, 1, 2, 5, 4], good())).

faults_are_noticed_test_() ->
    <<First, Rest/binary>> = good(),
    Middle = binary:replace(good(), binary:part(good(), 500, 8), <<0:64>>),
    Loose = ?LOAD(false),
    [
        {Title, ?_assertMatch(#{faults := 1}, received(Load, Seqs, Payload))}
     || {Title, Load, Seqs, Payload} <- [
            {"gap", ?LOAD(true), [1, 3], good()},
            {"repetition", Loose, [1, 1], good()},
            {"later repetition", Loose, [2, 2], good()},
            {"beginning", ?LOAD(true), [1], <<(First bxor 1), Rest/binary>>},
            {"length", ?LOAD(true), [1], <<Rest/binary>>},
            {"middle of one in sixteen", ?LOAD(false), [16], Middle}
        ]
    ].

good() ->
    bench_traffic:payload(1024).

received(Load, Seqs, Payload) ->
    ok = bench_traffic:receive_start(Load),
    Now = bench_system:now(),
    [bench_receiver_1 ! {bench, Seq, Now, Payload} || Seq <- Seqs],
    Figures = await(length(Seqs)),
    #{p50_ms := P50} = bench_traffic:receive_stop(),
    ?assert(P50 >= 0),
    Figures.

await(Count) ->
    case bench_traffic:received() of
        #{messages := Count} = Figures ->
            Figures;
        _ ->
            erlang:yield(),
            await(Count)
    end.

-module(partisan_metrics_tests).

-include_lib("eunit/include/eunit.hrl").
-export([samples/0]).

metrics_test_() ->
    {foreach, fun partisan_metrics:init/0, fun(_) -> ets:delete(partisan_metrics) end, [
        fun counter/0,
        fun gauge/0,
        fun histogram/0,
        fun function/0,
        fun registering_twice/0,
        fun wrong_use/0,
        fun no_increment_is_lost/0
    ]}.

counter() ->
    ok = partisan_metrics:new(counter, bytes_total, "Bytes", [channel, direction]),
    ?assertEqual(0, partisan_metrics:value(bytes_total, [gossip, sent])),
    ok = partisan_metrics:inc(bytes_total, [gossip, sent]),
    ok = partisan_metrics:inc(bytes_total, [gossip, sent], 41),
    ok = partisan_metrics:inc(bytes_total, [<<"default">>, received], 7),
    ?assertMatch(
        [
            #{
                name := bytes_total,
                type := counter,
                help := "Bytes",
                samples := [
                    {[{channel, gossip}, {direction, sent}], 42},
                    {[{channel, <<"default">>}, {direction, received}], 7}
                ]
            }
        ],
        partisan_metrics:collect()
    ).

gauge() ->
    ok = partisan_metrics:new(gauge, view_size, "Peers", []),
    ok = partisan_metrics:set(view_size, [], 5),
    ok = partisan_metrics:set(view_size, [], -3),
    ?assertEqual(-3, partisan_metrics:value(view_size, [])).

histogram() ->
    ok = partisan_metrics:new({histogram, [0.001, 0.1, 1]}, send_seconds, "Time", [channel]),
    Series = partisan_metrics:series(send_seconds, [gossip]),
    [
        ok = partisan_metrics:record(Series, Microseconds * 1000)
     || Microseconds <- [10, 1_000, 50_000, 500_000, 2_500_000]
    ],
    [#{type := histogram, samples := [{[{channel, gossip}], Histogram}]}] =
        partisan_metrics:collect(),
    ?assertEqual(
        #{buckets => [{0.001, 2}, {0.1, 3}, {1.0, 4}], count => 5, sum => 3.05101}, Histogram
    ).

function() ->
    ok = partisan_metrics:new_function(gauge, up, "Is it?", [kind], {?MODULE, samples}),
    ?assertMatch(
        [#{name := up, type := gauge, samples := [{[{kind, full_mesh}], 1}]}],
        partisan_metrics:collect()
    ).

samples() ->
    [{[full_mesh], 1}].

registering_twice() ->
    ok = partisan_metrics:new(counter, a_total, "A", []),
    ok = partisan_metrics:inc(a_total, []),
    ok = partisan_metrics:new(counter, a_total, "A", []),
    ?assertEqual(1, partisan_metrics:value(a_total, [])),
    ?assertError(
        {metric_already_registered, a_total, _}, partisan_metrics:new(gauge, a_total, "A", [])
    ).

wrong_use() ->
    ?assertError({unknown_metric, nothing}, partisan_metrics:inc(nothing, [])),
    ok = partisan_metrics:new(counter, a_total, "A", [kind]),
    ?assertError({bad_labels, a_total, [kind], []}, partisan_metrics:inc(a_total, [])).

no_increment_is_lost() ->
    ok = partisan_metrics:new(counter, a_total, "A", [kind]),
    Writers = [
        spawn_monitor(fun() ->
            [partisan_metrics:inc(a_total, [Kind]) || _ <- lists:seq(1, 500), Kind <- [x, y]]
        end)
     || _ <- lists:seq(1, 8)
    ],
    [receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end
     || {Pid, Ref} <- Writers],
    ?assertEqual(4000, partisan_metrics:value(a_total, [x])),
    ?assertEqual(4000, partisan_metrics:value(a_total, [y])).

-module(node_prometheus_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

a_counter_test() ->
    Family = #{
        name => bytes_total,
        type => counter,
        help => "Bytes, \\ and\nmore",
        samples => [
            {[{channel, gossip}, {direction, sent}], 42},
            {[{channel, <<"a\"b\\c\nd">>}, {direction, 7}], 0.5}
        ]
    },
    ?assertEqual(
        <<
            "# HELP bytes_total Bytes, \\\\ and\\nmore\n"
            "# TYPE bytes_total counter\n"
            "bytes_total{channel=\"gossip\",direction=\"sent\"} 42\n"
            "bytes_total{channel=\"a\\\"b\\\\c\\nd\",direction=\"7\"} 0.5\n"
        >>,
        render([Family])
    ).

a_gauge_without_labels_test() ->
    Family = #{name => up, type => gauge, help => "Up", samples => [{[], -1}]},
    ?assertEqual(<<"# HELP up Up\n# TYPE up gauge\nup -1\n">>, render([Family])).

a_histogram_test() ->
    Histogram = #{buckets => [{0.001, 2}, {1.0, 5}], count => 6, sum => 3.25},
    Family = #{
        name => send_seconds,
        type => histogram,
        help => "Time",
        samples => [{[{channel, gossip}], Histogram}]
    },
    ?assertEqual(
        <<
            "# HELP send_seconds Time\n"
            "# TYPE send_seconds histogram\n"
            "send_seconds_bucket{channel=\"gossip\",le=\"0.001\"} 2\n"
            "send_seconds_bucket{channel=\"gossip\",le=\"1.0\"} 5\n"
            "send_seconds_bucket{channel=\"gossip\",le=\"+Inf\"} 6\n"
            "send_seconds_sum{channel=\"gossip\"} 3.25\n"
            "send_seconds_count{channel=\"gossip\"} 6\n"
        >>,
        render([Family])
    ).

every_line_is_valid_test_() ->
    Property = ?FORALL(
        Families,
        list(family()),
        lists:all(fun is_line/1, binary:split(render(Families), <<"\n">>, [global]))
    ),
    {timeout, 600, ?_assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 100}]))}.

is_line(<<>>) ->
    true;
is_line(Line) ->
    Name = "[a-zA-Z_:][a-zA-Z0-9_:]*",
    Label = "[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\\\\n]|\\\\[\\\\\"n])*\"",
    Number = "-?[0-9]+(?:\\.[0-9]+)?(?:e[-+]?[0-9]+)?",
    Expression = lists:flatten([
        "^(?:# HELP ", Name, " (?:[^\\\\\\n]|\\\\[\\\\n])*",
        "|# TYPE ", Name, " (?:counter|gauge|histogram)",
        "|", Name, "(?:\\{", Label, "(?:,", Label, ")*\\})? ", Number, ")$"
    ]),
    re:run(Line, Expression, [unicode, {capture, none}, dollar_endonly]) =:= match.

family() ->
    ?LET(
        {Name, Type, Help, Samples},
        {oneof([a_total, b_seconds]), oneof([counter, gauge]), text(), list(sample())},
        #{name => Name, type => Type, help => Help, samples => Samples}
    ).

sample() ->
    {[{kind, oneof([sent, integer(), ?LET(T, text(), unicode:characters_to_binary(T))])}],
        oneof([integer(), float()])}.

text() ->
    list(oneof([integer($\s, $~), $", $\\, $\n, 16#E9])).

render(Families) ->
    iolist_to_binary(node_prometheus:render(Families)).

-module(node_log_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

an_event_test() ->
    Report = #{event => run_started, run => <<"3f2a9c">>, count => 3, text => "two words"},
    ?assertEqual(
        <<"time=2026-11-21T02:03:04.567890Z level=notice node=ads-17 event=run_started "
            "count=3 run=3f2a9c text=\"two words\"\n">>,
        format({report, Report}, #{})
    ).

messages_of_libraries_test_() ->
    [
        ?_assertMatch(
            {match, _}, re:run(format(Message, Meta), "event=message text=\"a b\"\\n$")
        )
     || {Message, Meta} <- [
            {{string, "a b"}, #{}},
            {{"a ~s", ["b"]}, #{}},
            {{report, #{x => 1}}, #{report_cb => fun(_) -> {"~s b", ["a"]} end}},
            {{report, [{x, 1}]}, #{report_cb => fun(_, _) -> "a b" end}}
        ]
    ].

nothing_forges_a_line_test_() ->
    {timeout, 600,
        ?_assert(proper:quickcheck(prop_one_line(), [{to_file, user}, {numtests, 500}]))}.

prop_one_line() ->
    ?FORALL(
        Value,
        oneof([binary(), list(oneof([any_char(), $\n, $", $=])), resize(8, term())]),
        begin
            Line = format({report, #{event => e, value => Value}}, #{}),
            [Only, <<>>] = binary:split(Line, <<"\n">>, [global]),
            % A value is bare, without what could end it, or a JSON string.
            re:run(
                Only, " value=(?:[^\\s\"=]+|\"(?:[^\"\\\\]|\\\\.)*\")$", [unicode, {capture, none}]
            ) =:= match
        end
    ).

a_long_value_is_cut_test() ->
    Line = format({report, #{event => e, value => binary:copy(<<"x">>, 100000)}}, #{}),
    ?assert(byte_size(Line) < 3000).

any_char() ->
    oneof([integer(0, 16#D7FF), integer(0, 255)]).

format(Message, Meta) ->
    Time = 1795226584567890,
    Event = #{level => notice, msg => Message, meta => Meta#{time => Time}},
    unicode:characters_to_binary(node_log:format(Event, #{node => <<"ads-17">>})).

%% Operations on registers, out of histories.
-module(ring_registers_tests).

-include_lib("eunit/include/eunit.hrl").

-define(DOT(N), {{0, {1, 1}}, N}).

writes_and_reads_are_operations_test() ->
    Events = [
        write(a, <<"k">>, x, 0, 5, ok),
        read(b, <<"k">>, 6, 8, [x]),
        write(a, <<"k">>, none, 9, 10, ok),
        read(b, <<"k">>, 11, 12, []),
        {final, <<"k">>, [], []}
    ],
    ?assertEqual(
        [{1, write, 2, 0, 5}, {2, read, 2, 6, 8}, {1, write, 0, 9, 10}, {2, read, 0, 11, 12}],
        brief(Events)
    ).

keys_with_two_writers_are_left_out_test() ->
    Shared = [write(S, <<"k">>, V, 0, 5, ok) || {S, V} <- [{a, x}, {b, y}]],
    ?assertEqual([{1, write, 3, 1, 2}], brief([write(a, <<"l">>, z, 1, 2, ok) | Shared])).

no_register_has_two_values_or_one_never_written_test() ->
    Events = [write(a, <<"k">>, x, 0, 1, ok), read(b, <<"k">>, 2, 3, [x, x])],
    ?assertMatch([_, {2, read, -1, 2, 3}], brief(Events)),
    ?assertEqual([{1, read, -1, 2, 3}], brief([read(b, <<"k">>, 2, 3, [invented])])).

a_write_without_an_answer_has_no_end_test() ->
    Events = [write(a, <<"k">>, x, 0, 5, failed), read(b, <<"k">>, 6, 8, [x])],
    ?assertEqual([{1, write, 1, 0, null}, {2, read, 1, 6, 8}], brief(Events)).

a_key_is_judged_until_its_writer_goes_on_test() ->
    Events = [
        write(a, <<"k">>, x, 0, 5, failed),
        read(b, <<"k">>, 6, 8, [x]),
        read(b, <<"k">>, 9, 11, [x]),
        write(a, <<"k">>, y, 10, 12, ok),
        read(b, <<"k">>, 13, 14, [x, y])
    ],
    ?assertEqual([{1, write, 1, 0, null}, {2, read, 1, 6, 8}], brief(Events)).

a_file_has_a_line_of_json_for_each_test() ->
    File = string:trim(os:cmd("mktemp")),
    ok = ring_registers:write(File, [
        write(a, <<"k">>, x, 0, 5, ok), write(a, <<"l">>, y, 6, never, failed)
    ]),
    {ok, Text} = file:read_file(File),
    ok = file:delete(File),
    ?assertEqual(
        <<
            "{\"key\": 1, \"client\": 1, \"kind\": \"write\", \"value\": 1, \"call\": 0, "
            "\"return\": 5}\n"
            "{\"key\": 2, \"client\": 1, \"kind\": \"write\", \"value\": 2, \"call\": 6, "
            "\"return\": null}\n"
        >>,
        Text
    ).

brief(Events) ->
    [
        {Client, Kind, Value, Call, Return}
     || #{client := Client, kind := Kind, value := Value, call := Call, return := Return} <-
            ring_registers:operations(Events)
    ].

write(Session, Key, Value, Started, Ended, Outcome) ->
    {write, #{
        session => Session,
        key => Key,
        value => Value,
        context => [],
        started => Started,
        ended => Ended,
        outcome =>
            case Outcome of
                ok -> {ok, ?DOT(Started), [?DOT(Started)]};
                failed -> failed
            end
    }}.

read(Session, Key, Started, Ended, Values) ->
    {read, #{
        session => Session,
        key => Key,
        started => Started,
        ended => Ended,
        observed => [],
        values => lists:zip([?DOT(N) || N <- lists:seq(1, length(Values))], Values)
    }}.

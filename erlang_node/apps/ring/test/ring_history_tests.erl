-module(ring_history_tests).

-include_lib("eunit/include/eunit.hrl").

-define(DOT(N), {{0, {1, 1}}, N}).
-define(K, <<"k">>).

correct_test() ->
    ?assertEqual([], ring_history:check([
        write(a, 1, [], 0, 5, ?DOT(1)),
        read(b, 6, 8, [?DOT(1)], [{?DOT(1), 1}]),
        write(b, 2, [?DOT(1)], 9, 12, ?DOT(2)),
        read(a, 10, 11, [?DOT(1)], [{?DOT(1), 1}]),
        read(a, 13, 14, [?DOT(2)], [{?DOT(2), 2}]),
        {final, ?K, [?DOT(2)], [{?DOT(2), 2}]}
    ])).

each_violation_is_found_test_() ->
    [
        {atom_to_list(Kind), ?_assertEqual([Kind], kinds(Events))}
     || {Kind, Events} <- [
            {lost, [write(a, 1, [], 0, 5, ?DOT(1)), read(b, 6, 8, [], [])]},
            {lost, [write(a, 1, [], 0, 5, ?DOT(1)), {final, ?K, [], []}]},
            {returned, [
                write(a, 1, [], 0, 5, ?DOT(1)),
                write(a, 2, [?DOT(1)], 6, 7, ?DOT(2)),
                {final, ?K, [?DOT(2)], [{?DOT(1), 1}, {?DOT(2), 2}]}
            ]},
            {regressed, [
                write(a, 1, [], 0, never, failed),
                read(b, 1, 2, [?DOT(1)], [{?DOT(1), 1}]),
                read(b, 3, 4, [], [])
            ]},
            {dot_reused, [
                write(a, 1, [], 0, 5, ?DOT(1)),
                write(b, 2, [], 0, never, failed),
                {final, ?K, [?DOT(1)], [{?DOT(1), 2}]}
            ]},
            {executed_twice, [
                write(a, 1, [], 0, never, failed),
                {final, ?K, [?DOT(2)], [{?DOT(1), 1}, {?DOT(2), 1}]}
            ]},
            {invented, [{final, ?K, [?DOT(1)], [{?DOT(1), 1}]}]}
        ]
    ].

%% What all replicas have dropped need not be covered, and a write under way neither.
no_violation_test_() ->
    Deleted = [write(a, none, [], 0, 5, ?DOT(1)), {dropped, ?K, [?DOT(1)], 9}],
    [
        ?_assertEqual([], ring_history:check(Deleted ++ [read(b, 10, 11, [], [])])),
        ?_assertEqual([lost], kinds(Deleted ++ [read(b, 6, 8, [], [])])),
        ?_assertEqual([], kinds([write(a, 1, [], 0, 5, ?DOT(1)), read(b, 5, 8, [], [])]))
    ].

%% A hinted write is due at the end, unless its hint was lost; a session may miss it until then.
hinted_writes_test_() ->
    {write, Write} = write(a, 1, [], 0, 5, ?DOT(1)),
    Hinted = {write, Write#{outcome := {hinted, ?DOT(1), [?DOT(1)]}, availability => sloppy}},
    Seen = [read(b, 6, 7, [?DOT(1)], [{?DOT(1), 1}]), read(b, 8, 9, [], [])],
    Missing = {final, ?K, [], []},
    [
        ?_assertEqual([], kinds([Hinted | Seen])),
        ?_assertEqual([lost], kinds([Hinted, Missing])),
        ?_assertEqual([], kinds([Hinted, Missing, {forgotten, ?K, [?DOT(1)]}])),
        ?_assertEqual(
            [returned],
            kinds([
                write(a, 1, [], 0, 5, ?DOT(1)),
                {write, Write#{
                    value := 2,
                    context := [?DOT(1)],
                    outcome := {hinted, ?DOT(2), [?DOT(2)]},
                    availability => sloppy
                }},
                read(b, 6, 8, [?DOT(1)], [{?DOT(1), 1}]),
                {final, ?K, [?DOT(2)], [{?DOT(1), 1}, {?DOT(2), 2}]}
            ])
        )
    ].

kinds(Events) ->
    lists:usort([Kind || {Kind, _, _} <- ring_history:check(Events)]).

write(Session, Value, Context, Started, never, failed) ->
    {write, (event(Session, Started, never))#{
        value => Value, context => Context, outcome => failed
    }};
write(Session, Value, Context, Started, Ended, Dot) ->
    {write, (event(Session, Started, Ended))#{
        value => Value, context => Context, outcome => {ok, Dot, [Dot]}
    }}.

read(Session, Started, Ended, Observed, Values) ->
    {read, (event(Session, Started, Ended))#{observed => Observed, values => Values}}.

event(Session, Started, Ended) ->
    #{session => Session, key => ?K, started => Started, ended => Ended}.

%%% @doc Full-state synchronisation step by step.
-module(lasp_sync_state_tests).

-include_lib("eunit/include/eunit.hrl").

-define(S, lasp_sync_state).
-define(SCOPE, <<"run">>).

%% One step at a time.

a_new_neighbour_gets_the_state_at_once_test() ->
    {_, Effects} = ?S:handle({neighbour_up, <<"b">>}, replica()),
    ?assertMatch([{send, <<"b">>, latest, {state, ?SCOPE, _}}, {count, state, sent, _}], Effects).

every_interval_pushes_to_every_neighbour_test() ->
    {_, Effects} = ?S:handle({timer, propagate}, up([<<"b">>, <<"c">>], replica())),
    ?assertEqual([{<<"b">>, state}, {<<"c">>, state}], sends(Effects)),
    ?assert(lists:member({start_timer, propagate, 100}, Effects)).

an_equal_neighbour_gets_a_digest_only_test() ->
    A = update(<<"a">>, 3, up([<<"b">>], replica())),
    {Bytes, _} = state_of(A),
    {Heard, Effects} = ?S:handle({message, <<"b">>, {state, ?SCOPE, Bytes}}, A),
    ?assertNot(lists:member(changed, Effects)),
    ?assert(?S:agreed(Heard)),
    {_, Quiet} = ?S:handle({timer, propagate}, Heard),
    ?assertEqual([{<<"b">>, digest}], sends(Quiet)),
    {_, Loud} = ?S:handle({timer, propagate}, update(<<"a">>, 4, Heard)),
    ?assertEqual([{<<"b">>, state}], sends(Loud)).

a_returning_neighbour_is_unknown_test() ->
    A = up([<<"b">>], replica()),
    {_, Digest} = state_of(A),
    {Heard, _} = ?S:handle({message, <<"b">>, {digest, ?SCOPE, Digest}}, A),
    ?assertEqual([{<<"b">>, state}], sends(element(2, ?S:handle({neighbour_up, <<"b">>}, Heard)))).

another_scope_is_never_merged_test() ->
    {Bytes, _} = state_of(update(<<"b">>, 9, replica())),
    A = up([<<"b">>], replica()),
    {After, Effects} = ?S:handle({message, <<"b">>, {state, <<"old">>, Bytes}}, A),
    ?assertEqual(A, After),
    ?assertMatch([{count, foreign, received, _}], Effects).

malformed_messages_change_nothing_test_() ->
    A = up([<<"b">>], replica()),
    [
        ?_assertMatch(
            {A, [{count, malformed, received, _}]}, ?S:handle({message, <<"b">>, Message}, A)
        )
     || Message <- [
            garbage,
            {state, ?SCOPE, 17},
            {state, ?SCOPE, <<"garbage">>},
            {handover, ?SCOPE, <<"garbage">>},
            {unheard_of, ?SCOPE, <<>>}
        ]
    ].

payload_is_counted_as_published_test() ->
    A = update(<<"a">>, 3, up([<<"b">>, <<"c">>], replica())),
    {Bytes, _} = state_of(A),
    {_, Effects} = ?S:handle({timer, propagate}, A),
    Count = {count, state, sent, byte_size(Bytes)},
    ?assertEqual([Count, Count], [E || E = {count, _, _, _} <- Effects]).

%% Handing over.

handing_over_waits_for_every_neighbour_test() ->
    A = update(<<"a">>, 3, up([<<"b">>, <<"c">>], replica())),
    {_, Digest} = state_of(A),
    {A1, Effects} = ?S:handle(handover, A),
    ?assertEqual([{<<"b">>, handover}, {<<"c">>, handover}], sends(Effects)),
    Answer = {handed_over, ?SCOPE, Digest},
    {A2, E2} = ?S:handle({message, <<"b">>, Answer}, A1),
    ?assertEqual([], [E || E = {handed_over, _} <- E2]),
    {_, E3} = ?S:handle({message, <<"c">>, Answer}, A2),
    ?assertEqual([{handed_over, [<<"b">>, <<"c">>]}], [E || E = {handed_over, _} <- E3]).

handing_over_is_repeated_until_it_is_answered_test() ->
    {A, _} = ?S:handle(handover, update(<<"a">>, 3, up([<<"b">>], replica()))),
    {_, Effects} = ?S:handle({timer, propagate}, A),
    ?assertEqual([{<<"b">>, handover}], sends(Effects)).

handing_over_alone_ends_at_once_test() ->
    {_, Effects} = ?S:handle(handover, replica()),
    ?assertEqual([{handed_over, []}], Effects).

a_neighbour_that_goes_is_not_waited_for_test() ->
    {A, _} = ?S:handle(handover, update(<<"a">>, 3, up([<<"b">>], replica()))),
    {_, Effects} = ?S:handle({neighbour_down, <<"b">>}, A),
    ?assertEqual([{handed_over, []}], Effects).

a_handover_is_merged_and_answered_test() ->
    {Bytes, Digest} = state_of(update(<<"b">>, 9, replica())),
    {A, Effects} = ?S:handle({message, <<"b">>, {handover, ?SCOPE, Bytes}}, replica()),
    ?assertEqual(9, lasp_gcounter:value(?S:value(A))),
    ?assert(lists:member({send, <<"b">>, blocking, {handed_over, ?SCOPE, Digest}}, Effects)).

a_node_that_has_handed_over_confirms_nothing_test() ->
    {Bytes, _} = state_of(update(<<"b">>, 9, replica())),
    {Done, _} = ?S:handle(handover, replica()),
    {_, Effects} = ?S:handle({message, <<"b">>, {handover, ?SCOPE, Bytes}}, Done),
    ?assertEqual([], sends(Effects)).

changes_during_the_handover_are_handed_over_too_test() ->
    A = update(<<"a">>, 3, up([<<"b">>, <<"c">>], replica())),
    {_, Old} = state_of(A),
    {Bytes, _} = state_of(update(<<"d">>, 9, replica())),
    Steps = [
        handover,
        {message, <<"b">>, {handed_over, ?SCOPE, Old}},
        {message, <<"d">>, {state, ?SCOPE, Bytes}},
        {message, <<"c">>, {handed_over, ?SCOPE, Old}}
    ],
    {Waiting, Effects} = run(Steps, A),
    ?assertEqual([], [E || E = {handed_over, _} <- Effects]),
    {_, New} = state_of(Waiting),
    {_, Last} = run([{message, N, {handed_over, ?SCOPE, New}} || N <- [<<"b">>, <<"c">>]], Waiting),
    ?assertEqual([{handed_over, [<<"b">>, <<"c">>]}], [E || E = {handed_over, _} <- Last]).

handing_over_again_confirms_what_has_come_since_test() ->
    A = update(<<"a">>, 3, up([<<"b">>], replica())),
    {_, Digest} = state_of(A),
    {Done, _} = run([handover, {message, <<"b">>, {handed_over, ?SCOPE, Digest}}], A),
    {_, Same} = ?S:handle(handover, Done),
    ?assertEqual([{handed_over, [<<"b">>]}], [E || {handed_over, _} = E <- Same]),
    {_, Grown} = ?S:handle(handover, update(<<"a">>, 4, Done)),
    ?assertEqual([], [E || {handed_over, _} = E <- Grown]),
    ?assertEqual([{<<"b">>, handover}], sends(Grown)).

%% Helpers.

replica() ->
    Options = #{
        name => <<"a">>,
        incarnation => 1,
        type => lasp_gcounter,
        scope => ?SCOPE,
        interval => 100,
        seed => {1, 2, 3}
    },
    {State, [{start_timer, propagate, Phase}]} = ?S:init(Options),
    ?assert(Phase >= 1 andalso Phase =< 100),
    State.

up(Names, State) ->
    element(1, run([{neighbour_up, Name} || Name <- Names], State)).

update(Actor, Count, State) ->
    {Next, [changed]} = ?S:handle({update, lasp_gcounter:entry(Actor, Count)}, State),
    Next.

run(Events, State) ->
    lists:foldl(
        fun(Event, {S, Effects}) ->
            {Next, More} = ?S:handle(Event, S),
            {Next, Effects ++ More}
        end,
        {State, []},
        Events
    ).

state_of(State) ->
    Bytes = lasp_lattice:encode(lasp_gcounter, ?S:value(State)),
    {Bytes, lasp_lattice:digest(Bytes)}.

sends(Effects) ->
    [{To, element(1, Message)} || {send, To, _, Message} <- Effects].

%% The execution of a counterexample as JSON, for the live page.
-module(verify_document_tests).

-include_lib("eunit/include/eunit.hrl").

%% The live page's tests read the same file. When the format changes on purpose: `partisan_verify
%% draw' writes it anew.
equal_to_the_fixture_of_the_page_test_() ->
    {timeout, 600, fun() ->
        {ok, Fixture} = file:read_file(fixture()),
        Made = verify_document:json("three_phase_commit-382f", commit()),
        ?assertEqual(Fixture, iolist_to_binary(Made))
    end}.

every_fault_has_its_words_test_() ->
    Message = {<<"n1">>, <<"n2">>, prepare, 1},
    [
        ?_assertNotEqual(nomatch, binary:match(faulty(Key, Decision), Words))
     || {Key, Decision, Words} <- [
            {Message, drop, <<"\"fate\":\"drop\"">>},
            {Message, late, <<"\"fate\":\"arrive\"">>},
            {Message, duplicate, <<"\"fate\":\"duplicate\"">>},
            {Message, {corrupt, bit_flip}, <<"\"fate\":\"corrupt\"">>},
            {{crash, <<"n2">>, 1}, crash, <<"\"kind\":\"restart\"">>}
        ]
    ].

%% Internals.

fixture() ->
    Name = "three_phase_commit-382f.execution.json",
    filename:join([root(), "operator", "console", "test", Name]).

root() ->
    {source, Source} = lists:keyfind(source, 1, verify_main:module_info(compile)),
    Up = fun(_, Directory) -> filename:dirname(Directory) end,
    lists:foldl(Up, Source, [file, src, verify, apps, erlang_node]).

commit() ->
    Search = #{module => three_phase_commit, nodes => 4},
    #{examples := [#{schedule := Schedule, violated := Violated} | _]} = verify_explore:run(Search),
    verify_counterexample:of_schedule(Search, Schedule, Violated).

faulty(Key, Decision) ->
    Search = #{
        module => two_phase_commit,
        nodes => 3,
        decisions => [Decision],
        world => #{restart => 100}
    },
    Schedule = [{Key, Decision}],
    Counterexample = verify_counterexample:of_schedule(Search, Schedule, <<"as assumed">>),
    iolist_to_binary(verify_document:json("faulty", Counterexample)).

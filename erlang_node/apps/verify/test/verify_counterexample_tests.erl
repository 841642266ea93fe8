%% Counterexamples as files: small, replayable, and refused if they are none.
-module(verify_counterexample_tests).

-include_lib("eunit/include/eunit.hrl").

written_and_read_test() ->
    in_directory(fun(Directory) ->
        Counterexample = commit(),
        {ok, File} = verify_counterexample:write(Directory, Counterexample),
        ?assertEqual({ok, Counterexample}, verify_counterexample:read(File)),
        ?assert(filelib:file_size(File) < 1024)
    end).

a_model_fits_too_test_() ->
    {timeout, 600, fun() ->
        in_directory(fun(Directory) ->
            {ok, File} = verify_counterexample:write(Directory, store()),
            ?assertEqual({ok, store()}, verify_counterexample:read(File)),
            ?assert(filelib:file_size(File) < 1024)
        end)
    end}.

text_is_that_of_the_slides_test_() ->
    {timeout, 600, fun() ->
        ?assertEqual(
            <<
                "fault omission n1 n3 precommit\n"
                "fault omission n1 n2 abort\n"
                "n1 broadcast value : FAIL, {n1,1}\n"
                "final : FAIL, aborted, but committed at n2\n"
            >>,
            unicode:characters_to_binary(verify_counterexample:text(commit()))
        )
    end}.

identical_each_time_test_() ->
    {timeout, 600, fun() ->
        [
            ?assertMatch(#{same := true, unmet := []}, verify_replay:run(Counterexample))
         || Counterexample <- [commit(), store()], _ <- lists:seq(1, 100)
        ]
    end}.

%% It would be lost.
what_could_not_be_read_again_is_not_written_test() ->
    in_directory(fun(Directory) ->
        #{subject := {schedule, Search, Schedule}} = Counterexample = commit(),
        [
            begin
                Opaque = Search#{options => #{unused => [#{a => {Term}} | end_of_list]}},
                Wrong = Counterexample#{subject := {schedule, Opaque, Schedule}},
                {error, Text} = verify_counterexample:write(Directory, Wrong),
                ?assertNotEqual(nomatch, string:find(Text, "382f.counterexample: not written")),
                ?assertEqual({ok, []}, file:list_dir(Directory))
            end
         || Term <- [self(), make_ref(), fun() -> ok end]
        ]
    end).

%% The digest of one release of OTP is that of another: this one was found on OTP 25.
equal_on_all_releases_test() ->
    ?assertMatch(#{digest := <<"382feffd7962f02aa43fe88539cb1c84">>}, commit()).

a_corrected_protocol_is_not_violated_test() ->
    #{subject := {schedule, Search, Schedule}} = Counterexample = commit(),
    Corrected = Search#{options => #{participant_timeout => infinity}},
    ?assertMatch(
        #{same := false, verdict := ok},
        verify_replay:run(Counterexample#{subject := {schedule, Corrected, Schedule}})
    ).

changed_code_is_noticed_test() ->
    #{code := Code} = commit(),
    ?assertEqual([], verify_fingerprint:changed(Code)),
    ?assertMatch(
        [{three_phase_commit, <<"former">>, <<_:32/binary>>}],
        verify_fingerprint:changed(Code#{three_phase_commit := <<"former">>})
    ).

refused_test() ->
    Refused = fun(Content) ->
        in_directory(fun(Directory) ->
            File = filename:join(Directory, "x.counterexample"),
            ok = file:write_file(File, Content),
            {error, Text} = verify_counterexample:read(File),
            unicode:characters_to_list(Text)
        end)
    end,
    Contains = fun(Part, Content) ->
        ?assertMatch({Part, [_ | _]}, {Part, string:find(Refused(Content), Part)})
    end,
    Contains("truncated", <<"#{format => 1, subject => {sched">>),
    Contains("truncated", <<"\"open">>),
    Contains("not one map", <<"{foreign, term}.">>),
    Contains("not one map", <<>>),
    Contains("format is 9", <<"#{format => 9}.">>),
    Contains("fields", <<"#{format => 1, subject => x}.">>),
    #{subject := {schedule, Search, [{Key, drop} | _]}} = Counterexample = commit(),
    Exploded = Counterexample#{subject := {schedule, Search, [{Key, explode}]}},
    Contains("fields", io_lib:format("~0p.", [Exploded])),
    [
        Contains("fields", io_lib:format("~0p.", [Wrong]))
     || Wrong <- [
            Counterexample#{code := #{lists => <<"0">>, used => <<"0">>}},
            Counterexample#{code := #{three_phase_commit => 0, used => <<"0">>}},
            Counterexample#{subject := {schedule, Search, [step | no_list]}},
            Counterexample#{subject := {schedule, Search#{world => none}, []}},
            Counterexample#{subject := {model, #{model => lists, steps => [], nodes => 3}}}
        ]
    ],
    Contains("bytes", binary:copy(<<"% padding\n">>, 100000)),
    {error, Text} = verify_counterexample:read("/nonexistent"),
    ?assertMatch([_ | _], string:find(unicode:characters_to_list(Text), "no such file")).

diagram_is_well_formed_and_escapes_test() ->
    Svg = binary_to_list(
        unicode:characters_to_binary(verify_report:diagram("<a & b>", commit()))
    ),
    {_Document, []} = xmerl_scan:string(Svg, [{quiet, true}]),
    ?assertEqual(nomatch, string:find(Svg, "<a &")),
    ?assertMatch([_ | _], string:find(Svg, "precommit dropped")).

%% Of every fate that a message can have, and of nodes that crash and restart.
diagrams_of_all_faults_test_() ->
    Draw = fun(Decisions) ->
        Search = #{
            module => two_phase_commit,
            nodes => 3,
            decisions => Decisions,
            most => 1,
            world => #{restart => 100},
            property => fun(_) -> {violated, "as always"} end
        },
        #{examples := Examples} = verify_explore:run(Search),
        Given = maps:remove(property, Search),
        [
            begin
                {World, []} = verify_replay:schedule(Given, Schedule),
                Trace = verify_world:trace(World),
                About = #{title => "all", text => ["fault"], nodes => verify_world:nodes(World)},
                Svg = verify_diagram:svg(About, Trace),
                {_, []} = xmerl_scan:string(
                    binary_to_list(unicode:characters_to_binary(Svg)), [{quiet, true}]
                ),
                length(verify_steps:lines(Trace))
            end
         || #{schedule := Schedule} <- Examples
        ]
    end,
    [
        {lists:flatten(io_lib:format("~p", [Decision])), ?_assertMatch([_ | _], Draw([Decision]))}
     || Decision <- [drop, late, duplicate, {corrupt, bit_flip}, crash]
    ].

steps_have_every_fate_test() ->
    Key = {<<"n1">>, <<"n2">>, hello, 2},
    Lines = verify_steps:lines([
        {0, {message, Key, hello, 0, Fate}}
     || Fate <- [deliver, drop, lost, late, duplicate, arrive, {corrupt, bit_flip}]
    ]),
    ?assertEqual(7, length(lists:usort([unicode:characters_to_binary(Line) || Line <- Lines]))).

%% Internals.

commit() ->
    Search = #{module => three_phase_commit, nodes => 4},
    #{examples := [#{schedule := Schedule, violated := Violated} | _]} = verify_explore:run(Search),
    verify_counterexample:of_schedule(Search, Schedule, Violated).

store() ->
    #{counterexamples := [Found | _]} = verify_campaign:run(#{model => quorum_kv_strong}),
    {same, Execution} = verify_campaign:replay(Found),
    verify_counterexample:of_model(Found, verify_execution:world(Execution)).

in_directory(Fun) ->
    Directory = string:trim(os:cmd("mktemp -d")),
    try
        Fun(Directory)
    after
        file:del_dir_r(Directory)
    end.

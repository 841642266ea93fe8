%% The program `partisan_verify': its options, and what it refuses, in one line each.
-module(verify_main_tests).

-include_lib("eunit/include/eunit.hrl").

options_test() ->
    Kinds = #{
        nodes => {integer, 1, 64, 4},
        scope => {one_of, [raw, base], base},
        decisions => {some_of, [drop, late], [drop]},
        options => {term, fun is_map/1, "a map", #{}},
        json => flag
    },
    Parse = fun(Arguments) -> verify_options:parse(Arguments, Kinds) end,
    Refused = fun(Argument, Part) ->
        {error, Text} = Parse([Argument]),
        ?assertMatch({Part, [_ | _]}, {Part, string:find(unicode:characters_to_list(Text), Part)})
    end,
    ?assertEqual(
        {ok, ["x"], #{
            nodes => 5, scope => raw, decisions => [drop, late], options => #{a => 1}, json => true
        }},
        Parse(["nodes=5", "x", "scope=raw", "decisions=late,drop", "options=#{a => 1}", "--json"])
    ),
    {ok, [], #{nodes := 4, json := false}} = Parse([]),
    Refused("nodes=65", "1 to 64"),
    Refused("nodes=four", "1 to 64"),
    Refused("scope=deep", "raw, base"),
    Refused("decisions=drop,explode", "drop, late"),
    Refused("decisions=", "drop, late"),
    Refused("options=[]", "a map"),
    Refused("options=#{", "a map"),
    Refused("node=4", "nodes="),
    Refused("json=1", "flag"),
    Refused("--nodes", "KEY=VALUE").

refused_test() ->
    Refused = fun(Arguments, Part) ->
        {refused, Text} = verify_main:run(Arguments),
        ?assertMatch({Part, [_ | _]}, {Part, string:find(unicode:characters_to_list(Text), Part)})
    end,
    Refused([], "explore PROTOCOL"),
    Refused(["explore"], "name one protocol"),
    Refused(["explore", "no_such_protocol"], "no_such_protocol"),
    Refused(["explore", "lists"], "lists"),
    Refused(["explore", "no_such_file.erl"], "no_such_file.erl"),
    Refused(["explore", "two_phase_commit", "nodes=x"], "nodes=x"),
    Refused(["explore", "two_phase_commit", "code=/nonexistent"], "no such directory"),
    Refused(["explore", "two_phase_commit", "out=/nonexistent"], "out=/nonexistent: no such"),
    Refused(["check", "quorum_kv_strong", "out=/nonexistent"], "out=/nonexistent: no such"),
    Refused(["check", "two_phase_commit"], "two_phase_commit"),
    Refused(["check", "quorum_kv_strong", "tolerance=3"], "tolerance"),
    Refused(["replay", "no.counterexample"], "no such file").

status_test_() ->
    {timeout, 600, fun status/0}.

status() ->
    Directory = string:trim(os:cmd("mktemp -d")),
    Status = fun(Arguments) -> verify_main:run(Arguments ++ ["out=" ++ Directory, "--json"]) end,
    ?assertEqual(0, Status(["explore", "two_phase_commit", "most=0"])),
    ?assertEqual(1, Status(["explore", "two_phase_commit"])),
    % Not all explored and nothing violated so far: no success.
    ?assertEqual(3, Status(["explore", "two_phase_commit", "executions=1"])),
    ?assertEqual(1, Status(["check", "quorum_kv_strong"])),
    ?assertEqual(0, Status(["check", "quorum_kv_atomic", "executions=20"])),
    [Commit | _] = filelib:wildcard(filename:join(Directory, "two_phase_commit-*.counterexample")),
    ?assertEqual(0, verify_main:run(["replay", Commit, "times=3", "--json"])),
    ?assertEqual(0, verify_main:run(["draw", Commit, "out=" ++ Directory])),
    ?assertMatch([_], filelib:wildcard(filename:join(Directory, "two_phase_commit-*.svg"))),
    Executions = filelib:wildcard(filename:join(Directory, "two_phase_commit-*.execution.json")),
    ?assertMatch([_], Executions),
    ok = file:del_dir_r(Directory).

%% The worlds of 5,000 replays need more than 32 MB.
replays_need_no_memory_test_() ->
    {timeout, 600, fun() ->
        Directory = string:trim(os:cmd("mktemp -d")),
        1 = verify_main:run(["explore", "two_phase_commit", "out=" ++ Directory, "--json"]),
        [File] = filelib:wildcard(filename:join(Directory, "*.counterexample")),
        Replay = fun() ->
            exit({replayed, verify_main:run(["replay", File, "times=5000", "--json"])})
        end,
        Heap = #{size => 4 * 1024 * 1024, kill => true, error_logger => false},
        {_, Monitor} = spawn_opt(Replay, [monitor, {max_heap_size, Heap}]),
        receive
            {'DOWN', Monitor, process, _, Reason} -> ?assertEqual({replayed, 0}, Reason)
        end,
        ok = file:del_dir_r(Directory)
    end}.

source_test() ->
    Sources = string:trim(os:cmd("mktemp -d")),
    File = filename:join(Sources, "verify_cleaned.erl"),
    ok = file:write_file(File, "-module(verify_cleaned).\n"),
    {ok, verify_cleaned} = verify_source:compile(File),
    Directory = filename:dirname(code:which(verify_cleaned)),
    ?assert(filelib:is_dir(Directory)),
    ok = verify_source:clean(),
    ?assertNot(filelib:is_dir(Directory)),
    ok = file:del_dir_r(Sources).

no_temporary_directory_test() ->
    Before = os:getenv("TMPDIR", ""),
    true = os:putenv("TMPDIR", "/dev/null"),
    try
        {error, Text} = verify_source:compile("x.erl"),
        ?assertMatch("TMPDIR: /dev/null/" ++ _, unicode:characters_to_list(Text))
    after
        case Before of
            "" -> os:unsetenv("TMPDIR");
            _ -> os:putenv("TMPDIR", Before)
        end
    end.

list_test() ->
    ?assertEqual([0, 0], [verify_main:run(["list"]) || _ <- [once, again]]).

-module(node_code_tests).

-include_lib("eunit/include/eunit.hrl").

code_test_() ->
    {foreach, fun() -> ok = node_code:permit(true) end, fun(_) -> ok = forget() end, [
        {"a new module is loaded, and a changed one", fun replaced/0},
        {"an equal module stays", fun equal/0},
        {"processes of the version before are counted, and ended by the next load", fun old/0},
        {"bad code is refused, and the module stays", fun refused/0},
        {"Erlang's own modules stay", fun sticky/0},
        {"nothing is loaded without permission", fun off/0},
        {"a command loads", fun command/0}
    ]}.

forget() ->
    ok = node_code:permit(false),
    _ = code:purge(node_code_probe),
    _ = code:delete(node_code_probe),
    _ = code:purge(node_code_probe),
    ok.

replaced() ->
    ?assertEqual(loaded(0), node_code:load(probe(1))),
    ?assertEqual(1, node_code_probe:version()),
    ?assertEqual(loaded(0), node_code:load(probe(2))),
    ?assertEqual(2, node_code_probe:version()).

equal() ->
    ?assertEqual(loaded(0), node_code:load(probe(1))),
    ?assertMatch({ok, #{loaded := false, old := 0}}, node_code:load(probe(1))).

old() ->
    {ok, _} = node_code:load(probe(1)),
    Pid = spawn(node_code_probe, wait, [self()]),
    receive
        ready -> ok
    end,
    Monitor = monitor(process, Pid),
    ?assertEqual(loaded(1), node_code:load(probe(2))),
    ?assertEqual(loaded(0), node_code:load(probe(3))),
    receive
        {'DOWN', Monitor, process, Pid, Reason} -> ?assertEqual(killed, Reason)
    after 30000 -> error(still_there)
    end.

refused() ->
    {ok, _} = node_code:load(probe(1)),
    ?assertEqual({error, "this is no compiled module"}, node_code:load(<<"no module">>)),
    % Instructions that no emulator knows.
    {ok, node_code_probe, Chunks} = beam_lib:all_chunks(probe(2)),
    {ok, Broken} = beam_lib:build_module(
        lists:keyreplace("Code", 1, Chunks, {"Code", <<16:32, 99:32, 999:32, 1:32, 1:32>>})
    ),
    {error, Text} = node_code:load(Broken),
    ?assertMatch("node_code_probe is not loaded: compile it with OTP" ++ _, lists:flatten(Text)),
    ?assertEqual(1, node_code_probe:version()).

sticky() ->
    {error, Text} = node_code:load(compiled([{attribute, 1, module, lists}])),
    ?assertEqual("lists is not loaded: it is a module of Erlang itself", lists:flatten(Text)).

off() ->
    ok = node_code:permit(false),
    {error, Text} = node_code:load(probe(1)),
    ?assertNotEqual(nomatch, string:find(Text, "spec.development")),
    ?assertNot(erlang:function_exported(node_code_probe, version, 0)).

command() ->
    Typed = binary_to_list(base64:encode(probe(1))),
    ?assertEqual(
        #{module => node_code_probe, loaded => true, old => 0},
        node_commands:answer(["load", Typed])
    ),
    ok = node_code:permit(false),
    ?assertMatch(
        #{error := <<"hot code loading is off", _/binary>>}, node_commands:answer(["load", Typed])
    ).

loaded(Old) ->
    {ok, #{module => node_code_probe, loaded => true, old => Old}}.

%% Differs by its version alone.
probe(Version) ->
    compiled([
        {attribute, 1, module, node_code_probe},
        {attribute, 1, export, [{version, 0}, {wait, 1}]},
        {function, 1, version, 0, [{clause, 1, [], [], [{integer, 1, Version}]}]},
        {function, 1, wait, 1, [
            {clause, 1, [{var, 1, 'From'}], [], [
                {op, 1, '!', {var, 1, 'From'}, {atom, 1, ready}},
                {'receive', 1, [{clause, 1, [{atom, 1, never}], [], [{atom, 1, ok}]}]}
            ]}
        ]}
    ]).

compiled(Forms) ->
    {ok, _Module, Binary} = compile:forms(Forms, []),
    Binary.

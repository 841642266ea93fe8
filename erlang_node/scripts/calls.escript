#!/usr/bin/env escript
%% Finds calls of tests to functions that our modules do not have: rebar3's xref reads no tests.
%% Argument: the directory with the compiled applications; exit status 1 if there are any.
%% Modules that a test makes itself, and calls that are meant to fail, are of no module of ours.

main([Library]) ->
    {ok, _} = xref:start(calls),
    ok = xref:set_default(calls, [{warnings, false}]),
    Directories = filelib:wildcard(filename:join([Library, "*", "{ebin,test}"])),
    Ours = lists:append([added(Directory) || Directory <- Directories]),
    {ok, Undefined} = xref:analyze(calls, undefined_function_calls),
    Findings = [Call || {_, {Module, _, _}} = Call <- Undefined, lists:member(Module, Ours)],
    [
        io:format("~ts calls ~ts, which is undefined~n", [text(From), text(To)])
     || {From, To} <- Findings
    ],
    io:format("calls: ~b modules, ~b findings~n", [length(Ours), length(Findings)]),
    halt(min(length(Findings), 1)).

added(Directory) ->
    {ok, Modules} = xref:add_directory(calls, Directory),
    Modules.

text({Module, Function, Arity}) ->
    io_lib:format("~ts:~ts/~b", [Module, Function, Arity]).

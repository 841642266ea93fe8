#!/usr/bin/env escript
%% Makes an assembled release quick to start: what a node does first, a thousand times over, is to
%% load code.
%%
%%   escript scripts/trim_release.escript DIRECTORY
%%
%% - Its modules are stored inflated: relx writes them compressed, and unpacking them is a twentieth
%%   of the processor time of a start.
%% - Its boot file no longer loads the linter and the evaluator, which systools names for the sake of
%%   `-eval' and the shell. Code is loaded on demand: whoever needs them still finds them.
%% - It no longer looks for a user's `.erlang' either, which a container has no use for: that alone
%%   loads a part of the shell.

-mode(compile).

-define(ON_DEMAND, [erl_eval, erl_lint]).

main([Release]) ->
    Beams = filelib:wildcard(filename:join(Release, "lib/*/ebin/*.beam")),
    [Script] = filelib:wildcard(filename:join(Release, "releases/*/start.script")),
    ok = lists:foreach(fun inflate/1, Beams),
    ok = trim(Script);
main(_) ->
    io:format(standard_error, "usage: trim_release.escript DIRECTORY~n", []),
    halt(2).

inflate(File) ->
    case file:read_file(File) of
        {ok, <<31, 139, _/binary>> = Compressed} ->
            ok = file:write_file(File, zlib:gunzip(Compressed));
        {ok, _Inflated} ->
            ok
    end.

trim(File) ->
    {ok, [{script, Name, Instructions}]} = file:consult(File),
    Trimmed = lists:map(
        fun
            ({primLoad, Modules}) -> {primLoad, Modules -- ?ON_DEMAND};
            (Other) -> Other
        end,
        Instructions -- [{apply, {c, erlangrc, []}}]
    ),
    Text = io_lib:format("%% coding: utf-8~n~tp.~n", [{script, Name, Trimmed}]),
    ok = file:write_file(File, unicode:characters_to_binary(Text)),
    systools:script2boot(filename:rootname(File)).


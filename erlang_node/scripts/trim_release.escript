#!/usr/bin/env escript
%% Makes an assembled release start faster: most of a node's start, repeated a thousand times, is
%% loading code.
%%
%%   escript scripts/trim_release.escript DIRECTORY
%%
%% - Its modules are stored uncompressed: relx compresses them, and unpacking takes a twentieth of a
%%   start's processor time.
%% - Its boot file no longer loads the linter and the evaluator, which systools adds for `-eval' and
%%   the shell. Code is loaded on demand, so they are still found if needed.
%% - It no longer looks for a user's `.erlang', useless in a container: that alone loads a part of
%%   the shell.

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


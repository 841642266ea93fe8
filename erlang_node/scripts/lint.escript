#!/usr/bin/env escript
%% What the compiler does not check of the house style. Arguments: directories, searched for *.erl
%% and *.hrl files (build directories left out), all applications and examples by default; exit status
%% 1 when a line breaks a rule.
%%
%% Everywhere: at most 100 columns, no tabs, no trailing whitespace, a newline at the end.
%% In modules outside test directories: indentation in multiples of four, `%%% @doc' first, a -spec
%% for every exported function.

-mode(compile).

-define(COLUMNS, 100).

main([]) ->
    Umbrella = filename:dirname(filename:dirname(filename:absname(escript:script_name()))),
    Examples = filename:join(filename:dirname(Umbrella), "examples"),
    main([filename:join(Umbrella, "apps"), Examples]);
main(Directories) ->
    Files = lists:usort(lists:flatmap(fun sources/1, Directories)),
    Findings = lists:flatmap(fun lint/1, Files),
    [io:format("~ts:~b: ~ts~n", [File, Line, Text]) || {File, Line, Text} <- Findings],
    io:format("lint: ~b files, ~b findings~n", [length(Files), length(Findings)]),
    halt(min(length(Findings), 1)).

sources(Directory) ->
    Found = filelib:wildcard(filename:join(Directory, "**/*.{erl,hrl}")),
    [File || File <- Found, not lists:member("_build", filename:split(File))].

lint(File) ->
    {ok, Content} = file:read_file(File),
    Lines = string:split(unicode:characters_to_list(Content), "\n", all),
    Numbered = lists:zip(lists:seq(1, length(Lines)), Lines),
    Rules = [fun too_long/1, fun tab/1, fun trailing/1] ++
        [fun indentation/1 || is_production(File)],
    [
        {File, Number, Text}
     || {Number, Line} <- Numbered, Rule <- Rules, Text <- Rule(Line)
    ] ++
        [{File, length(Lines), "no newline at the end"} || lists:last(Lines) =/= ""] ++
        [Finding || is_production(File), Finding <- documentation(File, Lines)].

is_production(File) ->
    filename:extension(File) =:= ".erl" andalso not lists:member("test", filename:split(File)).

too_long(Line) ->
    [io_lib:format("~b columns", [N]) || N <- [string:length(Line)], N > ?COLUMNS].

tab(Line) ->
    ["a tab" || lists:member($\t, Line)].

trailing(Line) ->
    ["trailing whitespace" || Line =/= string:trim(Line, trailing, " \r")].

%% A generator `|| X <- ..' stands one column after its bracket, and text in a comment or in a
%% quoted string stands where it likes.
indentation(Line) ->
    Body = string:trim(Line, leading, " "),
    Indent = length(Line) - length(Body),
    Free = lists:any(fun(P) -> lists:prefix(P, Body) end, ["||", "%", "\""]),
    [
        io_lib:format("indented by ~b, not a multiple of 4", [Indent])
     || Indent rem 4 =/= 0, not Free, Body =/= ""
    ].

documentation(File, Lines) ->
    {ok, Forms} = epp_dodger:parse_file(File),
    Attributes = lists:flatmap(fun attribute/1, Forms),
    Specified = [FA || {spec, FA} <- Attributes],
    [{File, 1, "no %%% @doc at the top"} || not lists:prefix("%%% @doc", hd(Lines))] ++
        [
            {File, 1, io_lib:format("~s/~b is exported without a -spec", [F, A])}
         || {export, {F, A} = FA} <- Attributes, not lists:member(FA, Specified)
        ].

attribute(Form) ->
    case erl_syntax:type(Form) of
        attribute -> named_attribute(Form);
        _ -> []
    end.

named_attribute(Form) ->
    case catch erl_syntax_lib:analyze_attribute(Form) of
        {export, Functions} -> [{export, FA} || FA <- Functions];
        {spec, {_, {FA, _}}} -> [{spec, FA}];
        {spec, {FA, _}} -> [{spec, FA}];
        _ -> []
    end.

#!/usr/bin/env escript
%% Checks the parts of the house style that the compiler does not. Arguments: directories, searched
%% for *.erl and *.hrl files (except build directories), all applications and examples by default;
%% exit status 1 if a line breaks a rule.
%%
%% Everywhere: at most 100 columns, no tabs, no trailing whitespace, a newline at the end; comments
%% begin with `%%' in the first column and with `%' further in; a pattern with a name is
%% `#record{} = Name', and so for maps.
%% In modules outside test directories: indentation in multiples of four, `%%% @doc' first, a -spec
%% for every exported function and above it a comment with @doc (@private for callbacks, @equiv), at
%% most 300 lines or a reason in the first comment.

-mode(compile).

-define(COLUMNS, 100).
-define(LINES, 300).
-define(REASON, "%%% Longer than 300 lines: ").

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
    {ok, Forms} = epp_dodger:parse_file(File),
    Rules = [fun too_long/1, fun tab/1, fun trailing/1, fun comment/1] ++
        [fun indentation/1 || is_production(File)],
    [
        {File, Number, Text}
     || {Number, Line} <- Numbered, Rule <- Rules, Text <- Rule(Line)
    ] ++
        [{File, length(Lines), "no newline at the end"} || lists:last(Lines) =/= ""] ++
        [
            {File, Line, "Name = #record{} in a pattern: the name comes last"}
         || Line <- lists:usort(lists:flatmap(fun names_first/1, Forms))
        ] ++
        [Finding || is_production(File), Finding <- documentation(File, Lines, Forms)].

is_production(File) ->
    filename:extension(File) =:= ".erl" andalso not lists:member("test", filename:split(File)).

too_long(Line) ->
    [io_lib:format("~b columns", [N]) || N <- [string:length(Line)], N > ?COLUMNS].

tab(Line) ->
    ["a tab" || lists:member($\t, Line)].

trailing(Line) ->
    ["trailing whitespace" || Line =/= string:trim(Line, trailing, " \r")].

comment(Line) ->
    case {Line, string:trim(Line, leading, " ")} of
        {"%" ++ Comment, _} -> ["one % in the first column" || hd(Comment ++ " ") =/= $%];
        {_, "%%" ++ _} -> ["an indented comment with more than one %"];
        _ -> []
    end.

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

%% The lines with a pattern of which the name comes before the record or the map.
names_first(Form) ->
    erl_syntax_lib:fold(
        fun(Tree, Found) -> lists:flatmap(fun names_first_in/1, patterns(Tree)) ++ Found end,
        [],
        Form
    ).

names_first_in(Pattern) ->
    erl_syntax_lib:fold(
        fun(Tree, Found) ->
            [erl_anno:line(erl_syntax:get_pos(Tree)) || is_name_first(Tree)] ++ Found
        end,
        [],
        Pattern
    ).

is_name_first(Tree) ->
    erl_syntax:type(Tree) =:= match_expr andalso
        erl_syntax:type(erl_syntax:match_expr_pattern(Tree)) =:= variable andalso
        is_structure(erl_syntax:match_expr_body(Tree)).

is_structure(Tree) ->
    case erl_syntax:type(Tree) of
        match_expr -> is_structure(erl_syntax:match_expr_pattern(Tree));
        Type -> lists:member(Type, [record_expr, map_expr])
    end.

%% `A = B = Expression' is two patterns, the second one within the body of the first.
patterns(Tree) ->
    case erl_syntax:type(Tree) of
        clause ->
            erl_syntax:clause_patterns(Tree);
        generator ->
            [erl_syntax:generator_pattern(Tree)];
        match_expr ->
            Body = erl_syntax:match_expr_body(Tree),
            [erl_syntax:match_expr_pattern(Tree)] ++
                [Tree || erl_syntax:type(Body) =:= match_expr];
        _ ->
            []
    end.

documentation(File, Lines, Forms) ->
    Attributes = lists:flatmap(fun attribute/1, Forms),
    Specified = [FA || {spec, FA} <- Attributes],
    Exported = [atom_to_list(F) || {export, {F, _}} <- Attributes],
    IsReasoned = lists:any(fun(Line) -> lists:prefix(?REASON, Line) end, Lines),
    [{File, 1, "no %%% @doc at the top"} || not lists:prefix("%%% @doc", hd(Lines))] ++
        [
            {File, 1, io_lib:format("~b lines, without '~s...'", [length(Lines) - 1, ?REASON])}
         || length(Lines) - 1 > ?LINES, not IsReasoned
        ] ++
        [
            {File, 1, io_lib:format("~s/~b is exported without a -spec", [F, A])}
         || {export, {F, A} = FA} <- Attributes, not lists:member(FA, Specified)
        ] ++
        [
            {File, 1, io_lib:format("~s is exported without a @doc", [Name])}
         || Name <- undocumented(Lines), lists:member(Name, Exported)
        ].

%% The functions whose -spec does not follow a comment with a tag of edoc.
undocumented(Lines) ->
    {_, Found} = lists:foldl(fun undocumented/2, {"", []}, Lines),
    lists:reverse(Found).

undocumented("%%" ++ _ = Line, {Comment, Found}) ->
    {Comment ++ Line, Found};
undocumented("-spec " ++ Spec, {Comment, Found}) ->
    [Name | _] = string:split(Spec, "("),
    case re:run(Comment, "@(doc|private|hidden|equiv)") of
        nomatch -> {"", [Name | Found]};
        _ -> {"", Found}
    end;
undocumented(_, {_, Found}) ->
    {"", Found}.

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

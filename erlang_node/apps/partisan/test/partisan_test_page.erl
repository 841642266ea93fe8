%%% The Erlang blocks of a page of docs: modules to be loaded, and expressions to be run as in a
%%% shell, in order and with the bindings of those before.
-module(partisan_test_page).

-export([blocks/1, load/1, run/2]).

%% The fenced blocks of a page: the modules, and the expressions.
blocks(Page) ->
    Umbrella = lists:foldl(
        fun(_, Path) -> filename:dirname(Path) end, filename:absname(?FILE), lists:seq(1, 4)
    ),
    {ok, Text} = file:read_file(filename:join([filename:dirname(Umbrella), "docs", Page])),
    Pattern = "^```erlang\\n(.*?)^```",
    Options = [global, multiline, dotall, {capture, all_but_first, list}, unicode],
    {match, Blocks} = re:run(Text, Pattern, Options),
    lists:partition(
        fun(Block) -> lists:prefix("-module", Block) end, [Block || [Block] <- Blocks]
    ).

%% Compiles a module and loads it on this node.
load(Source) ->
    Forms = [begin {ok, Form} = erl_parse:parse_form(Tokens), Form end || Tokens <- split(Source)],
    {ok, Module, Binary} = compile:forms(Forms),
    {module, Module} = code:load_binary(Module, "page", Binary),
    ok.

%% Runs blocks of expressions in one process.
run(Blocks, Bindings) ->
    _ = lists:foldl(fun run_one/2, Bindings, lists:flatmap(fun split/1, Blocks)),
    ok.

run_one(Tokens, Bindings0) ->
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    try
        {value, _, Bindings} = erl_eval:exprs(Expressions, Bindings0),
        Bindings
    catch
        Class:Reason ->
            error({example_failed, lists:flatten(erl_pp:exprs(Expressions)), Class, Reason})
    end.

split(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    split(Tokens, [], []).

split([], [], Forms) -> lists:reverse(Forms);
split([{dot, _} = Dot | Rest], Form, Forms) ->
    split(Rest, [], [lists:reverse([Dot | Form]) | Forms]);
split([Token | Rest], Form, Forms) -> split(Rest, [Token | Form], Forms).

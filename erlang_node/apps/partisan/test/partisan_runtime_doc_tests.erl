%%% @doc Runs every example of docs/runtime.md, in their order, on real nodes.
-module(partisan_runtime_doc_tests).

-include_lib("eunit/include/eunit.hrl").

-export([load/1, run/2]).

-import(partisan_test_cluster, [call/4]).

examples_test_() ->
    {setup, fun start/0, fun partisan_test_cluster:stop/1, fun([Node | Others]) ->
        {"the examples of docs/runtime.md", {timeout, 120, fun() -> examples(Node, Others) end}}
    end}.

examples(#{self := #{host := Ip}} = Node, [#{self := Seed} | _] = Others) ->
    {Modules, Expressions} = lists:partition(fun is_module/1, blocks()),
    ?assert(length(Modules) >= 1),
    ?assert(length(Expressions) >= 8),
    [ok = call(N, ?MODULE, load, [Source]) || N <- [Node | Others], Source <- Modules],
    [{ok, _} = call(N, counter, start, [counter]) || N <- Others],
    [ok = call(N, partisan_test_sink, start, [sink]) || N <- Others],
    Bindings = [{'Ip', Ip}, {'Token', partisan_test_cluster:token()}, {'Seeds', [Seed]}],
    ?assertEqual(ok, call(Node, ?MODULE, run, [Expressions, Bindings])).

%% Two nodes that run, and one that has only been booted.
start() ->
    Net = {rand:uniform(250), rand:uniform(250)},
    Channels = [
        #{name => default}, #{name => bulk, parallelism => 4}, #{name => gossip, monotonic => true}
    ],
    [_, Seed, _] = Configurations = [
        partisan_test_cluster:configuration(Net, I, #{
            name => <<"ads-", (integer_to_binary(I - 1))/binary>>,
            cluster => <<"ads">>,
            channels => Channels
        })
     || I <- [1, 2, 3]
    ],
    #{name := Name, host := Host} = Seed,
    Seeds = [partisan_peer:new(Name, Host, 7946)],
    [partisan_test_cluster:start_bare(Net, hd(Configurations)) | [
        partisan_test_cluster:start_node(Net, C#{seeds => Seeds}) || C <- tl(Configurations)
    ]].

%% The fenced blocks of the page.
blocks() ->
    {ok, Page} = file:read_file(page()),
    Pattern = "^```erlang\\n(.*?)^```",
    {match, Blocks} =
        re:run(Page, Pattern, [global, multiline, dotall, {capture, all_but_first, list}, unicode]),
    [Block || [Block] <- Blocks].

page() ->
    Umbrella = lists:foldl(
        fun(_, Path) -> filename:dirname(Path) end, filename:absname(?FILE), lists:seq(1, 4)
    ),
    filename:join([filename:dirname(Umbrella), "docs", "runtime.md"]).

is_module(Block) ->
    lists:prefix("-module", Block).

%% On the nodes.

load(Source) ->
    Forms = [begin {ok, Form} = erl_parse:parse_form(Tokens), Form end || Tokens <- split(Source)],
    {ok, Module, Binary} = compile:forms(Forms),
    {module, Module} = code:load_binary(Module, "runtime.md", Binary),
    ok.

%% As a shell would, in one process.
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

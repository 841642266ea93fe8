%%% @doc Runs every example of docs/reference/runtime.md, in their order, on real nodes.
-module(partisan_runtime_doc_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4]).

examples_test_() ->
    {setup, fun start/0, fun partisan_test_cluster:stop/1, fun([Node | Others]) ->
        {"the examples of runtime.md", {timeout, 600, fun() -> examples(Node, Others) end}}
    end}.

examples(#{self := #{host := Ip}} = Node, [#{self := Seed} | _] = Others) ->
    {Modules, Expressions} = partisan_test_page:blocks("reference/runtime.md"),
    ?assert(length(Modules) >= 1),
    ?assert(length(Expressions) >= 8),
    [ok = call(N, partisan_test_page, load, [Source]) || N <- [Node | Others], Source <- Modules],
    [{ok, _} = call(N, counter, start, [counter]) || N <- Others],
    [{ok, _} = call(N, partisan_global, start, []) || N <- Others],
    [ok = call(N, partisan_test_sink, start, [sink]) || N <- Others],
    Bindings = [{'Ip', Ip}, {'Token', partisan_test_cluster:token()}, {'Seeds', [Seed]}],
    ?assertEqual(ok, call(Node, partisan_test_page, run, [Expressions, Bindings])).

%% Two running nodes, and one that has only been booted.
start() ->
    Net = partisan_test_cluster:net(),
    Channels = [
        #{name => default},
        #{name => bulk, parallelism => 4},
        #{name => orders, acknowledged => true, queue_bytes => 1 bsl 20},
        #{name => gossip, monotonic => true}
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

-module(partisan_transport_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

-define(CHANNELS, [
    #{name => default, parallelism => 2},
    #{name => bulk, parallelism => 16},
    #{name => gossip, monotonic => true}
]).

pair_test_() ->
    {setup, fun pair/0, fun partisan_test_cluster:stop/1, fun([A, B]) ->
        [
            {"messages arrive on every channel", {timeout, 30, fun() -> every_channel(A, B) end}}
        ]
    end}.

pair() ->
    [A, B] = Nodes = partisan_test_cluster:start(2, #{channels => ?CHANNELS}),
    [await(fun() -> call(N, partisan, joined, []) end) || N <- Nodes],
    [ok = call(N, partisan_test_sink, start, [sink]) || N <- [A, B]],
    Nodes.

every_channel(A, B) ->
    [
        begin
            ok = call(From, partisan, forward, [name(To), sink, {hello, Channel}, #{channel => Channel}]),
            ?assertEqual([{hello, Channel}], call(To, partisan_test_sink, take, [sink, 1]))
        end
     || {From, To} <- [{A, B}, {B, A}, {A, A}], Channel <- [default, bulk, gossip]
    ].

%%% @doc Membership and messages under upstream's names.
-module(partisan_peer_service_tests).

-include_lib("eunit/include/eunit.hrl").

-define(T, partisan_test_cluster).

-import(partisan_test_cluster, [call/4, name/1, await/1]).

service_test_() ->
    {setup, fun() -> ?T:start(2, #{seeds => []}) end, fun ?T:stop/1, fun(Nodes) ->
        {"two nodes", {timeout, 600, fun() -> service(Nodes) end}}
    end}.

service([A, #{self := #{host := Host, port := Port}} = B]) ->
    Upstream = #{name => binary_to_atom(name(B)), listen_addrs => [#{ip => Host, port => Port}]},
    ?assertError(badarg, call(A, partisan_peer_service, join, [#{name => b}])),
    ok = call(A, partisan_peer_service, join, [Upstream]),
    Names = lists:sort([name(A), name(B)]),
    ok = await(fun() ->
        {ok, Members} = call(A, partisan_peer_service, members, []),
        lists:sort(Members) =:= Names
    end),
    Manager = call(A, partisan_peer_service, manager, []),
    ok = call(B, partisan_test_sink, start, [sink]),
    ok = call(A, Manager, forward_message, [{sink, name(B)}, 1]),
    ok = call(A, Manager, forward_message, [binary_to_atom(name(B)), sink, 2]),
    Options = [{ack, true}, {channel, default}, transitive],
    ok = call(A, Manager, forward_message, [name(B), sink, 3, Options]),
    ok = await(fun() -> call(B, partisan_test_sink, has, [sink, [1, 2, 3]]) end),
    ?assertError(
        {unknown_option, clock},
        call(A, Manager, forward_message, [name(B), sink, 4, #{clock => 1}])
    ),
    ok = call(B, partisan_peer_service, leave, []),
    ok = await(fun() -> call(A, partisan_peer_service, members, []) =:= {ok, [name(A)]} end).

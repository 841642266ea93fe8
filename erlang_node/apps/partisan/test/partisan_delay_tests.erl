%%% Delays of channels, of calls, and of what arrives, on real nodes.
-module(partisan_delay_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1, await/1]).

%% On the nodes.
-export([set/1, forward_all/3, held/0]).

-define(MINUTE, 60000).

nodes_test_() ->
    {setup,
        fun() ->
            partisan_test_cluster:start_connected(2, #{
                channels => [
                    #{name => default},
                    #{name => out, egress_delay => 50},
                    #{name => in, ingress_delay => 50, acknowledged => true},
                    #{name => never_out, egress_delay => ?MINUTE},
                    #{name => never_in, ingress_delay => ?MINUTE}
                ]
            })
        end,
        fun partisan_test_cluster:stop/1, fun([A, B]) ->
            [
                {Title, {timeout, 600, fun() -> on_sink(fun() -> Test(A, B) end, B) end}}
             || {Title, Test} <- [
                    {"a channel delays what leaves, in order", fun egress/2},
                    {"a channel delays what arrives, in order", fun ingress/2},
                    {"a rule delays what arrives", fun rule/2},
                    {"a call is delayed on its way, and in its timeout", fun calls/2}
                ]
            ]
        end}.

on_sink(Test, B) ->
    ok = call(B, partisan_test_sink, start, [sink]),
    try Test() after ok = call(B, partisan_test_sink, stop, [sink]) end.

%% Rules come and go meanwhile.
egress(A, B) ->
    arrive(A, B, out, fun() -> toggle(A) end),
    ?assertEqual(0, call(A, ?MODULE, held, [])),
    forward(A, B, [{never, 1}], never_out),
    ?assert(call(A, ?MODULE, held, []) > 0).

ingress(A, B) ->
    arrive(A, B, in, fun() -> toggle(B) end),
    % Retransmissions may still be held.
    ok = await(fun() -> call(B, ?MODULE, held, []) =:= 0 end),
    forward(A, B, [{never, 1}], never_in),
    ok = await(fun() -> call(B, ?MODULE, held, []) > 0 end),
    ?assertEqual(0, call(B, partisan_test_sink, count, [sink])).

arrive(A, B, Channel, Meanwhile) ->
    Messages = [{m, N} || N <- lists:seq(1, 60)],
    {First, Second} = lists:split(30, Messages),
    forward(A, B, First, Channel),
    ok = Meanwhile(),
    forward(A, B, Second, Channel),
    ?assertEqual(Messages, call(B, partisan_test_sink, take, [sink, 60])).

rule(A, B) ->
    Rule = #{name => <<"late">>, action => {ingress_delay, 50}, match => #{message => slow}},
    ok = call(B, ?MODULE, set, [[Rule]]),
    Slow = [{slow, N} || N <- lists:seq(1, 30)],
    forward(A, B, Slow ++ [fast], default),
    Arrived = call(B, partisan_test_sink, take, [sink, 31]),
    ?assertEqual(Slow, Arrived -- [fast]),
    ?assertEqual(#{<<"late">> => 30}, call(B, partisan_interposition, counts, [])),
    % At the sender it does nothing.
    ok = call(B, partisan_interposition, clear, []),
    ok = call(A, ?MODULE, set, [[Rule]]),
    forward(A, B, Slow, default),
    ?assertEqual(Slow, call(B, partisan_test_sink, take, [sink, 30])),
    ?assertEqual(#{<<"late">> => 0}, call(A, partisan_interposition, counts, [])),
    ok = call(A, partisan_interposition, clear, []).

calls(A, B) ->
    {ok, _} = call(B, partisan_test_server, start, [server]),
    Call = fun(Request, Timeout, Options) ->
        try
            call(A, partisan, call, [{server, name(B)}, Request, Timeout, Options])
        catch
            _:Reason -> Reason
        end
    end,
    Both = #{egress_delay => 20, ingress_delay => 20},
    ?assertEqual(1, Call({echo, 1}, 60000, Both)),
    ?assertEqual(1, Call({echo, 1}, 60000, Both#{ack => false, channel => out})),
    ?assertMatch({timeout, _}, Call({echo, 1}, 100, #{egress_delay => ?MINUTE})),
    ?assertMatch({timeout, _}, Call({echo, 1}, 100, #{ingress_delay => ?MINUTE})),
    % The other node gives the call up.
    ok = await(fun() -> maps:get(calls, call(B, partisan_remote, counts, [])) =:= 0 end).

forward(A, B, Messages, Channel) ->
    ok = call(A, ?MODULE, forward_all, [name(B), Messages, Channel]).

toggle(Node) ->
    Rule = #{name => <<"none">>, action => drop, match => #{message => other}},
    ok = call(Node, ?MODULE, set, [[Rule]]),
    call(Node, partisan_interposition, clear, []).

%% On the nodes.

set(Rules) -> partisan_interposition:set(Rules).

forward_all(To, Messages, Channel) ->
    Options = #{channel => Channel, partition_key => 0},
    lists:foreach(fun(M) -> ok = partisan:forward(To, sink, M, Options) end, Messages).

%% Bytes of delayed messages.
held() ->
    case ets:lookup(partisan_injection, held) of
        [{held, Bytes}] -> Bytes;
        [] -> 0
    end.

%% The kernel's count of bytes, on real sockets.
-module(partisan_tcp_tests).

-include_lib("eunit/include/eunit.hrl").

a_socket_that_has_ended_is_counted_and_held_no_more_test() ->
    ok = partisan_metrics:init(),
    ok = partisan_tcp:init(),
    {ok, Listening} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false}]),
    {ok, Port} = inet:port(Listening),
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    {ok, Accepted} = gen_tcp:accept(Listening),
    ok = partisan_tcp:opened(Socket),
    ok = gen_tcp:send(Socket, <<"twelve bytes">>),
    {ok, <<"twelve bytes">>} = gen_tcp:recv(Accepted, 12),
    ok = partisan_tcp:ends(Socket),
    ?assertEqual(1, ets:info(partisan_tcp, size)),
    % Idempotent.
    ok = partisan_tcp:ends(Socket),
    ?assertEqual([{[sent], 12}, {[received], 0}], partisan_tcp:bytes()),
    [ok = gen_tcp:close(S) || S <- [Socket, Accepted, Listening]],
    [true = ets:delete(Table) || Table <- [partisan_tcp, partisan_metrics]].

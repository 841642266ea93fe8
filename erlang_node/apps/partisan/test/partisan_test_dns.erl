%%% A name server on a loopback port, with records that a test sets.
-module(partisan_test_dns).

-export([start/0, stop/1, set/2, address/1]).

start() ->
    Self = self(),
    Pid = spawn_link(fun() ->
        {ok, Socket} = gen_udp:open(0, [binary, {ip, {127, 0, 0, 1}}, {active, true}]),
        {ok, Port} = inet:port(Socket),
        Self ! {self(), Port},
        serve(Socket, #{})
    end),
    receive {Pid, Port} -> {Pid, Port} end.

stop({Pid, _}) ->
    unlink(Pid),
    exit(Pid, kill).

%% The records by `{Name, Type}'. Others do not exist.
set({Pid, _}, Records) ->
    Pid ! {set, self(), Records},
    receive {Pid, set} -> ok end.

address({_, Port}) -> {{127, 0, 0, 1}, Port}.

serve(Socket, Records) ->
    receive
        {set, From, New} ->
            From ! {self(), set},
            serve(Socket, New);
        {udp, Socket, Ip, Port, Question} ->
            ok = gen_udp:send(Socket, Ip, Port, answer(Question, Records)),
            serve(Socket, Records)
    end.

answer(Encoded, Records) ->
    {ok, Question} = inet_dns:decode(Encoded),
    [Query] = inet_dns:msg(Question, qdlist),
    {Name, Type} = Key = {inet_dns:dns_query(Query, domain), inet_dns:dns_query(Query, type)},
    % A resolver accepts only an answer to its own question.
    Asked = maps:from_list(inet_dns:header(inet_dns:msg(Question, header))),
    Found = maps:get(Key, Records, none),
    Code = case Found of none -> 3; _ -> 0 end,
    Answers = [
        inet_dns:make_rr([{domain, Name}, {type, Type}, {class, in}, {ttl, 0}, {data, Data}])
     || Found =/= none, Data <- Found
    ],
    inet_dns:encode(
        inet_dns:make_msg([
            {header, inet_dns:make_header(maps:to_list(Asked#{qr := true, rcode := Code}))},
            {qdlist, [Query]},
            {anlist, Answers}
        ])
    ).

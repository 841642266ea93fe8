%%% @doc Undeliverable acknowledged messages do not harm their stream: on real nodes.
-module(partisan_ack_nodes_tests).

-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, name/1]).

%% On the nodes.
-export([fill_atoms/0, send_new_atom/3, notify_then_plain/3, behind_acknowledged/2]).

-define(LIMIT, 100000).

pair_test_() ->
    {setup, fun pair/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 600, fun() -> partisan_test_sink:on(Nodes, [sink], Test) end}}
         || {Title, Test} <- [
                {"messages of about message_bytes arrive or are refused", fun about_the_limit/1},
                {"acknowledged messages are not overtaken by others", fun overtaken/1},
                {"messages for neighbours only are not relayed", fun neighbours_alone/1},
                % Afterwards the node can decode no new atoms.
                {"a message that cannot be decoded is refused", fun undecodable/1}
            ]
        ]
    end}.

pair() ->
    partisan_test_cluster:start_connected(2, #{
        channels => [#{name => default}, #{name => bulk, parallelism => 4}],
        message_bytes => ?LIMIT,
        mailbox_messages => 100
    }).

about_the_limit([A, B]) ->
    Sizes = lists:seq(?LIMIT - 300, ?LIMIT + 10, 10),
    Outcomes = [
        {Size, forward(A, B, binary:copy(<<1>>, Size), #{ack => true, timeout => 60000})}
     || Size <- Sizes
    ],
    Arrived = [Size || {Size, ok} <- Outcomes],
    Refused = [Size || {Size, {error, {too_large, Bytes}}} <- Outcomes, Bytes > ?LIMIT],
    ?assertEqual(Sizes, Arrived ++ Refused),
    ?assert(Arrived =/= [] andalso Refused =/= []),
    ?assertEqual(Arrived, [byte_size(Message) || Message <- take(B, length(Arrived))]).

overtaken([A, B]) ->
    Rounds = 50,
    ok = call(A, ?MODULE, notify_then_plain, [name(B), Rounds, 5]),
    Expected = [{Round, N} || Round <- lists:seq(1, Rounds), N <- lists:seq(1, 5)],
    Arrived = take(B, length(Expected)),
    [
        ?assertEqual([M || {R, _} = M <- Expected, R =:= Round], [
            M || {R, _} = M <- Arrived, R =:= Round
        ])
     || Round <- lists:seq(1, Rounds)
    ].

neighbours_alone([A, B]) ->
    Absent = <<"absent">>,
    ?assertEqual({error, not_connected}, call(A, ?MODULE, behind_acknowledged, [Absent, 0])),
    ?assertEqual(ok, call(A, ?MODULE, behind_acknowledged, [Absent, 1])),
    ?assertEqual(ok, call(A, ?MODULE, behind_acknowledged, [name(B), 0])),
    ?assertEqual([first, second], take(B, 2)).

undecodable([A, B]) ->
    ok = call(B, ?MODULE, fill_atoms, []),
    Dropped = dropped(B),
    [
        ?assertEqual({error, undecodable}, call(A, ?MODULE, send_new_atom, [name(B), N, Options]))
     || N <- [1, 2], Options <- [#{ack => true, timeout => 10000}]
    ],
    ?assert(dropped(B) >= Dropped + 2),
    ?assertEqual(ok, forward(A, B, hello, #{ack => true, timeout => 10000})),
    ?assertEqual([hello], take(B, 1)).

%% Helpers.

forward(From, To, Message, Options) ->
    call(From, partisan, forward, [name(To), sink, Message, Options]).

take(Node, Count) ->
    call(Node, partisan_test_sink, take, [sink, Count]).

dropped(Node) ->
    #{default := #{dropped := Dropped}} = call(Node, partisan, channels, []),
    Dropped.

%% On the nodes.

%% Until at most half of the table is free.
fill_atoms() ->
    Half = erlang:system_info(atom_limit) div 2,
    Missing = max(0, Half + 10 - erlang:system_info(atom_count)),
    lists:foreach(
        fun(N) -> binary_to_atom(<<"filled_", (integer_to_binary(N))/binary>>) end,
        lists:seq(1, Missing)
    ).

send_new_atom(To, N, Options) ->
    partisan:forward(To, sink, binary_to_atom(<<"sent_", (integer_to_binary(N))/binary>>), Options).

%% Each round has its own key, and so some use a stream that has to be opened first.
notify_then_plain(To, Rounds, Count) ->
    lists:foreach(
        fun(Round) ->
            Options = #{partition_key => {round, Round}, channel => bulk},
            ok = partisan:forward(To, sink, {Round, 1}, Options#{ack => {notify, Round}}),
            [ok = partisan:forward(To, sink, {Round, N}, Options) || N <- lists:seq(2, Count)]
        end,
        lists:seq(1, Rounds)
    ).

behind_acknowledged(To, Ttl) ->
    ok = partisan:forward({sink, To}, first, #{ack => {notify, first}, timeout => 10000}),
    partisan:forward({sink, To}, second, #{ttl => Ttl}).

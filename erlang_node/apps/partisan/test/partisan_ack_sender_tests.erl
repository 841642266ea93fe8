%%% @doc Streams to an absent node, in virtual time.
-module(partisan_ack_sender_tests).

-include_lib("eunit/include/eunit.hrl").

%% Replacements of partisan_ack_stream's.
-export([now_ms/0, transmit/2]).

-define(HOUR, 3600000).

absent_test_() ->
    {foreach, fun setup/0, fun cleanup/1, [
        {"searches for an absent node become rarer", fun ever_more_rarely/0},
        {"an unused stream is forgotten", fun forgotten/0},
        {"a node that comes back is served at once", fun comes_back/0},
        {"a message to a restarted node is no message to its previous incarnation", fun restarts/0},
        {"a waiting sender is admitted when others are given up", fun gets_in/0},
        {"a causal message that is given up does not block later ones", fun causal/0}
    ]}.

%% Each opening searches the whole cluster.
ever_more_rarely() ->
    S = send(infinity, new()),
    _ = run(?HOUR, S),
    ?assert(opened() > 100),
    ?assert(opened() < 150).

forgotten() ->
    S = send(now_ms() + 1000, send(now_ms() + 500, new())),
    Later = run(?HOUR, S),
    ?assert(opened() < 10),
    ?assertEqual(infinity, partisan_ack_sender:wake_at(Later)),
    ?assertNot(partisan_ack_order:is_under_way(fun order/0)).

comes_back() ->
    S = run(?HOUR, send(infinity, new())),
    Before = opened(),
    advance(1000),
    _ = partisan_ack_sender:reachable(<<"b">>, S),
    ?assertEqual(Before + 1, opened()).

%% Once its next incarnation is known, a stream to the previous one is over, also without messages.
restarts() ->
    Waits = #{outcome => reply, deadline => infinity},
    {Empty, None} = new(),
    {S0, L0} = send({self(), first}, Waits, Empty, None),
    [{open, Stream, _}] = transmitted(),
    {S1, L1} = partisan_ack_sender:opened(Stream, 7, L0, S0),
    {S2, L2} = partisan_ack_sender:acknowledged(Stream, 1, L1, S1),
    {S3, L3} = partisan_ack_sender:end_previous(<<"b">>, 7, L2, S2),
    ?assert(partisan_ack_sender:leads_to(Stream, <<"b">>, S3)),
    {S4, L4} = partisan_ack_sender:end_previous(<<"b">>, 8, L3, S3),
    ?assertNot(partisan_ack_sender:leads_to(Stream, <<"b">>, S4)),
    _ = transmitted(),
    {S5, L5} = send({self(), second}, Waits, S4, L4),
    [{open, Next, _}] = transmitted(),
    {S6, L6} = partisan_ack_sender:opened(Next, 8, L5, S5),
    ?assertEqual([{first, ok}], answers()),
    % It may have been delivered to the incarnation that ends now.
    {_, _} = partisan_ack_sender:end_previous(<<"b">>, 9, L6, S6),
    ?assertEqual([{second, {error, restarted}}], answers()).

gets_in() ->
    {S0, L0} = new(),
    Window = 4 bsl 20,
    {S1, L1} = send({self(), first}, #{bytes => Window, deadline => now_ms() + 500}, S0, L0),
    {S2, L2} = send({self(), second}, #{bytes => Window, deadline => now_ms() + 9000}, S1, L1),
    ?assertEqual([{first, ok}], answers()),
    advance(500),
    {S3, L3} = partisan_ack_sender:tick(L2, S2),
    ?assertEqual([{second, ok}], answers()),
    % And removed, if no message is given up in time.
    {S4, L4} = send({self(), third}, #{bytes => Window, deadline => now_ms() + 500}, S3, L3),
    advance(500),
    {_, _} = partisan_ack_sender:tick(L4, S4),
    ?assertEqual([{third, {error, timeout}}], answers()).

%% Its replacement must count in the causal order.
causal() ->
    {S0, L0} = send(infinity, new()),
    [{open, Stream, _}] = transmitted(),
    {S1, L1} = partisan_ack_sender:opened(Stream, 7, L0, S0),
    {S2, L2} = send_causal(now_ms() + 100, S1, L1),
    {S3, L3} = send_causal(infinity, S2, L2),
    advance(200),
    {S4, L4} = partisan_ack_sender:tick(L3, S3),
    _ = transmitted(),
    {_, _} = partisan_ack_sender:reconnected(<<"b">>, default, L4, S4),
    Sent = [Content || {data, _, Number, Content, _} <- transmitted(), Number > 1],
    ?assertEqual(2, length(Sent)),
    {Released, _} = lists:foldl(
        fun
            ({message, {causal, story, Stamp, To, Message}}, {Released, Labels0}) ->
                {More, Labels} = partisan_labels:take(
                    story, {<<"a">>, 1}, Stamp, {To, Message}, Labels0
                ),
                {Released ++ More, Labels};
            (skip, Acc) ->
                Acc
        end,
        {[], partisan_labels:new({<<"b">>, 7})},
        Sent
    ),
    ?assertEqual([{undefined, skip}, {sink, hello}], Released).

%% Helpers.

answers() ->
    receive
        {Tag, Answer} when Tag =:= first; Tag =:= second; Tag =:= third ->
            [{Tag, Answer} | answers()]
    after 0 -> []
    end.

transmitted() ->
    receive
        {transmitted, Message} -> [Message | transmitted()]
    after 0 -> []
    end.

setup() ->
    ok = partisan_test_channels:setup([#{name => default}]),
    % Other nodes have no such module.
    _ = try partisan_ack_order:init() catch _:_ -> ok end,
    Clock = counters:new(2, []),
    persistent_term:put(?MODULE, Clock),
    partisan_test_double:replace(partisan_ack_stream, [{now_ms, 0}, {transmit, 2}], ?MODULE).

cleanup(_) ->
    ok = partisan_test_double:restore(partisan_ack_stream),
    _ = try ets:delete(partisan_ack_order) catch error:badarg -> ok end,
    partisan_test_channels:cleanup(ok).

transmit(_Path, Message) ->
    _ = element(1, Message) =:= open andalso counters:add(persistent_term:get(?MODULE), 2, 1),
    self() ! {transmitted, Message},
    ok.

now_ms() -> counters:get(persistent_term:get(?MODULE), 1).
advance(Milliseconds) -> counters:add(persistent_term:get(?MODULE), 1, Milliseconds).
opened() -> counters:get(persistent_term:get(?MODULE), 2).
order() -> partisan_ack_order:key(<<"b">>, default, key).

new() ->
    {partisan_ack_sender:new({<<"a">>, 1}), partisan_labels:new({<<"a">>, 1})}.

send(Deadline, {Sender, Labels}) ->
    send(Deadline, none, Sender, Labels);
send(Deadline, Sender) ->
    send(Deadline, {Sender, partisan_labels:new({<<"a">>, 1})}).

send_causal(Deadline, Sender, Labels) ->
    send(Deadline, {label, story}, Sender, Labels).

send(Deadline, Causal, Sender, Labels) when not is_tuple(Deadline) ->
    Changes = #{
        causal => Causal, room_deadline => Deadline, deadline => Deadline, outcome => reply
    },
    send({self(), make_ref()}, Changes, Sender, Labels);
send(From, Changes, Sender, Labels) ->
    Request = #{
        path => {<<"b">>, default, 0},
        destination => sink,
        message => hello,
        bytes => 100,
        causal => none,
        order => try order() catch _:_ -> none end,
        room_deadline => infinity,
        on_busy => block,
        outcome => count
    },
    partisan_ack_sender:send(From, maps:merge(Request, Changes), Labels, Sender).

%% Ticks whenever the streams ask for it.
run(Left, {Sender, Labels}) ->
    case partisan_ack_sender:wake_at(Sender) of
        infinity ->
            Sender;
        At ->
            Step = max(1, At - now_ms()),
            case Step > Left of
                true ->
                    Sender;
                false ->
                    advance(Step),
                    run(Left - Step, partisan_ack_sender:tick(Labels, Sender))
            end
    end.

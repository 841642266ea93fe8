%%% @doc The state of the receiving end of streams, and its lifetime.
-module(partisan_ack_receiver_tests).

-include_lib("eunit/include/eunit.hrl").

%% Replacements of partisan_ack_stream's.
-export([now_ms/0, transmit/2]).

-define(HOUR, 3600000).

streams_test_() ->
    {foreach, fun setup/0, fun cleanup/1, [
        {"a stream that its sender has forgotten is forgotten", fun superseded/0},
        {"a late message does not reopen it", fun late/0},
        {"a sender of the first version may reopen any stream", fun first_version_again/0},
        {"streams of partitioned senders are kept", fun cut_off/0},
        {"streams of many departed senders are forgotten", {timeout, 600, fun gone/0}}
    ]}.

superseded() ->
    R = lists:foldl(fun(N, R0) -> opened(id(<<"a">>, N), <<"a">>, R0) end, new(), lists:seq(1, 50)),
    ?assertEqual([50], [N || N <- lists:seq(1, 50), knows(id(<<"a">>, N), R)]).

%% Late messages of the stream would be delivered again.
late() ->
    R = lists:foldl(fun(N, R0) -> opened(id(<<"a">>, N), <<"a">>, R0) end, new(), [1, 2, 1]),
    ?assertEqual([2], [N || N <- [1, 2], knows(id(<<"a">>, N), R)]).

%% Senders of the first version count from 1 again when their runtime restarts.
first_version_again() ->
    R = lists:foldl(fun(N, R0) -> opened({<<"a">>, 1, N}, <<"a">>, R0) end, new(), [2, 1]),
    ?assert(knows({<<"a">>, 1, 1}, R)).

%% Its messages may take any time: that they have not been accepted must not be forgotten.
cut_off() ->
    A = opened(id(<<"a">>, 1), <<"a">>, new()),
    R = lists:foldl(
        fun(N, R0) ->
            advance(?HOUR),
            opened(id(name(N), 1), name(N), R0)
        end,
        A,
        lists:seq(1, 100)
    ),
    ?assert(knows(id(<<"a">>, 1), R)).

gone() ->
    Last = 8400,
    R = lists:foldl(
        fun(N, R0) ->
            advance(?HOUR div 50),
            opened(id(name(N), 1), name(N), R0)
        end,
        opened({<<"a">>, 1, 1}, <<"a">>, new()),
        lists:seq(1, Last)
    ),
    Known = [N || N <- lists:seq(1, Last), knows(id(name(N), 1), R)],
    % The latest ones.
    ?assertEqual(lists:seq(hd(Known), Last), Known),
    ?assert(length(Known) < 8192),
    % Except of the first version, whose senders never close one.
    ?assert(knows({<<"a">>, 1, 1}, R)).

%% Helpers.

name(N) -> <<"node-", (integer_to_binary(N))/binary>>.
id(Name, N) -> {Name, 1, {N, 2}}.

new() ->
    partisan_ack_receiver:new({<<"self">>, 1}).

opened(Stream, Name, R) ->
    Labels = partisan_labels:new({<<"self">>, 1}),
    {Opened, _} = partisan_ack_receiver:opened(Stream, {Name, default, 0}, Labels, R),
    Opened.

%% It answers `unknown' to a message of an unknown stream.
knows({Name, _, _} = Stream, R) ->
    Labels = partisan_labels:new({<<"self">>, 1}),
    _ = partisan_ack_receiver:arrived(Stream, 7, skip, {Name, default, 0}, Labels, R),
    receive
        {transmitted, {missing, Stream, _}} -> true;
        {transmitted, {unknown, Stream}} -> false
    end.

setup() ->
    persistent_term:put(?MODULE, counters:new(1, [])),
    partisan_test_double:replace(partisan_ack_stream, [{now_ms, 0}, {transmit, 2}], ?MODULE).

cleanup(_) ->
    partisan_test_double:restore(partisan_ack_stream).

now_ms() -> counters:get(persistent_term:get(?MODULE), 1).
advance(Milliseconds) -> counters:add(persistent_term:get(?MODULE), 1, Milliseconds).

transmit(_Path, {opened, _, _}) ->
    ok;
transmit(_Path, Message) ->
    self() ! {transmitted, Message},
    ok.

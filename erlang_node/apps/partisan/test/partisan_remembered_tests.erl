%%% @doc State kept by node name is bounded, however many names come and go.
-module(partisan_remembered_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NAMES, 30000).

broadcasts_test() ->
    Received = lists:foldl(
        fun(N, R) -> partisan_received:add({name(N), 1, 1}, R) end,
        partisan_received:new(),
        lists:seq(1, ?NAMES)
    ),
    ?assert(erts_debug:flat_size(Received) < 30 * 8192),
    ?assert(partisan_received:contains({name(?NAMES), 1, 1}, Received)),
    ?assert(partisan_received:contains({name(?NAMES - 4000), 1, 1}, Received)).

a_rewritten_entry_is_kept_test() ->
    Recent = lists:foldl(
        fun(N, R) -> partisan_recent:store(N, N, partisan_recent:store(first, N, R)) end,
        partisan_recent:new(100),
        lists:seq(1, 10000)
    ),
    ?assertEqual({ok, 10000}, partisan_recent:find(first, Recent)),
    ?assertEqual({ok, 9960}, partisan_recent:find(9960, Recent)),
    ?assertEqual(error, partisan_recent:find(9000, Recent)),
    ?assert(partisan_recent:size(Recent) =< 100).

%% Nodes come, subscribe, unsubscribe and go. All others keep the same state of them.
topics_test() ->
    Entries = [{name(N), {{N, 1}, []}} || N <- lists:seq(1, ?NAMES div 20)],
    [One, Other] = [
        lists:foldl(
            fun(Heard, T0) ->
                {T, _} = partisan_topics:message(<<"b">>, {entries, maps:from_list([Heard])}, T0),
                T
            end,
            subscribed(Name),
            Order
        )
     || {Name, Order} <- [{<<"x">>, Entries}, {<<"y">>, lists:reverse(Entries)}]
    ],
    ?assertEqual([<<"x">>], partisan_topics:subscribers(news, One)),
    {_, [{send, <<"z">>, {entries, Kept}}]} = partisan_topics:neighbour_up(<<"z">>, One),
    {_, [{send, <<"z">>, {entries, KeptToo}}]} = partisan_topics:neighbour_up(<<"z">>, Other),
    ?assert(map_size(Kept) < 1100),
    ?assertEqual(maps:remove(<<"x">>, Kept), maps:remove(<<"y">>, KeptToo)),
    % Dropped entries are not news.
    Dropped = {entries, maps:from_list([hd(Entries)])},
    {Linked, _} = partisan_topics:neighbour_up(<<"z">>, One),
    ?assertEqual({Linked, []}, partisan_topics:message(<<"b">>, Dropped, Linked)).

causal_orders_test() ->
    Labels = lists:foldl(
        fun(N, L0) ->
            {Stamp, _} = partisan_causal:send({<<"self">>, 1}, partisan_causal:new({name(N), 1})),
            {[hello], L} = partisan_labels:take({label, N}, {name(N), 1}, Stamp, hello, L0),
            L
        end,
        partisan_labels:new({<<"self">>, 1}),
        lists:seq(1, 100)
    ),
    ?assertEqual(100, partisan_labels:size(Labels)),
    Forgotten = lists:foldl(
        fun(N, L0) ->
            {[], L} = partisan_labels:forget({name(N), 1}, L0),
            L
        end,
        Labels,
        lists:seq(1, 100)
    ),
    ?assertEqual(0, partisan_labels:size(Forgotten)).

%% Helpers.

name(N) -> <<"node-", (integer_to_binary(N))/binary>>.

subscribed(Name) ->
    {T, []} = partisan_topics:subscribe(news, partisan_topics:new(Name, 1)),
    T.

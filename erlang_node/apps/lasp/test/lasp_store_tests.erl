%%% @doc The store's process: nothing that a caller passes ends it, and what it holds.
-module(lasp_store_tests).

-include_lib("eunit/include/eunit.hrl").

-define(S, lasp_store).

calls_test_() ->
    {foreach, fun start/0, fun gen_server:stop/1, [
        {"a reader's exception is raised in the reader", fun readers_exceptions/0},
        {"what is no value is refused", fun no_values/0},
        {"values are merged", fun values/0},
        {"each handover is answered", fun handovers/0},
        {"messages of any form leave it as it is", fun messages/0}
    ]}.

readers_exceptions() ->
    ?assertError(no_luck, ?S:read(fun(_) -> error(no_luck) end)),
    ?assertExit(no_luck, ?S:read(fun(_) -> exit(no_luck) end)),
    ?assertThrow(no_luck, ?S:read(fun(_) -> throw(no_luck) end)),
    ?assertError({badfun, none}, ?S:read(none)),
    ?assertError({badarity, _}, ?S:read(fun() -> none end)),
    ?assertEqual(3, counted()).

%% The last ones would be merged, and end the store or be refused by others when it is encoded.
no_values() ->
    [
        begin
            ?assertError({invalid_value, _}, ?S:update(Bad)),
            ?assertError({invalid_value, _}, ?S:restore(Bad))
        end
     || Bad <- [
            none,
            7,
            [],
            fun() -> lasp_gcounter:new() end,
            #{actor => 1},
            #{<<"b">> => 0},
            #{<<"b">> => -1},
            #{<<"b">> => many},
            #{<<"b">> => 1.5},
            #{<<"b">> => 1 bsl 200}
        ]
    ],
    ?assertError(
        {invalid_value, "{far,away} is no value of lasp_gcounter; give" ++ _},
        ?S:update({far, away})
    ),
    ?assertEqual(3, counted()).

values() ->
    ok = ?S:update(lasp_gcounter:new()),
    ok = ?S:update(lasp_gcounter:entry(<<"a">>, 4)),
    ok = ?S:restore(lasp_gcounter:entry(<<"b">>, 2)),
    ?assertEqual(6, counted()).

handovers() ->
    ?assertEqual({ok, []}, ?S:handover(1000)),
    ok = ?S:update(lasp_gcounter:entry(<<"a">>, 4)),
    ?assertEqual({ok, []}, ?S:handover(1000)).

%% Other nodes may send to it.
messages() ->
    [
        ?S ! Message
     || Message <- [
            none,
            {partisan, none},
            {partisan, {neighbour_up, none}},
            {partisan, {neighbour_down, none}},
            {'DOWN', make_ref(), process, none, none},
            {timeout, make_ref(), none},
            {lasp_sync, none, none},
            {lasp_sync, <<"b">>, none},
            {lasp_sync, <<"b">>, {state, <<"run">>, none}}
        ] ++ [
            {lasp_sync, <<"b">>, {Kind, Scope, Payload}}
         || Kind <- [state, delta, handover, handed_over, digest, question, tree, none],
            Scope <- [<<"run">>, <<"other">>],
            Payload <- [<<>>, <<1>>, binary:copy(<<255>>, 32)],
            % An empty state is one: it would be answered, which takes the runtime.
            {Kind, Payload} =/= {handover, <<>>}
        ]
    ],
    ?assertEqual(3, counted()).

%% Without the runtime, and so without neighbours.
start() ->
    ok = partisan_metrics:init(),
    {ok, Store} = ?S:start_link(#{
        protocol => lasp_sync_delta,
        channel => default,
        sync => #{
            name => <<"a">>,
            incarnation => 1,
            type => lasp_gcounter,
            scope => <<"run">>,
            interval => 10,
            seed => {1, 2, 3}
        }
    }),
    % Its end is to fail a test, and not the process that runs them.
    true = unlink(Store),
    ok = ?S:update(lasp_gcounter:entry(<<"a">>, 3)),
    Store.

counted() ->
    ?S:read(fun lasp_gcounter:value/1).

%%% @doc A workload's state that no node could start from is refused when it is taken.
-module(node_backup_take_tests).

-include_lib("eunit/include/eunit.hrl").

%% The callback of the workload.
-export([backup/0]).

refused_test_() ->
    [
        {Problem, fun() ->
            {error, Text} = take(Entries),
            ?assertMatch({Problem, {match, _}}, {Problem, re:run(Text, Problem)})
        end}
     || {Problem, Entries} <- [
            {"backup/0 of node_backup_take_tests returns is no map", none},
            {"is no map", [{<<"a">>, 1}]},
            {"is no map", #{"a" => 1}},
            {"is no map", #{<<"a">> => 1.5}},
            {"no count follows two", #{<<"two words">> => 1}},
            {"no count follows a", #{<<"a">> => 0}},
            {"bytes that are no text", #{<<"a", 200>> => 1}},
            {"more than 1 MiB", maps:from_list([{integer_to_binary(N), N} || N <- numbers()])}
        ]
    ].

numbers() ->
    lists:seq(10_000_000_000, 10_000_060_000).

taken_test() ->
    {ok, Bytes} = take(#{<<"a">> => 1}),
    ?assertMatch({ok, #{entries := #{<<"a">> := 1}}}, workload_backup:decode(Bytes)).

take(Entries) ->
    _ = put(?MODULE, Entries),
    node_backup:take(#{
        cluster => <<"homes">>,
        namespace => <<"default">>,
        workload => {?MODULE, #{parameters => #{}}}
    }).

backup() -> get(?MODULE).

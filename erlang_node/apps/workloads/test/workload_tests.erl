%%% @doc Workloads of users whose callbacks return something else: the error names callback and fix.
-module(workload_tests).

-include_lib("eunit/include/eunit.hrl").

%% The callbacks of such a workload.
-export([parameters/0, restorable/2]).

parameters_test_() ->
    [
        {Words, fun() ->
            _ = put(parameters, Returned),
            {error, Text} = workload:parameters(?MODULE, #{size => 1}),
            ?assertMatch({match, _}, re:run(Text, Words))
        end}
     || {Returned, Words} <- [
            {none, "parameters/0 of workload_tests must return a map .*, not none"},
            {[{size, positive_integer}], "must return a map"},
            {#{size => integer}, "size of workload_tests must be declared with .*, not integer"},
            {#{size => {one_of, [small, large]}}, "size .* not {one_of,\\[small,large\\]}"}
        ]
    ].

restorable_test_() ->
    [
        {Words, fun() ->
            _ = put(restorable, Returned),
            {error, Text} = workload:restorable(?MODULE, #{}, backup()),
            ?assertMatch({match, _}, re:run(Text, Words))
        end}
     || {Returned, Words} <- [
            {{error, "is of a larger house"}, "^is of a larger house$"},
            {true, "restorable/2 of workload_tests must return ok or {error, Text}, not true"}
        ]
    ] ++
        [fun() ->
            _ = put(restorable, ok),
            ?assertEqual(ok, workload:restorable(?MODULE, #{}, backup()))
        end].

parameters() -> get(parameters).

restorable(_Entries, _Parameters) -> get(restorable).

backup() ->
    #{
        cluster => <<"homes">>,
        namespace => <<"default">>,
        workload => atom_to_binary(?MODULE),
        taken => 0,
        parameters => #{},
        entries => #{}
    }.

%%% Arguments of a wrong type, of `partisan_erpc' and `partisan_rpc'.
-module(partisan_arguments_tests).

-include_lib("eunit/include/eunit.hrl").

%% Nothing is sent: the runtime is not started.
invalid_test_() ->
    Node = <<"a">>,
    Sum = [lists, sum, [[1]]],
    Late = erlang:monotonic_time(millisecond) + 16#200000000,
    Times = [never, -1, 1.0, 16#100000000, {abs, Late}, {abs, soon}],
    Request = {lists, {self(), make_ref()}},
    None = partisan_erpc:reqids_new(),
    Works = [["lists", sum, []], [lists, "sum", []], [lists, sum, none], [fun(X) -> X end]],
    Erpc =
        [{call, [Node | Sum] ++ [Time]} || Time <- Times] ++
            [{multicall, [[] | Sum] ++ [Time]} || Time <- Times] ++
            [{Wait, [Request, Time]} || Wait <- [receive_response, wait_response], Time <- Times] ++
            [{Wait, [None, T, true]} || Wait <- [receive_response, wait_response], T <- Times] ++
            [{Function, [42 | Sum]} || Function <- [call, cast, send_request]] ++
            [
                {Function, [Nodes | Sum]}
             || Function <- [multicall, multicast], Nodes <- [Node, [Node | Node], [Node, 42]]
            ] ++
            [{Function, [Node | W]} || Function <- [call, cast, send_request], W <- Works] ++
            [
                {send_request, [Node, fun() -> ok end, label, none]},
                {send_request, [Node | Sum] ++ [label, none]},
                {receive_response, [none]},
                {receive_response, [none, 0, true]},
                {receive_response, [None, 0, none]},
                {wait_response, [none]},
                {check_response, [message, none]},
                {check_response, [message, none, true]},
                {check_response, [message, None, none]},
                {reqids_size, [none]},
                {reqids_to_list, [none]},
                {reqids_add, [none, label, None]},
                {reqids_add, [Request, label, none]}
            ],
    Rpc =
        [{call, [Node | Sum] ++ [Time]} || Time <- Times] ++
            [{multicall, [[Node] | Sum] ++ [Time]} || Time <- Times] ++
            [{Function, [42 | Sum]} || Function <- [call, block_call, cast, async_call]] ++
            [{Function, [[42] | Sum]} || Function <- [multicall, eval_everywhere]],
    [
        {lists:flatten(io_lib:format("~p:~p ~0p", [Module, Function, Arguments])),
            ?_assertError(Reason, apply(Module, Function, Arguments))}
     || {Module, Reason, Calls} <- [
            {partisan_erpc, {erpc, badarg}, Erpc}, {partisan_rpc, badarg, Rpc}
        ],
        {Function, Arguments} <- Calls
    ].

milliseconds_test() ->
    Now = erlang:monotonic_time(millisecond),
    [
        ?assertEqual(Milliseconds, partisan_arguments:milliseconds(Time, invalid))
     || {Time, Milliseconds} <- [
            {infinity, infinity}, {0, 0}, {16#FFFFFFFF, 16#FFFFFFFF}, {{abs, Now - 1}, 0}
        ]
    ].

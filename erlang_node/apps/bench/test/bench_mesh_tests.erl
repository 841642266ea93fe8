-module(bench_mesh_tests).

-include_lib("eunit/include/eunit.hrl").

%% As a node of ours answers, so that one program reads both.
answer_test() ->
    Otp = erlang:system_info(otp_release),
    Wanted = "{\"node\":\"nonode\",\"joined\":true,\"active\":[],\"otp\":\"" ++ Otp ++ "\"}",
    ?assertEqual(Wanted, binary_to_list(iolist_to_binary(bench_mesh:answer()))).

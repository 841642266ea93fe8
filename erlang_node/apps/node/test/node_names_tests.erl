-module(node_names_tests).

-include_lib("eunit/include/eunit.hrl").

members_test() ->
    Names = node_names:members(<<"ads">>, 502),
    ?assertEqual(502, length(lists:usort(Names))),
    ?assertEqual(
        [<<"ads-0">>, <<"ads-249">>, <<"ads-s1-250">>, <<"ads-s1-499">>, <<"ads-s2-501">>],
        [lists:nth(I + 1, Names) || I <- [0, 249, 250, 499, 501]]
    ).

hosts_test() ->
    ?assertEqual("ads-0.ads", node_names:host(<<"ads-0">>)),
    ?assertEqual("my-ads-s1-250.my-ads-s1", node_names:host(<<"my-ads-s1-250">>)).

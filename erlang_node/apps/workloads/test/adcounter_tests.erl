%%% @doc The ad counter's calls: arguments of a wrong type fail in the caller.
-module(adcounter_tests).

-include_lib("eunit/include/eunit.hrl").

%% There is no process: what is sent to it exits with noproc.
members_are_names_test_() ->
    [
        ?_assertError({bad_members, Bad}, adcounter:members(Bad))
     || Bad <- [none, <<"ads-0">>, [ads], [<<"ads-0">> | <<"ads-1">>]]
    ] ++ [?_assertExit({noproc, _}, adcounter:members([<<"ads-0">>]))].

%%% @doc Equations of the window, against a plain set of the numbers seen.
-module(partisan_window_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

empty_test() ->
    ?assertNot(partisan_window:seen(1, partisan_window:new())).

bounded_test() ->
    % Every second number missing for ever: the state stays small, and new numbers stay new.
    Window = lists:foldl(fun partisan_window:add/2, partisan_window:new(), lists:seq(2, 100000, 2)),
    ?assert(erts_debug:flat_size(Window) < 4096),
    ?assert(partisan_window:seen(100000, Window)),
    ?assertNot(partisan_window:seen(100001, Window)).

as_a_set_test_() ->
    Options = [{numtests, 300}, {to_file, user}],
    {timeout, 600, ?_assert(proper:quickcheck(prop_as_a_set(), Options))}.

prop_as_a_set() ->
    ?FORALL(
        {Added, Asked},
        {list(integer(1, 60)), integer(1, 60)},
        begin
            Window = lists:foldl(fun partisan_window:add/2, partisan_window:new(), Added),
            partisan_window:seen(Asked, Window) =:= lists:member(Asked, Added)
        end
    ).

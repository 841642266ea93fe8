%%% @doc Monitors that others hold here: losses are repaired, ended ones are forgotten.
-module(partisan_held_tests).

-include_lib("eunit/include/eunit.hrl").

-define(NODE, <<"a">>).

with_server_test_() ->
    {foreach, fun start/0,
        fun(Pid) -> try gen_server:stop(Pid) catch exit:_ -> ok end end, [
            fun(_) -> {"adding is idempotent", fun twice/0} end,
            fun(_) -> {"the full list replaces what was known", fun replaced/0} end,
            fun(_) -> {"a new incarnation starts with nothing", fun later_incarnation/0} end,
            fun(Pid) -> {"an end is reported once", fun() -> ends(Pid) end} end
        ]}.

start() ->
    ok = partisan_config:set(#{
        name => <<"b">>, cluster => <<"test">>, token => partisan_test_cluster:token(),
        host => {127, 0, 0, 1}, overlay => {full_mesh, #{}}, seeds => []
    }),
    ok = partisan_reach:init(),
    {ok, Pid} = partisan_test_server:start(held_server),
    Pid.

add(Id, Incarnation, Held0) ->
    {ok, Held} = partisan_held:add(?NODE, Incarnation, Id, held_server, Held0),
    Held.

twice() ->
    Held = add(1, 1, partisan_held:new()),
    ?assertEqual(Held, add(1, 1, Held)),
    Empty = partisan_held:remove(?NODE, 1, 1, Held),
    ?assertEqual(partisan_held:new(), Empty),
    ?assertEqual(Empty, partisan_held:remove(?NODE, 1, 1, Empty)).

replaced() ->
    Held = add(2, 1, add(1, 1, partisan_held:new())),
    Wanted = #{2 => held_server, 3 => held_server},
    {[], Replaced} = partisan_held:replace(?NODE, 1, Wanted, Held),
    ?assertEqual(2, partisan_held:size(Replaced)),
    ?assertEqual(partisan_held:digest([3, 2]), partisan_held:digest(?NODE, 1, Replaced)),
    ?assertEqual(0, partisan_held:digest(?NODE, 2, Replaced)),
    ?assertEqual({[], partisan_held:new()}, partisan_held:replace(?NODE, 1, #{}, Replaced)).

later_incarnation() ->
    Later = add(1, 2, add(1, 1, add(2, 1, partisan_held:new()))),
    ?assertEqual(1, partisan_held:size(Later)),
    % Late messages of the previous incarnation change nothing.
    ?assertEqual(Later, add(3, 1, Later)),
    ?assertEqual({[], Later}, partisan_held:replace(?NODE, 1, #{7 => held_server}, Later)),
    ?assertEqual(partisan_held:new(), partisan_held:forget(?NODE, Later)).

ends(Pid) ->
    Held = add(1, 1, partisan_held:new()),
    ok = gen_server:stop(Pid),
    Monitor = receive {'DOWN', M, process, _, normal} -> M end,
    ?assertEqual({{?NODE, 1}, partisan_held:new()}, partisan_held:down(Monitor, Held)),
    ?assertEqual(error, partisan_held:down(Monitor, partisan_held:new())),
    % No process of that name: it ends at once.
    _ = add(2, 1, partisan_held:new()),
    ?assertEqual(noproc, receive {'DOWN', _, process, _, Reason} -> Reason end).

#!/usr/bin/env escript
%% Forms each overlay in virtual time and writes its graph, for the drawings of
%% docs/explanation/overlays.md. Needs `rebar3 compile' to have run. The lines:
%%
%%     KIND node INDEX X Y     its place on the plane that latencies follow, from 0 to 1
%%     KIND link FROM TO       TO is in the view of FROM

-mode(compile).

-define(SEED, 4).
-define(SEEDS, 3).
-define(GAP_MS, 200).
-define(SETTLED_MS, 60000).

main([]) ->
    Build = filename:join([filename:dirname(escript:script_name()), "..", "_build"]),
    Library = filename:join([os:getenv("REBAR_BASE_DIR", Build), "default", "lib"]),
    Found = [
        code:add_patha(filename:join([Library, Application, "ebin"]))
     || Application <- ["partisan", "simulator"]
    ],
    case lists:usort(Found) of
        [true] ->
            lists:foreach(fun draw/1, overlays());
        _ ->
            io:format(standard_error, "run `rebar3 compile' in erlang_node~n", []),
            halt(1)
    end.

overlays() ->
    Two = [<<"n1">>, <<"n2">>],
    [
        {full_mesh, 10, #{}},
        {client_server, 16, #{servers => Two}},
        {publish_subscribe, 14, #{brokers => Two}},
        {hyparview, 40, #{}},
        {xbot, 40, #{}},
        {cyclon, 20, #{view_size => 3, shuffle_size => 2}},
        {scamp_v1, 20, #{redundancy => 0}},
        {scamp_v2, 20, #{redundancy => 0}},
        {hiscamp, 24, fun(Index) ->
            #{level => Index rem 3, redundancy => 0, representatives => 1}
        end}
    ].

draw({Kind, Size, Parameters}) ->
    Options = #{
        seed => ?SEED,
        seeds => ?SEEDS,
        overlay => {Kind, Parameters},
        latency => {plane, 1, 50}
    },
    Start = fun(Index, Sim) -> simulator:run(?GAP_MS, simulator:start(Index, Sim)) end,
    Sim = lists:foldl(Start, simulator:new(Options), lists:seq(1, Size)),
    Links = simulator:links(simulator:run(?SETTLED_MS, Sim)),
    [write_node(Kind, Index) || Index <- lists:sort(maps:keys(Links))],
    [
        io:format("~s link ~b ~b~n", [Kind, From, To])
     || {From, View} <- lists:sort(maps:to_list(Links)), To <- lists:sort(View)
    ].

write_node(Kind, Index) ->
    {X, Y} = simulator_network:position(Index, ?SEED),
    io:format("~s node ~b ~.4f ~.4f~n", [Kind, Index, X, Y]).

%%% @doc Backups of whole nodes, and those that a node refuses to start from.
-module(node_backup_tests).

-include_lib("eunit/include/eunit.hrl").

-define(T, node_test_cluster).

%% All nodes, and all that they kept, are gone; the others count on from the backup.
restore_test_() ->
    {timeout, 600, fun() ->
        Long = #{workload => ?T:workload(#{impressions => 1000000})},
        Backup = with(?T:new(2, Long), fun(Cluster) ->
            {202, _, _} = ?T:post(0, "/workload/start", ?T:authorized("r1", Cluster), Cluster),
            ok = ?T:await(fun() -> maps:get(<<"value">>, ?T:reported(1, Cluster)) > 40 end),
            {200, Headers, Body} = ?T:get(0, "/backup", Cluster),
            ?assertEqual("text/plain; charset=utf-8", proplists:get_value("content-type", Headers)),
            Body
        end),
        {ok, #{entries := Entries, workload := <<"adcounter">>}} = workload_backup:decode(Backup),
        Counted = lists:sum(maps:values(Entries)),
        ?assert(Counted > 0),
        with(?T:new(2, Long#{restore => Backup}), fun(Cluster) ->
            ?assertMatch(#{<<"value">> := Counted, <<"phase">> := <<"waiting">>},
                ?T:reported(0, Cluster)),
            {202, _, _} = ?T:post(0, "/workload/start", ?T:authorized("r1", Cluster), Cluster),
            ok = ?T:await(fun() -> maps:get(<<"value">>, ?T:reported(1, Cluster)) > Counted end),
            {200, _, Later} = ?T:get(1, "/backup", Cluster),
            {ok, #{entries := Now}} = workload_backup:decode(Later),
            % Each old entry as it was, and those of new actors.
            ?assertEqual(Entries, maps:with(maps:keys(Entries), Now)),
            Actors = [maps:get(<<"actor">>, ?T:reported(I, Cluster)) || I <- ?T:names(Cluster)],
            New = maps:keys(maps:without(maps:keys(Entries), Now)),
            ?assertEqual([], [Key || Key <- New, not lists:any(starts(Key), Actors)])
        end)
    end}.

starts(Key) ->
    fun(Actor) -> string:prefix(Key, <<Actor/binary, "/">>) =/= nomatch end.

nothing_to_back_up_test_() ->
    {timeout, 600, fun() ->
        with(?T:new(1, #{workload => none, run => <<>>}), fun(Cluster) ->
            ?assertMatch({409, _, <<"this node has no workload\n">>},
                ?T:get(0, "/backup", Cluster)),
            ?assertMatch({405, _, _}, ?T:post(0, "/backup", {[], ""}, Cluster))
        end)
    end}.

refused_test_() ->
    Good = workload_backup:encode(backup()),
    [
        {Problem, ?_assertMatch({Problem, {match, _}}, {Problem, re:run(refusal(Bytes), Problem)})}
     || {Problem, Bytes} <- [
            {"is empty", <<>>},
            {"is truncated", binary:part(Good, 0, byte_size(Good) - 9)},
            {"is corrupt", binary:replace(Good, <<" 20\n">>, <<" 29\n">>)},
            {"is of the cluster other", encoded(#{cluster => <<"other">>})},
            {"is of the workload rumours", encoded(#{workload => <<"rumours">>})},
            {"with ads 9, and spec.workload has 2: set it",
                encoded(#{parameters => #{<<"ads">> => <<"9">>}})},
            {"with colour red, and spec.workload has none",
                encoded(#{parameters => #{<<"colour">> => <<"red">>}})},
            {"not of an ad counter with 2 ads", encoded(#{entries => #{<<"test-0/7/2">> => 1}})},
            {"has more than 1 MiB", binary:copy(<<"a">>, 2000000)},
            {"cannot be read", none}
        ]
    ].

accepted_test() ->
    ?assertMatch({ok, #{workload := {adcounter, #{restored := _}}}, []}, load(encoded(#{}))).

needs_a_workload_test() ->
    Text = refusal(encoded(#{}), #{workload => none, run => <<>>}),
    ?assertMatch({match, _}, re:run(Text, "has no use without a workload")).

%% Helpers.

backup() ->
    #{
        cluster => <<"test">>,
        namespace => <<"default">>,
        workload => <<"adcounter">>,
        taken => 1795286190,
        parameters => #{<<"ads">> => <<"2">>, <<"impressions">> => <<"60">>},
        entries => #{<<"test-0/1795286121555265/0">> => 20, <<"test-0/1795286121555265/1">> => 3}
    }.

encoded(Changes) ->
    workload_backup:encode(maps:merge(backup(), Changes)).

refusal(Bytes) ->
    refusal(Bytes, #{}).

%% One line that names the field, the problem and the fix.
refusal(Bytes, Changes) ->
    {error, Text} = load(Bytes, Changes),
    ?assertMatch({match, _}, re:run(Text, "^restore: .*kubectl partisan restore[^\\n]*$")),
    Text.

load(Bytes) ->
    load(Bytes, #{}).

load(Bytes, Changes) ->
    #{directory := Dir} = Cluster = ?T:new(1, Changes),
    File = filename:join(Dir, "backup"),
    _ = Bytes =/= none andalso file:write_file(File, Bytes),
    Variables = #{
        "POD_NAME" => "test-0",
        "POD_IP" => "127.0.0.1",
        "PARTISAN_CONFIG" => filename:join(Dir, "node.config"),
        "PARTISAN_TOKEN_FILE" => filename:join(Dir, "token"),
        "PARTISAN_RESTORE_FILE" => File
    },
    try
        node_config:load(fun(Name) -> maps:get(Name, Variables, false) end)
    after
        ?T:stop(Cluster)
    end.

%% With all of its nodes.
with(New, Fun) ->
    Cluster = lists:foldl(fun ?T:start/2, New, ?T:names(New)),
    try
        Fun(Cluster)
    after
        ?T:stop(Cluster)
    end.

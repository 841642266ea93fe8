-module(adcounter_journal_tests).

-include_lib("eunit/include/eunit.hrl").

-define(RECORD(Counts), #{run => <<"r">>, name => <<"a">>, incarnation => 1, counts => Counts}).
-define(RECORD, ?RECORD(#{0 => 3})).

journal_test_() ->
    {foreach, fun partisan_test_directory:new/0, fun file:del_dir_r/1, [
        fun(Dir) -> {"an empty directory holds none", ?_assertEqual(none, load(Dir))} end,
        fun(Dir) -> {"the last record saved is loaded", fun() -> saved(Dir) end} end,
        fun(Dir) -> {"a damaged file counts as none", fun() -> damaged(Dir) end} end,
        fun(Dir) -> {"another term counts as none", fun() -> foreign(Dir) end} end,
        fun(Dir) -> {"an interrupted write leaves the old record", fun() -> torn(Dir) end} end,
        fun(Dir) -> {"a failed write is an error", fun() -> unwritable(Dir) end} end
    ]}.

saved(Dir) ->
    ok = adcounter_journal:save(Dir, ?RECORD(#{})),
    ok = adcounter_journal:save(Dir, ?RECORD),
    ?assertEqual(?RECORD, load(Dir)).

damaged(Dir) ->
    ok = adcounter_journal:save(Dir, ?RECORD),
    [File] = filelib:wildcard(filename:join(Dir, "*")),
    {ok, Bytes} = file:read_file(File),
    [
        begin
            ok = file:write_file(File, Damaged),
            ?assertEqual(none, load(Dir))
        end
     || Damaged <- [<<>>, binary:part(Bytes, 0, byte_size(Bytes) - 1), <<Bytes/binary, 0>>]
    ].

foreign(Dir) ->
    ok = adcounter_journal:save(Dir, ?RECORD),
    [File] = filelib:wildcard(filename:join(Dir, "*")),
    [
        begin
            ok = partisan_record:save(File, Term),
            ?assertEqual(none, load(Dir))
        end
     || Term <- [none, #{}, maps:remove(incarnation, ?RECORD), ?RECORD([{0, 3}])]
    ].

torn(Dir) ->
    ok = adcounter_journal:save(Dir, ?RECORD),
    [File] = filelib:wildcard(filename:join(Dir, "*")),
    ok = file:write_file(File ++ ".new", <<"half">>),
    ?assertEqual(?RECORD, load(Dir)).

unwritable(Dir) ->
    ?assertEqual({error, enoent}, adcounter_journal:save(filename:join(Dir, "no"), ?RECORD)).

load(Dir) ->
    adcounter_journal:load(Dir).

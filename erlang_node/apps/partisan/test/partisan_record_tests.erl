-module(partisan_record_tests).

-include_lib("eunit/include/eunit.hrl").

record_test_() ->
    {foreach, fun partisan_test_directory:new/0, fun remove/1, [
        fun(Dir) -> {"in memory nothing is flushed", fun() -> in_memory(Dir) end} end,
        fun(Dir) -> {"on a disk file and rename are flushed", fun() -> on_disk(Dir) end} end,
        fun(Dir) -> {"on a disk a failed write is an error", fun() -> unwritable(Dir) end} end
    ]}.

in_memory(Dir) ->
    ?assertEqual({[], 0}, flushed(file(Dir))),
    ?assertEqual({ok, term}, partisan_record:load(file(Dir))).

on_disk(Dir) ->
    ok = partisan_record:use_disk(),
    % Before it replaces the previous one, and after.
    ?assertEqual({[file(Dir) ++ ".new", Dir], 2}, flushed(file(Dir))),
    ?assertEqual({ok, term}, partisan_record:load(file(Dir))),
    ?assertEqual({ok, ["a.record"]}, file:list_dir(Dir)).

unwritable(Dir) ->
    ok = partisan_record:use_disk(),
    ?assertEqual({error, enoent}, partisan_record:save(file(filename:join(Dir, "no")), term)).

%% The paths that a save opens itself, in order, and how often it flushes.
flushed(File) ->
    Calls = [{file, open, 2}, {file, sync, 1}],
    [1 = erlang:trace_pattern(Call, true, []) || Call <- Calls],
    Saver = spawn_link(fun() ->
        receive
            go -> ok = partisan_record:save(File, term)
        end
    end),
    1 = erlang:trace(Saver, true, [call]),
    Ref = monitor(process, Saver),
    Saver ! go,
    receive
        {'DOWN', Ref, process, Saver, Reason} -> normal = Reason
    end,
    Delivered = erlang:trace_delivered(Saver),
    receive
        {trace_delivered, Saver, Delivered} -> ok
    end,
    [1 = erlang:trace_pattern(Call, false, []) || Call <- Calls],
    Traced = traced(Saver),
    {[Path || {file, open, [Path, _]} <- Traced], length([1 || {file, sync, _} <- Traced])}.

traced(Pid) ->
    receive
        {trace, Pid, call, Call} -> [Call | traced(Pid)]
    after 0 -> []
    end.

file(Dir) ->
    filename:join(Dir, "a.record").

remove(Dir) ->
    _ = persistent_term:erase({partisan_record, on_disk}),
    file:del_dir_r(Dir).

%%% @doc Modules that exist for one test: their source is compiled into a directory of their own on
%%% the code path.
-module(verify_test_source).

-export([new/0, remove/1, compile/3, compile/4, path/1]).

new() ->
    Dir = partisan_test_directory:new(),
    true = code:add_patha(Dir),
    Dir.

remove(Dir) ->
    [
        begin
            Module = list_to_atom(filename:basename(Beam, ".beam")),
            _ = code:purge(Module),
            _ = code:delete(Module)
        end
     || Beam <- filelib:wildcard(filename:join(Dir, "*.beam"))
    ],
    true = code:del_path(Dir),
    ok = file:del_dir_r(Dir).

%% The lines after the attribute `module'.
compile(Dir, Module, Lines) ->
    compile(Dir, Module, Lines, [debug_info]).

compile(Dir, Module, Lines, Options) ->
    File = filename:join(Dir, atom_to_list(Module) ++ ".erl"),
    Header = io_lib:format("-module(~tw).", [Module]),
    ok = file:write_file(File, lists:join($\n, [Header | Lines] ++ [""])),
    {ok, Module} = compile:file(File, [{outdir, Dir}, return_errors, nowarn_unused_function |
        Options]),
    _ = code:purge(Module),
    {module, Module} = code:load_file(Module),
    Module.

%% A file of this repository, below its root.
path(Names) ->
    Root = lists:foldl(
        fun(_, Path) -> filename:dirname(Path) end, filename:absname(?FILE), lists:seq(1, 5)
    ),
    filename:join([Root | Names]).

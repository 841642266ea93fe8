%%% @doc Code of a user: a source file, which is compiled, or a directory of byte code.
-module(verify_source).

-export([compile/1]).
-export([add/1]).
-export([clean/0]).

%% @doc Compiles a file with its debug information and loads it. An error has the file, the line and
%% the compiler's message.
-spec compile(file:filename()) -> {ok, module()} | {error, iodata()}.
compile(File) ->
    Directory = temporary(),
    case filelib:ensure_dir(filename:join(Directory, "x")) of
        ok -> compile(File, Directory);
        {error, Reason} -> {error, ["TMPDIR: ", Directory, ": ", file:format_error(Reason)]}
    end.

%% @doc Adds a directory with byte code to the code path, or compiles a file.
-spec add(file:filename()) -> {ok, file:filename() | module()} | {error, iodata()}.
add(Place) ->
    case {filename:extension(Place), code:add_patha(Place)} of
        {".erl", _} -> compile(Place);
        {_, true} -> {ok, Place};
        {_, {error, bad_directory}} -> {error, ["code=", Place, ": no such directory"]}
    end.

%% @doc Removes the byte code of the files that this emulator has compiled.
-spec clean() -> ok.
clean() ->
    _ = file:del_dir_r(temporary()),
    ok.

%% Internals.

compile(File, Directory) ->
    case compile:file(File, [debug_info, return, {outdir, Directory}]) of
        {ok, Module, _Warnings} ->
            % Byte code is read from the path later, for its debug information.
            true = code:add_patha(Directory),
            _ = code:purge(Module),
            {module, Module} = code:load_file(Module),
            {ok, Module};
        {error, Errors, _Warnings} ->
            Described = [described(Name, Error) || {Name, Found} <- Errors, Error <- Found],
            {error, lists:join($\n, Described)}
    end.

%% One for each emulator.
temporary() ->
    Base = os:getenv("TMPDIR", "/tmp"),
    filename:join(Base, "partisan_verify-" ++ os:getpid()).

described(File, {none, Module, Description}) ->
    [File, ": ", Module:format_error(Description)];
described(File, {{Line, _Column}, Module, Description}) ->
    described(File, {Line, Module, Description});
described(File, {Line, Module, Description}) ->
    [File, $:, integer_to_list(Line), ": ", Module:format_error(Description)].

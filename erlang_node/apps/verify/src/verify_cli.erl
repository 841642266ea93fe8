%%% @doc The common part of the commands of `partisan_verify': arguments, code, output.
-module(verify_cli).

-export([parsed/2]).
-export([module/2]).
-export([code_added/1]).
-export([loaded/1]).
-export([deadline/1]).
-export([has_directory/1]).
-export([written/2]).
-export([report/3]).
-export([progress/1]).
-export([refused/1]).

%% See verify_main.
-type status() :: 0..3.
-export_type([status/0]).

%% Milliseconds between two lines of progress.
-define(PROGRESS, 2000).

%% @doc The option `seconds' in milliseconds.
-spec deadline(#{seconds := pos_integer() | infinity, _ => _}) -> pos_integer() | infinity.
deadline(#{seconds := infinity}) -> infinity;
deadline(#{seconds := Seconds}) -> 1000 * Seconds.

%% @doc The names and options of a command.
-spec parsed([string()], #{atom() => verify_options:kind()}) -> {[string()], #{atom() => term()}}.
parsed(Arguments, Kinds) ->
    case verify_options:parse(Arguments, Kinds) of
        {ok, Names, Options} -> {Names, Options};
        {error, Text} -> refused(Text)
    end.

%% @doc The module of a name, or of a file, which is compiled.
-spec module(string(), #{code := string() | none, _ => _}) -> module().
module(Subject, Options) ->
    _ = code_added(Options),
    case filename:extension(Subject) of
        ".erl" -> loaded(verify_source:compile(Subject));
        _ -> list_to_atom(Subject)
    end.

%% @doc Adds the code of the option `code'.
-spec code_added(#{code := string() | none, _ => _}) -> term().
code_added(#{code := none}) -> ok;
code_added(#{code := Code}) -> loaded(verify_source:add(Code)).

%% @doc The value, or the end of the command.
-spec loaded({ok, Value} | {error, unicode:chardata()}) -> Value.
loaded({ok, Value}) -> Value;
loaded({error, Text}) -> refused(Text).

%% @doc Ends the command before a search whose result could not be written: there is no `out'.
-spec has_directory(#{out := file:filename(), _ => _}) -> true.
has_directory(#{out := Out}) ->
    filelib:is_dir(Out) orelse refused(["out=", Out, ": no such directory"]).

%% @doc Writes a counterexample into a directory and returns the file.
-spec written(file:filename(), verify_counterexample:t()) -> file:filename().
written(Out, Counterexample) ->
    loaded(verify_counterexample:write(Out, Counterexample)).

%% @doc Prints the result: as JSON, or by the function.
-spec report(#{json := boolean(), _ => _}, map(), fun(() -> term())) -> ok.
report(#{json := true}, Cell, _Show) ->
    Otp = list_to_binary(erlang:system_info(otp_release)),
    io:put_chars([node_json:encode(Cell#{otp => Otp}), $\n]);
report(#{json := false}, _Cell, Show) ->
    Show(),
    ok.

%% @doc Prints a line every other second, except with JSON.
-spec progress(#{json := boolean(), _ => _}) -> fun((map()) -> term()).
progress(#{json := true}) ->
    fun(_) -> ok end;
progress(#{json := false}) ->
    Due = atomics:new(1, []),
    ok = atomics:put(Due, 1, erlang:monotonic_time(millisecond) + ?PROGRESS),
    fun(#{executions := Executions, failing := Failing}) ->
        Now = erlang:monotonic_time(millisecond),
        case Now >= atomics:get(Due, 1) of
            true ->
                ok = atomics:put(Due, 1, Now + ?PROGRESS),
                io:format(standard_error, "~b executions, ~b failing~n", [Executions, Failing]);
            false ->
                ok
        end
    end.

%% @doc Ends the command with an error.
-spec refused(unicode:chardata()) -> no_return().
refused(Text) ->
    throw({refused, Text}).

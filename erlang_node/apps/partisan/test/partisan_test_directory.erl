%%% @doc Directories of tests, below one of the user's.
-module(partisan_test_directory).

-export([new/0]).

%% A new directory; the caller removes it.
new() ->
    Unique = integer_to_list(erlang:unique_integer([positive])),
    Directory = filename:join([
        filename:basedir(user_cache, "partisan-tests"), os:getpid() ++ "-" ++ Unique
    ]),
    ok = filelib:ensure_path(Directory),
    Directory.

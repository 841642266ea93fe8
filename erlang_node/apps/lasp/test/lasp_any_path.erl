%%% @doc A type's naming of parts: here every path is its own key.
-module(lasp_any_path).

-export([key/1]).
-export([path/1]).

key(Path) -> {ok, Path}.
path(Key) -> Key.

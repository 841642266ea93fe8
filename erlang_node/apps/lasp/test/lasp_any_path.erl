%%% @doc What of a type says how its parts are called: here a path is its own key, whatever it is.
-module(lasp_any_path).

-export([key/1]).
-export([path/1]).

key(Path) -> {ok, Path}.
path(Key) -> Key.

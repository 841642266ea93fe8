%%% A broadcast handler that does what it is sent: fails, ends its process, or never returns.
-module(partisan_test_broken).
-behaviour(partisan_broadcast_handler).

-export([broadcast_data/1, merge/2, is_stale/1, graft/1, exchange/1]).

broadcast_data(What) -> {What, What}.

merge(ok, _) -> true;
merge(fail, _) -> error(failed);
merge(kill, _) -> exit(self(), kill);
merge({wait, _}, _) -> receive after infinity -> true end.

is_stale(_) -> false.

graft(_) -> stale.

exchange(_) -> exit(self(), kill).

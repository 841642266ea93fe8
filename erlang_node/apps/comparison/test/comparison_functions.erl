%%% Functions that nodes of the comparison execute for others.
-module(comparison_functions).

-export([value/1, fail/1, leave/1, thrown/1, wait/0]).

value(Term) -> Term.

fail(Reason) -> error(Reason).

leave(Reason) -> exit(Reason).

thrown(Term) -> throw(Term).

wait() -> receive never -> ok end.

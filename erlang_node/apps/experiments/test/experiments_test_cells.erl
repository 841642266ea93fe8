%%% The output of a simulator experiment, for a test.
-module(experiments_test_cells).

-export([of_run/3]).

%% The cells of one experiment of a module, in order.
of_run(Module, Name, Options) ->
    Self = self(),
    ok = Module:run(Name, Options#{
        emit => fun(Cell) ->
            Self ! {cell, Cell},
            ok
        end,
        progress => fun(_) -> ok end
    }),
    received().

received() ->
    receive
        {cell, Cell} -> [Cell | received()]
    after 0 -> []
    end.

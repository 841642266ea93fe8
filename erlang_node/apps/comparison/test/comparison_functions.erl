%%% Functions that nodes of the comparison execute for others.
-module(comparison_functions).

-export([value/1, fail/1, leave/1, thrown/1, wait/0]).
-export([same/0]).
-export([started/2, child/1]).
-export([inform/2, inform/3, echo/0, trap/1, work/2]).

value(Term) -> Term.

fail(Reason) -> error(Reason).

leave(Reason) -> exit(Reason).

thrown(Term) -> throw(Term).

%% As a start function of a supervisor.
started(Function, Arguments) -> {ok, spawn_link(?MODULE, Function, Arguments)}.

%% Reports itself to a process, and ends as it is asked to.
child(Whom) ->
    ok = inform(Whom, {child, (comparison_run:system()):own()}),
    receive {stop, Reason} -> exit(Reason) end.

%% For the state of a process.
same() -> fun(State) -> State end.

wait() -> receive never -> ok end.

%% Sends a message over the system of this node.
inform(Whom, Message) ->
    _ = (comparison_run:system()):send(Whom, Message),
    ok.

inform(Whom, Message, wait) ->
    ok = inform(Whom, Message),
    wait().

%% Sends each message on to the process named in it.
echo() ->
    receive
        {Whom, Message} ->
            ok = inform(Whom, Message),
            echo()
    end.

%% Reports an exit signal.
trap(Whom) ->
    false = process_flag(trap_exit, true),
    ok = inform(Whom, ready),
    receive {'EXIT', _From, Reason} -> inform(Whom, {trapped, Reason}) end.

%% A function of this module.
work(Function, Arguments) ->
    fun() -> apply(?MODULE, Function, Arguments) end.

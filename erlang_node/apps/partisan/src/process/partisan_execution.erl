%%% @doc Execution of functions on other nodes, for those that allow it.
%%%
%%% A node executes nothing for others unless its setting `remote_execution' lists the module of
%%% the function. The name of the module travels next to the encoded function and arguments, so that
%%% a request for any other module is refused before a term of it is decoded. A fun belongs to the
%%% module that defines it; one made in a shell to `erl_eval'.
%%%
%%% The setting is as strong as the functions of the module: one that applies what it is given, such
%%% as `lists' or `erlang', allows everything.
%%%
%%% Executed functions run in processes of their own, whose group leader is `user', so that they
%%% belong to no application and their references are offered ({@link partisan_reach}).
-module(partisan_execution).

-export([call/4]).
-export([call_all/3]).
-export([cast/2]).
-export([start/3]).
-export([await/2]).
-export([check/2]).
-export([abandon/1]).
%% On the node that executes.
-export([serve/2]).

-type work() :: {module(), Function :: atom(), Arguments :: [term()]} | fun(() -> term()).
%% What becomes of the work: its outcome, or a process ({@link partisan_spawned}).
-type mode() :: call | partisan_spawned:mode().
-type outcome() ::
    {returned, term()}
    | {thrown, term()}
    | {exited, Reason :: term()}
    | {failed, Reason :: term(), [term()]}
    % The process was ended by a signal.
    | {signalled, Reason :: term()}.
-type failure() ::
    timeout | noproc | system_limit | {nodedown, partisan_peer:name()} | {not_allowed, module()}
    | partisan:error().
-type started() :: {module(), {pid(), Monitor :: reference()}}.
-export_type([work/0, mode/0, outcome/0, failure/0, started/0]).

%% @doc Executes on a node and waits for the outcome, at most the timeout in milliseconds.
-spec call(partisan_peer:name(), mode(), work(), timeout()) ->
    {ok, outcome() | partisan_spawned:t()} | {error, failure()}.
call(Node, Mode, Work, Timeout) ->
    {Callee, Request} = encoded(Mode, Work),
    answer(module(Work), partisan_call:request(Node, Callee, Request, Timeout, #{})).

%% @doc Executes on several nodes at the same time. The answers are in the order of the nodes.
-spec call_all([partisan_peer:name()], work(), timeout()) ->
    [{ok, outcome()} | {error, failure()}].
call_all(Nodes, Work, Timeout) ->
    Deadline = partisan_deadline:new(Timeout),
    Started = [start(Node, Work, Timeout) || Node <- Nodes],
    lists:map(
        fun(Execution) ->
            case await(Execution, partisan_deadline:remaining(Deadline)) of
                no_answer ->
                    ok = abandon(Execution),
                    {error, timeout};
                Answer ->
                    Answer
            end
        end,
        Started
    ).

%% @doc Executes on several nodes without waiting; results and failures are lost.
-spec cast([partisan_peer:name()], work()) -> ok.
cast(Nodes, Work) ->
    lists:foreach(fun(N) -> spawn(fun() -> call(N, spawn, Work, infinity) end) end, Nodes).

%% @doc Starts an execution for the calling process.
-spec start(partisan_peer:name(), work(), timeout()) -> started().
start(Node, Work, Timeout) ->
    {Callee, Request} = encoded(call, Work),
    {module(Work), partisan_call:start(Node, Callee, Request, Timeout, #{})}.

%% @doc The answer of an execution, if it comes within the timeout in milliseconds.
-spec await(started(), timeout()) -> {ok, outcome()} | {error, failure()} | no_answer.
await({_, {Proxy, Monitor}} = Started, Timeout) ->
    receive
        {'DOWN', Monitor, process, Proxy, _} = Down -> check(Down, Started)
    after Timeout -> no_answer
    end.

%% @doc The answer of an execution, if it is in this message.
-spec check(Message :: term(), started()) -> {ok, outcome()} | {error, failure()} | no_answer.
check({'DOWN', Monitor, process, Proxy, Result}, {Module, {Proxy, Monitor}}) ->
    case Result of
        {partisan_call, Outcome} -> {ok, Outcome};
        Reason -> answer(Module, {exit, Reason})
    end;
check(_Message, _Started) ->
    no_answer.

%% @doc Ends an execution. No answer comes afterwards.
-spec abandon(started()) -> ok.
abandon({_, {Proxy, Monitor}}) ->
    true = demonitor(Monitor, [flush]),
    partisan_call:abandon(Proxy).

%% @doc Executes what another node asks for.
-spec serve(ModuleName :: binary(), Encoded :: binary()) -> partisan_call:result().
serve(Name, Encoded) ->
    case partisan_reach:executable(Name) of
        {ok, Module} -> decoded(Module, partisan_term:decode(Encoded));
        error -> refused(Name)
    end.

%% Internals.

answer(_Module, {ok, Outcome}) -> {ok, Outcome};
answer(Module, {exit, not_allowed}) -> {error, {not_allowed, Module}};
answer(_Module, {exit, Reason}) -> {error, Reason}.

%% The module that must be allowed.
module({Module, _Function, _Arguments}) ->
    Module;
module(Fun) when is_function(Fun, 0) ->
    {module, Module} = erlang:fun_info(Fun, module),
    Module.

encoded(Mode, Work) ->
    Encoded = iolist_to_binary(partisan_term:encode({Mode, inner(Work)})),
    {{execute, atom_to_binary(module(Work))}, Encoded}.

inner({_Module, Function, Arguments}) -> {Function, Arguments};
inner(Fun) -> Fun.

refused(Name) ->
    ok = partisan_refusals:warn(
        execution,
        "execution of a function of ~ts for another node refused: `remote_execution` of this node "
        "does not list it",
        [Name]
    ),
    {exit, not_allowed}.

decoded(Module, {ok, {Mode, {Function, Arguments}}}) when is_atom(Function), is_list(Arguments) ->
    run(Mode, fun() -> apply(Module, Function, Arguments) end);
decoded(Module, {ok, {Mode, Fun}}) when is_function(Fun, 0) ->
    % A name next to it proves nothing.
    case erlang:fun_info(Fun, module) of
        {module, Module} -> run(Mode, Fun);
        {module, Other} -> refused(atom_to_binary(Other))
    end;
decoded(_Module, _) ->
    {exit, badarg}.

run(Mode, Work) ->
    true = group_leader(whereis(user), self()),
    case Mode of
        call -> {ok, result_of(Work)};
        _ -> partisan_spawned:start(Mode, Work)
    end.

-dialyzer({no_return, result_of/1}).
%% Ends with this process, which is killed when the call is cancelled.
result_of(Work) ->
    false = process_flag(trap_exit, true),
    Runner = spawn_link(fun() -> ended(outcome(Work)) end),
    receive
        {'EXIT', Runner, {?MODULE, Outcome}} -> Outcome;
        {'EXIT', Runner, Reason} -> {signalled, Reason};
        % By a caller on this node.
        {partisan_call, abandon} -> exit(abandoned)
    end.

-spec ended(outcome()) -> no_return().
ended(Outcome) ->
    exit({?MODULE, Outcome}).

outcome(Work) ->
    try
        {returned, Work()}
    catch
        throw:Thrown -> {thrown, Thrown};
        exit:Reason -> {exited, Reason};
        error:Reason:Stacktrace -> {failed, Reason, Stacktrace}
    end.
